/* SPDX-License-Identifier: MIT */
/* No operation is lost to the heat map while threads count, fold and make maps. */
#include "store/table/table.h"
#include "tests/unit/heat_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, THREAD_OPS = 2000, ROWS = 500 };

struct worker {
	struct suite *s;
	pthread_t thread;
	uint64_t random, ops;
};

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct wcs_table *table = worker->s->table;
	struct wcs_count count;
	char key[32];

	for (int i = 0; i < THREAD_OPS; i++) {
		unsigned int n = suite_random(&worker->random);

		snprintf(key, sizeof(key), "row#%05u", n / 8 % ROWS);
		worker->ops++;
		if (n % 8 == 0) {
			suite_set(table, key, "f", "q", WCS_TS_SERVER, "12345");
		} else if (n % 64 == 1) {
			SUITE_OK(wcs_rows_count(table, NULL, NULL, &count));
			worker->ops += count.rows - 1;
		} else {
			heat_get(table, key);
		}
	}
	return NULL;
}

/* ---- A map beside another one ------------------------------------------------------------- */

static struct wcs_table *beside_table;
static int beside_asked;
static int beside_rc;

static bool beside_interrupted(void)
{
	beside_asked++;
	return true;
}

static void *beside_run(void *unused)
{
	struct wcs_heat_map *map;

	beside_rc = wcs_heat_map(beside_table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map);
	return unused;
}

/* Asked while a map is made. */
static bool beside_ends(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, beside_run, NULL), 0);
	pthread_join(thread, NULL);
	return true;
}

/* A read that waits for its turn in `interrupted` holds no lock that others need to go on. */
SUITE_LEVELDB_STORE(test_a_map_does_not_wait_for_reads, 60)
{
	struct wcs_heat_map *map;

	heat_open(s, START);
	beside_table = s->table;
	beside_asked = 0;
	beside_rc = 0;
	s->store->options.interrupted = beside_interrupted;
	SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map));
	wcs_heat_map_free(map);
	ck_assert_int_eq(beside_asked, 0);
	s->store->options.ends = beside_ends;
	ck_assert_int_eq(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map), -EINTR);
	ck_assert_int_eq(beside_asked, 1);
	ck_assert_int_eq(beside_rc, -EINTR);
}

/* ---- Tables that are idle for most of the time ------------------------------------------- */

enum { TABLES = 100, VISITOR_OPS = 20000 };

struct visitor {
	struct wcs_table **tables;
	pthread_t thread;
	uint64_t random;
	atomic_int *done;
};

static void *visitor_run(void *arg)
{
	struct visitor *visitor = arg;
	char key[32];

	for (int i = 0; i < VISITOR_OPS; i++) {
		unsigned int n = suite_random(&visitor->random);

		snprintf(key, sizeof(key), "row#%05u", n / 128 % 20);
		heat_get(visitor->tables[n % 128 < TABLES ? n % 128 : 0], key);
	}
	++*visitor->done;
	return NULL;
}

/* Folds of no time, one behind the other, in which tables become idle. */
SUITE_LEVELDB_STORE(test_threads_and_idle_tables, 300)
{
	struct wcs_table *tables[TABLES];
	struct visitor visitors[THREADS];
	atomic_int done = 0;
	uint64_t total = 0;

	heat_open(s, START);
	for (int i = 0; i < TABLES; i++) {
		tables[i] = heat_table(s, i);
		heat_load(tables[i], 0, 20);
	}
	for (size_t i = 0; i < THREADS; i++) {
		visitors[i] = (struct visitor){.tables = tables, .random = i + 1, .done = &done};
		ck_assert_int_eq(
			pthread_create(&visitors[i].thread, NULL, visitor_run, &visitors[i]), 0);
	}
	for (int i = 0; done < THREADS; i++) {
		heat_tick(s, i % 10 == 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(visitors[i].thread, NULL);
	for (int i = 0; i < TABLES; i++) {
		total += heat_total(tables[i], WCS_HEAT_28D, WCS_HEAT_READS);
		wcs_table_close(tables[i]);
	}
	ck_assert_uint_eq(total, THREADS * VISITOR_OPS);
}

SUITE_LEVELDB_STORE(test_threads, 300)
{
	struct worker workers[THREADS];
	uint64_t expected = ROWS;

	heat_open(s, START);
	heat_load(s->table, 0, ROWS);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.s = s, .random = i + 1};
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]),
				 0);
	}
	for (int i = 0; i < 60; i++) {
		s->clock += MINUTE;
		heat_total(s->table, WCS_HEAT_6H, WCS_HEAT_OPS);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		expected += workers[i].ops;
	}
	ck_assert_uint_eq(heat_total(s->table, WCS_HEAT_6H, WCS_HEAT_OPS), expected);
}
