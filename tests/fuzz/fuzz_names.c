/* SPDX-License-Identifier: MIT */
/* Names: both ways, whole and in chunks, as the model of the unit tests has them. */
#include "tests/fuzz/fuzz.h"

#include "lib/times.h"
#include "tests/unit/model.h"

#define NAMES_INPUT_MAX BYTES_MAX

/* A cell's name has one spelling. */
static void names_fuzz_ts(const char *name, size_t len)
{
	char spelled[NAMES_TS_MAX + 1];
	int64_t ts = -7;
	int error = names_ts_parse(name, len, &ts);

	FUZZ_CHECK(error == 0 || error == -EINVAL);
	FUZZ_CHECK(error == 0 || ts == -7);
	FUZZ_CHECK(error == 0 || times_parse(name, len, &ts) != 0 || ts >= 0);
	if (error)
		return;
	FUZZ_CHECK(ts >= 0);
	FUZZ_CHECK(fuzz_same(spelled, names_ts_format(ts, spelled), name, len));
}

/* Components as a directory gives them, separated by '/': a name that resolves is spelled the same
 * again, split where its chunks end. */
static void names_fuzz_join(enum names_kind kind, const char *text, size_t size)
{
	static char name[NAMES_INPUT_MAX], component[NAMES_CHUNK_MAX + 2];
	const char *end = text + size, *at = text, *slash;
	size_t len = 0, offset = 0, part;
	bool more = true;

	for (; more && at <= end; at = slash + 1) {
		slash = memchr(at, '/', (size_t)(end - at));
		if (!slash)
			slash = end;
		if (names_join(kind, name, len, at, (size_t)(slash - at), name, &len, &more))
			return;
		FUZZ_CHECK(more == names_is_chunk(at, (size_t)(slash - at)));
	}
	if (more || names_decode(kind, &model_families, name, len, model_decoded, &part))
		return;
	for (at = text; offset < len; at = slash + 1) {
		slash = memchr(at, '/', (size_t)(end - at));
		if (!slash)
			slash = end;
		if (offset == 0 && len > NAMES_CHUNK_MAX && len <= NAMES_COMPONENT_MAX &&
		    (size_t)(slash - at) == len)
			return; /* it resolves unsplit, too */
		offset = names_component(name, len, offset, component, &part);
		/* The last chunk may also be longer than a chunk. */
		if ((size_t)(slash - at) > NAMES_CHUNK_MAX &&
		    !names_is_chunk(at, (size_t)(slash - at)))
			return;
		FUZZ_CHECK(fuzz_same(component, part, at, (size_t)(slash - at)));
	}
}

/* No component of a qualifier's own name looks like a history. */
static void names_fuzz_no_history(const uint8_t *data, size_t size)
{
	static char name[ENCODED_MAX + 1], component[NAMES_CHUNK_MAX + 2];
	size_t len = names_encode(NAMES_QUALIFIER, NULL, data, size, name), last;

	for (size_t at = 0; at < len;) {
		at = names_component(name, len, at, component, &last);
		FUZZ_CHECK(!names_history(component, &last));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int what = fuzz_byte(&data, &size);
	enum names_kind kind = model_kinds[what % 3];

	if (size > NAMES_INPUT_MAX)
		return 0;
	switch (what / 3 % 4) {
	case 0:
		model_check_encode(kind, data, size);
		if (kind != NAMES_FAMILY || size > 0)
			model_check_split(kind, data, size);
		if (size > 0) {
			static char name[ENCODED_MAX + 1];
			size_t len;

			/* A spelling with one byte changed is invalid, or the canonical spelling of
			 * other bytes. */
			len = names_encode(kind, &model_families, data, size, name);
			name[(data[0] | (size_t)data[size - 1] << 8) % len] = (char)data[size / 2];
			model_check_decode(kind, name, len);
		}
		names_fuzz_no_history(data, size);
		break;
	case 1:
		model_check_decode(kind, (const char *)data, size);
		break;
	case 2:
		names_fuzz_join(kind, (const char *)data, size);
		break;
	default:
		names_fuzz_ts((const char *)data, size);
		break;
	}
	return 0;
}
