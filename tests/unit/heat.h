/* SPDX-License-Identifier: MIT */
/*
 * Heat maps for tests: maps that a test fills, and the traffic of known patterns, which a test
 * counts into such a map or makes in a store.
 */
#ifndef TESTS_HEAT_H
#define TESTS_HEAT_H

#include "store/heat/patterns/patterns.h"

#define HEAT_KEY_MAX 64u
#define HEAT_MINUTES 360

/* A map of ranges that begin with these keys, the first of which is empty; a key that ends in a NUL
 * byte (written "\\") ends the range of the row before it. Its first column begins at
 * 2026-11-26 00:00 UTC. heat_map_free frees it. */
struct wcs_heat_map *heat_map_new(const char *const *starts, size_t rows, size_t columns,
				  enum wcs_heat_metric metric);
/* The same with count ranges that end in the keys "t%03zu#". */
struct wcs_heat_map *heat_map_plain(size_t rows, size_t columns, enum wcs_heat_metric metric);
void heat_map_free(struct wcs_heat_map *map);
/* Adds to a value, and to the sums. */
void heat_map_add(struct wcs_heat_map *map, size_t range, size_t column, uint64_t value);
/* The same of the range of a key. */
void heat_map_count(struct wcs_heat_map *map, const char *key, size_t column, uint64_t value);
/* Says that the columns before were not counted. */
void heat_map_begin(struct wcs_heat_map *map, size_t column);

enum heat_op { HEAT_READ, HEAT_WRITE, HEAT_SCAN };
/* Takes a request; the key of a scan, which reads all rows, is empty. */
struct heat_to {
	void (*op)(void *ctx, enum heat_op op, const char *key);
	void *ctx;
	uint64_t random; /* the state of suite_random's kind of sequence */
};

/* The five known patterns. */
struct heat_traffic {
	const char *name;	       /* of a file */
	enum wcs_heat_pattern pattern; /* that the diagnosis names */
	int rows;		       /* of the table before the traffic */
	void (*row)(int index, char key[HEAT_KEY_MAX]);
	void (*minute)(int minute, struct heat_to *to);
};
#define HEAT_TRAFFICS 5u
extern const struct heat_traffic heat_traffics[HEAT_TRAFFICS];

/* Counts HEAT_MINUTES of traffic into a new map of about so many ranges. */
struct wcs_heat_map *heat_traffic_map(const struct heat_traffic *traffic, size_t ranges,
				      size_t columns);

#endif
