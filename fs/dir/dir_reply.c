/* SPDX-License-Identifier: MIT */
/*
 * Replies to READDIR and READDIRPLUS.
 *
 * The kernel makes a dentry of each entry that has attributes. Only entries that the kernel may
 * cache get attributes: a dentry that must be looked up at its next use saves nothing, and could
 * replace a dentry that a parallel lookup found. Other entries have node id 0, and the kernel looks
 * them up on use.
 */
#include "fs/dir/dir_reply.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/file/lookup.h"

/*
 * The kernel requests attributes at the start of each listing. It allocates an inode for each entry
 * with attributes, which takes most of the time. A short first reply returns the first entry soon
 * and costs a plain `ls` little; `ls -l` requests more.
 */
enum { FIRST_ENTRIES = 32 };

int dir_reply_start(struct dir_reply *reply, fuse_req_t req, size_t size, off_t offset, bool plus)
{
	reply->req = req;
	reply->fs = fs_of(req);
	reply->plus = plus;
	reply->size = size < DIR_REPLY_MAX ? size : DIR_REPLY_MAX;
	reply->offset = offset;
	reply->limit = plus && offset == 0 ? FIRST_ENTRIES : SIZE_MAX;
	cache_mark(reply->fs, &reply->mark);
	reply->mark.listing = true;
	reply->buf = malloc(reply->size);
	return reply->buf ? 0 : -ENOMEM;
}

static bool fits(const struct dir_reply *reply, const char *name)
{
	size_t size = reply->plus ? fuse_add_direntry_plus(reply->req, NULL, 0, name, NULL, 0)
				  : fuse_add_direntry(reply->req, NULL, 0, name, NULL, 0);

	return reply->limit > 0 && size <= reply->size - reply->used;
}

static void add(struct dir_reply *reply, const char *name, const struct fuse_entry_param *entry,
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

int dir_reply_add(struct dir_reply *reply, const char *name, uint64_t ino, mode_t mode)
{
	struct fuse_entry_param entry = {.attr = {.st_ino = ino, .st_mode = mode}};

	if (!fits(reply, name))
		return 1;
	add(reply, name, &entry, reply->offset + 1);
	return 0;
}

/* Makes the node of an entry that the kernel may cache, with a reference. NULL: the kernel may not
 * cache it, or there is no memory; the entry is then sent without attributes.
 */
static struct node *hand_out(struct dir_reply *reply, const char *name, struct node_key *key,
			     const struct wcs_cell_info *info, struct fuse_entry_param *entry)
{
	struct cache_mark mark = reply->mark;
	struct node *node;
	double timeout;

	if (key->kind == NODE_CELL) {
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

int dir_reply_add_child(struct dir_reply *reply, const char *name, const struct node_key *key,
			const struct wcs_cell_info *info, off_t next)
{
	bool file = node_is_value(key->kind) || key->kind == NODE_CONTROL;
	struct fuse_entry_param entry = {.ino = 0};
	struct node_key found = *key;
	struct node *node = NULL;

	if (!fits(reply, name))
		return 1;
	/* A table's node holds the table open, and a listing does not open all tables. A cell that
	 * will expire is not cached from a listing: its timeout is computed now, but the kernel
	 * counts from its receipt, so the dentry could outlive the cell. */
	if (reply->plus && !(key->parent->flags & NODE_F_VERSIONS) &&
	    (key->kind == NODE_PREFIX || key->kind == NODE_FAMILY || key->kind == NODE_CHUNK ||
	     (key->kind == NODE_CELL && info && info->expires == WCS_TS_MAX)))
		node = hand_out(reply, name, &found, info, &entry);
	if (node) {
		reply->nodes[reply->count++] = node;
	} else {
		entry.attr.st_ino = node_child_ino(key->parent, key->kind, key->name);
		entry.attr.st_mode = file ? S_IFREG : S_IFDIR;
	}
	add(reply, name, &entry, next);
	return 0;
}

void dir_reply_send(struct dir_reply *reply, int error)
{
	int rc;

	if (error != 0 && reply->used == 0)
		rc = fuse_reply_err(reply->req, -error);
	else
		rc = fuse_reply_buf(reply->req, reply->buf, reply->used);
	for (size_t i = 0; rc != 0 && i < reply->count; i++)
		nodes_put(reply->fs->nodes, reply->nodes[i], 1);
	free(reply->buf);
}
