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

struct dir_reply {
	fuse_req_t req;
	struct fs *fs;
	bool plus; /* with attributes */
	char *buf;
	size_t size, used;
	off_t offset; /* of the next entry */
	size_t limit; /* entries that may follow, besides the limit in bytes */
	struct cache_mark mark;
	size_t count; /* nodes in the reply, each with a reference */
	struct node *nodes[DIR_REPLY_NODES];
};

/* Starts a reply, which is zeroed, before anything is read for it. dir_reply_send ends it. 0 or
 * -ENOMEM. */
int dir_reply_start(struct dir_reply *reply, fuse_req_t req, size_t size, off_t offset, bool plus);

/* Adds an entry at the next offset, without attributes. 1: the reply is full. */
int dir_reply_add(struct dir_reply *reply, const char *name, uint64_t ino, mode_t mode);

/*
 * Adds the child `key` as `name`; a listing that resumes at `next` continues after it. The entry
 * has attributes if the kernel requested them and may cache the name. info: a column's newest cell,
 * read since the reply was started, or NULL. 1: the reply is full.
 */
int dir_reply_add_child(struct dir_reply *reply, const char *name, const struct node_key *key,
			const struct wcs_cell_info *info, off_t next);

/* Sends the reply and frees its buffer. An empty reply sends the error instead. */
void dir_reply_send(struct dir_reply *reply, int error);

#endif
