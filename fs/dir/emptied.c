/* SPDX-License-Identifier: MIT */
/* Directories that were emptied: whether they were, and keeping them. */
#include "fs/dir/emptied.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/names/chunk.h"
#include "fs/serve/report.h"

static int found_one(void *ctx, enum node_kind kind, struct wcs_slice bytes,
		     const struct wcs_cell_info *info)
{
	(void)ctx;
	(void)kind;
	(void)bytes;
	(void)info;
	return 1;
}

/* Are there children of a directory behind that one? 1 or 0, or an error. */
static int has_behind(struct fs *fs, const struct node *dir, const struct spelled *removed)
{
	struct child *child = child_new(removed->kind, removed->bytes);
	int rc = -ENOMEM;

	if (child)
		rc = children_walk(fs, dir, child, found_one, NULL);
	free(child);
	return rc;
}

/* Is there nothing left in a directory that a child was removed from? 1 or 0, or an error. What is
 * behind the child is looked at first, since the store steps over everything that was deleted. A
 * draft was not in the store. */
static int is_emptied(struct fs *fs, const struct node *dir, const struct spelled *removed)
{
	struct pos pos;
	bool draft = removed->kind == NODE_DRAFT || removed->kind == NODE_DRAFTS;
	int rc = draft ? 0 : has_behind(fs, dir, removed);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = pos_of(dir, &pos);
	if (rc == 0)
		rc = pos_stored(&pos, NULL);
	return rc == -ENOENT ? 1 : rc;
}

static int is_emptied_chunk(struct fs *fs, const struct node *dir)
{
	struct child *first;
	int rc = chunk_first(fs, dir->parent, node_name(dir), &first);

	if (rc == 0)
		free(first);
	return rc == -ENOENT ? 1 : rc;
}

/* A history stays where it stood: if its name has chunks, in the directory of the last before its
 * end. /.versions lists it there, the other tree lists nothing of it. */
static int keep_chunk(struct fs *fs, const struct node *history)
{
	char encoded[SPELL_MAX], component[NAMES_CHUNK_MAX + 2];
	size_t at = 0, next, len, count;
	struct child *first = NULL;
	struct pos pos;
	int rc = pos_of(history->parent, &pos);

	if (rc != 0)
		return rc;
	len = spell_child(pos.table, NODE_CELL, node_name(history), encoded);
	while ((next = names_component(encoded, len, at, component, &count)) < len)
		at = next;
	if (at == 0)
		return 0;
	pos.kind = NODE_CHUNK;
	pos.chunk = (struct wcs_slice){encoded, at};
	rc = pos.versions ? -ENOENT : chunk_first(fs, history->parent, pos.chunk, &first);
	free(first);
	return rc == -ENOENT ? pos_keep(fs, &pos) : rc;
}

static int keep_emptied(struct fs *fs, struct node *dir, const struct spelled *removed)
{
	struct pos pos;
	int rc = 0;

	if (dir->kind == NODE_CHUNK)
		rc = is_emptied_chunk(fs, dir);
	else if (dir->kind == NODE_PREFIX || dir->kind == NODE_FAMILY || dir->kind == NODE_HISTORY)
		rc = is_emptied(fs, dir, removed);
	if (rc <= 0)
		return rc;
	rc = pos_of(dir, &pos);
	if (rc == 0)
		rc = pos_keep(fs, &pos);
	return rc == 0 && dir->kind == NODE_HISTORY ? keep_chunk(fs, dir) : rc;
}

void emptied_keep(struct fs *fs, struct node *dir, const struct spelled *removed)
{
	int rc = keep_emptied(fs, dir, removed);
	struct pos pos;

	if (rc == 0)
		return;
	report(fs, dir, NULL, 0, rc, "the directory was emptied and could not be kept");
	if (pos_of(dir, &pos) == 0)
		cache_expire_row(fs, pos.table, pos_key(&pos));
}
