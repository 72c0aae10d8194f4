/* SPDX-License-Identifier: MIT */
/*
 * A map as SVG:
 *
 *   title, times
 *   legend
 *   prefixes, labels of ranges | the map | names of the hottest ranges
 *                                time axis
 *   why it is short; the diagnosis
 *
 * The map is a rectangle of its most frequent colour, and one path for each other colour, whose
 * strokes are runs of cells; so its size depends on its changes of colour.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"

/* Pixels. */
#define SVG_WIDTH  1094u
#define SVG_LEFT   16u
#define SVG_TREE   140u /* width of the prefixes */
#define SVG_MAP_X  354u
#define SVG_MAP_Y  151u
#define SVG_MAP_W  540u /* at most */
#define SVG_MAP_H  480u /* at most */
#define SVG_LINE   17u	/* height of a line of text */
#define SVG_LABEL  12u	/* height of a label of a range */
#define SVG_CHAR   6u	/* width of a label's character */
#define SVG_DEPTHS 2u
#define SVG_SWATCH 56u
#define SVG_WORDS  158u /* columns of a line of text */

struct svg {
	const struct keyvis_picture *picture;
	FILE *to;
	size_t cell_w, cell_h, width, height; /* of a cell, of the map */
};

static const char svg_style[] =
	"<style>"
	"text{font:12px system-ui,sans-serif;fill:#1d1d24}"
	".k{font:10px ui-monospace,monospace}.h{font-size:18px;font-weight:600}.m{fill:#5a5a66}"
	".b{fill:#fff}.p{fill:#e4e4ec;stroke:#fff}.l{stroke:#8a8a96;fill:none}.s{stroke:#8a8a96}"
	"@media(prefers-color-scheme:dark){text{fill:#ececf2}.m{fill:#a6a6b4}.b{fill:#121217}"
	".p{fill:#2e2e3a;stroke:#121217}}"
	"</style>\n";

/* Prints a text element; more: further attributes, or "". */
static void svg_text(const struct svg *svg, size_t x, size_t y, const char *class, const char *more,
		     const char *text)
{
	fprintf(svg->to, "<text x=\"%zu\" y=\"%zu\" class=\"%s\"%s>", x, y, class, more);
	keyvis_put_xml(svg->to, text);
	fputs("</text>\n", svg->to);
}

/* Prints a text element of at most so many pixels. */
static int svg_label(const struct svg *svg, size_t x, size_t y, size_t width, const char *text)
{
	char *fitting = keyvis_fit(text, width / SVG_CHAR);

	if (!fitting)
		return -ENOMEM;
	svg_text(svg, x, y, "k", "", fitting);
	free(fitting);
	return 0;
}

/* ---- Head -------------------------------------------------------------------------------- */

static void svg_legend(const struct svg *svg)
{
	const struct keyvis_scale *scale = &svg->picture->scale;
	uint64_t start;
	size_t x = SVG_MAP_X;
	char number[12];

	svg_text(svg, SVG_LEFT, 119, "", "", svg->picture->unit);
	for (unsigned int level = 0; level <= KEYVIS_LEVELS; level++) {
		start = keyvis_level_start(scale, level, KEYVIS_LEVELS);
		if (level < KEYVIS_LEVELS &&
		    keyvis_level_start(scale, level + 1, KEYVIS_LEVELS) == start)
			continue; /* no number has this level */
		fprintf(svg->to,
			"<rect class=\"s\" x=\"%zu\" y=\"109\" width=\"%u\" height=\"12\" "
			"fill=\"#%06x\"/>\n",
			x, SVG_SWATCH - 2, keyvis_colours[level].rgb);
		keyvis_number(start, number);
		if (level == KEYVIS_LEVELS)
			memcpy(number + strlen(number), "+", 2);
		svg_text(svg, x, 133, "k m", "", number);
		x += SVG_SWATCH;
	}
}

static void svg_head(const struct svg *svg, size_t height)
{
	const struct keyvis_picture *picture = svg->picture;

	fprintf(svg->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %zu\" role=\"img\" "
		"aria-labelledby=\"t d\">\n<title id=\"t\">",
		SVG_WIDTH, height);
	keyvis_put_xml(svg->to, picture->title);
	fputs("</title>\n<desc id=\"d\">", svg->to);
	for (size_t i = 0; i < picture->finding_count; i++) {
		keyvis_put_xml(svg->to, picture->findings[i]);
		fputc('\n', svg->to);
	}
	fprintf(svg->to, "</desc>\n%s<rect class=\"b\" width=\"100%%\" height=\"100%%\"/>\n",
		svg_style);
	svg_text(svg, SVG_LEFT, 30, "h", "", picture->title);
	svg_text(svg, SVG_LEFT, 52, "m", "", picture->when);
	svg_text(svg, SVG_LEFT, 69, "m", "", picture->words->what);
	svg_text(svg, SVG_LEFT, 86, "m", "", keyvis_note);
}

/* ---- The map ----------------------------------------------------------------------------- */

static unsigned int svg_level(const struct svg *svg, size_t row, size_t column)
{
	return keyvis_level(&svg->picture->scale, keyvis_value(svg->picture, row, column),
			    KEYVIS_LEVELS);
}

static unsigned int svg_usual(const struct svg *svg)
{
	size_t counts[KEYVIS_LEVELS + 1] = {0};
	unsigned int usual = 0;

	for (size_t r = 0; r < svg->picture->map->rows; r++)
		for (size_t c = 0; c < svg->picture->columns; c++)
			counts[svg_level(svg, r, c)]++;
	for (unsigned int level = 1; level <= KEYVIS_LEVELS; level++)
		if (counts[level] > counts[usual])
			usual = level;
	return usual;
}

/* The runs of a level as one path. */
static void svg_path(const struct svg *svg, unsigned int level)
{
	size_t columns = svg->picture->columns, row = 0, column = 0, run;
	bool any = false;

	for (size_t r = 0; r < svg->picture->map->rows; r++)
		for (size_t c = 0; c < columns; c += run) {
			bool in = svg_level(svg, r, c) == level;

			for (run = 1; c + run < columns; run++)
				if ((svg_level(svg, r, c + run) == level) != in)
					break;
			if (!in)
				continue;
			if (!any)
				fprintf(svg->to, "<path stroke=\"#%06x\" d=\"M0 .5",
					keyvis_colours[level].rgb);
			any = true;
			fprintf(svg->to, "m%lld %zuh%zu", (long long)c - (long long)column, r - row,
				run);
			row = r;
			column = c + run;
		}
	fputs(any ? "\"/>\n" : "", svg->to);
}

static void svg_map(const struct svg *svg)
{
	unsigned int usual = svg_usual(svg);

	fprintf(svg->to,
		"<g transform=\"translate(%u %u) scale(%zu %zu)\" fill=\"none\" "
		"shape-rendering=\"crispEdges\">\n"
		"<rect width=\"%zu\" height=\"%zu\" fill=\"#%06x\"/>\n",
		SVG_MAP_X, SVG_MAP_Y, svg->cell_w, svg->cell_h, svg->picture->columns,
		svg->picture->map->rows, keyvis_colours[usual].rgb);
	for (unsigned int level = 0; level <= KEYVIS_LEVELS; level++)
		if (level != usual)
			svg_path(svg, level);
	fprintf(svg->to,
		"</g>\n<rect class=\"l\" x=\"%u.5\" y=\"%u.5\" width=\"%zu\" height=\"%zu\"/>\n",
		SVG_MAP_X - 1, SVG_MAP_Y - 1, svg->width + 1, svg->height + 1);
}

/* ---- Around it --------------------------------------------------------------------------- */

static int svg_tree(const struct svg *svg)
{
	const struct keyvis_picture *picture = svg->picture;
	size_t depths = 1, width, x, y, height;
	int rc = 0;

	for (size_t i = 0; i < picture->node_count; i++)
		if (picture->nodes[i].depth >= depths && depths < SVG_DEPTHS)
			depths = picture->nodes[i].depth + 1;
	width = SVG_TREE / depths;
	for (size_t i = 0; i < picture->node_count && rc == 0; i++) {
		const struct keyvis_node *node = &picture->nodes[i];

		if (node->depth >= depths)
			continue;
		x = SVG_LEFT + node->depth * width;
		y = SVG_MAP_Y + node->first * svg->cell_h;
		height = (node->last - node->first + 1) * svg->cell_h;
		fprintf(svg->to,
			"<rect class=\"p\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"/>\n", x,
			y, width - 2, height);
		if (height + 2 >= SVG_LABEL)
			rc = svg_label(svg, x + 4, y + height / 2 + 4, width - 8, node->word);
	}
	return rc;
}

static int svg_labels(const struct svg *svg)
{
	const struct wcs_heat_map *map = svg->picture->map;
	size_t every = (SVG_LABEL + svg->cell_h - 1) / svg->cell_h;
	char **labels = keyvis_labels(svg->picture->table, map,
				      (SVG_MAP_X - SVG_TREE - SVG_LEFT - 10) / SVG_CHAR);

	for (size_t r = 0; r < map->rows && labels; r += every) {
		size_t y = SVG_MAP_Y + r * svg->cell_h + svg->cell_h / 2 + 4;

		svg_text(svg, SVG_MAP_X - 6, y, "k", " text-anchor=\"end\"", labels[r]);
	}
	keyvis_list_free(labels, map->rows);
	return labels ? 0 : -ENOMEM;
}

static int svg_compare(const void *a, const void *b)
{
	const struct keyvis_hot *x = *(const struct keyvis_hot *const *)a,
				*y = *(const struct keyvis_hot *const *)b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Names the hottest ranges at the right, from top to bottom, without overlaps. */
static int svg_hot(const struct svg *svg)
{
	const struct keyvis_hot *hot[KEYVIS_HOT_MAX] = {NULL};
	size_t count = svg->picture->hot_count, x = SVG_MAP_X + svg->width, next = SVG_MAP_Y + 4;
	char share[16];
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		hot[i] = &svg->picture->hot[i];
	qsort(hot, count, sizeof(*hot), svg_compare);
	for (size_t i = 0; i < count && rc == 0; i++) {
		size_t from = SVG_MAP_Y + hot[i]->first * svg->cell_h,
		       to = SVG_MAP_Y + (hot[i]->last + 1) * svg->cell_h, at = (from + to) / 2;
		size_t last = SVG_MAP_Y + svg->height - (count - 1 - i) * SVG_LABEL,
		       y = at > next ? at : next;

		y = y < last || last < next ? y : last;
		next = y + SVG_LABEL;
		fprintf(svg->to, "<path class=\"l\" d=\"M%zu %zuh4V%zuh-4M%zu %zuL%zu %zuh4\"/>\n",
			x + 1, from, to, x + 5, at, x + 14, y);
		share[0] = '\0';
		if (hot[i]->share > 0)
			snprintf(share, sizeof(share), "%u %%", hot[i]->share);
		svg_text(svg, x + 18, y + 4, "k", "", share);
		rc = svg_label(svg, x + 50, y + 4, SVG_WIDTH - x - 54, hot[i]->name);
	}
	return rc;
}

static void svg_axis(const struct svg *svg)
{
	const struct keyvis_picture *picture = svg->picture;
	struct keyvis_tick ticks[KEYVIS_TICKS_MAX];
	size_t y = SVG_MAP_Y + svg->height, most = svg->width / 48 + 1;
	size_t count = keyvis_ticks(picture->start, picture->map->step, picture->columns,
				    most < KEYVIS_TICKS_MAX ? most : KEYVIS_TICKS_MAX, ticks);

	for (size_t i = 0; i < count; i++) {
		size_t x = SVG_MAP_X + ticks[i].column * svg->cell_w;

		fprintf(svg->to, "<path class=\"l\" d=\"M%zu %zuv5\"/>\n", x, y + 1);
		svg_text(svg, x, y + 18, "k", "", ticks[i].text);
	}
	svg_text(svg, SVG_MAP_X + svg->width + 5, y + 18, "k m", "", "UTC");
}

/* Prints a text in lines from y on, or only counts them. Returns the next y. */
static size_t svg_lines(const struct svg *svg, bool print, const char *text, size_t y)
{
	char *line;
	size_t len;

	while (*text) {
		len = keyvis_line(text, SVG_WORDS);
		line = print ? strndup(text, len) : NULL;
		if (line)
			svg_text(svg, SVG_LEFT, y, "", "", line);
		free(line);
		text += len;
		text += *text == ' ';
		y += SVG_LINE;
	}
	return y;
}

static size_t svg_words(const struct svg *svg, bool print, size_t y)
{
	y = svg_lines(svg, print, svg->picture->history, y);
	for (size_t i = 0; i < svg->picture->finding_count; i++)
		y = svg_lines(svg, print, svg->picture->findings[i], y);
	return y;
}

int keyvis_put_svg(const struct keyvis_picture *picture, FILE *to)
{
	size_t rows = picture->map->rows, columns = picture->columns, below = 117;
	bool empty = columns == 0 || picture->map->largest == 0;
	struct svg svg = {.picture = picture, .to = to, .cell_h = 1, .cell_w = 1};
	int rc = 0;

	if (!empty) {
		svg.cell_h = rows < SVG_MAP_H ? SVG_MAP_H / rows : 1;
		svg.cell_w = columns < SVG_MAP_W ? SVG_MAP_W / columns : 1;
		svg.height = svg.cell_h * rows;
		svg.width = svg.cell_w * columns;
		below = SVG_MAP_Y + svg.height + 46;
	}
	svg_head(&svg, svg_words(&svg, false, below));
	if (!empty) {
		svg_legend(&svg);
		svg_map(&svg);
		rc = svg_tree(&svg);
		rc = rc == 0 ? svg_labels(&svg) : rc;
		rc = rc == 0 ? svg_hot(&svg) : rc;
		svg_axis(&svg);
	}
	svg_words(&svg, true, below);
	fputs("</svg>\n", to);
	return rc;
}
