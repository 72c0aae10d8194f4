/* SPDX-License-Identifier: MIT */
/* From names and inode numbers to nodes. */
#ifndef FS_LOOKUP_H
#define FS_LOOKUP_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* The node of an inode that the kernel holds, and what that stands for by now. */
struct node *lookup_inode(struct fs *fs, fuse_ino_t ino);
struct node *lookup_ino(struct fs *fs, fuse_ino_t ino);

/* The name of what the inode stands for, and those before. */
struct retry_names;
void lookup_names(const struct node *inode, struct retry_names *names);

/* Must the kernel look its name up again? Not of what is open: its attributes are asked for by
 * who has it open, too, who would be told that it is stale. */
bool lookup_is_stale(struct node *inode);
/* The kernel has so many open files more on that inode. */
void lookup_opened(struct fs *fs, fuse_ino_t ino, int by);

/* What a name in dir means: *child, and *pos, its position, which borrows from dir and child.
 * It need not exist. -EINVAL: the name means nothing there; -ENAMETOOLONG. */
int lookup_child(struct fs *fs, struct node *dir, const char *name, struct pos *pos,
		 struct spelled *child);

/* What a file's name leads to: a stored cell, or a draft. 0, -ENOENT or another error. info: may be
 * NULL. */
int lookup_file(struct fs *fs, const struct node *base, const struct pos *pos,
		const struct spelled *child, struct wcs_cell_info *info);

/* Does a child of a directory that is no chunk exist? 0, -ENOENT or another error. */
int lookup_exists(struct fs *fs, struct node *base, const struct pos *pos,
		  const struct spelled *child);

/* The node of a child of a directory that is no chunk, with one reference more; info: of a file. 0,
 * -ENOENT (a table that has gone) or -ENOMEM. */
int lookup_node(struct fs *fs, struct node *dir, const struct spelled *child,
		const struct wcs_cell_info *info, struct node **node);

/* The reply that hands a node to the kernel, with an entry that is not kept. */
void lookup_entry(struct fs *fs, struct node *node, struct fuse_entry_param *entry);

#endif
