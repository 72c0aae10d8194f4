/* SPDX-License-Identifier: MIT */
/*
 * .drop, families/F/drop and .count: a read returns a count of rows. A write of a confirming text
 * to the first two deletes them: the prefix in bytes or as .drop spells it (the empty one: %, as
 * an empty line confirms nothing), the table's name, "table" and that name, or the family's name. A
 * newline or a close ends the text. Write sessions of a dropped column commit nothing more, as
 * after rm; sessions that create a new name still create it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/live/live.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"
#include "lib/escape.h"
#include "store/keys/keys.h"
#include "store/rows.h"

enum { DIGITS = 20 }; /* of the largest number */

static int digits(uint64_t number)
{
	return snprintf(NULL, 0, "%" PRIu64, number);
}

/* Blanks in front of the newline give a file's texts one length, whatever the numbers. */
static int count_print(const struct control_place *at, const struct wcs_count *count, FILE *to)
{
	const struct pos *pos = &at->pos;
	const json_int_t rows = (json_int_t)count->rows, cells = (json_int_t)count->cells,
			 bytes = (json_int_t)count->bytes;
	int rc, blanks = 3 * DIGITS - digits(count->rows) - digits(count->bytes);
	json_t *json;

	if (at->node->ts == CONTROL_COUNT)
		json = json_pack("{s:I, s:I, s:I}", "rows", rows, "cells", cells, "bytes", bytes);
	else if (pos->family)
		json = json_pack("{s:s, s:s, s:I, s:I, s:I}", "table", wcs_table_name(pos->table),
				 "family", pos->family, "rows", rows, "cells", cells, "bytes",
				 bytes);
	else
		json = json_pack("{s:s, s:o, s:I, s:I}", "table", wcs_table_name(pos->table),
				 "prefix", control_key_json(pos->keys, pos_key(pos)), "rows", rows,
				 "bytes", bytes);
	blanks -= json_object_get(json, "cells") ? digits(count->cells) : DIGITS;
	fputc('{', to);
	rc = escape_json_put(to, json, JSON_EMBED);
	fprintf(to, "}%*s\n", blanks, "");
	return rc;
}

static int drop_print(const struct control_place *at, FILE *to)
{
	const struct pos *pos = &at->pos;
	struct wcs_count count = {0};
	struct wcs_slice key;
	int rc = 0;

	if (!at->blank)
		rc = pos->family ? wcs_family_count(pos->table, pos->family, &count)
				 : wcs_rows_count(pos->table, control_key(pos, &key), pos->chain,
						  &count);
	return rc == 0 ? count_print(at, &count, to) : rc;
}

/* ---- Dropping ---------------------------------------------------------------------------- */

/* The root of the dropped subtree; of a family: the table. */
static const struct node *drop_root(const struct control_place *at)
{
	return at->pos.family ? node_up(at->node, NODE_TABLE) : at->node->parent;
}

static int drop_rows(const struct control_place *at, bool with_table)
{
	const struct pos *pos = &at->pos;
	struct memdir_path path = {0};
	struct wcs_slice key;
	int rc = with_table ? wcs_table_drop(pos->table)
			    : wcs_rows_drop(pos->table, control_key(pos, &key));

	if (rc == 0) {
		rc = pos_memdir_path(pos, &path);
		if (rc == 0)
			memdirs_remove(at->fs->memdirs, &path);
		memdir_path_clear(&path);
		drafts_remove(at->fs, drop_root(at)->plain, NULL);
	}
	cache_expire_rows(at->fs, pos->table, control_key(pos, &key), true);
	if (with_table)
		cache_expire_table(at->fs, wcs_table_name(pos->table));
	return rc;
}

static int drop_family(const struct control_place *at)
{
	int rc = wcs_family_drop(at->pos.table, at->pos.family);

	if (rc == 0)
		drafts_remove(at->fs, drop_root(at)->plain, at->pos.family);
	cache_expire_family(at->fs, at->pos.table, at->pos.family);
	return rc;
}

/* The two texts that confirm a drop; the first one, NUL-terminated, is the one that errors show.
 * The caller frees made. */
struct drop_texts {
	struct wcs_slice texts[2];
	char *made;
};

static int drop_texts(const struct pos *pos, struct drop_texts *all)
{
	const char *name = pos->family ? pos->family : wcs_table_name(pos->table);

	all->texts[0] = all->texts[1] = (struct wcs_slice){name, strlen(name)};
	all->made = NULL;
	if (pos->family)
		return 0;
	if (pos->depth > 0 && pos_key(pos).len == 0) {
		all->texts[0] = all->texts[1] = (struct wcs_slice){"%", 1};
		if (wcs_keys_coded(pos->keys, 0))
			all->texts[1] = (struct wcs_slice){"%=", 2};
		return 0;
	}
	if (pos->depth > 0) {
		all->made = wcs_keys_text(pos->keys, pos_key(pos));
		all->texts[1] = pos_key(pos);
	} else if (asprintf(&all->made, "table %s", name) < 0) {
		all->made = NULL;
	}
	if (!all->made)
		return -ENOMEM;
	all->texts[pos->depth == 0] = (struct wcs_slice){all->made, strlen(all->made)};
	if (pos->keys && pos->depth > 0) /* the bytes may be another shown key */
		all->texts[1] = all->texts[0];
	return 0;
}

static bool drop_begins(struct wcs_slice wanted, const char *text, size_t len)
{
	return len <= wanted.len && memcmp(text, wanted.data, len) == 0;
}

static bool drop_continues(const struct control_place *at, const char *text, size_t len)
{
	struct drop_texts all;
	bool begins = drop_texts(&at->pos, &all) == 0 && (drop_begins(all.texts[0], text, len) ||
							  drop_begins(all.texts[1], text, len));

	free(all.made);
	return begins;
}

static int drop_confirmed(const struct control_place *at, const struct wcs_slice *texts,
			  const char *text, size_t len)
{
	const struct pos *pos = &at->pos;
	bool table = pos->depth == 0 && !pos->family;
	bool second = len == texts[1].len && drop_begins(texts[1], text, len);
	bool with_table = table && second;
	struct wcs_slice key;
	uint64_t told;
	int rc;

	if (!second && (len != texts[0].len || !drop_begins(texts[0], text, len)))
		return report(at->fs, at->node, NULL, 1, -EINVAL,
			      "to drop all %s write just %s and a newline%s%s%s; nothing was "
			      "dropped",
			      pos->family ? "cells of the family" : "rows here",
			      (const char *)texts[0].data, table ? ", or \"" : "",
			      table ? (const char *)texts[1].data : "",
			      table ? "\" to remove the table, too" : "");
	if (wcs_table_protected(pos->table))
		return report_protected(at->fs, at->node, NULL, 1, -EPERM);
	if (with_table && !drop_root(at)->parent)
		return report(at->fs, at->node, NULL, 1, -EBUSY,
			      "the table is the root of this mount and cannot be removed here");
	if (!loop_can_wait())
		return report(at->fs, at->node, NULL, 1, -EINVAL,
			      "a last close cannot wait for a drop; end the line");
	writers_detach_below(at->fs, drop_root(at)->plain, false, pos->family);
	loop_wait_begin(at->fs);
	told = live_dropped(at->fs, pos->table, control_key(pos, &key), pos->family, 0);
	rc = pos->family ? drop_family(at) : drop_rows(at, with_table);
	live_dropped(at->fs, pos->table, control_key(pos, &key), pos->family, told);
	if (with_table && rc == 0)
		live_removed(at->fs);
	loop_wait_end(at->fs);
	if (rc != 0)
		report(at->fs, at->node, NULL, 1, rc, "the drop is incomplete: %s", strerror(-rc));
	return rc;
}

static int drop_apply(const struct control_place *at, const char *text, size_t len)
{
	struct drop_texts all;
	int rc = drop_texts(&at->pos, &all);

	if (rc == 0)
		rc = drop_confirmed(at, all.texts, text, len);
	free(all.made);
	return rc;
}

const struct control_text control_drop = {drop_print, drop_apply, drop_continues, CONTROL_WORDS};
