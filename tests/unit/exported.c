/* SPDX-License-Identifier: MIT */
/* Streams of rows as text, read whole: see exported.h. */
#include "tests/unit/exported.h"

char *exported_drain(struct wcs_export *exported, size_t piece, size_t *len)
{
	char *text = NULL, *buf = malloc(piece);
	size_t got = 0;
	FILE *out = open_memstream(&text, len);

	do {
		SUITE_OK(wcs_export_read(exported, buf, piece, &got));
		ck_assert_uint_le(got, piece);
		fwrite(buf, 1, got, out);
	} while (got > 0);
	SUITE_OK(wcs_export_read(exported, buf, piece, &got));
	ck_assert_uint_eq(got, 0);
	wcs_export_close(exported);
	fclose(out);
	free(buf);
	return text;
}

char *exported_text(struct wcs_table *table, const struct wcs_slice *key, enum wcs_export_kind kind,
		    size_t piece, size_t *len)
{
	struct wcs_export *exported;

	SUITE_OK(wcs_export_open(table, key, kind, NULL, &exported));
	return exported_drain(exported, piece, len);
}

void exported_expect_bytes(struct wcs_table *table, const struct wcs_slice *key,
			   enum wcs_export_kind kind, const char *expected)
{
	size_t len;
	char *text = exported_text(table, key, kind, 4096, &len);

	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(len, strlen(expected));
	free(text);
}

void exported_expect(struct wcs_table *table, const char *key, enum wcs_export_kind kind,
		     const char *expected)
{
	struct wcs_slice slice = suite_text(key ? key : "");

	exported_expect_bytes(table, key ? &slice : NULL, kind, expected);
}
