/* SPDX-License-Identifier: MIT */
/* A map that is ready to be printed: its names, its words, its scales. Private to this room. */
#ifndef FS_KEYVIS_PICTURE_H
#define FS_KEYVIS_PICTURE_H

#include <jansson.h>

#include "fs/keyvis/keyvis.h"
#include "store/heat/patterns/patterns.h"
#include "store/keys/keys.h"

/* ---- scale.c: values as levels, times as ticks --------------------------------------------- */

#define KEYVIS_LEVELS 12u /* of values above 0; level 0 is the value 0 */

/* Values grow by the same factor from level to level. */
struct keyvis_scale {
	uint64_t low, high; /* the bounds of the levels between the first and the last one */
};

/* A colour of each level, the first that of 0: from dark to bright, so that their order is seen
 * without colours, too. */
struct keyvis_colour {
	uint32_t rgb;
	unsigned char ansi; /* among a terminal's 256 */
};
extern const struct keyvis_colour keyvis_colours[KEYVIS_LEVELS + 1];

/* The scale of the counted columns. Even load gets a medium level, single hot ranges the last. */
struct keyvis_scale keyvis_scale(const struct wcs_heat_map *map);
/* The level of a value, of so many (KEYVIS_LEVELS or fewer). */
unsigned int keyvis_level(const struct keyvis_scale *scale, uint64_t value, unsigned int levels);
/* The smallest value of a level. */
uint64_t keyvis_level_start(const struct keyvis_scale *scale, unsigned int level,
			    unsigned int levels);
/* Writes a number in at most five characters: 999, 1.5k, 23M. */
void keyvis_number(uint64_t number, char text[8]);
/* Writes a span of time: "6 minutes". */
void keyvis_span(int64_t microseconds, char text[32]);
/* Writes a time: "2026-11-26 08:02", without a date "08:02". */
void keyvis_time(int64_t at, bool date, char text[20]);

struct keyvis_tick {
	size_t column; /* of the counted ones, from 0 */
	char text[8];  /* "08:30", or "11-26" at the start of a day */
};
#define KEYVIS_TICKS_MAX 16u
/* Writes up to so many ticks, at round times. Returns how many. */
size_t keyvis_ticks(int64_t start, int64_t step, size_t columns, size_t most,
		    struct keyvis_tick ticks[KEYVIS_TICKS_MAX]);

/* ---- labels.c: keys as text. Texts are the caller's; NULL: no memory ------------------------ */

/* A key of the engine, or its beginning, as a shown key: "salt 0a STC#22" in a table with a salt.
 */
char *keyvis_key(const struct keyvis_table *table, struct wcs_slice stored);
/* The name of a range: its row, "STC#22#*" for all keys below a prefix, or its bounds. */
char *keyvis_name(const struct keyvis_table *table, const struct wcs_heat_range *range);
/* The longest prefix with all keys of the range: "STC#22#*"; without one its name. */
char *keyvis_prefix(const struct keyvis_table *table, const struct wcs_heat_range *range);
/* The labels of a map's ranges, in at most so many columns, as keyvis_fit_list makes them.
 * keyvis_list_free frees them. */
char **keyvis_labels(const struct keyvis_table *table, const struct wcs_heat_map *map,
		     size_t width);
/* The path, from the mountpoint, of its row, or of the longest prefix that all its keys have; as a
 * shell takes it (escape_path). */
char *keyvis_path(const struct keyvis_table *table, const struct wcs_heat_range *range);

/* A prefix of neighbouring ranges: a segment of their keys, or their salt. */
struct keyvis_node {
	size_t depth, first, last;
	struct wcs_slice prefix; /* the map's */
	char *word;		 /* the last segment as text */
};
#define KEYVIS_DEPTH_MAX 8u
/* The tree of the prefixes in the order of their first ranges, an outer prefix before those in it.
 * -ENOMEM. */
int keyvis_nodes(const struct keyvis_table *table, const struct wcs_heat_map *map,
		 struct keyvis_node **nodes, size_t *count);
/* As keyvis_path. */
char *keyvis_node_path(const struct keyvis_table *table, const struct keyvis_node *node);
void keyvis_nodes_free(struct keyvis_node *nodes, size_t count);

/* ---- words.c: text that is printed ---------------------------------------------------------- */

/* The number of a text's columns on a terminal. */
size_t keyvis_width(const char *text);
/* The text in at most so many columns, 4 or more: a longer one without its middle, marked "..". The
 * caller frees it; NULL: no memory. */
char *keyvis_fit(const char *text, size_t width);
/* Fits each text of a list, as keyvis_fit. A cut lies where it makes none equal to an earlier one,
 * if it can. keyvis_list_free frees them. */
char **keyvis_fit_list(char *const *texts, size_t count, size_t width);
void keyvis_list_free(char **texts, size_t count);
/* The length of the first line of a text that is broken at spaces to so many columns. */
size_t keyvis_line(const char *text, size_t width);
/* A list of so many elements, each made of what ctx points to. NULL: no memory. */
json_t *keyvis_list(const void *ctx, size_t count, json_t *(*make)(const void *ctx, size_t at));
/* The text as a string of JSON, and frees it. */
json_t *keyvis_string(char *text);
/* Prints text as the content of an XML element. */
void keyvis_put_xml(FILE *to, const char *text);

/* ---- picture.c ------------------------------------------------------------------------------ */

struct keyvis_words {
	const char *name;  /* "ops" */
	const char *title; /* "operations" */
	const char *unit;  /* of a value: "operations" */
	const char *what;  /* a sentence */
};

/* A range, or neighbouring ones, with much of the total. */
struct keyvis_hot {
	size_t first, last; /* ranges of the picture's map */
	unsigned int share; /* percent; of latency 0 */
	uint64_t total;	    /* of latency the mean */
	char *name, *path;
};
#define KEYVIS_HOT_MAX 8u

struct keyvis_picture {
	enum keyvis_format format;
	const struct keyvis_table *table;
	const struct wcs_heat_map *map;
	const struct keyvis_words *words;
	struct keyvis_scale scale;
	size_t first, columns; /* those that were counted */
	int64_t start, end;    /* of these, microseconds since 1970 */
	char title[160];
	char when[160];	   /* times, the sizes of columns and ranges */
	char unit[96];	   /* of the legend */
	char history[200]; /* why the map is empty or short; "": it is not */
	char *findings[WCS_HEAT_FINDINGS_MAX];
	struct wcs_heat_finding found[WCS_HEAT_FINDINGS_MAX]; /* of the full map */
	size_t finding_count;
	struct keyvis_hot hot[KEYVIS_HOT_MAX];
	size_t hot_count;
	struct keyvis_node *nodes;
	size_t node_count;
};

int keyvis_picture(const struct keyvis_table *table, const struct wcs_heat_map *full,
		   const struct wcs_heat_map *map, struct keyvis_picture *picture);
void keyvis_picture_free(struct keyvis_picture *picture);

/* The value of a range in a counted column. */
static inline uint64_t keyvis_value(const struct keyvis_picture *picture, size_t range,
				    size_t column)
{
	return picture->map->values[range * picture->map->columns + picture->first + column];
}

extern const struct keyvis_words keyvis_words[WCS_HEAT_METRICS];
/* Explains labels and counts, in one line of the pictures for people. */
extern const char keyvis_note[];

/* ---- The formats: text.c, tsv.c, json.c, svg.c, html.c. -ENOMEM ---------------------------- */
int keyvis_put_text(const struct keyvis_picture *picture, FILE *to);
int keyvis_put_tsv(const struct keyvis_picture *picture, FILE *to);
int keyvis_put_document(const struct keyvis_picture *picture, FILE *to);
int keyvis_put_svg(const struct keyvis_picture *picture, FILE *to);
int keyvis_put_html(const struct keyvis_picture *picture, FILE *to);

#endif
