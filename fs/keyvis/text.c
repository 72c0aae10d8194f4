/* SPDX-License-Identifier: MIT */
/*
 * A map for a terminal, at most 100 columns wide:
 *
 *   title, times, legend
 *   label of a range | a character for each column of time | share
 *   time axis
 *   why it is short; the diagnosis; the hottest ranges
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"

#define TEXT_WIDTH  100u
#define TEXT_LABEL  31u
#define TEXT_CELLS  60u /* characters of the map's columns */
#define TEXT_CELL   8u	/* characters of one column, at most */
#define TEXT_SHADES 9u

static const char text_shades[TEXT_SHADES + 2] = " .:-=+*#%@";

static size_t text_columns(const struct keyvis_picture *picture)
{
	return picture->columns < TEXT_CELLS ? picture->columns : TEXT_CELLS;
}

static unsigned int text_levels(enum keyvis_format format)
{
	return format == KEYVIS_TXT ? TEXT_SHADES : KEYVIS_LEVELS;
}

/* Prints count cells of a level; before: the level of the cell before, or -1. */
static void text_cells(FILE *to, enum keyvis_format format, unsigned int level, int before,
		       size_t count)
{
	uint32_t rgb = keyvis_colours[level].rgb;

	if (format == KEYVIS_ANSI && (int)level != before)
		fprintf(to, "\033[48;5;%um", keyvis_colours[level].ansi);
	if (format == KEYVIS_ANSI24 && (int)level != before)
		fprintf(to, "\033[48;2;%u;%u;%um", rgb >> 16, rgb >> 8 & 255, rgb & 255);
	while (count-- > 0)
		fputc(format == KEYVIS_TXT ? text_shades[level] : ' ', to);
}

static void text_end(FILE *to, enum keyvis_format format)
{
	if (format != KEYVIS_TXT)
		fputs("\033[0m", to);
}

/* Prints a text in lines; each but the first is indented. */
static void text_wrap(FILE *to, const char *text, size_t indent)
{
	size_t len, used = 0;

	while (*text) {
		len = keyvis_line(text, TEXT_WIDTH - used);
		fprintf(to, "%*s%.*s\n", (int)used, "", (int)len, text);
		text += len;
		text += *text == ' ';
		used = indent;
	}
}

/* "     0 .1+ :5+ …": each level with its smallest value. */
static void text_legend(const struct keyvis_picture *picture, FILE *to)
{
	enum keyvis_format format = picture->format;
	unsigned int levels = text_levels(format);
	uint64_t start;
	char number[8];

	fprintf(to, "%s:\n ", picture->unit);
	text_cells(to, format, 0, -1, 2);
	text_end(to, format);
	fputs(" 0", to);
	for (unsigned int level = 1; level <= levels; level++) {
		start = keyvis_level_start(&picture->scale, level, levels);
		if (level < levels &&
		    keyvis_level_start(&picture->scale, level + 1, levels) == start)
			continue; /* no number has this level */
		keyvis_number(start, number);
		fputc(' ', to);
		text_cells(to, format, level, -1, format == KEYVIS_TXT ? 1 : 2);
		text_end(to, format);
		fprintf(to, "%s%s", format == KEYVIS_TXT ? " " : "", number);
	}
	fputs(" or more\n", to);
}

static void text_row(const struct keyvis_picture *picture, size_t range, const char *label,
		     size_t cell, FILE *to)
{
	const struct wcs_heat_map *map = picture->map;
	double share = map->metric != WCS_HEAT_LATENCY && map->total > 0
			       ? 100.0 * (double)map->ranges[range].total / (double)map->total
			       : 0;
	int before = -1;

	fprintf(to, "%s%*s|", label, (int)(TEXT_LABEL - keyvis_width(label)), "");
	for (size_t c = 0; c < text_columns(picture); c++) {
		unsigned int level = keyvis_level(&picture->scale, keyvis_value(picture, range, c),
						  text_levels(picture->format));

		text_cells(to, picture->format, level, before, cell);
		before = (int)level;
	}
	text_end(to, picture->format);
	fputc('|', to);
	if (share >= 4.5)
		fprintf(to, " %.0f %%", share);
	fputc('\n', to);
}

static int text_rows(const struct keyvis_picture *picture, size_t cell, FILE *to)
{
	size_t rows = picture->map->rows;
	char **labels = keyvis_labels(picture->table, picture->map, TEXT_LABEL);

	for (size_t r = 0; r < rows && labels; r++)
		text_row(picture, r, labels[r], cell, to);
	keyvis_list_free(labels, rows);
	return labels ? 0 : -ENOMEM;
}

static void text_axis(const struct keyvis_picture *picture, size_t cell, FILE *to)
{
	struct keyvis_tick ticks[KEYVIS_TICKS_MAX];
	size_t wide = text_columns(picture) * cell, most = wide / 8 + 1, at = 0;
	size_t count = keyvis_ticks(picture->start, picture->map->step, text_columns(picture),
				    most < KEYVIS_TICKS_MAX ? most : KEYVIS_TICKS_MAX, ticks);
	char marks[TEXT_CELLS + 1];

	memset(marks, '-', wide);
	marks[wide] = '\0';
	for (size_t i = 0; i < count; i++)
		marks[ticks[i].column * cell] = '+';
	fprintf(to, "%*s+%s+\n%*s", (int)TEXT_LABEL, "", marks, (int)TEXT_LABEL + 1, "");
	for (size_t i = 0; i < count; i++) {
		fprintf(to, "%*s%s", (int)(ticks[i].column * cell - at), "", ticks[i].text);
		at = ticks[i].column * cell + strlen(ticks[i].text);
	}
	fprintf(to, " UTC\n");
}

static int text_hot(const struct keyvis_picture *picture, FILE *to)
{
	char number[8], share[16], *name;

	if (picture->hot_count > 0)
		fprintf(to, "\nHottest ranges, with their %s:\n", picture->words->unit);
	for (size_t i = 0; i < picture->hot_count; i++) {
		const struct keyvis_hot *hot = &picture->hot[i];

		name = keyvis_fit(hot->name, TEXT_WIDTH - 16);
		if (!name)
			return -ENOMEM;
		keyvis_number(hot->total, number);
		share[0] = '\0';
		if (hot->share > 0)
			snprintf(share, sizeof(share), "%3u %%", hot->share);
		fprintf(to, "  %5s %6s  %s\n", share, number, name);
		free(name);
	}
	return 0;
}

int keyvis_put_text(const struct keyvis_picture *picture, FILE *to)
{
	size_t cell = picture->columns > 0 ? TEXT_CELLS / text_columns(picture) : 1;
	bool empty = picture->columns == 0 || picture->map->largest == 0;
	int rc = 0;

	cell = cell > TEXT_CELL ? TEXT_CELL : cell;
	text_wrap(to, picture->title, 0);
	text_wrap(to, picture->when, 0);
	text_wrap(to, picture->words->what, 0);
	if (!empty) {
		text_wrap(to, keyvis_note, 0);
		text_legend(picture, to);
	}
	fputc('\n', to);
	if (!empty) {
		rc = text_rows(picture, cell, to);
		text_axis(picture, cell, to);
		fputc('\n', to);
	}
	text_wrap(to, picture->history, 0);
	for (size_t i = 0; i < picture->finding_count; i++)
		text_wrap(to, picture->findings[i], 2);
	return rc == 0 ? text_hot(picture, to) : rc;
}
