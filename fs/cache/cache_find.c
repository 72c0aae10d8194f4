/* SPDX-License-Identifier: MIT */
/* From positions in the plain tree to the nodes that the kernel holds there, and whether it keeps
 * their dentries. */
#include <string.h>

#include "fs/cache/cache_private.h"

/* ---- Directories ------------------------------------------------------------------------- */

struct node *cache_find_table(struct fs *fs, const struct wcs_table *table)
{
	struct node *root = nodes_root(fs->nodes);
	const char *name = wcs_table_name(table);
	struct node_key key = {.parent = root,
			       .kind = NODE_TABLE,
			       .name = {name, strlen(name)},
			       .etag = node_table_etag(table)};

	if (root->kind != NODE_TABLE)
		return nodes_find(fs->nodes, &key);
	return strcmp(wcs_table_name(root->table), name) == 0 ? node_get(root) : NULL;
}

/* A child of dir, whose reference is given back. */
static struct node *find_child(struct fs *fs, struct node *dir, enum node_kind kind,
			       struct wcs_slice name)
{
	struct node_key key = {.parent = dir, .kind = kind, .name = name};
	struct node *node = dir ? nodes_find(fs->nodes, &key) : NULL;

	nodes_put(fs->nodes, dir, 1);
	return node;
}

struct node *cache_find_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key,
			    bool *whole)
{
	struct node *node = cache_find_table(fs, table), *next = node;

	while (next && key.data) {
		const char *end = memchr(key.data, wcs_table_delimiter(table), key.len);
		struct wcs_slice segment = {key.data, key.len};

		if (end)
			segment.len = (size_t)(end - (const char *)key.data);
		key = end ? (struct wcs_slice){end + 1, key.len - segment.len - 1}
			  : (struct wcs_slice){0};
		next = find_child(fs, node_get(node), NODE_PREFIX, segment);
		if (next) {
			nodes_put(fs->nodes, node, 1);
			node = next;
		}
	}
	*whole = next != NULL;
	return node;
}

static struct node *find_row(struct fs *fs, struct wcs_table *table, struct wcs_slice row)
{
	bool whole;
	struct node *node = cache_find_key(fs, table, row, &whole);

	if (node && !whole) {
		nodes_put(fs->nodes, node, 1);
		node = NULL;
	}
	return node;
}

struct node *cache_find_family(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			       const char *family)
{
	return find_child(fs, find_row(fs, table, row), NODE_FAMILY,
			  (struct wcs_slice){family, strlen(family)});
}

struct node *cache_find_directory(struct fs *fs, const struct pos *pos)
{
	struct wcs_slice key = pos->depth > 0 ? pos_key(pos) : (struct wcs_slice){0};
	struct node *node = find_row(fs, pos->table, key);

	if (pos->family)
		node = find_child(fs, node, NODE_FAMILY,
				  (struct wcs_slice){pos->family, strlen(pos->family)});
	if (pos->kind == NODE_CHUNK)
		node = find_child(fs, node, NODE_CHUNK, pos->chunk);
	return node;
}

/* ---- Columns ----------------------------------------------------------------------------- */

bool cache_node_is_kept(const struct node *node)
{
	return (node_state(node) & NODE_S_KEPT) || node->expiring > 0;
}

void cache_failed(void)
{
	fs_log(NULL, WCS_LOG_ERROR, "no memory to tell the kernel of a change");
}

void cache_cells(struct fs *fs, struct node *family, struct wcs_slice qualifier,
		 struct node_list *list)
{
	if (nodes_cells(fs->nodes, family, qualifier, list) != 0)
		cache_failed();
}

/* Finds the nodes of a column. Returns its id; 0: there are none. */
static uint64_t list_column(struct fs *fs, const struct pos *pos, struct node_list *list)
{
	struct node *family = cache_find_family(fs, pos->table, pos_key(pos), pos->family);
	uint64_t column;

	if (!family)
		return 0;
	column = node_child_id(family, NODE_CELL, pos->qualifier).column;
	cache_cells(fs, family, pos->qualifier, list);
	nodes_put(fs->nodes, family, 1);
	return column;
}

bool cache_is_kept(struct fs *fs, const struct pos *pos, uint8_t hops, uint64_t *column)
{
	struct node_list list = {0};
	bool found = false;

	*column = list_column(fs, pos, &list);
	for (size_t i = 0; i < list.count; i++)
		found |= cache_node_is_kept(list.all[i]) && list.all[i]->hops >= hops;
	node_list_clear(fs->nodes, &list);
	return found;
}

void cache_renew(struct fs *fs, const struct pos *pos)
{
	struct node_list list = {0};

	list_column(fs, pos, &list);
	for (size_t i = 0; i < list.count; i++)
		node_state_set(list.all[i], NODE_S_REMOVED);
	node_list_clear(fs->nodes, &list);
}
