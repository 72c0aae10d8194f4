/* SPDX-License-Identifier: MIT */
/* Stores that count the heat map, for its tests. */
#ifndef TESTS_HEAT_STORE_H
#define TESTS_HEAT_STORE_H

#include "store/heat/heat.h"
#include "tests/unit/suite.h"

#define MINUTE INT64_C(60000000)
#define START  (INT64_C(29000000) * MINUTE) /* an hour begins then, and ten minutes */

/* Opens the store again, with a heat map and a table. */
void heat_open(struct suite *s, int64_t clock);
/* So many minutes go by. */
void heat_tick(struct suite *s, int64_t minutes);
/* A new table "tNUMBER" with the family "f". */
struct wcs_table *heat_table(struct suite *s, int number);
/* Sets a cell of 5 bytes in each of the rows [first, first + count), whose keys are "row#%05d". */
void heat_load(struct wcs_table *table, int first, int count);
void heat_get(struct wcs_table *table, const char *key);
uint64_t heat_total(struct wcs_table *table, enum wcs_heat_window window,
		    enum wcs_heat_metric metric);

#endif
