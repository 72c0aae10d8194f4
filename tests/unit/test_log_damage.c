/* SPDX-License-Identifier: MIT */
/*
 * A log whose records have damaged headers is no log that was being written when the machine went
 * down: it is an error before the store opens, and a repair loses just that record.
 */
#include "store/leveldb/formats/logfile.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 20, ROWS_MAX = 40, HEAD = 7, FILE_MAX = 1 << 17, LAST = ROWS - 1 };

static char base[256], copy[256], quarantine[300];
static char log_name[64], manifest_name[64]; /* relative to the store */
static unsigned char file[FILE_MAX];	     /* the log, or another file */
static size_t file_len;
static size_t heads[ROWS_MAX]; /* where records start in it */
static int head_count;
static char *cells; /* of the store */

static void ignore(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static const struct wcs_options options = {.log = ignore};

/* ---- The store --------------------------------------------------------------------------- */

static void read_file(const char *store, const char *name)
{
	char path[400];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", store, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = read(fd, file, sizeof(file));
	ck_assert(got > 0 && got < FILE_MAX);
	file_len = (size_t)got;
	close(fd);
}

static void write_file(const char *store, const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", store, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_eq(write(fd, file, file_len), (ssize_t)file_len);
	close(fd);
}

/* All are in one block. */
static void find_heads(void)
{
	head_count = 0;
	for (size_t at = 0; at + HEAD <= file_len; head_count++) {
		ck_assert_int_lt(head_count, ROWS_MAX);
		heads[head_count] = at;
		at += HEAD + (size_t)(file[at + 4] | file[at + 5] << 8);
	}
}

static void create(void)
{
	static const char text[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	struct wcs_schema *schema;
	struct wcs_fault fault;

	snprintf(base, sizeof(base), "%s/base", suite_directory());
	snprintf(copy, sizeof(copy), "%s/copy", suite_directory());
	snprintf(quarantine, sizeof(quarantine), "%s.quarantine", copy);
	suite_remove(base);
	ck_assert_int_eq(wcs_schema_parse(text, strlen(text), &schema, &fault), 0);
	ck_assert_int_eq(wcs_store_create(base, schema, false, NULL, &fault), 0);
	wcs_schema_free(schema);
}

/* Fills the base with rows r00 and so on, each a record of the log; `special`, a row, has that
 * value, others one of their own. */
static void make_base(const char *prefix, int special, struct wcs_slice value)
{
	struct wcs_fault fault;
	struct wcs_store *store;
	struct wcs_table *table;

	create();
	ck_assert_int_eq(wcs_store_open(base, &options, &store, &fault), 0);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	for (int row = 0; row < ROWS; row++) {
		char name[8], own[64];

		snprintf(name, sizeof(name), "r%02d", row);
		snprintf(own, sizeof(own), "%s, the value of row %d", prefix, row);
		suite_put(table, suite_text(name), "f", suite_text("q"), 1,
			  row == special ? value : suite_text(own));
	}
	cells = suite_content(table);
	wcs_table_close(table);
	wcs_store_close(store);
	suite_store_file(base, ".log", log_name);
	suite_store_file(base, "MANIFEST-", manifest_name);
}

/* A copy, whose log is in `file`. */
static void copy_base(void)
{
	char command[1200];

	suite_remove(copy);
	suite_remove(quarantine);
	snprintf(command, sizeof(command), "cp -a -- '%s' '%s'", base, copy);
	ck_assert_int_eq(system(command), 0);
	read_file(copy, log_name);
	find_heads();
}

static void remove_all(void)
{
	suite_remove(copy);
	suite_remove(base);
	suite_remove(quarantine);
	free(cells);
}

/* What the copy holds. */
static char *content(const char *what)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_store *store;
	struct wcs_table *table;
	char *text;
	int rc = wcs_store_open(copy, &options, &store, &fault);

	ck_assert_msg(rc == 0, "%s: %s", what, fault.text);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	text = suite_content(table);
	wcs_table_close(table);
	wcs_store_close(store);
	return text;
}

/* Is the copy refused, with that file's name? */
static void expect_refused(const char *name, const char *what)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_store *store;
	int rc = wcs_store_open(copy, &options, &store, &fault);

	ck_assert_msg(rc == -EIO, "%s: opening says %d", what, rc);
	ck_assert_msg(strstr(fault.text, name) && strstr(fault.text, "fsck.rowfs"), "%s: %s", what,
		      fault.text);
}

static int found(bool repair, const char *what)
{
	struct wcs_check_options checks = {.repair = repair, .quarantine = quarantine};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};

	ck_assert_msg(wcs_store_check(copy, &checks, &result, &fault) == 0, "%s: %s", what,
		      fault.text);
	ck_assert_int_eq((int)result.corrected, repair ? (int)result.found : 0);
	return (int)result.found;
}

/* ---- Headers ----------------------------------------------------------------------------- */

/* clang-format off */
#define BYTES(literal) {literal, sizeof(literal) - 1}
/* clang-format on */

/* How a record is damaged: bytes put at a place of it. */
static const struct damage {
	const char *name;
	int at;
	struct wcs_slice bytes;
	bool not_last; /* in the last record it cannot be told from a power cut */
} damages[] = {
	{"a length that fits into the block", 5, BYTES("\x40"), false},
	{"a length beyond the block", 5, BYTES("\xf0"), false},
	{"a length and a byte of the record", 5, BYTES("\x40\x01zz"), true},
	{"a length and a checksum", 0, BYTES("zzzz\x20\x40"), true},
	{"no type", 6, BYTES("\x40"), false},
	{"a length, and no type", 5, BYTES("\x40\x40"), false},
	{"a length, and the type zero", 5, BYTES("\x40\0"), false},
	{"a length, and the type of a first piece", 5, BYTES("\x40\x02"), false},
	{"a length, and the type of a middle piece", 5, BYTES("\x40\x03"), false},
	{"a length, and the type of a last piece", 5, BYTES("\x40\x04"), false},
	{"garbage", 0, BYTES("garbage"), false},
	{"bits that are all set", 0, BYTES("\xff\xff\xff\xff\xff\xff"), false},
	{"more garbage", 0, BYTES("garbage, and more of it"), false},
};

/* Takes a row's cell out. */
static void remove_row(char *from, int row)
{
	char name[8], *start, *end;

	snprintf(name, sizeof(name), "r%02d/", row);
	start = strstr(from, name);
	ck_assert_ptr_nonnull(start);
	end = strchr(start, ' ') + 1;
	memmove(start, end, strlen(end) + 1);
}

/* The log of the copy is made to be what `file` has; a repair leaves those cells. */
static void expect_repaired(const char *expected, const char *what)
{
	char *have;

	write_file(copy, log_name);
	expect_refused(log_name, what);
	ck_assert_msg(found(false, what) == 1, "%s: not found", what);
	ck_assert_msg(found(true, what) == 1, "%s: not corrected", what);
	ck_assert_msg(found(false, what) == 0, "%s: not clean after it", what);
	have = content(what);
	ck_assert_msg(strcmp(have, expected) == 0, "%s: %s", what, have);
	free(have);
}

/* With so many zeros behind the log. */
static void damage_record(const struct damage *damage, int row, size_t zeros)
{
	char *expected = strdup(cells), what[100];

	snprintf(what, sizeof(what), "%s, in record %d, %zu zeros", damage->name, row, zeros);
	copy_base();
	ck_assert_int_eq(head_count, ROWS);
	memcpy(file + heads[row] + damage->at, damage->bytes.data, damage->bytes.len);
	memset(file + file_len, 0, zeros);
	file_len += zeros;
	remove_row(expected, row);
	expect_repaired(expected, what);
	free(expected);
}

START_TEST(test_headers)
{
	const struct damage *damage = &damages[_i];

	make_base("first", -1, SUITE_BYTES(""));
	damage_record(damage, 0, 0);
	damage_record(damage, 7, 0);
	if (!damage->not_last) {
		damage_record(damage, LAST, 0);
		damage_record(damage, LAST, 40000);
	}
	remove_all();
}
END_TEST

/* Two damaged records: what is between them stays as well. */
START_TEST(test_two)
{
	char *expected;

	make_base("first", -1, SUITE_BYTES(""));
	copy_base();
	memcpy(file + heads[4], "garbage", HEAD);
	memcpy(file + heads[12], "garbage", HEAD);
	expected = strdup(cells);
	remove_row(expected, 4);
	remove_row(expected, 12);
	expect_repaired(expected, "two records");
	free(expected);
	remove_all();
}
END_TEST

/* A value that is a log of another store, or its first records, which have numbers that are lower,
 * stays a value: its records are none of this store. */
START_TEST(test_log_in_value)
{
	static unsigned char other[FILE_MAX];
	size_t lens[2];

	make_base("other", -1, SUITE_BYTES(""));
	copy_base();
	memcpy(other, file, file_len);
	lens[0] = file_len;
	lens[1] = heads[5];
	remove_all();
	make_base("first", 7, (struct wcs_slice){other, lens[_i]});
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		damage_record(&damages[i], 7, 0);
	remove_all();
}
END_TEST

/* ---- Other files ------------------------------------------------------------------------- */

START_TEST(test_foreign)
{
	make_base("first", -1, SUITE_BYTES(""));
	for (size_t len = HEAD; len < FILE_MAX; len = 3 * len + 1) {
		copy_base();
		file_len = len;
		for (size_t i = 0; i < len; i++)
			file[i] = (unsigned char)"This is some other file. "[i % 25];
		expect_repaired("", "a text");
	}
	remove_all();
}
END_TEST

/* An edit between two others, which say what number the next file has. */
START_TEST(test_manifest)
{
	static const unsigned char edit[] = {3, 0xE8, 0x07};
	char path[400], *have;
	uint64_t end;
	int fd;

	make_base("first", -1, SUITE_BYTES(""));
	copy_base();
	read_file(copy, manifest_name);
	end = file_len;
	snprintf(path, sizeof(path), "%s/%s", copy, manifest_name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ldb_logfile_append(fd, &end, edit, sizeof(edit)), 0);
	ck_assert_int_eq(pwrite(fd, "garbage", HEAD, (off_t)(end - 2 * (HEAD + sizeof(edit)))),
			 HEAD);
	close(fd);
	expect_refused(manifest_name, "a MANIFEST");
	ck_assert_int_ge(found(true, "a MANIFEST"), 1);
	ck_assert_int_eq(found(false, "a MANIFEST"), 0);
	have = content("a MANIFEST");
	ck_assert_str_eq(have, cells);
	free(have);
	remove_all();
}
END_TEST

static void make(Suite *suite)
{
	TCase *headers = tcase_create("headers");

	tcase_set_timeout(headers, 30);
	tcase_add_loop_test(headers, test_headers, 0, (int)(sizeof(damages) / sizeof(damages[0])));
	suite_add_tcase(suite, headers);
	suite_add_once(suite, "two damaged records", test_two, 30);
	tcase_add_loop_test(headers, test_log_in_value, 0, 2);
	suite_add_once(suite, "a file that is no log", test_foreign, 30);
	suite_add_once(suite, "the MANIFEST", test_manifest, 30);
}

int main(void)
{
	return suite_main("leveldb: damaged logs", make);
}
