/* SPDX-License-Identifier: MIT */
/*
 * The children of a directory. Directories in memory and stored ones are walked side by side in one
 * order, so that a listing neither misses nor repeats one that changes from one kind to the other.
 * Byte order; a stored segment without its own row sorts as its name and the delimiter. A child
 * keeps where it stood, because its row may be removed before the listing resumes. The walk of the
 * store is opened first: it contains a directory that is emptied later, and one that was emptied
 * earlier is in memory by then.
 */
#include "fs/names/children.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/names/number.h"
#include "store/chain/views.h"

struct walk {
	struct fs *fs;
	const struct pos *pos;
	children_each *each;
	void *ctx;
	struct children_scan *scan;
	enum node_kind kind;   /* of the children */
	enum memdir_part part; /* of the children in memory, as all below */
	struct memdir_path path;
	struct wcs_slice memory; /* the next one; data NULL: none is left */
	bool below;		 /* the stored segment at hand has no row of its own */
};

struct child *child_new(enum node_kind kind, const struct wcs_list_child *of)
{
	struct wcs_slice bytes = of->segment;
	struct child *child = malloc(sizeof(*child) + bytes.len + 1 + of->given.len);

	if (!child)
		return NULL;
	*child = (struct child){
		.kind = kind, .below = of->below, .len = bytes.len, .given_len = of->given.len};
	if (bytes.len > 0)
		memcpy(child->bytes, bytes.data, bytes.len);
	child->bytes[bytes.len] = 0;
	if (of->given.len > 0)
		memcpy(child->bytes + bytes.len + 1, of->given.data, of->given.len);
	return child;
}

struct wcs_list_child child_of(const struct child *child)
{
	return (struct wcs_list_child){.segment = {child->bytes, child->len},
				       .below = child->below,
				       .given = {child->bytes + child->len + 1, child->given_len}};
}

bool children_scan_is_open(const struct children_scan *scan)
{
	return scan->list || scan->scan;
}

void children_scan_close(struct children_scan *scan)
{
	wcs_list_close(scan->list);
	wcs_scan_close(scan->scan);
	*scan = (struct children_scan){.entered = scan->entered, .chain = scan->chain};
}

/* 1: the next child of the scan, or the one that was not taken; 0: the end, or none is open; or an
 * error. */
static int scan_next(struct children_scan *scan)
{
	int rc = scan->kept;

	scan->kept = false;
	if (rc == 0 && scan->list)
		rc = wcs_list_next(scan->list, &scan->segment);
	else if (rc == 0 && scan->scan)
		rc = wcs_scan_next(scan->scan, &scan->cell);
	return rc;
}

/* Ends a walk of the store with rc. A child that `each` did not take stays in the scan. */
static int scan_end(struct children_scan *scan, int rc)
{
	scan->kept = rc > 0 && children_scan_is_open(scan);
	if (!scan->kept)
		children_scan_close(scan);
	return rc;
}

/* Goes to the next child in memory after `after`. */
static int memory_next(struct walk *walk, const struct wcs_slice *after)
{
	int rc = memdirs_next(walk->fs->memdirs, &walk->path, walk->part, after, &walk->memory);

	return rc == -ENOENT ? 0 : rc;
}

static int memory_start(struct walk *walk, enum memdir_part part, const struct wcs_slice *after)
{
	int rc;

	walk->part = part;
	if (walk->pos->view)
		return 0;
	rc = pos_memdir_path(walk->pos, &walk->path);
	return rc == 0 ? memory_next(walk, after) : rc;
}

/* Does the name begin with the segment and a byte below the delimiter? Its rows are before those
 * below the segment then. */
static bool is_between(const struct walk *walk, struct wcs_slice segment, struct wcs_slice name)
{
	return walk->kind == NODE_PREFIX && name.len > segment.len &&
	       memcmp(name.data, segment.data, segment.len) == 0 &&
	       ((const unsigned char *)name.data)[segment.len] < walk->pos->delimiter;
}

/* Has the store rows below a segment, but no row of its own key? 1, 0 or an error. */
static int stands_below(const struct walk *walk, struct wcs_slice segment)
{
	struct wcs_key_info info;
	struct pos pos = *walk->pos;
	int rc = pos_descend(&pos, NODE_PREFIX, segment);

	if (rc == 0)
		rc = wcs_key_get(pos.table, pos_key(&pos), &info);
	return rc != 0 ? rc : info.prefix && !info.row;
}

/* Calls each for a child, stored or in memory. */
static int give_child(struct walk *walk, struct wcs_slice bytes, bool stored,
		      const struct wcs_cell_info *info)
{
	struct wcs_list *list = walk->kind == NODE_PREFIX ? walk->scan->list : NULL;
	int rc;

	walk->scan->at = (struct wcs_list_child){.segment = bytes, .below = stored && walk->below};
	if (list)
		walk->scan->at.given = wcs_list_given(list, bytes);
	rc = walk->each(walk->ctx, walk->kind, bytes, info);
	if (rc == 0 && list && !stored)
		wcs_list_gave(list, bytes);
	return rc;
}

/* Calls each for the children in memory before limit, a stored one (NULL: for all). Skips the entry
 * equal to limit, and entries that the store's walk will give later. */
static int memory_give(struct walk *walk, const struct wcs_slice *limit)
{
	int rc = 0, order = -1;

	while (rc == 0 && walk->memory.data) {
		if (limit)
			order = walk->below && is_between(walk, *limit, walk->memory)
					? -1
					: wcs_slice_compare(walk->memory, *limit);
		if (order > 0)
			break;
		if (limit && is_between(walk, walk->memory, *limit))
			rc = stands_below(walk, walk->memory);
		if (rc == 0 && order < 0)
			rc = give_child(walk, walk->memory, false, NULL);
		else if (rc > 0)
			rc = 0;
		if (rc == 0)
			rc = memory_next(walk, &walk->memory);
	}
	return rc;
}

/* Ends the walk of one kind; after rc 0 with the remaining children in memory. */
static int memory_end(struct walk *walk, int rc)
{
	if (rc == 0)
		rc = memory_give(walk, NULL);
	free((void *)walk->memory.data);
	walk->memory = (struct wcs_slice){0};
	memdir_path_clear(&walk->path);
	return rc;
}

/* Calls each for the children in memory before a stored child, then for that one. */
static int give(struct walk *walk, struct wcs_slice bytes, const struct wcs_cell_info *info)
{
	int rc = memory_give(walk, &bytes);

	return rc == 0 ? give_child(walk, bytes, true, info) : rc;
}

static int walk_segments(struct walk *walk, const struct child *after)
{
	char buf[WCS_ROW_KEY_MAX + 1];
	const struct pos *pos = walk->pos;
	struct wcs_slice prefix = {buf, pos->key_len + (pos->depth > 0)};
	struct wcs_list_child cut =
		after ? child_of(after) : (struct wcs_list_child){.below = false};
	struct wcs_slice bytes = cut.segment;
	struct children_scan *scan = walk->scan;
	int rc = 0;

	walk->kind = NODE_PREFIX;
	memcpy(buf, pos->key, pos->key_len);
	if (pos->depth > 0)
		buf[pos->key_len] = (char)pos->delimiter;
	/* No key can be below a longer prefix. */
	if (prefix.len <= WCS_ROW_KEY_MAX && !scan->list) {
		/* Cut to the bytes that a key has room for there, which keeps the order. */
		if (bytes.len > WCS_ROW_KEY_MAX - prefix.len)
			cut.segment.len = WCS_ROW_KEY_MAX - prefix.len;
		rc = wcs_list_open(pos->table, prefix, after ? &cut : NULL, pos->chain,
				   &scan->list);
	}
	if (rc == 0)
		rc = memory_start(walk, MEMDIR_SEGMENT, after ? &bytes : NULL);
	/* Those between the child and the rows below it, at which it stood, were given before it.
	 */
	while (rc == 0 && after && after->below && walk->memory.data &&
	       is_between(walk, bytes, walk->memory))
		rc = memory_next(walk, &walk->memory);
	while (rc == 0 && (rc = scan_next(scan)) > 0) {
		walk->below = wcs_list_is_below(scan->list);
		rc = give(walk, scan->segment, NULL);
	}
	return memory_end(walk, scan_end(scan, rc));
}

static int walk_families(struct walk *walk, const struct wcs_slice *after)
{
	struct wcs_filter filter = {.each = WCS_EACH_FAMILY};
	struct wcs_scan *scan = NULL;
	struct wcs_cell cell;
	int rc = 0;

	walk->kind = NODE_FAMILY;
	if (walk->pos->key_len > 0)
		rc = pos_row_scan(walk->pos, &filter, &scan);
	if (rc == 0)
		rc = memory_start(walk, MEMDIR_FAMILY, after);
	while (rc == 0 && scan && (rc = wcs_scan_next(scan, &cell)) > 0)
		rc = !after || wcs_slice_compare(cell.family, *after) > 0
			     ? give(walk, cell.family, NULL)
			     : 0;
	wcs_scan_close(scan);
	return memory_end(walk, rc);
}

/* The attributes of a cell as a file shows them. NULL: it takes another read. */
static const struct wcs_cell_info *shown_info(enum wcs_type type, const struct wcs_cell *cell,
					      struct wcs_cell_info *info)
{
	*info = cell->info;
	if (wcs_type_aggregates(type) && number_size(type, cell->value, &info->size) != 0)
		return NULL;
	return info;
}

/* The columns of a family; below /.versions their histories, of which some may be in memory. A scan
 * has the size that a column shows, except of an inthll. */
static int walk_columns(struct walk *walk, const struct wcs_slice *after)
{
	struct wcs_filter filter = {
		.each = WCS_EACH_COLUMN, .families = &walk->pos->family, .family_count = 1};
	struct children_scan *scan = walk->scan;
	char from[WCS_QUALIFIER_MAX + 1];
	struct wcs_cell_info info;
	enum wcs_type type;
	int rc = pos_type(walk->pos, &type);

	walk->kind = walk->pos->versions ? NODE_HISTORY : NODE_CELL;
	if (after) {
		memcpy(from, after->data, after->len);
		from[after->len] = 0;
		filter.qualifier_from = (struct wcs_slice){from, after->len + 1};
	}
	if (rc == 0 && walk->pos->key_len > 0 && !scan->scan)
		rc = pos_row_scan(walk->pos, &filter, &scan->scan);
	if (rc == 0 && walk->pos->versions)
		rc = memory_start(walk, MEMDIR_HISTORY, after);
	while (rc == 0 && (rc = scan_next(scan)) > 0)
		rc = give(walk, scan->cell.qualifier, shown_info(type, &scan->cell, &info));
	return memory_end(walk, scan_end(scan, rc));
}

/* Chunk directories in memory. */
static int walk_chunks(struct walk *walk, const struct wcs_slice *after)
{
	walk->kind = NODE_CHUNK;
	return memory_end(walk, memory_start(walk, MEMDIR_CHUNK, after));
}

/* The versions of a column that are older than the one to resume after. */
static int walk_versions(struct walk *walk, const struct wcs_slice *after)
{
	const struct pos *pos = walk->pos;
	char to[WCS_QUALIFIER_MAX + 1], name[NAMES_TS_MAX + 1];
	struct wcs_filter filter = pos_column(pos, to);
	struct children_scan *scan = walk->scan;
	struct wcs_cell_info info;
	enum wcs_type type;
	int rc = pos_type(pos, &type);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	if (after && names_ts_parse(after->data, after->len, &filter.ts_to) != 0)
		return -EINVAL;
	if (pos->key_len == 0 || (after && filter.ts_to == 0))
		return 0;
	if (!scan->scan)
		rc = pos_row_scan(pos, &filter, &scan->scan);
	while (rc == 0 && (rc = scan_next(scan)) > 0) {
		size_t len = names_ts_format(scan->cell.info.ts, name);

		rc = walk->each(walk->ctx, NODE_VERSION, (struct wcs_slice){name, len},
				shown_info(type, &scan->cell, &info));
	}
	return scan_end(scan, rc);
}

/* The store's tables, or the families of a table. */
static int walk_names(struct walk *walk, enum node_kind kind, const struct wcs_slice *after)
{
	char name[WCS_TABLE_NAME_MAX + WCS_FAMILY_NAME_MAX + 1] = "";
	const char *last = after ? after->data : NULL;
	int rc = 0;

	while (rc == 0) {
		rc = kind == NODE_POLICIES ? wcs_family_next(walk->pos->table, last, name)
					   : wcs_table_next(walk->fs->store, last, name);
		if (rc == 0)
			rc = walk->each(walk->ctx, kind, (struct wcs_slice){name, strlen(name)},
					NULL);
		last = name;
	}
	return rc == -ENOENT ? 0 : rc;
}

/* The tables of the mount, which may show one of the store's alone. */
static int walk_tables(struct walk *walk, enum node_kind kind, const struct wcs_slice *after)
{
	const char *only = walk->fs->options.table;

	if (!only)
		return walk_names(walk, kind, after);
	return after ? 0
		     : walk->each(walk->ctx, kind, (struct wcs_slice){only, strlen(only)}, NULL);
}

/* The names that each directory of this kind has. */
static int walk_fixed(struct walk *walk, const struct wcs_slice *after)
{
	enum node_kind kind;
	const char *name;
	int rc = 0;

	for (size_t i = 0; rc == 0 && spell_fixed(walk->pos->kind, i, &kind, &name); i++) {
		struct wcs_slice child = {name, strlen(name)};

		if ((!after || wcs_slice_compare(child, *after) > 0) &&
		    (kind != NODE_KEYVIS || walk->fs->options.keyvis))
			rc = walk->each(walk->ctx, kind, child, NULL);
	}
	return rc;
}

/* The families that a view can name, as its arguments. */
static int walk_arguments(struct walk *walk, const struct node *view, const struct wcs_slice *after)
{
	const struct wcs_view_name *name = wcs_view_find(view->name + 1, view->name_len - 1);
	char family[WCS_FAMILY_NAME_MAX + 1] = "", spelled[NAMES_ENCODED_MAX(sizeof(family)) + 1];
	struct wcs_slice child = {spelled, 0};
	int rc = name->form == WCS_VIEW_FAMILY ? 0 : -ENOENT;

	if (rc == 0 && after && after->len < sizeof(spelled)) {
		char bytes[sizeof(spelled)];

		rc = names_decode(NAMES_FAMILY, NULL, after->data, after->len, bytes, &child.len);
		if (rc == 0 && child.len < sizeof(family))
			memcpy(family, bytes, child.len);
	}
	while (rc == 0 && (rc = wcs_family_next(walk->pos->table, family, family)) == 0) {
		child.len = names_encode(NAMES_FAMILY, NULL, family, strlen(family), spelled);
		rc = walk->each(walk->ctx, NODE_VIEWED, child, NULL);
	}
	return rc == -ENOENT ? 0 : rc;
}

/* The children of a directory of segments or of a family, one kind after the other; `after` is of
 * one of these kinds. */
static int walk_kinds(struct walk *walk, const struct child *after, const struct wcs_slice *bytes)
{
	int rc = 0;

	if (after && after->kind == NODE_CHUNK)
		return walk_chunks(walk, bytes);
	if (walk->pos->kind == NODE_FAMILY)
		rc = walk_columns(walk, bytes);
	else if (!after || after->kind == NODE_PREFIX)
		rc = walk_segments(walk, after);
	if (rc == 0 && walk->pos->kind == NODE_PREFIX)
		rc = walk_families(walk, after && after->kind == NODE_FAMILY ? bytes : NULL);
	return rc == 0 ? walk_chunks(walk, NULL) : rc;
}

static int walk(struct walk *walk, const struct node *node, const struct child *after)
{
	struct wcs_slice slice = {after ? after->bytes : NULL, after ? after->len : 0};
	const struct wcs_slice *bytes = after ? &slice : NULL;

	switch (walk->pos->kind) {
	case NODE_ROOT:
		return walk_names(walk, NODE_TABLE, bytes);
	case NODE_KEYVIS:
		return walk_tables(walk, NODE_HEAT, bytes);
	case NODE_TABLE:
	case NODE_PREFIX:
	case NODE_FAMILY:
		return walk_kinds(walk, after, bytes);
	case NODE_HISTORY:
		return walk_versions(walk, bytes);
	case NODE_FAMILIES:
		return walk_names(walk, NODE_POLICIES, bytes);
	case NODE_VIEW:
		return walk_arguments(walk, node, bytes);
	default:
		return walk_fixed(walk, bytes);
	}
}

int children_walk(struct fs *fs, const struct node *node, const struct child *after,
		  struct children_scan *scan, children_each *each, void *ctx)
{
	struct children_scan own = {.list = NULL};
	struct pos pos;
	struct walk walked = {.fs = fs, .pos = &pos, .each = each, .ctx = ctx};
	int rc = pos_of(node, &pos);

	walked.scan = scan ? scan : &own;
	if (rc == 0 && walked.scan->entered)
		pos.chain = wcs_chain_hold(walked.scan->chain);
	else if (rc == 0 && pos.kind != NODE_VIEW)
		rc = pos_enter(&pos, false);
	if (rc == 0)
		rc = walk(&walked, node, after);
	children_scan_close(&own);
	pos_leave(&pos);
	return rc;
}
