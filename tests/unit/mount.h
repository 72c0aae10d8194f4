/* SPDX-License-Identifier: MIT */
/*
 * A mount of the table "t" of a suite's store, without a kernel: all tables of struct fs, the node
 * of row "r"'s family "f", and a libfuse session that takes requests as bytes (mount_request).
 */
#ifndef TEST_MOUNT_H
#define TEST_MOUNT_H

#include "fs/cache/cache.h"
#include "fs/cache/cache_clock.h"
#include "fs/cache/notice.h"
#include "fs/file/handle.h"
#include "fs/file/lock.h"
#include "fs/fs.h"
#include "fs/inode/memdir.h"
#include "fs/names/spell.h"
#include "fs/report/report.h"
#include "fs/serve/metrics.h"
#include "fs/value/draft.h"
#include "fs/write/retry.h"
#include "fs/write/writer.h"
#include "tests/unit/suite.h"

#include <linux/fuse.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOUNT_REQUESTS = 64, MOUNT_WAITS = 1 };

struct mount {
	struct fs fs; /* first: the session's userdata */
	struct suite *suite;
	struct node *row, *family;
	uint64_t requests;
	int answers[MOUNT_REQUESTS]; /* by the number of the request; MOUNT_WAITS: none yet */
	int fd;			     /* in place of /dev/fuse */
};

static inline ssize_t mount_read(int fd, void *buf, size_t len, void *userdata)
{
	(void)userdata;
	return read(fd, buf, len);
}

static inline ssize_t mount_answer(int fd, struct iovec *iov, int count, void *userdata)
{
	struct mount *mount = userdata;
	struct fuse_out_header out;
	ssize_t len = 0;

	(void)fd;
	memcpy(&out, iov[0].iov_base, sizeof(out));
	if (out.unique < MOUNT_REQUESTS)
		mount->answers[out.unique] = out.error;
	for (int i = 0; i < count; i++)
		len += (ssize_t)iov[i].iov_len;
	return len;
}

/* Has the session handle a request. Returns its number, the index of its answer. */
static inline uint64_t mount_request(struct mount *mount, uint32_t opcode, const struct node *node,
				     const void *body, size_t len)
{
	char bytes[512] = {0};
	struct fuse_buf buf = {.mem = bytes, .size = sizeof(struct fuse_in_header) + len};
	struct fuse_in_header in = {.len = (uint32_t)buf.size,
				    .opcode = opcode,
				    .unique = ++mount->requests,
				    .nodeid = node ? node->nodeid : 0,
				    .pid = (uint32_t)gettid()};

	ck_assert_uint_lt(mount->requests, MOUNT_REQUESTS);
	mount->answers[in.unique] = MOUNT_WAITS;
	memcpy(bytes, &in, sizeof(in));
	memcpy(bytes + sizeof(in), body, len);
	fuse_session_process_buf(mount->fs.session, &buf);
	return in.unique;
}

static inline struct node *mount_child(struct mount *mount, struct node *dir, enum node_kind kind,
				       const char *name)
{
	struct node_key key = {.parent = dir, .kind = kind, .name = suite_text(name)};
	struct node *node = nodes_get(mount->fs.nodes, &key, 0, NULL);

	ck_assert_ptr_nonnull(node);
	return node;
}

static inline void mount_open(struct mount *mount, struct suite *s)
{
	static const struct fuse_custom_io io = {.read = mount_read, .writev = mount_answer};
	struct fuse_init_in init = {.major = FUSE_KERNEL_VERSION, .minor = 31};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fs *fs = &mount->fs;
	struct wcs_table *table;

	*mount = (struct mount){.suite = s};
	ck_assert_int_eq(wcs_table_open(s->store, "t", &table), 0);
	fs->store = s->store;
	fs->store_path = s->path[0] ? s->path : suite_directory();
	fs->store_held = fs->store_path;
	ck_assert(fs_rooms_new(fs, table));
	mount->row = mount_child(mount, nodes_root(fs->nodes), NODE_PREFIX, "r");
	mount->family = mount_child(mount, mount->row, NODE_FAMILY, "f");
	mount->fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_eq(fuse_opt_add_arg(&args, "unit"), 0);
	fs->session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), mount);
	ck_assert_ptr_nonnull(fs->session);
	ck_assert_int_eq(fuse_session_custom_io(fs->session, &io, mount->fd), 0);
	fuse_opt_free_args(&args);
	mount_request(mount, FUSE_INIT, NULL, &init, sizeof(init));
	ck_assert_int_eq(mount->answers[1], 0);
}

static inline void mount_close(struct mount *mount)
{
	struct fs *fs = &mount->fs;

	nodes_put(fs->nodes, mount->family, 1);
	nodes_put(fs->nodes, mount->row, 1);
	fs_rooms_free(fs);
}

/* A test, as SUITE_LEVELDB_STORE, with a mount besides. */
#define MOUNT_TEST(name, seconds)                                                                  \
	static void name##_mounted(struct suite *s, struct mount *mount);                          \
	SUITE_LEVELDB_STORE(name, seconds)                                                         \
	{                                                                                          \
		struct mount mount;                                                                \
		mount_open(&mount, s);                                                             \
		name##_mounted(s, &mount);                                                         \
		mount_close(&mount);                                                               \
	}                                                                                          \
	static void name##_mounted(struct suite *s __attribute__((unused)), struct mount *mount)

#endif
