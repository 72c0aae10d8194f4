/* SPDX-License-Identifier: MIT */
/* No operation is lost to the heat map while threads count, fold and make maps. */
#include "store/heat/heat.h"
#include "tests/unit/suite.h"

#include <pthread.h>

#define MINUTE INT64_C(60000000)

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
	struct wcs_cell_info info;
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
			SUITE_OK(wcs_cell_get(table, suite_text(key), "f", suite_text("q"),
					      WCS_TS_NEWEST, &info));
		}
	}
	return NULL;
}

SUITE_LEVELDB_STORE(test_threads, 300)
{
	struct worker workers[THREADS];
	struct wcs_heat_map *map;
	uint64_t expected = ROWS;
	char key[32];

	s->heat = true;
	suite_reopen(s);
	for (int i = 0; i < ROWS; i++) {
		snprintf(key, sizeof(key), "row#%05d", i);
		suite_set(s->table, key, "f", "q", WCS_TS_SERVER, "12345");
	}
	for (size_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.s = s, .random = i + 1};
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]),
				 0);
	}
	for (int i = 0; i < 60; i++) {
		s->clock += MINUTE;
		SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map));
		wcs_heat_map_free(map);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		expected += workers[i].ops;
	}
	SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map));
	ck_assert_uint_eq(map->total, expected);
	wcs_heat_map_free(map);
}
