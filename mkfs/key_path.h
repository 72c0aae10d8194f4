/* SPDX-License-Identifier: MIT */
/* Row keys as paths of the tree. */
#ifndef KEY_PATH_H
#define KEY_PATH_H

#include "lib/names.h"
#include "store/store.h"

/* The path of a key below its table's directory, without a slash around it. families: of the table;
 * NULL: not known. The caller frees it; NULL: no memory. */
char *key_path(struct wcs_slice key, unsigned char delimiter,
	       const struct names_families *families);

/* The bytes of a key that is spelled as in .keys, to be freed. Prints why it is none, and returns
 * PROGRAM_FAILED then. */
struct program;
int key_parse(const struct program *program, const char *text, struct wcs_slice *key);

#endif
