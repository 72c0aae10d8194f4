/* SPDX-License-Identifier: MIT */
/* The reply to a READDIR or READDIRPLUS. */
#ifndef FS_DIR_REPLY_H
#define FS_DIR_REPLY_H

#include "fs/cache/cache.h"
#include "fs/fs.h"
#include "fs/inode/node.h"

enum {
	DIR_REPLY_MAX = 65536,		       /* bytes */
	DIR_REPLY_NODES = DIR_REPLY_MAX / 152, /* an entry with attributes takes more than 152 */
};

/* One under construction. */
struct dir_reply {
	fuse_req_t req;
	struct fs *fs;
	bool plus; /* with attributes */
	char *buf;
	size_t size, used;
	off_t offset; /* of the entry to come */
	size_t limit; /* of entries to come, whatever room there is */
	struct cache_mark mark;
	size_t count; /* nodes that it hands out, each with a reference */
	struct node *nodes[DIR_REPLY_NODES];
};

/* Starts one, which dir_reply_send ends; to be called before anything is read for it. 0 or -ENOMEM.
 */
int dir_reply_start(struct dir_reply *reply, fuse_req_t req, size_t size, off_t offset, bool plus);

/* Adds an entry at the next offset, without attributes. 1: it does not fit any more. */
int dir_reply_add(struct dir_reply *reply, const char *name, uint64_t ino, mode_t mode);

/*
 * Adds the child of that key under that name, behind which that offset stands. With attributes, if
 * they were asked for and the kernel may keep the entry; else it is to look the name up. info: of a
 * column, as lookup_file gives it, of a cell that was read since the reply was started; NULL: not
 * known. 1: it does not fit any more.
 */
int dir_reply_add_child(struct dir_reply *reply, const char *name, const struct node_key *key,
			const struct wcs_cell_info *info, off_t next);

/* Sends it, and frees what it has; or the error, where there is no entry. */
void dir_reply_send(struct dir_reply *reply, int error);

#endif
