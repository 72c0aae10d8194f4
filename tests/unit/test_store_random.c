/* SPDX-License-Identifier: MIT */
/*
 * The same random operations on both engines, with the same clock: each must give the same result,
 * and the same content afterwards. Of the chunks in LevelDB those are left that the cells need.
 *
 * The seed is printed. ROWFS_SEED and ROWFS_STEPS in the environment choose others.
 */
#include "suite.h"

#include "leveldb/engine.h"
#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANDOM_STEPS	4000
#define RANDOM_FAMILIES 4 /* the last does not exist */
#define RANDOM_BUFFERS	256
#define RANDOM_BATCH	12

static const char *const random_families[RANDOM_FAMILIES] = {"a", "b", "f", "none"};

struct random_run {
	uint64_t state;
	struct suite suites[SUITE_ENGINES];
	char text[4096]; /* what was done last */
	size_t text_len;
	char *buffers[RANDOM_BUFFERS]; /* what the present operation borrows */
	size_t buffer_count;
	int moved;	/* moves that went well */
	size_t batched; /* mutations in batches that did */
};

static uint32_t random_below(struct random_run *run, uint32_t limit)
{
	return suite_random(&run->state) % limit;
}

__attribute__((format(printf, 2, 3))) static void random_say(struct random_run *run,
							     const char *format, ...)
{
	size_t room = sizeof(run->text) - run->text_len;
	va_list args;
	int put;

	va_start(args, format);
	put = vsnprintf(run->text + run->text_len, room, format, args);
	va_end(args);
	run->text_len += (size_t)put < room ? (size_t)put : room - 1;
}

static char *random_buffer(struct random_run *run, size_t len)
{
	char *made = malloc(len + 1);

	ck_assert_ptr_nonnull(made);
	ck_assert_uint_lt(run->buffer_count, RANDOM_BUFFERS);
	run->buffers[run->buffer_count++] = made;
	return made;
}

/* Short bytes of a small alphabet around the delimiter. */
static struct wcs_slice random_bytes(struct random_run *run, size_t shortest, size_t longest)
{
	static const char alphabet[] = {'\0', '"', '#', '$', 'a', '\xff'};
	size_t len = shortest + random_below(run, (uint32_t)(longest - shortest + 1));
	char *bytes = random_buffer(run, len);

	for (size_t i = 0; i < len; i++)
		bytes[i] = alphabet[random_below(run, sizeof(alphabet))];
	random_say(run, " '");
	for (size_t i = 0; i < len; i++)
		random_say(run, "%02x", (unsigned char)bytes[i]);
	random_say(run, "'");
	return (struct wcs_slice){bytes, len};
}

static struct wcs_slice random_value(struct random_run *run)
{
	uint32_t kind = random_below(run, 40);
	size_t len = kind < 15 ? 8 : kind < 36 ? random_below(run, 20) : random_below(run, 9000);
	char *bytes;

	if (kind == 39)
		len = random_below(run, 200000);
	bytes = random_buffer(run, len);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i < 1 || len > 20 ? 0x7f & (i * 3) : random_below(run, 3));
	random_say(run, " <%zu>", len);
	return (struct wcs_slice){bytes, len};
}

static int64_t random_ts(struct random_run *run)
{
	uint32_t kind = random_below(run, 100);
	int64_t ts = random_below(run, 6);

	if (kind > 95)
		ts = INT64_MAX - random_below(run, 2);
	else if (kind > 60)
		ts = 1000000 + random_below(run, 40);
	random_say(run, " ts=%lld", (long long)ts);
	return ts;
}

/* A missing family is rare. */
static const char *random_family(struct random_run *run)
{
	uint32_t i = random_below(run, 200) == 0 ? 3 : random_below(run, 3);

	random_say(run, " %s", random_families[i]);
	return random_families[i];
}

static void random_compare(struct random_run *run, char *memory, char *leveldb)
{
	ck_assert_msg(strcmp(memory, leveldb) == 0, "%.1500s:\nmemory  %.2500s\nleveldb %.2500s",
		      run->text, memory, leveldb);
	free(memory);
	free(leveldb);
}

/* ---- Mutations --------------------------------------------------------------------------- */

static void random_add_write(struct random_run *run, struct wcs_mutation *mutation)
{
	uint32_t kind = random_below(run, 10);
	const char *family = random_family(run);
	struct wcs_slice qualifier = random_bytes(run, 0, 1);

	if (kind < 4) {
		random_say(run, " set");
		wcs_mutation_set(mutation, family, qualifier, random_ts(run), random_value(run));
	} else if (kind < 6) {
		random_say(run, " set server");
		wcs_mutation_set(mutation, family, qualifier, WCS_TS_SERVER, random_value(run));
	} else if (kind < 8) {
		random_say(run, " set newest");
		wcs_mutation_set_newest(mutation, family, qualifier, random_ts(run),
					random_value(run));
	} else if (kind < 9) {
		int64_t replaces = random_below(run, 2) == 0 ? WCS_TS_NONE : random_ts(run);

		random_say(run, " append for %lld", (long long)replaces);
		wcs_mutation_append(mutation, family, qualifier, random_value(run), replaces);
	} else {
		int64_t delta = random_below(run, 8) == 0 ? INT64_MAX : random_below(run, 9) - 4;

		random_say(run, " increment %lld", (long long)delta);
		wcs_mutation_increment(mutation, family, qualifier, delta);
	}
}

static void random_add_delete(struct random_run *run, struct wcs_mutation *mutation)
{
	uint32_t kind = random_below(run, 20);
	const char *family = random_family(run);
	struct wcs_slice qualifier = random_bytes(run, 0, 1);

	if (kind < 10) {
		random_say(run, " delete cell");
		wcs_mutation_delete_cell(mutation, family, qualifier, random_ts(run));
	} else if (kind < 15) {
		random_say(run, " delete column");
		wcs_mutation_delete_column(mutation, family, qualifier);
	} else if (kind < 18) {
		random_say(run, " delete family");
		wcs_mutation_delete_family(mutation, family);
	} else {
		random_say(run, " delete row");
		wcs_mutation_delete_row(mutation);
	}
}

static void random_add_condition(struct random_run *run, struct wcs_mutation *mutation)
{
	const char *family = random_family(run);
	struct wcs_slice qualifier = random_bytes(run, 0, 1);
	struct wcs_slice expected = random_value(run);

	random_say(run, " if");
	wcs_mutation_if(mutation, family, qualifier, random_below(run, 3) == 0 ? &expected : NULL);
}

/* *writes: how many it has. */
static struct wcs_mutation *random_mutation(struct random_run *run, uint32_t *writes)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	uint32_t deletes = random_below(run, 3) == 0 ? random_below(run, 4) : 0;

	*writes = random_below(run, 5);
	if (random_below(run, 6) == 0)
		random_add_condition(run, mutation);
	for (uint32_t i = 0; i < deletes; i++)
		random_add_delete(run, mutation);
	for (uint32_t i = 0; i < *writes; i++)
		random_add_write(run, mutation);
	return mutation;
}

static void random_mutate(struct random_run *run)
{
	struct wcs_slice row = random_bytes(run, 1, 3);
	int64_t ts[SUITE_ENGINES] = {-7, -7};
	struct wcs_mutation *mutation;
	int rc[SUITE_ENGINES];
	uint32_t writes;

	random_say(run, " mutate:");
	mutation = random_mutation(run, &writes);
	for (int i = 0; i < SUITE_ENGINES; i++)
		rc[i] = wcs_row_mutate(run->suites[i].table, row, mutation, &ts[i]);
	/* Of several faults in one mutation any may be reported. */
	if (writes < 2)
		ck_assert_msg(rc[0] == rc[1], "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	ck_assert_msg((rc[0] == 0) == (rc[1] == 0), "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	ck_assert_msg(ts[0] == ts[1], "%.2000s: ts %lld, %lld", run->text, (long long)ts[0],
		      (long long)ts[1]);
	wcs_mutation_free(mutation);
}

/* Of the entries that fail the engines may give different errors, but not different entries. */
static void random_batch(struct random_run *run)
{
	struct wcs_entry entries[SUITE_ENGINES][RANDOM_BATCH];
	uint32_t count = 1 + random_below(run, RANDOM_BATCH), writes;
	size_t applied[SUITE_ENGINES] = {0};
	int rc[SUITE_ENGINES];

	random_say(run, " batch:");
	for (uint32_t i = 0; i < count; i++) {
		entries[0][i].row = random_bytes(run, 1, 3);
		entries[0][i].mutation = random_mutation(run, &writes);
		entries[0][i].ts = -7;
		random_say(run, ";");
		entries[1][i] = entries[0][i];
	}
	for (int i = 0; i < SUITE_ENGINES; i++)
		rc[i] = wcs_rows_mutate(run->suites[i].table, entries[i], count, &applied[i]);
	ck_assert_msg((rc[0] == 0) == (rc[1] == 0), "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	ck_assert_msg(applied[0] == applied[1], "%.2000s: %zu, %zu", run->text, applied[0],
		      applied[1]);
	ck_assert_msg((rc[0] == 0) == (applied[0] == count), "%.2000s: %d, %zu of %u", run->text,
		      rc[0], applied[0], count);
	for (size_t i = 0; i < applied[0]; i++)
		ck_assert_msg(entries[0][i].ts == entries[1][i].ts, "%.2000s: %zu: ts %lld, %lld",
			      run->text, i, (long long)entries[0][i].ts,
			      (long long)entries[1][i].ts);
	for (uint32_t i = 0; i < count; i++)
		wcs_mutation_free(entries[0][i].mutation);
	run->batched += applied[0];
}

/* ---- Moves ------------------------------------------------------------------------------- */

/* What a move names: mostly a cell that is there. */
struct random_cell {
	struct wcs_slice row;
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;
};

static struct wcs_slice random_copy(struct random_run *run, struct wcs_slice from)
{
	char *bytes = random_buffer(run, from.len);

	if (from.len > 0)
		memcpy(bytes, from.data, from.len);
	random_say(run, " '");
	for (size_t i = 0; i < from.len; i++)
		random_say(run, "%02x", (unsigned char)bytes[i]);
	random_say(run, "'");
	return (struct wcs_slice){bytes, from.len};
}

static const char *random_family_named(struct wcs_slice name)
{
	for (int i = 0; i < RANDOM_FAMILIES; i++)
		if (wcs_slice_compare(suite_text(random_families[i]), name) == 0)
			return random_families[i];
	return random_families[RANDOM_FAMILIES - 1];
}

/* One of the next cells behind a random row. False: there was none. */
static bool random_pick(struct random_run *run, struct random_cell *picked)
{
	struct wcs_range range = {.start = random_bytes(run, 0, 3)};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	uint32_t skip = random_below(run, 6);
	struct wcs_scan *scan;
	struct wcs_cell cell;
	bool found = false;

	ck_assert_int_eq(wcs_scan_open(run->suites[0].table, &range, &filter, &scan), 0);
	while (wcs_scan_next(scan, &cell) == 1) {
		found = true;
		if (skip-- == 0)
			break;
	}
	if (found && skip == UINT32_MAX) {
		random_say(run, " picked");
		picked->row = random_copy(run, cell.row);
		picked->family = random_family_named(cell.family);
		picked->qualifier = random_copy(run, cell.qualifier);
		picked->ts = cell.info.ts;
		random_say(run, " %s ts=%lld", picked->family, (long long)picked->ts);
	}
	wcs_scan_close(scan);
	return found && skip == UINT32_MAX;
}

static int64_t random_ts_near(struct random_run *run, int64_t ts)
{
	if (random_below(run, 2) == 0)
		return random_ts(run);
	if (ts < WCS_TS_MAX && ts > 0)
		ts += (int64_t)random_below(run, 3) - 1;
	random_say(run, " ts=%lld", (long long)ts);
	return ts;
}

static void random_move(struct random_run *run)
{
	struct random_cell cell;
	struct wcs_move move = {.kind = (enum wcs_move_kind)random_below(run, 5)};
	int64_t ts[SUITE_ENGINES] = {-7, -7};
	struct wcs_range row;
	struct wcs_filter all = {.each = WCS_EACH_CELL};
	int rc[SUITE_ENGINES];

	if (random_below(run, 5) == 0 || !random_pick(run, &cell)) {
		cell.row = random_bytes(run, 1, 3);
		cell.family = random_family(run);
		cell.qualifier = random_bytes(run, 0, 1);
		cell.ts = random_ts(run);
	}
	random_say(run, " move %d to", (int)move.kind);
	move.family = cell.family;
	move.from = cell.qualifier;
	move.from_ts = cell.ts;
	move.to = random_bytes(run, 0, 1);
	move.to_ts = random_ts_near(run, cell.ts);
	for (int i = 0; i < SUITE_ENGINES; i++)
		rc[i] = wcs_cells_move(run->suites[i].table, cell.row, &move, &ts[i]);
	ck_assert_msg(rc[0] == rc[1], "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	ck_assert_msg(ts[0] == ts[1], "%.2000s: ts %lld, %lld", run->text, (long long)ts[0],
		      (long long)ts[1]);
	run->moved += rc[0] == 0;
	row.start = cell.row;
	row.end = (struct wcs_slice){random_buffer(run, cell.row.len + 1), cell.row.len + 1};
	memcpy((char *)(uintptr_t)row.end.data, cell.row.data, cell.row.len);
	((char *)(uintptr_t)row.end.data)[cell.row.len] = '\0';
	random_compare(run, suite_scan(run->suites[0].table, &row, &all),
		       suite_scan(run->suites[1].table, &row, &all));
}

/* ---- Reads ------------------------------------------------------------------------------- */

static void random_scan(struct random_run *run)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = (enum wcs_each)random_below(run, 4)};
	const char *names[2];

	random_say(run, " scan each=%d", (int)filter.each);
	if (random_below(run, 2) == 0)
		range.start = random_bytes(run, 0, 3);
	random_say(run, " to");
	if (random_below(run, 2) == 0)
		range.end = random_bytes(run, 0, 3);
	if (random_below(run, 2) == 0) {
		filter.families = names;
		filter.family_count = random_below(run, 3);
		names[0] = random_family(run);
		names[1] = random_family(run);
		random_say(run, " %zu of them", filter.family_count);
	}
	random_say(run, " qualifiers");
	if (random_below(run, 3) == 0)
		filter.qualifier_from = random_bytes(run, 0, 1);
	random_say(run, " to");
	if (random_below(run, 3) == 0)
		filter.qualifier_to = random_bytes(run, 0, 2);
	if (random_below(run, 3) == 0)
		filter.ts_from = random_ts(run);
	random_say(run, " to");
	if (random_below(run, 3) == 0)
		filter.ts_to = random_ts(run);
	if (random_below(run, 2) == 0)
		filter.newest = random_below(run, 4);
	random_say(run, " newest=%u", filter.newest);
	random_compare(run, suite_scan(run->suites[0].table, &range, &filter),
		       suite_scan(run->suites[1].table, &range, &filter));
}

static void random_list(struct random_run *run)
{
	struct wcs_slice prefix;
	struct wcs_slice after;
	bool from_start = random_below(run, 2) == 0;

	random_say(run, " list");
	prefix = random_bytes(run, 0, 2);
	after = random_bytes(run, 0, 2);
	random_say(run, from_start ? " all" : " after");
	random_compare(run, suite_list(run->suites[0].table, prefix, from_start ? NULL : &after),
		       suite_list(run->suites[1].table, prefix, from_start ? NULL : &after));
}

static void random_get(struct random_run *run)
{
	struct wcs_slice row = random_bytes(run, 1, 3);
	const char *family = random_family(run);
	struct wcs_slice qualifier = random_bytes(run, 0, 1);
	int64_t ts = random_below(run, 2) == 0 ? WCS_TS_NEWEST : random_ts(run);
	struct wcs_cell_info info[SUITE_ENGINES] = {{.ts = 0}, {.ts = 0}};
	struct wcs_key_info key[SUITE_ENGINES];
	int rc[SUITE_ENGINES];

	random_say(run, " get");
	for (int i = 0; i < SUITE_ENGINES; i++) {
		struct wcs_table *table = run->suites[i].table;

		rc[i] = wcs_cell_get(table, row, family, qualifier, ts, &info[i]);
		ck_assert_int_eq(wcs_key_get(table, row, &key[i]), 0);
	}
	ck_assert_msg(rc[0] == rc[1] && info[0].ts == info[1].ts && info[0].size == info[1].size,
		      "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	if (ts == WCS_TS_NEWEST)
		ck_assert_msg(info[0].expires == info[1].expires, "%.2000s", run->text);
	ck_assert_msg(key[0].row == key[1].row && key[0].prefix == key[1].prefix, "%.2000s",
		      run->text);
}

static void random_drop(struct random_run *run)
{
	struct wcs_slice key = random_bytes(run, 0, 2);
	const struct wcs_slice *root = random_below(run, 8) == 0 ? NULL : &key;
	struct wcs_count count[SUITE_ENGINES];

	random_say(run, root == NULL ? " drop all" : " drop");
	for (int i = 0; i < SUITE_ENGINES; i++)
		ck_assert_int_eq(wcs_rows_count(run->suites[i].table, root, &count[i]), 0);
	ck_assert_msg(count[0].rows == count[1].rows && count[0].cells == count[1].cells &&
			      count[0].bytes == count[1].bytes,
		      "%.2000s", run->text);
	for (int i = 0; i < SUITE_ENGINES; i++) {
		ck_assert_int_eq(wcs_rows_drop(run->suites[i].table, root), 0);
		ck_assert_int_eq(wcs_rows_count(run->suites[i].table, root, &count[i]), 0);
		ck_assert_uint_eq(count[i].cells, 0);
	}
}

static void random_remove_family(struct random_run *run)
{
	const char *family = random_families[random_below(run, 3)];
	int rc[SUITE_ENGINES];

	random_say(run, " remove family %s", family);
	for (int i = 0; i < SUITE_ENGINES; i++) {
		rc[i] = wcs_family_remove(run->suites[i].table, family);
		if (rc[i] == 0)
			ck_assert_int_eq(wcs_family_create(run->suites[i].table, family), 0);
	}
	ck_assert_msg(rc[0] == rc[1], "%.2000s: %d, %d", run->text, rc[0], rc[1]);
}

static void random_set_policy(struct random_run *run, const char *family, const char *policy)
{
	random_say(run, " policy of %s: %s", family, policy);
	for (int i = 0; i < SUITE_ENGINES; i++)
		ck_assert_int_eq(wcs_family_set_gc(run->suites[i].table, family, policy, NULL), 0);
}

static void random_policy(struct random_run *run)
{
	static const char *const policies[] = {
		"never",	  "maxversions=1",
		"maxversions=2",  "maxversions=3 or maxage=1ms",
		"maxage=1ms",	  "maxversions=1 and maxage=1ms",
		"maxage=1000ms",  "(maxversions=2 and maxage=1ms) or maxversions=4",
		"never or never", "maxage=2ms and maxage=1ms or maxversions=5"};
	size_t count = sizeof(policies) / sizeof(policies[0]);

	random_set_policy(run, random_families[random_below(run, 3)],
			  policies[random_below(run, (uint32_t)count)]);
}

static void random_collect(struct random_run *run)
{
	random_say(run, " collect");
	for (int i = 0; i < SUITE_ENGINES; i++)
		ck_assert_int_eq(wcs_gc_run(run->suites[i].store), 0);
}

/* A clock that moves a little, mostly; now and then by what a policy counts in. */
static int64_t random_clock(struct random_run *run)
{
	int64_t clock = 1000000 + random_below(run, 30);

	return random_below(run, 3) == 0 ? clock + 1000 * random_below(run, 3) : clock;
}

static void random_check_all(struct random_run *run)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};

	random_say(run, " full scan");
	random_compare(run, suite_scan(run->suites[0].table, &range, &filter),
		       suite_scan(run->suites[1].table, &range, &filter));
}

static void random_step(struct random_run *run)
{
	uint32_t kind = random_below(run, 1000);

	run->text_len = 0;
	run->buffer_count = 0;
	run->suites[0].clock = random_clock(run);
	run->suites[1].clock = run->suites[0].clock;
	if (kind < 350)
		random_mutate(run);
	else if (kind < 450)
		random_batch(run);
	else if (kind < 600)
		random_move(run);
	else if (kind < 740)
		random_scan(run);
	else if (kind < 840)
		random_list(run);
	else if (kind < 960)
		random_get(run);
	else if (kind < 980)
		random_remove_family(run);
	else if (kind < 985)
		random_drop(run);
	else if (kind < 988)
		suite_reopen(&run->suites[SUITE_LEVELDB]);
	else if (kind < 994)
		random_policy(run);
	else if (kind < 996)
		random_collect(run);
	else
		random_check_all(run);
	for (size_t i = 0; i < run->buffer_count; i++)
		free(run->buffers[i]);
}

/* How many keys of a key space there are. */
static size_t random_count(struct random_run *run, char space)
{
	leveldb_iterator_t *iter = ldb_db_iterate(run->suites[SUITE_LEVELDB].store->db);
	size_t count = 0;
	size_t len;

	leveldb_iter_seek(iter, &space, 1);
	for (; leveldb_iter_valid(iter) && leveldb_iter_key(iter, &len)[0] == space; count++)
		leveldb_iter_next(iter);
	leveldb_iter_destroy(iter);
	return count;
}

/* The full scan before has read every value, so the chunks that are needed are there. */
static void random_check_chunks(struct random_run *run)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t needed = 0;

	ck_assert_int_eq(wcs_scan_open(run->suites[SUITE_LEVELDB].table, &range, &filter, &scan),
			 0);
	while (wcs_scan_next(scan, &cell) == 1)
		if (cell.info.size > WCS_VALUE_INLINE)
			needed += ldb_record_chunks(cell.info.size);
	wcs_scan_close(scan);
	for (int i = 0; i < 1000 && random_count(run, 'g') > 0; i++)
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	ck_assert_uint_eq(random_count(run, 'g'), 0);
	ck_assert_uint_eq(random_count(run, 'v'), needed);
}

static uint64_t random_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(test_engines_agree)
{
	static struct random_run run;
	uint64_t steps = random_setting("ROWFS_STEPS", RANDOM_STEPS);

	run.state = random_setting("ROWFS_SEED", (uint64_t)time(NULL));
	printf("ROWFS_SEED=%llu\n", (unsigned long long)run.state);
	fflush(stdout);
	suite_open(&run.suites[SUITE_MEMORY], SUITE_MEMORY);
	suite_open(&run.suites[SUITE_LEVELDB], SUITE_LEVELDB);
	for (uint64_t i = 0; i < steps; i++)
		random_step(&run);
	random_check_all(&run);
	for (int i = 0; i < 3; i++) /* what was hidden and is still there comes back */
		random_set_policy(&run, random_families[i], "never");
	random_check_all(&run);
	random_check_chunks(&run);
	if (steps >= RANDOM_STEPS)
		ck_assert_uint_gt(run.batched, steps / 10);
	if (steps >= RANDOM_STEPS)
		ck_assert_int_gt(run.moved, (int)(steps / 40));
	suite_close(&run.suites[SUITE_MEMORY]);
	suite_close(&run.suites[SUITE_LEVELDB]);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "engines agree", test_engines_agree, 600);
}

int main(void)
{
	return suite_main("store: random operations", make);
}
