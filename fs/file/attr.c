/* SPDX-License-Identifier: MIT */
/* The attributes of a node, and how long the kernel may keep them. */
#include "fs/file/attr.h"

#include "fs/cache/cache.h"
#include "fs/control/control.h"
#include "fs/live/live.h"
#include "fs/names/pos.h"
#include "fs/write/writer.h"

enum { BLOCK = 512 };

struct timespec attr_time(int64_t us)
{
	return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
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
		size = live_is(node) ? live_size(fs, node) : control_size(fs, node);
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
			    .st_nlink =
				    node->kind == NODE_CELL && !(node->flags & NODE_F_VIEW) ? 2 : 1,
			    .st_uid = fs->options.uid,
			    .st_gid = fs->options.gid,
			    .st_size = (off_t)size,
			    .st_blksize = 4096,
			    .st_blocks = (blkcnt_t)((size + BLOCK - 1) / BLOCK)};
	st->st_mtim = st->st_atim = st->st_ctim = attr_time(time);
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
	bool stays = session	      ? state & NODE_S_SHOWN
		     : live_is(inode) ? false
				      : !(state & (NODE_S_PASSED | NODE_S_STALE));

	return stays ? cache_fresh(fs) : 0;
}

/* An aggregate shows a number, whose size does not follow from the written lines. */
void attr_keep(struct node *session)
{
	if (!writer_takes_lines(session))
		node_state_set(session, NODE_S_SHOWN);
}

/* The kernel takes no lock for this notice, and discards a reply under way that has older
 * attributes. */
void attr_changed(struct fs *fs, struct node *session)
{
	if (node_state_clear(session, NODE_S_SHOWN) & NODE_S_SHOWN)
		fuse_lowlevel_notify_inval_inode(fs->session, session->nodeid, -1, 0);
}
