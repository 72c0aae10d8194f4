/* SPDX-License-Identifier: MIT */
/*
 * Scans of a chain: the engine evaluates a part of it, and the rest is evaluated here, over the
 * engine's scan.
 *
 * - A view of rows looks into the row with the same scan, before its cells are given, so all that a
 *   row shows is of one moment. A row that passes is entered again at its first wanted cell.
 * - Views of cells look at one column only. Each has a verdict on the present column, or a count.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "store/chain/chain_private.h"
#include "store/heat/heat_count.h"
#include "store/salt/salt.h"

enum {
	CHAIN_ASKS = 16, /* matches, each of milliseconds at worst, between two questions whether to
			  * go on */
};

struct chain_scan {
	struct wcs_scan base;	 /* over the engine's; below NULL: no cell can pass */
	struct wcs_chain *chain; /* whose views the steps are; a reference */
	struct chain_plan plan;
	struct chain_values values;
	struct regex_room *room; /* NULL: there is no expression */
	const struct wcs_keys *keys;
	char *shown; /* room for the shown form of a key, if a view looks at it; NULL: it is the
		      * key */
	const struct wcs_options *options;
	unsigned matches;

	bool given;  /* the cell that the engine gave last was given */
	bool ahead;  /* `next` is the engine's last cell, which was not looked at */
	bool inside; /* `row` was looked into and is being given */
	int error;   /* of all further calls; 0: none yet */
	struct wcs_cell next;
	uint32_t fitting;      /* cells of the column that reached plan.wanted */
	enum wcs_part differs; /* the first part that differs from the last cell given */
	size_t row_len;
	unsigned char row[WCS_ROW_KEY_MAX + 1]; /* and a NUL */
};

/* ---- Views of cells ---------------------------------------------------------------------- */

/* Is the cell in one of the columns? *family: its family is, with other columns perhaps. */
static bool columns_have(const struct wcs_step *step, const struct wcs_cell *cell, bool *family)
{
	*family = false;
	for (size_t i = 0; i < step->column_count; i++) {
		const struct wcs_column *column = &step->columns[i];

		if (wcs_slice_compare(column->family, cell->family) != 0)
			continue;
		*family = true;
		if (column->qualifier.data == NULL ||
		    wcs_slice_compare(column->qualifier, cell->qualifier) == 0)
			return true;
	}
	return false;
}

/* 1, 0 or an error. */
static int expression_matches(struct chain_scan *scan, const struct chain_view *view,
			      struct wcs_slice text)
{
	if (++scan->matches % CHAIN_ASKS == 0 && wcs_interrupted(scan->options))
		return -EINTR;
	return regex_match(view->regex, scan->room, text);
}

static int value_matches(struct chain_scan *scan, const struct chain_view *view,
			 const struct wcs_cell *cell)
{
	char number[CHAIN_NUMBER_MAX];
	struct wcs_slice text;
	int rc = chain_value_text(&scan->values, scan->base.below, cell, number, &text);

	if (rc == 0)
		rc = view->step.kind == WCS_STEP_VALUE
			     ? expression_matches(scan, view, text)
			     : wcs_slice_compare(text, view->step.bytes) == 0;
	chain_value_leave(&scan->values);
	return rc;
}

/* Prepares the first `count` steps for another column. 0 or an error. *skip: the part of which the
 * next cell must differ to be wanted; WCS_PART_TS: any may be. */
static int steps_enter(struct chain_scan *scan, size_t count, const struct wcs_cell *cell,
		       enum wcs_part *skip)
{
	bool family;
	int rc;

	for (size_t i = 0; i < count; i++) {
		const struct chain_view *view = scan->plan.steps[i].view;

		scan->plan.steps[i].count = 0;
		scan->plan.steps[i].column_out = false;
		if (view->step.kind == WCS_STEP_COLUMNS) {
			scan->plan.steps[i].column_out = !columns_have(&view->step, cell, &family);
			if (scan->plan.steps[i].column_out && !family)
				*skip = WCS_PART_FAMILY;
		} else if (view->step.kind == WCS_STEP_COLUMN) {
			rc = expression_matches(scan, view, cell->qualifier);
			if (rc < 0)
				return rc;
			scan->plan.steps[i].column_out = rc == 0;
		}
		if (scan->plan.steps[i].column_out && *skip == WCS_PART_TS)
			*skip = WCS_PART_QUALIFIER;
	}
	return 0;
}

/* Whether the cell passes the first `count` steps, as far as these are of cells: 1, 0 or an error.
 * *skip: as above. */
static int steps_pass(struct chain_scan *scan, size_t count, const struct wcs_cell *cell,
		      enum wcs_part *skip)
{
	int rc = 0;

	*skip = WCS_PART_TS;
	if (cell->differs < WCS_PART_TS)
		rc = steps_enter(scan, count, cell, skip);
	rc = rc < 0 ? rc : 1;
	for (size_t i = 0; i < count && rc > 0; i++) {
		struct chain_step *step = &scan->plan.steps[i];
		const struct wcs_step *wanted = &step->view->step;

		rc = !step->column_out;
		if (wanted->kind == WCS_STEP_VALUE)
			rc = value_matches(scan, step->view, cell);
		else if (wanted->kind == WCS_STEP_NEWEST)
			rc = ++step->count <= wanted->number;
		else if (wanted->kind == WCS_STEP_AT)
			rc = cell->info.ts <= step->time;
		else if (wanted->kind == WCS_STEP_UNTIL)
			rc = cell->info.ts < step->time;
		else if (wanted->kind == WCS_STEP_SINCE)
			rc = cell->info.ts >= step->time;
		if (rc == 0 &&
		    (wanted->kind == WCS_STEP_NEWEST || wanted->kind == WCS_STEP_SINCE) &&
		    *skip == WCS_PART_TS)
			*skip = WCS_PART_QUALIFIER; /* older ones do not pass either */
	}
	return rc;
}

/* ---- Views of rows ----------------------------------------------------------------------- */

/* docs/queries.md has the hash. */
static bool sample_has(struct wcs_slice row, uint64_t number)
{
	uint64_t hash = hash_mix(hash_bytes(HASH_START, row.data, row.len));

	return (hash >> 32) * WCS_SAMPLE_WHOLE < number << 32;
}

/* Whether the row's key passes: 1, 0 or an error. */
static int row_key_passes(struct chain_scan *scan, struct wcs_slice row)
{
	struct wcs_slice shown = row;
	int rc = 1;

	if (scan->shown != NULL)
		shown = (struct wcs_slice){scan->shown,
					   wcs_keys_bytes(scan->keys, row, scan->shown)};
	for (size_t i = 0; i < scan->plan.count && rc > 0; i++) {
		const struct chain_view *view = scan->plan.steps[i].view;

		if (view->step.kind == WCS_STEP_KEY)
			rc = expression_matches(scan, view, shown);
		else if (view->step.kind == WCS_STEP_SAMPLE)
			rc = sample_has(row, view->step.number);
	}
	return rc;
}

static bool is_row(const struct chain_scan *scan, struct wcs_slice row)
{
	return wcs_slice_compare(row, (struct wcs_slice){scan->row, scan->row_len}) == 0;
}

/* Whether the row passes the HAS or WHERE at that index: 1, 0 or an error. The engine is elsewhere
 * in the row then, or at the next one. */
static int row_passes_step(struct chain_scan *scan, size_t index)
{
	const struct chain_view *view = scan->plan.steps[index].view;
	const struct wcs_column *column = view->step.columns;
	const struct wcs_slice row = {scan->row, scan->row_len};
	struct wcs_cell cell;
	enum wcs_part skip;
	int rc = scan->base.below->ops->enter(scan->base.below, row, view->families[0],
					      column->qualifier);

	while (rc == 0) {
		rc = scan->base.below->ops->next(scan->base.below, &cell);
		if (rc > 0 && !is_row(scan, cell.row)) {
			scan->ahead = true;
			scan->next = cell;
			return 0;
		}
		if (rc <= 0 || wcs_slice_compare(cell.family, column->family) != 0 ||
		    (column->qualifier.data != NULL &&
		     wcs_slice_compare(cell.qualifier, column->qualifier) != 0))
			return rc < 0 ? rc : 0;
		rc = steps_pass(scan, index, &cell, &skip);
		if (rc == 0 && skip < WCS_PART_TS)
			scan->base.below->ops->skip(scan->base.below, skip);
	}
	if (rc > 0 && view->step.kind == WCS_STEP_WHERE)
		rc = value_matches(scan, view, &cell);
	return rc;
}

/* Looks into a row whose first cell the engine gave. If it passes, the engine gives its first
 * wanted cell next. 0 or an error; *skip: as in steps_enter. */
static int row_look(struct chain_scan *scan, struct wcs_slice row, enum wcs_part *skip)
{
	const struct wcs_filter *wanted = &scan->plan.wanted;
	int rc = 1;

	memcpy(scan->row, row.data, row.len);
	scan->row[row.len] = '\0';
	scan->row_len = row.len;
	for (size_t i = 0; i < scan->plan.rows_end && rc > 0; i++)
		if (chain_kind_is_rows(scan->plan.steps[i].view->step.kind))
			rc = row_passes_step(scan, i);
	scan->inside = rc > 0;
	*skip = rc == 0 && !scan->ahead ? WCS_PART_ROW : WCS_PART_TS;
	if (rc <= 0)
		return rc;
	row.data = scan->row;
	return scan->base.below->ops->enter(scan->base.below, row,
					    wanted->family_count > 0 ? wanted->families[0] : NULL,
					    wanted->qualifier_from);
}

/* ---- The scan ---------------------------------------------------------------------------- */

/* Is the cell behind the last that the caller wants of its row? */
static bool wanted_ends(const struct chain_scan *scan, const struct wcs_cell *cell)
{
	const struct wcs_filter *wanted = &scan->plan.wanted;
	const char *last;
	int order;

	if (wanted->family_count == 0)
		return false;
	last = wanted->families[wanted->family_count - 1];
	order = wcs_slice_compare(cell->family, (struct wcs_slice){last, strlen(last)});
	return order > 0 || (order == 0 && wanted->qualifier_to.data != NULL &&
			     wcs_slice_compare(cell->qualifier, wanted->qualifier_to) >= 0);
}

/* Is it the first cell of a row? That of a row which was looked into comes twice. */
static bool is_another_row(const struct chain_scan *scan, const struct wcs_cell *cell)
{
	return cell->differs == WCS_PART_ROW && !(scan->inside && is_row(scan, cell->row));
}

/* Whether the cell is given: 1, 0 or an error. *skip: as in steps_enter. */
static int scan_takes(struct chain_scan *scan, const struct wcs_cell *cell, enum wcs_part *skip)
{
	int rc = 1;

	*skip = WCS_PART_TS;
	if (cell->differs < WCS_PART_TS)
		scan->fitting = 0;
	if (is_another_row(scan, cell)) {
		rc = row_key_passes(scan, cell->row);
		if (rc == 0)
			*skip = WCS_PART_ROW;
		else if (rc > 0 && scan->plan.rows_end > 0)
			return row_look(scan, cell->row, skip); /* the cell is gone */
	}
	if (rc > 0)
		rc = steps_pass(scan, scan->plan.count, cell, skip);
	if (rc <= 0)
		return rc;
	if (wanted_ends(scan, cell))
		*skip = WCS_PART_ROW;
	return engine_filter_has(&scan->plan.wanted, cell) &&
	       (scan->plan.wanted.newest == 0 || ++scan->fitting <= scan->plan.wanted.newest);
}

/* The engine's next cell: 1, 0 or an error. */
static int scan_step(struct chain_scan *scan, struct wcs_cell *cell)
{
	bool ahead = scan->ahead;
	int rc = 1;

	scan->ahead = false;
	if (ahead)
		*cell = scan->next;
	else
		rc = scan->base.below->ops->next(scan->base.below, cell);
	if (rc > 0 && is_another_row(scan, cell) && !scan->base.filter->uncounted)
		heat_count_row(&scan->base, scan->keys, cell->row);
	return rc;
}

static int chain_scan_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	static const enum wcs_part parts[] = {[WCS_EACH_COLUMN] = WCS_PART_QUALIFIER,
					      [WCS_EACH_FAMILY] = WCS_PART_FAMILY,
					      [WCS_EACH_ROW] = WCS_PART_ROW};
	struct chain_scan *scan = (struct chain_scan *)base;
	struct wcs_scan *of = base->below;
	enum wcs_part skip;
	int rc = scan->error;

	if (rc != 0 || of == NULL)
		return rc;
	if (scan->given && scan->plan.wanted.each != WCS_EACH_CELL)
		of->ops->skip(of, parts[scan->plan.wanted.each]);
	scan->given = false;
	while ((rc = scan_step(scan, cell)) > 0) {
		if (cell->differs < scan->differs)
			scan->differs = cell->differs;
		rc = scan_takes(scan, cell, &skip);
		if (rc != 0)
			break;
		if (skip < WCS_PART_TS)
			of->ops->skip(of, skip);
	}
	if (rc <= 0)
		return scan->error = rc;
	cell->differs = scan->differs;
	scan->differs = WCS_PART_TS;
	scan->given = true;
	return 1;
}

static int chain_scan_seek(struct wcs_scan *base, struct wcs_slice row)
{
	struct chain_scan *scan = (struct chain_scan *)base;

	scan->given = scan->inside = scan->ahead = false;
	scan->differs = WCS_PART_ROW;
	return scan->base.below != NULL ? scan->base.below->ops->seek(scan->base.below, row) : 0;
}

static int chain_scan_read(struct wcs_scan *base, void *buf, size_t len, uint64_t offset,
			   size_t *got)
{
	struct chain_scan *scan = (struct chain_scan *)base;

	if (!scan->given)
		return -EINVAL;
	return scan->base.below->ops->read(scan->base.below, buf, len, offset, got);
}

static void chain_scan_close(struct wcs_scan *base)
{
	struct chain_scan *scan = (struct chain_scan *)base;

	wcs_chain_free(scan->chain);
	regex_room_free(scan->room);
	free(scan->shown);
	free(scan->plan.families);
	chain_values_clear(&scan->values);
	scan_pass_close(base);
}

static const struct scan_ops chain_ops = {.next = chain_scan_next,
					  .seek = chain_scan_seek,
					  .read = chain_scan_read,
					  .close = chain_scan_close};

int chain_scan(struct wcs_table *table, const struct wcs_view *view, const struct wcs_range *ranges,
	       size_t count, const struct wcs_filter *filter, struct wcs_scan **made)
{
	struct chain_scan *scan = malloc(sizeof(*scan));
	bool regex = false, values = false, shown = false;
	int rc;

	if (scan == NULL)
		return -ENOMEM;
	memset(scan, 0, offsetof(struct chain_scan, row));
	scan->base.ops = &chain_ops;
	scan->options = &table->store->options;
	scan->chain = wcs_chain_hold(filter->chain);
	scan->keys = chain_keys(scan->chain, wcs_table_keys(table));
	scan->plan.engine.reverse = chain_reversed(filter->chain) ^ filter->reverse;
	rc = chain_plan(&scan->plan, scan->chain, table, filter);
	for (size_t i = 0; i < scan->plan.count; i++) {
		regex |= scan->plan.steps[i].view->regex != NULL;
		values |= scan->plan.steps[i].view->step.kind == WCS_STEP_VALUE ||
			  scan->plan.steps[i].view->step.kind == WCS_STEP_WHERE;
		shown |= scan->plan.steps[i].view->step.kind == WCS_STEP_KEY;
	}
	if (rc == 0 && shown && scan->keys != NULL && scan->keys->segment_count > 0) {
		scan->shown = malloc(WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX));
		rc = scan->shown != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0 && regex) {
		scan->room = regex_room_new();
		rc = scan->room != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0 && values)
		rc = chain_values_init(&scan->values, table);
	if (rc == 0 && !scan->plan.empty && !engine_filter_empty(&scan->plan.engine))
		rc = salt_scan(&table->store->engine, scan->keys, view, table->id, ranges, count,
			       &scan->plan.engine, &scan->base.below);
	if (rc != 0)
		chain_scan_close(&scan->base);
	else
		*made = &scan->base;
	return rc;
}
