/* SPDX-License-Identifier: MIT */
/* Directories of a mount: where its root is, and what table they are in. */
#ifndef MOUNTED_H
#define MOUNTED_H

#include <stdbool.h>

#include "store.h"

struct mounted {
	char *directory;		    /* its path, resolved */
	char *root;			    /* of the mount */
	char table[WCS_TABLE_NAME_MAX + 1]; /* that the directory is in; empty: the root of all */
	bool below;			    /* the table's directory */
};

/* Is there a store at path? */
bool mounted_is_store(const char *path);

/* Looks for the mount that a directory is in. -ENOENT: it is in none, or is none; -EINVAL: it is in
 * a part of the tree without rows, such as .versions; or an error of the system. */
int mounted_find(const char *path, struct mounted *mounted);
void mounted_free(struct mounted *mounted);

#endif
