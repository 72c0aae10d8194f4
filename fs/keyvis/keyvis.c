/* SPDX-License-Identifier: MIT */
/* The map of a table in each format. */
#include "fs/keyvis/keyvis.h"

#include "fs/keyvis/picture.h"
#include "lib/names.h"

/* The formats, and the most rows and columns that each shows; 0: all. */
static const struct {
	const char *name;
	int (*print)(const struct keyvis_picture *picture, FILE *to);
	size_t rows, columns;
} keyvis_formats[KEYVIS_FORMATS] = {
	[KEYVIS_TXT] = {"txt", keyvis_put_text, 40, 60},
	[KEYVIS_ANSI] = {"ansi", keyvis_put_text, 40, 60},
	[KEYVIS_ANSI24] = {"ansi24", keyvis_put_text, 40, 60},
	[KEYVIS_SVG] = {"svg", keyvis_put_svg, 96, 180},
	[KEYVIS_HTML] = {"html", keyvis_put_html, 0, 0},
	[KEYVIS_JSON] = {"json", keyvis_put_document, 0, 0},
	[KEYVIS_TSV] = {"tsv", keyvis_put_tsv, 0, 0},
};

const char *keyvis_format_name(enum keyvis_format format)
{
	return keyvis_formats[format].name;
}

const char *keyvis_metric_name(enum wcs_heat_metric metric)
{
	return keyvis_words[metric].name;
}

const char *keyvis_window_name(enum wcs_heat_window window)
{
	static const char *const names[WCS_HEAT_WINDOWS] = {"6h", "4d", "28d"};

	return names[window];
}

void keyvis_size(const struct wcs_heat_map *map, enum keyvis_format format, size_t *rows,
		 size_t *columns)
{
	size_t most = keyvis_formats[format].columns, counted;

	counted = map->columns - wcs_heat_counted(map);
	counted += counted < map->columns; /* one more may begin before the map is made */
	*rows = keyvis_formats[format].rows;
	*columns = counted > most && most > 0 ? most * map->columns / counted : 0;
}

int keyvis_print(const struct keyvis_table *table, const struct wcs_heat_map *full,
		 const struct wcs_heat_map *map, enum keyvis_format format, FILE *to)
{
	struct keyvis_picture picture;
	int rc = keyvis_picture(table, full, map, &picture);

	if (rc)
		return rc;
	picture.format = format;
	rc = keyvis_formats[format].print(&picture, to);
	keyvis_picture_free(&picture);
	return rc;
}

int keyvis_render(struct wcs_table *table, enum wcs_heat_window window, enum wcs_heat_metric metric,
		  enum keyvis_format format, bool root, FILE *to)
{
	const struct names_families families = {wcs_families_has, table};
	const struct keyvis_table about = {wcs_table_name(table), wcs_table_delimiter(table),
					   wcs_table_keys(table), &families, root};
	struct wcs_heat_map *full = NULL, *map = NULL;
	size_t rows, columns;
	int rc = wcs_heat_map(table, window, metric, 0, 0, &full);

	if (rc)
		return rc;
	keyvis_size(full, format, &rows, &columns);
	if (rows > 0 || columns > 0)
		rc = wcs_heat_map(table, window, metric, rows, columns, &map);
	if (rc == 0)
		rc = keyvis_print(&about, full, map ? map : full, format, to);
	wcs_heat_map_free(map);
	wcs_heat_map_free(full);
	return rc;
}
