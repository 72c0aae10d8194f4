/* SPDX-License-Identifier: MIT */
/*
 * Control files. Reading gives the text as it was when its reading began. Where a file is open to
 * read and write, a write ends what was read: the next read begins anew, at its offset, so that
 * who writes and then reads on, at the one offset that both have, reads what the write left. So
 * does a read before the offset where reading began. What is written is
 * applied by the write that completes it (a line; for schema.json the closing brace), an
 * unfinished line by a close of the process that opened the file; one that a signal killed leaves
 * its unfinished line unapplied. Behind a bad line nothing is applied: each later write and flush
 * of that open file gives the bad line's error.
 *
 * Any thread may call these, also for one file at once; control_close is the last call for it.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct control_file;

/* The bits of its mode, before the umask. */
mode_t control_mode(const struct node *node);

/* Opens the control file of that node for the caller's process, as fi->flags say, and sets in fi
 * how the kernel is to read it. */
int control_open(struct fs *fs, struct node *node, const struct fuse_ctx *caller,
		 struct control_file **file, struct fuse_file_info *fi);
/* Up to len bytes from offset on; *got is less only at the end. -ESPIPE: too far back in a stream.
 */
int control_read(struct control_file *file, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		 size_t *got);
/* 0; -EPERM: it cannot be written; or why a line was not applied, which is reported. */
int control_write(struct control_file *file, const char *data, size_t len);
/* A process closes one of its descriptors of the file. thread: of that process. */
int control_flush(struct control_file *file, pid_t thread);
/* Applies what is unfinished, with its errors to /.rowfs/errors alone, and frees it. */
void control_close(struct control_file *file);
/* Applies nothing more, and frees it. */
void control_abort(struct control_file *file);

/* The streams of rows that are being read, in all control files. NULL: no memory. */
struct streams *streams_new(void);
void streams_free(struct streams *streams);

#endif
