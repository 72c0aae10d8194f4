/* SPDX-License-Identifier: MIT */
/* Compares the rows that a writer sees with the model of its rows. */
#include "tests/unit/soak.h"

#include <inttypes.h>

/* Takes a cell of the scan to those that were seen of the row. */
static void soak_compare_see(struct soak_writer *writer, const struct soak_row *row,
			     const struct wcs_cell *cell, struct wcs_slice value, bool *marked)
{
	struct history_cell *seen;
	int family = 0, column = 0;
	size_t *count;

	if (soak_is(cell->family, "f") && soak_is(cell->qualifier, "m")) {
		if (!soak_is(value, row->marker))
			soak_fail("%s has the marker %.*s, not %s", row->key, (int)value.len,
				  (const char *)value.data, row->marker);
		*marked = true;
		return;
	}
	while (family < SOAK_FAMILIES && !soak_is(cell->family, soak_family(writer, family)))
		family++;
	while (column < SOAK_COLUMNS && !soak_is(cell->qualifier, soak_columns[column]))
		column++;
	if (family == SOAK_FAMILIES || column == SOAK_COLUMNS)
		soak_fail("a cell of a column that %s does not have", row->key);
	count = &writer->seen_count[family][column];
	if (*count == HISTORY_MAX)
		soak_fail("too many cells of %s", row->key);
	seen = &writer->seen[family][column][(*count)++];
	*seen = (struct history_cell){.ts = cell->info.ts,
				      .size = value.len,
				      .sum = history_sum(HISTORY_SUM, value.data, value.len),
				      .sure = true};
}

static void soak_compare_row(struct soak_writer *writer, struct soak_row *row, bool marked)
{
	if (marked != row->there)
		soak_fail("%s is %sthere, mutation %u", row->key, marked ? "" : "not ",
			  row->number);
	for (int i = 0; i < SOAK_FAMILIES * SOAK_COLUMNS; i++) {
		int family = i / SOAK_COLUMNS, column = i % SOAK_COLUMNS;
		struct history *history = &row->columns[family][column], before = *history;
		const struct history_cell *seen = writer->seen[family][column];
		size_t count = writer->seen_count[family][column];
		struct history_view view = soak_view(writer, family);
		const char *wrong = history_check(history, &view, seen, count);

		if (!wrong)
			continue;
		fprintf(stderr, "%s/%s/%s, now %" PRId64 ", policy %s to %s, mutation %u\n",
			row->key, soak_family(writer, family), soak_columns[column], view.now,
			view.loose->text, view.tight->text, row->number);
		history_print(stderr, "expected", before.cells, before.count);
		history_print(stderr, "seen", seen, count);
		soak_fail("%s", wrong);
	}
	memset(writer->seen_count, 0, sizeof(writer->seen_count));
}

void soak_compare_rows(struct soak_writer *writer, size_t first, size_t last)
{
	struct soak_row *row = &writer->rows[first];
	const char *end = last + 1 < SOAK_ROWS ? writer->rows[last + 1].key : writer->past;
	struct wcs_range range = {suite_text(row->key), suite_text(end)};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	bool marked = false;
	int rc;

	memset(writer->seen_count, 0, sizeof(writer->seen_count));
	SOAK_OK(wcs_scan_open(writer->soak->table, &range, &suite_cells, &scan));
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		while (row < &writer->rows[last] && !soak_is(cell.row, row->key)) {
			soak_compare_row(writer, row++, marked);
			marked = false;
		}
		if (!soak_is(cell.row, row->key))
			soak_fail("a row that nobody wrote: %.*s", (int)cell.row.len,
				  (const char *)cell.row.data);
		soak_compare_see(writer, row, &cell, soak_scan_value(scan, &cell, writer->large),
				 &marked);
	}
	SOAK_OK(rc);
	wcs_scan_close(scan);
	for (; row <= &writer->rows[last]; row++) {
		soak_compare_row(writer, row, marked);
		marked = false;
	}
}

void soak_compare_list(struct soak_writer *writer, size_t prefix)
{
	struct soak_row *row = &writer->rows[prefix * SOAK_LEAVES];
	struct wcs_slice above = {row->key, strlen(row->key) - 1}, segment;
	struct wcs_key_info info;
	struct wcs_list *list;
	bool any = false;

	SOAK_OK(wcs_list_open(writer->soak->table, above, NULL, &list));
	for (int i = 0; i < SOAK_LEAVES; i++, row++) {
		if (!row->there)
			continue;
		if (wcs_list_next(list, &segment) != 1 || !soak_is(segment, row->key + above.len))
			soak_fail("%s is not listed", row->key);
		any = true;
	}
	if (wcs_list_next(list, &segment) != 0)
		soak_fail("%.*s is listed in %.*s", (int)segment.len, (const char *)segment.data,
			  (int)above.len, (const char *)above.data);
	wcs_list_close(list);
	above.len--;
	SOAK_OK(wcs_key_get(writer->soak->table, above, &info));
	if (info.row || info.prefix != any)
		soak_fail("%.*s is %sa prefix", (int)above.len, (const char *)above.data,
			  info.prefix ? "" : "not ");
}
