/* SPDX-License-Identifier: MIT */
/* Drops rows: the engine's own way, or else row by row. */
#include "store/engine/engine.h"

static int drop_row(const struct wcs_engine *engine, uint32_t table, struct wcs_slice row)
{
	const struct wcs_edit edit = {.row = row, .delete_row = true};
	struct wcs_rows *rows;
	size_t applied;
	int rc = engine->backend->rows_open(engine->db, table, &edit, 1, &rows);

	if (rc != 0)
		return rc;
	rc = engine->backend->rows_apply(rows, &edit, 1, &applied);
	engine->backend->rows_close(rows);
	return rc;
}

int engine_drop(const struct wcs_engine *engine, uint32_t table, const struct wcs_range *ranges,
		size_t count)
{
	static const struct wcs_filter rows = {.each = WCS_EACH_ROW};
	static const struct wcs_view everything = {.policies = NULL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc;

	if (engine->backend->drop != NULL)
		return engine->backend->drop(engine->db, table, ranges, count);
	rc = engine_scan(engine, &everything, table, ranges, count, &rows, &scan);
	if (rc != 0)
		return rc;
	while (rc == 0 && (rc = scan->ops->next(scan, &cell)) > 0)
		rc = drop_row(engine, table, cell.row);
	scan->ops->close(scan);
	return rc;
}
