/* SPDX-License-Identifier: MIT */
/* Write sessions on a real store: which bytes they commit, when, and when they commit nothing. */
#include "tests/unit/mount.h"

#include <fcntl.h>

static struct spelled name_of(enum node_kind kind, const char *name)
{
	return (struct spelled){.kind = kind, .bytes = suite_text(name)};
}

/* A session for the family's column q, which is there or is made, with one open file. */
static struct node *open_session(struct mount *mount, int flags)
{
	struct spelled q = name_of(NODE_CELL, "q");
	struct node_key key = {.parent = mount->family, .kind = NODE_CELL, .name = q.bytes};
	struct node *node = nodes_get(mount->fs.nodes, &key, 0, NULL), *session;

	if (flags & O_CREAT)
		SUITE_OK(writers_create(&mount->fs, gettid(), mount->family, &q, flags & O_EXCL,
					&session));
	else
		SUITE_OK(writers_reopen(&mount->fs, gettid(), node, &session));
	nodes_put(mount->fs.nodes, node, 1);
	SUITE_OK(writer_open(&mount->fs, session, flags, gettid()));
	return session;
}

static int write_at(struct mount *mount, struct node *session, const char *text, uint64_t offset)
{
	return writer_write(&mount->fs, session->writer, text, strlen(text), offset, false);
}

static void close_session(struct mount *mount, struct node *session)
{
	SUITE_OK(writer_close(&mount->fs, session));
	nodes_put(mount->fs.nodes, session, 1);
}

/* The cell's value before, the bytes and offsets that a session writes, and the value after its
 * close. */
MOUNT_TEST(test_values, 30)
{
	static const struct {
		const char *before; /* NULL: no cell */
		int flags;
		const char *text; /* NULL: nothing is written */
		uint64_t offset;
		const char *after;
	} cases[] = {
		{NULL, O_WRONLY | O_CREAT, "new", 0, "new"},
		{NULL, O_WRONLY | O_CREAT, NULL, 0, ""},
		{"old", O_WRONLY, NULL, 0, "old"},
		{"old", O_WRONLY, "N", 1, "oNd"},
		{"old", O_RDWR, "er", 3, "older"},
		{"old", O_WRONLY | O_TRUNC, NULL, 0, ""},
		{"old", O_WRONLY | O_TRUNC, "new", 0, "new"},
		{"old", O_WRONLY | O_APPEND, "er", 0, "older"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct node *session;

		suite_delete_row(s->table, "r");
		if (cases[i].before)
			suite_set(s->table, "r", "f", "q", 5, cases[i].before);
		session = open_session(mount, cases[i].flags);
		if (cases[i].text)
			SUITE_OK(write_at(mount, session, cases[i].text, cases[i].offset));
		suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST,
				   cases[i].before ? cases[i].before : "-");
		close_session(mount, session);
		suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST, cases[i].after);
	}
	ck_assert_uint_eq(writers_count(mount->fs.writers), 0);
}

/* A flush commits the bytes written so far. A session makes one version, with any number of
 * flushes. Two sessions that append do not overwrite each other. */
MOUNT_TEST(test_flushes, 20)
{
	struct node *session, *other;

	session = open_session(mount, O_WRONLY | O_CREAT);
	SUITE_OK(writer_commit(&mount->fs, session, &(pid_t){gettid()}));
	suite_expect(s->table, ""); /* nothing was written yet */
	for (uint64_t i = 0; i < 3; i++) {
		SUITE_OK(write_at(mount, session, "x", i));
		SUITE_OK(writer_commit(&mount->fs, session, &(pid_t){gettid()}));
	}
	close_session(mount, session);
	suite_expect(s->table, "r/f/q@1000000=xxx ");
	session = open_session(mount, O_WRONLY | O_APPEND);
	other = open_session(mount, O_WRONLY | O_APPEND);
	SUITE_OK(write_at(mount, session, "a", 0));
	SUITE_OK(write_at(mount, other, "b", 0));
	close_session(mount, other);
	close_session(mount, session);
	suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST, "xxxba");
}

/* Nothing is committed after an abort, after the file was removed, and after a failed write. */
MOUNT_TEST(test_commits_nothing, 20)
{
	struct node *session;

	suite_set(s->table, "r", "f", "q", 5, "old");
	for (int way = 0; way < 3; way++) {
		session = open_session(mount, O_WRONLY);
		SUITE_OK(write_at(mount, session, "new", 0));
		if (way == 0)
			writer_abort(session);
		else if (way == 1)
			writers_detach(&mount->fs, gettid(), node_id(session), true, false);
		else
			ck_assert_int_eq(write_at(mount, session, "x", WCS_VALUE_MAX), -EFBIG);
		ck_assert_int_eq(writer_is_unlinked(session->writer), way == 1);
		ck_assert_int_eq(writer_close(&mount->fs, session), way == 2 ? -EFBIG : 0);
		nodes_put(mount->fs.nodes, session, 1);
		suite_expect(s->table, "r/f/q@5=old ");
	}
}

/* An open session goes with its file to a new name. A name that it makes is not seen by others. */
MOUNT_TEST(test_rename_and_hidden, 20)
{
	struct spelled q = name_of(NODE_CELL, "q"), p = name_of(NODE_CELL, "p");
	struct writer_target to = {.kind = NODE_CELL, .qualifier = p.bytes, .ts = WCS_TS_NEWEST};
	struct file_id id = node_child_id(mount->family, q.kind, q.bytes);
	struct node *session, *found;

	to.id = node_child_id(mount->family, p.kind, p.bytes);
	session = open_session(mount, O_WRONLY | O_CREAT | O_EXCL);
	ck_assert(writers_reserved(&mount->fs, mount->family, &q));
	ck_assert_ptr_null(writers_own(&mount->fs, 1, id, true));
	found = writers_own(&mount->fs, gettid(), id, true);
	ck_assert_ptr_eq(found, session);
	nodes_put(mount->fs.nodes, found, 1);
	SUITE_OK(write_at(mount, session, "new", 0));
	SUITE_OK(writers_rename(&mount->fs, gettid(), node_id(session), &to, NULL));
	ck_assert(!writers_reserved(&mount->fs, mount->family, &q));
	close_session(mount, session);
	suite_expect(s->table, "r/f/p@1000000=new ");
}
