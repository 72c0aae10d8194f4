/* SPDX-License-Identifier: MIT */
/*
 * .drop, families/F/drop and .count: a read returns a count of rows. A write of a confirming text
 * to the first two deletes them: the prefix in bytes or as .drop spells it, the table's name,
 * "table" and that name, or the family's name. A newline or a close ends the text. The first byte
 * that fits no such text fails the write, and nothing is dropped. Write sessions of a dropped
 * column commit nothing more, as after rm; sessions that create a new name still create it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/serve/loop.h"
#include "fs/serve/report.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"

struct drop;

/* A confirming text, without the newline. */
struct drop_text {
	char *data;
	size_t len;
	int (*apply)(struct drop *drop, const struct pos *pos);
	bool possible; /* the bytes written so far are a prefix of it */
};

enum { DROP_TEXTS = 2 };

struct drop {
	struct fs *fs;
	const struct node *node;
	const struct node *dir; /* the root of the dropped subtree; of a family: the table */
	struct drop_text texts[DROP_TEXTS];
	size_t count; /* of texts */
	size_t len;   /* bytes written so far, all of which match a text */
};

static int drop_print(const struct control_place *at, FILE *to)
{
	const struct pos *pos = &at->pos;
	struct wcs_count count;
	struct wcs_slice key;
	int rc = pos->family ? wcs_family_count(pos->table, pos->family, &count)
			     : wcs_rows_count(pos->table, control_key(pos, &key), &count);

	if (rc != 0)
		return rc;
	fputc('{', to);
	if (at->node->ts == CONTROL_DROP)
		fprintf(to, "\"table\":\"%s\",\"%s\":", wcs_table_name(pos->table),
			pos->family ? "family" : "prefix");
	if (pos->family)
		fprintf(to, "\"%s\",", pos->family);
	else if (at->node->ts == CONTROL_DROP) {
		rc = control_print_key(to, pos_key(pos));
		fputc(',', to);
	}
	fprintf(to, "\"rows\":%" PRIu64, count.rows);
	if (pos->family || at->node->ts == CONTROL_COUNT)
		fprintf(to, ",\"cells\":%" PRIu64, count.cells);
	fprintf(to, ",\"bytes\":%" PRIu64 "}\n", count.bytes);
	return rc;
}

/* ---- Dropping ---------------------------------------------------------------------------- */

/* Removes the directories in memory and the drafts of the dropped rows. */
static int forget_memory(struct drop *drop, const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = pos_memdir_path(pos, &path);

	if (rc == 0)
		memdirs_remove(drop->fs->memdirs, &path);
	memdir_path_clear(&path);
	drafts_remove(drop->fs, 0, drop->dir->plain, NULL);
	return rc;
}

static int drop_rows(struct drop *drop, const struct pos *pos)
{
	struct wcs_slice key;
	int rc = wcs_rows_drop(pos->table, control_key(pos, &key));

	if (rc == 0)
		rc = forget_memory(drop, pos);
	cache_expire_rows(drop->fs, pos->table, control_key(pos, &key), true);
	return rc;
}

static int drop_table(struct drop *drop, const struct pos *pos)
{
	int rc = wcs_table_drop(pos->table);

	if (rc == 0)
		rc = forget_memory(drop, pos);
	cache_expire_rows(drop->fs, pos->table, NULL, true);
	cache_expire_table(drop->fs, wcs_table_name(pos->table));
	return rc;
}

static int drop_family(struct drop *drop, const struct pos *pos)
{
	int rc = wcs_family_drop(pos->table, pos->family);

	if (rc == 0)
		drafts_remove(drop->fs, 0, drop->dir->plain, pos->family);
	cache_expire_family(drop->fs, pos->table, pos->family);
	return rc;
}

static int drop_apply(struct drop *drop, const struct drop_text *text)
{
	struct pos pos;
	int rc = pos_of(drop->node, &pos);

	if (rc == 0 && wcs_table_protected(pos.table))
		return report_protected(drop->fs, drop->node, NULL, 1, -EPERM);
	if (rc == 0 && text->apply == drop_table && !drop->dir->parent)
		return report(drop->fs, drop->node, NULL, 1, -EBUSY,
			      "the table is the root of this mount and cannot be removed here");
	if (rc == 0) {
		writers_detach_below(drop->fs, drop->dir->plain, false, pos.family);
		loop_wait_begin(drop->fs);
		rc = text->apply(drop, &pos);
		loop_wait_end(drop->fs);
	}
	if (rc != 0)
		report(drop->fs, drop->node, NULL, 1, rc, "the drop is incomplete: %s",
		       strerror(-rc));
	return rc;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Expects a text from its first byte on. */
static void drop_start(void *state)
{
	struct drop *drop = state;

	drop->len = 0;
	for (size_t i = 0; i < drop->count; i++)
		drop->texts[i].possible = true;
}

static void drop_close(void *state)
{
	struct drop *drop = state;

	for (size_t i = 0; i < drop->count; i++)
		free(drop->texts[i].data);
	free(drop);
}

/* Adds a text: before, then name. */
static int add_text(struct drop *drop, int (*apply)(struct drop *drop, const struct pos *pos),
		    const char *before, struct wcs_slice name)
{
	size_t len = strlen(before);
	char *data = malloc(len + name.len + 1);

	if (!data)
		return -ENOMEM;
	memcpy(data, before, len);
	memcpy(data + len, name.data, name.len);
	drop->texts[drop->count++] = (struct drop_text){data, len + name.len, apply, true};
	return 0;
}

/* An error shows the last text. */
static int add_texts(struct drop *drop, const struct pos *pos)
{
	const char *name = pos->family ? pos->family : wcs_table_name(pos->table);
	struct wcs_slice bytes = {name, strlen(name)};
	char *spelled;
	int rc;

	if (pos->family)
		return add_text(drop, drop_family, "", bytes);
	if (pos->depth == 0) {
		rc = add_text(drop, drop_table, "table ", bytes);
		return rc == 0 ? add_text(drop, drop_rows, "", bytes) : rc;
	}
	spelled = wcs_text_encode(pos_key(pos));
	rc = spelled ? add_text(drop, drop_rows, "", pos_key(pos)) : -ENOMEM;
	if (rc == 0)
		rc = add_text(drop, drop_rows, "", (struct wcs_slice){spelled, strlen(spelled)});
	free(spelled);
	return rc;
}

static int drop_open(struct fs *fs, const struct node *node, void **state)
{
	struct drop *drop = calloc(1, sizeof(*drop));
	struct pos pos;
	int rc;

	if (!drop)
		return -ENOMEM;
	drop->fs = fs;
	drop->node = node;
	rc = pos_of(node, &pos);
	drop->dir = pos.family ? node_up(node, NODE_TABLE) : node->parent;
	if (rc == 0)
		rc = add_texts(drop, &pos);
	if (rc != 0) {
		drop_close(drop);
		return rc;
	}
	*state = drop;
	return 0;
}

static int refuse(struct drop *drop)
{
	const struct drop_text *last = &drop->texts[drop->count - 1];
	const char *what = last->apply == drop_family ? "cells of the family" : "rows here";
	const char *also = drop->texts[0].apply == drop_table ? ", or \"table\" and that to remove "
								"the table, too"
							      : "";

	return report(drop->fs, drop->node, NULL, 1, -EINVAL,
		      "to drop all %s write just %.*s and a newline%s; nothing was dropped", what,
		      (int)last->len, last->data, also);
}

/* The completely written text, with 0 or 1 newline; NULL: none. */
static const struct drop_text *written(struct drop *drop, size_t newline)
{
	for (size_t i = 0; i < drop->count; i++)
		if (drop->texts[i].possible && drop->len == drop->texts[i].len + newline)
			return &drop->texts[i];
	return NULL;
}

/* Bytes after the newline in the same write fit no text either. */
static int drop_write(void *state, const char *data, size_t len)
{
	struct drop *drop = state;
	const struct drop_text *whole;
	bool possible = false;

	for (size_t i = 0; i < len; i++, drop->len++)
		for (size_t t = 0; t < drop->count; t++) {
			struct drop_text *text = &drop->texts[t];

			text->possible &= drop->len < text->len
						  ? text->data[drop->len] == data[i]
						  : drop->len == text->len && data[i] == '\n';
		}
	for (size_t t = 0; t < drop->count; t++)
		possible = possible || drop->texts[t].possible;
	if (!possible)
		return refuse(drop);
	whole = written(drop, 1);
	if (!whole)
		return 0;
	drop_start(drop);
	return drop_apply(drop, whole);
}

static int drop_finish(void *state)
{
	struct drop *drop = state;
	bool unfinished = drop->len > 0;
	const struct drop_text *whole = written(drop, 0);

	drop_start(drop);
	if (!unfinished)
		return 0;
	if (whole && !loop_can_wait())
		return report(drop->fs, drop->node, NULL, 1, -EINVAL,
			      "a last close cannot wait for a drop; end the line");
	return whole ? drop_apply(drop, whole) : refuse(drop);
}

const struct control_text control_drop = {drop_print, NULL, false};

const struct control_writer control_drop_writer = {
	.open = drop_open,
	.write = drop_write,
	.finish = drop_finish,
	.cancel = drop_start,
	.close = drop_close,
};
