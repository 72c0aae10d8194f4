/* SPDX-License-Identifier: MIT */
/*
 * Every file of a small store, damaged in many places: what is read then is right or an error, an
 * error at opening names the file and fsck.rowfs, and after a repair nothing is wrong any more.
 *
 * The store has rows r00 to r39 in a table of LevelDB's, and a log of changes behind it, one after
 * the other: r00 gets another value, r05 goes, r40 to r59 come. A log that is cut has lost the last
 * of them, as after a power cut; never one from their middle.
 */
#include "tests/unit/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ROWS = 60,
	TABLE_ROWS = 40,
	CHANGES = 2 + ROWS - TABLE_ROWS,
	BIG_ROW = 10,
	BIG = 150000,
	SMALL = 300,
	NEW_SEED = 100,
	FILES_MAX = 32,
};

static char base[256], copy[256];
static char files[FILES_MAX][64]; /* relative to the store */
static size_t file_count;
static struct wcs_fault fault;
static struct wcs_options options;

/* ---- The store --------------------------------------------------------------------------- */

static const char *row_name(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "r%02d", i);
	return name;
}

static void set_value(struct wcs_table *table, int row, const char *qualifier, size_t size,
		      unsigned int seed)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(size, seed);

	wcs_mutation_set(mutation, "f", suite_text(qualifier), 1, (struct wcs_slice){value, size});
	ck_assert_int_eq(suite_mutate(table, row_name(row), mutation, NULL), 0);
	free(value);
}

static void add_files(const char *below)
{
	char path[512];
	DIR *stream;
	const struct dirent *entry;

	snprintf(path, sizeof(path), "%s/%s", base, below);
	stream = opendir(path);
	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;

		if (name[0] == '.' || strcmp(name, "data") == 0 || strstr(name, "LOCK") ||
		    strstr(name, "LOG"))
			continue;
		ck_assert_uint_lt(file_count, FILES_MAX);
		snprintf(files[file_count++], sizeof(files[0]), "%s%.40s", below, name);
	}
	closedir(stream);
}

static void make_base(void)
{
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	static const char text[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";

	snprintf(base, sizeof(base), "%s/base", suite_directory());
	snprintf(copy, sizeof(copy), "%s/copy", suite_directory());
	ck_assert_int_eq(wcs_schema_parse(text, strlen(text), &schema, &fault), 0);
	ck_assert_int_eq(wcs_store_create(base, schema, false, NULL, &fault), 0);
	wcs_schema_free(schema);
	for (int part = 0; part < 2; part++) { /* opening makes a table of the log */
		ck_assert_int_eq(wcs_store_open(base, &options, &store, &fault), 0);
		ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
		if (part == 0) {
			for (int i = 0; i < TABLE_ROWS; i++)
				set_value(table, i, "q", SMALL, (unsigned int)i);
			set_value(table, BIG_ROW, "big", BIG, BIG_ROW);
		} else {
			set_value(table, 0, "q", SMALL, NEW_SEED);
			suite_delete_row(table, row_name(5));
			for (int i = TABLE_ROWS; i < ROWS; i++)
				set_value(table, i, "q", SMALL, (unsigned int)i);
		}
		wcs_table_close(table);
		wcs_store_close(store);
	}
	file_count = 0;
	add_files("");
	add_files("data/");
	ck_assert_uint_ge(file_count, 5);
}

static void remove_tree(const char *path)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf -- '%s'", path);
	ck_assert_int_eq(system(command), 0);
}

static void copy_base(void)
{
	char command[1200];

	snprintf(command, sizeof(command), "rm -rf -- '%s' && cp -a -- '%s' '%s'", copy, base,
		 copy);
	ck_assert_int_eq(system(command), 0);
}

/* ---- Damage ------------------------------------------------------------------------------ */

enum damage_kind { FLIP, CUT, REMOVE };
struct damage {
	const char *file;
	enum damage_kind kind;
	off_t at;
};

static void describe(const struct damage *damage, char *to, size_t room)
{
	static const char *const kinds[] = {"bit at", "cut to", "removed"};

	snprintf(to, room, "%s: %s %lld", damage->file, kinds[damage->kind], (long long)damage->at);
}

static void inflict(const struct damage *damage)
{
	unsigned char byte;
	char path[512];
	int fd;

	copy_base();
	snprintf(path, sizeof(path), "%s/%s", copy, damage->file);
	switch (damage->kind) {
	case FLIP:
		fd = open(path, O_RDWR | O_CLOEXEC);
		ck_assert_int_eq(pread(fd, &byte, 1, damage->at), 1);
		byte ^= (unsigned char)(1 << damage->at % 8);
		ck_assert_int_eq(pwrite(fd, &byte, 1, damage->at), 1);
		close(fd);
		break;
	case CUT:
		ck_assert_int_eq(truncate(path, damage->at), 0);
		break;
	case REMOVE:
		ck_assert_int_eq(unlink(path), 0);
		break;
	}
}

/* Calls each for many places of every file: its first and last bytes, and some between. */
static void for_each_damage(int edge, int between, void (*each)(const struct damage *damage))
{
	for (size_t i = 0; i < file_count; i++) {
		struct damage damage = {.file = files[i]};
		char path[512];
		struct stat st;
		off_t step;

		snprintf(path, sizeof(path), "%s/%s", base, files[i]);
		ck_assert_int_eq(stat(path, &st), 0);
		step = st.st_size / between + 1;
		for (int kind = FLIP; kind <= CUT; kind++) {
			damage.kind = (enum damage_kind)kind;
			for (damage.at = 0; damage.at < st.st_size; damage.at++)
				if (damage.at < edge || st.st_size - damage.at <= edge ||
				    damage.at % step == 0)
					each(&damage);
		}
		damage.kind = REMOVE;
		damage.at = 0;
		each(&damage);
	}
}

/* ---- What is read ------------------------------------------------------------------------ */

/* What a scan saw: how often each row, and which value of r00. */
struct seen {
	int rows[ROWS];
	bool big, new_value;
	bool whole; /* it came to the end without an error */
};

static bool is_pattern(const void *bytes, size_t len, size_t size, unsigned int seed)
{
	char *expected = suite_pattern(size, seed);
	bool same = len == size && memcmp(bytes, expected, size) == 0;

	free(expected);
	return same;
}

/* -1: the key is not of the store's rows. It ends with no 0. */
static int row_of(struct wcs_slice key)
{
	char name[4] = "";
	int row;

	if (key.len != 3)
		return -1;
	memcpy(name, key.data, 3);
	row = atoi(name + 1);
	return row >= 0 && row < ROWS && strcmp(name, row_name(row)) == 0 ? row : -1;
}

/* The value must be one that the row has, or had. */
static void see_cell(struct seen *seen, const struct wcs_cell *cell, const void *value, size_t len,
		     const char *what)
{
	int row = row_of(cell->row);
	bool big = cell->qualifier.len == 3;

	ck_assert_msg(row >= 0, "%s: no such row", what);
	if (big) {
		ck_assert_msg(row == BIG_ROW && is_pattern(value, len, BIG, BIG_ROW),
			      "%s: another large value", what);
		seen->big = true;
		return;
	}
	seen->rows[row]++;
	if (row == 0 && is_pattern(value, len, SMALL, NEW_SEED))
		seen->new_value = true;
	else
		ck_assert_msg(is_pattern(value, len, SMALL, (unsigned int)row),
			      "%s: another value in row %d", what, row);
}

static int read_cell(struct wcs_scan *scan, struct seen *seen, const struct wcs_cell *cell,
		     const char *what)
{
	static char bytes[BIG];
	size_t got = 0;
	int rc = 0;

	if (cell->info.size <= WCS_VALUE_INLINE) {
		see_cell(seen, cell, cell->value.data, cell->value.len, what);
		return 0;
	}
	rc = wcs_scan_read(scan, bytes, sizeof(bytes), 0, &got);
	if (rc == 0)
		see_cell(seen, cell, bytes, got, what);
	return rc;
}

static void read_all(struct wcs_table *table, struct seen *seen, const char *what)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_scan_open(table, &range, &filter, &scan), broken = 0;

	memset(seen, 0, sizeof(*seen));
	ck_assert_int_eq(rc, 0);
	while ((rc = wcs_scan_next(scan, &cell)) == 1)
		if (read_cell(scan, seen, &cell, what) != 0)
			broken++;
	ck_assert_msg(rc == 0 || rc == -EIO, "%s: error %d of a scan", what, rc);
	wcs_scan_close(scan);
	seen->whole = rc == 0 && broken == 0;
}

/* The changes of the log that show: the first so many, or none from their middle. */
static int changes_seen(const struct seen *seen, const char *what)
{
	bool gone = seen->rows[5] == 0;
	int count = 0;

	while (count < ROWS - TABLE_ROWS && seen->rows[TABLE_ROWS + count] == 1)
		count++;
	for (int i = count; i < ROWS - TABLE_ROWS; i++)
		ck_assert_msg(seen->rows[TABLE_ROWS + i] == 0, "%s: a gap before row %d", what,
			      TABLE_ROWS + i);
	ck_assert_msg(count == 0 || (gone && seen->new_value), "%s: first changes missing", what);
	ck_assert_msg(!gone || seen->new_value, "%s: the first change missing", what);
	return count + gone + seen->new_value;
}

static void expect_whole(const struct seen *seen, const struct damage *damage, const char *what)
{
	bool cut_log = damage->kind == CUT && strstr(damage->file, ".log");
	int changes = changes_seen(seen, what);

	for (int i = 0; i < TABLE_ROWS; i++)
		ck_assert_msg(i == 5 || seen->rows[i] == 1, "%s: row %d %d times", what, i,
			      seen->rows[i]);
	ck_assert_msg(seen->big, "%s: no large value", what);
	ck_assert_msg(cut_log || changes == CHANGES, "%s: %d of %d changes", what, changes,
		      CHANGES);
}

/* Each row by itself, as a mount looks cells up. */
static void look_up(struct wcs_table *table, const struct damage *damage, const char *what)
{
	bool log = strstr(damage->file, ".log");

	for (int i = 0; i < ROWS; i++) {
		struct wcs_cell_info info;
		struct wcs_value *value;
		char bytes[SMALL];
		size_t got = 0;
		int rc = wcs_value_open(table, suite_text(row_name(i)), "f", suite_text("q"),
					WCS_TS_NEWEST, &value);

		if (rc == -EIO || (rc == -ENOENT && (i == 5 || (log && i >= TABLE_ROWS))))
			continue;
		ck_assert_msg(rc == 0, "%s: error %d of row %d", what, rc, i);
		info = *wcs_value_info(value);
		ck_assert_msg(info.size == SMALL && info.ts == 1, "%s: row %d is another", what, i);
		ck_assert_int_eq(wcs_value_read(value, bytes, SMALL, 0, &got), 0);
		ck_assert_msg((i != 5 || log) && (is_pattern(bytes, got, SMALL,
							     i ? (unsigned int)i : NEW_SEED) ||
						  (log && i == 0)),
			      "%s: another value of row %d", what, i);
		wcs_value_close(value);
	}
}

static void expect_words(const struct damage *damage, const char *what)
{
	const char *name = strrchr(damage->file, '/');

	name = name ? name + 1 : damage->file;
	ck_assert_msg(strstr(fault.text, name), "%s: its name is not in: %s", what, fault.text);
	ck_assert_msg(strstr(fault.text, "fsck.rowfs"), "%s: no advice in: %s", what, fault.text);
}

static int refused, unread, unharmed;

static void try_to_read(const struct damage *damage)
{
	struct wcs_store *store;
	struct wcs_table *table;
	struct seen seen;
	char what[128];
	int rc;

	describe(damage, what, sizeof(what));
	inflict(damage);
	rc = wcs_store_open(copy, &options, &store, &fault);
	if (rc != 0) {
		ck_assert_msg(rc == -EIO, "%s: error %d: %s", what, rc, fault.text);
		expect_words(damage, what);
		refused++;
		return;
	}
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	look_up(table, damage, what);
	read_all(table, &seen, what);
	if (seen.whole)
		expect_whole(&seen, damage, what);
	unread += !seen.whole;
	unharmed += seen.whole;
	wcs_table_close(table);
	wcs_store_close(store);
}

START_TEST(test_right_or_an_error)
{
	make_base();
	for_each_damage(16, 16, try_to_read);
	ck_assert_int_gt(refused, 0);
	ck_assert_int_gt(unread, 0);
	ck_assert_int_gt(unharmed, 0);
	remove_tree(base);
	remove_tree(copy);
}
END_TEST

/* ---- Repairs ----------------------------------------------------------------------------- */

static char quarantine[300];

static struct wcs_check_result check(bool repair, const char *what)
{
	struct wcs_check_options checks = {.repair = repair, .quarantine = quarantine};
	struct wcs_check_result result;
	int rc = wcs_store_check(copy, &checks, &result, &fault);

	ck_assert_msg(rc == 0, "%s: error %d of the check: %s", what, rc, fault.text);
	return result;
}

/* Rows whose table's description was lost are in the quarantine: of the log all. */
static void expect_in_quarantine(const char *what)
{
	char command[400], name[24];

	for (int i = TABLE_ROWS; i < ROWS; i++) {
		snprintf(name, sizeof(name), "%s", row_name(i));
		snprintf(command, sizeof(command), "grep -q '\"key\":\"%s\"' '%s/rows.json'", name,
			 quarantine);
		ck_assert_msg(system(command) == 0, "%s: row %s is not in the quarantine", what,
			      name);
	}
}

/* Is lost at most what the damage hit? A flipped bit takes a block of a table, which has 4 KiB, so
 * 13 rows at most; and of a log what follows. */
static void expect_the_rest(const struct seen *seen, const struct damage *damage, const char *what)
{
	bool log = strstr(damage->file, ".log"), table = strstr(damage->file, ".ldb");
	int lost = 0;

	if (!log && !table) {
		expect_whole(seen, damage, what);
		return;
	}
	for (int i = 1; i < TABLE_ROWS; i++)
		lost += i != 5 && seen->rows[i] == 0;
	if (log)
		ck_assert_msg(lost == 0 && seen->rows[0] && seen->big, "%s: rows of the table",
			      what);
	else
		ck_assert_msg(changes_seen(seen, what) == CHANGES, "%s: changes of the log", what);
	ck_assert_msg(damage->kind != FLIP || lost <= 13, "%s: %d rows are lost", what, lost);
}

/* After a repair all can be read, is what once was there, and is all that the damage did not hit.
 */
static void repair(const struct damage *damage)
{
	struct wcs_check_result first, second;
	struct wcs_store *store;
	struct wcs_table *table;
	struct seen seen;
	char what[128];
	int rc;

	describe(damage, what, sizeof(what));
	inflict(damage);
	snprintf(quarantine, sizeof(quarantine), "%s.quarantine", copy);
	remove_tree(quarantine);
	first = check(false, what);
	ck_assert_msg(first.corrected == 0, "%s: corrected without leave", what);
	second = check(true, what);
	ck_assert_msg((first.found > 0) == (second.found > 0), "%s: found at one time only", what);
	ck_assert_msg(second.corrected == second.found, "%s: not all corrected", what);
	second = check(false, what);
	ck_assert_msg(second.found == 0, "%s: not clean after a repair", what);
	rc = wcs_store_open(copy, &options, &store, &fault);
	ck_assert_msg(rc == 0, "%s: not to be opened after a repair: %s", what, fault.text);
	unharmed += first.found == 0;
	if (wcs_table_open(store, "t", &table) == 0) { /* its description may be lost */
		read_all(table, &seen, what);
		ck_assert_msg(seen.whole, "%s: not to be read after a repair", what);
		if (first.found == 0)
			expect_whole(&seen, damage, what);
		expect_the_rest(&seen, damage, what);
		wcs_table_close(table);
	} else {
		expect_in_quarantine(what);
	}
	wcs_store_close(store);
}

START_TEST(test_repaired_or_unharmed)
{
	make_base();
	unharmed = 0;
	for_each_damage(1, 5, repair);
	ck_assert_int_gt(unharmed, 0);
	remove_tree(quarantine);
	remove_tree(base);
	remove_tree(copy);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "right or an error", test_right_or_an_error, 240);
	suite_add_once(suite, "repaired or unharmed", test_repaired_or_unharmed, 240);
}

int main(void)
{
	return suite_main("store: damaged files", make);
}
