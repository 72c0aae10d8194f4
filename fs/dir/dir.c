/* SPDX-License-Identifier: MIT */
/*
 * OPENDIR, READDIR, READDIRPLUS, RELEASEDIR, FSYNCDIR. A listing holds nothing of the store between
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
#include "fs/serve/loop.h"
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
	struct child *jump; /* the child to continue after, instead of the present one */
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
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_new(fs);

	if (handle)
		handle->dir = calloc(1, sizeof(*handle->dir));
	if (!handle || !handle->dir) {
		if (handle)
			handle_close(fs, handle);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&handle->dir->lock, NULL);
	handle->dir_free = dir_free;
	fi->fh = (uintptr_t)handle;
	lookup_opened(fs, ino, 1);
	if (fuse_reply_open(req, fi) != 0) {
		lookup_opened(fs, ino, -1);
		handle_close(fs, handle);
	}
}

void fs_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	handle_close(fs_of(req), handle_of(fi));
	lookup_opened(fs_of(req), ino, -1);
	fuse_reply_err(req, 0);
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

/* Does the chunk directory hold the child? */
static bool is_inside(const struct reply *reply, enum node_kind kind, struct wcs_slice bytes)
{
	struct wcs_slice text = reply->text;

	if (kind == NODE_CHUNK)
		return bytes.len > text.len && memcmp(bytes.data, text.data, text.len) == 0;
	return kind != NODE_FAMILY && chunk_behind(text, bytes);
}

/* The walk left the chunk directory's children. Chunk directories in memory follow, and the first
 * of them may sort before these children. */
static int reply_leave(struct reply *reply, enum node_kind kind, struct wcs_slice bytes)
{
	if (kind == NODE_CHUNK)
		return memdir_order(bytes, reply->text) <= 0 ? 0 : REPLY_END;
	reply->jump = child_new(NODE_CHUNK, reply->text);
	return reply->jump ? REPLY_JUMP : -ENOMEM;
}

static int reply_child(void *ctx, enum node_kind kind, struct wcs_slice bytes,
		       const struct wcs_cell_info *info)
{
	struct reply *reply = ctx;
	struct chunk_name name;
	int rc = 0, listed = 1;

	if (reply->text.len > 0 && !is_inside(reply, kind, bytes))
		return reply_leave(reply, kind, bytes);
	chunk_split(reply->table, reply->text, kind, bytes, &name);
	if (name.place == CHUNK_BELOW)
		listed = is_first(reply, &name, kind, bytes);
	if (listed < 0)
		return listed;
	if (name.place != CHUNK_HERE && kind != NODE_CHUNK)
		reply->jump = chunk_skip(reply->text, &name, kind, bytes, &rc);
	if (rc == 0 && listed && name.place != CHUNK_AWAY)
		rc = reply_entry(reply, &name, kind, bytes, info);
	if (rc != 0) {
		free(reply->jump);
		reply->jump = NULL;
	}
	return rc == 0 && reply->jump ? REPLY_JUMP : rc;
}

static int reply_dots(struct reply *reply)
{
	const struct node *parent = reply->node->parent ? reply->node->parent : reply->node;
	int rc = 0;

	if (reply->out.offset == 0)
		rc = dir_reply_add(&reply->out, ".", reply->node->ino, S_IFDIR);
	if (rc == 0 && reply->out.offset == 1)
		rc = dir_reply_add(&reply->out, "..", parent->ino, S_IFDIR);
	return rc;
}

/* Resumes after a kept child, and keeps its offset among the most recent. */
static int reply_resume(struct reply *reply, enum node_kind kind, struct wcs_slice bytes,
			struct child **after)
{
	struct child *child = child_new(kind, bytes);

	if (!child)
		return -ENOMEM;
	*after = child;
	bytes = (struct wcs_slice){child->bytes, child->len};
	return dir_kept_add(&reply->dir->kept, reply->out.offset, kind, bytes);
}

/* Finds the child to resume after; the caller frees it. NULL: the listing starts at the first
 * child. */
static int reply_start(struct reply *reply, struct child **after)
{
	enum node_kind kind;
	struct wcs_slice bytes;
	bool known = dir_kept_find(&reply->dir->kept, reply->out.offset, &kind, &bytes);

	*after = NULL;
	if (known)
		return reply_resume(reply, kind, bytes, after);
	reply->skip = dir_kept_position(reply->out.offset) - DOTS;
	if (reply->text.len == 0)
		return 0;
	*after = chunk_start(reply->base, reply->text);
	return *after ? 0 : -ENOMEM;
}

static int reply_fill(struct reply *reply)
{
	struct child *after;
	struct pos pos;
	int rc = pos_of(reply->node, &pos);

	if (rc == 0)
		rc = reply_dots(reply);
	if (rc != 0)
		return rc;
	reply->table = pos.table;
	rc = reply_start(reply, &after);
	if (rc == 0)
		rc = children_walk(reply->fs, reply->base, after, reply_child, reply);
	while (rc == REPLY_JUMP) {
		free(after);
		after = reply->jump;
		reply->jump = NULL;
		rc = children_walk(reply->fs, reply->base, after, reply_child, reply);
	}
	free(after);
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
		rc = reply_fill(&reply);
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

void fs_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, -loop_sync(fs_of(req)));
}
