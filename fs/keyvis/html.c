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

/* Prints a list of texts, each made for a range, and freed; in at most so many columns (0: any). */
static int html_list(const struct keyvis_picture *picture, FILE *to, const char *member,
		     size_t width,
		     char *(*make)(const struct keyvis_table *, const struct wcs_heat_range *))
{
	fprintf(to, ",\n\"%s\":[", member);
	for (size_t r = 0; r < picture->map->rows; r++) {
		char *text = make(picture->table, &picture->map->ranges[r]), *whole = text;

		if (text && width > 0) {
			text = keyvis_fit(whole, width);
			free(whole);
		}
		if (!text)
			return -ENOMEM;
		keyvis_put_json(to, r > 0 ? "," : "", text, "");
		free(text);
	}
	fputc(']', to);
	return 0;
}

static int html_labels(const struct keyvis_picture *picture, FILE *to)
{
	size_t rows = picture->map->rows;
	char **labels = keyvis_labels(picture->table, picture->map, HTML_LABEL);

	fputs(",\n\"labels\":[", to);
	for (size_t r = 0; r < rows && labels; r++)
		keyvis_put_json(to, r > 0 ? "," : "", labels[r], "");
	fputc(']', to);
	keyvis_list_free(labels, rows);
	return labels ? 0 : -ENOMEM;
}

static int html_nodes(const struct keyvis_picture *picture, FILE *to)
{
	fputs(",\n\"nodePaths\":[", to);
	keyvis_put_json(to, "", picture->table->root ? "." : picture->table->name, "");
	for (size_t i = 0; i < picture->node_count; i++) {
		char *path = keyvis_node_path(picture->table, &picture->nodes[i]);

		if (!path)
			return -ENOMEM;
		keyvis_put_json(to, ",", path, "");
		free(path);
	}
	fputc(']', to);
	return 0;
}

static void html_hot(const struct keyvis_picture *picture, FILE *to)
{
	fputs(",\n\"hot\":[", to);
	for (size_t i = 0; i < picture->hot_count; i++) {
		const struct keyvis_hot *hot = &picture->hot[i];

		fprintf(to, "%s{\"first\":%zu,\"last\":%zu,\"share\":%u,\"total\":%llu",
			i > 0 ? "," : "", hot->first, hot->last, hot->share,
			(unsigned long long)hot->total);
		keyvis_put_json(to, ",\"name\":", hot->name, "");
		keyvis_put_json(to, ",\"path\":", hot->path, "");
		fputc('}', to);
	}
	fputc(']', to);
}

static void html_scale(const struct keyvis_picture *picture, FILE *to)
{
	fputs(",\n\"colors\":[", to);
	for (unsigned int level = 0; level <= KEYVIS_LEVELS; level++)
		fprintf(to, "%s\"#%06x\"", level > 0 ? "," : "", keyvis_colours[level].rgb);
	fputs("],\n\"bounds\":[", to);
	for (unsigned int level = 1; level <= KEYVIS_LEVELS; level++)
		fprintf(to, "%s%llu", level > 1 ? "," : "",
			(unsigned long long)keyvis_level_start(&picture->scale, level,
							       KEYVIS_LEVELS));
	fputc(']', to);
}

static int html_data(const struct keyvis_picture *picture, FILE *to)
{
	int rc;

	keyvis_put_json(to, "{\"title\":", picture->title, "");
	keyvis_put_json(to, ",\n\"when\":", picture->when, "");
	keyvis_put_json(to, ",\n\"note\":", keyvis_note, "");
	html_scale(picture, to);
	html_hot(picture, to);
	rc = html_list(picture, to, "names", HTML_NAME, keyvis_name);
	rc = rc == 0 ? html_labels(picture, to) : rc;
	rc = rc == 0 ? html_list(picture, to, "paths", 0, keyvis_path) : rc;
	rc = rc == 0 ? html_nodes(picture, to) : rc;
	fputs(",\n\"scan\":", to);
	rc = rc == 0 ? keyvis_put_document(picture, KEYVIS_JSON, to) : rc;
	fputc('}', to);
	return rc;
}

int keyvis_put_html(const struct keyvis_picture *picture, enum keyvis_format format, FILE *to)
{
	const char *at = html_page, *mark;
	int rc = 0;

	(void)format;
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
