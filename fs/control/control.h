/* SPDX-License-Identifier: MIT */
/*
 * Control files. A reader sees a short text as of the lookup before its open, another one as of its
 * first read. In a file that is open for reading
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

/* A lookup of the file: node is the one without a text (etag 0), and gets its size. A short text
 * is made and kept for the open that follows: then *etag (not 0) and *size are those of the node
 * that stands for it. Errors are left to the reads of a stream. */
void control_look(struct fs *fs, struct node *node, uint32_t *etag, uint32_t *size);

/* May another lookup of the name give another node? */
bool control_moves(const struct node *node);
/* May the size of the node change? */
bool control_grows(const struct node *node);

/* The text that an open reads from a node that has one. */
enum control_which {
	CONTROL_PRESENT, /* the node's; -ESTALE: the file has another one now */
	CONTROL_LOOKED,	 /* the node's as of the lookup; -ESTALE: it is kept no longer */
	CONTROL_NEWEST,	 /* the file's; the node's size changes */
};

/* Opens the node's control file for the caller's process by fi->flags, and sets fi->direct_io. */
int control_open(struct fs *fs, struct node *node, const struct fuse_ctx *caller,
		 enum control_which which, struct control_file **file, struct fuse_file_info *fi);
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

/* The texts of the mount. NULL: no memory. Free them behind all open files. */
struct texts *texts_new(void);
void texts_free(struct texts *texts); /* NULL is none */

#endif
