/* SPDX-License-Identifier: MIT */
/* The attributes of a node, and how long the kernel may keep them. */
#include "fs/file/attr.h"

#include "fs/control/control.h"
#include "fs/write/writer.h"

enum { NEVER_CHANGES = 1 << 20, BLOCK = 512 };

struct timespec attr_time(int64_t us)
{
	return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

bool attr_is_file(const struct node *node)
{
	return node->kind == NODE_CELL || node->kind == NODE_VERSION || node->kind == NODE_DRAFT ||
	       node->kind == NODE_CONTROL;
}

/* A directory has the creation time of its table; above tables, of the store. */
static int64_t directory_time(struct fs *fs, const struct node *node)
{
	while (node && node->kind != NODE_TABLE)
		node = node->parent;
	return node ? wcs_table_created(node->table) : wcs_store_created(fs->store);
}

static void fill_cell(const struct node *node, struct stat *st, int64_t *time)
{
	uint64_t size = node->size;

	*time = node_ts(node);
	if (node->flags & NODE_F_WRITER)
		writer_stat(node->writer, &size, time);
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((size + BLOCK - 1) / BLOCK);
	st->st_nlink = node->kind == NODE_CELL ? 2 : 1;
	if ((node_state(node) & NODE_S_UNLINKED) ||
	    ((node->flags & NODE_F_WRITER) && writer_is_unlinked(node->writer))) {
		st->st_nlink = 0;
		st->st_ino = node_unlinked_ino(node);
	}
}

void attr_fill(struct fs *fs, const struct node *node, struct stat *st)
{
	int64_t time = fs->mounted;

	*st = (struct stat){.st_ino = node->ino,
			    .st_nlink = 1,
			    .st_uid = fs->options.uid,
			    .st_gid = fs->options.gid,
			    .st_blksize = 4096};
	st->st_mode = attr_is_file(node) ? S_IFREG | (0666 & ~fs->options.umask)
					 : S_IFDIR | (0777 & ~fs->options.umask);
	if (node->kind == NODE_CONTROL)
		st->st_mode = S_IFREG | (control_mode(node) & ~fs->options.umask);
	if (attr_is_file(node) && node->kind != NODE_CONTROL)
		fill_cell(node, st, &time);
	else if (node->kind != NODE_CONTROL)
		time = directory_time(fs, node);
	st->st_mtim = st->st_atim = st->st_ctim = attr_time(time);
}

double attr_timeout(struct node *inode)
{
	if (node_now(inode)->flags & NODE_F_WRITER)
		return node_state(inode) & NODE_S_SHOWN ? NEVER_CHANGES : 0;
	return node_state(inode) & (NODE_S_PASSED | NODE_S_STALE) ? 0 : NEVER_CHANGES;
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
		fuse_lowlevel_notify_inval_inode(fs->session, (uintptr_t)session, -1, 0);
}
