/* SPDX-License-Identifier: MIT */
/*
 * OPENDIR, READDIR, READDIRPLUS. A listing holds nothing of the store between
 * two requests: each READDIR resumes after the child that was returned with its offset.
 *
 * Offsets 0 and 1 are `.` and `..`. The handle keeps the children of the most recent offsets, and
 * no kept offset is given to a second child. An older offset is found by counting from the start.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/dir/dir_kept.h"
#include "fs/dir/dir_reply.h"
#include "fs/file/handle.h"
#include "fs/file/lookup.h"
#include "fs/names/chunk.h"
#include "fs/serve/report.h"

enum { DOTS = 2 };

struct dir {
	pthread_mutex_t lock;
	struct dir_kept kept; /* Lock: lock */
};

/* A reply under construction. */
struct reply {
	struct dir_reply out;
	struct fs *fs;
	struct node *node;
	struct node *base;     /* the directory whose long names the chunk holds; else the node */
	struct wcs_slice text; /* of a chunk directory */
	struct wcs_table *table;
	struct dir *dir;
	off_t skip;	    /* entries to count without returning them */
	struct child *jump; /* the child to continue after, if not the present one */
};

enum { REPLY_FULL = 1, REPLY_JUMP = 2, REPLY_END = 3 }; /* why the walk stops */

static void dir_free(struct dir *dir)
{
	dir_kept_clear(&dir->kept);
	pthread_mutex_destroy(&dir->lock);
	free(dir);
}

void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_new(fs_of(req));

	if (handle)
		handle->dir = calloc(1, sizeof(*handle->dir));
	if (handle && handle->dir) {
		pthread_mutex_init(&handle->dir->lock, NULL);
		handle->dir_free = dir_free;
	}
	handle_reply(req, ino, handle && handle->dir ? 0 : -ENOMEM, handle, fi);
}

/* Adds the child's entry, and keeps the child to resume after: this one, or the last one that the
 * same chunk directory holds. */
static int reply_entry(struct reply *reply, const struct chunk_name *name, enum node_kind kind,
		       struct wcs_slice bytes, const struct wcs_cell_info *info)
{
	struct node_key key = {.parent = reply->base, .kind = kind, .name = bytes};
	off_t next;
	int rc;

	if (name->place == CHUNK_BELOW) {
		key.kind = NODE_CHUNK;
		key.name = (struct wcs_slice){name->encoded, name->end};
	}
	if (reply->skip > 0) {
		reply->skip--;
		return 0;
	}
	if (reply->jump)
		bytes = (struct wcs_slice){reply->jump->bytes, reply->jump->len};
	next = dir_kept_next(&reply->dir->kept, reply->out.offset, kind, bytes);
	rc = dir_reply_add_child(&reply->out, name->component, &key, info, next);
	if (rc != 0)
		return rc;
	return dir_kept_add(&reply->dir->kept, next, kind, bytes);
}

/* Is this the child at which its chunk directory is listed? That is the first stored one, or the
 * directory itself if it exists only in memory. */
static int is_first(struct reply *reply, const struct chunk_name *name, enum node_kind kind,
		    struct wcs_slice bytes)
{
	struct wcs_slice text = {name->encoded, name->end};
	struct child *first;
	int rc = chunk_first(reply->fs, reply->base, text, &first);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (kind == NODE_CHUNK)
		rc = !first && name->end == name->len;
	else
		rc = first && first->len == bytes.len &&
		     memcmp(first->bytes, bytes.data, bytes.len) == 0;
	free(first);
	return rc;
}

static int reply_child(void *ctx, enum node_kind kind, struct wcs_slice bytes,
		       const struct wcs_cell_info *info)
{
	struct reply *reply = ctx;
	struct wcs_slice text = reply->text;
	struct chunk_name name;
	int rc = 0, listed = 1;
	bool inside = true;

	if (text.len > 0 && kind == NODE_CHUNK)
		inside = bytes.len > text.len && memcmp(bytes.data, text.data, text.len) == 0;
	else if (text.len > 0)
		inside = kind != NODE_FAMILY && chunk_behind(text, bytes);
	if (!inside) {
		/* Chunk directories in memory follow the chunk's stored children. The first of them
		 * may sort before these. */
		if (kind == NODE_CHUNK)
			return memdir_order(bytes, text) <= 0 ? 0 : REPLY_END;
		reply->jump = child_new(NODE_CHUNK, text);
		return reply->jump ? REPLY_JUMP : -ENOMEM;
	}
	chunk_split(reply->table, text, kind, bytes, &name);
	if (name.place == CHUNK_BELOW)
		listed = is_first(reply, &name, kind, bytes);
	if (listed < 0)
		return listed;
	if (name.place != CHUNK_HERE && kind != NODE_CHUNK)
		reply->jump = chunk_skip(text, &name, kind, bytes, &rc);
	if (rc == 0 && listed && name.place != CHUNK_AWAY)
		rc = reply_entry(reply, &name, kind, bytes, info);
	if (rc != 0) {
		free(reply->jump);
		reply->jump = NULL;
	}
	return rc == 0 && reply->jump ? REPLY_JUMP : rc;
}

/* Finds the child to resume after, reply->jump; NULL: the listing starts at the first child. */
static int reply_start(struct reply *reply)
{
	struct dir_kept *kept = &reply->dir->kept;
	off_t offset = reply->out.offset;
	enum node_kind kind;
	struct wcs_slice bytes;

	if (dir_kept_find(kept, offset, &kind, &bytes)) {
		reply->jump = child_new(kind, bytes);
		if (!reply->jump)
			return -ENOMEM;
		/* Keeps the offset among the most recent. */
		bytes.data = reply->jump->bytes;
		return dir_kept_add(kept, offset, kind, bytes);
	}
	reply->skip = dir_kept_position(offset) - DOTS;
	if (reply->text.len == 0)
		return 0;
	reply->jump = chunk_start(reply->base, reply->text);
	return reply->jump ? 0 : -ENOMEM;
}

static int reply_fill(struct reply *reply)
{
	const struct node *node = reply->node, *parent = node->parent ? node->parent : node;
	struct child *after;
	struct pos pos;
	int rc = pos_of(node, &pos);

	if (rc == 0 && reply->out.offset == 0)
		rc = dir_reply_add(&reply->out, ".", node->ino, S_IFDIR);
	if (rc == 0 && reply->out.offset == 1)
		rc = dir_reply_add(&reply->out, "..", parent->ino, S_IFDIR);
	if (rc != 0)
		return rc;
	reply->table = pos.table;
	rc = reply_start(reply);
	if (rc == 0)
		rc = REPLY_JUMP;
	while (rc == REPLY_JUMP) {
		after = reply->jump;
		reply->jump = NULL;
		rc = children_walk(reply->fs, reply->base, after, reply_child, reply);
		free(after);
	}
	free(reply->jump);
	return rc;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		 const struct fuse_file_info *fi, bool plus)
{
	struct node *node = lookup_ino(fs_of(req), ino);
	struct reply reply = {
		.fs = fs_of(req), .node = node, .base = node_base(node), .dir = handle_of(fi)->dir};
	int rc = dir_reply_start(&reply.out, req, size, off, plus);

	if (node->kind == NODE_CHUNK)
		reply.text = node_name(node);
	if (rc == 0) {
		pthread_mutex_lock(&reply.dir->lock);
		fs_interruptible(req);
		rc = reply_fill(&reply);
		fs_interruptible(NULL);
		pthread_mutex_unlock(&reply.dir->lock);
	}
	if (rc < 0 && reply.out.used == 0)
		rc = report_unreadable(reply.fs, node, NULL, rc);
	dir_reply_send(&reply.out, rc < 0 ? rc : 0);
}

void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	list(req, ino, size, off, fi, false);
}

void fs_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	list(req, ino, size, off, fi, true);
}
