/* SPDX-License-Identifier: MIT */
/*
 * Reads of cells, values and keys. Each call checks its arguments, takes the table's gate and calls
 * the engine, which may trust the arguments.
 */
#include "store/heat/heat_count.h"
#include "store/salt/salt.h"
#include "store/table/table.h"

#include <errno.h>
#include <string.h>

_Thread_local uint64_t store_rows_read;

uint64_t wcs_rows_read(void)
{
	return store_rows_read;
}

/* ---- Arguments --------------------------------------------------------------------------- */

int store_check_slice(struct wcs_slice slice, size_t max)
{
	if (slice.len > max)
		return -ENAMETOOLONG;
	return slice.data == NULL && slice.len > 0 ? -EINVAL : 0;
}

int store_check_row(struct wcs_slice row)
{
	return row.len == 0 ? -EINVAL : store_check_slice(row, WCS_ROW_KEY_MAX);
}

/* ---- Cells and values -------------------------------------------------------------------- */

/* raw: the row is a stored key. made NULL: no value is wanted. */
static int cell_open(struct wcs_table *table, bool raw, struct wcs_address at,
		     struct wcs_cell_info *info, struct wcs_value **made)
{
	unsigned char bytes[WCS_ROW_KEY_MAX];
	const struct wcs_keys *keys;
	int rc = store_check_row(at.row);
	int64_t began = heat_begin(table);
	struct wcs_view view;

	at.table = table->id;
	if (rc == 0)
		rc = store_check_slice(at.qualifier, WCS_QUALIFIER_MAX);
	if (rc == 0 && at.ts < 0 && at.ts != WCS_TS_NEWEST)
		rc = -EINVAL;
	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	store_rows_read++;
	view = table_view(table);
	keys = raw ? NULL : wcs_table_keys(table);
	rc = at.row.len > wcs_keys_row_max(keys) ? -ENAMETOOLONG : -ENOENT;
	if (rc == -ENOENT && family_of(table, at.family) != NULL) {
		at.row = wcs_keys_stored(keys, at.row, bytes);
		rc = engine_cell(&table->store->engine, &view, &at, info, made);
	}
	if (rc == 0 && !heat_looks)
		heat_count_cells(table, NULL, at.row, 1, 0, began);
	table_leave(table);
	return rc;
}

int wcs_cell_get(struct wcs_table *table, struct wcs_slice row, const char *family,
		 struct wcs_slice qualifier, int64_t ts, struct wcs_cell_info *info)
{
	return cell_open(table, false, (struct wcs_address){0, row, family, qualifier, ts}, info,
			 NULL);
}

int wcs_value_open(struct wcs_table *table, struct wcs_slice row, const char *family,
		   struct wcs_slice qualifier, int64_t ts, struct wcs_value **value)
{
	struct wcs_cell_info info;

	return cell_open(table, false, (struct wcs_address){0, row, family, qualifier, ts}, &info,
			 value);
}

int wcs_value_open_stored(struct wcs_table *table, struct wcs_slice row, const char *family,
			  struct wcs_slice qualifier, int64_t ts, struct wcs_value **value)
{
	struct wcs_cell_info info;

	return cell_open(table, true, (struct wcs_address){0, row, family, qualifier, ts}, &info,
			 value);
}

/* ---- Keys -------------------------------------------------------------------------------- */

int wcs_key_get(struct wcs_table *table, struct wcs_slice key, struct wcs_key_info *info)
{
	int rc = store_check_slice(key, WCS_ROW_KEY_MAX);
	const struct wcs_keys *keys;
	struct wcs_view view;

	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	store_rows_read++;
	view = table_view(table);
	keys = wcs_table_keys(table);
	rc = -ENAMETOOLONG;
	if (key.len <= wcs_keys_row_max(keys))
		rc = salt_key(&table->store->engine, keys, &view, table->id, key, table->delimiter,
			      info);
	table_leave(table);
	return rc;
}
