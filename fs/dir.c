/* SPDX-License-Identifier: MIT */
/*
 * OPENDIR to RELEASEDIR. A listing holds nothing of the store between two requests: each READDIR
 * resumes behind the child that was handed out with its offset.
 *
 * Offset o stands for: o entries were given. 0 and 1 are `.` and `..`. The children behind which
 * the last offsets resume are kept; an older offset is found again by counting from the start.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "lookup.h"

enum {
	DOTS = 2,
	REPLY_MAX = 65536, /* bytes of a reply; an entry takes 32 or more */
	KEPT = 4096,	   /* children; more than two replies have */
};

struct dir {
	pthread_mutex_t lock;
	struct child **kept; /* kept[i] stands before offset first + i. Lock: lock, as all below */
	size_t count, room;
	off_t first;
};

/* A READDIR reply under construction. */
struct reply {
	fuse_req_t req;
	const struct node *node;
	struct wcs_table *table;
	struct dir *dir;
	char *buf;
	size_t size, used;
	off_t offset; /* of the entry to come */
	off_t skip;   /* entries to count and not to give */
};

void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct dir *dir = calloc(1, sizeof(*dir));

	(void)ino;
	if (!dir) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&dir->lock, NULL);
	fi->fh = (uintptr_t)dir;
	fuse_reply_open(req, fi);
}

static void dir_forget(struct dir *dir, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(dir->kept[i]);
	dir->count -= count;
	dir->first += (off_t)count;
	if (count > 0)
		memmove(dir->kept, dir->kept + count, dir->count * sizeof(*dir->kept));
}

void fs_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct dir *dir = (struct dir *)(uintptr_t)fi->fh;

	(void)ino;
	dir_forget(dir, dir->count);
	free(dir->kept);
	pthread_mutex_destroy(&dir->lock);
	free(dir);
	fuse_reply_err(req, 0);
}

static int dir_reserve(struct dir *dir)
{
	size_t room = dir->room ? dir->room * 2 : 64;
	struct child **kept;

	if (dir->count == KEPT)
		dir_forget(dir, KEPT / 2);
	if (dir->count < dir->room)
		return 0;
	kept = realloc(dir->kept, room * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	dir->kept = kept;
	dir->room = room;
	return 0;
}

/* Keeps a child as what stands before that offset. Offsets come in sequence; where they do not,
 * the kept ones are of no use any more. */
static int dir_keep(struct dir *dir, off_t offset, enum node_kind kind, struct wcs_slice bytes)
{
	int rc;

	if (offset != dir->first + (off_t)dir->count) {
		bool again = offset >= dir->first && offset < dir->first + (off_t)dir->count;

		while (again && dir->count > (size_t)(offset - dir->first))
			free(dir->kept[--dir->count]);
		if (!again) {
			dir_forget(dir, dir->count);
			dir->first = offset;
		}
	}
	rc = dir_reserve(dir);
	if (rc != 0)
		return rc;
	dir->kept[dir->count] = child_new(kind, bytes);
	if (!dir->kept[dir->count])
		return -ENOMEM;
	dir->count++;
	return 0;
}

static const struct child *dir_find(const struct dir *dir, off_t offset)
{
	if (offset < dir->first || offset >= dir->first + (off_t)dir->count)
		return NULL;
	return dir->kept[offset - dir->first];
}

/* Adds an entry. 1: it does not fit any more. */
static int reply_add(struct reply *reply, const char *name, uint64_t ino, mode_t mode)
{
	struct stat st = {.st_ino = ino, .st_mode = mode};
	size_t size = fuse_add_direntry(reply->req, reply->buf + reply->used,
					reply->size - reply->used, name, &st, reply->offset + 1);

	if (size > reply->size - reply->used)
		return 1;
	reply->used += size;
	reply->offset++;
	return 0;
}

static int reply_child(void *ctx, enum node_kind kind, struct wcs_slice bytes)
{
	struct reply *reply = ctx;
	char name[SPELL_MAX];
	bool file = kind == NODE_CELL || kind == NODE_VERSION || kind == NODE_CONTROL;
	int rc;

	if (reply->skip > 0) {
		reply->skip--;
		return 0;
	}
	spell_child(reply->table, kind, bytes, name);
	rc = reply_add(reply, name, node_child_ino(reply->node, kind, bytes),
		       file ? S_IFREG : S_IFDIR);
	return rc == 0 ? dir_keep(reply->dir, reply->offset, kind, bytes) : rc;
}

static int reply_dots(struct reply *reply)
{
	const struct node *parent = reply->node->parent ? reply->node->parent : reply->node;
	int rc = 0;

	if (reply->offset == 0)
		rc = reply_add(reply, ".", reply->node->ino, S_IFDIR);
	if (rc == 0 && reply->offset == 1)
		rc = reply_add(reply, "..", parent->ino, S_IFDIR);
	return rc;
}

static int reply_fill(struct fs *fs, struct reply *reply)
{
	const struct child *after = dir_find(reply->dir, reply->offset);
	struct child *copy = NULL;
	struct pos pos;
	int rc = pos_of(reply->node, &pos);

	if (rc == 0)
		rc = reply_dots(reply);
	if (rc != 0)
		return rc;
	reply->table = pos.table;
	/* What it resumes behind may be dropped from the kept ones while they grow. */
	if (after) {
		copy = child_new(after->kind, (struct wcs_slice){after->bytes, after->len});
		if (!copy)
			return -ENOMEM;
	} else {
		reply->skip = reply->offset - DOTS;
	}
	rc = children_walk(fs, reply->node, copy, reply_child, reply);
	free(copy);
	return rc;
}

void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct reply reply = {.req = req,
			      .node = lookup_ino(fs_of(req), ino),
			      .dir = (struct dir *)(uintptr_t)fi->fh,
			      .size = size < REPLY_MAX ? size : REPLY_MAX,
			      .offset = off};
	int rc = -ENOMEM;

	reply.buf = malloc(reply.size);
	if (reply.buf) {
		pthread_mutex_lock(&reply.dir->lock);
		rc = reply_fill(fs_of(req), &reply);
		pthread_mutex_unlock(&reply.dir->lock);
	}
	if (rc < 0 && reply.used == 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_buf(req, reply.buf, reply.used);
	free(reply.buf);
}

void fs_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, -wcs_store_sync(fs_of(req)->store));
}
