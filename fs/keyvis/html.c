/* SPDX-License-Identifier: MIT */
/*
 * A map as one HTML file: the template page.html with page.css, the data and page.js in the places
 * that it marks. The data are the document of json.c as "scan", and beside it the texts and colours
 * that only the page needs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"
#include "lib/escape.h"

#define HTML_NAME  400u /* columns */
#define HTML_LABEL 22u

/* Puts a file, followed by a NUL, into the program, under a name. */
#define HTML_FILE(name, file)                                                                      \
	__asm__(".pushsection .rodata\n" name ":\n.incbin \"fs/keyvis/" file                       \
		"\"\n.byte 0\n.popsection\n")

HTML_FILE("html_page", "page.html");
HTML_FILE("html_style", "page.css");
HTML_FILE("html_script", "page.js");
extern const char html_page[] __attribute__((visibility("hidden")));
extern const char html_style[] __attribute__((visibility("hidden")));
extern const char html_script[] __attribute__((visibility("hidden")));

static json_t *html_name(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;
	char *name = keyvis_name(picture->table, &picture->map->ranges[at]);
	char *fitting = name ? keyvis_fit(name, HTML_NAME) : NULL;

	free(name);
	return keyvis_string(fitting);
}

static json_t *html_label(const void *ctx, size_t at)
{
	return json_string(((char *const *)ctx)[at]);
}

static json_t *html_path(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;

	return keyvis_string(keyvis_path(picture->table, &picture->map->ranges[at]));
}

/* The table's path, and behind it those of the nodes. */
static json_t *html_node(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;

	if (at == 0)
		return json_string(picture->table->root ? "." : picture->table->name);
	return keyvis_string(keyvis_node_path(picture->table, &picture->nodes[at - 1]));
}

static json_t *html_hot(const void *ctx, size_t at)
{
	const struct keyvis_hot *hot = &((const struct keyvis_picture *)ctx)->hot[at];

	return json_pack("{s:I, s:I, s:I, s:I, s:s, s:s}", "first", (json_int_t)hot->first, "last",
			 (json_int_t)hot->last, "share", (json_int_t)hot->share, "total",
			 (json_int_t)hot->total, "name", hot->name, "path", hot->path);
}

static json_t *html_color(const void *ctx, size_t at)
{
	(void)ctx;
	return json_sprintf("#%06x", keyvis_colours[at].rgb);
}

static json_t *html_bound(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;

	return json_integer((json_int_t)keyvis_level_start(&picture->scale, (unsigned int)at + 1,
							   KEYVIS_LEVELS));
}

static int html_data(const struct keyvis_picture *picture, FILE *to)
{
	size_t rows = picture->map->rows;
	char **labels = keyvis_labels(picture->table, picture->map, HTML_LABEL);
	int rc = labels ? 0 : -ENOMEM;

	fputc('{', to);
	if (rc == 0)
		rc = escape_json_put(
			to,
			json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "title",
				  picture->title, "when", picture->when, "note", keyvis_note,
				  "colors", keyvis_list(NULL, KEYVIS_LEVELS + 1, html_color),
				  "bounds", keyvis_list(picture, KEYVIS_LEVELS, html_bound), "hot",
				  keyvis_list(picture, picture->hot_count, html_hot), "names",
				  keyvis_list(picture, rows, html_name), "labels",
				  keyvis_list(labels, rows, html_label), "paths",
				  keyvis_list(picture, rows, html_path), "nodePaths",
				  keyvis_list(picture, picture->node_count + 1, html_node)),
			JSON_EMBED | ESCAPE_HTML);
	keyvis_list_free(labels, rows);
	fputs(",\n\"scan\":", to);
	rc = rc == 0 ? keyvis_put_document(picture, to) : rc;
	fputc('}', to);
	return rc;
}

int keyvis_put_html(const struct keyvis_picture *picture, FILE *to)
{
	const char *at = html_page, *mark;
	int rc = 0;

	while ((mark = strchr(at, '@')) != NULL) {
		fwrite(at, (size_t)(mark - at), 1, to);
		if (strncmp(mark, "@STYLE@", 7) == 0)
			fputs(html_style, to);
		else if (strncmp(mark, "@SCRIPT@", 8) == 0)
			fputs(html_script, to);
		else
			rc = html_data(picture, to);
		at = strchr(mark + 1, '@') + 1;
	}
	fputs(at, to);
	return rc;
}
