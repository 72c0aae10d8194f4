/* SPDX-License-Identifier: MIT */
/* Directories of a mount: their root and their table. */
#ifndef MOUNTED_H
#define MOUNTED_H

#include <stdbool.h>

#include "mkfs/base/program.h"

struct mounted {
	char *directory; /* its path, resolved */
	char *root;	 /* of the mount */
	bool rows;	 /* the directory is in a table; else it is the root of all */
	bool below;	 /* the table's directory */
	bool raw;	 /* it is in the view .raw: keys are the stored ones */
	char table[WCS_TABLE_NAME_MAX + 1]; /* that the directory is in; empty: none */
};

/* Is there a store at path? */
bool mounted_is_store(const char *path);

/* Restricts this process to the store and opens it. missing: the message if it does not exist;
 * NULL: the usual one. heat: with its heat maps. PROGRAM_FAILED: the reason is printed, with the
 * mount of a mounted store. */
int mounted_open_store(const struct program *program, const char *path, const char *missing,
		       bool heat, struct wcs_store **store);

/* Looks for the mount that a directory is in. -ENOENT: it is in none, or is none; -EINVAL: it holds
 * no rows, as that of a family or those below .versions; or an error of the system. */
int mounted_find(const char *path, struct mounted *mounted);
void mounted_free(struct mounted *mounted);

/* Reads the schema of the mount's store. The caller frees *schema. A failure sets fault->text. */
int mounted_schema(const char *root, struct wcs_schema **schema, struct wcs_fault *fault);

/* The number behind a name in a file of the mount; 0 where it does not say. */
uint64_t mounted_count(const char *root, const char *file, const char *name);

#endif
