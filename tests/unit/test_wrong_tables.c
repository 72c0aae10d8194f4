/* SPDX-License-Identifier: MIT */
/*
 * Tables under wrong names, and MANIFESTs whose tables overlap, as LevelDB would abort on: of files
 * made by hand, so that tables of other keys have one size.
 */
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/tablefile.h"

enum { TABLES = 4, FIRST = 11, ENTRIES = 50 };

static char path[300];
static int dir;
static struct ldb_manifest manifest;

static uint64_t number_of(int table)
{
	return FIRST + (uint64_t)table;
}

/* ---- The files --------------------------------------------------------------------------- */

/* An internal key: a letter, a number, and 8 bytes, of a value that was put. */
static struct wcs_slice key_of(char letter, int i)
{
	static char key[2][16];
	static int next;
	char *made = key[next ^= 1];

	snprintf(made, sizeof(key[0]), "%c%03d", letter, i);
	memcpy(made + 4, "\1\2\0\0\0\0\0\0", 8);
	return (struct wcs_slice){made, 12};
}

static void make_files(void)
{
	snprintf(path, sizeof(path), "%s/files", suite_directory());
	SUITE_OK(mkdir(path, 0700));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&manifest, 0, sizeof(manifest));
	for (int i = 0; i < TABLES; i++) {
		struct ldb_manifest_table table = {.number = number_of(i), .level = 1};
		struct ldb_tablefile_writer writer = {.fd = -1};
		char name[LDB_FILE_NAME_MAX];
		int fd;

		ldb_file_name(name, LDB_FILE_TABLE, table.number);
		fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		ck_assert_int_ge(fd, 0);
		writer.fd = fd;
		for (int k = 0; k < ENTRIES; k++)
			SUITE_OK(ldb_tablefile_add(&writer, key_of((char)('a' + i), k),
						   suite_text("value")));
		SUITE_OK(ldb_tablefile_finish(&writer, &table.size, &table.smallest,
					      &table.largest));
		SUITE_OK(ldb_manifest_add(&manifest, &table));
		ldb_tablefile_writer_free(&writer);
		close(fd);
	}
	for (int i = 1; i < TABLES; i++)
		ck_assert_uint_eq(manifest.tables[i].size, manifest.tables[0].size);
	manifest.next_file = FIRST + TABLES + 1;
	ldb_file_name(manifest.name, LDB_FILE_MANIFEST, FIRST + TABLES);
	SUITE_OK(ldb_manifest_write(dir, &manifest));
	SUITE_OK(ldb_manifest_set_current(dir, manifest.name));
}

static void remove_files(void)
{
	ldb_manifest_free(&manifest);
	close(dir);
	suite_remove(path);
}

static void exchange(int one, int other)
{
	char names[2][LDB_FILE_NAME_MAX];

	ldb_file_name(names[0], LDB_FILE_TABLE, number_of(one));
	ldb_file_name(names[1], LDB_FILE_TABLE, number_of(other));
	SUITE_OK(renameat2(dir, names[0], dir, names[1], RENAME_EXCHANGE));
}

static void flip(int table, off_t at)
{
	char name[LDB_FILE_NAME_MAX], byte;
	int fd;

	ldb_file_name(name, LDB_FILE_TABLE, number_of(table));
	fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 4;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* ---- The tests --------------------------------------------------------------------------- */

static const char other[] = "it is another table: it has other keys";
static const char damaged[] = "it is another table, and damaged: at ";

/* A damaged table with keys of another range is another; one without readable keys is not. */
static const struct {
	int exchanged[2][2];
	int damaged; /* at its end, where it is another; the table 2 lost its first keys then */
	int tables[TABLES];	   /* with faults */
	const char *words[TABLES]; /* of their faults; "": it is no other table */
} cases[] = {
	{{{0, 0}, {0, 0}}, -1, {0}, {NULL}},
	{{{0, 1}, {1, 3}}, -1, {0, 1, 3}, {other, other, other}},
	{{{0, 1}, {0, 0}}, 0, {0, 1, 2}, {damaged, other, ""}},
};

SUITE_LOOP(test_wrong_names, sizeof(cases) / sizeof(cases[0]), 20)
{
	struct ldb_files files;
	size_t faults = 0;

	make_files();
	for (int i = 0; i < 2; i++)
		if (cases[_i].exchanged[i][1] > 0)
			exchange(cases[_i].exchanged[i][0], cases[_i].exchanged[i][1]);
	if (cases[_i].damaged >= 0) {
		flip(cases[_i].damaged, (off_t)manifest.tables[0].size - 1);
		flip(2, 20);
	}
	SUITE_OK(ldb_files_open(path, &files, NULL));
	ck_assert(files.whole);
	SUITE_OK(ldb_files_tables(&files, NULL));
	SUITE_OK(ldb_files_end(&files));
	for (; cases[_i].words[faults]; faults++) {
		const struct ldb_files_fault *fault = &files.faults[faults];
		const char *words = cases[_i].words[faults];

		ck_assert_uint_lt(faults, files.fault_count);
		ck_assert_uint_eq(fault->number, number_of(cases[_i].tables[faults]));
		ck_assert_int_eq(fault->another, *words != '\0');
		ck_assert_msg(strstr(fault->what, words), "%s is not in: %s", words, fault->what);
	}
	ck_assert_uint_eq(files.fault_count, faults);
	ck_assert_int_eq(files.whole, faults == 0);
	ldb_files_close(&files);
	remove_files();
}

SUITE_TEST(test_overlap_is_not_written, 20)
{
	struct ldb_manifest_table by = {.number = 40, .level = 1, .size = 100};
	struct wcs_fault fault = {.text = ""};
	struct ldb_manifest again;
	char name[LDB_FILE_NAME_MAX];

	make_files();
	SUITE_OK(ldb_manifest_read(dir, manifest.name, &again, NULL));
	by.smallest = key_of('b', 3);
	by.largest = key_of('c', 1);
	ck_assert_int_eq(ldb_manifest_replace(dir, &again, FIRST + 1, &by), -EIO);
	ldb_manifest_free(&again);
	SUITE_OK(ldb_manifest_read(dir, manifest.name, &again, NULL));
	by.largest = key_of('b', 7);
	SUITE_OK(ldb_manifest_replace(dir, &again, FIRST + 1, &by));
	ldb_manifest_free(&again);
	ck_assert_int_ne(faccessat(dir, manifest.name, F_OK, 0), 0);
	SUITE_OK(ldb_manifest_current(dir, name, NULL));
	SUITE_OK(ldb_manifest_read(dir, name, &again, NULL));
	ck_assert_ptr_null(ldb_manifest_find(&again, FIRST + 1));
	by.number = 41;
	again.next_file = 42;
	SUITE_OK(ldb_manifest_add(&again, &by));
	ck_assert_int_eq(ldb_manifest_check(&again, &fault), -EIO);
	ck_assert_str_eq(fault.text, "tables 000040.ldb and 000041.ldb of level 1 overlap");
	snprintf(again.name, sizeof(again.name), "MANIFEST-000050");
	ck_assert_int_eq(ldb_manifest_write(dir, &again), -EIO);
	ck_assert_int_ne(faccessat(dir, again.name, F_OK, 0), 0);
	ldb_manifest_free(&again);
	remove_files();
}
