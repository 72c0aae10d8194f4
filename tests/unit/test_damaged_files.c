/* SPDX-License-Identifier: MIT */
/*
 * Every file of a small store, damaged in many places: reading gives the right cells or an error,
 * an error at opening names the file and fsck.rowfs, and a repair loses no more than the damage
 * hit. A log that is cut has lost the last of its changes, as after a power cut; never one from
 * their middle.
 */
#include "tests/unit/damage.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 32, BLOCK_CELLS = 15 };

static char files[FILES_MAX][64]; /* relative to the store */
static size_t file_count;
static int refused, unread, unharmed, restored;

/* ---- Damage ------------------------------------------------------------------------------ */

enum damage_kind { FLIP, CUT, REMOVE };

static struct damage {
	const char *file;
	enum damage_kind kind;
	off_t at;
	bool log, table;
	char what[128];
} damage;

static void add_files(const char *below)
{
	char pattern[300];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%s/*", damage_base, below);
	SUITE_OK(glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		if (strcmp(name, "data") == 0 || strstr(name, "LOCK") || strstr(name, "LOG"))
			continue;
		ck_assert_uint_lt(file_count, FILES_MAX);
		snprintf(files[file_count++], sizeof(files[0]), "%s/%.40s", below, name);
	}
	globfree(&found);
}

static void make_files(const struct damage_shape *shape)
{
	damage_make(shape);
	file_count = 0;
	add_files(".");
	add_files("data");
	ck_assert_uint_ge(file_count, 5);
}

static void inflict(const char *file, enum damage_kind kind, off_t at, void (*each)(void))
{
	static const char *const kinds[] = {"bit at", "cut to", "removed"};
	char path[512];

	damage = (struct damage){.file = file,
				 .kind = kind,
				 .log = strstr(file, ".log"),
				 .table = strstr(file, ".ldb")};
	snprintf(damage.what, sizeof(damage.what), "%s: %s %lld", file, kinds[kind], (long long)at);
	damage_fresh();
	damage_file(file, path);
	if (kind == FLIP)
		damage_flip(file, at);
	else
		ck_assert_int_eq(kind == CUT ? truncate(path, at) : unlink(path), 0);
	each();
}

/* Calls each for many places of every file: its first and last bytes, and some between. */
static void for_each_damage(int edge, int between, void (*each)(void))
{
	for (size_t i = 0; i < file_count; i++) {
		char path[512];
		struct stat st;
		off_t step;

		snprintf(path, sizeof(path), "%s/%s", damage_base, files[i]);
		SUITE_OK(stat(path, &st));
		step = st.st_size / between + 1;
		for (int kind = FLIP; kind <= CUT; kind++)
			for (off_t at = 0; at < st.st_size; at++)
				if (at < edge || st.st_size - at <= edge || at % step == 0)
					inflict(files[i], (enum damage_kind)kind, at, each);
		inflict(files[i], REMOVE, 0, each);
	}
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* All is there, but for the last changes of a log that is cut. */
static void expect_whole(void)
{
	int changes = damage_small.changes;

	while (damage.log && damage.kind == CUT && changes > 0 &&
	       strcmp(damage_seen.cells, damage_states[changes]) != 0)
		changes--;
	damage_expect(damage_states[changes], damage.what);
}

static void try_to_read(void)
{
	const char *name = strrchr(damage.file, '/');

	if (damage_look() != 0) {
		damage_expect_refused(name ? name + 1 : damage.file, damage.what);
		refused++;
		return;
	}
	ck_assert_msg(damage.log || damage_seen.stale == 0, "%s: %d rows are not what they were",
		      damage.what, damage_seen.stale);
	if (damage_seen.whole)
		expect_whole();
	unread += !damage_seen.whole;
	unharmed += damage_seen.whole;
}

SUITE_TEST(test_right_or_an_error, 240)
{
	make_files(&damage_small);
	for_each_damage(16, 16, try_to_read);
	ck_assert_int_gt(refused, 0);
	ck_assert_int_gt(unread, 0);
	ck_assert_int_gt(unharmed, 0);
	damage_remove();
}

/* ---- Repairs ----------------------------------------------------------------------------- */

static void repair(void)
{
	int found = damage_check(false, damage.what);
	char command[400];

	ck_assert_msg((damage_mend(damage.what) > 0) == (found > 0), "%s: found at one time only",
		      damage.what);
	if (found == 0)
		expect_whole();
	unharmed += found == 0;
	/* Rows whose table's description was lost are in the quarantine: of the log all. */
	for (int i = 3; i < damage_small.changes && !damage_seen.table; i++) {
		snprintf(command, sizeof(command), "grep -q '\"key\":\"r%03d\"' '%s/rows.json'",
			 damage_small.rows + i, damage_quarantine);
		ck_assert_msg(system(command) == 0, "%s: row %d is not in the quarantine",
			      damage.what, damage_small.rows + i);
	}
	if (!damage_seen.table)
		return;
	/* A flipped bit takes a block of a table, and damage to a log only changes that it has. */
	if (!damage.log && !damage.table)
		expect_whole();
	if (damage.log)
		ck_assert_msg(damage_lost(false) == 0 && strstr(damage_seen.cells, "r000/f/q@"),
			      "%s: rows of the table", damage.what);
	else
		ck_assert_msg(damage_lost(true) == 0 && !strstr(damage_seen.cells, "r005/"),
			      "%s: changes of the log", damage.what);
	ck_assert_msg(damage.kind != FLIP || damage_lost(false) <= BLOCK_CELLS, "%s: %d are lost",
		      damage.what, damage_lost(false));
}

SUITE_TEST(test_repaired_or_unharmed, 240)
{
	make_files(&damage_small);
	for_each_damage(1, 5, repair);
	ck_assert_int_gt(unharmed, 0);
	damage_remove();
}

/* ---- Descriptions ------------------------------------------------------------------------ */

static const struct damage_shape described = {
	.schema = "{\"tables\":{\"t\":{\"delimiter\":\"|\",\"families\":{\"f\":\"maxversions=3\","
		  "\"n\":{\"type\":\"intsum\"}}},\"u\":{\"families\":{\"g\":\"maxage=10d\"}}}}",
	.sessions = 1,
	.rows = 200,
	.size = 16};
static const char described_line[] =
	"{\"version\":1,\"tables\":{\"t\":{\"delimiter\":\"|\",\"families\":"
	"{\"f\":{\"gc\":\"maxversions=3\",\"type\":\"bytes\"},"
	"\"n\":{\"gc\":\"never\",\"type\":\"intsum\"}}},"
	"\"u\":{\"delimiter\":\"#\",\"families\":{\"g\":{"
	"\"gc\":\"maxage=10d\",\"type\":\"bytes\"}}}}}\n";

/* Does a finding say that the row can be lost? */
static bool is_told(const char *row)
{
	for (const char *line = damage_findings; *line; line = strchr(line, '\n') + 1) {
		char from[16] = "", to[16] = "~";

		if (strncmp(line, "table t, ", 9) != 0 ||
		    !memmem(line, strcspn(line, "\n"), "cells there may be lost", 23))
			continue;
		ck_assert_msg(sscanf(line, "table t, rows from %15[^: ] to %15[^: ]", from, to) > 0,
			      "%s", line);
		if (strcmp(from, row) <= 0 && strcmp(row, to) <= 0)
			return true;
	}
	return false;
}

/* All tables keep their names, delimiters, policies and types, and no row goes untold. */
static void repair_described(void)
{
	restored += damage_mend(damage.what) > 2;
	ck_assert_ptr_null(strstr(damage_findings, "lost-"));
	ck_assert_str_eq(damage_seen.schema, described_line);
	for (int i = 0; i < described.rows; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%03d", i);
		ck_assert_msg(strstr(damage_seen.cells, row) || is_told(row),
			      "%s: %s is neither there nor told", damage.what, row);
	}
}

/* The only table has the rows and, in its last block, the descriptions. */
SUITE_TEST(test_one_byte_takes_no_description, 240)
{
	char path[512], file[64];
	off_t size;

	damage_make(&described);
	damage_fresh();
	size = damage_file(".ldb", path);
	snprintf(file, sizeof(file), "data%s", strrchr(path, '/'));
	for (off_t at = 0; at < size; at += 19)
		inflict(file, FLIP, at, repair_described);
	ck_assert_int_gt(restored, 10);
	damage_remove();
}
