/* SPDX-License-Identifier: MIT */
/*
 * Open files and directories: what fi->fh points to. A handle belongs to the requests on it; the
 * list of all is there so that a mount which ends with files open can close them. Any thread.
 */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct control_file;
struct dir;
struct lock_file;
struct value;

/* Just one of the first four is set. */
struct handle {
	struct value *value;	      /* a committed value, to read */
	struct node *writer;	      /* a write session's node, with a reference */
	struct control_file *control; /* a control file */
	struct dir *dir;	      /* a directory */
	void (*dir_free)(struct dir *dir);
	bool direct;		     /* the kernel was told to keep no pages of it */
	struct lock_file *locks;     /* what it locked, or NULL. Lock: that of the lock table */
	struct handle *next, **link; /* Lock: the list's */
};

struct handles;
struct handles *handles_new(void); /* NULL: no memory */
/* Closes what is still open, committing nothing, and frees the list. No request is under way. */
void handles_free(struct fs *fs, struct handles *handles);

size_t handles_count(struct handles *handles);

/* An empty one, in the list. NULL: no memory. */
struct handle *handle_new(struct fs *fs);

/* Closes what it holds and frees it. What the close of a write session fails with is reported:
 * nobody waits for it. */
void handle_close(struct fs *fs, struct handle *handle);

/* The same, where the kernel did not take the open file: its session commits nothing. */
void handle_abort(struct fs *fs, struct handle *handle);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

#endif
