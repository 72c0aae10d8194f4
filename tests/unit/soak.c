/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the soak test. */
#include "tests/unit/soak.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

const char *const soak_columns[SOAK_COLUMNS] = {"c0", "c1", "c2", "x", "y"};

const struct history_policy soak_never = {.text = "never"};
const struct history_policy soak_shared[SOAK_SHARED_POLICIES] = {
	{"maxversions=2", 2, 0, false},
	{"maxversions=3", 3, 0, false},
	{"maxversions=5", 5, 0, false},
};

void soak_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void soak_sleep(long microseconds)
{
	nanosleep(&(struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000}, NULL);
}

uint32_t soak_below(uint64_t *state, uint32_t limit)
{
	return suite_random(state) % limit;
}

struct wcs_slice soak_value(uint32_t number, char *buf)
{
	size_t head = (size_t)sprintf(buf, "%u;", number), len = head + number % 50;

	if (number % 211 == 5)
		len = SOAK_LARGE;
	else if (number % 17 == 3)
		len = 5000;
	for (size_t i = head; i < len; i++)
		buf[i] = (char)('a' + (number + i) % 26);
	return (struct wcs_slice){buf, len};
}

uint32_t soak_value_number(const char *data, size_t len)
{
	uint32_t number = 0;
	size_t at = 0;

	while (at < len && at < 10 && data[at] >= '0' && data[at] <= '9')
		number = number * 10 + (uint32_t)(data[at++] - '0');
	if (at == 0 || at >= len || data[at] != ';')
		soak_fail("a value that nobody wrote: %.*s", (int)(len < 40 ? len : 40), data);
	for (at++; at < len; at++)
		if (data[at] != (char)('a' + (number + at) % 26))
			soak_fail("the value of mutation %u is another one from %zu on", number,
				  at);
	return number;
}

struct wcs_slice soak_scan_value(struct wcs_scan *scan, const struct wcs_cell *cell, char *buf)
{
	size_t got;

	if (cell->info.size <= WCS_VALUE_INLINE)
		return cell->value;
	if (cell->info.size > 2 * SOAK_LARGE)
		soak_fail("a value of %" PRIu64 " bytes", cell->info.size);
	SOAK_OK(wcs_scan_read(scan, buf, (size_t)cell->info.size, 0, &got));
	return (struct wcs_slice){buf, got};
}

bool soak_is(struct wcs_slice bytes, const char *text)
{
	return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}
const char *soak_family(const struct soak_writer *writer, int family)
{
	return family == SOAK_KEPT ? "f" : family == SOAK_SHARED ? "s" : writer->own;
}

struct history_view soak_view(const struct soak_writer *writer, int family)
{
	const struct soak *soak = writer->soak;
	struct history_view view = {&soak_never, &soak_never, writer->now};

	if (family == SOAK_OWN)
		view.loose = view.tight = writer->policy;
	else if (family == SOAK_SHARED && soak->quiet)
		view.loose = view.tight = soak->shared;
	else if (family == SOAK_SHARED)
		view = (struct history_view){&soak_shared[SOAK_SHARED_POLICIES - 1], soak_shared,
					     writer->now};
	return view;
}

void soak_each_column(struct soak_writer *writer, struct soak_row *row,
		      void (*apply)(struct history *, const struct history_view *))
{
	for (int family = 0; family < SOAK_FAMILIES; family++) {
		struct history_view view = soak_view(writer, family);

		for (int column = 0; column < SOAK_COLUMNS; column++)
			apply(&row->columns[family][column], &view);
	}
}
