/* SPDX-License-Identifier: MIT */
/*
 * OPENDIR, READDIR, READDIRPLUS. Each READDIR resumes after the child that was returned with its
 * offset: with the scan that the last one left (dir_scan.h), else by key. What a kept scan gives is
 * of its opening, and so is the mark by which the kernel may cache it.
 *
 * Offsets 0 and 1 are `.` and `..`. The handle keeps the children of the most recent offsets, and
 * no kept offset is given to a second child. An older offset is found by counting from the start.
 *
 * The kernel makes a dentry of each entry of a READDIRPLUS that has attributes. Only entries that
 * the kernel may cache get attributes: a dentry that must be looked up at its next use saves
 * nothing, and could replace a dentry that a parallel lookup found. Other entries have node id 0,
 * and the kernel looks them up on use.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/dir/dir_kept.h"
#include "fs/dir/dir_scan.h"
#include "fs/file/handle.h"
#include "fs/file/lookup.h"
#include "fs/names/chunk.h"
#include "fs/report/report.h"
#include "lib/hash.h"
#include "store/chain/chain.h"

enum {
	DOTS = 2,
	BYTES_MAX = 65536,
	NODES_MAX = BYTES_MAX / 152, /* an entry with attributes takes more than 152 bytes */
	/* The kernel requests attributes at the start of each listing. It allocates an inode for
	 * each entry with attributes, which takes most of the time. A short first reply returns the
	 * first entry soon and costs a plain `ls` little; `ls -l` requests more. */
	FIRST_ENTRIES = 32,
};

struct dir {
	pthread_mutex_t lock;
	struct dir_kept kept; /* Lock: lock */
	struct dir_scan scan;
	struct fs *fs;
	struct wcs_chain *chain; /* in a view: what it shows until it is closed; constant */
	off_t end; /* in a view: the offset behind the last child; 0: unknown. Lock: lock */
};

/* A reply under construction. */
struct reply {
	fuse_req_t req;
	struct fs *fs;
	bool plus; /* with attributes */
	char *buf;
	size_t size, used;
	off_t offset; /* of the next entry */
	size_t limit; /* entries that may follow, besides the limit in bytes */
	size_t count; /* nodes in the reply, each with a reference */
	struct node *nodes[NODES_MAX];
	struct node *node;
	struct node *base;     /* the directory whose long names the chunk holds; else the node */
	struct wcs_slice text; /* of a chunk directory */
	struct pos pos;	       /* of the node, with what the directory shows */
	struct dir *dir;
	off_t skip;	    /* entries to count without returning them */
	struct child *jump; /* the child to continue after, if not the present one */
	uint64_t chunk;	    /* a hash of the chunk that the last child was in; 0: none */
};

enum { REPLY_FULL = 1, REPLY_JUMP = 2, REPLY_END = 3 }; /* why the walk stops */

static void dir_free(struct dir *dir)
{
	dir_scan_take(dir->fs, &dir->scan, -1);
	wcs_chain_free(dir->chain);
	dir_kept_clear(&dir->kept);
	pthread_mutex_destroy(&dir->lock);
	free(dir);
}

/* Takes the chain of views that the directory shows. */
static int dir_enter(struct dir *dir, const struct node *node)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	if (rc == 0)
		rc = pos_enter(&pos, true);
	if (rc != 0) {
		pos_leave(&pos);
		return rc;
	}
	dir->chain = dir->scan.scan.chain = pos.chain;
	dir->scan.scan.entered = true;
	return 0;
}

static int dir_open(fuse_req_t req, struct node *node, struct handle *handle)
{
	int rc = 0;

	if (handle)
		handle->dir = calloc(1, sizeof(*handle->dir));
	if (!handle || !handle->dir)
		return -ENOMEM;
	pthread_mutex_init(&handle->dir->lock, NULL);
	handle->dir->scan.lock = &handle->dir->lock;
	handle->dir->fs = fs_of(req);
	handle->dir_free = dir_free;
	if ((node->flags & NODE_F_VIEW) && node_base(node)->kind != NODE_VIEW) {
		fs_interruptible(req);
		rc = dir_enter(handle->dir, node);
		fs_interruptible(NULL);
	}
	return report_unreadable(fs_of(req), node, NULL, rc);
}

void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_new(fs_of(req));
	int rc = dir_open(req, lookup_ino(fs_of(req), ino), handle);

	handle_reply(req, ino, rc, handle, fi);
}

static bool reply_fits(const struct reply *reply, const char *name)
{
	size_t size = reply->plus ? fuse_add_direntry_plus(reply->req, NULL, 0, name, NULL, 0)
				  : fuse_add_direntry(reply->req, NULL, 0, name, NULL, 0);

	return reply->limit > 0 && size <= reply->size - reply->used;
}

static void reply_put(struct reply *reply, const char *name, const struct fuse_entry_param *entry,
		      off_t next)
{
	char *at = reply->buf + reply->used;
	size_t room = reply->size - reply->used;

	reply->limit--;
	reply->offset = next;
	if (reply->plus)
		reply->used += fuse_add_direntry_plus(reply->req, at, room, name, entry, next);
	else
		reply->used += fuse_add_direntry(reply->req, at, room, name, &entry->attr, next);
}

/* Adds an entry at the next offset, without attributes. */
static int reply_add(struct reply *reply, const char *name, uint64_t ino, mode_t mode)
{
	struct fuse_entry_param entry = {.attr = {.st_ino = ino, .st_mode = mode}};

	if (!reply_fits(reply, name))
		return REPLY_FULL;
	reply_put(reply, name, &entry, reply->offset + 1);
	return 0;
}

/* Makes the node of an entry that the kernel may cache, with a reference. NULL: the kernel may not
 * cache it, or there is no memory; the entry is then sent without attributes.
 */
static struct node *reply_node(struct reply *reply, const char *name, struct node_key *key,
			       const struct wcs_cell_info *info, struct fuse_entry_param *entry)
{
	struct cache_mark mark = reply->dir->scan.mark;
	struct node *node;
	double timeout;

	mark.listing = true;
	if (node_is_value(key->kind)) {
		mark.column = node_child_id(key->parent, key->kind, key->name).column;
		key->ts = info->ts;
		key->etag = info->etag;
		key->size = (uint32_t)info->size;
	}
	node = nodes_get(reply->fs->nodes, key, 0, NULL);
	if (!node)
		return NULL;
	timeout = cache_timeout(reply->fs, &mark, node, name, info);
	if (timeout > 0) {
		lookup_entry(reply->fs, node, entry);
		entry->entry_timeout = timeout;
		return node;
	}
	nodes_put(reply->fs->nodes, node, 1);
	return NULL;
}

/* Adds a child; a listing that resumes at `next` continues after it. The entry has attributes if
 * the kernel requested them and may cache the name. info: of a column or version, read since the
 * reply was started, or NULL. */
static int reply_add_child(struct reply *reply, const char *name, struct node_key *key,
			   const struct wcs_cell_info *info, off_t next)
{
	bool file = node_is_value(key->kind) || key->kind == NODE_CONTROL;
	struct fuse_entry_param entry = {.ino = 0};
	struct node *node = NULL;

	if (!reply_fits(reply, name))
		return REPLY_FULL;
	/* A table's node holds the table open, and a listing does not open all tables. A cell that
	 * will expire is not cached from a listing: its timeout is computed now, but the kernel
	 * counts from its receipt, so the dentry could outlive the cell. */
	if (reply->plus && !(key->parent->flags & (NODE_F_VERSIONS | NODE_F_VIEW)) &&
	    (key->kind != NODE_VERSION || cache_keeps_versions(reply->fs)) &&
	    (key->kind == NODE_PREFIX || key->kind == NODE_FAMILY || key->kind == NODE_CHUNK ||
	     (node_is_value(key->kind) && info && info->expires == WCS_TS_MAX)))
		node = reply_node(reply, name, key, info, &entry);
	if (node) {
		reply->nodes[reply->count++] = node;
	} else {
		entry.attr.st_ino =
			node_child_ino(key->parent, key->kind, key->name, info ? info->etag : 0);
		entry.attr.st_mode = file ? S_IFREG : S_IFDIR;
	}
	reply_put(reply, name, &entry, next);
	return 0;
}

/* Adds the child's entry, and keeps the child to resume after: this one, or the last one that the
 * same chunk directory holds. */
static int reply_entry(struct reply *reply, const struct chunk_name *name, enum node_kind kind,
		       struct wcs_list_child child, const struct wcs_cell_info *info)
{
	struct node_key key = {.parent = reply->base, .kind = kind, .name = child.segment};
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
		child = child_of(reply->jump);
	next = dir_kept_next(&reply->dir->kept, reply->offset, kind, &child);
	rc = reply_add_child(reply, name->component, &key, info, next);
	if (rc != 0)
		return rc;
	return dir_kept_add(&reply->dir->kept, next, kind, &child);
}

/* Is this the child at which its chunk directory is listed? That is the first stored one, or the
 * directory itself if it exists only in memory. */
static int is_first(struct reply *reply, const struct chunk_name *name, enum node_kind kind,
		    struct wcs_slice bytes)
{
	struct wcs_slice text = {name->encoded, name->end};
	struct child *first;
	int rc = chunk_first(reply->fs, reply->base, &reply->pos, text, &first);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (kind == NODE_CHUNK)
		rc = !first && name->end == name->len;
	else
		rc = first && wcs_slice_compare(child_of(first).segment, bytes) == 0;
	free(first);
	return rc;
}

static int reply_child(void *ctx, enum node_kind kind, struct wcs_slice bytes,
		       const struct wcs_cell_info *info)
{
	struct reply *reply = ctx;
	struct wcs_slice text = reply->text;
	struct wcs_list_child child = {.segment = bytes};
	struct chunk_name name;
	int rc = 0, listed = 1;
	bool inside = true;

	if (kind == NODE_PREFIX)
		child = reply->dir->scan.scan.at;
	if (text.len > 0 && kind == NODE_CHUNK)
		inside = bytes.len > text.len && memcmp(bytes.data, text.data, text.len) == 0;
	else if (text.len > 0)
		inside = kind != NODE_FAMILY && chunk_behind(text, bytes);
	if (!inside) {
		/* Chunk directories in memory follow the chunk's stored children. The first of them
		 * may sort before these. */
		if (kind == NODE_CHUNK && wcs_slice_compare(bytes, text) > 0)
			return REPLY_END;
		reply->jump = child_new(NODE_CHUNK, &(struct wcs_list_child){.segment = text});
		return reply->jump ? REPLY_JUMP : -ENOMEM;
	}
	chunk_split(&reply->pos, text, kind, bytes, &name);
	if (name.place == CHUNK_BELOW) { /* one behind another of its chunk is not the first */
		uint64_t chunk = hash_bytes(HASH_START, name.encoded, name.end);

		listed = chunk != reply->chunk ? is_first(reply, &name, kind, bytes) : 0;
		reply->chunk = chunk;
	}
	if (listed < 0)
		return listed;
	if (kind == NODE_CHUNK && name.place == CHUNK_BELOW)
		reply->jump = chunk_skip_memory(&name);
	else if (name.place != CHUNK_HERE && kind != NODE_CHUNK)
		reply->jump = chunk_skip(reply->pos.descends, text, &name, kind, &child, &rc);
	if (rc == 0 && listed && name.place != CHUNK_AWAY)
		rc = reply_entry(reply, &name, kind, child, info);
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
	off_t offset = reply->offset;
	struct wcs_list_child child;
	enum node_kind kind;

	if (dir_kept_find(kept, offset, &kind, &child)) {
		reply->jump = child_new(kind, &child);
		if (!reply->jump)
			return -ENOMEM;
		/* Keeps the offset among the most recent. */
		child = child_of(reply->jump);
		return dir_kept_add(kept, offset, kind, &child);
	}
	reply->skip = dir_kept_position(offset) - DOTS;
	if (reply->text.len == 0)
		return 0;
	reply->jump = chunk_start(reply->base, reply->pos.descends, reply->text);
	return reply->jump ? 0 : -ENOMEM;
}

static int reply_fill(struct reply *reply)
{
	const struct node *node = reply->node, *parent = node->parent ? node->parent : node;
	struct children_scan *scan = &reply->dir->scan.scan;
	struct child *after;
	int rc = pos_of(node, &reply->pos);

	if (rc == 0 && reply->offset == 0)
		rc = reply_add(reply, ".", node->ino, S_IFDIR);
	if (rc == 0 && reply->offset == 1)
		rc = reply_add(reply, "..", parent->ino, S_IFDIR);
	if (rc != 0)
		return rc;
	/* The kernel asks once more behind the last child, and a view would read its tail again. */
	if (reply->offset != 0 && reply->offset == reply->dir->end)
		return 0;
	reply->pos.chain = reply->dir->chain;
	dir_scan_take(reply->fs, &reply->dir->scan, reply->offset);
	rc = reply_start(reply);
	if (rc == 0)
		rc = REPLY_JUMP;
	while (rc == REPLY_JUMP) {
		after = reply->jump;
		reply->jump = NULL;
		rc = children_walk(reply->fs, reply->base, after, scan, reply_child, reply);
		free(after);
		if (rc != REPLY_FULL)
			children_scan_close(scan);
	}
	free(reply->jump);
	reply->dir->end = scan->entered && (rc == 0 || rc == REPLY_END) ? reply->offset : 0;
	if (children_scan_is_open(scan))
		dir_scan_keep(reply->fs, &reply->dir->scan, reply->offset);
	return rc;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		 const struct fuse_file_info *fi, bool plus)
{
	struct node *node = lookup_ino(fs_of(req), ino);
	struct handle *handle = handle_of(fi);
	int64_t began = handle_read_begin(fs_of(req), handle);
	struct reply reply = {.req = req,
			      .fs = fs_of(req),
			      .plus = plus,
			      .size = size < BYTES_MAX ? size : BYTES_MAX,
			      .offset = off,
			      .limit = plus && off == 0 ? FIRST_ENTRIES : SIZE_MAX,
			      .node = node,
			      .base = node_base(node),
			      .dir = handle->dir};
	int rc;

	if (began == 0) {
		fuse_reply_none(req);
		return;
	}
	if (node->kind == NODE_CHUNK)
		reply.text = node_name(node);
	reply.buf = malloc(reply.size);
	rc = reply.buf ? 0 : -ENOMEM;
	if (rc == 0) {
		pthread_mutex_lock(&reply.dir->lock);
		fs_interruptible(req);
		rc = reply_fill(&reply);
		fs_interruptible(NULL);
		pthread_mutex_unlock(&reply.dir->lock);
	}
	handle_read_end(handle, began);
	/* A program with a handler goes on after a reply of `.` and `..` alone. */
	if (rc < 0 && (reply.used == 0 || reply.offset == DOTS))
		rc = fuse_reply_err(req, -report_unreadable(reply.fs, node, NULL, rc));
	else
		rc = fuse_reply_buf(req, reply.buf, reply.used);
	for (size_t i = 0; rc != 0 && i < reply.count; i++)
		nodes_put(reply.fs->nodes, reply.nodes[i], 1);
	free(reply.buf);
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
