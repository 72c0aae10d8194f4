/* SPDX-License-Identifier: MIT */
/*
 * What another policy would hide, by random policies and histories: the store's next pass under
 * that policy deletes exactly the cells that wcs_family_explain gave. How the policy of a column
 * with few cells is told: wcs_family_newer.
 *
 * The seed is printed. ROWFS_SEED in the environment chooses another.
 */
#include "tests/unit/suite.h"

#include "store/table/table.h"

#include <inttypes.h>
#include <time.h>

#define SECOND INT64_C(1000000)

enum { EXPLAIN_ROUNDS = 30, EXPLAIN_CELLS = 120, EXPLAIN_NOW = 60, EXPLAIN_TEXT = 512 };

/* A random policy, of up to 2^depth terms. Bounds are such that each hides some of the cells. */
static void explain_policy(uint64_t *seed, int depth, char text[EXPLAIN_TEXT])
{
	char left[EXPLAIN_TEXT] = "", right[EXPLAIN_TEXT] = "";
	uint32_t kind = suite_random(seed) % (depth > 0 ? 5 : 3);

	if (kind > 2) {
		explain_policy(seed, depth - 1, left);
		explain_policy(seed, depth - 1, right);
		snprintf(text, EXPLAIN_TEXT, "(%.240s) %s (%.240s)", left, kind == 3 ? "and" : "or",
			 right);
	} else if (kind == 2 && suite_random(seed) % 3 == 0) {
		strcpy(text, "never");
	} else if (kind == 2) {
		snprintf(text, EXPLAIN_TEXT, "maxversions=%u", 1 + suite_random(seed) % 6);
	} else {
		snprintf(text, EXPLAIN_TEXT, kind == 1 ? "maxage=%us" : "maxage=%u000ms",
			 1 + suite_random(seed) % EXPLAIN_NOW);
	}
}

/* Cells of few columns, in two families, some of them too large to be stored with their key. */
static void explain_fill(struct suite *s, uint64_t *seed)
{
	char row[16], qualifier[16];

	for (int i = 0; i < EXPLAIN_CELLS; i++) {
		size_t len = suite_random(seed) % 8 == 0 ? 5000 : suite_random(seed) % 20;
		char *value = suite_pattern(len, suite_random(seed));

		snprintf(row, sizeof(row), "r#%u", suite_random(seed) % 4);
		snprintf(qualifier, sizeof(qualifier), "q%u", suite_random(seed) % 3);
		suite_put(s->table, suite_text(row), suite_random(seed) % 4 == 0 ? "a" : "f",
			  suite_text(qualifier), suite_random(seed) % EXPLAIN_NOW * SECOND,
			  (struct wcs_slice){value, len});
		free(value);
	}
}

/* The cells of a scan that each gives, or all, as lines; and their count. */
struct explain_cells {
	FILE *to;
	char *text;
	size_t len;
	struct wcs_count count;
	char row[16]; /* of the last one */
};

static int explain_cell(void *ctx, const struct wcs_cell *cell)
{
	struct explain_cells *cells = ctx;
	char row[16];

	snprintf(row, sizeof(row), "%.*s", (int)cell->row.len, (const char *)cell->row.data);
	cells->count.rows += strcmp(row, cells->row) != 0;
	strcpy(cells->row, row);
	cells->count.cells++;
	cells->count.bytes += cell->info.size;
	fprintf(cells->to, "%s/%.*s/%.*s@%" PRId64 " %" PRIu64 "\n", row, (int)cell->family.len,
		(const char *)cell->family.data, (int)cell->qualifier.len,
		(const char *)cell->qualifier.data, cell->info.ts, cell->info.size);
	return 0;
}

static void explain_begin(struct explain_cells *cells)
{
	*cells = (struct explain_cells){.row = ""};
	cells->to = open_memstream(&cells->text, &cells->len);
	ck_assert_ptr_nonnull(cells->to);
}

/* The cells of family f that reads show. */
static void explain_shown(struct suite *s, struct explain_cells *cells)
{
	const char *family = "f";
	const struct wcs_filter filter = {.families = &family, .family_count = 1};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	explain_begin(cells);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
	while (wcs_scan_next(scan, &cell) > 0)
		explain_cell(cells, &cell);
	wcs_scan_close(scan);
	fclose(cells->to);
}

/* The lines of `some` that `all` lacks must be those of `gone`. */
static void explain_expect_gone(char *all, const char *left, const char *gone)
{
	char *line, *rest = all;

	while ((line = strsep(&rest, "\n")) != NULL && *line) {
		size_t len = strlen(line);

		if (strncmp(line, left, len) == 0 && left[len] == '\n') {
			left += len + 1;
		} else {
			ck_assert_msg(strncmp(line, gone, len) == 0 && gone[len] == '\n',
				      "%s went, and not %.40s", line, gone);
			gone += len + 1;
		}
	}
	ck_assert_str_eq(left, "");
	ck_assert_str_eq(gone, "");
}

static uint64_t explain_collected(struct suite *s)
{
	struct wcs_gc_status status;

	SUITE_OK(wcs_gc_run(s->store));
	wcs_gc_status(s->store, &status);
	return status.last_cells;
}

static void explain_round(struct suite *s, uint64_t *seed)
{
	struct explain_cells before, hidden, after, left;
	char present[EXPLAIN_TEXT], other[EXPLAIN_TEXT];
	struct wcs_count count;

	explain_policy(seed, 2, present);
	explain_policy(seed, 2, other);
	s->clock = EXPLAIN_NOW * SECOND + suite_random(seed) % 3;
	SUITE_OK(wcs_rows_drop(s->table, NULL));
	explain_fill(s, seed);
	suite_policy(s->table, "f", present);
	explain_collected(s);
	explain_shown(s, &before);
	explain_begin(&hidden);
	SUITE_OK(wcs_family_explain(s->table, "f", other, explain_cell, &hidden, &count, NULL));
	fclose(hidden.to);
	ck_assert_msg(memcmp(&count, &hidden.count, sizeof(count)) == 0, "%s", other);
	suite_policy(s->table, "f", other);
	ck_assert_msg(explain_collected(s) == count.cells, "%s, then %s", present, other);
	explain_shown(s, &after);
	suite_policy(s->table, "f", "never");
	explain_shown(s, &left);
	ck_assert_str_eq(after.text, left.text);
	explain_expect_gone(before.text, left.text, hidden.text);
	free(before.text);
	free(hidden.text);
	free(after.text);
	free(left.text);
}

SUITE_CONTRACT("store.h, wcs_family_explain: the cells that another policy would hide")
SUITE_STORES(test_the_next_pass_deletes_what_was_explained, 120)
{
	uint64_t seed = suite_setting("ROWFS_SEED", (uint64_t)time(NULL));

	printf("seed %" PRIu64 "\n", seed);
	for (int i = 0; i < EXPLAIN_ROUNDS; i++)
		explain_round(s, &seed);
}

static int explain_stop(void *ctx, const struct wcs_cell *cell)
{
	(void)cell;
	++*(int *)ctx;
	return -ECANCELED;
}

SUITE_STORES(test_explain_by_example, 30)
{
	struct wcs_fault fault = {0};
	struct wcs_count count = {.rows = 77};
	int calls = 0;

	suite_set_versions(s->table, "r1", "f", 4);
	suite_set_versions(s->table, "r2", "f", 1);
	suite_set_versions(s->table, "r3", "f", 2);
	suite_set_versions(s->table, "r3", "a", 9);
	suite_policy(s->table, "f", "maxversions=3");
	ck_assert_int_eq(wcs_family_explain(s->table, "f", "maxversions=1", explain_stop, &calls,
					    &count, &fault),
			 -ECANCELED);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(wcs_family_explain(s->table, "f", "maxversions", explain_stop, &calls,
					    &count, &fault),
			 -EINVAL);
	ck_assert_int_eq(fault.column, 1);
	ck_assert_uint_eq(count.rows, 77);
	SUITE_OK(wcs_family_explain(s->table, "f", "maxversions=3", explain_stop, &calls, &count,
				    &fault));
	ck_assert_uint_eq(count.rows + count.cells + count.bytes, 0);
	ck_assert_int_eq(calls, 1);
}

static bool explain_interrupted(void)
{
	return true;
}

SUITE_STORES(test_explain_can_be_interrupted, 30)
{
	struct wcs_count count;
	int calls = 0;

	suite_set_versions(s->table, "r", "f", 5000);
	s->store->options.interrupted = explain_interrupted;
	ck_assert_int_eq(
		wcs_family_explain(s->table, "f", "never", explain_stop, &calls, &count, NULL),
		-EINTR);
	s->store->options.interrupted = NULL;
}

static unsigned explain_asked;

static bool explain_ends(void)
{
	explain_asked++;
	return false;
}

/* `interrupted` may wait for other reads, which wait for the table's gate if it is to change. */
SUITE_CONTRACT("store.h: ends in struct wcs_options")
SUITE_STORES(test_a_read_under_a_lock_asks_without_waiting, 30)
{
	struct wcs_key_info info;
	char row[16];

	for (int i = 0; i < 5000; i++) {
		snprintf(row, sizeof(row), "r#%d", i);
		suite_set(s->table, row, "f", "q", 1, "v");
	}
	suite_policy(s->table, "f", "maxage=1h");
	s->clock = INT64_C(7200) * 1000000;
	explain_asked = 0;
	s->store->options.interrupted = explain_interrupted;
	s->store->options.ends = explain_ends;
	SUITE_OK(wcs_key_get(s->table, suite_text("r"), &info));
	ck_assert_uint_gt(explain_asked, 0);
	s->store->options.interrupted = s->store->options.ends = NULL;
}

/* With how many newer cells a policy collects a cell that it keeps for now. */
static const struct {
	const char *policy;
	uint64_t newer;
} explain_newer[] = {
	{"never", 0},
	{"maxage=1d", 0},
	{"maxversions=3", 3},
	{"maxversions=3 or never", 3},
	{"maxversions=3 and never", 0},
	{"maxversions=3 and maxversions=5", 5},
	{"maxversions=3 or maxversions=5", 3},
	{"maxversions=3 and maxage=1d", 3},
	{"maxversions=3 and maxage=106751991d", 3},
	{"(maxversions=9 and maxage=1d) or (maxversions=7 and never)", 9},
	{"(maxversions=9 or maxversions=4) and maxversions=6", 6},
};

SUITE_STORES(test_newer_cells_by_example, 30)
{
	for (size_t i = 0; i < sizeof(explain_newer) / sizeof(explain_newer[0]); i++) {
		uint64_t newer = 77;

		suite_policy(s->table, "f", explain_newer[i].policy);
		SUITE_OK(wcs_family_newer(s->table, "f", 5, &newer));
		ck_assert_msg(newer == explain_newer[i].newer, "%s: %" PRIu64,
			      explain_newer[i].policy, newer);
	}
}
