/* SPDX-License-Identifier: MIT */
/*
 * Finds the dentries that a change makes wrong: from positions to nodes that the kernel keeps, and
 * from nodes to the names of their dentries. The cost grows with the nodes that the kernel holds
 * there.
 */
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache_private.h"
#include "fs/names/chunk.h"

/* A qualifier of more bytes may have a name that is split: a byte takes three at most. */
enum { SPLIT_FROM = NAMES_CHUNK_MAX / 3 };

/* One change's search. */
struct expiry {
	struct fs *fs;
	struct notice_batch *batch;
	bool failed;	    /* no memory */
	bool ages;	    /* the table has an age policy */
	const char *family; /* that was made, removed or changed */
};

static void expiry_end(struct expiry *expiry, enum notice_how how)
{
	if (expiry->failed)
		cache_failed();
	notices_send(expiry->fs, expiry->batch, how);
}

/* ---- One entry --------------------------------------------------------------------------- */

/* Adds the dentry of a node under that spelling. If the node of a chunk directory in between is
 * gone, the kernel has no dentry there. */
static void add_spelled(struct expiry *expiry, struct node *node, const char *encoded, size_t len)
{
	struct fs *fs = expiry->fs;
	struct node_key key = {.parent = node->parent, .kind = NODE_CHUNK};
	char component[NAMES_CHUNK_MAX + 3];
	struct node *dir = node_get(node->parent);
	size_t at = 0, count;

	while ((at = names_component(encoded, len, at, component, &count)) < len && dir) {
		key.name = (struct wcs_slice){encoded, at};
		nodes_put(fs->nodes, dir, 1);
		dir = nodes_find(fs->nodes, &key);
	}
	if (node->kind == NODE_CHUNK)
		memcpy(component + count, "%", 2);
	if (dir && notice_add(&expiry->batch, dir, component, node) != 0)
		expiry->failed = true;
	nodes_put(fs->nodes, dir, 1);
}

/* In this order: another change of the same dentry finds it kept or under way, and waits too.
 * Without a dentry the inode of a value may have another name. */
static void add_entry(struct expiry *expiry, struct node *node)
{
	char encoded[SPELL_MAX];

	if (!cache_node_is_kept(node) && node_is_stored(node))
		notice_attributes(expiry->fs, node);
	if (expiry->failed || !cache_node_is_kept(node))
		return;
	add_spelled(expiry, node, encoded, spell_node(node, encoded));
	node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED);
}

void cache_expire_as(struct fs *fs, struct node *node, struct wcs_slice as, enum notice_how how)
{
	struct expiry expiry = {.fs = fs};
	char encoded[SPELL_MAX];

	add_spelled(&expiry, node, encoded, spell_child(NULL, NODE_CELL, as, encoded));
	expiry_end(&expiry, how);
}

/* ---- Which dentries are wrong ------------------------------------------------------------ */

/* Adds a directory if it is gone; a directory made in its place gets another node. */
static bool add_directory(struct expiry *expiry, struct node *node)
{
	struct child *first = NULL;
	struct pos pos;
	int rc;

	if (node->kind == NODE_CHUNK) {
		rc = chunk_first(expiry->fs, node->parent, NULL, node_name(node), &first);
		free(first);
	} else {
		rc = pos_of(node, &pos);
		rc = rc == 0 ? pos_exists(expiry->fs, &pos) : rc;
	}
	if (rc == 0 || expiry->failed)
		return false;
	/* The caller may have counted a change of one column only. */
	cache_changed_tree(expiry->fs);
	add_entry(expiry, node);
	node_state_set(node, NODE_S_REMOVED);
	return true;
}

static void add_node(struct expiry *expiry, struct node *node)
{
	if (node_is_stored(node) && !cache_is_newest(expiry->fs, node))
		add_entry(expiry, node);
	else if (node->kind == NODE_PREFIX || node->kind == NODE_FAMILY || node->kind == NODE_CHUNK)
		add_directory(expiry, node);
	else if (node->kind == NODE_HISTORY)
		cache_check_versions(expiry->fs, node->parent, node_name(node));
}

/* Lists the children of a node, if the kernel may keep some. */
static void list_below(struct expiry *expiry, struct node *node, struct node_list *list)
{
	if (node->kind == NODE_ROOT || node->kind == NODE_TABLE || node->kind == NODE_PREFIX ||
	    node->kind == NODE_FAMILY)
		expiry->failed |= nodes_children(expiry->fs->nodes, node, list) != 0;
}

/* Adds the wrong dentries below a node; deep: in other rows too. */
static void add_below(struct expiry *expiry, struct node *top, bool deep,
		      void (*add)(struct expiry *expiry, struct node *node))
{
	struct node_list list = {0};

	list_below(expiry, top, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (list.all[i]->kind == NODE_PREFIX && !deep)
			continue;
		list_below(expiry, list.all[i], &list);
		add(expiry, list.all[i]);
	}
	node_list_clear(expiry->fs->nodes, &list);
}

static void add_chunks(struct expiry *expiry, struct node *base)
{
	struct node_list list = {0};

	list_below(expiry, base, &list);
	for (size_t i = 0; i < list.count; i++)
		if (list.all[i]->kind == NODE_CHUNK)
			add_directory(expiry, list.all[i]);
	node_list_clear(expiry->fs->nodes, &list);
}

/* Adds a directory and those above it, as far as they are gone. */
static void add_above(struct expiry *expiry, struct node *node)
{
	while (node->kind == NODE_PREFIX || node->kind == NODE_FAMILY) {
		add_chunks(expiry, node);
		if (!add_directory(expiry, node))
			return;
		node = node->parent;
	}
	if (node->kind == NODE_TABLE)
		add_chunks(expiry, node);
}

/* ---- Changes ----------------------------------------------------------------------------- */

/* Directories may go with the column that have no node yet, and are being looked up or listed. */
static void expire_column(struct fs *fs, struct node *family, struct wcs_slice qualifier, bool keep,
			  enum notice_how how)
{
	struct expiry expiry = {.fs = fs};
	struct node_list list = {0};

	if (!family || qualifier.len > SPLIT_FROM)
		cache_changed_tree(fs);
	if (!family)
		return;
	cache_changed_column(fs->caches, node_child_id(family, NODE_CELL, qualifier).column);
	expiry.failed = nodes_cells(fs->nodes, family, qualifier, &list) != 0;
	for (size_t i = 0; i < list.count; i++)
		if (!keep || !cache_is_newest(fs, list.all[i]))
			add_entry(&expiry, list.all[i]);
	node_list_clear(fs->nodes, &list);
	cache_check_versions(fs, family, qualifier);
	if (keep)
		add_above(&expiry, family);
	expiry_end(&expiry, how);
}

void cache_expire_pos(struct fs *fs, const struct pos *pos, bool keep, enum notice_how how)
{
	struct node *family = cache_find_family(fs, pos->table, pos_key(pos), pos->family);

	expire_column(fs, family, pos->qualifier, keep, how);
	nodes_put(fs->nodes, family, 1);
}

void cache_expire_session(struct fs *fs, const struct node *node, const struct wcs_slice *renamed)
{
	struct wcs_slice qualifier = node_name(node->kind == NODE_VERSION ? node->parent : node);
	struct node *family = node->parent;
	struct pos pos;

	if (renamed)
		qualifier = *renamed;
	while (family->kind != NODE_FAMILY)
		family = family->parent;
	if (!(node->flags & NODE_F_VERSIONS) && !cache_is_below_removed(family)) {
		expire_column(fs, family, qualifier, false, NOTICE_WAIT);
	} else if (pos_of(node, &pos) == 0) {
		pos.qualifier = qualifier;
		cache_expire_pos(fs, &pos, false, NOTICE_WAIT);
	}
}

void cache_expire_rows(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key,
		       bool deep)
{
	struct expiry expiry = {.fs = fs};
	struct node *node;
	bool whole;

	cache_changed_tree(fs);
	node = cache_find_key(fs, table, key ? *key : (struct wcs_slice){0}, &whole);
	if (!node)
		return;
	if (whole)
		add_below(&expiry, node, deep, add_node);
	add_above(&expiry, node);
	nodes_put(fs->nodes, node, 1);
	expiry_end(&expiry, NOTICE_WAIT);
}

static bool is_named(const struct node *node, enum node_kind kind, const char *name)
{
	return node->kind == kind && strcmp(node->name, name) == 0 &&
	       node->name_len == strlen(name);
}

static bool any_family(void *ctx, const void *name, size_t len)
{
	(void)ctx;
	(void)name;
	(void)len;
	return true;
}

/* A segment that a family has the name of has another spelling with it than without. */
static void add_of_family(struct expiry *expiry, struct node *node)
{
	static const struct names_families any = {any_family, NULL};
	char encoded[NAMES_ENCODED_MAX(WCS_FAMILY_NAME_MAX) + 1];
	struct wcs_slice name = node_name(node);
	size_t len;

	if (!is_named(node, NODE_PREFIX, expiry->family)) {
		add_node(expiry, node);
	} else if (cache_node_is_kept(node)) {
		len = names_encode(NAMES_SEGMENT, NULL, name.data, name.len, encoded);
		add_spelled(expiry, node, encoded, len);
		len = names_encode(NAMES_SEGMENT, &any, name.data, name.len, encoded);
		add_spelled(expiry, node, encoded, len);
		node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED);
	}
	if (expiry->ages) /* a dentry that is right may have too long a timeout */
		add_entry(expiry, node);
}

void cache_expire_family(struct fs *fs, struct wcs_table *table, const char *family)
{
	struct expiry expiry = {.fs = fs, .ages = wcs_table_ages(table), .family = family};
	struct node *top;

	cache_changed_tree(fs);
	top = cache_find_table(fs, table);
	if (!top)
		return;
	add_below(&expiry, top, true, add_of_family);
	nodes_put(fs->nodes, top, 1);
	expiry_end(&expiry, NOTICE_WAIT);
}

/* The kernel does not keep directories of such a table: a notice would take a right one from the
 * processes that work in it. */
static void add_aging(struct expiry *expiry, struct node *node)
{
	if (node_is_stored(node))
		add_entry(expiry, node);
}

void cache_expire_ages(struct fs *fs)
{
	struct node *root = nodes_root(fs->nodes);
	struct expiry expiry = {.fs = fs};
	struct node_list list = {0};

	cache_changed_tree(fs);
	if (root->kind == NODE_TABLE && wcs_table_ages(root->table))
		add_below(&expiry, root, true, add_aging);
	else if (root->kind == NODE_ROOT)
		list_below(&expiry, root, &list);
	for (size_t i = 0; i < list.count; i++)
		if (list.all[i]->kind == NODE_TABLE && wcs_table_ages(list.all[i]->table))
			add_below(&expiry, list.all[i], true, add_aging);
	node_list_clear(fs->nodes, &list);
	expiry_end(&expiry, NOTICE_WAIT);
}

void cache_expire_table(struct fs *fs, const char *name)
{
	struct expiry expiry = {.fs = fs};
	struct node_list list = {0};

	cache_changed_tree(fs);
	list_below(&expiry, nodes_root(fs->nodes), &list);
	for (size_t i = 0; i < list.count; i++)
		if (is_named(list.all[i], NODE_TABLE, name))
			add_entry(&expiry, list.all[i]);
	node_list_clear(fs->nodes, &list);
	expiry_end(&expiry, NOTICE_WAIT);
}

void cache_expire_directory(struct fs *fs, const struct pos *pos)
{
	struct expiry expiry = {.fs = fs};
	struct node *node;

	cache_changed_tree(fs);
	if (pos->kind != NODE_PREFIX && pos->kind != NODE_FAMILY && pos->kind != NODE_CHUNK)
		return;
	node = cache_find_directory(fs, pos);
	if (!node)
		return;
	node_state_set(node, NODE_S_REMOVED);
	add_entry(&expiry, node);
	add_chunks(&expiry, node->parent);
	nodes_put(fs->nodes, node, 1);
	expiry_end(&expiry, NOTICE_WAIT);
}
