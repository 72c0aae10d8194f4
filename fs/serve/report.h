/* SPDX-License-Identifier: MIT */
/* Says to the user why a request failed: into /.rowfs/errors, and into the log without names. Any
 * thread. */
#ifndef FS_REPORT_H
#define FS_REPORT_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* The request on node (or, with a name, on that child of it) failed, at that line of what was
 * written (0: none). Returns error, so that callers can return it. */
int report(struct fs *fs, const struct node *node, const char *name, int line, int error,
	   const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Reports that a file was made where none can be, with the table's families. */
int report_no_family(struct fs *fs, const struct node *dir, const char *name,
		     struct wcs_table *table);

/* A lookup did not find that name: says, where a directory could be, which names there are. */
void report_no_directory(struct fs *fs, const struct node *dir, const char *name);

/* Reports what fails with -EPERM since the table is protected. Returns error, which may be any. */
int report_protected(struct fs *fs, const struct node *node, const char *name, int line, int error);

/* Reports that a name can be none there, with what a name would be. Returns -EINVAL. */
int report_bad_name(struct fs *fs, const struct node *dir, const char *name);

/* Reports what fails with -EIO: the store could not be read. Returns error, which may be any. */
int report_unreadable(struct fs *fs, const struct node *node, const char *name, int error);

/* Reports that there is no room for a value: in a cell (-EFBIG), or on the medium (-ENOSPC).
 * Returns error, which may be any. */
int report_no_room(struct fs *fs, const struct node *node, int error);

/* Writers are told apart by their threads, which the kernel names only to who could see them.
 * Reports that this one (0) is outside of the pid namespace; else 0. */
int report_thread(struct fs *fs, const struct node *node, const char *name, pid_t thread);

#endif
