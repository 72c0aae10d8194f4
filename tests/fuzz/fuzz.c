/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets, with the functions that they need of libcheck and of a program of
 * unit tests. */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/memory_engine.h"
#include "tests/unit/suite.h"

#include <stdarg.h>
#include <unistd.h>

void fuzz_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

unsigned int fuzz_byte(const uint8_t **data, size_t *size)
{
	if (*size == 0)
		return 0;
	--*size;
	return *(*data)++;
}

bool fuzz_same(const void *a, size_t a_len, const void *b, size_t b_len)
{
	return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static int64_t fuzz_now(void *ctx)
{
	(void)ctx;
	return 1000000;
}

struct wcs_store *fuzz_store(void)
{
	struct wcs_options options = {.now = fuzz_now};
	struct wcs_store *store = NULL;

	FUZZ_CHECK(wcs_store_open_backend(&wcs_backend_memory, "", &options, &store, NULL) == 0);
	return store;
}

/* ---- In place of libcheck ---------------------------------------------------------------- */

void _ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: %s: ", file, line, expr);
	va_start(args, msg);
	if (msg)
		vfprintf(stderr, msg, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void suite_mark(const char *file, int line)
{
	(void)file;
	(void)line;
}

void(_mark_point)(const char *file, int line)
{
	suite_mark(file, line);
}

/* ---- In place of suite_main.c ------------------------------------------------------------ */

static char fuzz_directory[160];

static void fuzz_remove_directory(void)
{
	rmdir(fuzz_directory);
}

const char *suite_directory(void)
{
	const char *parent = getenv("TMPDIR");

	if (fuzz_directory[0] == '\0') {
		snprintf(fuzz_directory, sizeof(fuzz_directory), "%s/rowfs-fuzz.XXXXXX",
			 parent ? parent : "/tmp");
		FUZZ_CHECK(mkdtemp(fuzz_directory));
		atexit(fuzz_remove_directory);
	}
	return fuzz_directory;
}
