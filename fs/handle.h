/* SPDX-License-Identifier: MIT */
/* An open file: what fi->fh points to. */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#include "fs.h"
#include "node.h"

struct control_file;

/* Just one of these is set. */
struct handle {
	struct wcs_value *value;      /* a stored value, to read */
	struct node *writer;	      /* a write session's node, with a reference */
	struct control_file *control; /* a control file */
};

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* Closes what it holds and frees it. Returns what the close of a write session returned, which
 * nobody but the log will see. */
int handle_close(struct fs *fs, struct handle *handle);

#endif
