/* SPDX-License-Identifier: MIT */
/* Looks at one cell: the engine's own, or else a scan. */
#include "store/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The value of a scan's cell, and the memory that the scan borrows. */
struct cell_value {
	struct wcs_value base;
	struct wcs_scan *scan;
	struct wcs_filter filter;
	const char *family;
	char name[WCS_FAMILY_NAME_MAX + 1];
	unsigned char row[WCS_ROW_KEY_MAX + 1];		/* and a NUL behind it */
	unsigned char qualifier[WCS_QUALIFIER_MAX + 1]; /* and a NUL */
};

static int cell_value_read(struct wcs_value *base, void *buf, size_t len, uint64_t offset,
			   size_t *got)
{
	struct wcs_scan *scan = ((struct cell_value *)base)->scan;

	return scan->ops->read(scan, buf, len, offset, got);
}

static void cell_value_close(struct wcs_value *base)
{
	struct cell_value *value = (struct cell_value *)base;

	value->scan->ops->close(value->scan);
	free(value);
}

static const struct value_ops cell_ops = {cell_value_read, cell_value_close};

/* As cell_open of the engines (backend.h), by a scan. */
static int cell_scan(const struct wcs_engine *engine, const struct wcs_view *view,
		     const struct wcs_address *at, struct wcs_cell_info *info,
		     struct wcs_value **made)
{
	struct cell_value *value = calloc(1, sizeof(*value));
	struct wcs_range range;
	struct wcs_cell cell;
	int rc;

	if (value == NULL)
		return -ENOMEM;
	memcpy(value->row, at->row.data, at->row.len);
	if (at->qualifier.len > 0)
		memcpy(value->qualifier, at->qualifier.data, at->qualifier.len);
	value->family = strcpy(value->name, at->family);
	range = (struct wcs_range){at->row, {value->row, at->row.len + 1}};
	value->filter =
		(struct wcs_filter){.families = &value->family,
				    .family_count = 1,
				    .qualifier_from = {value->qualifier, at->qualifier.len},
				    .qualifier_to = {value->qualifier, at->qualifier.len + 1},
				    .ts_from = at->ts < 0 ? 0 : at->ts,
				    .ts_to = at->ts < 0 || at->ts == INT64_MAX ? 0 : at->ts + 1};
	value->base.ops = &cell_ops;
	rc = engine_scan(engine, view, at->table, &range, 1, &value->filter, &value->scan);
	if (rc != 0) {
		free(value);
		return rc;
	}
	rc = value->scan->ops->next(value->scan, &cell);
	if (rc > 0)
		*info = value->base.info = cell.info;
	if (rc > 0 && made != NULL)
		*made = &value->base;
	else
		cell_value_close(&value->base);
	return rc > 0 ? 0 : rc == 0 ? -ENOENT : rc;
}

int engine_cell(const struct wcs_engine *engine, const struct wcs_view *view,
		const struct wcs_address *at, struct wcs_cell_info *info, struct wcs_value **value)
{
	if (engine->backend->cell_open != NULL)
		return engine->backend->cell_open(engine->db, view, at, info, value);
	return cell_scan(engine, view, at, info, value);
}
