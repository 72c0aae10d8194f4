/* SPDX-License-Identifier: MIT */
/* Stores for the tests of repairs: see stores.h. */
#include "tests/unit/stores.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/manifest.h"

enum { MANY = 12, MUCH = 5 << 20, VALUE = 300, BIG = 150000 };

char stores_place[200], stores_merged[256], stores_base[256];
char stores_copy[256], stores_quarantine[300];
int stores_generations[2][STORES_ROWS];

/* ---- The stores -------------------------------------------------------------------------- */

static void stores_set_row(struct wcs_table *table, int row, int generation)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char name[16], value[VALUE + 1];

	snprintf(name, sizeof(name), "r%02d", row);
	snprintf(value, sizeof(value), "%0*d", VALUE, generation);
	wcs_mutation_set(mutation, "f", suite_text("q"), 1, (struct wcs_slice){value, VALUE});
	ck_assert_int_eq(suite_mutate(table, name, mutation, NULL), 0);
}

static void stores_set_rows(struct wcs_table *table, int from, int to, int generation, int *known)
{
	for (int i = from; i < to; i++) {
		stores_set_row(table, i, generation);
		known[i] = generation;
	}
}

/* A large value; each has bytes of its own. */
static void stores_set_big(struct wcs_table *table, const char *qualifier)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(BIG, (unsigned char)qualifier[3]);

	wcs_mutation_set(mutation, "f", suite_text(qualifier), 1, (struct wcs_slice){value, BIG});
	ck_assert_int_eq(suite_mutate(table, "r03", mutation, NULL), 0);
	free(value);
}

static struct wcs_table *stores_open(const char *path, struct wcs_store **store)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_table *table;
	int rc = wcs_store_open(path, NULL, store, &fault);

	ck_assert_msg(rc == 0, "%s", fault.text);
	ck_assert_int_eq(wcs_table_open(*store, "t", &table), 0);
	return table;
}

static void stores_close(struct wcs_store *store, struct wcs_table *table)
{
	wcs_table_close(table);
	wcs_store_close(store);
}

static void stores_copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t got;

	while ((got = read(in, bytes, sizeof(bytes))) > 0)
		ck_assert_int_eq(write(out, bytes, (size_t)got), got);
	close(in);
	close(out);
}

static void stores_copy_directory(const char *from, const char *to)
{
	DIR *stream = opendir(from);
	const struct dirent *entry;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(mkdir(to, 0700), 0);
	while ((entry = readdir(stream))) {
		char source[512], target[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(source, sizeof(source), "%s/%.100s", from, entry->d_name);
		snprintf(target, sizeof(target), "%s/%.100s", to, entry->d_name);
		if (entry->d_type == DT_DIR)
			stores_copy_directory(source, target);
		else
			stores_copy_file(source, target);
	}
	closedir(stream);
}

void stores_replace(const char *from, const char *to)
{
	suite_remove(to);
	stores_copy_directory(from, to);
}

void stores_make_many(void)
{
	char *value = suite_pattern(MUCH, 9), name[16];
	struct wcs_store *store;
	struct wcs_table *table = stores_open(stores_merged, &store);

	for (int i = 0; i < MANY; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		snprintf(name, sizeof(name), "many%04d", i);
		wcs_mutation_set(mutation, "f", suite_text(name), 1,
				 (struct wcs_slice){value, MUCH});
		ck_assert_int_eq(suite_mutate(table, "r39", mutation, NULL), 0);
		stores_set_rows(table, i, i + 2, 10 + i, stores_generations[0]);
	}
	stores_close(store, table);
	free(value);
}

void stores_name(const char *place)
{
	snprintf(stores_place, sizeof(stores_place), "%s", place);
	snprintf(stores_merged, sizeof(stores_merged), "%s/merged", stores_place);
	snprintf(stores_base, sizeof(stores_base), "%s/base", stores_place);
	snprintf(stores_copy, sizeof(stores_copy), "%s/copy", stores_place);
	snprintf(stores_quarantine, sizeof(stores_quarantine), "%s/quarantine", stores_place);
}

void stores_make(void)
{
	static const char text[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	char path[200];

	snprintf(path, sizeof(path), "%s/stores", suite_directory());
	stores_name(path);
	setenv("TMPDIR", suite_directory(), 1); /* what is killed leaves its own there */
	mkdir(stores_place, 0700);
	suite_remove(stores_merged);
	ck_assert_int_eq(wcs_schema_parse(text, strlen(text), &schema, NULL), 0);
	ck_assert_int_eq(wcs_store_create(stores_merged, schema, false, NULL, NULL), 0);
	wcs_schema_free(schema);
	for (int session = 0; session < 3; session++) {
		table = stores_open(stores_merged, &store);
		stores_set_rows(table, session * 10, STORES_ROWS, session + 1,
				stores_generations[0]);
		if (session == 0)
			stores_set_big(table, "big1");
		if (session == 2)
			stores_set_big(table, "big2");
		if (session == 2)
			stores_set_rows(table, 0, 5, 4, stores_generations[0]);
		stores_close(store, table);
	}
	memcpy(stores_generations[1], stores_generations[0], sizeof(stores_generations[0]));
	stores_replace(stores_merged, stores_base);
	table = stores_open(stores_base, &store);
	stores_set_rows(table, 0, 2, 5, stores_generations[1]);
	stores_close(store, table);
}

void stores_remove(void)
{
	suite_remove(stores_merged);
	suite_remove(stores_base);
	suite_remove(stores_copy);
	suite_remove(stores_quarantine);
}

/* ---- What is in them --------------------------------------------------------------------- */

static void stores_see(struct stores_seen *seen, struct wcs_scan *scan, const struct wcs_cell *cell)
{
	static char bytes[BIG];
	char row[4] = "", *expected;
	size_t got = 0;

	if (cell->qualifier.len == strlen("many0000"))
		return;
	ck_assert_uint_eq(cell->row.len, 3);
	memcpy(row, cell->row.data, 3);
	ck_assert_int_eq(wcs_scan_read(scan, bytes, sizeof(bytes), 0, &got), 0);
	if (cell->qualifier.len == 1) {
		ck_assert_uint_eq(got, VALUE);
		bytes[VALUE] = '\0';
		seen->generations[atoi(row + 1)] = atoi(bytes);
		return;
	}
	expected = suite_pattern(BIG, ((const unsigned char *)cell->qualifier.data)[3]);
	ck_assert(got == BIG && memcmp(bytes, expected, BIG) == 0);
	seen->big++;
	free(expected);
}

int stores_look(struct stores_seen *seen, struct wcs_fault *fault)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_store *store;
	struct wcs_table *table;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_store_open(stores_copy, NULL, &store, fault);

	memset(seen, 0, sizeof(*seen));
	if (rc != 0)
		return rc;
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	stores_set_big(table, "big3");
	ck_assert_int_eq(wcs_scan_open(table, &range, &filter, &scan), 0);
	while ((rc = wcs_scan_next(scan, &cell)) == 1)
		stores_see(seen, scan, &cell);
	wcs_scan_close(scan);
	stores_close(store, table);
	return rc;
}

void stores_expect(const struct stores_seen *seen, const int *generations, int big,
		   const char *what)
{
	for (int i = 0; i < STORES_ROWS; i++)
		ck_assert_msg(seen->generations[i] == generations[i],
			      "%s: row %d is of generation %d, not %d", what, i,
			      seen->generations[i], generations[i]);
	ck_assert_msg(seen->big >= big, "%s: %d large values", what, seen->big);
}

/* ---- Damage ------------------------------------------------------------------------------ */

off_t stores_file(const char *part, char path[512])
{
	char below[300];
	const struct dirent *entry;
	off_t most = -1;
	struct stat st;
	DIR *stream;

	snprintf(below, sizeof(below), "%s/data", stores_copy);
	stream = opendir(below);
	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream)))
		if (strstr(entry->d_name, part) &&
		    fstatat(dirfd(stream), entry->d_name, &st, 0) == 0 && st.st_size > most) {
			most = st.st_size;
			snprintf(path, 512, "%s/%.100s", below, entry->d_name);
		}
	closedir(stream);
	ck_assert_int_ge(most, 0);
	return most;
}

void stores_flip(const char *part, off_t at)
{
	unsigned char byte;
	char path[512];
	int fd;

	stores_file(part, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 16;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void stores_damage_table(void)
{
	stores_flip(".ldb", 200);
}

static void stores_damage_log(void)
{
	stores_flip(".log", 350);
}

/* And the old table gets the highest number, as the output of a merge has. */
static void stores_damage_manifest(void)
{
	char path[512], to[300];

	stores_flip("MANIFEST", 20);
	stores_file(".ldb", path);
	snprintf(to, sizeof(to), "%s/data/000090.ldb", stores_copy);
	ck_assert_int_eq(rename(path, to), 0);
}

/* Each table gets the name of the one before, and the first one that of the last. */
static void stores_exchange_tables(void)
{
	struct dirent **names;
	int dir, count = 0, all;
	char data[300];

	snprintf(data, sizeof(data), "%s/data", stores_copy);
	all = scandir(data, &names, NULL, alphasort);
	dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < all; i++) {
		if (strstr(names[i]->d_name, ".ldb"))
			names[count++] = names[i];
		else
			free(names[i]);
	}
	ck_assert_int_ge(count, 2);
	for (int i = 1; i < count; i++)
		ck_assert_int_eq(renameat2(dir, names[i - 1]->d_name, dir, names[i]->d_name,
					   RENAME_EXCHANGE),
				 0);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	close(dir);
}

static size_t stores_put_key(unsigned char *to, struct wcs_slice key)
{
	size_t len = ldb_put_varint(to, key.len);

	memcpy(to + len, key.data, key.len);
	return len + key.len;
}

/* An edit by hand, of a table that becomes known by another number, on level 1. */
static void stores_add_table(int dir, struct ldb_manifest *manifest,
			     const struct ldb_manifest_table *table, uint64_t number)
{
	char from[LDB_FILE_NAME_MAX], to[LDB_FILE_NAME_MAX];
	unsigned char edit[400];
	int fd = openat(dir, manifest->name, O_RDWR | O_CLOEXEC);
	size_t len = ldb_put_varint(edit, LDB_EDIT_NEXT_FILE);

	ldb_file_name(from, LDB_FILE_TABLE, table->number);
	ldb_file_name(to, LDB_FILE_TABLE, number);
	ck_assert_int_eq(linkat(dir, from, dir, to, 0), 0);
	ck_assert_uint_lt(table->smallest.len + table->largest.len, 300);
	len += ldb_put_varint(edit + len, number + 1);
	len += ldb_put_varint(edit + len, LDB_EDIT_NEW);
	len += ldb_put_varint(edit + len, 1);
	len += ldb_put_varint(edit + len, number);
	len += ldb_put_varint(edit + len, table->size);
	len += stores_put_key(edit + len, table->smallest);
	len += stores_put_key(edit + len, table->largest);
	ck_assert_int_eq(ldb_logfile_append(fd, &manifest->end, edit, len), 0);
	close(fd);
}

/* The MANIFEST says that the largest table is on level 1, twice and under other numbers. LevelDB
 * would abort. */
static void stores_overlap_tables(void)
{
	struct ldb_manifest manifest;
	struct ldb_manifest_table table;
	char name[LDB_FILE_NAME_MAX], path[512], data[300];
	uint64_t number;
	int dir;

	snprintf(data, sizeof(data), "%s/data", stores_copy);
	stores_file(".ldb", path);
	ldb_file_parse(strrchr(path, '/') + 1, &number);
	dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(ldb_manifest_current(dir, name, NULL), 0);
	ck_assert_int_eq(ldb_manifest_read(dir, name, &manifest, NULL), 0);
	table = *ldb_manifest_find(&manifest, number);
	stores_add_table(dir, &manifest, &table, 91);
	stores_add_table(dir, &manifest, &table, 92);
	ldb_manifest_free(&manifest);
	close(dir);
}

const struct stores_damage stores_damages[STORES_DAMAGES] = {
	{"a table", stores_damage_table, false, false},
	{"a log", stores_damage_log, false, false},
	{"the MANIFEST", stores_damage_manifest, true, true},
	{"names of tables", stores_exchange_tables, true, false},
};

const struct stores_damage stores_overlap = {"tables that overlap", stores_overlap_tables, true,
					     true};
