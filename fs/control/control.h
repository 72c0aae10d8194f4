/* SPDX-License-Identifier: MIT */
/*
 * Control files. A reader sees the text as of its first read. In a file that is open for reading
 * and writing, a write discards that text: the next read makes a new text, which begins at the
 * read's offset, because reads and writes share one offset. A read before the text's beginning
 * makes a new one, too.
 *
 * The write that completes a line applies it (in schema.json, the closing brace completes the
 * document). A close by the process that opened the file applies an incomplete line, unless a
 * signal killed that process. After a bad line nothing is applied: each later write and flush of
 * that open file returns the bad line's error.
 *
 * Any thread may call these, also for one file at once; control_close is the last call for it.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct control_file;

/* The permission bits, before the umask. */
mode_t control_mode(const struct node *node);

/* st_size: 0, as the files are streams, but for the pictures of /.rowfs/keyvis that browsers read;
 * there it takes a while. */
uint64_t control_size(struct fs *fs, const struct node *node);

/* Opens the node's control file for the caller's process by fi->flags, and sets fi->direct_io. */
int control_open(struct fs *fs, struct node *node, const struct fuse_ctx *caller,
		 struct control_file **file, struct fuse_file_info *fi);
/* Reads up to len bytes; *got is less only at the end. -ESPIPE: too far back in a stream. */
int control_read(struct control_file *file, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		 size_t *got);
/* 0; -EPERM: the file is read-only; or the error of a line, which was reported. */
int control_write(struct control_file *file, const char *data, size_t len);
/* A process closes one of its descriptors of the file. thread: a thread of that process. */
int control_flush(struct control_file *file, pid_t thread);
/* Applies an incomplete line, whose error goes only to /.rowfs/errors, and frees the file. */
void control_close(struct control_file *file);
/* Frees the file and applies nothing more. */
void control_abort(struct control_file *file);

/* The registry of open streams of rows. NULL: no memory. */
struct streams *streams_new(void);
void streams_free(struct streams *streams);

/* The last pictures of /.rowfs/keyvis that were measured. NULL: no memory. */
struct pictures *pictures_new(void);
void pictures_free(struct pictures *pictures); /* NULL is none */

#endif
