/* SPDX-License-Identifier: MIT */
/* Mutations, batches of them, and moves, on both engines: see random.h. */
#include "tests/unit/random.h"

#include "store/mutation.h"

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

void random_mutate(struct random_run *run)
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
void random_batch(struct random_run *run)
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

/* The cell that a move names: mostly one that exists. */
struct random_cell {
	struct wcs_slice row;
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;
};

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
	uint32_t skip = random_below(run, 6);
	struct wcs_scan *scan;
	struct wcs_cell cell;
	bool found = false;

	SUITE_OK(wcs_scan_open(run->suites[0].table, &range, 1, &suite_cells, &scan));
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

void random_move(struct random_run *run)
{
	struct random_cell cell;
	struct wcs_move move = {.kind = (enum wcs_move_kind)random_below(run, 5)};
	int64_t ts[SUITE_ENGINES] = {-7, -7};
	struct wcs_range row;
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
	random_compare(run, suite_scan(run->suites[0].table, &row, 1, &suite_cells),
		       suite_scan(run->suites[1].table, &row, 1, &suite_cells));
}
