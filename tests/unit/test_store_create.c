/* SPDX-License-Identifier: MIT */
/* Stores are made whole or not at all, and replace nothing but a store that nobody uses.
 * tests/e2e/test_mkfs.sh and test_messages.sh have other places and the files that --force spares.
 */
#include "tests/unit/place.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Making ------------------------------------------------------------------------------ */

SUITE_TEST(test_create, 20)
{
	char path[256];
	struct wcs_space space;
	struct wcs_store *store;
	struct stat st;
	int64_t now = (int64_t)time(NULL) * 1000000;

	place_store(path, "new.db");
	place_expect_names(place_path(""), "new.db ");
	SUITE_OK(stat(path, &st));
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	strcat(path, "/ROWFS");
	SUITE_OK(stat(path, &st));
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	SUITE_OK(wcs_store_open(place_path("new.db"), NULL, &store, &place_fault));
	ck_assert(wcs_store_created(store) >= now - 2000000);
	ck_assert(wcs_store_created(store) <= now + 100000000);
	ck_assert_str_eq(wcs_store_engine(store), "leveldb");
	SUITE_OK(wcs_store_sync(store));
	SUITE_OK(wcs_store_space(store, &space));
	ck_assert(space.total > 0 && space.free <= space.total);
	ck_assert(space.available < space.free);
	wcs_store_close(store);
}

SUITE_TEST(test_create_by_relative_paths, 20)
{
	place_begin();
	SUITE_OK(mkdir(place_path("here"), 0755));
	SUITE_OK(chdir(place_path("")));
	SUITE_OK(wcs_store_create("a.db", NULL, false, NULL, &place_fault));
	SUITE_OK(wcs_store_create("./here/b.db///", NULL, false, NULL, &place_fault));
	SUITE_OK(symlink("here", "link"));
	SUITE_OK(wcs_store_create("link/c.db", NULL, false, NULL, &place_fault));
	place_check_opens("a.db");
	place_check_opens("here/b.db");
	place_check_opens("here/c.db/");
	place_expect_names("here", "b.db c.db ");
	SUITE_OK(symlink("here/b.db", "to-b"));
	place_check_opens("to-b");
}

SUITE_TEST(test_create_refuses, 20)
{
	char path[256];

	place_begin();
	for (int force = 0; force < 2; force++) {
		place_expect_create("", force, -ENOENT, "");
		place_expect_create("/", force, -EEXIST, "/");
		strcpy(path, place_path("dangling"));
		ck_assert(symlink("nowhere", path) == 0 || force);
		place_expect_create(path, force, -EEXIST, "symbolic link");
	}
	place_expect_names(place_path(""), "dangling ");
}

/* ---- By force -------------------------------------------------------------------------- */

SUITE_TEST(test_force_spares_a_protected_table, 20)
{
	static const char json[] = "{\"tables\":{\"kept\":{\"protected\":true}}}";
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	char path[256], data[300];

	place_begin();
	strcpy(path, place_path("s"));
	SUITE_OK(wcs_schema_parse(json, strlen(json), &schema, &place_fault));
	SUITE_OK(wcs_store_create(path, schema, false, NULL, &place_fault));
	wcs_schema_free(schema);
	place_expect_create(path, true, -EPERM, "table kept is protected");
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	SUITE_OK(wcs_table_open(store, "kept", &table));
	ck_assert(wcs_table_protected(table));
	SUITE_OK(wcs_table_set_protected(table, false));
	wcs_table_close(table);
	wcs_store_close(store);
	SUITE_OK(wcs_store_create(path, NULL, true, NULL, &place_fault));

	/* One that was protected later, and whose tables cannot be read. */
	SUITE_OK(wcs_store_open(path, NULL, &store, &place_fault));
	SUITE_OK(wcs_table_create(store, "late"));
	SUITE_OK(wcs_table_open(store, "late", &table));
	SUITE_OK(wcs_table_set_protected(table, true));
	wcs_table_close(table);
	wcs_store_close(store);
	snprintf(data, sizeof(data), "%s/data", path);
	place_write(data, "CURRENT", "nowhere\n");
	place_expect_create(path, true, -EIO, "one may be protected");
	place_expect_names(place_path(""), "s ");
}

/* A file that happens to be called ROWFS makes no directory a store. */
SUITE_TEST(test_force_spares_a_foreign_directory, 20)
{
	static const char *const titles[] = {"Rows for the fiscal server\n", "", "rowfs store",
					     "rowfs stores\nformat 1\n", " rowfs store\n"};
	char path[256];
	char sub[300];

	place_begin();
	strcpy(path, place_path("foreign"));
	SUITE_OK(mkdir(path, 0755));
	snprintf(sub, sizeof(sub), "%s/sub", path);
	SUITE_OK(mkdir(sub, 0755));
	place_write(sub, "y", "text");
	place_write(path, "file", "text");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		place_write(path, "ROWFS", titles[i]);
		place_expect_create(path, true, -EEXIST, "neither empty");
		place_expect_open(path, -ENOENT, "not a rowfs store");
		place_expect_names(path, "ROWFS file sub ");
		place_expect_names(sub, "y ");
	}
	/* damaged behind its first line it is a store nevertheless */
	place_store(path, "damaged");
	place_write(path, "ROWFS", "rowfs store\nscribble\n");
	SUITE_OK(wcs_store_create(path, NULL, true, NULL, &place_fault));
	place_check_opens(path);
}

SUITE_TEST(test_force_while_others_rename, 60)
{
	char store[256];
	char precious[256];
	char name[300];
	int found = 0;
	pid_t pid;

	place_begin();
	strcpy(store, place_path("store"));
	strcpy(precious, place_path("precious"));
	SUITE_OK(wcs_store_create(store, NULL, false, NULL, &place_fault));
	SUITE_OK(mkdir(precious, 0755));
	place_write(precious, "file", "text");
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		/* Swaps the store and a directory with somebody's file in it, again and again. */
		for (;;)
			renameat2(AT_FDCWD, store, AT_FDCWD, precious, RENAME_EXCHANGE);
	}
	for (int i = 0; i < 60; i++)
		wcs_store_create(store, NULL, true, NULL, &place_fault);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/file", i ? store : precious);
		found += access(name, F_OK) == 0;
	}
	ck_assert_int_eq(found, 1);
}
