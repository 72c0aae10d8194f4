/* SPDX-License-Identifier: MIT */
/*
 * Positions in the tree: the row key, family, qualifier and timestamp of a node.
 *
 * Any thread may call these functions, with nodes to which it has a reference; a position belongs
 * to one thread. Those that call the store take no lock of the inode table, and the caller holds
 * none.
 */
#ifndef FS_POS_H
#define FS_POS_H

#include "fs/inode/memdir.h"
#include "fs/inode/node.h"

struct pos {
	enum node_kind kind;
	bool versions;		     /* below /.versions */
	struct wcs_table *table;     /* borrowed from the table's node; NULL above it */
	unsigned char delimiter;     /* the table's, as it is now */
	const struct wcs_keys *keys; /* the table's design; NULL: none, and below .raw */
	size_t depth;		     /* segments in the key; 0: no key */
	size_t key_len;
	const char *family;	    /* NULL above it */
	struct wcs_slice qualifier; /* of a cell, a history or a version */
	struct wcs_slice chunk;	    /* of a chunk: its text */
	int64_t ts;		    /* WCS_TS_NEWEST, or of a version */
	struct view *view;	    /* of the nearest NODE_VIEWED; NULL: outside of views */
	bool descends;		    /* its segments are in descending order */
	bool raw;		    /* below .raw: the key is the engine's */
	bool at_view;		    /* the node is the NODE_VIEWED, or a control file in it */
	struct wcs_chain *chain;    /* of reads, see pos_enter; NULL: all */
	char key[WCS_ROW_KEY_MAX];
};

/* The node's position, which borrows from the node. -ESTALE: the table's delimiter or key design
 * has changed since the node was made; its key is that of another name now. -ENAMETOOLONG: its key
 * is over the limit; no lookup makes such a node (pos_descend). */
int pos_of(const struct node *node, struct pos *pos);

/* Before reads of the store: takes a reference to the present chain of the views above, which
 * pos_leave gives back. opens: at the view itself its bounds are found anew; deeper down, and for
 * lookups, they may be a second old. Outside of views nothing happens. Errors as of
 * wcs_chain_resolve; also then call pos_leave. */
int pos_enter(struct pos *pos, bool opens);
void pos_leave(struct pos *pos);

/* Goes down to a child of that kind; borrows the bytes of a family, a qualifier or a chunk.
 * -ENAMETOOLONG; -ENOENT: no timestamp. */
int pos_descend(struct pos *pos, enum node_kind kind, struct wcs_slice bytes);

static inline struct wcs_slice pos_key(const struct pos *pos)
{
	return (struct wcs_slice){pos->key, pos->key_len};
}

/* The type of the family that the position is in. -ENOENT. */
static inline int pos_type(const struct pos *pos, enum wcs_type *type)
{
	return wcs_family_type(pos->table, pos->family, type);
}

/* As wcs_value_open, of the cell. */
static inline int pos_value_open(const struct pos *pos, struct wcs_value **value)
{
	return (pos->raw ? wcs_value_open_stored : wcs_value_open)(
		pos->table, pos_key(pos), pos->family, pos->qualifier, pos->ts, value);
}

/* Lets through the cells of the column. Borrows from pos and buf, which has room for
 * WCS_QUALIFIER_MAX + 1 bytes. */
struct wcs_filter pos_column(const struct pos *pos, char *buf);

/* Scans the row of the position. -ENOENT: the row key is empty. */
int pos_row_scan(const struct pos *pos, const struct wcs_filter *filter, struct wcs_scan **scan);

/* The path in memory of a directory of segments, a family or a history. 0 or -ENOMEM. */
int pos_memdir_path(const struct pos *pos, struct memdir_path *path);

/* Is it in the store? A chunk is not (chunk_stored). 0, -ENOENT or another error. info: of a cell,
 * with the size of the text that its file shows; may be NULL, which is cheaper in aggregate
 * families. */
int pos_stored(const struct pos *pos, struct wcs_cell_info *info);

/* Is it in the store, or a directory in memory? */
struct fs;
int pos_exists(struct fs *fs, const struct pos *pos);

/* Has the table no directories in memory? 0, -ENOTEMPTY or -ENOMEM. */
int pos_table_check(struct fs *fs, const char *table);

/* Keeps a directory in memory, as mkdir makes it. 0, -ENOMEM, or -ENOSPC. */
int pos_keep(struct fs *fs, const struct pos *pos);

/* Deletes the column of a cell, or the cell of a version. */
int pos_delete(const struct pos *pos);

/* The cell of the position, by a scan of its column from the newest cell on: unlike that of
 * pos_stored, info->expires takes account of how many cells are newer; the size is the stored
 * value's. -ENOENT. */
int pos_cell(const struct pos *pos, struct wcs_cell_info *info);

/* The second newest cell of a column. -ENOENT: none. */
int pos_older(const struct pos *pos, struct wcs_cell_info *info);

#endif
