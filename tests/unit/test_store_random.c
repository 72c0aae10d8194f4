/* SPDX-License-Identifier: MIT */
/*
 * The same random operations on both engines, of which one or both may have a salt: see random.h.
 * Of the chunks in LevelDB those are left that the cells need.
 *
 * The seed is printed. ROWFS_SEED and ROWFS_STEPS in the environment choose others.
 */
#include "tests/unit/engine.h"
#include "tests/unit/random.h"

#include "store/table/table.h"

#include <time.h>

#define RANDOM_STEPS 4000
#define RANDOM_LEAST 1500

/* Salts of the two tables; 0: none. */
static const struct {
	unsigned int buckets[SUITE_ENGINES], salted[SUITE_ENGINES];
} random_salts[] = {{{0, 0}, {0, 0}}, {{0, 16}, {0, 1}}, {{3, 256}, {0, 2}}, {{2, 2}, {1, 0}}};

SUITE_LOOP(test_engines_agree, sizeof(random_salts) / sizeof(random_salts[0]), 600)
{
	static struct random_run all;
	struct random_run *run = &all;
	uint64_t steps = suite_setting("ROWFS_STEPS", suite_rounds(RANDOM_LEAST, RANDOM_STEPS));
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t needed = 0;

	run->state = suite_setting("ROWFS_SEED", (uint64_t)time(NULL));
	printf("ROWFS_SEED=%llu\n", (unsigned long long)run->state);
	fflush(stdout);
	random_open(run);
	for (int i = 0; i < SUITE_ENGINES; i++)
		if (random_salts[_i].buckets[i] > 0)
			suite_salt(&run->suites[i], random_salts[_i].buckets[i],
				   random_salts[_i].salted[i]);
	for (uint64_t i = 0; i < steps; i++)
		random_step(run);
	random_check_all(run);
	for (int i = 0; i < 3; i++) /* hidden cells that are still stored come back */
		random_set_policy(run, random_families[i], "never");
	random_check_all(run);
	/* The full scan before has read every value, so the chunks that are needed are there. */
	SUITE_OK(wcs_scan_open(run->suites[SUITE_LEVELDB].table, &suite_all, 1, &suite_cells,
			       &scan));
	while (wcs_scan_next(scan, &cell) == 1)
		if (cell.info.size > WCS_VALUE_INLINE)
			needed += ldb_extent_count(cell.info.size);
	wcs_scan_close(scan);
	engine_expect_chunks(run->suites[SUITE_LEVELDB].store->engine.db, (int)needed);
	if (steps >= RANDOM_LEAST) {
		ck_assert_uint_gt(run->batched, steps / 10);
		ck_assert_int_gt(run->moved, (int)(steps / 40));
	}
	random_close(run);
}
