/* SPDX-License-Identifier: MIT */
/* The store's directory: made whole or not at all, locked, refused in words, reopened. */
#include "mutation.h"

#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct wcs_slice q = {"q", 1};
static struct wcs_fault fault;

static char directory_base[192];

/* Gives the test a directory of its own. */
static void directory_begin(void)
{
	snprintf(directory_base, sizeof(directory_base), "%s/place.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(directory_base));
}

/* A path below it, good until the next call. */
static const char *directory_place(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%.50s", directory_base, name);
	return path;
}

/* The names in a directory, sorted, each followed by a space. */
static void directory_expect(const char *path, const char *expected)
{
	struct dirent **entries;
	char text[512] = "";
	int count = scandir(path, &entries, NULL, alphasort);

	ck_assert_int_ge(count, 0);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.') {
			strcat(text, entries[i]->d_name);
			strcat(text, " ");
		}
		free(entries[i]);
	}
	free(entries);
	ck_assert_str_eq(text, expected);
}

static void directory_write(const char *path, const char *name, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	file = fopen(whole, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void directory_expect_fault(int rc, int expected, const char *words)
{
	ck_assert_msg(rc == expected, "%d instead of %d: %s", rc, expected, fault.text);
	ck_assert_msg(strstr(fault.text, words) != NULL, "no \"%s\" in: %s", words, fault.text);
}

static void directory_expect_open(const char *path, int expected, const char *words)
{
	struct wcs_store *store;

	directory_expect_fault(wcs_store_open(path, NULL, &store, &fault), expected, words);
}

static void directory_check_opens(const char *path)
{
	struct wcs_store *store;
	int rc = wcs_store_open(path, NULL, &store, &fault);

	ck_assert_msg(rc == 0, "%d %s", rc, fault.text);
	wcs_store_close(store);
}

/* ---- Making ------------------------------------------------------------------------------ */

START_TEST(test_create)
{
	char path[256];
	struct wcs_space space;
	struct wcs_store *store;
	struct stat st;
	int64_t now = (int64_t)time(NULL) * 1000000;

	directory_begin();
	strcpy(path, directory_place("new.db"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	directory_expect(directory_place(""), "new.db ");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	strcat(path, "/ROWFS");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(wcs_store_open(directory_place("new.db"), NULL, &store, &fault), 0);
	ck_assert(wcs_store_created(store) >= now - 2000000);
	ck_assert(wcs_store_created(store) <= now + 100000000);
	ck_assert_str_eq(wcs_store_engine(store), "leveldb");
	ck_assert_int_eq(wcs_store_sync(store), 0);
	ck_assert_int_eq(wcs_store_space(store, &space), 0);
	ck_assert(space.total > 0 && space.free <= space.total);
	wcs_store_close(store);
}
END_TEST

START_TEST(test_create_over_an_empty_directory)
{
	char path[256];

	directory_begin();
	strcpy(path, directory_place("empty"));
	ck_assert_int_eq(mkdir(path, 0755), 0);
	strcat(path, "/");
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	directory_expect(directory_place(""), "empty ");
	directory_check_opens(path);
}
END_TEST

START_TEST(test_create_by_relative_paths)
{
	directory_begin();
	ck_assert_int_eq(mkdir(directory_place("here"), 0755), 0);
	ck_assert_int_eq(chdir(directory_place("")), 0);
	ck_assert_int_eq(wcs_store_create("a.db", NULL, false, &fault), 0);
	ck_assert_int_eq(wcs_store_create("./here/b.db///", NULL, false, &fault), 0);
	ck_assert_int_eq(symlink("here", "link"), 0);
	ck_assert_int_eq(wcs_store_create("link/c.db", NULL, false, &fault), 0);
	directory_check_opens("a.db");
	directory_check_opens("here/b.db");
	directory_check_opens("here/c.db/");
	directory_expect("here", "b.db c.db ");
	ck_assert_int_eq(symlink("here/b.db", "to-b"), 0);
	directory_check_opens("to-b");
}
END_TEST

START_TEST(test_create_refuses)
{
	char path[256];
	struct wcs_store *store;

	directory_begin();
	directory_write(directory_place(""), "file", "text");
	for (int force = 0; force < 2; force++) {
		directory_expect_fault(
			wcs_store_create(directory_place("file"), NULL, force, &fault), -EEXIST,
			"not a directory");
		strcpy(path, directory_place("full"));
		mkdir(path, 0755);
		directory_write(path, "x", "");
		directory_expect_fault(wcs_store_create(path, NULL, force, &fault), -EEXIST,
				       "neither empty");
		directory_expect_fault(
			wcs_store_create(directory_place("no/where"), NULL, force, &fault), -ENOENT,
			"no/where");
		directory_expect_fault(wcs_store_create("", NULL, force, &fault), -ENOENT, "");
		directory_expect_fault(wcs_store_create("/", NULL, force, &fault), -EEXIST, "/");
		strcpy(path, directory_place("dangling"));
		ck_assert(symlink("nowhere", path) == 0 || force);
		directory_expect_fault(wcs_store_create(path, NULL, force, &fault), -EEXIST,
				       "symbolic link");
	}
	directory_expect(directory_place(""), "dangling file full ");
	directory_expect(directory_place("full"), "x ");
	ck_assert_int_eq(unlink(directory_place("dangling")), 0);
	directory_expect_fault(wcs_store_open(directory_place("file"), NULL, &store, &fault),
			       -ENOENT, "directory");
	directory_expect_fault(wcs_store_open(directory_place("full"), NULL, &store, &fault),
			       -ENOENT, "not a rowfs store");
	directory_expect_fault(wcs_store_open(directory_place("none"), NULL, &store, &fault),
			       -ENOENT, "no such directory");
	directory_expect(directory_place("full"), "x ");
}
END_TEST

START_TEST(test_create_with_schema)
{
	static const char json[] = "{\"version\":1,\"tables\":{\"t\":{\"delimiter\":\"|\","
				   "\"families\":{\"f\":\"maxversions=2\"}},\"u\":{}}}";
	struct wcs_family families[2] = {{.name = "f"}, {.name = "f"}};
	struct wcs_table_schema bad = {
		.name = "n", .delimiter = '#', .family_count = 2, .families = families};
	struct wcs_schema wrong = {.table_count = 1, .tables = &bad};
	struct wcs_schema *schema;
	struct wcs_schema *found;
	struct wcs_store *store;
	char *text;

	directory_begin();
	ck_assert_int_eq(wcs_schema_parse(json, strlen(json), &schema, &fault), 0);
	ck_assert_int_eq(wcs_store_create(directory_place("s"), schema, false, &fault), 0);
	ck_assert_int_eq(wcs_store_open(directory_place("s"), NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_schema_get(store, &found), 0);
	ck_assert(found->tables[0].created > 0);
	text = wcs_schema_format(found);
	ck_assert_ptr_nonnull(strstr(text, "maxversions=2"));
	ck_assert_uint_eq(found->table_count, 2);
	ck_assert_int_eq(found->tables[0].delimiter, '|');
	free(text);
	wcs_schema_free(found);
	wcs_schema_free(schema);
	wcs_store_close(store);
	/* a schema that fails leaves nothing */
	directory_expect_fault(wcs_store_create(directory_place("w"), &wrong, false, &fault),
			       -EINVAL, "table n");
	directory_expect(directory_place(""), "s ");
}
END_TEST

START_TEST(test_force)
{
	char path[256];
	struct wcs_store *store;
	struct wcs_table *table;
	char name[WCS_TABLE_NAME_MAX + 1];
	struct stat before;
	struct stat after;

	directory_begin();
	strcpy(path, directory_place("f"));
	ck_assert_int_eq(wcs_store_create(path, NULL, true, &fault), 0);
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_table_create(store, "old"), 0);
	ck_assert_int_eq(wcs_table_open(store, "old", &table), 0);
	wcs_table_close(table);
	directory_expect_fault(wcs_store_create(path, NULL, false, &fault), -EEXIST, "already");
	directory_expect_fault(wcs_store_create(path, NULL, true, &fault), -EBUSY, "in use");
	ck_assert_int_eq(wcs_table_next(store, NULL, name), 0);
	wcs_store_close(store);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert_int_eq(wcs_store_create(path, NULL, true, &fault), 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert(before.st_ino != after.st_ino);
	directory_expect(directory_place(""), "f ");
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_table_next(store, NULL, name), -ENOENT);
	wcs_store_close(store);
}
END_TEST

/* What force replaces is removed without following links out of it. */
START_TEST(test_force_follows_no_links)
{
	char path[256];
	char link[300];

	directory_begin();
	ck_assert_int_eq(mkdir(directory_place("precious"), 0755), 0);
	directory_write(directory_place("precious"), "file", "text");
	strcpy(path, directory_place("f"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	snprintf(link, sizeof(link), "%s/data/link", path);
	ck_assert_int_eq(symlink(directory_place("precious"), link), 0);
	ck_assert_int_eq(wcs_store_create(path, NULL, true, &fault), 0);
	directory_expect(directory_place("precious"), "file ");
	directory_expect(directory_place(""), "f precious ");
}
END_TEST

/* A file that happens to be called ROWFS makes no directory a store. */
START_TEST(test_force_spares_a_foreign_directory)
{
	static const char *const titles[] = {"Rows for the fiscal server\n", "", "rowfs store",
					     "rowfs stores\nformat 1\n", " rowfs store\n"};
	char path[256];
	char sub[300];

	directory_begin();
	strcpy(path, directory_place("foreign"));
	ck_assert_int_eq(mkdir(path, 0755), 0);
	snprintf(sub, sizeof(sub), "%s/sub", path);
	ck_assert_int_eq(mkdir(sub, 0755), 0);
	directory_write(sub, "y", "text");
	directory_write(path, "file", "text");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		directory_write(path, "ROWFS", titles[i]);
		directory_expect_fault(wcs_store_create(path, NULL, true, &fault), -EEXIST,
				       "neither empty");
		directory_expect_open(path, -EIO, "not a store's");
		directory_expect(path, "ROWFS file sub ");
		directory_expect(sub, "y ");
	}
}
END_TEST

/* What others put into a store's directory is not replaced with it. */
START_TEST(test_force_spares_what_is_not_the_stores)
{
	char path[256];
	char name[300];

	directory_begin();
	strcpy(path, directory_place("f"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	directory_write(path, "notes", "text");
	directory_expect_fault(wcs_store_create(path, NULL, true, &fault), -EEXIST, "other files");
	directory_expect(path, "LOCK ROWFS data notes ");
	directory_check_opens(path);
	/* damaged behind its first line it is a store nevertheless */
	directory_write(path, "ROWFS", "rowfs store\nscribble\n");
	snprintf(name, sizeof(name), "%s/notes", path);
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_eq(wcs_store_create(path, NULL, true, &fault), 0);
	directory_check_opens(path);
}
END_TEST

/* Swaps the store and a directory with somebody's file in it, again and again. */
static void directory_swap_until_killed(const char *store, const char *precious)
{
	for (;;)
		renameat2(AT_FDCWD, store, AT_FDCWD, precious, RENAME_EXCHANGE);
}

START_TEST(test_force_while_others_rename)
{
	char store[256];
	char precious[256];
	char name[300];
	int found = 0;
	pid_t pid;

	directory_begin();
	strcpy(store, directory_place("store"));
	strcpy(precious, directory_place("precious"));
	ck_assert_int_eq(wcs_store_create(store, NULL, false, &fault), 0);
	ck_assert_int_eq(mkdir(precious, 0755), 0);
	directory_write(precious, "file", "text");
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		directory_swap_until_killed(store, precious);
	for (int i = 0; i < 60; i++)
		wcs_store_create(store, NULL, true, &fault);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/file", i ? store : precious);
		found += access(name, F_OK) == 0;
	}
	ck_assert_int_eq(found, 1);
}
END_TEST

/* The temporary directory beside the store needs no longer name than the store has. */
START_TEST(test_longest_name)
{
	char path[512];

	directory_begin();
	for (size_t len = 247; len <= 255; len++) {
		snprintf(path, sizeof(path), "%s/%0*d", directory_base, (int)len, 7);
		ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
		ck_assert_int_eq(wcs_store_create(path, NULL, true, &fault), 0);
		directory_check_opens(path);
	}
}
END_TEST

/* ---- In use ------------------------------------------------------------------------------ */

START_TEST(test_twice_in_one_process)
{
	char path[256];
	struct wcs_store *store;

	directory_begin();
	strcpy(path, directory_place("one"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	for (int i = 0; i < 3; i++)
		directory_expect_open(path, -EBUSY, "in use by process");
	wcs_store_close(store);
	directory_check_opens(path);
	directory_check_opens(path);
}
END_TEST

/* A child that opens the store, tells so and waits for its end. */
static pid_t directory_hold(const char *path, int *ready)
{
	int fds[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct wcs_store *store;
		int rc = wcs_store_open(path, NULL, &store, &fault);

		byte = rc == 0 ? 'y' : 'n';
		if (write(fds[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(fds[0], &byte, 1), 1);
	*ready = byte == 'y';
	close(fds[0]);
	close(fds[1]);
	return pid;
}

START_TEST(test_in_use_by_another)
{
	char path[256];
	char words[64];
	struct wcs_store *store;
	int ready;
	pid_t pid;

	directory_begin();
	strcpy(path, directory_place("busy"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	pid = directory_hold(path, &ready);
	ck_assert(ready);
	snprintf(words, sizeof(words), "in use by process %d", (int)pid);
	directory_expect_open(path, -EBUSY, words);
	directory_expect_fault(wcs_store_create(path, NULL, true, &fault), -EBUSY, words);
	directory_expect_open(path, -EBUSY, words);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* and the other way round: what failed before has dropped no lock */
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	directory_expect_open(path, -EBUSY, "in use by process");
	pid = directory_hold(path, &ready);
	ck_assert(!ready);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	wcs_store_close(store);
	directory_expect(directory_place(""), "busy ");
}
END_TEST

/* ---- Markers ----------------------------------------------------------------------------- */

START_TEST(test_marker)
{
	static const char *const damaged[] = {
		"",
		"rowfs store\n",
		"rowfs store",
		"rowfs stores\nformat 1\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat 0\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat x\nengine leveldb\ncreated 1\n",
		"rowfs store\nformat 1\nengine \ncreated 1\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated -1\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated 99999999999999999999\n",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1",
		"rowfs store\nformat 1\nengine leveldb\ncreated 1\nmore\n",
		"rowfs store\nformat 1\ncreated 1\nengine leveldb\n",
	};
	struct wcs_store *store;
	char path[256];

	directory_begin();
	strcpy(path, directory_place("m"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		directory_write(path, "ROWFS", damaged[i]);
		directory_expect_open(path, -EIO, "ROWFS: damaged");
	}
	directory_write(path, "ROWFS", "rowfs store\nformat 2\nsomething else\n");
	directory_expect_open(path, -EPROTO, "format is 2");
	directory_expect_open(path, -EPROTO, strrchr(path, '/'));
	directory_write(path, "ROWFS", "rowfs store\nformat 1\nengine other\ncreated 1\n");
	directory_expect_open(path, -EINVAL, "engine is other");
	directory_write(path, "ROWFS", "rowfs store\nformat 1\nengine leveldb\ncreated 12\n");
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_store_created(store), 12);
	wcs_store_close(store);
}
END_TEST

START_TEST(test_no_links_inside)
{
	char path[256];
	char marker[300];
	char lock[300];

	directory_begin();
	strcpy(path, directory_place("l"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	snprintf(lock, sizeof(lock), "%s/LOCK", path);
	ck_assert_int_eq(unlink(lock), 0);
	directory_write(directory_place(""), "elsewhere", "");
	ck_assert_int_eq(symlink(directory_place("elsewhere"), lock), 0);
	directory_expect_open(path, -EIO, "LOCK");
	ck_assert_int_eq(unlink(lock), 0);
	directory_check_opens(path);
	snprintf(marker, sizeof(marker), "%s/ROWFS", path);
	ck_assert_int_eq(rename(marker, directory_place("marker")), 0);
	ck_assert_int_eq(symlink("../marker", marker), 0);
	directory_expect_open(path, -ENOENT, "not a rowfs store");
}
END_TEST

START_TEST(test_engine_missing)
{
	char path[256];

	directory_begin();
	strcpy(path, directory_place("e"));
	ck_assert_int_eq(mkdir(path, 0700), 0);
	directory_write(path, "ROWFS", "rowfs store\nformat 1\nengine leveldb\ncreated 1\n");
	for (int i = 0; i < 2; i++) {
		struct wcs_store *store;

		fault.text[0] = '\0';
		ck_assert_int_ne(wcs_store_open(path, NULL, &store, &fault), 0);
		ck_assert_int_ne(fault.text[0], '\0');
	}
}
END_TEST

/* ---- Reopening --------------------------------------------------------------------------- */

START_TEST(test_reopen)
{
	char *bytes = suite_pattern(300000, 2);
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_range all = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char *before;
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	ck_assert_int_eq(wcs_family_set_gc(s.table, "a", "maxage=1h", NULL), 0);
	ck_assert_int_eq(wcs_family_set_type(s.table, "b", WCS_INTMIN), 0);
	ck_assert_int_eq(wcs_table_set_delimiter(s.table, '!'), 0);
	ck_assert_int_eq(wcs_table_create(s.store, "u"), 0);
	ck_assert_int_eq(wcs_table_create(s.store, "gone"), 0);
	ck_assert_int_eq(wcs_table_remove(s.store, "gone"), 0);
	wcs_mutation_set(mutation, "f", q, 7, (struct wcs_slice){bytes, 300000});
	wcs_mutation_set(mutation, "f", suite_text("small"), 7, suite_text("x"));
	ck_assert_int_eq(suite_mutate(s.table, "row", mutation, NULL), 0);
	suite_set(s.table, "away", "f", "q", 1, "v");
	suite_delete_row(s.table, "away");
	before = suite_scan(s.table, &all, &filter);
	for (int i = 0; i < 3; i++) {
		struct wcs_family family;
		struct wcs_table *table;

		s.clock += 1000;
		suite_reopen(&s);
		ck_assert_ptr_nonnull(s.table);
		suite_expect(s.table, before);
		ck_assert_int_eq(wcs_table_delimiter(s.table), '!');
		ck_assert_int_eq(wcs_table_created(s.table), 1000000);
		ck_assert_int_eq(wcs_family_get(s.table, "a", &family), 0);
		ck_assert_str_eq(family.gc, "maxage=1h");
		wcs_family_clear(&family);
		ck_assert_int_eq(wcs_family_get(s.table, "b", &family), 0);
		ck_assert_int_eq(family.type, WCS_INTMIN);
		wcs_family_clear(&family);
		ck_assert_int_eq(wcs_table_open(s.store, "u", &table), 0);
		wcs_table_close(table);
		ck_assert_int_eq(wcs_table_open(s.store, "gone", &table), -ENOENT);
	}
	free(before);
	free(bytes);
	suite_close(&s);
}
END_TEST

/* A table that takes a removed one's name must not take its rows' place on disk. */
START_TEST(test_removed_table_stays_apart)
{
	struct wcs_table *table;
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(wcs_table_create(s.store, "u"), 0);
		ck_assert_int_eq(wcs_table_open(s.store, "u", &table), 0);
		ck_assert_int_eq(wcs_family_create(table, "f"), 0);
		suite_expect(table, "");
		suite_set(table, "r", "f", "q", i, "v");
		wcs_table_close(table);
		suite_reopen(&s);
		ck_assert_int_eq(wcs_table_open(s.store, "u", &table), 0);
		suite_delete_row(table, "r");
		ck_assert_int_eq(wcs_family_remove(table, "f"), 0);
		ck_assert_int_eq(wcs_table_remove(s.store, "u"), 0);
		wcs_table_close(table);
	}
	suite_close(&s);
}
END_TEST

/* Sets one cell after the other until it is killed; tells each that was acknowledged. */
static void directory_write_until_killed(const char *path, int out)
{
	struct wcs_options options = {.sync = false};
	struct wcs_store *store;
	struct wcs_table *table;
	char row[16];

	if (wcs_store_open(path, &options, &store, &fault) != 0 ||
	    wcs_table_create(store, "t") != 0 || wcs_table_open(store, "t", &table) != 0 ||
	    wcs_family_create(table, "f") != 0)
		_exit(1);
	for (int i = 0;; i++) {
		snprintf(row, sizeof(row), "%08d", i);
		suite_set(table, row, "f", "q", 1, "v");
		if (write(out, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

/* What was acknowledged survives the death of the process, without a sync. */
START_TEST(test_killed)
{
	struct wcs_store *store;
	struct wcs_table *table;
	char path[256];
	char row[16];
	int fds[2];
	int last = -1;
	int number;
	pid_t pid;

	directory_begin();
	strcpy(path, directory_place("k"));
	ck_assert_int_eq(wcs_store_create(path, NULL, false, &fault), 0);
	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		directory_write_until_killed(path, fds[1]);
	}
	close(fds[1]);
	while (read(fds[0], &number, sizeof(number)) == sizeof(number)) {
		last = number;
		if (last == 2000)
			kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
	ck_assert_int_ge(last, 2000);
	ck_assert_int_eq(wcs_store_open(path, NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	for (int i = 0; i <= last; i++) {
		snprintf(row, sizeof(row), "%08d", i);
		suite_expect_value(table, row, "f", "q", 1, "v");
	}
	wcs_table_close(table);
	wcs_store_close(store);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "create", test_create, 20);
	suite_add_once(suite, "create, empty directory", test_create_over_an_empty_directory, 20);
	suite_add_once(suite, "create, relative paths", test_create_by_relative_paths, 20);
	suite_add_once(suite, "create refuses", test_create_refuses, 20);
	suite_add_once(suite, "create with schema", test_create_with_schema, 20);
	suite_add_once(suite, "force", test_force, 20);
	suite_add_once(suite, "force follows no links", test_force_follows_no_links, 20);
	suite_add_once(suite, "force spares a foreign directory",
		       test_force_spares_a_foreign_directory, 20);
	suite_add_once(suite, "force spares what is not the store's",
		       test_force_spares_what_is_not_the_stores, 20);
	suite_add_once(suite, "force while others rename", test_force_while_others_rename, 60);
	suite_add_once(suite, "longest name", test_longest_name, 60);
	suite_add_once(suite, "twice in one process", test_twice_in_one_process, 20);
	suite_add_once(suite, "in use by another", test_in_use_by_another, 20);
	suite_add_once(suite, "marker", test_marker, 20);
	suite_add_once(suite, "no links inside", test_no_links_inside, 20);
	suite_add_once(suite, "engine missing", test_engine_missing, 20);
	suite_add_once(suite, "reopen", test_reopen, 20);
	suite_add_once(suite, "removed table apart", test_removed_table_stays_apart, 20);
	suite_add_once(suite, "killed", test_killed, 60);
}

int main(void)
{
	return suite_main("store: directory", make);
}
