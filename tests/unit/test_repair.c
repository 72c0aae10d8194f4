/* SPDX-License-Identifier: MIT */
/*
 * Stores damaged in many places: reading gives the right cells or an error, an error at opening
 * names the file and fsck.rowfs, and a repair loses no more than the damage hit, also one that is
 * interrupted. tests/e2e/test_fsck_files.sh has single kinds of damage.
 *
 * A power cut leaves zeros from some write, or from some sector of one, on, when the filesystem has
 * the length of a log but not its last bytes: just the changes whose records end before it must be
 * there. A log whose records have damaged headers is none that was being written.
 */
#include "tests/unit/damage.h"

#include "tests/crash/fault.h"

#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HEAD = 7,
	SECTOR = 512,
	CHANGES = 22,
	LAST = CHANGES - 1,
	BLOCK_CELLS = 16,
	CALLS_MAX = 2000
};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* One table, and a log. */
static const struct damage_shape small = {
	.sessions = 1, .rows = 40, .size = 300, .big = true, .changes = CHANGES};
/* Small records, and some that span blocks of LevelDB's. */
static const struct damage_shape torn = {
	.sessions = 1, .rows = 40, .size = 300, .changes = CHANGES, .limit = 900, .longs = true};
/* All records are in one block. */
static const struct damage_shape short_log = {
	.sessions = 1, .rows = 40, .size = 300, .changes = CHANGES, .limit = 60};

static char log_name[64], manifest_name[64];
static unsigned char *bytes; /* of the log */
static size_t size;

static void make(const struct damage_shape *shape)
{
	damage_make(shape);
	bytes = damage_bytes(".log", &size);
	suite_store_file(damage_copy, ".log", log_name);
	suite_store_file(damage_copy, "MANIFEST-", manifest_name);
}

static void remove_all(void)
{
	free(bytes);
	damage_remove();
}

/* ---- Every file -------------------------------------------------------------------------- */

static int refused, unread, unharmed;

/* A log that is cut has lost the last of its changes, as after a power cut; never one from their
 * middle. */
static void expect_whole(bool cut_log)
{
	int changes = CHANGES;

	while (cut_log && changes > 0 && strcmp(damage_seen.cells, damage_states[changes]) != 0)
		changes--;
	damage_expect(damage_states[changes]);
}

static void read_damaged(const char *file, bool log, bool cut)
{
	const char *name = strrchr(file, '/');

	if (damage_look(false) != 0) {
		damage_expect_refused(name ? name + 1 : file);
		refused++;
		return;
	}
	damage_need(log || damage_seen.stale == 0, "%d rows are old", damage_seen.stale);
	unread += !damage_seen.whole;
	if (damage_seen.whole)
		expect_whole(log && cut);
}

/* A flipped bit takes a block of a table, and damage to a log only changes that it has. */
static void repair_damaged(bool log, bool table, bool cut)
{
	int found = damage_check(false), lost;

	damage_need((damage_mend() > 0) == (found > 0), "found at one time only");
	unharmed += found == 0;
	damage_need(damage_seen.table, "its description is lost");
	lost = damage_lost(false);
	damage_need(damage_lost(!log) == 0, "rows beside the damage are lost");
	damage_need(log || !strstr(damage_seen.cells, "r005/"), "r005 is back");
	damage_need(!log || strstr(damage_seen.cells, "r000/f/q@"), "r000 is lost");
	damage_need(*damage_what != 'f' || lost < BLOCK_CELLS, "%d are lost", lost);
	if (found == 0 || (!log && !table))
		expect_whole(log && cut);
}

static void damage_place_of(const char *file, const char *commands, bool mend)
{
	bool log = strstr(file, ".log"), table = strstr(file, ".ldb"), cut = *commands == 'c';

	damage("%s", commands);
	read_damaged(file, log, cut);
	if (mend) {
		damage("%s", commands);
		repair_damaged(log, table, cut);
	}
}

/* Many places of every file: its first and last bytes, and some between, of which some are
 * repaired. */
SUITE_TEST(test_every_file, 240)
{
	static const char *const patterns[] = {"ROWFS", "TABLES", "data/[CM0-9]*"};
	char text[300];
	glob_t found;

	make(&small);
	for (int i = 0; i < COUNT(patterns); i++) {
		snprintf(text, sizeof(text), "%s/base/%s", damage_place, patterns[i]);
		SUITE_OK(glob(text, i > 0 ? GLOB_APPEND : 0, NULL, &found));
	}
	ck_assert_uint_ge(found.gl_pathc, 6);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *file = found.gl_pathv[i] + strlen(damage_place) + 6;
		struct stat st;

		SUITE_OK(stat(found.gl_pathv[i], &st));
		for (off_t at = 0; at < st.st_size; at++) {
			off_t edge = at < st.st_size - 1 - at ? at : st.st_size - 1 - at;
			bool mend = edge == 0 || at % (st.st_size / 5 + 1) == 0;

			if (edge >= (off_t)suite_rounds(8, 16) && at % (st.st_size / 16 + 1) != 0 &&
			    !mend)
				continue;
			snprintf(text, sizeof(text), "flip %s %lld", file, (long long)at);
			damage_place_of(file, text, mend);
			snprintf(text, sizeof(text), "cut %s %lld", file, (long long)at);
			damage_place_of(file, text, mend);
		}
		snprintf(text, sizeof(text), "rm %s", file);
		damage_place_of(file, text, true);
	}
	globfree(&found);
	ck_assert(refused > 0 && unread > 0 && unharmed > 0);
	remove_all();
}

/* ---- Descriptions ------------------------------------------------------------------------ */

static const struct damage_shape described = {
	.schema = "{\"version\":1,\"tables\":{\"t\":{\"delimiter\":\"|\",\"families\":"
		  "{\"f\":{\"gc\":\"maxversions=3\",\"type\":\"bytes\"},"
		  "\"n\":{\"gc\":\"never\",\"type\":\"intsum\"}}},"
		  "\"u\":{\"delimiter\":\"#\",\"families\":{\"g\":{"
		  "\"gc\":\"maxage=10d\",\"type\":\"bytes\"}}}}}\n",
	.sessions = 1,
	.rows = 200,
	.size = 16};

/* Does a finding say that the row can be lost? */
static bool is_told(const char *row)
{
	for (const char *line = damage_findings; *line; line = strchr(line, '\n') + 1) {
		char from[16] = "", to[16] = "~";

		if (strncmp(line, "table t, ", 9) != 0 ||
		    !memmem(line, strcspn(line, "\n"), "cells there may be lost", 23))
			continue;
		damage_need(sscanf(line, "table t, rows from %15[^: ] to %15[^: ]", from, to) > 0,
			    "%s", line);
		if (strcmp(from, row) <= 0 && strcmp(row, to) <= 0)
			return true;
	}
	return false;
}

/* The only table has the rows and, in its last block, the descriptions: both store's tables keep
 * names, delimiters, policies and types, and no row goes untold. */
SUITE_TEST(test_one_byte_takes_no_description, 240)
{
	char path[512], row[16];
	int restored = 0;
	off_t table;

	make(&described);
	table = forge_file(damage_copy, ".ldb", path);
	for (off_t at = 0; at < table; at += (off_t)suite_rounds(59, 19)) {
		damage("flip .ldb %lld", (long long)at);
		restored += damage_mend() > 2;
		damage_need(!strstr(damage_findings, "lost-"), "%s", damage_findings);
		damage_need(strcmp(damage_seen.schema, described.schema) == 0, "%s",
			    damage_seen.schema);
		for (int i = 0; i < described.rows; i++) {
			snprintf(row, sizeof(row), "r%03d", i);
			damage_need(strstr(damage_seen.cells, row) || is_told(row),
				    "%s is neither there nor told", row);
		}
	}
	ck_assert_int_gt(restored, (int)suite_rounds(3, 10));
	remove_all();
}

/* ---- Torn logs --------------------------------------------------------------------------- */

/* The cells behind the changes whose records end before the place. */
static const char *cells_before(off_t place)
{
	int changes = 0;

	for (int i = 0; i < damage_piece_count && damage_pieces[i].end <= place; i++)
		changes += damage_pieces[i].ends;
	return damage_states[changes];
}

/* Zeros from there on: at a sector or a piece nothing is lost but the changes behind it. In the
 * middle of a record LevelDB would call it damage: it is cut, and said. */
static void tear(off_t place)
{
	bool starts = place % SECTOR == 0, cut = false;
	int rc;

	for (int i = 0; i < damage_piece_count; i++) {
		const struct damage_piece *piece = &damage_pieces[i];

		starts |= piece->at == place;
		cut |= place > piece->at ? place < piece->end
					 : place == piece->at && i > 0 && !piece[-1].ends;
	}
	damage("zero .log %lld %lld", (long long)place, (long long)size - place);
	rc = damage_look(false);
	damage_need(rc == 0 || (rc == -EIO && !starts), "%s", damage_seen.fault.text);
	if (rc != 0)
		return;
	damage_need(!starts || damage_seen.warnings == cut, "%d warnings", damage_seen.warnings);
	ck_assert(!damage_seen.warnings || strstr(damage_seen.warning, log_name + 5));
	damage_expect(cells_before(place));
	ck_assert_int_eq(damage_look(false), 0);
	damage_expect(cells_before(place));
	ck_assert_int_eq(damage_seen.warnings, 0);
}

SUITE_TEST(test_zeros_to_the_end, 120)
{
	make(&torn);
	for (int i = 0; i < damage_piece_count; i++)
		tear(damage_pieces[i].at);
	for (off_t place = SECTOR; place < (off_t)size; place += SECTOR)
		if (place / SECTOR % 4 == 1 || place > (off_t)size - 4096)
			tear(place);
	for (off_t place = 100; place < (off_t)size; place += 5003)
		tear(place);
	remove_all();
}

SUITE_TEST(test_data_behind, 60)
{
	make(&torn);
	for (int i = 1; i < damage_piece_count - 1; i += 3) {
		long long at = damage_pieces[i].at;

		damage("zero .log %lld %lld", at, damage_pieces[i].end - at);
		damage_expect_refused(log_name);
		damage("zero .log %lld %lld", at, (long long)size - 1 - at);
		damage_expect_refused(log_name);
	}
	remove_all();
}

/* Edits up to one that crosses a sector's end; from there on it is zeros. */
SUITE_TEST(test_torn_manifest, 60)
{
	char path[512];
	off_t end;

	make(&torn);
	damage(" ");
	do {
		forge(damage_copy, "edit 3 1000");
		end = forge_file(damage_copy, "MANIFEST-", path) % SECTOR;
	} while (end == 0 || end >= HEAD + 3);
	snprintf(path, sizeof(path), "zero MANIFEST- -%d %d", (int)end, (int)end);
	forge(damage_copy, path);
	ck_assert_int_eq(damage_look(false), 0);
	ck_assert_int_eq(damage_seen.warnings, 1);
	ck_assert_ptr_nonnull(strstr(damage_seen.warning, manifest_name + 5));
	damage_expect(damage_all);
	remove_all();
}

/* ---- Damaged records --------------------------------------------------------------------- */

#define LENGTH	 "a record of a wrong length"
#define TYPE	 "a record of an unknown type"
#define CHECKSUM "a record whose checksum is wrong"

/* Bytes put at a place of a record. */
static const struct header {
	int at;
	const char *bytes;
	const char *found; /* the finding's words, where no zeros follow */
	bool not_last;	   /* in the last record it cannot be told from a power cut */
} headers[] = {
	{5, "40", LENGTH, false},	    /* which fits into the block */
	{5, "f0", LENGTH, false},	    /* beyond the block */
	{5, "40017a7a", LENGTH, true},	    /* and a byte of the record */
	{0, "7a7a7a7a2040", LENGTH, true},  /* and a checksum */
	{6, "40", CHECKSUM, false},	    /* no type */
	{5, "4040", TYPE, false},	    /* and no type */
	{5, "4000", TYPE, false},	    /* and the type zero */
	{5, "4002", LENGTH, false},	    /* and the type of a first piece */
	{5, "4003", LENGTH, false},	    /* of a middle piece */
	{5, "4004", LENGTH, false},	    /* of a last piece */
	{0, "67617262616765", TYPE, false}, /* garbage */
	{0, "ffffffffffff", LENGTH, false}, /* bits that are all set */
	{0, "676172626167652c20616e64206d6f7265206f66206974", TYPE, false}, /* more garbage */
};

/* A check finds that in the copy's file, and a repair leaves those cells. */
static void expect_repaired(const char *found, const char *cells)
{
	damage_expect_refused(log_name);
	damage_need(damage_check(false) == 1 && strstr(damage_findings, found), "no %s, but %s",
		    found, damage_findings);
	damage_need(damage_mend() == 1, "not corrected");
	damage_expect(cells);
}

/* In two records, which may be one, with so many zeros behind the log: the rows of their changes go
 * alone. */
static void damage_records(const struct header *header, int one, int other, int zeros)
{
	char *cells = strdup(damage_all), found[200], row[8];

	snprintf(found, sizeof(found), "%s: at %lld: %s", log_name,
		 (long long)damage_pieces[one].at, zeros ? "a record " : header->found);
	damage("write .log %lld %s; write .log %lld %s; zero .log %zu %d",
	       (long long)damage_pieces[one].at + header->at, header->bytes,
	       (long long)damage_pieces[other].at + header->at, header->bytes, size, zeros);
	for (int record = one;; record = other) {
		char *start, *end;

		snprintf(row, sizeof(row), "r%03d/", short_log.rows + record);
		start = strstr(cells, row);
		end = strchr(start, ' ') + 1;
		memmove(start, end, strlen(end) + 1);
		if (record == other)
			break;
	}
	expect_repaired(found, cells);
	free(cells);
}

SUITE_TEST(test_headers, 60)
{
	make(&short_log);
	damage_records(&headers[10], 4, 12, 0);
	for (const struct header *header = headers; header < headers + COUNT(headers); header++) {
		damage_records(header, 0, 0, 0);
		damage_records(header, 7, 7, 0);
		if (header->not_last)
			continue;
		damage_records(header, LAST, LAST, 0);
		damage_records(header, LAST, LAST, 40000);
	}
	remove_all();
}

/* A value that is the begin of another store's log, whose numbers are lower, stays a value. */
SUITE_TEST(test_log_in_value, 30)
{
	struct damage_shape shape = short_log;
	unsigned char *other;

	make(&short_log);
	other = bytes;
	shape.inner = (struct wcs_slice){other, (size_t)damage_pieces[5].at};
	damage_remove();
	make(&shape);
	for (int i = 0; i < COUNT(headers); i++)
		damage_records(&headers[i], 7, 7, 0);
	remove_all();
	free(other);
}

/* ---- MANIFESTs --------------------------------------------------------------------------- */

SUITE_TEST(test_cut_manifest, 240)
{
	const struct damage_shape shape = {.sessions = 3,
					   .rows = 40,
					   .size = 300,
					   .big = true,
					   .many = (int)suite_rounds(8, 12)};
	unsigned char *edits;
	int count = 0, damaged = 0;
	size_t len;

	make(&shape);
	edits = damage_bytes("MANIFEST", &len);
	for (size_t end = 0; end < len; count++) {
		ck_assert_int_eq(edits[end + 6], 1); /* a record in one piece */
		end += HEAD + (size_t)(edits[end + 4] | edits[end + 5] << 8);
		damage("cut MANIFEST %zu", end);
		if (damage_check(false) > 0) {
			damaged++;
			/* or a table that the edits before the cut still name */
			damage_expect_refused("/data/");
		}
		damage_mend();
		damage_expect(damage_all);
	}
	ck_assert_int_gt(count, 3);
	ck_assert_int_ge(damaged, 2);
	free(edits);
	remove_all();
}

/* ---- Interrupted repairs ----------------------------------------------------------------- */

/*
 * A repair is stopped at every call with which it writes, once by an error and once by the end of
 * the process, and at each place where it asks whether to go on. The store is then refused, or it
 * is complete. A store that can be mounted has never lost data, and never shows older data. The
 * next repair gives the result that the first one would have given.
 */
static const struct {
	const char *commands;
	bool all; /* is there after a repair; before it nothing can be opened */
} damages[] = {
	{"flip .ldb 200", false},
	{"flip .log 350", false},
	/* And the old table gets the highest number, as the output of a merge has. */
	{"flip MANIFEST 20; mv .ldb 000090.ldb", true},
};

static int stop_at, asked;

static bool go_on(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)what;
	(void)done;
	(void)total;
	return ++asked != stop_at;
}

static int repair(struct wcs_check_result *result, struct wcs_fault *fault)
{
	const struct wcs_check_options options = {
		.repair = true, .quarantine = damage_quarantine, .progress = go_on};

	asked = 0;
	return wcs_store_check(damage_copy, &options, result, fault);
}

static void arm(uint64_t at, int error)
{
	struct fault *fault = fault_control();

	snprintf(fault->below, sizeof(fault->below), "%s", damage_place);
	fault->count = fault->fired = fault->stays = 0;
	fault->error = (uint64_t)error;
	fault->at = at;
}

/* Each returns false if there is no such call. */
static bool fail_call(int n, const char *mended)
{
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	bool fired;
	int rc;

	arm((uint64_t)n, n % 2 ? ENOSPC : EIO);
	rc = repair(&result, &fault);
	fault_control()->at = 0;
	fired = fault_control()->fired;
	damage_need(rc == 0 || (fault.text[0] && fired), "call %d: error %d: %s", n, rc,
		    fault.text);
	if (fired && rc == 0 && result.found == result.corrected) {
		SUITE_OK(damage_look(true));
		damage_expect(mended);
	}
	return fired;
}

static bool kill_at(int n, const char *mended)
{
	char number[24];
	pid_t pid = fork();
	int status;

	(void)mended;
	snprintf(number, sizeof(number), "%d", n);
	if (pid == 0) {
		execl("/proc/self/exe", "test_repair", number, damage_place, (char *)NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
	return !WIFEXITED(status);
}

/* By a signal, as the program asks for it. */
static bool stop(int n, const char *mended)
{
	struct wcs_check_result result;
	int rc;

	(void)mended;
	stop_at = n;
	rc = repair(&result, NULL);
	stop_at = 0;
	damage_need(rc == (asked == n ? -ECANCELED : 0), "stopped at %d: %d", n, rc);
	return rc != 0;
}

static bool (*const ways[])(int n, const char *mended) = {fail_call, kill_at, stop};

SUITE_LOOP(test_interrupted, COUNT(damages) * 3, 240)
{
	const struct damage_shape shape = {
		.sessions = 3, .rows = 40, .size = 300, .big = true, .changes = 2};
	const char *commands = damages[_i / 3].commands;
	bool interrupted = true, all = damages[_i / 3].all;
	char *mended;
	int n;

	make(&shape);
	damage("%s", commands);
	damage_mend();
	mended = strdup(damage_seen.cells);
	if (all)
		damage_expect(damage_all);
	ck_assert_int_le(damage_lost(true) + damage_lost(false), BLOCK_CELLS);
	for (n = 0; interrupted; n += (int)suite_rounds(5, 1)) {
		ck_assert_int_lt(n, CALLS_MAX);
		damage("%s", commands);
		interrupted = ways[_i % 3](n + 1, mended);
		if (!interrupted)
			break;
		/* After a repair that something stopped. */
		if (all && damage_look(true) == 0)
			damage_expect(damage_all);
		else if (all)
			damage_expect_refused("");
		damage_mend();
		damage_expect(mended);
	}
	ck_assert_int_gt(n, _i % 3 == 2 ? 0 : 4);
	free(mended);
	remove_all();
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		struct wcs_check_result result;

		/* A process that is killed at a call: fork alone would leave it without LevelDB's
		 * threads. */
		damage_name(argv[2]);
		arm(strtoull(argv[1], NULL, 10), 0);
		repair(&result, NULL);
		return 0;
	}
	return suite_main("repairs", NULL);
}
