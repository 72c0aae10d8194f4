/* SPDX-License-Identifier: MIT */
/* Marks of lookups, changes that they can meet, and whether a node's value is still its name's
 * newest. cache.c tells how they meet. */
#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache_private.h"

struct caches *caches_new(void)
{
	struct caches *caches = calloc(1, sizeof(*caches));

	if (caches)
		pthread_mutex_init(&caches->deferrals.lock, NULL);
	return caches;
}

void caches_free(struct caches *caches)
{
	if (caches)
		pthread_mutex_destroy(&caches->deferrals.lock);
	free(caches);
}

static struct cache_slot *slot_of(struct caches *caches, uint64_t column)
{
	return &caches->slots[column % CACHE_SLOTS];
}

void cache_changed_tree(struct fs *fs)
{
	fs->caches->tree++;
}

/* A slot keeps the greatest number, in whichever order two threads come here. */
void cache_changed_column(struct caches *caches, uint64_t column)
{
	uint64_t number = ++caches->columns;
	_Atomic uint64_t *last = &slot_of(caches, column)->changed;
	uint64_t was = *last;

	while (was < number && !atomic_compare_exchange_weak(last, &was, number))
		;
}

/* ---- A lookup ---------------------------------------------------------------------------- */

void cache_mark(struct fs *fs, struct cache_mark *mark)
{
	*mark = (struct cache_mark){.tree = fs->caches->tree, .columns = fs->caches->columns};
}

void cache_mark_column(struct fs *fs, struct cache_mark *mark, uint64_t column)
{
	mark->column = column;
	mark->columns = fs->caches->columns;
}

bool cache_is_marked(struct fs *fs, const struct cache_mark *mark)
{
	return fs->caches->tree == mark->tree &&
	       (mark->column == 0 || slot_of(fs->caches, mark->column)->changed <= mark->columns);
}

bool cache_is_held(struct fs *fs, const struct cache_mark *mark)
{
	return mark->column != 0 && slot_of(fs->caches, mark->column)->holds > 0;
}

bool cache_is_below_removed(const struct node *node)
{
	for (; node; node = node->parent)
		if (node_state(node) & NODE_S_REMOVED)
			return true;
	return false;
}

void cache_hold(struct caches *caches, uint64_t column)
{
	slot_of(caches, column)->holds++;
}

void cache_release(struct caches *caches, uint64_t column)
{
	/* In this order: a lookup that read before the commit finds the change or the hold. */
	cache_changed_column(caches, column);
	slot_of(caches, column)->holds--;
}

int cache_cell_of(const struct node *node, struct pos *pos, struct wcs_cell_info *info)
{
	int rc = pos_of(node, pos);

	return rc == 0 ? pos_stored(pos, info) : rc;
}

/* The kernel itself drops the attributes of the inode whose dentry it removes, and a notice for a
 * dentry those of its inode. */
void cache_mark_unlinked(struct fs *fs, struct node *node)
{
	if (!(node_state_set(node, NODE_S_UNLINKED) & NODE_S_UNLINKED) &&
	    (node->opens > 0 || !cache_node_is_kept(node)))
		notice_attributes(fs, node);
}

bool cache_is_newest(struct fs *fs, struct node *node)
{
	struct wcs_cell_info info;
	struct pos pos;
	int rc = cache_cell_of(node, &pos, &info);

	if (rc == -ENOENT)
		cache_mark_unlinked(fs, node);
	return rc == 0 && node_is_of(node, &info);
}

void cache_check_versions(struct fs *fs, struct node *family, struct wcs_slice qualifier)
{
	struct node_key key = {.parent = family, .kind = NODE_HISTORY, .name = qualifier};
	struct node *history = nodes_find(fs->nodes, &key);
	struct node_list list = {0};

	if (history && nodes_children(fs->nodes, history, &list) != 0)
		cache_failed();
	for (size_t i = 0; i < list.count; i++)
		if (list.all[i]->kind == NODE_VERSION && list.all[i]->opens > 0)
			cache_is_newest(fs, list.all[i]);
	node_list_clear(fs->nodes, &list);
	nodes_put(fs->nodes, history, 1);
}
