/* SPDX-License-Identifier: MIT */
/* Steps of a run on both engines, those among them that are rare: see random.h. */
#include "tests/unit/random.h"

static void random_drop(struct random_run *run)
{
	struct wcs_slice key = random_bytes(run, 0, 2);
	const struct wcs_slice *root = random_below(run, 8) == 0 ? NULL : &key;
	struct wcs_count count[SUITE_ENGINES];

	random_say(run, root == NULL ? " drop all" : " drop");
	for (int i = 0; i < SUITE_ENGINES; i++)
		ck_assert_int_eq(wcs_rows_count(run->suites[i].table, root, NULL, &count[i]), 0);
	ck_assert_msg(count[0].rows == count[1].rows && count[0].cells == count[1].cells &&
			      count[0].bytes == count[1].bytes,
		      "%.2000s", run->text);
	for (int i = 0; i < SUITE_ENGINES; i++) {
		SUITE_OK(wcs_rows_drop(run->suites[i].table, root));
		ck_assert_int_eq(wcs_rows_count(run->suites[i].table, root, NULL, &count[i]), 0);
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
		if (rc[i] != 0)
			continue;
		SUITE_OK(wcs_family_create(run->suites[i].table, family));
	}
	ck_assert_msg(rc[0] == rc[1], "%.2000s: %d, %d", run->text, rc[0], rc[1]);
}

void random_set_policy(struct random_run *run, const char *family, const char *policy)
{
	random_say(run, " policy of %s: %s", family, policy);
	for (int i = 0; i < SUITE_ENGINES; i++)
		SUITE_OK(wcs_family_set_gc(run->suites[i].table, family, policy, NULL));
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
		SUITE_OK(wcs_gc_run(run->suites[i].store));
}

/* A clock that mostly moves a little; now and then by the unit that a policy counts in. */
static int64_t random_clock(struct random_run *run)
{
	int64_t clock = 1000000 + random_below(run, 30);

	return random_below(run, 3) == 0 ? clock + 1000 * random_below(run, 3) : clock;
}

void random_check_all(struct random_run *run)
{
	random_say(run, " full scan");
	random_compare(run, suite_content(run->suites[0].table),
		       suite_content(run->suites[1].table));
}

void random_step(struct random_run *run)
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
	else if (kind < 800)
		random_walk(run);
	else if (kind < 860)
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

void random_open(struct random_run *run)
{
	for (int i = 0; i < SUITE_ENGINES; i++)
		suite_open(&run->suites[i], i);
}

void random_close(struct random_run *run)
{
	suite_close(&run->suites[SUITE_MEMORY]);
	suite_close(&run->suites[SUITE_LEVELDB]);
}
