/* SPDX-License-Identifier: MIT */
/* The identity of a node, and its inode number. */
#include "fs/inode/node.h"
#include "lib/bytes.h"
#include "lib/hash.h"

/* FNV-1a with a final mix, which spreads it over all bits; st_ino is made of it and must never
 * change. */
static uint64_t mixed_hash(uint64_t seed, const void *data, size_t len)
{
	seed = hash_bytes(seed, data, len);
	seed ^= seed >> 33;
	seed *= 0xff51afd7ed558ccdu;
	return seed ^ (seed >> 29);
}

static uint64_t child_ino(uint64_t parent, enum node_kind kind, struct wcs_slice name)
{
	uint64_t ino = mixed_hash(parent + (uint64_t)kind + 1, name.data, name.len);

	return ino > 1 ? ino : ino + 2; /* 0 is no inode, 1 the root */
}

uint64_t node_child_ino(const struct node *parent, enum node_kind kind, struct wcs_slice name,
			uint32_t etag)
{
	uint64_t ino = child_ino(parent->ino, kind, name);
	unsigned char bytes[sizeof(etag)];

	if (kind != NODE_VERSION || etag == 0)
		return ino;
	put_be32(bytes, etag);
	return child_ino(ino, NODE_VERSION, (struct wcs_slice){bytes, sizeof(bytes)});
}

uint64_t node_unlinked_ino(const struct node *node)
{
	const int64_t which[] = {node_ts(node), node_etag(node)};

	return child_ino(node->ino, NODE_VERSION, (struct wcs_slice){which, sizeof(which)});
}

struct file_id node_child_id(const struct node *dir, enum node_kind kind, struct wcs_slice name)
{
	struct file_id id = {dir->plain, child_ino(dir->plain, kind, name)};

	if (kind == NODE_CELL)
		id.column = child_ino(dir->plain, NODE_HISTORY, name);
	return id;
}

struct file_id node_id(const struct node *node)
{
	return node_child_id(node->parent, node->kind, node_name(node));
}

struct file_id node_version_id(uint64_t column, struct wcs_slice name)
{
	return (struct file_id){column, child_ino(column, NODE_VERSION, name)};
}

uint64_t node_key_hash(const struct node_key *key)
{
	uint64_t hash = child_ino(key->parent->ino, key->kind, key->name);

	if (key->kind != NODE_CONTROL && (key->kind != NODE_CELL || key->ts < 0))
		hash ^= (uint64_t)key->ts * 0x9e3779b97f4a7c15u + key->etag;
	return mixed_hash(hash, &key->parent, sizeof(key->parent));
}

void node_looked(struct node *node, pid_t thread, uint64_t request)
{
	uint64_t own = NODE_LOOKED | (uint32_t)thread;

	atomic_compare_exchange_strong(&node->looked, &own, request);
}

bool node_get_alive(struct node *node)
{
	uint64_t refs = node->refs;

	while (refs > 0)
		if (atomic_compare_exchange_weak(&node->refs, &refs, refs + 1))
			return true;
	return false;
}
