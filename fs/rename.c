/* SPDX-License-Identifier: MIT */
/*
 * RENAME: of a column within its family, of a version within its history, and of a version to a
 * column. Everything else is EXDEV, so that mv copies, or EPERM, where there is nothing to copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "lookup.h"
#include "writer.h"

/* One side of a rename. */
struct side {
	struct node *dir;
	struct spelled child;
	struct pos pos;
};

static int side_of(struct side *side, struct node *dir, const char *name)
{
	side->dir = node_base(dir);
	return lookup_child(dir, name, &side->pos, &side->child);
}

/* What cannot be moved at all, also not by copying it. */
static bool is_fixed(enum node_kind kind)
{
	return kind != NODE_PREFIX && kind != NODE_FAMILY && kind != NODE_HISTORY &&
	       kind != NODE_CELL && kind != NODE_VERSION && kind != NODE_DRAFT &&
	       kind != NODE_CHUNK;
}

/* Is it a directory of rows and what is in them? */
static bool is_in_tree(const struct node *dir)
{
	return dir->kind != NODE_ROOT && dir->kind != NODE_ROWFS && dir->kind != NODE_FAMILIES &&
	       dir->kind != NODE_POLICIES;
}

static bool is_column(const struct side *side)
{
	return side->child.kind == NODE_CELL;
}

static int move_cells(const struct side *from, const struct side *to, enum wcs_move_kind kind,
		      int64_t *ts)
{
	struct wcs_move move = {.kind = kind,
				.family = from->pos.family,
				.from = from->pos.qualifier,
				.from_ts = from->pos.ts,
				.to = to->pos.qualifier,
				.to_ts = to->pos.ts};

	return wcs_cells_move(from->pos.table, pos_key(&from->pos), &move, ts);
}

/* A name that only sessions make becomes another: the store has nothing to move. */
static int rename_unstored(struct fs *fs, pid_t thread, const struct side *from,
			   const struct side *to, bool exclusive)
{
	struct wcs_cell_info info;

	if (exclusive && pos_stored(&to->pos, &info) == 0)
		return -EEXIST;
	return writers_rename(fs, thread, from->dir, &from->child, &to->child, NULL);
}

static int rename_column(struct fs *fs, pid_t thread, const struct side *from,
			 const struct side *to, bool exclusive)
{
	enum wcs_move_kind kind = exclusive ? WCS_MOVE_COLUMN_NEW : WCS_MOVE_COLUMN;
	struct writer_moved moved;
	struct wcs_cell_info info;
	int rc = pos_stored(&from->pos, &info);

	if (rc == -ENOENT)
		return rename_unstored(fs, thread, from, to, exclusive);
	if (rc != 0)
		return rc;
	moved.newest = info.ts;
	moved.merged = pos_stored(&to->pos, &info) == 0;
	rc = move_cells(from, to, kind, &moved.now);
	if (rc == 0)
		rc = writers_rename(fs, thread, from->dir, &from->child, &to->child, &moved);
	return rc;
}

/* An older version of a column becomes its newest: with the present as its timestamp, since another
 * has its own. */
static int rename_to_newest(const struct side *from, const struct side *to)
{
	struct side stamped = *to;
	struct wcs_cell_info info;
	int rc = pos_stored(&to->pos, &info);

	if (rc != 0 || info.ts == from->pos.ts)
		return rc;
	if (info.ts == WCS_TS_MAX)
		return -EOVERFLOW;
	stamped.pos.ts = fs_now() > info.ts ? fs_now() : info.ts + 1;
	return move_cells(from, &stamped, WCS_MOVE_CELL, NULL);
}

static bool same_column(const struct side *a, const struct side *b)
{
	return a->pos.qualifier.len == b->pos.qualifier.len &&
	       memcmp(a->pos.qualifier.data, b->pos.qualifier.data, a->pos.qualifier.len) == 0;
}

static int rename_version(const struct side *from, const struct side *to, bool exclusive)
{
	enum wcs_move_kind kind = is_column(to) ? WCS_MOVE_CELL_NEWEST : WCS_MOVE_CELL;
	struct wcs_cell_info info;

	if (exclusive && pos_stored(&to->pos, &info) == 0)
		return -EEXIST;
	if (is_column(to) && same_column(from, to))
		return rename_to_newest(from, to);
	return move_cells(from, to, kind, NULL);
}

/* A draft becomes a version, or gets another name. */
static int rename_draft(struct fs *fs, const struct side *from, const struct side *to,
			bool exclusive)
{
	struct wcs_cell_info info;
	struct node *draft, *other;
	int rc = draft_find(fs, from->dir, &from->child, &draft);

	if (rc != 0)
		return rc;
	if (to->child.kind == NODE_VERSION) {
		rc = exclusive && pos_stored(&to->pos, &info) == 0 ? -EEXIST : 0;
		if (rc == 0)
			rc = writer_publish(draft, &to->pos);
		if (rc == 0)
			rc = draft_remove(fs, from->dir, &from->child);
	} else if (exclusive && draft_find(fs, to->dir, &to->child, &other) == 0) {
		nodes_put(fs->nodes, other, 1);
		rc = -EEXIST;
	} else {
		rc = draft_rename(fs, from->dir, &from->child, &to->child);
	}
	nodes_put(fs->nodes, draft, 1);
	return rc;
}

/* A version becomes a draft: an editor keeps a backup. */
static int rename_to_draft(struct fs *fs, pid_t thread, const struct side *from,
			   const struct side *to, bool exclusive)
{
	struct node *draft;
	int rc = exclusive ? 0 : draft_remove(fs, to->dir, &to->child);

	if (rc == 0 || rc == -ENOENT)
		rc = draft_create(fs, thread, to->dir, &to->child, &draft);
	if (rc != 0)
		return rc;
	rc = writer_load(fs, draft, &from->pos);
	if (rc == 0)
		rc = pos_delete(&from->pos);
	if (rc != 0)
		draft_remove(fs, to->dir, &to->child);
	nodes_put(fs->nodes, draft, 1);
	return rc;
}

static int rename_name(struct fs *fs, pid_t thread, struct side *from, struct side *to,
		       bool exclusive)
{
	if (is_fixed(to->child.kind))
		return -EPERM;
	if (is_column(from) && is_column(to) && from->dir == to->dir)
		return rename_column(fs, thread, from, to, exclusive);
	if (from->child.kind == NODE_DRAFT && from->dir == to->dir &&
	    (to->child.kind == NODE_DRAFT || to->child.kind == NODE_VERSION))
		return rename_draft(fs, from, to, exclusive);
	if (from->child.kind != NODE_VERSION)
		return -EXDEV;
	if (to->child.kind == NODE_DRAFT && from->dir == to->dir)
		return rename_to_draft(fs, thread, from, to, exclusive);
	if (to->child.kind == NODE_VERSION && from->dir == to->dir)
		return rename_version(from, to, exclusive);
	if (is_column(to) && from->dir->parent == to->dir)
		return rename_version(from, to, exclusive);
	return -EXDEV;
}

void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	struct side from, to;
	int rc = flags & ~(unsigned)RENAME_NOREPLACE ? -EINVAL : 0;

	if (rc == 0) {
		rc = side_of(&from, lookup_ino(fs, parent), name);
		rc = rc == -EINVAL ? -ENOENT : rc;
	}
	if (rc == 0 && (is_fixed(from.child.kind) || !is_in_tree(lookup_ino(fs, new_parent))))
		rc = -EPERM;
	if (rc == 0)
		rc = side_of(&to, lookup_ino(fs, new_parent), new_name);
	if (rc == 0)
		rc = rename_name(fs, fuse_req_ctx(req)->pid, &from, &to, flags & RENAME_NOREPLACE);
	fuse_reply_err(req, -rc);
}
