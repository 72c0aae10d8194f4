/* SPDX-License-Identifier: MIT */
/*
 * The inode table, in shards that each have a lock and a hash table.
 *
 * One table serves keys and nodeids, since a nodeid ends in the bits of its key's hash that choose
 * the shard and the chain:
 *
 *   nodeid      the lower 40 bits of a counter, then 24 bits of the hash
 *   generation  the upper 24 bits of the counter
 *
 * The counter begins at random in each mount and goes up with each node.
 *
 * Invariants: a node in a hash chain has refs > 0, except while nodes_put holds the shard's lock;
 * under that lock a caller may take a reference to each node that it finds. A node stays among its
 * parent's children until just before it is freed, and may have no reference left by then. Stored
 * cells are hashed by their name alone, so all of one column are in one chain. So are control
 * files.
 *
 * Locks: a lock of parents is taken below a shard's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "fs/inode/node.h"
#include "lib/grow.h"

enum { SHARDS = 64, BUCKETS_FIRST = 64, HASH_BITS = 24, BUCKETS_MAX = (1 << HASH_BITS) / SHARDS };

#define HASH_MASK (((uint64_t)1 << HASH_BITS) - 1)

struct shard {
	pthread_mutex_t lock;
	struct node **buckets; /* Lock: lock, as all below */
	size_t bucket_count;   /* a power of two */
	size_t node_count;
};

struct nodes {
	struct node *root;
	void (*free_writer)(struct writer *writer);
	_Atomic int64_t writer_count; /* of sessions' nodes so far */
	_Atomic uint64_t counter;     /* of the next nodeid */
	struct shard shards[SHARDS];
	pthread_mutex_t parents[SHARDS]; /* of the lists of children */
};

/* The key that finds the node now; its name is borrowed from the node. */
static struct node_key node_key_of(const struct node *node)
{
	return (struct node_key){.parent = node->parent,
				 .kind = node->kind,
				 .name = node_name(node),
				 .ts = node_ts(node),
				 .etag = node_etag(node)};
}

static bool node_key_equal(const struct node_key *a, const struct node_key *b)
{
	return a->parent == b->parent && a->kind == b->kind && a->ts == b->ts &&
	       a->etag == b->etag && a->name.len == b->name.len &&
	       (a->name.len == 0 || memcmp(a->name.data, b->name.data, a->name.len) == 0);
}

/* A node with one reference, which holds one to its parent. NULL: no memory. */
static struct node *node_new(const struct node_key *key, uint8_t flags)
{
	size_t len = offsetof(struct node, name) + key->name.len + 1;
	struct node *node = calloc(1, len > sizeof(*node) ? len : sizeof(*node));

	if (!node)
		return NULL;
	node->refs = 1;
	node->kind = (uint8_t)key->kind;
	node->flags = flags;
	node->name_len = (uint16_t)key->name.len;
	if (key->name.len > 0)
		memcpy(node->name, key->name.data, key->name.len);
	node->ts = key->ts;
	node->etag = key->etag;
	node->size = key->size;
	if (key->parent) {
		node->parent = node_get(key->parent);
		node->ino = node_child_ino(key->parent, key->kind, key->name, key->etag);
		node->plain = node_child_id(key->parent, key->kind, key->name).file;
		if ((flags & ~key->parent->flags) & NODE_F_VERSIONS) /* /.versions itself */
			node->plain = key->parent->plain;
	}
	return node;
}

static pthread_mutex_t *parent_lock(struct nodes *nodes, const struct node *parent)
{
	return &nodes->parents[((uintptr_t)parent >> 6) % SHARDS];
}

/* Frees what a node of that kind owns; NULL is nothing. */
static void owned_free(enum node_kind kind, void *owned)
{
	if (kind == NODE_TABLE)
		wcs_table_close(owned);
	if (kind == NODE_VIEWED)
		view_free(owned);
}

/* Frees a node with all that it owns but the reference to its parent. */
static void node_free(const struct nodes *nodes, struct node *node)
{
	owned_free(node->kind, node->owned);
	if (node->flags & NODE_F_WRITER)
		nodes->free_writer(node->writer);
	free(node);
}

struct nodes *nodes_new(struct wcs_table *root_table, void (*free_writer)(struct writer *writer))
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));
	struct node_key key = {.kind = root_table ? NODE_TABLE : NODE_ROOT};
	uint64_t seed;

	if (!nodes)
		return NULL;
	nodes->free_writer = free_writer;
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		goto fail;
	nodes->counter = seed;
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
	nodes->root->nodeid = NODE_ROOT_ID;
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
				node_free(nodes, node);
			}
		}
		free(shard->buckets);
		pthread_mutex_destroy(&shard->lock);
		pthread_mutex_destroy(&nodes->parents[i]);
	}
	if (nodes->root)
		node_free(nodes, nodes->root);
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

/* The shard of a hash, or of the nodeid that ends in it. */
static struct shard *shard_of(struct nodes *nodes, uint64_t hash)
{
	return &nodes->shards[hash % SHARDS];
}

/* Locks the shard of a key; *hash: the key's, of HASH_BITS. */
static struct shard *shard_lock(struct nodes *nodes, const struct node_key *key, uint64_t *hash)
{
	struct shard *shard;

	*hash = node_key_hash(key) & HASH_MASK;
	shard = shard_of(nodes, *hash);
	pthread_mutex_lock(&shard->lock);
	return shard;
}

/* The chain of a hash, or of the nodeid that ends in it. Lock: the shard's. */
static struct node **bucket_of(struct shard *shard, uint64_t hash)
{
	return &shard->buckets[(hash / SHARDS) & (shard->bucket_count - 1)];
}

/* Doubles the buckets if there are as many nodes. Without memory the chains grow instead. */
static void shard_grow(struct shard *shard)
{
	size_t old_count = shard->bucket_count;
	struct node **old = shard->buckets;
	struct node **grown;

	if (shard->node_count < old_count || old_count >= BUCKETS_MAX)
		return;
	grown = calloc(old_count * 2, sizeof(struct node *));
	if (!grown)
		return;
	shard->buckets = grown;
	shard->bucket_count = old_count * 2;
	for (size_t b = 0; b < old_count; b++) {
		for (struct node *node = old[b], *next; node; node = next) {
			struct node **bucket = bucket_of(shard, node->nodeid);

			next = node->next;
			node->next = *bucket;
			*bucket = node;
		}
	}
	free(old);
}

/* The node with one more reference. Skips removed nodes, which stay in the chain until they are
 * freed. */
static struct node *shard_find(struct shard *shard, uint64_t hash, const struct node_key *key)
{
	struct node *node;

	for (node = *bucket_of(shard, hash); node; node = node->next) {
		struct node_key other = node_key_of(node);

		if (!(node_state(node) & NODE_S_REMOVED) && node_key_equal(&other, key))
			return node_get(node);
	}
	return NULL;
}

/* Gives a node the next nodeid, which is never 0 or NODE_ROOT_ID. */
static void node_number(struct nodes *nodes, struct node *node, uint64_t hash)
{
	uint64_t count;

	do
		count = atomic_fetch_add_explicit(&nodes->counter, 1, memory_order_relaxed);
	while (count << HASH_BITS == 0);
	node->nodeid = count << HASH_BITS | hash;
	node->generation = (uint32_t)(count >> (64 - HASH_BITS));
}

static struct node *shard_add(struct nodes *nodes, struct shard *shard, uint64_t hash,
			      const struct node_key *key, uint8_t flags)
{
	pthread_mutex_t *lock = parent_lock(nodes, key->parent);
	struct node **first = &key->parent->child;
	struct node *node = node_new(key, flags);

	if (!node)
		return NULL;
	node_number(nodes, node, hash);
	shard_grow(shard);
	node->next = *bucket_of(shard, hash);
	*bucket_of(shard, hash) = node;
	shard->node_count++;
	pthread_mutex_lock(lock);
	node->sibling = *first;
	if (*first)
		(*first)->link = &node->sibling;
	node->link = first;
	*first = node;
	pthread_mutex_unlock(lock);
	return node;
}

/* The key with the present layout, where it has one. */
static struct node_key with_layout(const struct node_key *key)
{
	struct node_key own = *key;

	if (key->parent && node_has_layout(key->kind, key->parent))
		own.etag = wcs_table_layout(key->parent->table);
	return own;
}

struct node *nodes_get(struct nodes *nodes, const struct node_key *key, uint8_t flags, void *owned)
{
	const struct node_key own = with_layout(key);
	uint64_t hash;
	struct shard *shard = shard_lock(nodes, &own, &hash);
	struct node *node = shard_find(shard, hash, &own);

	if (node) {
		node_state_clear(node, NODE_S_UNLINKED);
	} else {
		node = shard_add(nodes, shard, hash, &own, flags);
		if (node) {
			node->owned = owned;
			owned = NULL;
		}
	}
	pthread_mutex_unlock(&shard->lock);
	owned_free(key->kind, owned);
	return node;
}

/* Notes a lookup. False: replies to other ones may be under way. A number is given to a request
 * when the kernel sends it, so one behind that of an OPEN is of a lookup that began after that
 * OPEN. */
static bool text_look(struct node *node, pid_t thread, uint64_t request)
{
	uint64_t own = NODE_LOOKED | (uint32_t)thread, was = node->looked;
	bool alone = thread != 0 && (was == own || was < request);

	node->looked = alone ? own : UINT64_MAX;
	return alone;
}

/* The node of a control file that may take another text. */
static struct node *shard_find_text(struct shard *shard, uint64_t hash, const struct node_key *key,
				    pid_t thread, uint64_t request)
{
	struct node_key other;

	for (struct node *node = *bucket_of(shard, hash); node; node = node->next) {
		other = node_key_of(node);
		other.etag = key->etag;
		if (node->kind == NODE_CONTROL && node_etag(node) != 0 && node->opens == 0 &&
		    !(node_state(node) & NODE_S_REMOVED) && node_key_equal(&other, key) &&
		    text_look(node, thread, request))
			return node_get(node);
	}
	return NULL;
}

struct node *nodes_get_text(struct nodes *nodes, const struct node_key *key, uint8_t flags,
			    pid_t thread, uint64_t request)
{
	uint64_t hash;
	struct shard *shard = shard_lock(nodes, key, &hash);
	struct node *node = shard_find(shard, hash, key);

	if (node)
		text_look(node, thread, request);
	else
		node = shard_find_text(shard, hash, key, thread, request);
	if (!node) {
		node = shard_add(nodes, shard, hash, key, flags);
		if (node)
			text_look(node, thread, request);
	}
	if (node) {
		node->etag = key->etag;
		node->size = key->size;
		if (node->opens == 0)
			node_state_clear(node, NODE_S_PASSED);
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

	/* No stored value has a negative timestamp, so no other key is equal. */
	own.ts = -atomic_fetch_add(&nodes->writer_count, 1) - 1;
	shard = shard_lock(nodes, &own, &hash);
	node = shard_add(nodes, shard, hash, &own,
			 (uint8_t)(NODE_F_WRITER | (key->parent->flags & NODE_F_VERSIONS)));
	if (node)
		node->writer = writer;
	pthread_mutex_unlock(&shard->lock);
	return node;
}

struct node *nodes_at(struct nodes *nodes, uint64_t nodeid)
{
	struct shard *shard = shard_of(nodes, nodeid);
	struct node *node;

	if (nodeid == NODE_ROOT_ID)
		return nodes->root;
	pthread_mutex_lock(&shard->lock);
	for (node = *bucket_of(shard, nodeid); node && node->nodeid != nodeid;)
		node = node->next;
	pthread_mutex_unlock(&shard->lock);
	return node;
}

struct node *nodes_find(struct nodes *nodes, const struct node_key *key)
{
	const struct node_key own = with_layout(key);
	uint64_t hash;
	struct shard *shard = shard_lock(nodes, &own, &hash);
	struct node *node = shard_find(shard, hash, &own);

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

/* Adds a node, whose reference is the caller's or is taken later. 0 or -ENOMEM. */
static int node_list_add(struct node_list *list, struct node *node)
{
	if (grow(&list->all, &list->room, list->count + 1, 8, sizeof(struct node *)) != 0)
		return -ENOMEM;
	list->all[list->count++] = node;
	return 0;
}

void node_list_clear(struct nodes *nodes, struct node_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		nodes_put(nodes, list->all[i], 1);
	free(list->all);
	*list = (struct node_list){0};
}

int nodes_cells(struct nodes *nodes, struct node *family, struct wcs_slice qualifier,
		struct node_list *list)
{
	struct node_key key = {.parent = family, .kind = NODE_CELL, .name = qualifier};
	uint64_t hash;
	struct shard *shard = shard_lock(nodes, &key, &hash);
	int rc = 0;

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
	struct shard *shard = shard_of(nodes, node->nodeid);

	pthread_mutex_lock(&shard->lock);
	node->ts = info->ts;
	node->etag = info->etag;
	pthread_mutex_unlock(&shard->lock);
}

bool nodes_move(struct nodes *nodes, struct node *node, struct node *to)
{
	struct shard *shard = shard_of(nodes, node->nodeid);
	bool moves;

	pthread_mutex_lock(&shard->lock);
	moves = node != to && node->hops < NODE_HOPS_MAX && !node->moved;
	if (moves) {
		if (to->hops <= node->hops)
			to->hops = (uint8_t)(node->hops + 1);
		node_state_set(node, NODE_S_REMOVED);
		if (node_state_clear(node, NODE_S_KEPT | NODE_S_LISTED) & NODE_S_KEPT)
			node_state_set(to, NODE_S_KEPT);
		node->moved = to;
	}
	pthread_mutex_unlock(&shard->lock);
	return moves;
}

/* Takes count references away. True: they were the last, and no thread can find the node. */
static bool node_release(struct nodes *nodes, struct node *node, uint64_t count)
{
	struct shard *shard = shard_of(nodes, node->nodeid);
	uint64_t refs = node->refs;
	struct node **link;
	bool last;

	while (refs > count)
		if (atomic_compare_exchange_weak(&node->refs, &refs, refs - count))
			return false;
	pthread_mutex_lock(&shard->lock);
	last = atomic_fetch_sub(&node->refs, count) == count;
	if (last) {
		for (link = bucket_of(shard, node->nodeid); *link != node;)
			link = &(*link)->next;
		*link = node->next;
		shard->node_count--;
	}
	pthread_mutex_unlock(&shard->lock);
	return last;
}

void nodes_put(struct nodes *nodes, struct node *node, uint64_t count)
{
	while (node && node != nodes->root && node_release(nodes, node, count)) {
		struct node *parent = node->parent, *moved = node_moved(node);
		pthread_mutex_t *lock = parent_lock(nodes, parent);

		if (moved) /* how many others lead there is not known */
			moved->hops = 0;
		pthread_mutex_lock(lock);
		*node->link = node->sibling;
		if (node->sibling)
			node->sibling->link = node->link;
		pthread_mutex_unlock(lock);
		node_free(nodes, node);
		nodes_put(nodes, moved, 1); /* recurses NODE_HOPS_MAX times at most */
		node = parent;
		count = 1;
	}
}
