/* SPDX-License-Identifier: MIT */
/*
 * Handles RENAME. A column moves within its family, and a version within its history or to a column
 * of the same family. A draft becomes a cell of its directory (from `.~tmp~`: of the directory
 * above) or another draft; a version can become a draft. A column cannot become a version of itself
 * (EINVAL). Other renames fail with EXDEV, so that mv copies, or with EPERM if mv could not copy
 * either.
 *
 * Cells and open write sessions move together, under the family's lock, held exclusively.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/dir/emptied.h"
#include "fs/file/lock.h"
#include "fs/file/lookup.h"
#include "fs/names/number.h"
#include "fs/report/report.h"
#include "fs/value/draft.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"
#include "lib/clock.h"

/* One side of a rename. */
struct side {
	struct node *dir;
	const char *name;
	struct spelled child;
	struct pos pos;
};

static int side_of(struct fs *fs, struct side *side, struct node *dir, const char *name)
{
	side->dir = node_base(dir);
	side->name = name;
	return lookup_child(fs, dir, name, &side->pos, &side->child);
}

/* Names that mv cannot move even by copying. */
static bool is_fixed(enum node_kind kind)
{
	return kind != NODE_PREFIX && kind != NODE_FAMILY && kind != NODE_HISTORY &&
	       kind != NODE_CHUNK && !node_is_value(kind);
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

static struct file_id id_of(const struct side *side)
{
	return node_child_id(side->dir, side->child.kind, side->child.bytes);
}

/* The open sessions of `from` continue as sessions of `to`. */
static int move_sessions(struct fs *fs, pid_t thread, const struct side *from,
			 const struct side *to, const struct writer_moved *moved)
{
	struct writer_target target = {.kind = to->child.kind,
				       .id = id_of(to),
				       .qualifier = to->pos.qualifier,
				       .ts = to->pos.ts};

	return writers_rename(fs, thread, id_of(from), &target, moved);
}

static bool same_column(const struct side *a, const struct side *b)
{
	return wcs_slice_compare(a->pos.qualifier, b->pos.qualifier) == 0;
}

/* Is `from` the version that the column already shows? */
static bool is_newest(const struct side *from, const struct side *to)
{
	struct wcs_cell_info info;

	return from->child.kind == NODE_VERSION && is_column(to) && same_column(from, to) &&
	       pos_stored(&to->pos, &info) == 0 && info.ts == from->pos.ts;
}

/* Reports that the bytes are no value of the family's aggregate type; does nothing in other
 * families. */
static void report_aggregate(struct fs *fs, const struct side *from, int rc)
{
	enum wcs_type type;

	if (pos_type(&from->pos, &type) == 0 && wcs_type_aggregates(type))
		report(fs, from->dir, from->name, 0, rc, "%s", number_refusal(type));
}

/* A draft becomes a version, or the newest version of a column. As a column's newest version it
 * keeps the draft's time if the column has no version that is as late; else the store chooses the
 * time. */
static int publish(struct fs *fs, const struct side *from, const struct side *to, int64_t *ts)
{
	struct wcs_cell_info info, newest;
	struct value *value;
	int rc = draft_get(fs, id_of(from), &info, &value);

	if (rc != 0)
		return rc;
	*ts = is_column(to) ? info.ts : to->pos.ts;
	if (is_column(to) && pos_stored(&to->pos, &newest) == 0 && newest.ts >= info.ts)
		*ts = WCS_TS_SERVER;
	rc = value_store(value, &to->pos, ts);
	value_put(value);
	if (rc == 0)
		rc = draft_remove(fs, id_of(from));
	else if (rc == -EINVAL || rc == -EOPNOTSUPP)
		report_aggregate(fs, from, rc);
	return rc;
}

/* A version becomes a draft, as when an editor keeps a backup. A draft is text and cannot hold an
 * inthll's state. */
static int rename_to_draft(struct fs *fs, const struct side *from, const struct side *to,
			   struct writer_moved *moved)
{
	enum wcs_type type;
	int rc = pos_type(&from->pos, &type);

	if (rc == 0 && type == WCS_INTHLL) {
		report_aggregate(fs, from, -EOPNOTSUPP);
		return -EOPNOTSUPP;
	}
	moved->now = moved->newest;
	return rc == 0 ? draft_of_version(fs, to->dir, id_of(to), &from->pos, moved->newest) : rc;
}

/* 0 if `from` can become `to`; -EXDEV makes mv copy. */
static int check_sides(struct fs *fs, const struct side *from, const struct side *to)
{
	bool publishes = from->dir->kind == NODE_DRAFTS && to->child.kind != NODE_DRAFT;
	const struct node *dir = from->dir;

	/* With EXDEV, mv would copy the newest cell into the column's history, and then remove the
	 * column with its history. */
	if (is_column(from) && !is_column(to) && id_of(from).column == id_of(to).column)
		return report(fs, dir, from->name, 0, -EINVAL,
			      "a column cannot become a version of itself: copy its value with cp");
	if (is_fixed(to->child.kind))
		return -EPERM;
	if (!node_is_value(from->child.kind) || !node_is_value(to->child.kind))
		return -EXDEV;
	if ((from->child.kind == NODE_VERSION && is_column(to)) || publishes)
		dir = dir->parent;
	/* A column has a history, and a draft cannot hold one. */
	if (dir->plain != to->dir->plain || (is_column(from) && !is_column(to)))
		return -EXDEV;
	return 0;
}

/* Moves committed cells and drafts. moved->newest: the timestamp of `from`. */
static int move_stored(struct fs *fs, const struct side *from, const struct side *to,
		       bool exclusive, struct writer_moved *moved)
{
	enum wcs_move_kind kind = is_column(to) ? WCS_MOVE_CELL_NEWEST : WCS_MOVE_CELL;
	struct wcs_cell_info info;
	struct side stamped;
	int rc;

	if (from->child.kind == NODE_DRAFT && to->child.kind != NODE_DRAFT)
		return publish(fs, from, to, &moved->now);
	if (from->child.kind == NODE_DRAFT) {
		moved->now = moved->newest;
		return draft_rename(fs, id_of(from), id_of(to));
	}
	if (to->child.kind == NODE_DRAFT)
		return rename_to_draft(fs, from, to, moved);
	if (is_column(from)) {
		moved->merged = pos_stored(&to->pos, NULL) == 0;
		kind = exclusive ? WCS_MOVE_COLUMN_NEW : WCS_MOVE_COLUMN;
	} else if (is_column(to) && same_column(from, to)) {
		/* An older version becomes the newest. Its timestamp becomes the present, or one
		 * more than the newest version's if that is not earlier. */
		rc = pos_stored(&to->pos, &info);
		if (rc == 0 && info.ts == WCS_TS_MAX)
			rc = -EOVERFLOW;
		if (rc != 0)
			return rc;
		stamped = *to;
		stamped.pos.ts = clock_now() > info.ts ? clock_now() : info.ts + 1;
		return move_cells(from, &stamped, WCS_MOVE_CELL, &moved->now);
	}
	rc = move_cells(from, to, kind, &moved->now);
	if (rc == -EFBIG) /* a column gets a new name, with all its cells, in one mutation */
		return report(
			fs, from->dir, from->name, 0, rc,
			"a history of more than %u versions or %u MiB is not renamed; copy it with "
			"cp -a in /.versions, from its directory of versions to another, and "
			"remove it",
			WCS_MOVE_CELLS_MAX, WCS_MOVE_BYTES_MAX >> 20);
	return rc;
}

/* Must the kernel release its directory locks and repeat the rename? Yes in three cases, if the
 * kernel keeps the source column's dentry: a version is renamed to a column; a column is renamed
 * and one of the names is too long to be kept; a column's inode has had too many names. */
static bool must_defer(struct fs *fs, pid_t thread, const struct side *from, const struct side *to)
{
	if (is_column(from))
		return cache_defer(fs, thread, &from->pos,
				   cache_is_usual(from->name) && cache_is_usual(to->name));
	return from->child.kind == NODE_VERSION && is_column(to) &&
	       cache_defer(fs, thread, &from->pos, false);
}

/* Invalidates a column's dentry after a version was added or removed, or after a rename to a name
 * whose dentry is not kept. A rename of a version to a column does not wait, because the kernel
 * holds the family directory's lock. For other renames of columns the kernel moves the dentry
 * itself. */
static void expire(struct fs *fs, const struct side *from, const struct side *to)
{
	if (from->child.kind == NODE_VERSION && is_column(to))
		cache_expire_pos(fs, &from->pos, true, NOTICE_NOW);
	else if (from->child.kind == NODE_VERSION)
		cache_expire_pos(fs, &from->pos, true, NOTICE_WAIT);
	else if (to->child.kind == NODE_VERSION || !cache_is_usual(to->name))
		cache_expire_pos(fs, &to->pos, true, NOTICE_WAIT);
}

/* The caller holds the family's lock exclusively. */
static int rename_file(struct fs *fs, pid_t thread, const struct side *from, const struct side *to,
		       bool exclusive)
{
	struct writer_moved moved = {.history = is_column(from), .merged = true};
	struct wcs_cell_info info, old;
	bool replaces = lookup_file(fs, to->dir, &to->pos, &to->child, &old) == 0;
	int rc;

	if (exclusive && replaces)
		return -EEXIST;
	rc = lookup_file(fs, from->dir, &from->pos, &from->child, &info);
	if (rc == -ENOENT) /* only a session has this name */
		return move_sessions(fs, thread, from, to, NULL);
	if (rc != 0)
		return rc;
	if (id_of(from).file == id_of(to).file || is_newest(from, to))
		return 0;
	if (must_defer(fs, thread, from, to))
		return -ESTALE;
	moved.newest = info.ts;
	rc = move_stored(fs, from, to, exclusive, &moved);
	if (rc == 0 && replaces)
		cache_unlinked(fs, to->dir, &to->child, &old);
	if (rc == 0 && is_column(from))
		cache_renamed(fs, from->dir, from->child.bytes, &info, to->child.bytes, moved.now);
	return rc == 0 ? move_sessions(fs, thread, from, to, &moved) : rc;
}

void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags)
{
	struct fs *fs = fs_of(req);
	struct node *new_dir = lookup_ino(fs, new_parent);
	struct side from, to;
	int rc = flags & ~(unsigned)RENAME_NOREPLACE ? -EINVAL : 0;

	if (!new_dir) { /* the loop looks at one nodeid of a request */
		fuse_reply_err(req, ESTALE);
		return;
	}
	if (lookup_refuses(req, parent) || lookup_refuses(req, new_parent))
		return;
	if (rc == 0) {
		rc = side_of(fs, &from, lookup_ino(fs, parent), name);
		rc = rc == -EINVAL ? -ENOENT : rc;
	}
	if (rc == 0 && from.child.kind == NODE_TABLE) /* by the name that mv looks up again */
		rc = report(fs, new_dir, new_name, 0, -EPERM,
			    "table %s cannot be renamed; copy it: fsck.rowfs(8) shows how", name);
	if (rc == 0 && (is_fixed(from.child.kind) || new_dir->kind == NODE_ROOT ||
			new_dir->kind == NODE_FAMILIES || spell_is_fixed(new_dir)))
		rc = report(fs, from.dir, name, 0, -EPERM,
			    "only columns and versions can be renamed");
	if (rc == 0) {
		rc = side_of(fs, &to, new_dir, new_name);
		if (rc == -EINVAL)
			report_bad_name(fs, new_dir, new_name);
	}
	if (rc == 0)
		rc = check_sides(fs, &from, &to);
	if (rc == 0) {
		writers_exclude(fs, from.dir);
		rc = rename_file(fs, fuse_req_ctx(req)->pid, &from, &to, flags & RENAME_NOREPLACE);
		writers_release(fs, from.dir);
	}
	if (rc == 0) {
		locks_rename(fs->locks, from.dir, &from.child, to.dir, &to.child);
		/* A rename of a column stays within its family, and a rename of a draft to a draft
		 * within its directory: neither empties the source directory. */
		if (!is_column(&from) &&
		    (from.child.kind != NODE_DRAFT || to.child.kind != NODE_DRAFT))
			emptied_keep(fs, from.dir, &from.child);
		expire(fs, &from, &to);
		if (to.child.kind == NODE_VERSION)
			report_version(fs, new_dir, new_name);
	}
	if (rc != -ESTALE)
		cache_deferred_end(fs, fuse_req_ctx(req)->pid);
	fuse_reply_err(req, -rc);
}
