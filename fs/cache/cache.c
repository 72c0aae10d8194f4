/* SPDX-License-Identifier: MIT */
/*
 * The dentries that the kernel keeps.
 *
 * A lookup and a change may meet. The lookup takes a mark, reads the store, has the node in the
 * inode table, sets NODE_S_KEPT, and looks at the mark again. The change is made, counts, and then
 * looks for nodes with NODE_S_KEPT. Either the change finds the node, or the lookup finds the count
 * and answers timeout 0. If the change finds the node before the kernel has the lookup's reply, its
 * notice still comes after the reply: during a first lookup the kernel holds the directory's lock,
 * which the notice waits for; during a revalidation the notice takes the dentry out of the
 * directory, regardless of the reply.
 *
 * A listing takes its mark before it reads the first of its columns. Changes of columns are
 * numbered, and a slot has the number of its last change, so the listing can ask for each column
 * whether it has changed since. From the request until it has made the last dentry the kernel holds
 * the directory's lock, shared with lookups, so a notice comes after them. The kernel does not tell
 * when they are made. For a listed node (NODE_S_LISTED) only a request that had that lock alone is
 * therefore believed to have replaced the dentry.
 *
 * A node that is kept may have one dentry only: a name that resolves in two places (of 231 to 255
 * bytes) is kept where listings show it.
 */

#include <errno.h>
#include <string.h>

#include "fs/cache/cache_clock.h"
#include "fs/cache/cache_private.h"
#include "fs/names/spell.h"
#include "lib/clock.h"
#include "lib/names.h"

enum {
	ROUNDING_US = 10000, /* the kernel rounds timeouts up to ticks */
	SLOWNESS = 1000,     /* a clock is slow by one part in so many at most */
};

static const int64_t KEPT = INT64_C(86400) * 1000000; /* microseconds */

double cache_fresh(const struct fs *fs)
{
	int64_t fresh = wcs_store_fresh(fs->store);

	return (double)(fresh < KEPT ? fresh : KEPT) / 1e6;
}

bool cache_is_usual(const char *name)
{
	return strlen(name) <= NAMES_CHUNK_MAX;
}

bool cache_keeps_versions(const struct fs *fs)
{
	return wcs_store_fresh(fs->store) < KEPT;
}

static bool can_be_kept(const struct fs *fs, const struct node *node, const char *name)
{
	if (node->flags & (NODE_F_VERSIONS | NODE_F_WRITER))
		return false;
	if (node->kind == NODE_HISTORY || node->kind == NODE_VERSION)
		return cache_keeps_versions(fs) && cache_is_usual(name);
	return node->kind == NODE_CHUNK ||
	       ((node->kind == NODE_TABLE || node->kind == NODE_PREFIX ||
		 node->kind == NODE_FAMILY || node->kind == NODE_CELL) &&
		cache_is_usual(name));
}

/* Seconds until its age hides the cell; a little less, because the kernel rounds up and its clock
 * may be slow. */
static double time_left(struct fs *fs, int64_t expires)
{
	double seconds, fresh = cache_fresh(fs);
	int64_t left;

	if (expires == WCS_TS_MAX)
		return fresh;
	left = expires - clock_now() - ROUNDING_US;
	if (left <= 0)
		return 0;
	left -= left / SLOWNESS;
	seconds = (double)left / 1e6;
	seconds = seconds < fresh ? seconds : fresh;
	cache_clock_keeps(fs->clock, seconds);
	return seconds;
}

double cache_timeout(struct fs *fs, const struct cache_mark *mark, struct node *node,
		     const char *name, const struct wcs_cell_info *info)
{
	const struct node *table;

	if (!can_be_kept(fs, node, name) || cache_is_held(fs, mark) || !cache_is_marked(fs, mark))
		return 0;
	node_state_set(node, mark->listing ? NODE_S_KEPT | NODE_S_LISTED : NODE_S_KEPT);
	if (cache_is_held(fs, mark) || !cache_is_marked(fs, mark) || cache_is_below_removed(node))
		return 0;
	if (node_is_value(node->kind))
		return info ? time_left(fs, info->expires) : 0;
	table = node_up(node, NODE_TABLE);
	/* A directory goes with the last of its cells, whose age is not known. */
	return table != node && wcs_table_ages(table->table) ? 0 : cache_fresh(fs);
}

/* ---- Write sessions ---------------------------------------------------------------------- */

bool cache_replaced(struct fs *fs, const struct cache_mark *mark, struct node *family,
		    struct wcs_slice qualifier)
{
	struct node_list list = {0};
	bool done = !mark || cache_is_marked(fs, mark);

	cache_cells(fs, family, qualifier, &list);
	for (size_t i = 0; i < list.count && mark; i++)
		done = done && !(node_state(list.all[i]) & NODE_S_LISTED);
	for (size_t i = 0; i < list.count && done; i++)
		node_state_clear(list.all[i], NODE_S_KEPT | NODE_S_LISTED);
	node_list_clear(fs->nodes, &list);
	return done;
}

/* ---- Columns that move ------------------------------------------------------------------- */

/* The node of a column's newest cell, made if need be, with a reference; NULL: there is none. */
static struct node *node_of(struct fs *fs, struct node *dir, struct wcs_slice name)
{
	struct node_key key = {.parent = dir, .kind = NODE_CELL, .name = name};
	struct wcs_cell_info info;
	struct pos pos;

	if (pos_of(dir, &pos) != 0 || pos_descend(&pos, NODE_CELL, name) != 0 ||
	    pos_stored(&pos, &info) != 0)
		return NULL;
	key.ts = info.ts;
	key.etag = info.etag;
	key.size = (uint32_t)info.size;
	return nodes_get(fs->nodes, &key, 0, NULL);
}

/* The kernel moves its dentry with the inode to the new name, so the inode stands for that name
 * from now on or, if it cannot, becomes stale. */
static void rename_node(struct fs *fs, struct node *old, struct wcs_slice to, int64_t now)
{
	struct file_id id = node_child_id(old->parent, NODE_CELL, to);
	struct node *renamed;
	struct cache_mark mark;

	cache_mark(fs, &mark);
	mark.column = id.column;
	renamed = node_of(fs, old->parent, to);
	if (renamed && renamed->ts == now && renamed->size == old->size &&
	    nodes_move(fs->nodes, old, renamed)) {
		if (!cache_is_marked(fs, &mark) && !cache_is_newest(fs, renamed))
			cache_expire_as(fs, renamed, to, NOTICE_NOW);
		return;
	}
	nodes_put(fs->nodes, renamed, 1);
	old->alias = id.file;
	if (cache_node_is_kept(old))
		cache_expire_as(fs, old, to, NOTICE_NOW);
}

void cache_renamed(struct fs *fs, struct node *dir, struct wcs_slice from,
		   const struct wcs_cell_info *was, struct wcs_slice to, int64_t now)
{
	struct file_id id = node_child_id(dir, NODE_CELL, to);
	struct node_list list = {0};

	cache_changed_column(fs->caches, node_child_id(dir, NODE_CELL, from).column);
	cache_changed_column(fs->caches, id.column);
	cache_cells(fs, dir, from, &list);
	for (size_t i = 0; i < list.count; i++) {
		struct node *old = list.all[i], *under;

		if (node_is_of(old, was)) {
			rename_node(fs, old, to, now);
			continue;
		}
		/* A node of an older value, whose replacing commit is not answered yet: its notice
		 * goes to the dentry's new place, where the thread that answers the commit finds
		 * it. */
		old->alias = id.file;
		if (!cache_node_is_kept(old))
			continue;
		under = node_of(fs, dir, to);
		cache_expire_as(fs, under ? under : old, to, NOTICE_SOON);
		nodes_put(fs->nodes, under, 1);
	}
	node_list_clear(fs->nodes, &list);
}

void cache_unlinked(struct fs *fs, struct node *dir, const struct spelled *child,
		    const struct wcs_cell_info *was)
{
	struct node_key key = {.parent = dir, .kind = child->kind, .name = child->bytes};
	struct node_list list = {0};
	struct node *node;

	if (child->kind != NODE_CELL) {
		key.ts = was->ts;
		key.etag = was->etag;
		node = nodes_find(fs->nodes, &key);
		if (node)
			cache_mark_unlinked(fs, node);
		nodes_put(fs->nodes, node, 1);
		return;
	}
	cache_cells(fs, dir, child->bytes, &list);
	for (size_t i = 0; i < list.count; i++)
		if (!cache_is_newest(fs, list.all[i]))
			cache_mark_unlinked(fs, list.all[i]);
	node_list_clear(fs->nodes, &list);
	cache_check_versions(fs, dir, child->bytes);
}

void cache_stamped(struct fs *fs, struct node *node, bool newest, int64_t stamp)
{
	struct wcs_cell_info info;
	struct pos pos;
	int rc = cache_cell_of(node, &pos, &info);

	if (rc != 0 && rc != -ENOENT)
		return;
	pos.ts = node_ts(node);
	/* Was it this cell that got the stamp, and not one that came meanwhile? Then the old one is
	 * gone. */
	if (rc == 0 && newest && info.ts == stamp && info.size == node->size && info.ts != pos.ts &&
	    pos_stored(&pos, NULL) == -ENOENT)
		nodes_stamp(fs->nodes, node, &info);
	pos.ts = WCS_TS_NEWEST;
	/* With an age policy the new time may also hide the cell. */
	cache_expire_pos(fs, &pos, rc == 0 && info.expires == WCS_TS_MAX, NOTICE_WAIT);
}
