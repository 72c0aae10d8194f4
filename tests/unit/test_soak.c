/* SPDX-License-Identifier: MIT */
/*
 * Writers, readers, drops, changes of policies and the collector together, against models.
 *
 * - Writers and readers are those of soak.h. A writer changes the policy of its own family, too.
 * - One thread drops rows of its own; one changes the policy of the shared family, and runs, pauses
 *   and resumes the collector, which also passes all the time and knows no grace; one moves the
 *   clock.
 * - The time is cut into rounds. Behind each all is compared, the store is opened again, and all is
 *   compared again. At the end the policies go: all stored cells show, and stay.
 *
 * ROWFS_SOAK in the environment is the duration in seconds. ROWFS_SEED chooses the changes that
 * each thread makes, though not how they mix.
 */
#include "tests/unit/soak.h"

#include <inttypes.h>
#include <time.h>

enum {
	SOAK_SECONDS = 8,
	SOAK_ROUNDS = 4,
	SOAK_COUNTERS = 2,
	SOAK_REWRITTEN = 20, /* rows */
	SOAK_DROPPED = 200,  /* rows */
};

#define SOAK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct history_policy soak_own[] = {
	{"never", 0, 0, false},
	{"maxversions=1", 1, 0, false},
	{"maxversions=3", 3, 0, false},
	{"maxage=60ms", 0, 60000, false},
	{"maxage=400ms", 0, 400000, false},
	{"maxversions=2 or maxage=100ms", 2, 100000, false},
	{"maxversions=2 and maxage=100ms", 2, 100000, true},
	{"maxversions=4 && maxage=1s", 4, 1000000, true},
};

/* ---- A writer's steps -------------------------------------------------------------------- */

static void soak_set_policy(struct soak_writer *writer, const struct history_policy *policy)
{
	SOAK_OK(wcs_family_set_gc(writer->soak->table, writer->own, policy->text, NULL));
	for (size_t i = 0; i < SOAK_ROWS; i++) /* the policy before hides some cells */
		soak_each_column(writer, &writer->rows[i], history_hide);
	writer->policy = policy;
	soak_compare_rows(writer, 0, SOAK_ROWS - 1);
}

static void soak_single(struct soak_writer *writer, struct soak_row *row)
{
	int family = (int)soak_below(&writer->state, SOAK_FAMILIES);
	uint32_t kind = soak_below(&writer->state, 12);

	if (kind < 5 || (family == SOAK_SHARED && kind < 8))
		soak_change_set_single(writer, row, family);
	else if (family == SOAK_SHARED)
		soak_change_delete_single(writer, row, family, SOAK_X);
	else if (kind < 7)
		soak_change_delete_single(writer, row, family,
					  (int)(SOAK_X + soak_below(&writer->state, 2)));
	else if (kind < 9)
		soak_move_stamp(writer, row, family);
	else if (kind < 10)
		soak_move_column(writer, row, family);
	else
		soak_move_cell(writer, row, family);
}

static bool soak_full(const struct soak_row *row)
{
	for (int family = 0; family < SOAK_FAMILIES; family++)
		for (int column = 0; column < SOAK_COLUMNS; column++)
			if (row->columns[family][column].count > SOAK_FULL)
				return true;
	return false;
}

/* One change, and a check of the content right after it. */
static void soak_step(struct soak_writer *writer)
{
	size_t at = soak_below(&writer->state, SOAK_ROWS), prefix = at / SOAK_LEAVES;
	struct soak_row *row = &writer->rows[at];
	uint32_t kind = soak_below(&writer->state, 1000);

	if (soak_full(row))
		soak_change_delete_row(writer, row, true);
	else if (kind < 350)
		soak_change_write(writer, row);
	else if (kind < 400)
		soak_change_write_if(writer, row);
	else if (kind < 700 && row->there)
		soak_single(writer, row);
	else if (kind < 790)
		soak_change_delete_newest(writer, row);
	else if (kind < 810)
		soak_change_delete_group(writer, row);
	else if (kind < 850)
		soak_change_delete_row(writer, row, prefix == 0 || kind < 820);
	else if (kind < 860 && prefix != 0)
		soak_change_drop(writer, prefix);
	else if (kind < 880)
		soak_set_policy(writer,
				&soak_own[soak_below(&writer->state, SOAK_COUNT(soak_own))]);
	else if (kind < 930)
		soak_change_write_batch(writer);
	if (kind >= 850)
		soak_compare_rows(writer, prefix * SOAK_LEAVES, (prefix + 1) * SOAK_LEAVES - 1);
	else
		soak_compare_rows(writer, at, at);
	soak_compare_list(writer, prefix);
}

static void soak_hold_clock(struct soak_writer *writer)
{
	pthread_rwlock_rdlock(&writer->soak->clock);
	writer->now = writer->soak->suite.clock;
	for (size_t i = 0; i < SOAK_ROWS; i++)
		soak_each_column(writer, &writer->rows[i], history_hide);
}

static void *soak_write_on(void *arg)
{
	struct soak_writer *writer = arg;

	while (!atomic_load(&writer->soak->stop)) {
		soak_hold_clock(writer);
		soak_step(writer);
		pthread_rwlock_unlock(&writer->soak->clock);
		writer->steps++;
	}
	return NULL;
}

/* ---- Counters ---------------------------------------------------------------------------- */

static void *soak_count_on(void *arg)
{
	struct soak *soak = arg;

	while (!atomic_load(&soak->stop)) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		atomic_fetch_add(&soak->counts_started, 1);
		SOAK_OK(wcs_mutation_increment(mutation, "f", suite_text("n"), 1));
		SOAK_OK(wcs_mutation_increment(mutation, "s", suite_text("n"), 1));
		SOAK_OK(suite_mutate(soak->table, "z#count", mutation, NULL));
		atomic_fetch_add(&soak->counts_ended, 1);
		soak_sleep(500);
	}
	return NULL;
}

/* ---- Rewriting --------------------------------------------------------------------------- */

static void soak_expect_alone(struct soak *soak, const char *row)
{
	struct wcs_cell_info info;

	SOAK_OK(wcs_cell_get(soak->table, suite_text(row), "s", suite_text("v"), 1, &info));
	SOAK_OK(wcs_cell_get(soak->table, suite_text(row), "s", suite_text("v"), WCS_TS_NEWEST,
			     &info));
	if (info.ts != 1)
		soak_fail("%s shows a cell that was deleted", row);
}

/* Writes cells, now and then just those that the collector is about to delete. */
static void *soak_rewrite_on(void *arg)
{
	struct soak *soak = arg;
	char row[16];

	for (int i = 0; !atomic_load(&soak->stop); i++) {
		struct wcs_mutation *many, *one;

		snprintf(row, sizeof(row), "r#%02d", i % SOAK_REWRITTEN);
		if (i >= SOAK_REWRITTEN)
			soak_expect_alone(soak, row);
		/* Writes cells, of which the older ones are hidden, then deletes them all and
		 * writes the oldest one anew. */
		many = wcs_mutation_new();
		one = wcs_mutation_new();
		for (int64_t ts = 1; ts < 10; ts++)
			SOAK_OK(wcs_mutation_set(many, "s", suite_text("v"), ts,
						 suite_text("hidden")));
		SOAK_OK(suite_mutate(soak->table, row, many, NULL));
		SOAK_OK(wcs_mutation_delete_row(one));
		SOAK_OK(wcs_mutation_set(one, "s", suite_text("v"), 1, suite_text("alone")));
		SOAK_OK(suite_mutate(soak->table, row, one, NULL));
		soak_expect_alone(soak, row);
		soak_sleep(100);
	}
	return NULL;
}

/* ---- Drops ------------------------------------------------------------------------------- */

static void soak_fill(struct soak *soak, const char *prefix, uint32_t rows)
{
	char row[32];

	for (uint32_t i = 0; i < rows; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		snprintf(row, sizeof(row), "%s#%03u", prefix, i);
		for (int64_t ts = 1; ts < 8; ts++)
			SOAK_OK(wcs_mutation_set(mutation, "s", suite_text("v"), ts,
						 suite_text(prefix)));
		SOAK_OK(wcs_mutation_set(mutation, "f", suite_text("v"), 1, suite_text(row)));
		SOAK_OK(suite_mutate(soak->table, row, mutation, NULL));
	}
}

static uint64_t soak_count_rows(struct soak *soak, const char *prefix)
{
	struct wcs_slice key = suite_text(prefix);
	struct wcs_key_info info;
	struct wcs_count count;

	SOAK_OK(wcs_rows_count(soak->table, &key, &count));
	SOAK_OK(wcs_key_get(soak->table, key, &info));
	if (info.row || info.prefix != (count.rows > 0))
		soak_fail("%s has %" PRIu64 " rows, and is %sa prefix", prefix, count.rows,
			  info.prefix ? "" : "not ");
	return count.rows;
}

/* Drops one of two prefixes, the other one being there. */
static void *soak_drop_on(void *arg)
{
	static const char *const prefixes[] = {"d#0", "d#1"};
	struct soak *soak = arg;
	uint32_t rows = 1;

	while (!atomic_load(&soak->stop)) {
		const char *prefix = prefixes[soak->drops % 2],
			   *other = prefixes[1 - soak->drops % 2];
		struct wcs_slice key = suite_text(prefix);
		static const char *const neighbours[] = {"d#0!", "d#00", "d#1!", "d#10"};

		/* The rows beside a prefix are not below it. */
		for (size_t i = 0; i < SOAK_COUNT(neighbours); i++) {
			struct wcs_key_info info;

			SOAK_OK(wcs_key_get(soak->table, suite_text(neighbours[i]), &info));
			if (!info.row && soak->drops > 0)
				soak_fail("%s went with a drop of another prefix", neighbours[i]);
			if (!info.row)
				suite_set(soak->table, neighbours[i], "f", "v", 1, "v");
		}
		soak_fill(soak, other, SOAK_DROPPED);
		soak_fill(soak, prefix, rows);
		if (soak_count_rows(soak, prefix) != (soak->drops == 0 ? rows : SOAK_DROPPED))
			soak_fail("%s does not have its rows", prefix);
		SOAK_OK(wcs_rows_drop(soak->table, &key));
		if (soak_count_rows(soak, prefix) != 0)
			soak_fail("%s was dropped, and is there", prefix);
		if (soak_count_rows(soak, other) != SOAK_DROPPED)
			soak_fail("the drop of %s took rows of %s", prefix, other);
		soak->drops++;
		rows = soak->drops == 1 ? 1 : (uint32_t)(soak->drops * 37 % SOAK_DROPPED) + 1;
	}
	return NULL;
}

/* ---- The collector and the clock --------------------------------------------------------- */

static void soak_set_shared(struct soak *soak, const struct history_policy *policy)
{
	SOAK_OK(wcs_family_set_gc(soak->table, "s", policy->text, NULL));
	soak->shared = policy;
	soak->changes++;
}

static void *soak_collect_on(void *arg)
{
	struct soak *soak = arg;
	while (!atomic_load(&soak->stop)) {
		uint32_t kind = soak_below(&soak->collect_state, 10);

		if (kind < 6) {
			soak_set_shared(soak, &soak_shared[soak_below(&soak->collect_state,
								      SOAK_SHARED_POLICIES)]);
		} else if (kind < 8) {
			SOAK_OK(wcs_gc_run(soak->suite.store));
		} else if (kind < 9) {
			SOAK_OK(wcs_store_sync(soak->suite.store));
		} else {
			wcs_gc_pause(soak->suite.store, true);
			soak_sleep(20000);
			wcs_gc_pause(soak->suite.store, false);
		}
		soak_sleep(5000);
	}
	return NULL;
}

static void *soak_tick_on(void *arg)
{
	struct soak *soak = arg;
	while (!atomic_load(&soak->stop)) {
		soak_sleep(2000);
		pthread_rwlock_wrlock(&soak->clock);
		soak->suite.clock += soak_below(&soak->tick_state, 30000);
		pthread_rwlock_unlock(&soak->clock);
	}
	return NULL;
}

/* ---- All of it --------------------------------------------------------------------------- */

static void soak_open(struct soak *soak, uint64_t seed)
{
	pthread_rwlockattr_t attr;

	suite_open(&soak->suite, SUITE_LEVELDB);
	soak->suite.clock = INT64_C(1000000000000);
	soak->suite.gc_interval = 1000;
	suite_reopen(&soak->suite);
	soak->table = soak->suite.table;
	soak->shared = &soak_shared[SOAK_SHARED_POLICIES - 1];
	soak->collect_state = seed + 200;
	soak->tick_state = seed + 201;
	SOAK_OK(wcs_family_create(soak->table, "s"));
	SOAK_OK(wcs_family_set_gc(soak->table, "s", soak->shared->text, NULL));
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&soak->clock, &attr);
	pthread_rwlockattr_destroy(&attr);
	for (int i = 0; i < SOAK_READERS; i++) {
		soak->readers[i].soak = soak;
		soak->readers[i].state = seed + 100 + (uint64_t)i;
	}
}

static void soak_open_writer(struct soak *soak, int index, uint64_t seed)
{
	struct soak_writer *writer = &soak->writers[index];

	writer->soak = soak;
	writer->index = index;
	writer->state = seed + (uint64_t)index;
	writer->policy = &soak_never;
	snprintf(writer->prefix, sizeof(writer->prefix), "w%d#", index);
	snprintf(writer->past, sizeof(writer->past), "w%d$", index);
	snprintf(writer->own, sizeof(writer->own), "g%d", index);
	SOAK_OK(wcs_family_create(soak->table, writer->own));
	soak_hold_clock(writer);
	for (int i = 0; i < SOAK_ROWS; i++) {
		struct soak_row *row = &writer->rows[i];

		snprintf(row->key, sizeof(row->key), "w%d#%d#%d", index, i / SOAK_LEAVES,
			 i % SOAK_LEAVES);
		soak_change_write(writer, row);
	}
	pthread_rwlock_unlock(&soak->clock);
}

static void soak_round(struct soak *soak, int64_t milliseconds)
{
	pthread_t threads[SOAK_WRITERS + SOAK_READERS + SOAK_COUNTERS + 4];
	size_t count = 0;

	atomic_store(&soak->stop, false);
	soak->quiet = false;
	for (int i = 0; i < SOAK_WRITERS; i++)
		SOAK_OK(-pthread_create(&threads[count++], NULL, soak_write_on, &soak->writers[i]));
	for (int i = 0; i < SOAK_READERS; i++)
		SOAK_OK(-pthread_create(&threads[count++], NULL, soak_read_on, &soak->readers[i]));
	for (int i = 0; i < SOAK_COUNTERS; i++)
		SOAK_OK(-pthread_create(&threads[count++], NULL, soak_count_on, soak));
	SOAK_OK(-pthread_create(&threads[count++], NULL, soak_rewrite_on, soak));
	SOAK_OK(-pthread_create(&threads[count++], NULL, soak_drop_on, soak));
	SOAK_OK(-pthread_create(&threads[count++], NULL, soak_collect_on, soak));
	SOAK_OK(-pthread_create(&threads[count++], NULL, soak_tick_on, soak));
	soak_sleep(milliseconds * 1000);
	atomic_store(&soak->stop, true);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	soak->quiet = true;
}

/* Compares all there is, the threads having ended. */
static void soak_compare_all(struct soak *soak)
{
	struct wcs_slice none = {NULL, 0}, segment;
	struct wcs_list *list;

	for (int i = 0; i < SOAK_WRITERS; i++) {
		soak_hold_clock(&soak->writers[i]);
		soak_compare_rows(&soak->writers[i], 0, SOAK_ROWS - 1);
		for (size_t prefix = 0; prefix < SOAK_PREFIXES; prefix++)
			soak_compare_list(&soak->writers[i], prefix);
		pthread_rwlock_unlock(&soak->clock);
	}
	soak_read_count(soak);
	SOAK_OK(wcs_list_open(soak->table, none, NULL, &list));
	for (int i = 0; i < SOAK_WRITERS + 3; i++) {
		static const char *const first[] = {"d", "r", "w0", "w1", "w2", "z"};

		if (wcs_list_next(list, &segment) != 1 || !soak_is(segment, first[i]))
			soak_fail("the table does not list %s", first[i]);
	}
	if (wcs_list_next(list, &segment) != 0)
		soak_fail("the table lists more than it has");
	wcs_list_close(list);
}

static void soak_reopen(struct soak *soak)
{
	struct wcs_gc_status status;

	wcs_gc_status(soak->suite.store, &status);
	soak->collected += status.cells;
	suite_reopen(&soak->suite);
	soak->table = soak->suite.table;
}

/* Takes the policies away: all stored cells show, and none is deleted any more. */
static void soak_end(struct soak *soak)
{
	for (int i = 0; i < SOAK_WRITERS; i++) {
		soak_hold_clock(&soak->writers[i]);
		soak_set_policy(&soak->writers[i], &soak_never);
		pthread_rwlock_unlock(&soak->clock);
	}
	soak_set_shared(soak, &soak_never);
	soak_compare_all(soak);
	SOAK_OK(wcs_gc_run(soak->suite.store));
	soak_compare_all(soak);
	soak_reopen(soak);
	soak_compare_all(soak);
}

SUITE_TEST(test_soak, 300 + 2 * (double)suite_setting("ROWFS_SOAK", SOAK_SECONDS))
{
	static struct soak soak;
	uint64_t seconds = suite_setting("ROWFS_SOAK", SOAK_SECONDS);
	uint64_t seed = suite_setting("ROWFS_SEED", (uint64_t)time(NULL));
	uint64_t rounds = seconds > SOAK_ROUNDS * 10 ? seconds / 10 : SOAK_ROUNDS;

	printf("ROWFS_SEED=%" PRIu64 " ROWFS_SOAK=%" PRIu64 "\n", seed, seconds);
	fflush(stdout);
	soak_open(&soak, seed);
	for (int i = 0; i < SOAK_WRITERS; i++)
		soak_open_writer(&soak, i, seed);
	for (uint64_t i = 0; i < rounds; i++) {
		soak_round(&soak, (int64_t)(seconds * 1000 / rounds));
		soak_compare_all(&soak);
		soak_reopen(&soak);
		soak_compare_all(&soak);
	}
	soak_end(&soak);
	for (int i = 0; i < SOAK_WRITERS; i++)
		printf("writer: %" PRIu64 " steps\n", soak.writers[i].steps);
	for (int i = 0; i < SOAK_READERS; i++)
		printf("reader: %" PRIu64 " reads\n", soak.readers[i].reads);
	printf("%" PRIu64 " drops, %" PRIu64 " policies, %" PRIu64 " cells collected, %u counted\n",
	       soak.drops, soak.changes, soak.collected, atomic_load(&soak.counts_ended));
	ck_assert_uint_gt(soak.drops, 0);
	ck_assert_uint_gt(soak.collected, 0);
	pthread_rwlock_destroy(&soak.clock);
	suite_close(&soak.suite);
}
