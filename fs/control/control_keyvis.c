/* SPDX-License-Identifier: MIT */
/*
 * /.rowfs/keyvis/T/METRIC.FORMAT and T/WINDOW/METRIC.FORMAT: the heat map of a table. spell.c lists
 * these names, which are those of keyvis.h.
 *
 * Browsers read no more than st_size bytes, so the files for them have a size. A request for it
 * makes the picture and keeps it for the open that follows: that open reads what was measured.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control.h"
#include "fs/control/control_kind.h"
#include "fs/keyvis/keyvis.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"

enum {
	PICTURES_MAX = 8,
	PICTURES_BYTES = 16 << 20, /* of all kept ones, unless one alone is larger */
};

#define PICTURE_MEASURED (5 * CLOCK_SECOND) /* ns; so long a size stands */
#define PICTURE_READ	 (2 * PICTURE_MEASURED)

struct picture {
	uint64_t ino;
	int64_t made; /* by clock_ns */
	char *text;   /* NULL: none */
	size_t len;
};

struct pictures {
	pthread_mutex_t lock;
	struct picture kept[PICTURES_MAX]; /* a ring. Lock: lock */
	size_t next;			   /* the oldest. Lock: lock */
};

struct pictures *pictures_new(void)
{
	struct pictures *pictures = calloc(1, sizeof(*pictures));

	if (pictures)
		pthread_mutex_init(&pictures->lock, NULL);
	return pictures;
}

void pictures_free(struct pictures *pictures)
{
	for (size_t i = 0; pictures && i < PICTURES_MAX; i++)
		free(pictures->kept[i].text);
	if (pictures)
		pthread_mutex_destroy(&pictures->lock);
	free(pictures);
}

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

/* Prints the node's picture. That takes a while for a large map, so another thread reads requests
 * meanwhile. */
static int picture_draw(struct fs *fs, const struct node *node, FILE *to)
{
	struct wcs_table *table;
	int rc = wcs_table_open(fs->store, node_up(node, NODE_HEAT)->name, &table);

	if (rc != 0)
		return rc;
	loop_wait_begin(fs);
	rc = draw(fs, table, node, to);
	loop_wait_end(fs);
	wcs_table_close(table);
	return rc;
}

/* Prints the last picture that was kept, if it is not older (ns), unless to is NULL. Returns its
 * size; 0: there is none. */
static size_t picture_find(struct pictures *pictures, uint64_t ino, int64_t age, FILE *to)
{
	struct picture last = {.made = clock_ns() - age};

	pthread_mutex_lock(&pictures->lock);
	for (size_t i = 0; i < PICTURES_MAX; i++)
		if (pictures->kept[i].ino == ino && pictures->kept[i].made > last.made)
			last = pictures->kept[i];
	if (to && last.text)
		fwrite(last.text, 1, last.len, to);
	pthread_mutex_unlock(&pictures->lock);
	return last.len;
}

/* Takes over the text. Frees the oldest pictures while all are too many bytes, and those that no
 * open reads any more. */
static void picture_keep(struct pictures *pictures, struct picture picture)
{
	struct picture *kept = pictures->kept;
	int64_t expired = clock_ns() - PICTURE_READ;
	size_t bytes = picture.len;

	pthread_mutex_lock(&pictures->lock);
	for (size_t i = 0; i < PICTURES_MAX; i++)
		bytes += kept[i].len;
	for (size_t i = 0; i < PICTURES_MAX; i++) {
		struct picture *old = &kept[(pictures->next + i) % PICTURES_MAX];

		if (i > 0 && old->made > expired && bytes <= PICTURES_BYTES)
			continue;
		bytes -= old->len;
		free(old->text);
		*old = (struct picture){.text = NULL};
	}
	kept[pictures->next] = picture;
	pictures->next = (pictures->next + 1) % PICTURES_MAX;
	pthread_mutex_unlock(&pictures->lock);
}

uint64_t control_size(struct fs *fs, const struct node *node)
{
	struct picture picture = {.ino = node->ino, .made = clock_ns()};
	enum keyvis_format format = node->ts == CONTROL_HEAT ? format_of(node) : KEYVIS_TXT;
	FILE *to;
	int rc;

	if (format != KEYVIS_HTML && format != KEYVIS_SVG)
		return 0;
	picture.len = picture_find(fs->pictures, node->ino, PICTURE_MEASURED, NULL);
	if (picture.len > 0)
		return picture.len;
	to = open_memstream(&picture.text, &picture.len);
	rc = to ? picture_draw(fs, node, to) : -ENOMEM;
	if (to && fclose(to) != 0)
		rc = -ENOMEM;
	if (rc == 0)
		picture_keep(fs->pictures, picture);
	else
		free(picture.text);
	return rc == 0 ? picture.len : 0;
}

static int picture_print(const struct control_place *at, FILE *to)
{
	return picture_find(at->fs->pictures, at->node->ino, PICTURE_READ, to) > 0
		       ? 0
		       : picture_draw(at->fs, at->node, to);
}

const struct control_text control_keyvis = {picture_print, NULL, NULL, CONTROL_LINES};
