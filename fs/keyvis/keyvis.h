/* SPDX-License-Identifier: MIT */
/*
 * Pictures of heat maps (store/heat/heat.h): key ranges from top to bottom, time from left to
 * right, and the map's diagnosis in words. Keys are shown keys (store/keys/keys.h), in which bytes
 * that could act on a terminal, and characters that hide or reorder text, are %XX.
 *
 * A map begins with the first column that was counted, however long its window is.
 */
#ifndef FS_KEYVIS_H
#define FS_KEYVIS_H

#include <stdio.h>

#include "store/heat/heat.h"

/* The width of text is 100 characters at most. Other widths are bounded by WCS_HEAT_ROWS_MAX and
 * the columns of the window. */
enum keyvis_format {
	KEYVIS_TXT,    /* shades of characters */
	KEYVIS_ANSI,   /* 256 colours */
	KEYVIS_ANSI24, /* 24-bit colours */
	KEYVIS_SVG,
	KEYVIS_HTML, /* one file, which needs no other */
	KEYVIS_JSON, /* see json.c */
	KEYVIS_TSV,  /* a line for each range: start, end, row, total, and its values by time */
	KEYVIS_FORMATS
};

/* The name of a format as the end of a file's name: "txt"; static. */
const char *keyvis_format_name(enum keyvis_format format);
/* The name of a metric: "ops"; static. */
const char *keyvis_metric_name(enum wcs_heat_metric metric);
/* The name of a window: "6h"; static. */
const char *keyvis_window_name(enum wcs_heat_window window);

/* Prints the map of a table as of now. root: the table is the root of its mount, where paths begin.
 * Errors as of wcs_heat_map; an error of the stream is the caller's to find. Any thread. */
int keyvis_render(struct wcs_table *table, enum wcs_heat_window window, enum wcs_heat_metric metric,
		  enum keyvis_format format, bool root, FILE *to);

/* ---- Maps without a store ---------------------------------------------------------------- */

struct wcs_keys;
struct names_families;

/* The table of a map. */
struct keyvis_table {
	const char *name;
	unsigned char delimiter;
	const struct wcs_keys *keys;	       /* its design; NULL: a plain table */
	const struct names_families *families; /* for the names of paths (lib/names.h); or NULL */
	bool root;			       /* paths begin in it */
};

/* The ranges and columns of a map that the format shows, as wcs_heat_map takes them, for a map
 * of full resolution. */
void keyvis_size(const struct wcs_heat_map *map, enum keyvis_format format, size_t *rows,
		 size_t *columns);

/* Prints a map. full: the same map in full resolution, for the diagnosis and the hottest ranges; it
 * may be the map itself. -ENOMEM. */
int keyvis_print(const struct keyvis_table *table, const struct wcs_heat_map *full,
		 const struct wcs_heat_map *map, enum keyvis_format format, FILE *to);

#endif
