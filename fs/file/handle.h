/* SPDX-License-Identifier: MIT */
/*
 * Open files and directories: fi->fh points to a handle, which belongs to the requests on it. A
 * list of all handles lets an ending mount close them. Any thread.
 */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct control_file;
struct dir;
struct live_file;
struct lock_file;
struct value;

/* Exactly one of the first five is set. */
struct handle {
	struct value *value;	      /* a committed value, to read */
	struct node *writer;	      /* a write session's node, with a reference */
	struct control_file *control; /* a control file */
	struct live_file *live;	      /* a control file whose readers wait for lines */
	struct dir *dir;	      /* a directory */
	void (*dir_free)(struct dir *dir);
	_Atomic int64_t spent;	     /* ns in reads of a control file or directory */
	bool direct;		     /* reads and writes bypass the kernel's pages */
	struct lock_file *locks;     /* the file that it locked, or NULL. Lock: the lock table's */
	struct handle *next, **link; /* Lock: the list's */
};

struct handles;
struct handles *handles_new(void); /* NULL: no memory */
/* Closes the open files without a commit and frees the list. No request is under way. */
void handles_free(struct fs *fs, struct handles *handles);

size_t handles_count(const struct handles *handles);

/* A read of this control file or directory begins. The clock, for handle_read_end; 0: the request
 * was put off, see loop_put_off, as reads that take much time are while others do. */
int64_t handle_read_begin(struct fs *fs, const struct handle *handle);
void handle_read_end(struct handle *handle, int64_t began);

/* An empty handle, in the list. NULL: no memory. */
struct handle *handle_new(struct fs *fs);

/* Commits the bytes that a session's open files have written, and reports a failure. closing: the
 * thread that closes a descriptor; NULL: for an fsync. 0 or an error. Takes the family's lock. */
int handle_commit(struct fs *fs, struct node *session, const pid_t *closing);

/* Closes and frees the handle; NULL is none. A failed commit of its write session is reported,
 * since RELEASE cannot return it. */
void handle_close(struct fs *fs, struct handle *handle);

/* Answers OPEN or OPENDIR with the handle or, if rc is an error, closes it. */
void handle_reply(fuse_req_t req, fuse_ino_t ino, int rc, struct handle *handle,
		  struct fuse_file_info *fi);

/* Frees the handle of an open that the kernel did not accept, without a commit. */
void handle_abort(struct fs *fs, struct handle *handle);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

#endif
