/* SPDX-License-Identifier: MIT */
/*
 * The collector, on both engines: it deletes hidden cells and leaves alone the others, and no
 * visible cell goes; test_store_threads.c runs it among writers, tests/e2e/test_gc.sh in a mount.
 * Taking the policies away shows all cells that are still stored.
 */
#include "tests/unit/suite.h"

#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)

static struct wcs_gc_status gc_status(struct suite *s)
{
	struct wcs_gc_status status;

	wcs_gc_status(s->store, &status);
	return status;
}

SUITE_CONTRACT("store.h, Garbage collection: wcs_gc_run deletes hidden cells")
SUITE_STORES(test_run_deletes_what_is_hidden, 30)
{
	suite_set_versions(s->table, "r1", "f", 4);
	suite_set_versions(s->table, "r2", "f", 1);
	suite_set_versions(s->table, "r2", "a", 3);
	suite_policy(s->table, "f", "maxversions=2");
	SUITE_OK(wcs_gc_run(s->store));
	ck_assert_uint_eq(gc_status(s).cells, 2);
	ck_assert_uint_eq(gc_status(s).passes, 1);
	ck_assert_uint_eq(gc_status(s).last_cells, 2);
	ck_assert(!gc_status(s).running);
	ck_assert_str_eq(gc_status(s).table, "");
	suite_policy(s->table, "f", "never");
	suite_expect(s->table,
		     "r1/f/q@4=v r1/f/q@3=v r2/a/q@3=v r2/a/q@2=v r2/a/q@1=v r2/f/q@1=v ");
}

SUITE_STORES(test_run_by_age, 30)
{
	s->clock = HOUR;
	suite_policy(s->table, "f", "maxage=1s");
	suite_set_versions(s->table, "r", "f", 3);
	suite_set(s->table, "r", "f", "q", HOUR, "new");
	SUITE_OK(wcs_gc_run(s->store));
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r/f/q@3600000000=new ");
}

/* More cells than a slice takes, in one column and in many. */
SUITE_LEVELDB_STORE(test_run_in_slices, 120)
{
	char row[16];

	suite_set_versions(s->table, "long", "f", 9000);
	for (int i = 0; i < 1500; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		suite_set_versions(s->table, row, "f", 3);
	}
	suite_policy(s->table, "f", "maxversions=1");
	SUITE_OK(wcs_gc_run(s->store));
	ck_assert_uint_eq(gc_status(s).cells, 8999 + 2 * 1500);
	SUITE_OK(wcs_gc_run(s->store));
	ck_assert_uint_eq(gc_status(s).cells, 8999 + 2 * 1500);
	suite_expect_value(s->table, "long", "f", "q", 9000, "v");
	suite_expect_value(s->table, "r0777", "f", "q", 3, "v");
}

/* More versions are seen than a slice looks at, and one is not. */
SUITE_LEVELDB_STORE(test_run_behind_many_that_are_seen, 120)
{
	suite_set_versions(s->table, "long", "f", 17001);
	suite_set_versions(s->table, "z", "f", 17002);
	suite_policy(s->table, "f", "maxversions=17000");
	SUITE_OK(wcs_gc_run(s->store));
	ck_assert_uint_eq(gc_status(s).cells, 3);
}

/* ---- In the background ------------------------------------------------------------------- */

/* Opens the store again with a collector that passes all the time. */
static void gc_background(struct suite *s, int64_t grace)
{
	s->gc_interval = 1000;
	s->gc_grace = grace;
	suite_reopen(s);
}

/* Waits for passes that begin from now on. */
static void gc_wait(struct suite *s, uint64_t passes)
{
	uint64_t until = gc_status(s).passes + passes + 1;

	while (gc_status(s).passes < until)
		suite_sleep(10);
}

SUITE_LEVELDB_STORE(test_grace_of_a_clock_that_jumped, 60)
{
	s->clock = 1000 * HOUR;
	suite_policy(s->table, "f", "maxage=1h");
	suite_set(s->table, "r", "f", "q", 1000 * HOUR, "v");
	s->clock = 1005 * HOUR;
	suite_set(s->table, "r", "f", "p", 1000 * HOUR, "hidden from the start");
	gc_background(s, HOUR);
	gc_wait(s, 1);
	suite_set(s->table, "r", "f", "o", 1005 * HOUR, "v");
	s->clock = 1035 * HOUR;
	gc_wait(s, 1);
	suite_expect(s->table, "");
	s->clock = 1005 * HOUR; /* put right */
	suite_expect(s->table, "r/f/o@3618000000000=v ");
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r/f/o@3618000000000=v ");
}
