/* SPDX-License-Identifier: MIT */
/*
 * /.rowfs/keyvis/T/METRIC.FORMAT and T/WINDOW/METRIC.FORMAT: the heat map of a table. spell.c lists
 * these names, which are those of keyvis.h. A read draws the picture; a stat does not.
 */
#include <string.h>

#include "fs/control/control_kind.h"
#include "fs/keyvis/keyvis.h"
#include "fs/serve/loop.h"

static enum keyvis_format format_of(const struct node *node)
{
	enum keyvis_format format = KEYVIS_TXT;

	while (strcmp(keyvis_format_name(format), strchr(node->name, '.') + 1) != 0)
		format++;
	return format;
}

static int draw(struct fs *fs, struct wcs_table *table, const struct node *node, FILE *to)
{
	size_t len = (size_t)(strchr(node->name, '.') - node->name);
	enum wcs_heat_window window = WCS_HEAT_6H;
	enum wcs_heat_metric metric = WCS_HEAT_OPS;

	while (node->parent->kind == NODE_WINDOW &&
	       strcmp(keyvis_window_name(window), node->parent->name) != 0)
		window++;
	while (strncmp(keyvis_metric_name(metric), node->name, len) != 0)
		metric++;
	return keyvis_render(table, window, metric, format_of(node), fs->options.table != NULL, to);
}

/* Drawing takes a while for a large map, so another thread reads requests meanwhile. */
static int picture_print(const struct control_place *at, FILE *to)
{
	struct wcs_table *table;
	int rc = wcs_table_open(at->fs->store, node_up(at->node, NODE_HEAT)->name, &table);

	if (rc != 0)
		return rc;
	loop_wait_begin(at->fs);
	rc = draw(at->fs, table, at->node, to);
	loop_wait_end(at->fs);
	wcs_table_close(table);
	return rc;
}

const struct control_text control_keyvis = {picture_print, NULL, NULL, CONTROL_LINES};
