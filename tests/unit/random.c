/* SPDX-License-Identifier: MIT */
/* Draws the operands of operations from numbers or bytes: see random.h. */
#include "tests/unit/random.h"

#include <stdarg.h>

const char *const random_families[RANDOM_FAMILIES] = {"a", "b", "f", "none"};

/* The first of the bytes count least. */
uint32_t random_below(struct random_run *run, uint32_t limit)
{
	uint32_t number = 0;

	if (!run->bytes)
		return suite_random(&run->state) % limit;
	for (unsigned int shift = 0; shift < 32 && (limit - 1) >> shift > 0; shift += 8) {
		if (run->bytes_left == 0)
			return 0;
		run->bytes_left--;
		number |= (uint32_t)*run->bytes++ << shift;
	}
	return number % limit;
}

void random_say(struct random_run *run, const char *format, ...)
{
	size_t room = sizeof(run->text) - run->text_len;
	va_list args;
	int put;

	va_start(args, format);
	put = vsnprintf(run->text + run->text_len, room, format, args);
	va_end(args);
	run->text_len += (size_t)put < room ? (size_t)put : room - 1;
}

char *random_buffer(struct random_run *run, size_t len)
{
	char *made = malloc(len + 1);

	ck_assert_ptr_nonnull(made);
	ck_assert_uint_lt(run->buffer_count, RANDOM_BUFFERS);
	run->buffers[run->buffer_count++] = made;
	return made;
}

static struct wcs_slice random_say_bytes(struct random_run *run, const char *bytes, size_t len)
{
	random_say(run, " '");
	for (size_t i = 0; i < len; i++)
		random_say(run, "%02x", (unsigned char)bytes[i]);
	random_say(run, "'");
	return (struct wcs_slice){bytes, len};
}

struct wcs_slice random_bytes(struct random_run *run, size_t shortest, size_t longest)
{
	static const char alphabet[] = {'\0', '"', '#', '$', 'a', '\xff'};
	size_t len = shortest + random_below(run, (uint32_t)(longest - shortest + 1));
	char *bytes = random_buffer(run, len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = alphabet[random_below(run, sizeof(alphabet))];
	return random_say_bytes(run, bytes, len);
}

struct wcs_slice random_copy(struct random_run *run, struct wcs_slice from)
{
	char *bytes = random_buffer(run, from.len);

	if (from.len > 0)
		memcpy(bytes, from.data, from.len);
	return random_say_bytes(run, bytes, from.len);
}

struct wcs_slice random_value(struct random_run *run)
{
	uint32_t kind = random_below(run, 40);
	size_t len = kind < 15 ? 8 : kind < 36 ? random_below(run, 20) : random_below(run, 9000);
	char *bytes;

	if (kind == 39)
		len = random_below(run, 200000);
	bytes = random_buffer(run, len);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i < 1 || len > 20 ? 0x7f & (i * 3) : random_below(run, 3));
	random_say(run, " <%zu>", len);
	return (struct wcs_slice){bytes, len};
}

int64_t random_ts(struct random_run *run)
{
	uint32_t kind = random_below(run, 100);
	int64_t ts = random_below(run, 6);

	if (kind > 95)
		ts = INT64_MAX - random_below(run, 2);
	else if (kind > 60)
		ts = 1000000 + random_below(run, 40);
	random_say(run, " ts=%lld", (long long)ts);
	return ts;
}

const char *random_family(struct random_run *run)
{
	uint32_t i = random_below(run, 200) == 0 ? 3 : random_below(run, 3);

	random_say(run, " %s", random_families[i]);
	return random_families[i];
}

void random_compare(struct random_run *run, char *memory, char *leveldb)
{
	ck_assert_msg(strcmp(memory, leveldb) == 0, "%.1500s:\nmemory  %.2500s\nleveldb %.2500s",
		      run->text, memory, leveldb);
	free(memory);
	free(leveldb);
}
