/* SPDX-License-Identifier: MIT */
/* Streams of rows as text, read whole. */
#ifndef TEST_EXPORTED_H
#define TEST_EXPORTED_H

#include "store/rows.h"
#include "tests/unit/suite.h"

/* All of a stream, read in pieces of that size, and closed. The caller frees it. */
char *exported_drain(struct wcs_export *exported, size_t piece, size_t *len);
/* The same for an export that is opened for it. */
char *exported_text(struct wcs_table *table, const struct wcs_slice *key, enum wcs_export_kind kind,
		    size_t piece, size_t *len);
/* Such a stream gives this text. */
void exported_expect_bytes(struct wcs_table *table, const struct wcs_slice *key,
			   enum wcs_export_kind kind, const char *expected);
/* The same; key may be NULL. */
void exported_expect(struct wcs_table *table, const char *key, enum wcs_export_kind kind,
		     const char *expected);

#endif
