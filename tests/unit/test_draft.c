/* SPDX-License-Identifier: MIT */
/* Drafts: replacing, renaming and removing them, their directories, and their limits. */
#include "tests/unit/mount.h"

static struct file_id id_of(struct mount *mount, const char *name)
{
	return node_child_id(mount->family, NODE_DRAFT, suite_text(name));
}

/* Puts a text as a draft of the family. before: the expected state; NULL: any. */
static int put(struct mount *mount, const char *name, const char *text, const uint32_t *before)
{
	struct spool spool;
	struct value *value;
	int rc;

	spool_init(&spool);
	SUITE_OK(spool_write(&spool, mount->fs.store_held, text, strlen(text), 0));
	value = value_new(&spool);
	rc = draft_put(&mount->fs, mount->family, id_of(mount, name), value, 77, before, false);
	value_put(value);
	return rc;
}

/* The draft's text is that; NULL: there is none. Returns its etag. */
static uint32_t expect(struct mount *mount, const char *name, const char *text)
{
	struct wcs_cell_info info = {0};
	struct value *value;
	char found[64] = "";
	size_t got;
	int rc = draft_get(&mount->fs, id_of(mount, name), &info, &value);

	ck_assert_int_eq(rc, text ? 0 : -ENOENT);
	if (!text)
		return 0;
	SUITE_OK(value_read(value, found, sizeof(found) - 1, 0, &got));
	ck_assert_str_eq(found, text);
	ck_assert_uint_eq(info.size, strlen(text));
	value_put(value);
	return info.etag;
}

MOUNT_TEST(test_replace_only_as_before, 20)
{
	uint32_t none = 0, old;

	SUITE_OK(put(mount, ".q.a", "one", &none));
	old = expect(mount, ".q.a", "one");
	ck_assert_int_eq(put(mount, ".q.a", "two", &none), -EAGAIN);
	SUITE_OK(put(mount, ".q.a", "two", &old));
	ck_assert_int_eq(put(mount, ".q.a", "three", &old), -EAGAIN);
	expect(mount, ".q.a", "two");
	old = expect(mount, ".q.a", "two");
	SUITE_OK(draft_stamp(&mount->fs, id_of(mount, ".q.a"), 99));
	ck_assert_int_eq(put(mount, ".q.a", "four", &old), -EAGAIN); /* a stamp is a change */
	ck_assert_int_eq(draft_stamp(&mount->fs, id_of(mount, ".q.b"), 99), -ENOENT);
}

/* A directory exists as long as a draft in it does, under whichever name. */
MOUNT_TEST(test_directory_stays, 20)
{
	struct pos pos;

	SUITE_OK(pos_of(mount->family, &pos));
	ck_assert_int_eq(pos_exists(&mount->fs, &pos), -ENOENT);
	put(mount, ".q.a", "one", NULL);
	put(mount, ".q.b", "two", NULL);
	SUITE_OK(pos_exists(&mount->fs, &pos));
	SUITE_OK(draft_rename(&mount->fs, id_of(mount, ".q.a"), id_of(mount, ".q.b")));
	expect(mount, ".q.a", NULL);
	expect(mount, ".q.b", "one");
	SUITE_OK(draft_rename(&mount->fs, id_of(mount, ".q.b"), id_of(mount, ".q.c")));
	ck_assert_int_eq(draft_rename(&mount->fs, id_of(mount, ".q.b"), id_of(mount, ".q.c")),
			 -ENOENT);
	SUITE_OK(pos_exists(&mount->fs, &pos));
	ck_assert_uint_eq(drafts_count(mount->fs.drafts), 1);
	SUITE_OK(draft_remove(&mount->fs, id_of(mount, ".q.c")));
	ck_assert_int_eq(draft_remove(&mount->fs, id_of(mount, ".q.c")), -ENOENT);
	ck_assert_int_eq(pos_exists(&mount->fs, &pos), -ENOENT);
	ck_assert_uint_eq(memdirs_count(mount->fs.memdirs), 0);
}

MOUNT_TEST(test_removed_below, 20)
{
	static const struct {
		const char *family; /* NULL: any */
		bool stays;
	} cases[] = {{"g", true}, {"f", false}, {NULL, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(mount, ".q.a", "one", NULL);
		drafts_remove(&mount->fs, mount->row->plain + 1, NULL);
		drafts_remove(&mount->fs, mount->row->plain, cases[i].family);
		expect(mount, ".q.a", cases[i].stays ? "one" : NULL);
	}
	put(mount, ".q.a", "one", NULL);
	drafts_remove(&mount->fs, mount->family->plain, NULL);
	expect(mount, ".q.a", NULL);
}

/* Reservations count, and a reader keeps the value of a removed draft. */
MOUNT_TEST(test_limit, 20)
{
	struct wcs_cell_info info;
	struct value *value;
	char name[16], byte;
	size_t got;

	SUITE_OK(drafts_reserve(&mount->fs));
	for (unsigned i = 0; i < DRAFTS_MAX - 1; i++) {
		snprintf(name, sizeof(name), ".q.%u", i);
		SUITE_OK(put(mount, name, "x", NULL));
	}
	ck_assert_int_eq(put(mount, ".more", "x", NULL), -ENOSPC);
	ck_assert_int_eq(drafts_reserve(&mount->fs), -ENOSPC);
	SUITE_OK(put(mount, name, "y", NULL)); /* replaces one */
	drafts_unreserve(&mount->fs);
	SUITE_OK(put(mount, ".more", "x", NULL));
	SUITE_OK(draft_get(&mount->fs, id_of(mount, name), &info, &value));
	SUITE_OK(draft_remove(&mount->fs, id_of(mount, name)));
	SUITE_OK(value_read(value, &byte, 1, 0, &got));
	ck_assert_int_eq(byte, 'y');
	value_put(value);
}
