/* SPDX-License-Identifier: MIT */
/* From positions in the plain tree to the nodes that the kernel holds there, and whether it keeps
 * their dentries. */
#include <string.h>

#include "fs/cache/cache_private.h"

static void put(struct fs *fs, struct node *node)
{
	nodes_put(fs->nodes, node, 1);
}

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

	put(fs, dir);
	return node;
}

static struct wcs_slice take_segment(struct wcs_slice *key, unsigned char delimiter)
{
	const char *start = key->data, *end = memchr(start, delimiter, key->len);
	size_t len = end ? (size_t)(end - start) : key->len;

	*key = end ? (struct wcs_slice){end + 1, key->len - len - 1} : (struct wcs_slice){0};
	return (struct wcs_slice){start, len};
}

struct node *cache_find_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key,
			    bool *whole)
{
	unsigned char delimiter = wcs_table_delimiter(table);
	struct node *node = cache_find_table(fs, table), *next = node;

	while (next && key.data) {
		next = find_child(fs, node_get(node), NODE_PREFIX, take_segment(&key, delimiter));
		if (next) {
			put(fs, node);
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
		put(fs, node);
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

/* Finds the nodes of a column; false: there are none. */
static bool list_column(struct fs *fs, const struct pos *pos, struct node_list *list,
			uint64_t *column)
{
	struct node *family = cache_find_family(fs, pos->table, pos_key(pos), pos->family);

	if (!family)
		return false;
	*column = node_child_id(family, NODE_CELL, pos->qualifier).column;
	if (nodes_cells(fs->nodes, family, pos->qualifier, list) != 0)
		cache_failed(fs);
	put(fs, family);
	return list->count > 0;
}

static bool any_kept(struct fs *fs, const struct pos *pos, uint8_t hops, uint64_t *column)
{
	struct node_list list = {0};
	bool found = false;

	if (!list_column(fs, pos, &list, column))
		return false;
	for (size_t i = 0; i < list.count; i++)
		found = found || (cache_node_is_kept(list.all[i]) && list.all[i]->hops >= hops);
	node_list_clear(fs->nodes, &list);
	return found;
}

bool cache_is_kept(struct fs *fs, const struct pos *pos, uint64_t *column)
{
	return any_kept(fs, pos, 0, column);
}

bool cache_is_worn(struct fs *fs, const struct pos *pos, uint64_t *column)
{
	return any_kept(fs, pos, NODE_HOPS_MAX, column);
}

void cache_renew(struct fs *fs, const struct pos *pos)
{
	struct node_list list = {0};
	uint64_t column;

	if (!list_column(fs, pos, &list, &column))
		return;
	for (size_t i = 0; i < list.count; i++)
		node_state_set(list.all[i], NODE_S_REMOVED);
	node_list_clear(fs->nodes, &list);
}
