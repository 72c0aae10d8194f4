/* SPDX-License-Identifier: MIT */
/* Finds nodes by name and by inode number. Any thread. */
#ifndef FS_LOOKUP_H
#define FS_LOOKUP_H

#include "fs/fs.h"
#include "fs/names/spell.h"
#include "fs/write/retry.h"

/* lookup_inode: the node of an inode that the kernel holds; the loop has refused requests with
 * another nodeid (loop.h). lookup_ino: the node that a rename put in its place, or the same. Both
 * borrowed from the kernel's reference. */
struct node *lookup_inode(struct fs *fs, fuse_ino_t ino);
struct node *lookup_ino(struct fs *fs, fuse_ino_t ino);

/* As retry_ask, with the present name of the inode's file and its names before renames. */
enum retry_state lookup_retry(struct fs *fs, const struct node *inode, pid_t thread,
			      enum retry_want want);

/* Decodes a name in dir into *child and its position *pos, which borrows from dir and child. It
 * need not exist. -EINVAL: the name has no meaning there; -ENAMETOOLONG. */
int lookup_child(struct fs *fs, struct node *dir, const char *name, struct pos *pos,
		 struct spelled *child);

/* Finds a file's stored cell or draft. 0, -ENOENT or another error. info may be NULL. */
int lookup_file(struct fs *fs, const struct node *base, const struct pos *pos,
		const struct spelled *child, struct wcs_cell_info *info);

/* Does the directory child exist, which is no argument of a view? base is no chunk. 0, -ENOENT or
 * another error. */
int lookup_exists(struct fs *fs, struct node *base, const struct pos *pos,
		  const struct spelled *child);

/* The child's node with a new reference. dir is no chunk; info: of a file. 0, -ENOENT (a table that
 * was removed) or -ENOMEM. */
int lookup_node(struct fs *fs, struct node *dir, const struct spelled *child,
		const struct wcs_cell_info *info, struct node **node);

/* Is the inode in a view, where nothing changes? Then the request is answered with EROFS, and the
 * errors get a line with the inode's path, not with that of a child. */
bool lookup_refuses(fuse_req_t req, fuse_ino_t ino);

/* Fills a reply that hands the node's reference to the kernel, with entry timeout 0. */
void lookup_entry(struct fs *fs, struct node *node, struct fuse_entry_param *entry);
/* Answers with it or, if rc is an error, with that. */
void lookup_reply(fuse_req_t req, int rc, const struct fuse_entry_param *entry);

#endif
