/* SPDX-License-Identifier: MIT */
/* What each control file reads as, and what a line written to it does. Any thread may call these,
 * without a lock of the inode table. */
#ifndef FS_CONTROL_TEXT_H
#define FS_CONTROL_TEXT_H

#include "fs.h"
#include "node.h"

/* The text of a control file, which the caller frees. 0 or an error. */
int control_text(struct fs *fs, const struct node *node, char **text, size_t *len);

/* Can it be written? */
bool control_writable(const struct node *node);

/* Does a whole document go to control_apply, and not each line? */
bool control_is_document(const struct node *node);

/* Applies a line without its newline, or a document; a NUL follows its len bytes. line: its number
 * in what was written so far. Errors are reported. */
int control_apply(struct fs *fs, const struct node *node, const char *text, size_t len, int line);

#endif
