/* SPDX-License-Identifier: MIT */
/* Positions: from a table down to a node, and from there into the store. */
#include "fs/names/pos.h"

#include <errno.h>
#include <string.h>

#include "fs/fs.h"
#include "fs/names/number.h"
#include "fs/names/spell.h"
#include "store/chain/chain.h"

int pos_descend(struct pos *pos, enum node_kind kind, struct wcs_slice bytes)
{
	size_t between = pos->depth > 0;
	int rc = 0;

	switch (kind) {
	case NODE_PREFIX:
		if (pos->key_len + between + bytes.len > WCS_ROW_KEY_MAX)
			return -ENAMETOOLONG;
		if (between)
			pos->key[pos->key_len++] = (char)pos->delimiter;
		if (bytes.len > 0)
			memcpy(pos->key + pos->key_len, bytes.data, bytes.len);
		pos->key_len += bytes.len;
		pos->depth++;
		break;
	case NODE_FAMILY:
	case NODE_POLICIES:
		pos->descends = pos->at_view = false;
		pos->family = bytes.data;
		break;
	case NODE_CELL:
	case NODE_HISTORY:
		pos->qualifier = bytes;
		break;
	case NODE_CHUNK:
		pos->chunk = bytes;
		break;
	case NODE_VIEWED: /* shows the directory in which its view stands */
		kind = pos->depth > 0 ? NODE_PREFIX : NODE_TABLE;
		break;
	case NODE_VERSION:
		rc = names_ts_parse(bytes.data, bytes.len, &pos->ts) == 0 ? 0 : -ENOENT;
		break;
	default:
		break;
	}
	if (rc == 0)
		pos->kind = kind;
	return rc;
}

/* Recurses once for each segment and key slice above: a key of n bytes has n + 1 segments at most.
 */
int pos_of(const struct node *node, struct pos *pos)
{
	bool table = node->kind == NODE_TABLE;
	int rc = 0;

	if (node->parent && !table) {
		rc = pos_of(node->parent, pos);
		if (rc == 0 && node_has_layout((enum node_kind)node->kind, node->parent) &&
		    node_etag(node) != wcs_table_layout(pos->table))
			rc = -ESTALE;
		rc = rc == 0 ? pos_descend(pos, node->kind, node_name(node)) : rc;
	} else {
		pos->kind = node->kind;
		pos->table = table ? node->table : NULL;
		pos->delimiter = table ? wcs_table_delimiter(node->table) : 0;
		pos->keys = table ? wcs_table_keys(node->table) : NULL;
		pos->depth = pos->key_len = 0;
		pos->family = NULL;
		pos->qualifier = pos->chunk = (struct wcs_slice){0};
		pos->ts = WCS_TS_NEWEST;
		pos->view = NULL;
		pos->descends = pos->at_view = pos->raw = false;
		pos->chain = NULL;
	}
	if (node->kind == NODE_VIEWED) {
		pos->view = node->view;
		if (node->parent->kind != NODE_VIEW && strcmp(node->name, ".reverse") == 0)
			pos->descends = !pos->descends;
		pos->raw = wcs_chain_raw(view_chain(node->view));
		if (pos->raw)
			pos->keys = NULL;
	}
	if (node->kind != NODE_CONTROL)
		pos->at_view = node->kind == NODE_VIEWED;
	pos->versions = node->flags & NODE_F_VERSIONS;
	return rc;
}

int pos_enter(struct pos *pos, bool opens)
{
	return pos->view ? view_now(pos->view, pos->table, opens && pos->at_view, &pos->chain) : 0;
}

void pos_leave(struct pos *pos)
{
	wcs_chain_free(pos->chain);
	pos->chain = NULL;
}

int pos_memdir_path(const struct pos *pos, struct memdir_path *path)
{
	const char *name = wcs_table_name(pos->table), *at = pos->key;
	const char *end = pos->key + pos->key_len;
	int rc = memdir_path_add(path, MEMDIR_TABLE, (struct wcs_slice){name, strlen(name)});

	for (size_t i = 0; rc == 0 && i < pos->depth; i++) {
		const char *stop = memchr(at, pos->delimiter, (size_t)(end - at));

		stop = stop ? stop : end;
		rc = memdir_path_add(path, MEMDIR_SEGMENT,
				     (struct wcs_slice){at, (size_t)(stop - at)});
		at = stop + 1;
	}
	if (rc == 0 && pos->family)
		rc = memdir_path_add(path, MEMDIR_FAMILY,
				     (struct wcs_slice){pos->family, strlen(pos->family)});
	if (rc == 0 &&
	    (pos->kind == NODE_HISTORY || (pos->kind == NODE_DRAFTS && pos->qualifier.data)))
		rc = memdir_path_add(path, MEMDIR_HISTORY, pos->qualifier);
	if (rc == 0 && pos->kind == NODE_DRAFTS)
		rc = memdir_path_add(path, MEMDIR_DRAFTS, (struct wcs_slice){0});
	if (rc == 0 && pos->kind == NODE_CHUNK)
		rc = memdir_path_add(path, MEMDIR_CHUNK, pos->chunk);
	return rc;
}

int pos_table_check(struct fs *fs, const char *table)
{
	struct memdir_path path = {0};
	int rc = memdir_path_add(&path, MEMDIR_TABLE, (struct wcs_slice){table, strlen(table)});

	if (rc == 0 && memdirs_has(fs->memdirs, &path, false))
		rc = -ENOTEMPTY;
	memdir_path_clear(&path);
	return rc;
}

int pos_row_scan(const struct pos *pos, const struct wcs_filter *filter, struct wcs_scan **scan)
{
	char end[WCS_ROW_KEY_MAX + 1];
	struct wcs_range range = {pos_key(pos), {end, pos->key_len + 1}};
	struct wcs_filter shown = *filter;

	if (pos->key_len == 0)
		return -ENOENT;
	memcpy(end, pos->key, pos->key_len);
	end[pos->key_len] = 0;
	shown.chain = pos->chain;
	return wcs_scan_open(pos->table, &range, 1, &shown, scan);
}

/* The n-th cell of the row that a filter lets through, n from 1. */
static int nth_cell(const struct pos *pos, const struct wcs_filter *filter, int n,
		    struct wcs_cell_info *info)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = pos_row_scan(pos, filter, &scan);

	if (rc != 0)
		return rc;
	do
		rc = wcs_scan_next(scan, &cell);
	while (rc > 0 && --n > 0);
	if (rc > 0)
		*info = cell.info;
	wcs_scan_close(scan);
	return rc > 0 ? 0 : rc == 0 ? -ENOENT : rc;
}

struct wcs_filter pos_column(const struct pos *pos, char *buf)
{
	if (pos->qualifier.len > 0)
		memcpy(buf, pos->qualifier.data, pos->qualifier.len);
	buf[pos->qualifier.len] = 0; /* the next qualifier */
	return (struct wcs_filter){.families = &pos->family,
				   .family_count = 1,
				   .qualifier_from = pos->qualifier,
				   .qualifier_to = {buf, pos->qualifier.len + 1}};
}

int pos_older(const struct pos *pos, struct wcs_cell_info *info)
{
	char to[WCS_QUALIFIER_MAX + 1];
	struct wcs_filter filter = pos_column(pos, to);

	filter.newest = 2;
	return nth_cell(pos, &filter, 2, info);
}

/* Does a view show the row of the position, or rows below it? */
static int viewed_prefix(const struct pos *pos)
{
	char past[WCS_ROW_KEY_MAX + 1], start[WCS_ROW_KEY_MAX + 1], end[WCS_ROW_KEY_MAX + 1];
	const struct wcs_filter filter = {.each = WCS_EACH_ROW, .chain = pos->chain};
	const size_t len = pos->key_len + 1;
	const struct wcs_range ranges[] = {{pos_key(pos), {past, len}}, {{start, len}, {end, len}}};
	bool row = pos->key_len > 0; /* no row has an empty key */
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc;

	memcpy(past, pos->key, pos->key_len);
	memcpy(start, pos->key, pos->key_len);
	memcpy(end, pos->key, pos->key_len);
	past[pos->key_len] = 0;
	start[pos->key_len] = (char)pos->delimiter;
	end[pos->key_len] = (char)(pos->delimiter + 1);
	rc = wcs_scan_open(pos->table, row ? ranges : ranges + 1, row ? 2 : 1, &filter, &scan);
	if (rc != 0)
		return rc;
	rc = wcs_scan_next(scan, &cell);
	wcs_scan_close(scan);
	return rc > 0 ? 0 : rc == 0 ? -ENOENT : rc;
}

int pos_cell(const struct pos *pos, struct wcs_cell_info *info)
{
	char to[WCS_QUALIFIER_MAX + 1];
	struct wcs_filter filter = pos_column(pos, to);

	if (pos->ts != WCS_TS_NEWEST) {
		filter.ts_from = pos->ts;
		filter.ts_to = pos->ts < WCS_TS_MAX ? pos->ts + 1 : 0;
	}
	return nth_cell(pos, &filter, 1, info);
}

/* The cell that a view shows in the place of the position. */
static int viewed_cell(const struct pos *pos, struct wcs_cell_info *info)
{
	enum wcs_type type;
	struct pos found;
	int rc = pos_type(pos, &type);

	if (rc == 0)
		rc = pos_cell(pos, info);
	if (rc != 0 || !wcs_type_aggregates(type))
		return rc;
	found = *pos;
	found.ts = info->ts;
	return number_text(&found, type, NULL, info);
}

int pos_stored(const struct pos *pos, struct wcs_cell_info *info)
{
	struct wcs_filter filter = {
		.each = WCS_EACH_FAMILY, .families = &pos->family, .family_count = 1};
	struct wcs_cell_info unused;
	struct wcs_key_info key;
	enum wcs_type type;
	int rc;

	switch (pos->kind) {
	case NODE_PREFIX:
		if (pos->view)
			return viewed_prefix(pos);
		rc = wcs_key_get(pos->table, pos_key(pos), &key);
		return rc != 0 ? rc : key.row || key.prefix ? 0 : -ENOENT;
	case NODE_FAMILY: /* exists if it holds a cell */
		return nth_cell(pos, &filter, 1, &unused);
	case NODE_CELL:
	case NODE_HISTORY:
	case NODE_VERSION:
		if (pos->key_len == 0)
			return -ENOENT;
		if (pos->view)
			return viewed_cell(pos, info ? info : &unused);
		rc = info ? pos_type(pos, &type) : 0;
		if (rc == 0 && info && wcs_type_aggregates(type))
			return number_text(pos, type, NULL, info);
		return rc != 0 ? rc
			       : wcs_cell_get(pos->table, pos_key(pos), pos->family, pos->qualifier,
					      pos->ts, info ? info : &unused);
	case NODE_DRAFTS:
	case NODE_CHUNK:
		return -ENOENT;
	default:
		return 0;
	}
}

int pos_keep(struct fs *fs, const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = pos_memdir_path(pos, &path);

	if (rc == 0)
		rc = memdirs_add(fs->memdirs, &path);
	memdir_path_clear(&path);
	return rc;
}

int pos_delete(const struct pos *pos)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int rc = -ENOMEM;

	if (mutation && pos->kind == NODE_CELL)
		rc = wcs_mutation_delete_column(mutation, pos->family, pos->qualifier);
	else if (mutation)
		rc = wcs_mutation_delete_cell(mutation, pos->family, pos->qualifier, pos->ts);
	if (rc == 0)
		rc = wcs_row_mutate(pos->table, pos_key(pos), mutation, NULL);
	wcs_mutation_free(mutation);
	return rc;
}

int pos_exists(struct fs *fs, const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = pos_stored(pos, NULL);

	if (rc != -ENOENT || node_is_value(pos->kind) || pos->view)
		return rc;
	if (pos_memdir_path(pos, &path) == 0 && memdirs_has(fs->memdirs, &path, true))
		rc = 0;
	memdir_path_clear(&path);
	return rc;
}
