/* SPDX-License-Identifier: MIT */
/*
 * The inode table, in shards that each have a lock and a hash of their own.
 *
 * Invariants: a hashed node has refs > 0, but for the moment in which nodes_put holds its shard's
 * lock; so who finds a node under that lock may take a reference. A node is among its parent's
 * children until just before it is freed, and may have no reference left then. Stored cells are
 * hashed by their name alone, so that all of one column are in one chain.
 *
 * Locks: a lock of parents is taken below a shard's.
 */
#include <pthread.h>
#include <stdlib.h>

#include "fs/inode/node_private.h"

enum { SHARDS = 64, BUCKETS_FIRST = 64 };

struct shard {
	pthread_mutex_t lock;
	struct node **buckets; /* Lock: lock, as all below */
	size_t bucket_count;   /* a power of two */
	size_t node_count;
};

struct nodes {
	struct node *root;
	int64_t writer_count; /* of writers' nodes so far. Atomic */
	struct shard shards[SHARDS];
	pthread_mutex_t parents[SHARDS]; /* of the lists of children */
};

static pthread_mutex_t *parent_lock(struct nodes *nodes, const struct node *parent)
{
	return &nodes->parents[((uintptr_t)parent >> 6) % SHARDS];
}

static void node_link(struct nodes *nodes, struct node *node)
{
	pthread_mutex_t *lock = parent_lock(nodes, node->parent);
	struct node **first = &node->parent->child;

	pthread_mutex_lock(lock);
	node->sibling = *first;
	if (*first)
		(*first)->link = &node->sibling;
	node->link = first;
	*first = node;
	pthread_mutex_unlock(lock);
}

static void node_unlink(struct nodes *nodes, struct node *node)
{
	pthread_mutex_t *lock = parent_lock(nodes, node->parent);

	pthread_mutex_lock(lock);
	*node->link = node->sibling;
	if (node->sibling)
		node->sibling->link = node->link;
	pthread_mutex_unlock(lock);
}

struct nodes *nodes_new(struct wcs_table *root_table)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));
	struct node_key key = {.kind = root_table ? NODE_TABLE : NODE_ROOT};

	if (!nodes)
		return NULL;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &nodes->shards[i];

		pthread_mutex_init(&nodes->parents[i], NULL);
		pthread_mutex_init(&shard->lock, NULL);
		shard->bucket_count = BUCKETS_FIRST;
		shard->buckets = calloc(BUCKETS_FIRST, sizeof(*shard->buckets));
		if (!shard->buckets)
			goto fail;
	}
	nodes->root = node_new(&key, 0);
	if (!nodes->root)
		goto fail;
	nodes->root->ino = nodes->root->plain = 1;
	nodes->root->table = root_table;
	return nodes;
fail:
	nodes_free(nodes);
	return NULL;
}

void nodes_free(struct nodes *nodes)
{
	if (!nodes)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &nodes->shards[i];

		for (size_t b = 0; shard->buckets && b < shard->bucket_count; b++) {
			for (struct node *node = shard->buckets[b], *next; node; node = next) {
				next = node->next;
				node_free(node);
			}
		}
		free(shard->buckets);
		pthread_mutex_destroy(&shard->lock);
		pthread_mutex_destroy(&nodes->parents[i]);
	}
	if (nodes->root)
		node_free(nodes->root);
	free(nodes);
}

struct node *nodes_root(struct nodes *nodes)
{
	return nodes->root;
}

size_t nodes_count(struct nodes *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&nodes->shards[i].lock);
		count += nodes->shards[i].node_count;
		pthread_mutex_unlock(&nodes->shards[i].lock);
	}
	return count;
}

static struct shard *shard_of(struct nodes *nodes, uint64_t hash)
{
	return &nodes->shards[hash % SHARDS];
}

static struct node **bucket_of(struct shard *shard, uint64_t hash)
{
	return &shard->buckets[(hash / SHARDS) & (shard->bucket_count - 1)];
}

/* Doubles the buckets when there are as many nodes; without memory the chains just grow. */
static void shard_grow(struct shard *shard)
{
	size_t old_count = shard->bucket_count;
	struct node **old = shard->buckets;
	struct node **grown;

	if (shard->node_count < old_count)
		return;
	grown = calloc(old_count * 2, sizeof(struct node *));
	if (!grown)
		return;
	shard->buckets = grown;
	shard->bucket_count = old_count * 2;
	for (size_t b = 0; b < old_count; b++) {
		for (struct node *node = old[b], *next; node; node = next) {
			struct node_key key = node_key_of(node);
			struct node **bucket = bucket_of(shard, node_key_hash(&key));

			next = node->next;
			node->next = *bucket;
			*bucket = node;
		}
	}
	free(old);
}

/* A removed node stays in its chain, so that it is freed with the rest. */
static struct node *shard_find(struct shard *shard, uint64_t hash, const struct node_key *key)
{
	struct node *node;

	for (node = *bucket_of(shard, hash); node; node = node->next) {
		struct node_key other = node_key_of(node);

		if (!(node_state(node) & NODE_S_REMOVED) && node_key_equal(&other, key))
			return node;
	}
	return NULL;
}

static struct node *shard_add(struct nodes *nodes, struct shard *shard, uint64_t hash,
			      const struct node_key *key, uint8_t flags)
{
	struct node *node = node_new(key, flags);

	if (!node)
		return NULL;
	shard_grow(shard);
	node->next = *bucket_of(shard, hash);
	*bucket_of(shard, hash) = node;
	shard->node_count++;
	node_link(nodes, node);
	return node;
}

struct node *nodes_get(struct nodes *nodes, const struct node_key *key, uint8_t flags,
		       struct wcs_table *table)
{
	uint64_t hash = node_key_hash(key);
	struct shard *shard = shard_of(nodes, hash);
	struct node *node;

	pthread_mutex_lock(&shard->lock);
	node = shard_find(shard, hash, key);
	if (node) {
		node_get(node);
		node_state_clear(node, NODE_S_UNLINKED);
		wcs_table_close(table);
	} else {
		node = shard_add(nodes, shard, hash, key, flags);
		if (node)
			node->table = table;
	}
	pthread_mutex_unlock(&shard->lock);
	return node;
}

struct node *nodes_get_writer(struct nodes *nodes, const struct node_key *key,
			      struct writer *writer)
{
	struct node_key own = *key;
	struct shard *shard;
	struct node *node;
	uint64_t hash;

	/* No stored value has a negative timestamp, so no other key leads here. */
	own.ts = -__atomic_add_fetch(&nodes->writer_count, 1, __ATOMIC_RELAXED);
	hash = node_key_hash(&own);
	shard = shard_of(nodes, hash);
	pthread_mutex_lock(&shard->lock);
	node = shard_add(nodes, shard, hash, &own,
			 (uint8_t)(NODE_F_WRITER | (key->parent->flags & NODE_F_VERSIONS)));
	if (node)
		node->writer = writer;
	pthread_mutex_unlock(&shard->lock);
	return node;
}

struct node *nodes_find(struct nodes *nodes, const struct node_key *key)
{
	uint64_t hash = node_key_hash(key);
	struct shard *shard = shard_of(nodes, hash);
	struct node *node;

	pthread_mutex_lock(&shard->lock);
	node = shard_find(shard, hash, key);
	if (node)
		node_get(node);
	pthread_mutex_unlock(&shard->lock);
	return node;
}

void nodes_remove(struct nodes *nodes, const struct node_key *key)
{
	struct node *node = nodes_find(nodes, key);

	if (!node)
		return;
	node_state_set(node, NODE_S_REMOVED);
	nodes_put(nodes, node, 1);
}

int nodes_cells(struct nodes *nodes, struct node *family, struct wcs_slice qualifier,
		struct node_list *list)
{
	struct node_key key = {.parent = family, .kind = NODE_CELL, .name = qualifier};
	uint64_t hash = node_key_hash(&key);
	struct shard *shard = shard_of(nodes, hash);
	int rc = 0;

	pthread_mutex_lock(&shard->lock);
	for (struct node *node = *bucket_of(shard, hash); node && rc == 0; node = node->next) {
		struct node_key other = node_key_of(node);

		key.ts = other.ts;
		key.etag = other.etag;
		if (!node_is_stored(node) || !node_key_equal(&other, &key) ||
		    (node_state(node) & NODE_S_REMOVED))
			continue;
		rc = node_list_add(list, node);
		if (rc == 0)
			node_get(node);
	}
	pthread_mutex_unlock(&shard->lock);
	return rc;
}

int nodes_children(struct nodes *nodes, struct node *parent, struct node_list *list)
{
	pthread_mutex_t *lock = parent_lock(nodes, parent);
	size_t before = list->count;
	int rc = 0;

	pthread_mutex_lock(lock);
	for (struct node *node = parent->child; node && rc == 0; node = node->sibling)
		if (!(node->flags & NODE_F_WRITER))
			rc = node_list_add(list, node);
	for (size_t i = before, end = list->count; i < end; i++)
		if (node_get_alive(list->all[i]))
			list->all[before++] = list->all[i];
	list->count = before;
	pthread_mutex_unlock(lock);
	return rc;
}

void nodes_stamp(struct nodes *nodes, struct node *node, const struct wcs_cell_info *info)
{
	struct node_key key = node_key_of(node);
	struct shard *shard = shard_of(nodes, node_key_hash(&key));

	pthread_mutex_lock(&shard->lock);
	__atomic_store_n(&node->ts, info->ts, __ATOMIC_RELAXED);
	__atomic_store_n(&node->etag, info->etag, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&shard->lock);
}

bool nodes_move(struct nodes *nodes, struct node *node, struct node *to)
{
	struct node_key key = node_key_of(node);
	struct shard *shard = shard_of(nodes, node_key_hash(&key));
	bool moves = node != to && node->hops < NODE_HOPS_MAX;

	pthread_mutex_lock(&shard->lock);
	moves = moves && !node->moved;
	if (moves) {
		if (to->hops <= node->hops)
			to->hops = (uint8_t)(node->hops + 1);
		node_state_set(node, NODE_S_REMOVED);
		if (node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED) & NODE_S_KEPT)
			node_state_set(to, NODE_S_KEPT);
		__atomic_store_n(&node->moved, to, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&shard->lock);
	return moves;
}

static void shard_remove(struct shard *shard, uint64_t hash, struct node *node)
{
	struct node **link = bucket_of(shard, hash);

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	shard->node_count--;
}

/* Takes count references away; true if they were the last and nobody can find the node. */
static bool node_release(struct nodes *nodes, struct node *node, uint64_t count)
{
	struct node_key key;
	uint64_t hash;
	struct shard *shard;
	uint64_t refs = __atomic_load_n(&node->refs, __ATOMIC_RELAXED);
	bool last;

	while (refs > count) {
		if (__atomic_compare_exchange_n(&node->refs, &refs, refs - count, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return false;
	}
	key = node_key_of(node);
	hash = node_key_hash(&key);
	shard = shard_of(nodes, hash);
	pthread_mutex_lock(&shard->lock);
	last = __atomic_sub_fetch(&node->refs, count, __ATOMIC_ACQ_REL) == 0;
	if (last)
		shard_remove(shard, hash, node);
	pthread_mutex_unlock(&shard->lock);
	return last;
}

void nodes_put(struct nodes *nodes, struct node *node, uint64_t count)
{
	while (node && node != nodes->root && node_release(nodes, node, count)) {
		struct node *parent = node->parent;
		struct node *moved = node_is_stored(node) ? node->moved : NULL;

		if (moved) /* what leads there now is not known; this did */
			__atomic_store_n(&moved->hops, 0, __ATOMIC_RELAXED);
		node_unlink(nodes, node);
		node_free(node);
		nodes_put(nodes, moved, 1); /* not deeper than NODE_HOPS_MAX */
		node = parent;
		count = 1;
	}
}
