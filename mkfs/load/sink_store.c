/* SPDX-License-Identifier: MIT */
/* The sink that opens a store in this process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/base/mounted.h"
#include "mkfs/load/sink.h"
#include "store/rows.h"

struct sink_store {
	struct sink sink;
	struct wcs_store *store;
	struct wcs_import *import;
	struct wcs_table *table; /* named last; NULL: none */
};

static int sink_store_other(void *ctx, const struct wcs_line *line, struct wcs_table **table,
			    struct wcs_fault *fault)
{
	struct sink_store *to = ctx;
	struct wcs_table *named;
	bool removed;
	int rc;

	if (line->kind == WCS_LINE_SCHEMA && to->sink.no_schema)
		return 0;
	if (line->kind == WCS_LINE_SCHEMA) {
		rc = sink_keep_designs(&to->sink, line->schema, &removed);
		if (rc)
			snprintf(fault->text, sizeof(fault->text), "%.300s", to->sink.why);
		return rc ? rc : wcs_schema_apply(to->store, line->schema, fault);
	}
	rc = wcs_table_open(to->store, line->table, &named);
	if (rc) {
		snprintf(fault->text, sizeof(fault->text), "table %s: %s", line->table,
			 rc == -ENOENT ? "the store has none of that name" : strerror(-rc));
		return rc;
	}
	wcs_table_close(to->table);
	to->table = *table = named;
	snprintf(to->sink.table, sizeof(to->sink.table), "%s", wcs_table_name(named));
	return 0;
}

/* Takes note of what is applied, and of a fault. */
static int sink_store_result(struct sink_store *to, int rc, const struct wcs_fault *fault)
{
	to->sink.rows = wcs_import_lines(to->import);
	if (!rc)
		return 0;
	wcs_import_resume(to->import);
	to->sink.failed = (uint64_t)fault->line;
	return sink_fail_import(&to->sink, rc, fault->text);
}

static int sink_store_write(struct sink *sink, const char *text, size_t len)
{
	struct sink_store *to = (struct sink_store *)sink;
	struct wcs_fault fault = {0};
	int rc = wcs_import_write(to->import, text, len, &fault);

	if (!rc && text[len - 1] != '\n')
		rc = wcs_import_finish(to->import, &fault);
	return sink_store_result(to, rc, &fault);
}

static int sink_store_finish(struct sink *sink)
{
	struct sink_store *to = (struct sink_store *)sink;
	struct wcs_fault fault = {0};

	return sink_store_result(to, wcs_import_finish(to->import, &fault), &fault);
}

static int sink_store_row(struct sink *sink, const struct csv_row *row)
{
	struct sink_store *to = (struct sink_store *)sink;
	struct wcs_fault fault = {0};
	int rc = wcs_import_row(to->import, row->cells, row->count, row->line, &fault);

	return sink_store_result(to, rc, &fault);
}

static int sink_store_sync(struct sink *sink)
{
	struct sink_store *to = (struct sink_store *)sink;
	int rc = wcs_store_sync(to->store);

	return rc ? sink_fail(sink, rc, "%s", strerror(-rc)) : 0;
}

static uint64_t sink_store_cells(struct sink *sink, uint64_t *old)
{
	struct wcs_stats stats = {.cells_written = 0};

	wcs_store_stats(((struct sink_store *)sink)->store, &stats);
	*old = stats.cells_old;
	return stats.cells_written;
}

static int sink_store_schema(struct sink *sink, struct wcs_schema **schema)
{
	int rc = wcs_schema_get(((struct sink_store *)sink)->store, schema);

	return rc ? sink_fail(sink, rc, "the schema: %s", strerror(-rc)) : 0;
}

static void sink_store_close(struct sink *sink)
{
	struct sink_store *to = (struct sink_store *)sink;

	wcs_import_free(to->import);
	wcs_table_close(to->table);
	wcs_store_close(to->store);
	wcs_schema_free(sink->schema);
	free(to);
}

static const struct sink_kind sink_store_kind = {.write = sink_store_write,
						 .row = sink_store_row,
						 .finish = sink_store_finish,
						 .sync = sink_store_sync,
						 .cells = sink_store_cells,
						 .schema = sink_store_schema,
						 .close = sink_store_close};

int sink_store_open(const struct program *program, const char *path, struct sink **sink)
{
	struct sink_store *to = calloc(1, sizeof(*to));
	const struct wcs_import_options options = {
		.other = sink_store_other, .line_max = WCS_IMPORT_LINE_MOST, .ctx = to};
	int exit_code;

	if (!to)
		return program_fail(program, "no memory");
	to->sink.kind = &sink_store_kind;
	to->sink.line_max = options.line_max;
	exit_code = mounted_open_store(program, path, NULL, false, &to->store);
	if (exit_code == PROGRAM_OK && wcs_import_new(NULL, &options, &to->import))
		exit_code = program_fail(program, "no memory");
	if (exit_code == PROGRAM_OK)
		*sink = &to->sink;
	else
		sink_store_close(&to->sink);
	return exit_code;
}
