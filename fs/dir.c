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

#include "chunk.h"
#include "dir.h"
#include "handle.h"
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
	struct fs *fs;
	struct node *node;
	struct node *base;     /* of a chunk directory; else the node */
	struct wcs_slice text; /* of a chunk directory */
	struct wcs_table *table;
	struct dir *dir;
	char *buf;
	size_t size, used;
	off_t offset;	    /* of the entry to come */
	off_t skip;	    /* entries to count and not to give */
	struct child *jump; /* where to go on, instead of with the next child */
};

enum { REPLY_FULL = 1, REPLY_JUMP = 2, REPLY_END = 3 }; /* why a walk of children stops */

static void dir_forget(struct dir *dir, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(dir->kept[i]);
	dir->count -= count;
	dir->first += (off_t)count;
	if (count > 0)
		memmove(dir->kept, dir->kept + count, dir->count * sizeof(*dir->kept));
}

void dir_free(struct dir *dir)
{
	if (!dir)
		return;
	dir_forget(dir, dir->count);
	free(dir->kept);
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

/* Adds the entry that a child stands for, and keeps what to resume behind: the child, or the jump
 * behind all others that the entry stands for. */
static int reply_entry(struct reply *reply, const struct chunk_name *name, enum node_kind kind,
		       struct wcs_slice bytes)
{
	bool below = name->place == CHUNK_BELOW;
	bool file = kind == NODE_CELL || kind == NODE_VERSION || kind == NODE_CONTROL;
	struct wcs_slice text = {name->encoded, name->end};
	uint64_t ino = below ? node_child_ino(reply->base, NODE_CHUNK, text)
			     : node_child_ino(reply->base, kind, bytes);
	int rc;

	if (reply->skip > 0) {
		reply->skip--;
		return 0;
	}
	rc = reply_add(reply, name->component, ino, file && !below ? S_IFREG : S_IFDIR);
	if (rc != 0)
		return rc;
	if (reply->jump)
		bytes = (struct wcs_slice){reply->jump->bytes, reply->jump->len};
	return dir_keep(reply->dir, reply->offset, kind, bytes);
}

/* A chunk directory is listed where its first child is met, or by itself if it is in memory only.
 */
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

/* In a chunk directory: is the child among those that stand together behind its text? */
static bool is_inside(const struct reply *reply, enum node_kind kind, struct wcs_slice bytes)
{
	struct wcs_slice text = reply->text;

	if (kind == NODE_CHUNK)
		return bytes.len > text.len && memcmp(bytes.data, text.data, text.len) == 0;
	return kind != NODE_FAMILY && chunk_behind(text, bytes);
}

/* Behind them come the chunk directories in memory, of which the first may be before those inside.
 */
static int reply_leave(struct reply *reply, enum node_kind kind, struct wcs_slice bytes)
{
	if (kind == NODE_CHUNK)
		return memdir_order(bytes, reply->text) <= 0 ? 0 : REPLY_END;
	reply->jump = child_new(NODE_CHUNK, reply->text);
	return reply->jump ? REPLY_JUMP : -ENOMEM;
}

static int reply_child(void *ctx, enum node_kind kind, struct wcs_slice bytes)
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
		rc = reply_entry(reply, &name, kind, bytes);
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

	if (reply->offset == 0)
		rc = reply_add(reply, ".", reply->node->ino, S_IFDIR);
	if (rc == 0 && reply->offset == 1)
		rc = reply_add(reply, "..", parent->ino, S_IFDIR);
	return rc;
}

/* A copy of what to resume behind, since kept children are dropped while they grow in number; NULL
 * in *after: from the start. */
static int reply_start(struct reply *reply, struct child **after)
{
	const struct child *kept = dir_find(reply->dir, reply->offset);

	*after = NULL;
	if (kept)
		*after = child_new(kept->kind, (struct wcs_slice){kept->bytes, kept->len});
	else if (reply->text.len > 0)
		*after = chunk_start(reply->base, reply->text);
	else
		return 0;
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
	if (!dir_find(reply->dir, reply->offset))
		reply->skip = reply->offset - DOTS;
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

void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct node *node = lookup_ino(fs_of(req), ino);
	struct reply reply = {.req = req,
			      .fs = fs_of(req),
			      .node = node,
			      .base = node_base(node),
			      .dir = handle_of(fi)->dir,
			      .size = size < REPLY_MAX ? size : REPLY_MAX,
			      .offset = off};
	int rc = -ENOMEM;

	if (node->kind == NODE_CHUNK)
		reply.text = node_name(node);
	reply.buf = malloc(reply.size);
	if (reply.buf) {
		pthread_mutex_lock(&reply.dir->lock);
		rc = reply_fill(&reply);
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
