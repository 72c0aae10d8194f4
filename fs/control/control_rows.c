/* SPDX-License-Identifier: MIT */
/*
 * Writes to .rows and .row. Each line is a mutation of a row, applied by the write that completes
 * it.
 *
 * The file's own directory stays in memory when its last row is deleted, so that a script can
 * delete a row through its .row and write to the .row again. Directories of other deleted rows do
 * not stay.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "lib/times.h"
#include "store/rows.h"

#define ROWS_MEMORY ((size_t)1 << 30) /* bytes in which a line is read */

struct rows {
	struct fs *fs;
	const struct node *node;
	struct wcs_table *table; /* the node's */
	struct wcs_import *import;
	uint64_t seen; /* lines applied at the last check of the directory */
	bool asked;    /* about the unit of timestamps */
};

/* Asks once about the cells written until then. */
static void ask_unit(struct rows *rows)
{
	uint64_t old = wcs_import_old(rows->import);
	char text[128];

	if (old == 0 || rows->asked)
		return;
	rows->asked = true;
	snprintf(text, sizeof(text), old == 1 ? TIMES_OLD_ONE : TIMES_OLD, old);
	report_remark(rows->fs, rows->node, NULL, text);
}

/* Keeps the directory in memory if its last row is gone. */
static void keep_directory(const struct rows *rows)
{
	struct pos pos;
	int rc = pos_of(rows->node->parent, &pos);

	if (rc != 0 || pos.kind != NODE_PREFIX)
		return;
	rc = pos_exists(rows->fs, &pos);
	if (rc == -ENOENT)
		rc = pos_keep(rows->fs, &pos);
	if (rc != 0)
		report(rows->fs, rows->node->parent, NULL, 0, rc,
		       "the directory was emptied and could not be kept");
}

/* A stream of many rows checks its directory only at the end: the check may step over all
 * tombstones. */
static void keep_at_end(struct rows *rows)
{
	uint64_t applied = wcs_import_lines(rows->import);

	if (rows->node->ts != CONTROL_ROW && applied != rows->seen)
		keep_directory(rows);
	rows->seen = applied;
}

static void row_applied(void *ctx, struct wcs_slice row)
{
	const struct rows *rows = ctx;

	if (rows->node->ts == CONTROL_ROW)
		keep_directory(rows);
	cache_expire_rows(rows->fs, rows->table, &row, false);
}

static int rows_open(struct fs *fs, const struct node *node, void **state)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	struct wcs_import_options options = {.row = node->ts == CONTROL_ROW,
					     .memory = ROWS_MEMORY,
					     .applied = row_applied,
					     .ctx = rows};
	struct wcs_slice key;
	struct pos pos;
	int rc;

	if (!rows)
		return -ENOMEM;
	rows->fs = fs;
	rows->node = node;
	rc = pos_of(node, &pos);
	if (rc == 0) {
		rows->table = pos.table;
		options.key = control_key(&pos, &key);
		rc = wcs_import_new(pos.table, &options, &rows->import);
	}
	if (rc == 0)
		*state = rows;
	else
		free(rows);
	return rc;
}

static int rows_write(void *state, const char *data, size_t len)
{
	struct wcs_fault fault = {0};
	struct rows *rows = state;
	int rc = wcs_import_write(rows->import, data, len, &fault);

	if (rc != 0) {
		ask_unit(rows);
		report(rows->fs, rows->node, NULL, fault.line, rc, "%s", fault.text);
		keep_at_end(rows);
	}
	return rc;
}

static int rows_end(void *state, bool apply)
{
	struct wcs_fault fault = {0};
	struct rows *rows = state;
	int rc = apply ? wcs_import_finish(rows->import, &fault) : 0;

	if (!apply)
		wcs_import_cancel(rows->import);
	ask_unit(rows); /* before the close(2) returns */
	if (rc != 0)
		report(rows->fs, rows->node, NULL, fault.line, rc, "%s", fault.text);
	keep_at_end(rows);
	return rc;
}

static void rows_close(void *state)
{
	struct rows *rows = state;

	ask_unit(rows);
	wcs_import_free(rows->import);
	free(rows);
}

const struct control_writer control_rows_writer = {rows_open, rows_write, rows_end, rows_close};
