/* SPDX-License-Identifier: MIT */
/* Atomicity on both engines, in threads: counters, check-and-mutate, scans beside policies, drops.
 * That rows are read as a whole tests/e2e/test_soak.sh checks. */
#include "store/table/table.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_STEPS 300

static const struct wcs_slice q = {"q", 1};

struct threads_shared {
	struct wcs_table *table;
	int number;
	long done;
};

/* ---- Read-modify-write ------------------------------------------------------------------- */

/* Changes two rows in one call, by mutations that read before they write and by others; another
 * thread takes the rows in the other order. */
static void *threads_count_up(void *arg)
{
	struct threads_shared *shared = arg;
	struct wcs_mutation *merges = wcs_mutation_new(), *plain = wcs_mutation_new();
	struct wcs_slice first = suite_text(shared->number % 2 ? "s" : "r"),
			 second = suite_text(shared->number % 2 ? "r" : "s");
	struct wcs_entry entries[] = {
		{first, merges, 0}, {second, merges, 0}, {first, plain, 0}, {second, plain, 0}};
	size_t applied;

	wcs_mutation_increment(merges, "f", q, 1);
	wcs_mutation_append(merges, "a", q, suite_text("x"), WCS_TS_NONE);
	wcs_mutation_merge(merges, "sum", q, WCS_TS_NEWEST, SUITE_BYTES("\0\0\0\0\0\0\0\1"));
	wcs_mutation_set(plain, "b", q, WCS_TS_SERVER, suite_text("v"));
	for (int i = 0; i < THREADS_STEPS; i++)
		if (wcs_rows_mutate(shared->table, entries, 4, &applied) != 0)
			abort();
	wcs_mutation_free(merges);
	wcs_mutation_free(plain);
	return NULL;
}

static int threads_count(struct wcs_table *table, const char *family)
{
	struct wcs_filter filter = {.each = WCS_EACH_CELL, .families = &family, .family_count = 1};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int count = 0;

	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &filter, &scan));
	while (wcs_scan_next(scan, &cell) == 1)
		count++;
	wcs_scan_close(scan);
	return count;
}

SUITE_CONTRACT("store.h, Writing: a mutation is atomic")
SUITE_STORES(test_nothing_is_lost, 120)
{
	struct threads_shared shared[4] = {
		{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	static const char *const rows[] = {"r", "s"};
	struct wcs_cell_info info;
	pthread_t threads[4];

	SUITE_OK(wcs_family_create(s->table, "sum"));
	SUITE_OK(wcs_family_set_type(s->table, "sum", WCS_INTSUM));
	for (int i = 0; i < 4; i++) {
		shared[i].table = s->table;
		pthread_create(&threads[i], NULL, threads_count_up, &shared[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		suite_expect_value(s->table, rows[i], "f", "q", WCS_TS_NEWEST,
				   "\\00\\00\\00\\00\\00\\00\\04\\B0");
		suite_expect_value(s->table, rows[i], "sum", "q", WCS_TS_NEWEST,
				   "\\00\\00\\00\\00\\00\\00\\04\\B0");
		SUITE_OK(wcs_cell_get(s->table, suite_text(rows[i]), "a", q, WCS_TS_NEWEST, &info));
		ck_assert_uint_eq(info.size, 4 * THREADS_STEPS);
		/* the clock stands: each version has a timestamp of its own all the same */
		ck_assert_int_eq(info.ts, 1000000 + 4 * THREADS_STEPS - 1);
	}
	ck_assert_int_eq(threads_count(s->table, "b"), 2 * 4 * THREADS_STEPS);
}

/* Takes a lock kept as a cell, counts without atomicity, gives it back. */
static void *threads_lock_and_count(void *arg)
{
	struct threads_shared *shared = arg;
	long *counted = &shared[-shared->number].done; /* of the first */

	for (int i = 0; i < THREADS_STEPS / 2;) {
		struct wcs_mutation *take = wcs_mutation_new();
		struct wcs_mutation *give = wcs_mutation_new();
		int rc;

		wcs_mutation_if(take, "f", q, NULL);
		wcs_mutation_set(take, "f", q, 1, suite_text("taken"));
		wcs_mutation_delete_column(give, "f", q);
		rc = suite_mutate(shared->table, "lock", take, NULL);
		if (rc == 0) {
			long before = __atomic_load_n(counted, __ATOMIC_RELAXED);

			__atomic_store_n(counted, before + 1, __ATOMIC_RELAXED);
			if (suite_mutate(shared->table, "lock", give, NULL) != 0)
				abort();
			i++;
		} else if (rc == -ECANCELED) {
			wcs_mutation_free(give);
		} else {
			abort();
		}
	}
	return NULL;
}

SUITE_STORES(test_conditions_exclude, 120)
{
	struct threads_shared shared[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		shared[i].table = s->table;
		pthread_create(&threads[i], NULL, threads_lock_and_count, &shared[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(shared[0].done, 3 * (THREADS_STEPS / 2));
	suite_expect(s->table, "");
}

/* ---- Scans, policies, the collector ------------------------------------------------------ */

static atomic_int threads_writing;

/* Writes the step into f and a of all rows, a version each, and now and then makes the rows anew.
 * The batches of one thread name the rows from first to last, those of the other from last to
 * first. */
static void *threads_write_pairs(void *arg)
{
	static const char *const rows[] = {"w0", "w1", "w2", "x", "x#0", "x#1"};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct threads_shared *shared = arg;
	struct wcs_entry entries[ROWS];
	size_t applied;
	char text[16];

	for (int i = 1; i <= THREADS_STEPS; i++) {
		snprintf(text, sizeof(text), "%d", 2 * i + shared->number);
		for (int row = 0; row < ROWS; row++) {
			struct wcs_mutation *mutation = wcs_mutation_new();

			if (i % 50 == 0)
				wcs_mutation_delete_row(mutation);
			wcs_mutation_set(mutation, "f", q, WCS_TS_SERVER, suite_text(text));
			wcs_mutation_set(mutation, "a", q, WCS_TS_SERVER, suite_text(text));
			entries[row].row = suite_text(rows[shared->number ? ROWS - 1 - row : row]);
			entries[row].mutation = mutation;
		}
		if (wcs_rows_mutate(shared->table, entries, ROWS, &applied) != 0)
			abort();
		for (int row = 0; row < ROWS; row++)
			wcs_mutation_free(entries[row].mutation);
	}
	threads_writing--;
	return NULL;
}

static void *threads_change_policies(void *arg)
{
	static const char *const policies[] = {"maxversions=1", "maxversions=2 and maxage=1ms",
					       "never", "maxversions=3"};
	struct threads_shared *shared = arg;

	for (size_t i = 0; threads_writing > 0; i++)
		if (wcs_family_set_gc(shared->table, "f", policies[i % 4], NULL) != 0 ||
		    wcs_gc_run(shared->table->store) != 0)
			abort();
	return NULL;
}

/* Cells come in order, and the newest of f and a, which one mutation made, agree. */
static void threads_scan(struct wcs_table *table)
{
	char row[8] = "", family = 0, a[8] = "";
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int64_t ts = 0;

	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &suite_cells, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		char first = *(const char *)cell.family.data;
		bool same = wcs_slice_compare(cell.row, suite_text(row)) == 0;

		ck_assert(same || wcs_slice_compare(cell.row, suite_text(row)) > 0);
		ck_assert(!same || first > family || (first == family && cell.info.ts < ts));
		if (same && first == 'f' && family == 'a')
			ck_assert_int_eq(wcs_slice_compare(cell.value, suite_text(a)), 0);
		if (!same)
			ck_assert_int_eq(first, 'a');
		if (!same)
			snprintf(a, sizeof(a), "%.*s", (int)cell.value.len,
				 (const char *)cell.value.data);
		snprintf(row, sizeof(row), "%.*s", (int)cell.row.len, (const char *)cell.row.data);
		family = first;
		ts = cell.info.ts;
	}
	wcs_scan_close(scan);
}

SUITE_CONTRACT("store.h, Reading: all cells of one row come from one moment")
SUITE_STORES(test_writers_policies_and_scans_meet, 120)
{
	struct threads_shared shared[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
	struct wcs_slice x = SUITE_BYTES("x");
	pthread_t threads[3];
	char *value;

	threads_writing = 2;
	for (int i = 0; i < 3; i++) {
		shared[i].table = s->table;
		pthread_create(&threads[i], NULL,
			       i < 2 ? threads_write_pairs : threads_change_policies, &shared[i]);
	}
	while (threads_writing > 0) {
		threads_scan(s->table);
		SUITE_OK(wcs_rows_drop(s->table, &x));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	threads_scan(s->table);
	SUITE_OK(wcs_rows_drop(s->table, &x));
	value = suite_value(s->table, "w0", "f", "q", WCS_TS_NEWEST);
	ck_assert_int_eq(atoi(value) / 2, THREADS_STEPS);
	free(value);
	ck_assert_int_eq(threads_count(s->table, "a"), 3);
}

/* ---- Drops ------------------------------------------------------------------------------- */

static void *threads_write_behind(void *arg)
{
	struct threads_shared *shared = arg;
	char row[8];

	for (int i = 0; i < 4 * THREADS_STEPS; i++) {
		snprintf(row, sizeof(row), "%d#%02d", i % 200 / 100, i % 100);
		suite_set(shared->table, row, i % 2 ? "a" : "b", "q", i, "v");
	}
	return NULL;
}

SUITE_CONTRACT("store.h, Writing: wcs_rows_drop, each row goes whole")
SUITE_STORES(test_drop_while_writing, 120)
{
	struct wcs_slice upper = SUITE_BYTES("1");
	struct threads_shared shared = {.number = 0};
	pthread_t thread;

	shared.table = s->table;
	pthread_create(&thread, NULL, threads_write_behind, &shared);
	for (int i = 0; i < 30; i++)
		SUITE_OK(wcs_rows_drop(s->table, &upper));
	pthread_join(thread, NULL);
	SUITE_OK(wcs_rows_drop(s->table, &upper));
	/* half of the rows, of each of which no write was lost */
	ck_assert_int_eq(threads_count(s->table, "a") + threads_count(s->table, "b"),
			 2 * THREADS_STEPS);
}

/* ---- Values ------------------------------------------------------------------------------ */

struct threads_reader {
	struct wcs_value *value;
	const char *bytes;
	unsigned int seed;
};

static void *threads_read_value(void *arg)
{
	struct threads_reader *reader = arg;
	uint64_t state = reader->seed;
	char buf[5000];
	size_t got;

	for (int i = 0; i < 300; i++) {
		size_t offset = suite_random(&state) % 300000;

		if (wcs_value_read(reader->value, buf, sizeof(buf), offset, &got) != 0 ||
		    memcmp(buf, reader->bytes + offset, got) != 0)
			abort();
	}
	return NULL;
}

SUITE_CONTRACT("store.h, Reading: several threads may read one value")
SUITE_STORES(test_one_value_many_readers, 60)
{
	char *bytes = suite_pattern(300000, 9);
	struct threads_reader readers[3];
	pthread_t threads[3];
	struct wcs_value *value;

	suite_put(s->table, suite_text("r"), "f", q, 1, (struct wcs_slice){bytes, 300000});
	SUITE_OK(wcs_value_open(s->table, suite_text("r"), "f", q, 1, &value));
	for (unsigned int i = 0; i < 3; i++) {
		readers[i] = (struct threads_reader){value, bytes, i};
		pthread_create(&threads[i], NULL, threads_read_value, &readers[i]);
	}
	suite_delete_row(s->table, "r");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	wcs_value_close(value);
	free(bytes);
}
