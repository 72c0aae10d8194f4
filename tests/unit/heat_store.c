/* SPDX-License-Identifier: MIT */
#include "tests/unit/heat_store.h"

struct wcs_table *heat_table(struct suite *s, int number)
{
	struct wcs_table *table;
	char name[32];

	snprintf(name, sizeof(name), "t%d", number);
	SUITE_OK(wcs_table_create(s->store, name));
	SUITE_OK(wcs_table_open(s->store, name, &table));
	SUITE_OK(wcs_family_create(table, "f"));
	return table;
}

void heat_open(struct suite *s, int64_t clock)
{
	s->heat = true;
	s->clock = clock;
	suite_reopen(s);
	if (s->table == NULL) /* the engine in memory has forgotten it */
		s->table = heat_table(s, 0);
}

void heat_tick(struct suite *s, int64_t minutes)
{
	s->clock += minutes * MINUTE;
	SUITE_OK(wcs_heat_fold(s->store));
}

void heat_load(struct wcs_table *table, int first, int count)
{
	char key[32];

	for (int i = first; i < first + count; i++) {
		snprintf(key, sizeof(key), "row#%05d", i);
		suite_set(table, key, "f", "q", WCS_TS_SERVER, "12345");
	}
}

void heat_get(struct wcs_table *table, const char *key)
{
	struct wcs_cell_info info;

	SUITE_OK(wcs_cell_get(table, suite_text(key), "f", suite_text("q"), WCS_TS_NEWEST, &info));
}

uint64_t heat_total(struct wcs_table *table, enum wcs_heat_window window,
		    enum wcs_heat_metric metric)
{
	struct wcs_heat_map *map;
	uint64_t total;

	SUITE_OK(wcs_heat_map(table, window, metric, 0, 0, &map));
	total = map->total;
	wcs_heat_map_free(map);
	return total;
}
