/* SPDX-License-Identifier: MIT */
/*
 * Row keys as paths of the tree and as shown text. Of a table's schema these functions use the
 * delimiter, which is set, the families, and the key design. A function with a program prints why
 * it fails, and returns PROGRAM_FAILED then; else PROGRAM_OK, with bytes in *key that the caller
 * frees.
 */
#ifndef KEY_PATH_H
#define KEY_PATH_H

#include "mkfs/base/program.h"
#include "store/store.h"

/* The path of a key below its table's directory, without a slash around it. The caller frees it;
 * NULL: no memory. */
char *key_path(struct wcs_slice key, const struct wcs_table_schema *table);

/* The key whose shown form is text, in which a time may have any form of TIME. remark: asks on
 * standard error about a number that may be of another unit. */
int key_parse(const struct program *program, const char *text, const struct wcs_table_schema *table,
	      bool remark, struct wcs_slice *key);

/* The key of the path TABLE/PATH, where PATH is as of key_path, with a slash behind it or without.
 */
int key_of_path(const struct program *program, const char *text,
		const struct wcs_table_schema *table, struct wcs_slice *key);

#endif
