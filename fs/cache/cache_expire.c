/* SPDX-License-Identifier: MIT */
/*
 * Finds the dentries that a change makes wrong: from positions to nodes that the kernel keeps, and
 * from nodes to the names of their dentries. The cost grows with the nodes that the kernel holds
 * there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache_private.h"
#include "fs/cache/notice.h"
#include "fs/names/chunk.h"

/* A qualifier of more bytes may have a name that is split: a byte takes three at most. */
enum { SPLIT_FROM = NAMES_CHUNK_MAX / 3 };

/* One change's search. */
struct expiry {
	struct fs *fs;
	struct notice_batch *batch;
	int error;
};

void cache_failed(struct fs *fs)
{
	(void)fs;
	fs_log(NULL, WCS_LOG_ERROR, "no memory to tell the kernel of a change");
}

static void expiry_start(struct expiry *expiry, struct fs *fs)
{
	*expiry = (struct expiry){.fs = fs, .batch = notice_batch_new()};
	if (!expiry->batch)
		expiry->error = -ENOMEM;
}

static void expiry_end(struct expiry *expiry, enum notice_how how)
{
	if (expiry->error != 0)
		cache_failed(expiry->fs);
	notices_send(expiry->fs, expiry->batch, how);
}

static void put(struct fs *fs, struct node *node)
{
	nodes_put(fs->nodes, node, 1);
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
		put(fs, dir);
		dir = nodes_find(fs->nodes, &key);
	}
	if (node->kind == NODE_CHUNK)
		memcpy(component + count, "%", 2);
	if (dir && notice_add(expiry->batch, dir, component, node) != 0)
		expiry->error = -ENOMEM;
	put(fs, dir);
}

/* In this order: another change of the same dentry finds it kept or under way, and waits too. */
static void add_entry(struct expiry *expiry, struct node *node)
{
	char encoded[SPELL_MAX];

	if (expiry->error != 0 || !cache_node_is_kept(node))
		return;
	add_spelled(expiry, node, encoded, spell_node(node, encoded));
	node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED);
}

static void expire_as(struct fs *fs, struct node *node, struct wcs_slice as, enum notice_how how)
{
	char encoded[SPELL_MAX];
	struct expiry expiry;

	expiry_start(&expiry, fs);
	if (expiry.error == 0)
		add_spelled(&expiry, node, encoded, spell_child(NULL, NODE_CELL, as, encoded));
	expiry_end(&expiry, how);
}

void cache_withdraw_as(struct fs *fs, struct node *node, struct wcs_slice as)
{
	expire_as(fs, node, as, NOTICE_NOW);
}

void cache_expire_as(struct fs *fs, struct node *node, struct wcs_slice as)
{
	expire_as(fs, node, as, NOTICE_SOON);
}

/* ---- Which dentries are wrong ------------------------------------------------------------ */

/* 0, -ENOENT, or another error. */
static int directory_exists(struct fs *fs, struct node *node)
{
	struct child *first;
	struct pos pos;
	int rc;

	if (node->kind == NODE_CHUNK) {
		rc = chunk_first(fs, node->parent, node_name(node), &first);
		if (rc == 0)
			free(first);
		return rc;
	}
	rc = pos_of(node, &pos);
	return rc == 0 ? pos_exists(fs, &pos) : rc;
}

/* Adds a directory if it is gone; a directory made in its place gets another node. */
static bool add_directory(struct expiry *expiry, struct node *node)
{
	int rc = directory_exists(expiry->fs, node);

	if (rc == 0)
		return false;
	cache_changed_tree(
		expiry->fs); /* the caller may have counted a change of one column only */
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
	if (node->kind == NODE_TABLE || node->kind == NODE_PREFIX || node->kind == NODE_FAMILY)
		if (nodes_children(expiry->fs->nodes, node, list) != 0)
			expiry->error = -ENOMEM;
}

/* Adds the wrong dentries below a node; deep: in other rows too. */
static void add_below(struct expiry *expiry, struct node *top, bool deep)
{
	struct node_list list = {0};

	list_below(expiry, top, &list);
	for (size_t i = 0; i < list.count; i++) {
		struct node *node = list.all[i];

		if (node->kind == NODE_PREFIX && !deep)
			continue;
		list_below(expiry, node, &list);
		add_node(expiry, node);
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

static void add_column(struct expiry *expiry, struct node *family, struct wcs_slice qualifier,
		       bool keep)
{
	struct node_list list = {0};

	if (nodes_cells(expiry->fs->nodes, family, qualifier, &list) != 0)
		expiry->error = -ENOMEM;
	for (size_t i = 0; i < list.count; i++)
		if (!keep || !cache_is_newest(expiry->fs, list.all[i]))
			add_entry(expiry, list.all[i]);
	node_list_clear(expiry->fs->nodes, &list);
	cache_check_versions(expiry->fs, family, qualifier);
}

/* ---- Changes ----------------------------------------------------------------------------- */

static void expire_column(struct fs *fs, struct node *family, struct wcs_slice qualifier, bool keep,
			  enum notice_how how)
{
	struct expiry expiry;

	cache_changed_column(fs, node_child_id(family, NODE_CELL, qualifier).column);
	expiry_start(&expiry, fs);
	if (expiry.error == 0)
		add_column(&expiry, family, qualifier, keep);
	if (expiry.error == 0 && keep)
		add_above(&expiry, family);
	expiry_end(&expiry, how);
}

/* Directories may go with the column that have no node yet, and are being looked up or listed. */
static void expire_split(struct fs *fs, struct node *family, struct wcs_slice qualifier, bool keep,
			 enum notice_how how)
{
	if (!family || qualifier.len > SPLIT_FROM)
		cache_changed_tree(fs);
	if (family)
		expire_column(fs, family, qualifier, keep, how);
}

static void expire_pos(struct fs *fs, const struct pos *pos, bool keep, enum notice_how how)
{
	struct node *family = cache_find_family(fs, pos->table, pos_key(pos), pos->family);

	expire_split(fs, family, pos->qualifier, keep, how);
	put(fs, family);
}

void cache_expire_pos(struct fs *fs, const struct pos *pos, bool keep)
{
	expire_pos(fs, pos, keep, NOTICE_WAIT);
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
		expire_split(fs, family, qualifier, false, NOTICE_WAIT);
	} else if (pos_of(node, &pos) == 0) {
		pos.qualifier = qualifier;
		expire_pos(fs, &pos, false, NOTICE_WAIT);
	}
}

void cache_expire_locked(struct fs *fs, const struct pos *pos)
{
	expire_pos(fs, pos, true, NOTICE_NOW);
}

void cache_expire_soon(struct fs *fs, const struct pos *pos)
{
	expire_pos(fs, pos, false, NOTICE_SOON);
}

void cache_expire_column(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			 const char *name, struct wcs_slice qualifier)
{
	struct node *family = cache_find_family(fs, table, row, name);

	if (family)
		expire_column(fs, family, qualifier, true, NOTICE_WAIT);
	else
		cache_expire_row(fs, table, row);
	put(fs, family);
}

static void expire_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key, bool deep)
{
	struct expiry expiry;
	struct node *node;
	bool whole;

	cache_changed_tree(fs);
	node = cache_find_key(fs, table, key, &whole);
	if (!node)
		return;
	expiry_start(&expiry, fs);
	if (expiry.error == 0 && whole)
		add_below(&expiry, node, deep);
	if (expiry.error == 0)
		add_above(&expiry, node);
	put(fs, node);
	expiry_end(&expiry, NOTICE_WAIT);
}

void cache_expire_row(struct fs *fs, struct wcs_table *table, struct wcs_slice row)
{
	expire_key(fs, table, row, false);
}

void cache_expire_subtree(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key)
{
	expire_key(fs, table, key ? *key : (struct wcs_slice){0}, true);
}

static bool any_family(void *ctx, const void *name, size_t len)
{
	(void)ctx;
	(void)name;
	(void)len;
	return true;
}

/* A segment that a family has the name of has another spelling with it than without. */
static void add_spellings(struct expiry *expiry, struct node *node)
{
	static const struct names_families any = {any_family, NULL};
	char encoded[NAMES_ENCODED_MAX(WCS_FAMILY_NAME_MAX) + 1];
	struct wcs_slice name = node_name(node);
	size_t len;

	if (!cache_node_is_kept(node))
		return;
	len = names_encode(NAMES_SEGMENT, NULL, name.data, name.len, encoded);
	add_spelled(expiry, node, encoded, len);
	len = names_encode(NAMES_SEGMENT, &any, name.data, name.len, encoded);
	add_spelled(expiry, node, encoded, len);
	node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED);
}

static bool is_named(const struct node *node, enum node_kind kind, const char *name)
{
	return node->kind == kind && strcmp(node->name, name) == 0 &&
	       node->name_len == strlen(name);
}

void cache_expire_family(struct fs *fs, struct wcs_table *table, const char *family)
{
	bool ages = wcs_table_ages(table);
	struct node_list list = {0};
	struct expiry expiry;
	struct node *top;

	cache_changed_tree(fs);
	top = cache_find_table(fs, table);
	if (!top)
		return;
	expiry_start(&expiry, fs);
	if (expiry.error == 0)
		list_below(&expiry, top, &list);
	for (size_t i = 0; i < list.count; i++) {
		struct node *node = list.all[i];

		list_below(&expiry, node, &list);
		if (is_named(node, NODE_PREFIX, family))
			add_spellings(&expiry, node);
		else
			add_node(&expiry, node);
		if (ages) /* a dentry that is right may have too long a timeout */
			add_entry(&expiry, node);
	}
	node_list_clear(fs->nodes, &list);
	put(fs, top);
	expiry_end(&expiry, NOTICE_WAIT);
}

/* Columns alone: directories are not kept in such a table. */
static void add_aging(struct expiry *expiry, struct node *table)
{
	struct node_list list = {0};

	if (!wcs_table_ages(table->table))
		return;
	list_below(expiry, table, &list);
	for (size_t i = 0; i < list.count; i++) {
		struct node *node = list.all[i];

		list_below(expiry, node, &list);
		if (node_is_stored(node))
			add_entry(expiry, node);
	}
	node_list_clear(expiry->fs->nodes, &list);
}

void cache_expire_ages(struct fs *fs)
{
	struct node *root = nodes_root(fs->nodes);
	struct node_list list = {0};
	struct expiry expiry;

	cache_changed_tree(fs);
	expiry_start(&expiry, fs);
	if (expiry.error == 0 && root->kind == NODE_TABLE)
		add_aging(&expiry, root);
	else if (expiry.error == 0 && nodes_children(fs->nodes, root, &list) != 0)
		expiry.error = -ENOMEM;
	for (size_t i = 0; i < list.count; i++)
		if (list.all[i]->kind == NODE_TABLE)
			add_aging(&expiry, list.all[i]);
	node_list_clear(fs->nodes, &list);
	expiry_end(&expiry, NOTICE_WAIT);
}

void cache_expire_table(struct fs *fs, const char *name)
{
	struct node_list list = {0};
	struct expiry expiry;

	cache_changed_tree(fs);
	expiry_start(&expiry, fs);
	if (expiry.error == 0 && nodes_children(fs->nodes, nodes_root(fs->nodes), &list) != 0)
		expiry.error = -ENOMEM;
	for (size_t i = 0; i < list.count; i++)
		if (is_named(list.all[i], NODE_TABLE, name))
			add_entry(&expiry, list.all[i]);
	node_list_clear(fs->nodes, &list);
	expiry_end(&expiry, NOTICE_WAIT);
}

void cache_expire_directory(struct fs *fs, const struct pos *pos)
{
	struct expiry expiry;
	struct node *node;

	cache_changed_tree(fs);
	if (pos->kind != NODE_PREFIX && pos->kind != NODE_FAMILY && pos->kind != NODE_CHUNK)
		return;
	node = cache_find_directory(fs, pos);
	if (!node)
		return;
	node_state_set(node, NODE_S_REMOVED);
	expiry_start(&expiry, fs);
	if (expiry.error == 0)
		add_entry(&expiry, node);
	if (expiry.error == 0)
		add_chunks(&expiry, node->parent);
	put(fs, node);
	expiry_end(&expiry, NOTICE_WAIT);
}
