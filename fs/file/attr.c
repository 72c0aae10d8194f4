/* SPDX-License-Identifier: MIT */
/* The attributes of a node, and how long the kernel may keep them. */
#include "fs/file/attr.h"

#include <errno.h>

#include "fs/cache/cache.h"
#include "fs/control/control.h"
#include "fs/file/handle.h"
#include "fs/live/live.h"
#include "fs/names/pos.h"
#include "fs/value/draft.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"

enum { BLOCK = 512 };

#define TEXT_FRESH 1.0 /* seconds */

struct timespec attr_time(int64_t us)
{
	return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

static void set_size(struct stat *st, uint64_t size)
{
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((size + BLOCK - 1) / BLOCK);
}

static void set_value(struct stat *st, uint64_t size, int64_t time)
{
	set_size(st, size);
	st->st_mtim = st->st_atim = st->st_ctim = attr_time(time);
}

/* A column's history holds its newest cell, too. */
static nlink_t links_of(const struct node *node)
{
	return node->kind == NODE_CELL && !(node->flags & NODE_F_VIEW) ? 2 : 1;
}

/* A session of a version has the number of the cell that is there. */
static uint64_t ino_of(const struct node *session)
{
	struct wcs_cell_info info = {0};
	struct pos pos;

	if (session->kind != NODE_VERSION || pos_of(session, &pos) != 0 ||
	    pos_stored(&pos, &info) != 0)
		return session->ino;
	return node_child_ino(session->parent, NODE_VERSION, node_name(session), info.etag);
}

void attr_fill(struct fs *fs, const struct node *node, struct stat *st)
{
	const struct node *table;
	bool session = node->flags & NODE_F_WRITER;
	mode_t mode = S_IFREG | (0666 & ~fs->options.umask);
	int64_t time = fs->mounted;
	uint64_t size = 0;

	if (node->kind == NODE_CONTROL) {
		mode = S_IFREG | (control_mode(node) & ~fs->options.umask);
		size = live_is(node) ? live_size(fs, node) : node->size;
	} else if (node_is_value(node->kind)) {
		size = node->size;
		time = node_ts(node);
		if (session)
			writer_stat(node->writer, &size, &time);
	} else { /* the creation time of its table; above tables, of the store */
		mode = S_IFDIR | (0777 & ~fs->options.umask);
		table = node_up(node, NODE_TABLE);
		time = table ? wcs_table_created(table->table) : wcs_store_created(fs->store);
	}
	*st = (struct stat){.st_ino = session ? ino_of(node) : node->ino,
			    .st_mode = mode,
			    .st_nlink = links_of(node),
			    .st_uid = fs->options.uid,
			    .st_gid = fs->options.gid,
			    .st_blksize = 4096};
	set_value(st, size, time);
	if (node_is_value(node->kind) && ((node_state(node) & NODE_S_UNLINKED) ||
					  (session && writer_is_unlinked(node->writer)))) {
		st->st_nlink = 0;
		st->st_ino = node_unlinked_ino(node);
	}
}

double attr_timeout(const struct fs *fs, struct node *inode)
{
	unsigned state = node_state(inode);
	bool session = node_now(inode)->flags & NODE_F_WRITER;
	bool stays = session ? state & NODE_S_SHOWN
		     : live_is(inode) || control_grows(inode)
			     ? false
			     : !(state & (NODE_S_PASSED | NODE_S_STALE));

	if (!stays)
		return 0;
	/* Should a reply with a text's older size come last (nodes_get_text), it does not stay. */
	return inode->kind == NODE_CONTROL
		       ? (TEXT_FRESH < cache_fresh(fs) ? TEXT_FRESH : cache_fresh(fs))
		       : cache_fresh(fs);
}

int attr_newest(struct fs *fs, const struct node *node, struct wcs_cell_info *info)
{
	struct pos pos;
	int rc;

	if (node->kind == NODE_DRAFT)
		return draft_get(fs, node_id(node), info, NULL);
	rc = pos_of(node, &pos);
	if (rc != 0)
		return rc;
	rc = pos_enter(&pos, false);
	if (rc == 0)
		rc = pos_stored(&pos, info);
	pos_leave(&pos);
	return rc;
}

int attr_get(struct fs *fs, struct node *inode, const struct handle *handle, struct stat *st,
	     double *timeout)
{
	struct node *node = node_now(inode);
	bool writes = handle && handle->writer, passed = node_state(inode) & NODE_S_PASSED;
	struct wcs_cell_info info;
	int rc;

	attr_fill(fs, writes ? handle->writer : node, st);
	*timeout = attr_timeout(fs, inode);
	if (writes || !node_is_value(node->kind) || (node->flags & NODE_F_WRITER))
		return 0;
	rc = attr_newest(fs, node, &info);
	if (rc != 0 || !node_is_of(node, &info)) {
		*timeout = 0;
		if (rc == -ENOENT && inode->opens == 0)
			return -ESTALE;
		if (rc == 0 && (handle ? handle->direct : passed || inode->opens == 0)) {
			st->st_ino = node_child_ino(node->parent, node->kind, node_name(node),
						    info.etag);
			st->st_nlink = links_of(node);
			set_value(st, info.size, info.ts);
		}
	}
	if (handle && handle->value && handle->direct)
		set_size(st, value_size(handle->value));
	return 0;
}

void attr_pass(struct fs *fs, struct node *inode)
{
	if (!(node_state_set(inode, NODE_S_PASSED) & NODE_S_PASSED))
		notice_attributes(fs, inode);
}

void attr_changed(struct fs *fs, struct node *session)
{
	if (node_state_clear(session, NODE_S_SHOWN) & NODE_S_SHOWN)
		notice_attributes(fs, session);
}
