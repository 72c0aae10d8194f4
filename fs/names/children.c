/* SPDX-License-Identifier: MIT */
/*
 * What a directory lists. Where directories in memory stand among stored ones, both are walked
 * side by side by their bytes, so that one which changes from the one kind to the other while it
 * is listed is neither missed nor repeated. For that the walk of what is stored is opened first: a
 * directory that is emptied after it is in it, and one emptied before is in memory by then.
 */
#include "fs/names/children.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/names/number.h"

struct walk {
	struct fs *fs;
	const struct pos *pos;
	children_each *each;
	void *ctx;
	enum node_kind kind; /* of the children */
	/* The next child in memory, where there is one. */
	enum memdir_part part;
	struct memdir_path path;
	struct memdir_child memory; /* data NULL: none is left */
};

struct child *child_new(enum node_kind kind, struct wcs_slice bytes)
{
	struct child *child = malloc(sizeof(*child) + bytes.len + 1);

	if (!child)
		return NULL;
	child->kind = kind;
	child->len = bytes.len;
	if (bytes.len > 0)
		memcpy(child->bytes, bytes.data, bytes.len);
	child->bytes[bytes.len] = 0;
	return child;
}

static struct wcs_slice memory_bytes(const struct walk *walk)
{
	return (struct wcs_slice){walk->memory.data, walk->memory.len};
}

/* Goes to the next child in memory behind after. */
static int memory_next(struct walk *walk, const struct wcs_slice *after)
{
	struct memdir_child next = {0};
	int rc = memdirs_next(walk->fs->memdirs, &walk->path, walk->part, after, &next);

	free(walk->memory.data);
	walk->memory = next;
	return rc == -ENOENT ? 0 : rc;
}

static int memory_start(struct walk *walk, enum memdir_part part, const struct wcs_slice *after)
{
	int rc;

	walk->part = part;
	rc = pos_memdir_path(walk->pos, &walk->path);
	return rc == 0 ? memory_next(walk, after) : rc;
}

static void memory_end(struct walk *walk)
{
	free(walk->memory.data);
	walk->memory = (struct memdir_child){0};
	memdir_path_clear(&walk->path);
}

/* Gives the children in memory that come before limit (NULL: all). */
static int memory_give(struct walk *walk, const struct wcs_slice *limit)
{
	int rc = 0;

	while (rc == 0 && walk->memory.data &&
	       (!limit || memdir_order(memory_bytes(walk), *limit) < 0)) {
		struct wcs_slice bytes = memory_bytes(walk);

		rc = walk->each(walk->ctx, walk->kind, bytes, NULL);
		if (rc == 0)
			rc = memory_next(walk, &bytes);
	}
	return rc;
}

/* Gives a stored child, and before it those in memory that it comes behind. */
static int give(struct walk *walk, struct wcs_slice bytes, const struct wcs_cell_info *info)
{
	int rc = memory_give(walk, &bytes);

	if (rc == 0 && walk->memory.data && memdir_order(memory_bytes(walk), bytes) == 0)
		rc = memory_next(walk, &bytes);
	return rc == 0 ? walk->each(walk->ctx, walk->kind, bytes, info) : rc;
}

/* *list stays NULL where a key is so long that none can be below it. What to resume behind is cut
 * to the bytes that a key can have there: what was behind all of it still is. */
static int list_segments(const struct pos *pos, const struct wcs_slice *after,
			 struct wcs_list **list)
{
	char buf[WCS_ROW_KEY_MAX + 1];
	struct wcs_slice prefix = pos_prefix(pos, buf), cut;

	if (prefix.len > WCS_ROW_KEY_MAX)
		return 0;
	if (!after)
		return wcs_list_open(pos->table, prefix, NULL, list);
	cut = *after;
	if (cut.len > WCS_ROW_KEY_MAX - prefix.len)
		cut.len = WCS_ROW_KEY_MAX - prefix.len;
	return wcs_list_open(pos->table, prefix, &cut, list);
}

static int walk_segments(struct walk *walk, const struct wcs_slice *after)
{
	struct wcs_list *list = NULL;
	struct wcs_slice segment;
	int rc;

	walk->kind = NODE_PREFIX;
	rc = list_segments(walk->pos, after, &list);
	if (rc == 0)
		rc = memory_start(walk, MEMDIR_SEGMENT, after);
	while (rc == 0 && list && (rc = wcs_list_next(list, &segment)) > 0)
		rc = give(walk, segment, NULL);
	if (rc == 0)
		rc = memory_give(walk, NULL);
	wcs_list_close(list);
	memory_end(walk);
	return rc;
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
		rc = !after || memdir_order(cell.family, *after) > 0 ? give(walk, cell.family, NULL)
								     : 0;
	if (rc == 0)
		rc = memory_give(walk, NULL);
	wcs_scan_close(scan);
	memory_end(walk);
	return rc;
}

/* What a column shows; false: to know its size takes more than its record. */
static bool shown(enum wcs_type type, const struct wcs_cell *cell, struct wcs_cell_info *info)
{
	*info = cell->info;
	return !wcs_type_aggregates(type) || number_size(type, cell->value, &info->size) == 0;
}

/* The columns of a family; a history each below /.versions, where some may be in memory. */
static int walk_columns(struct walk *walk, const struct wcs_slice *after)
{
	struct wcs_filter filter = {
		.each = WCS_EACH_COLUMN, .families = &walk->pos->family, .family_count = 1};
	char from[WCS_QUALIFIER_MAX + 1];
	struct wcs_scan *scan = NULL;
	struct wcs_cell_info info;
	struct wcs_cell cell;
	enum wcs_type type;
	int rc = pos_type(walk->pos, &type);

	walk->kind = walk->pos->versions ? NODE_HISTORY : NODE_CELL;
	if (after) {
		memcpy(from, after->data, after->len);
		from[after->len] = 0;
		filter.qualifier_from = (struct wcs_slice){from, after->len + 1};
	}
	if (rc == 0 && walk->pos->key_len > 0)
		rc = pos_row_scan(walk->pos, &filter, &scan);
	if (rc == 0 && walk->pos->versions)
		rc = memory_start(walk, MEMDIR_HISTORY, after);
	while (rc == 0 && scan && (rc = wcs_scan_next(scan, &cell)) > 0)
		rc = give(walk, cell.qualifier, shown(type, &cell, &info) ? &info : NULL);
	if (rc == 0)
		rc = memory_give(walk, NULL);
	wcs_scan_close(scan);
	memory_end(walk);
	return rc;
}

/* Chunk directories in memory. */
static int walk_chunks(struct walk *walk, const struct wcs_slice *after)
{
	int rc;

	walk->kind = NODE_CHUNK;
	rc = memory_start(walk, MEMDIR_CHUNK, after);
	if (rc == 0)
		rc = memory_give(walk, NULL);
	memory_end(walk);
	return rc;
}

/* The versions of a column older than the one behind which to resume. */
static int walk_versions(struct walk *walk, const struct wcs_slice *after)
{
	const struct pos *pos = walk->pos;
	char to[WCS_QUALIFIER_MAX + 1], name[NAMES_TS_MAX + 1];
	struct wcs_filter filter = {.families = &pos->family, .family_count = 1};
	struct wcs_scan *scan = NULL;
	struct wcs_cell cell;
	int rc = 0;

	if (after && names_ts_parse(after->data, after->len, &filter.ts_to) != 0)
		return -EINVAL;
	if (pos->key_len == 0 || (after && filter.ts_to == 0))
		return 0;
	filter.qualifier_from = pos->qualifier;
	filter.qualifier_to = pos_qualifier_end(pos, to);
	rc = pos_row_scan(pos, &filter, &scan);
	while (rc == 0 && (rc = wcs_scan_next(scan, &cell)) > 0) {
		size_t len = names_ts_format(cell.info.ts, name);

		rc = walk->each(walk->ctx, NODE_VERSION, (struct wcs_slice){name, len}, NULL);
	}
	wcs_scan_close(scan);
	return rc;
}

static int walk_tables(struct walk *walk, const struct wcs_slice *after)
{
	char name[WCS_TABLE_NAME_MAX + 1];
	int rc = wcs_table_next(walk->fs->store, after ? after->data : NULL, name);

	while (rc == 0) {
		rc = walk->each(walk->ctx, NODE_TABLE, (struct wcs_slice){name, strlen(name)},
				NULL);
		if (rc == 0)
			rc = wcs_table_next(walk->fs->store, name, name);
	}
	return rc == -ENOENT ? 0 : rc;
}

static int walk_policies(struct walk *walk, const struct wcs_slice *after)
{
	char name[WCS_FAMILY_NAME_MAX + 1];
	int rc = wcs_family_next(walk->pos->table, after ? after->data : NULL, name);

	while (rc == 0) {
		rc = walk->each(walk->ctx, NODE_POLICIES, (struct wcs_slice){name, strlen(name)},
				NULL);
		if (rc == 0)
			rc = wcs_family_next(walk->pos->table, name, name);
	}
	return rc == -ENOENT ? 0 : rc;
}

static int walk_controls(struct walk *walk, const struct wcs_slice *after)
{
	enum control control;
	const char *name;
	int rc = 0;

	for (size_t i = 0; rc == 0 && spell_control(walk->pos->kind, i, &control, &name); i++) {
		struct wcs_slice bytes = {name, strlen(name)};

		if (!after || memdir_order(bytes, *after) > 0)
			rc = walk->each(walk->ctx, NODE_CONTROL, bytes, NULL);
	}
	return rc;
}

/* What a directory of segments or a family lists, one kind after the other; `after` is of one of
 * them. */
static int walk_kinds(struct walk *walk, const struct child *after, const struct wcs_slice *bytes)
{
	int rc = 0;

	if (after && after->kind == NODE_CHUNK)
		return walk_chunks(walk, bytes);
	if (walk->pos->kind == NODE_FAMILY)
		rc = walk_columns(walk, bytes);
	else if (!after || after->kind == NODE_PREFIX)
		rc = walk_segments(walk, bytes);
	if (rc == 0 && walk->pos->kind == NODE_PREFIX)
		rc = walk_families(walk, after && after->kind == NODE_FAMILY ? bytes : NULL);
	return rc == 0 ? walk_chunks(walk, NULL) : rc;
}

int children_walk(struct fs *fs, const struct node *node, const struct child *after,
		  children_each *each, void *ctx)
{
	struct pos pos;
	struct walk walk = {.fs = fs, .pos = &pos, .each = each, .ctx = ctx};
	struct wcs_slice slice = {after ? after->bytes : NULL, after ? after->len : 0};
	const struct wcs_slice *bytes = after ? &slice : NULL;
	int rc = pos_of(node, &pos);

	if (rc != 0)
		return rc;
	switch (node->kind) {
	case NODE_ROOT:
		return walk_tables(&walk, bytes);
	case NODE_TABLE:
	case NODE_PREFIX:
	case NODE_FAMILY:
		return walk_kinds(&walk, after, bytes);
	case NODE_HISTORY:
		return walk_versions(&walk, bytes);
	case NODE_FAMILIES:
		return walk_policies(&walk, bytes);
	default:
		return walk_controls(&walk, bytes);
	}
}
