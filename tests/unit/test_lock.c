/* SPDX-License-Identifier: MIT */
/* File locks, as requests of a libfuse session: two owners, all nodes of a column, waiting,
 * interrupts and deadlocks, closes and renames. */
#include "tests/unit/mount.h"

#include <fcntl.h>

enum { OPEN = 3 };

struct files {
	struct mount mount;
	struct node *nodes[OPEN];     /* q, a version of q, p */
	struct handle *handles[OPEN]; /* one open file of each */
};

/* A test whose argument is such files. */
#define FILES_TEST(name, seconds)                                                                  \
	static void name##_files(struct files *files);                                             \
	SUITE_LEVELDB_STORE(name, seconds)                                                         \
	{                                                                                          \
		struct files files;                                                                \
		begin(&files, s);                                                                  \
		name##_files(&files);                                                              \
		end(&files);                                                                       \
	}                                                                                          \
	static void name##_files(struct files *files)

static void begin(struct files *files, struct suite *s)
{
	struct node *history;

	mount_open(&files->mount, s);
	history = mount_child(&files->mount, files->mount.family, NODE_HISTORY, "q");
	files->nodes[0] = mount_child(&files->mount, files->mount.family, NODE_CELL, "q");
	files->nodes[1] = mount_child(&files->mount, history, NODE_VERSION, "1");
	files->nodes[2] = mount_child(&files->mount, files->mount.family, NODE_CELL, "p");
	nodes_put(files->mount.fs.nodes, history, 1);
	for (size_t i = 0; i < OPEN; i++)
		files->handles[i] = handle_new(&files->mount.fs);
}

static void end(struct files *files)
{
	locks_end(files->mount.fs.locks);
	for (size_t i = 0; i < OPEN; i++) {
		if (files->handles[i])
			handle_close(&files->mount.fs, files->handles[i]);
		nodes_put(files->mount.fs.nodes, files->nodes[i], 1);
	}
	mount_close(&files->mount);
}

/* Sends a request for a lock on one of the files; returns its number. */
static uint64_t ask(struct files *files, size_t file, uint64_t owner, unsigned type, uint64_t start,
		    uint64_t last, bool sleep)
{
	struct fuse_lk_in in = {.fh = (uintptr_t)files->handles[file],
				.owner = owner,
				.lk = {start, last, type, (uint32_t)gettid()}};

	return mount_request(&files->mount, sleep ? FUSE_SETLKW : FUSE_SETLK, files->nodes[file],
			     &in, sizeof(in));
}

static int lock(struct files *files, size_t file, uint64_t owner, unsigned type, uint64_t start,
		uint64_t last)
{
	return files->mount.answers[ask(files, file, owner, type, start, last, false)];
}

/* Steps one after the other; versions of a column share its locks. */
FILES_TEST(test_owners, 20)
{
	static const struct {
		size_t file;
		uint64_t owner;
		unsigned type;
		uint64_t start, last;
		int answer;
	} steps[] = {
		{0, 1, F_WRLCK, 0, 9, 0},	  {0, 2, F_RDLCK, 9, 9, -EAGAIN},
		{1, 2, F_RDLCK, 0, 0, -EAGAIN},	  {2, 2, F_WRLCK, 0, 9, 0},
		{1, 2, F_WRLCK, 10, 20, 0},	  {0, 1, F_WRLCK, 5, 10, -EAGAIN},
		{0, 1, F_UNLCK, 3, 5, 0},	  {1, 2, F_WRLCK, 3, 5, 0},
		{0, 2, F_WRLCK, 2, 3, -EAGAIN},	  {0, 1, F_RDLCK, 0, 2, 0},
		{1, 2, F_RDLCK, 0, 5, 0},	  {0, 1, F_WRLCK, 0, 0, -EAGAIN},
		{0, 1, F_UNLCK, 0, INT64_MAX, 0}, {1, 2, F_WRLCK, 0, INT64_MAX, 0},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		ck_assert_msg(lock(files, steps[i].file, steps[i].owner, steps[i].type,
				   steps[i].start, steps[i].last) == steps[i].answer,
			      "step %zu", i);
}

/* A request waits until the range is free, by an unlock, a close or a flush, and in its order. */
FILES_TEST(test_wait, 20)
{
	uint64_t first, second;

	ck_assert_int_eq(lock(files, 0, 1, F_WRLCK, 0, 9), 0);
	first = ask(files, 1, 2, F_WRLCK, 5, 9, true);
	second = ask(files, 1, 3, F_WRLCK, 5, 9, true);
	ck_assert_int_eq(files->mount.answers[first], MOUNT_WAITS);
	ck_assert_int_eq(lock(files, 0, 1, F_UNLCK, 0, 4), 0);
	ck_assert_int_eq(files->mount.answers[first], MOUNT_WAITS);
	handle_close(&files->mount.fs, files->handles[0]);
	files->handles[0] = NULL;
	ck_assert_int_eq(files->mount.answers[first], 0);
	ck_assert_int_eq(files->mount.answers[second], MOUNT_WAITS);
	locks_flush(files->mount.fs.locks, files->nodes[1], files->handles[1], 2);
	ck_assert_int_eq(files->mount.answers[second], 0);
}

/* An interrupted request gets EINTR, one that closes a cycle EDEADLK, and the last of a mount
 * ENOTCONN. */
FILES_TEST(test_wait_ends, 20)
{
	struct fuse_interrupt_in interrupt = {0};
	uint64_t waits, cycle, left;

	ck_assert_int_eq(lock(files, 0, 1, F_WRLCK, 0, 0), 0);
	ck_assert_int_eq(lock(files, 2, 2, F_WRLCK, 0, 0), 0);
	waits = ask(files, 2, 1, F_WRLCK, 0, 0, true);
	cycle = ask(files, 0, 2, F_WRLCK, 0, 0, true);
	ck_assert_int_eq(files->mount.answers[waits], MOUNT_WAITS);
	ck_assert_int_eq(files->mount.answers[cycle], -EDEADLK);
	interrupt.unique = waits;
	mount_request(&files->mount, FUSE_INTERRUPT, NULL, &interrupt, sizeof(interrupt));
	ck_assert_int_eq(files->mount.answers[waits], -EINTR);
	left = ask(files, 0, 3, F_WRLCK, 0, 0, true);
	locks_end(files->mount.fs.locks);
	ck_assert_int_eq(files->mount.answers[left], -ENOTCONN);
}

/* Locks go with a column that is renamed; if the new name is locked, they stay. */
FILES_TEST(test_rename, 20)
{
	struct spelled q = {.kind = NODE_CELL, .bytes = suite_text("q")};
	struct spelled p = {.kind = NODE_CELL, .bytes = suite_text("p")};
	struct node *family = files->mount.family;

	ck_assert_int_eq(lock(files, 0, 1, F_WRLCK, 0, 0), 0);
	locks_rename(files->mount.fs.locks, family, &q, family, &p);
	ck_assert_int_eq(lock(files, 2, 2, F_WRLCK, 0, 0), -EAGAIN);
	ck_assert_int_eq(lock(files, 1, 2, F_WRLCK, 0, 0), 0);
	locks_rename(files->mount.fs.locks, family, &p, family, &q);
	ck_assert_int_eq(lock(files, 1, 1, F_WRLCK, 0, 0), -EAGAIN);
	ck_assert_int_eq(lock(files, 2, 2, F_WRLCK, 0, 0), -EAGAIN);
}
