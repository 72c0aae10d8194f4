/* SPDX-License-Identifier: MIT */
/*
 * Lines of changes. A second store gets each line as row JSON; it has the same policies and never
 * differs from the first. test_live.sh has the same on a mount, with the files' order and bounds.
 */
#include "tests/unit/random.h"

#include "store/table/table.h"

#include <time.h>

enum { STEPS = 1000, LINE_MAX_BYTES = 8 << 20 };

/* What the watch has told, oldest first. */
struct told {
	struct wcs_change *changes[64];
	size_t count;
	int missed; /* NULL was told */
};

static void tell(void *ctx, const struct wcs_table *table, struct wcs_change *change)
{
	struct told *told = ctx;

	(void)table;
	told->missed += change == NULL;
	ck_assert_uint_lt(told->count, sizeof(told->changes) / sizeof(told->changes[0]));
	if (change != NULL)
		told->changes[told->count++] = change;
}

/* The text of the change, which is freed; read in pieces of so many bytes. */
static char *text_of(struct wcs_change *change, size_t piece)
{
	struct wcs_change_reader *reader = wcs_change_reader_new();
	char *text = malloc(LINE_MAX_BYTES);
	size_t len = 0, got = 1;

	for (wcs_change_begin(reader, change); got > 0; len += got) {
		ck_assert_uint_lt(len + piece, LINE_MAX_BYTES);
		SUITE_OK(wcs_change_read(reader, text + len, piece, &got));
	}
	text[len] = 0;
	wcs_change_reader_free(reader);
	return text;
}

/* Writes all that was told to the mirror. */
static void follow(struct told *told, struct wcs_table *mirror)
{
	struct wcs_fault fault = {0};

	ck_assert_int_eq(told->missed, 0);
	for (size_t i = 0; i < told->count; i++) {
		char *text = text_of(told->changes[i], i % 2 == 0 ? 7 : 65536);

		ck_assert_msg(suite_load(mirror, text, &fault) == 0, "%s: %.300s", fault.text,
			      text);
		free(text);
	}
	told->count = 0;
}

static void expect_same(struct wcs_table *table, struct wcs_table *mirror, const char *step)
{
	char *one = suite_content(table), *two = suite_content(mirror);

	ck_assert_msg(strcmp(one, two) == 0, "%.300s\n%.1000s\n%.1000s", step, one, two);
	free(one);
	free(two);
}

/* ---- Text -------------------------------------------------------------------------------- */

/* The rows before, a change, and its line. The clock stands at 1,000,000. */
static const struct {
	const char *change, *line;
} cases[] = {
	{"{'key':'n','families':{'f':{'q':'new'}}}",
	 "{'key':'n','ts':1000000,'families':{'f':{'q':[{'ts':1000000,'value':'new'}]}}}"},
	{"{'key':'a#%01','families':{'f':{'%C3':[{'ts':7,'base64':'/"
	 "w=='}],'':[{'ts':1,'value':''}]}}}",
	 "{'key':'a#%01','ts':1000000,'families':{'f':{'':[{'ts':1,'value':''}],'%C3':[{'ts':7,"
	 "'base64':'/w=='}]}}}"},
	{"{'key':'r','delete':true}", "{'key':'r','ts':1000000,'delete':true}"},
	{"{'key':'r','delete':{'f':true,'a':{'x':true,'y':[3,2],'x%00':[1]}}}",
	 "{'key':'r','ts':1000000,'delete':{'a':{'x':true,'x%00':[1],'y':[2,3]},'f':true}}"},
	{"{'key':'r','delete':{'f':{'q':[5]}},'families':{'a':{'q':'v'},'f':{'q':[{'ts':4,'value':'"
	 "w'"
	 "},{'ts':6,'value':'x'}]}}}",
	 "{'key':'r','ts':1000000,'delete':{'f':{'q':[5]}},'families':{'a':{'q':[{'ts':1000000,"
	 "'value':'v'}]},'f':{'q':[{'ts':4,'value':'w'},{'ts':6,'value':'x'}]}}}"},
	{"{'key':'r','append':{'f':{'q':'+'}}}",
	 "{'key':'r','ts':1000000,'families':{'f':{'q':[{'ts':1000000,'value':'five+'}]}}}"},
	{"{'key':'r','increment':{'a':{'n':-1}}}",
	 "{'key':'r','ts':1000000,'families':{'a':{'n':[{'"
	 "ts':1000000,'base64':'//////////8='}]}}}"},
	{"{'key':'r'}", ""},
};

static void quotes(const char *from, char *to)
{
	for (; (*to = *from) != 0; from++, to++)
		if (*from == '\'')
			*to = '"';
}

SUITE_LOOP(test_lines, sizeof(cases) / sizeof(cases[0]), 10)
{
	struct told told = {.count = 0};
	const struct wcs_watch watch = {tell, &told};
	struct wcs_fault fault;
	char change[512], line[512], *text;
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	suite_set(s.table, "r", "f", "q", 5, "five");
	wcs_table_watch(s.table, &watch);
	quotes(cases[_i].change, change);
	quotes(cases[_i].line, line);
	SUITE_OK(suite_load(s.table, change, &fault));
	ck_assert_uint_eq(told.count, line[0] != 0);
	if (line[0] != 0) {
		text = text_of(told.changes[0], 100);
		ck_assert_int_eq(text[strlen(text) - 1], '\n');
		text[strlen(text) - 1] = 0;
		ck_assert_str_eq(text, line);
		free(text);
	}
	wcs_table_watch(s.table, NULL);
	suite_set(s.table, "r", "f", "q", 6, "six"); /* nobody is told */
	ck_assert_uint_eq(told.count, line[0] != 0);
	suite_close(&s);
}

/* A mirror stops at these. */
SUITE_TEST(test_gaps, 10)
{
	static const char *const gaps[] = {"{\"dropped\":\"a\"}\n", "{\"dropped\":\"\"}\n",
					   "{\"dropped\":\"\",\"family\":\"f\"}\n",
					   "{\"lost\":3}\n"};
	struct wcs_fault fault;
	struct suite s;

	suite_open(&s, SUITE_MEMORY);
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		ck_assert_int_eq(suite_load(s.table, gaps[i], &fault), -EINVAL);
		ck_assert_msg(strstr(fault.text, "gap") != NULL, "%s", fault.text);
	}
	suite_close(&s);
}

/* ---- Mirrors ----------------------------------------------------------------------------- */

static void copy_policies(struct wcs_table *from, struct wcs_table *to)
{
	for (int i = 0; i < RANDOM_FAMILIES - 1; i++) {
		struct wcs_family family;

		SUITE_OK(wcs_family_get(from, random_families[i], &family));
		SUITE_OK(wcs_family_set_gc(to, random_families[i], family.gc, NULL));
		wcs_family_clear(&family);
	}
}

/* Random mutations, batches and moves, in a plain and in a salted table. Hidden cells go with each
 * change of a policy, and the clock never goes back: the collector's deletes are no changes. */
SUITE_LOOP(test_mirror, 2, 600)
{
	static const char *const policies[] = {"never", "maxversions=2", "maxage=1ms",
					       "maxversions=1 and maxage=1ms"};
	static struct random_run run;
	struct told told = {.count = 0};
	const struct wcs_watch watch = {tell, &told};
	const struct suite *source = &run.suites[SUITE_LEVELDB];
	uint64_t steps = suite_setting("ROWFS_STEPS", suite_rounds(400, STEPS));
	struct suite mirror;

	run.state = suite_setting("ROWFS_SEED", (uint64_t)time(NULL));
	printf("ROWFS_SEED=%llu\n", (unsigned long long)run.state);
	random_open(&run);
	suite_open(&mirror, SUITE_LEVELDB);
	if (_i == 1)
		suite_salt(&run.suites[SUITE_LEVELDB], 16, 1);
	wcs_table_watch(source->table, &watch);
	for (uint64_t i = 0; i < steps; i++) {
		uint32_t kind = random_below(&run, 100);

		run.text_len = 0;
		run.buffer_count = 0;
		mirror.clock += random_below(&run, kind % 3 == 0 ? 1000 : 3);
		run.suites[0].clock = run.suites[1].clock = mirror.clock;
		if (kind < 60)
			random_mutate(&run);
		else if (kind < 70)
			random_batch(&run);
		else if (kind < 98)
			random_move(&run);
		else {
			for (int e = 0; e < SUITE_ENGINES; e++)
				SUITE_OK(wcs_gc_run(run.suites[e].store));
			SUITE_OK(wcs_gc_run(mirror.store));
			random_set_policy(&run, random_families[random_below(&run, 3)],
					  policies[random_below(&run, 4)]);
			copy_policies(source->table, mirror.table);
		}
		follow(&told, mirror.table);
		if (i % 16 == 0 || kind >= 98)
			expect_same(source->table, mirror.table, run.text);
		for (size_t b = 0; b < run.buffer_count; b++)
			free(run.buffers[b]);
	}
	expect_same(source->table, mirror.table, "end");
	random_close(&run);
	suite_close(&mirror);
}

/* ---- Values ------------------------------------------------------------------------------ */

static char *exported(struct wcs_table *table)
{
	struct wcs_export *export;
	char *text = malloc(LINE_MAX_BYTES);
	size_t got;

	SUITE_OK(wcs_export_open(table, NULL, WCS_EXPORT_ROWS, NULL, &export));
	SUITE_OK(wcs_export_read(export, text, LINE_MAX_BYTES - 1, &got));
	ck_assert_uint_lt(got, LINE_MAX_BYTES - 1);
	text[got] = 0;
	wcs_export_close(export);
	return text;
}

/* The cells of both, states of aggregates included. */
static void expect_exported(struct wcs_table *table, struct wcs_table *mirror)
{
	char *one = exported(table), *two = exported(mirror);

	ck_assert_str_eq(one, two);
	free(one);
	free(two);
}

static void set_types(struct wcs_table *table)
{
	SUITE_OK(wcs_family_set_type(table, "a", WCS_INTSUM));
	SUITE_OK(wcs_family_set_type(table, "b", WCS_INTHLL));
	SUITE_OK(wcs_family_set_type(table, "f", WCS_INTMAX));
}

static void merge_elements(struct wcs_table *table, int from, int to, bool replaces)
{
	unsigned char value[WCS_AGGREGATE_VALUE_MAX];
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *lines = malloc((size_t)(to - from) * 16), *end = lines;
	struct wcs_slice merged = {value, 0};

	for (; from < to; from++)
		end += sprintf(end, "e%d\n", from);
	SUITE_OK(wcs_hll_elements((struct wcs_slice){lines, (size_t)(end - lines)}, value,
				  &merged.len));
	SUITE_OK(replaces ? wcs_mutation_replace(mutation, "b", suite_text("u"), merged)
			  : wcs_mutation_merge(mutation, "b", suite_text("u"), WCS_TS_NEWEST,
					       merged));
	SUITE_OK(suite_mutate(table, "r", mutation, NULL));
	free(lines);
}

/* Sums, maxima and states, sparse and dense; replaced by smaller ones, and moved. */
SUITE_TEST(test_aggregates, 60)
{
	static const char *const texts[] = {
		"{\"key\":\"r\",\"increment\":{\"a\":{\"n\":5}}}",
		"{\"key\":\"r\",\"increment\":{\"a\":{\"n\":-9007199254740999}}}",
		"{\"key\":\"r\",\"families\":{\"f\":{\"m\":[{\"ts\":3,\"value\":-4}]}}}",
		"{\"key\":\"r\",\"families\":{\"f\":{\"m\":[{\"ts\":3,\"value\":-9}]}}}",
	};
	static const struct wcs_move moves[] = {
		{WCS_MOVE_STAMP, "b", {"u", 1}, 0, {NULL, 0}, 2000000},
		{WCS_MOVE_COLUMN, "b", {"u", 1}, 0, {"v", 1}, 0},
		{WCS_MOVE_COLUMN, "a", {"n", 1}, 0, {"k", 1}, 0},
	};
	struct told told = {.count = 0};
	const struct wcs_watch watch = {tell, &told};
	struct suite s, mirror;
	struct wcs_fault fault;

	suite_open(&s, SUITE_LEVELDB);
	suite_open(&mirror, SUITE_LEVELDB);
	set_types(s.table);
	set_types(mirror.table);
	wcs_table_watch(s.table, &watch);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		SUITE_OK(suite_load(s.table, texts[i], &fault));
		follow(&told, mirror.table);
		expect_exported(s.table, mirror.table);
	}
	for (int i = 0; i < 4; i++) {
		merge_elements(s.table, 100 * i, i == 2 ? 30000 : 100 * i + 50, i == 3);
		follow(&told, mirror.table);
		expect_exported(s.table, mirror.table);
	}
	merge_elements(s.table, 0, 30000, false);
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		SUITE_OK(wcs_cells_move(s.table, suite_text("r"), &moves[i], NULL));
		follow(&told, mirror.table);
		expect_exported(s.table, mirror.table);
	}
	suite_close(&s);
	suite_close(&mirror);
}

static void put_large(struct wcs_table *table, int64_t ts, size_t len, unsigned int seed, bool text)
{
	char *value = suite_pattern(len, seed);

	for (size_t i = 0; text && i < len; i++)
		value[i] = (char)('a' + (unsigned char)value[i] % 26);
	suite_put(table, suite_text("r"), "f", suite_text("q"), ts, (struct wcs_slice){value, len});
	free(value);
}

/* A mutation that writes a cell twice: its line has the last value, as the store has. */
SUITE_STORES(test_a_cell_that_is_written_twice, 30)
{
	static const size_t sizes[][2] = {{5000, 0}, {5000, 6000}, {0, 5000}};
	struct told told = {.count = 0};
	const struct wcs_watch watch = {tell, &told};
	struct suite mirror;

	suite_open(&mirror, SUITE_LEVELDB);
	wcs_table_watch(s->table, &watch);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		char *value = suite_pattern(6000, 7);

		SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), 2,
					  (struct wcs_slice){value, sizes[i][0]}));
		SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), 5, suite_text("other")));
		SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), 2,
					  (struct wcs_slice){value, sizes[i][1]}));
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		free(value);
		follow(&told, mirror.table);
		expect_exported(s->table, mirror.table);
	}
	suite_close(&mirror);
}

/* Values that are not in the memory of their line: of text, of any bytes, appended to and moved;
 * also when the cell has another value, or none, by the time that the line is read. */
SUITE_STORES(test_large, 120)
{
	static const size_t sizes[] = {4096, 4097, 65536, 65537, 3 << 20};
	static const struct wcs_move move = {WCS_MOVE_COLUMN, "f", {"q", 1}, 0, {"p", 1}, 0};
	struct told told = {.count = 0};
	const struct wcs_watch watch = {tell, &told};
	struct suite mirror;

	suite_open(&mirror, SUITE_LEVELDB);
	if ((int)s->engine == SUITE_SHARED) { /* its other client's changes are not told */
		suite_close(&mirror);
		return;
	}
	wcs_table_watch(s->table, &watch);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put_large(s->table, 1, sizes[i], i, i % 2 == 0);
		if (sizes[i] > WCS_VALUE_INLINE)
			ck_assert_uint_gt(wcs_change_size(told.changes[0]), sizes[i]);
		SUITE_OK(suite_append(s->table, "r", "\xff", NULL));
		put_large(s->table, 1, 5, i, true);
		SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &move, NULL));
		follow(&told, mirror.table);
		expect_exported(s->table, mirror.table);
		put_large(s->table, 1, sizes[i], i, false);
		suite_delete_row(s->table, "r");
		follow(&told, mirror.table);
		expect_exported(s->table, mirror.table);
	}
	suite_close(&mirror);
}
