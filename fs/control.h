/* SPDX-License-Identifier: MIT */
/*
 * Control files. Reading gives the text as it was when the file was opened. What is written is
 * applied by the write that completes it (a line; for schema.json the closing brace), an
 * unfinished line by a close of the process that opened the file.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "fs.h"
#include "node.h"

struct control_file;

int control_open(struct fs *fs, struct node *node, pid_t thread, struct control_file **file,
		 struct fuse_file_info *fi);
int control_read(struct control_file *file, void *buf, size_t len, uint64_t offset, size_t *got);
/* -EPERM: it cannot be written. */
int control_write(struct fs *fs, struct control_file *file, const char *data, size_t len);
int control_flush(struct fs *fs, struct control_file *file, pid_t thread);
/* Applies what is unfinished, with its errors to /.rowfs/errors alone, and frees it. */
void control_close(struct fs *fs, struct control_file *file);

#endif
