/* SPDX-License-Identifier: MIT */
/*
 * An engine that other clients share: the memory engine with another client inside. It changes a
 * row between the look at it and the edit. The engine takes timestamps in milliseconds and collects
 * garbage itself.
 */
#include "tests/unit/memory.h"
#include "tests/unit/suite.h"

static int other_left; /* changes that the other client still makes */

/* The other client appends a cell one millisecond later than the newest. */
static void other_changes(struct memory_engine *engine)
{
	for (size_t i = 0; i < engine->cells.count; i++) {
		struct memory_cell *cell = engine->cells.all[i];
		struct wcs_slice value = {"\0\0\0\0\0\0\0\7", 8};
		struct wcs_set set = {.family = "f",
				      .qualifier = cell->qualifier,
				      .ts = cell->ts + 1000,
				      .value = {.parts = &value, .part_count = 1, .size = 8}};

		memory_cells_set(&engine->cells,
				 memory_cells_new(engine, cell->table, cell->row, &set));
		break;
	}
}

struct other_rows { /* the first members of the memory engine's */
	struct memory_engine *engine;
};

static int shared_apply(struct wcs_rows *rows, const struct wcs_edit *edits, size_t count,
			size_t *applied)
{
	if (other_left > 0) {
		other_left--;
		other_changes(((struct other_rows *)rows)->engine);
		*applied = 0;
		return -EAGAIN;
	}
	return wcs_backend_memory.rows_apply(rows, edits, count, applied);
}

static struct wcs_table *shared_open(struct wcs_store **store)
{
	static struct wcs_backend backend;
	struct wcs_table *table;

	backend = wcs_backend_memory;
	backend.can =
		(struct wcs_capabilities){.shared = true, .collects = true, .granularity = 1000};
	backend.rows_apply = shared_apply;
	SUITE_OK(wcs_store_open_backend(&backend, "", &(struct wcs_options){.now = NULL}, store,
					NULL));
	SUITE_OK(wcs_table_create(*store, "t"));
	SUITE_OK(wcs_table_open(*store, "t", &table));
	SUITE_OK(wcs_family_create(table, "f"));
	return table;
}

static void shared_close(struct wcs_store *store, struct wcs_table *table)
{
	wcs_table_close(table);
	wcs_store_close(store);
}

/* An increment adds to the value that the other client made meanwhile. */
SUITE_TEST(test_a_change_is_decided_again, 10)
{
	struct wcs_store *store;
	struct wcs_table *table = shared_open(&store);
	struct wcs_mutation *mutation;
	struct wcs_value *value;
	unsigned char bytes[8];
	size_t got;

	for (int round = 0; round < 2; round++) {
		mutation = wcs_mutation_new();
		wcs_mutation_increment(mutation, "f", suite_text("n"), 1);
		other_left = round * 3;
		SUITE_OK(suite_mutate(table, "r", mutation, NULL));
	}
	SUITE_OK(wcs_value_open(table, suite_text("r"), "f", suite_text("n"), WCS_TS_NEWEST,
				&value));
	SUITE_OK(wcs_value_read(value, bytes, sizeof(bytes), 0, &got));
	wcs_value_close(value);
	ck_assert_int_eq(bytes[7], 8);
	/* Endless changes by the other client are an error, and the row stays. */
	mutation = wcs_mutation_new();
	wcs_mutation_increment(mutation, "f", suite_text("n"), 1);
	other_left = 1000;
	ck_assert_int_eq(suite_mutate(table, "r", mutation, NULL), -EBUSY);
	other_left = 0;
	shared_close(store, table);
}

SUITE_TEST(test_granularity, 10)
{
	struct wcs_store *store;
	struct wcs_table *table = shared_open(&store);
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts;

	wcs_mutation_set(mutation, "f", suite_text("q"), WCS_TS_SERVER, suite_text("v"));
	SUITE_OK(suite_mutate(table, "r", mutation, &ts));
	ck_assert_int_eq(ts % 1000, 0);
	mutation = wcs_mutation_new();
	wcs_mutation_set(mutation, "f", suite_text("q"), 1001, suite_text("v"));
	ck_assert_int_eq(suite_mutate(table, "r", mutation, NULL), -EINVAL);
	shared_close(store, table);
}

/* A policy is the engine's to apply. */
SUITE_TEST(test_its_own_collection, 10)
{
	struct wcs_store *store;
	struct wcs_table *table = shared_open(&store);
	struct wcs_cell_info info;

	SUITE_OK(wcs_family_set_gc(table, "f", "maxversions=1", NULL));
	for (int ts = 1000; ts <= 3000; ts += 1000)
		suite_set(table, "r", "f", "q", ts, "v");
	SUITE_OK(wcs_cell_get(table, suite_text("r"), "f", suite_text("q"), 1000, &info));
	ck_assert_int_eq(info.expires, WCS_TS_MAX);
	shared_close(store, table);
}
