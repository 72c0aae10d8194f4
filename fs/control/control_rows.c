/* SPDX-License-Identifier: MIT */
/*
 * Writing rows: .rows and .row. Each line is a mutation of a row, applied by the write that
 * completes it.
 *
 * The directory that the file is in stays, in memory where no row is left in it, so that who
 * deletes a row by its .row can write to that again. Other directories of deleted rows do not.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/serve/report.h"

struct rows {
	struct fs *fs;
	const struct node *node;
	struct wcs_table *table; /* the node's */
	struct wcs_import *import;
	uint64_t seen; /* rows applied when the directory was looked at last */
};

/* Keeps the directory, where its last row went. */
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

/* Of a stream of many rows that is done at its end only: to look for rows that are left may mean to
 * pass by all that were deleted. */
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
	cache_expire_row(rows->fs, rows->table, row);
}

static int rows_open(struct fs *fs, const struct node *node, void **state)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	struct wcs_import_options options = {
		.row = node->ts == CONTROL_ROW, .applied = row_applied, .ctx = rows};
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

static int report_fault(const struct rows *rows, int rc, const struct wcs_fault *fault)
{
	return report(rows->fs, rows->node, NULL, fault->line, rc, "%s", fault->text);
}

static int rows_write(void *state, const char *data, size_t len)
{
	struct wcs_fault fault = {0};
	struct rows *rows = state;
	int rc = wcs_import_write(rows->import, data, len, &fault);

	if (rc != 0)
		report_fault(rows, rc, &fault);
	if (rc != 0)
		keep_at_end(rows);
	return rc;
}

static int rows_finish(void *state)
{
	struct wcs_fault fault = {0};
	struct rows *rows = state;
	int rc = wcs_import_finish(rows->import, &fault);

	if (rc != 0)
		report_fault(rows, rc, &fault);
	keep_at_end(rows);
	return rc;
}

static void rows_cancel(void *state)
{
	struct rows *rows = state;

	wcs_import_cancel(rows->import);
	keep_at_end(rows);
}

static void rows_close(void *state)
{
	struct rows *rows = state;

	wcs_import_free(rows->import);
	free(rows);
}

const struct control_writer control_rows_writer = {
	.open = rows_open,
	.write = rows_write,
	.finish = rows_finish,
	.cancel = rows_cancel,
	.close = rows_close,
};
