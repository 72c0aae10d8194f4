/* SPDX-License-Identifier: MIT */
/* The inode table: the identity of nodes, references, removal, sessions, moves, and threads. */
#include "fs/fs.h"
#include "fs/write/writer.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20000, NODES = 10000 };

/* A mount of the table "t" without a kernel, and the nodes of row "r" and its family "f". */
struct mount {
	struct fs fs;
	struct node *row, *family;
};

static struct node *child_of(struct mount *mount, struct node *dir, enum node_kind kind,
			     const char *name)
{
	struct node_key key = {.parent = dir, .kind = kind, .name = suite_text(name)};
	struct node *node = nodes_get(mount->fs.nodes, &key, 0, NULL);

	ck_assert_ptr_nonnull(node);
	return node;
}

static void mount_open(struct mount *mount, struct suite *s)
{
	static const struct fuse_lowlevel_ops operations;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct wcs_table *table;

	*mount = (struct mount){.fs = {.store = s->store, .store_path = s->path}};
	mount->fs.store_held = mount->fs.store_path;
	SUITE_OK(wcs_table_open(s->store, "t", &table));
	ck_assert(fs_rooms_new(&mount->fs, table));
	SUITE_OK(fuse_opt_add_arg(&args, "unit"));
	mount->fs.session = fuse_session_new(&args, &operations, sizeof(operations), NULL);
	fuse_opt_free_args(&args);
	mount->row = child_of(mount, nodes_root(mount->fs.nodes), NODE_PREFIX, "r");
	mount->family = child_of(mount, mount->row, NODE_FAMILY, "f");
}

static void mount_close(struct mount *mount)
{
	nodes_put(mount->fs.nodes, mount->family, 1);
	nodes_put(mount->fs.nodes, mount->row, 1);
	fs_rooms_free(&mount->fs);
}

/* A test, as SUITE_LEVELDB_STORE, with a mount. */
#define MOUNT_TEST(name, seconds)                                                                  \
	static void name##_mounted(struct mount *mount);                                           \
	SUITE_LEVELDB_STORE(name, seconds)                                                         \
	{                                                                                          \
		struct mount mount;                                                                \
		mount_open(&mount, s);                                                             \
		name##_mounted(&mount);                                                            \
		mount_close(&mount);                                                               \
	}                                                                                          \
	static void name##_mounted(struct mount *mount)

static struct node *cell_of(struct mount *mount, const char *name, int64_t ts, uint32_t etag)
{
	struct node_key key = {.parent = mount->family,
			       .kind = NODE_CELL,
			       .name = suite_text(name),
			       .ts = ts,
			       .etag = etag};

	return nodes_get(mount->fs.nodes, &key, 0, NULL);
}

/* A node is told from others by each part of its key, and a name's st_ino by the name alone. */
MOUNT_TEST(test_identity, 20)
{
	static const struct {
		const char *name;
		int64_t ts;
		uint32_t etag;
		bool same, same_ino;
	} cases[] = {
		{"q", 5, 7, true, true},   {"q", 6, 7, false, true}, {"q", 5, 8, false, true},
		{"p", 5, 7, false, false}, {"", 5, 7, false, false}, {"q\n", 5, 7, false, false},
	};
	struct node *first, *other;
	size_t before;

	before = nodes_count(mount->fs.nodes);
	first = cell_of(mount, "q", 5, 7);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		other = cell_of(mount, cases[i].name, cases[i].ts, cases[i].etag);
		ck_assert_msg((other == first) == cases[i].same, "case %zu", i);
		ck_assert_msg((other->ino == first->ino) == cases[i].same_ino, "ino %zu", i);
		nodes_put(mount->fs.nodes, other, 1);
	}
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), before + 1);
	nodes_put(mount->fs.nodes, first, 1);
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), before);
}

/* Each node is found by its nodeid as long as it is there, also in a large table; no later node has
 * the nodeid, and another table begins elsewhere. */
MOUNT_TEST(test_nodeids, 60)
{
	static struct node *all[NODES];
	static uint64_t were[NODES];
	struct nodes *nodes = mount->fs.nodes, *other;
	struct node_key key = {.kind = NODE_ROWFS};
	char name[16];

	ck_assert_ptr_eq(nodes_at(nodes, NODE_ROOT_ID), nodes_root(nodes));
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < NODES; i++) {
			snprintf(name, sizeof(name), "q%zu", i);
			all[i] = cell_of(mount, name, 5, 7);
			ck_assert_uint_gt(all[i]->nodeid, NODE_ROOT_ID);
			ck_assert_uint_ne(all[i]->nodeid, were[i]);
			ck_assert_ptr_null(nodes_at(nodes, were[i]));
		}
		for (size_t i = 0; i < NODES; i++) {
			were[i] = all[i]->nodeid;
			ck_assert_ptr_eq(nodes_at(nodes, were[i]), all[i]);
			ck_assert_ptr_null(nodes_at(nodes, (uintptr_t)all[i]));
		}
		for (size_t i = 0; i < NODES; i++)
			nodes_put(nodes, all[i], 1);
	}
	other = nodes_new(NULL, NULL);
	ck_assert_ptr_nonnull(other);
	key.parent = nodes_root(other);
	all[0] = nodes_get(other, &key, 0, NULL);
	ck_assert_uint_ne(all[0]->nodeid >> 32, were[0] >> 32);
	nodes_put(other, all[0], 1);
	nodes_free(other);
}

/* The kernel may hold an inode after its parents were forgotten; the node keeps them. */
MOUNT_TEST(test_parents_stay, 20)
{
	struct node *deep = child_of(mount, mount->row, NODE_PREFIX, "a");

	for (int i = 0; i < 100; i++) {
		struct node *below = child_of(mount, deep, NODE_PREFIX, "b");

		nodes_put(mount->fs.nodes, deep, 1);
		deep = below;
	}
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), 2 + 101);
	ck_assert(node_is_below(deep, mount->row->plain));
	ck_assert(!node_is_below(mount->row, deep->plain));
	nodes_put(mount->fs.nodes, deep, 1);
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), 2);
}

/* A removed node is not found; a lookup makes another one. Lists leave it and sessions out. */
MOUNT_TEST(test_removed_is_not_found, 20)
{
	struct node_key key;
	struct node_list list = {0};
	struct node *old, *new, *session;

	old = cell_of(mount, "q", 5, 7);
	key = (struct node_key){mount->family, NODE_CELL, suite_text("q"), 5, 7, 0};
	nodes_remove(mount->fs.nodes, &key);
	ck_assert_ptr_null(nodes_find(mount->fs.nodes, &key));
	new = cell_of(mount, "q", 5, 7);
	ck_assert_ptr_ne(new, old);
	ck_assert_uint_eq(new->ino, old->ino);
	SUITE_OK(writers_reopen(&mount->fs, gettid(), new, &session));
	ck_assert_ptr_ne(session, new);
	ck_assert_int_eq(nodes_cells(mount->fs.nodes, mount->family, suite_text("q"), &list), 0);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_ptr_eq(list.all[0], new);
	node_list_clear(mount->fs.nodes, &list);
	nodes_put(mount->fs.nodes, session, 1); /* frees the session as well */
	nodes_put(mount->fs.nodes, old, 1);
	nodes_put(mount->fs.nodes, new, 1);
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), 2);
}

/* An inode follows its value through renames, with the kernel's entry, up to NODE_HOPS_MAX. */
MOUNT_TEST(test_moves, 20)
{
	struct node *inode, *last;
	char name[16];
	int moves = 0;

	inode = last = cell_of(mount, "q", 5, 7);
	node_state_set(inode, NODE_S_KEPT);
	ck_assert(!nodes_move(mount->fs.nodes, inode, inode));
	for (;; moves++) {
		struct node *to;

		snprintf(name, sizeof(name), "q%d", moves);
		to = cell_of(mount, name, 5, 7);
		if (!nodes_move(mount->fs.nodes, last, to)) {
			nodes_put(mount->fs.nodes, to, 1);
			break;
		}
		last = to;
	}
	ck_assert_int_eq(moves, NODE_HOPS_MAX);
	ck_assert_ptr_eq(node_now(inode), last);
	ck_assert_uint_eq(node_state(inode), NODE_S_REMOVED);
	ck_assert_uint_eq(node_state(last), NODE_S_KEPT);
	nodes_put(mount->fs.nodes, inode, 1); /* takes all that it led to with it */
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), 2);
}

static void *get_and_put(void *arg)
{
	struct mount *mount = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct node *node = cell_of(mount, "q", i % 3, 7);

		ck_assert_ptr_nonnull(node);
		ck_assert_int_eq(node_ts(node), i % 3);
		nodes_put(mount->fs.nodes, node, 1);
	}
	return NULL;
}

MOUNT_TEST(test_threads, 60)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		SUITE_OK(pthread_create(&threads[i], NULL, get_and_put, mount));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(nodes_count(mount->fs.nodes), 2);
}
