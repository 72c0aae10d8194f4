/* SPDX-License-Identifier: MIT */
/* Keeps emptied directories in memory. */
#include "fs/dir/emptied.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/names/chunk.h"
#include "fs/report/report.h"

static int found_one(void *ctx, enum node_kind kind, struct wcs_slice bytes,
		     const struct wcs_cell_info *info)
{
	(void)ctx;
	(void)kind;
	(void)bytes;
	(void)info;
	return 1;
}

/* 1 if nothing is left in dir, else 0, or an error. The children after the removed one are checked
 * first: a check from the start would step over all tombstones before it. A draft was not in the
 * store. */
static int is_emptied(struct fs *fs, const struct node *dir, const struct spelled *removed)
{
	struct child *child;
	struct pos pos;
	int rc = 0;

	if (removed->kind != NODE_DRAFT && removed->kind != NODE_DRAFTS) {
		child = child_new(removed->kind,
				  &(struct wcs_list_child){.segment = removed->bytes});
		rc = child ? children_walk(fs, dir, child, NULL, found_one, NULL) : -ENOMEM;
		free(child);
	}
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = pos_of(dir, &pos);
	if (rc == 0)
		rc = pos_stored(&pos, NULL);
	return rc == -ENOENT ? 1 : rc;
}

/* A history whose name has chunks keeps the chunk directory that held it. Only /.versions lists it
 * there. */
static int keep_chunk(struct fs *fs, const struct node *history)
{
	char encoded[SPELL_MAX], component[NAMES_CHUNK_MAX + 2];
	size_t at = 0, next, len, count;
	struct pos pos;
	int rc = pos_of(history->parent, &pos);

	if (rc != 0)
		return rc;
	len = spell_child(NULL, NODE_CELL, node_name(history), encoded);
	while ((next = names_component(encoded, len, at, component, &count)) < len)
		at = next;
	if (at == 0)
		return 0;
	pos.kind = NODE_CHUNK;
	pos.chunk = (struct wcs_slice){encoded, at};
	rc = pos.versions ? -ENOENT : chunk_first(fs, history->parent, NULL, pos.chunk, NULL);
	return rc == -ENOENT ? pos_keep(fs, &pos) : rc;
}

void emptied_keep(struct fs *fs, struct node *dir, const struct spelled *removed)
{
	struct pos pos;
	int rc = 0;

	if (dir->kind == NODE_CHUNK) {
		rc = chunk_first(fs, dir->parent, NULL, node_name(dir), NULL);
		rc = rc == -ENOENT ? 1 : rc;
	} else if (dir->kind == NODE_PREFIX || dir->kind == NODE_FAMILY ||
		   dir->kind == NODE_HISTORY)
		rc = is_emptied(fs, dir, removed);
	if (rc > 0) {
		rc = pos_of(dir, &pos);
		if (rc == 0)
			rc = pos_keep(fs, &pos);
		if (rc == 0 && dir->kind == NODE_HISTORY)
			rc = keep_chunk(fs, dir);
	}
	if (rc == 0)
		return;
	report(fs, dir, NULL, 0, rc, "the directory was emptied and could not be kept");
	if (pos_of(dir, &pos) == 0) {
		struct wcs_slice key = pos_key(&pos);

		cache_expire_rows(fs, pos.table, &key, false);
	}
}
