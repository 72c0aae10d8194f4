/* SPDX-License-Identifier: MIT */
/*
 * Scans of a chain: the engine evaluates a part of it, and the rest is evaluated here, over the
 * engine's scan.
 *
 * - Families, times and counts at the chain's beginning go to the engine, as far as the order of
 *   views allows: a view of times does not pass one of counts, and no view of cells passes one of
 *   rows (HAS, WHERE), since that sees the cells before it.
 * - A view of rows looks into the row with the same scan, before its cells are given, so all that a
 *   row shows is of one moment. A row that passes is entered again at its first wanted cell.
 * - Views of cells look at one column only. Each has a verdict on the present column, or a count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "store/chain/chain_private.h"

enum {
	CHAIN_VALUE_KEPT = 1 << 20, /* bytes of memory for values that stay between two */
	CHAIN_NUMBER_MAX = 21,
	CHAIN_ASKS = 16, /* matches, each of milliseconds at worst, between two questions whether to
			  * go on */
};

/* A view that is evaluated here. */
struct chain_step {
	const struct chain_view *view;
	int64_t time;	 /* of a view of times, as of the scan's start */
	uint64_t count;	 /* NEWEST: cells of the column that came so far */
	bool column_out; /* COLUMNS, COLUMN: the present column is not wanted */
};

/* A family that aggregates. */
struct chain_type {
	char family[WCS_FAMILY_NAME_MAX + 1];
	enum wcs_type type;
};

struct chain_scan {
	struct wcs_scan base;
	struct wcs_scan *of;
	struct wcs_chain *chain;  /* whose views the steps are; a reference */
	struct wcs_filter engine; /* the part for the engine */
	struct wcs_filter wanted; /* the part of the caller's that comes behind the steps */
	struct regex_room *room;  /* NULL: there is no expression */
	const struct wcs_options *options;
	unsigned matches;
	const char **families;	  /* of engine; owned */
	struct chain_type *types; /* owned */
	size_t type_count;
	unsigned char *value; /* memory of a value; owned */
	size_t value_room;

	size_t count;	 /* of steps */
	size_t rows_end; /* steps up to the last of HAS and WHERE; 0: there is none */
	bool given;	 /* the cell that the engine gave last was given */
	bool ahead;	 /* `next` is the engine's last cell, which was not looked at */
	bool inside;	 /* `row` was looked into and is being given */
	bool empty;	 /* no cell can pass */
	int error;	 /* of all further calls; 0: none yet */
	struct wcs_cell next;
	uint32_t fitting;      /* cells of the column that reached `wanted` */
	enum wcs_part differs; /* the first part that differs from the last cell given */
	size_t row_len;
	unsigned char row[WCS_ROW_KEY_MAX + 1]; /* and a NUL */
	struct chain_step steps[WCS_CHAIN_MAX];
};

/* ---- The part for the engine ------------------------------------------------------------- */

static void fold_times(struct wcs_filter *to, int64_t from, int64_t end)
{
	if (from > to->ts_from)
		to->ts_from = from;
	if (end != 0 && (to->ts_to == 0 || end < to->ts_to))
		to->ts_to = end;
}

static void fold_newest(struct wcs_filter *to, uint64_t number)
{
	if (number < UINT32_MAX && (to->newest == 0 || number < to->newest))
		to->newest = (uint32_t)number;
}

/* Is it a list of whole families, or one column? The engine takes these. */
static bool fold_takes_columns(const struct wcs_filter *to, const struct wcs_step *step)
{
	if (to->families != NULL)
		return false;
	for (size_t i = 0; i < step->column_count; i++)
		if (step->columns[i].qualifier.data != NULL)
			return step->column_count == 1;
	return true;
}

/* 0 or -ENOMEM. */
static int fold_columns(struct chain_scan *scan, const struct wcs_table *table,
			const struct chain_view *view)
{
	const struct wcs_step *step = &view->step;
	size_t count = 0;

	scan->families = calloc(step->column_count + 1, sizeof(*scan->families));
	if (scan->families == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < step->column_count; i++)
		if (family_of(table, view->families[i]) != NULL)
			scan->families[count++] = view->families[i];
	engine_sort_families(scan->families, count);
	scan->engine.families = scan->families;
	scan->engine.family_count = count;
	if (step->column_count == 1 && step->columns[0].qualifier.data != NULL) {
		/* a NUL follows the bytes */
		scan->engine.qualifier_from = scan->engine.qualifier_to =
			step->columns[0].qualifier;
		scan->engine.qualifier_to.len++;
	}
	return 0;
}

/* Gives a view to the engine. 1: done; 0: it cannot be; or an error. */
static int fold_view(struct chain_scan *scan, const struct wcs_table *table,
		     const struct chain_view *view, int64_t time, bool counted, bool valued)
{
	const struct wcs_step *step = &view->step;

	switch (step->kind) {
	case WCS_STEP_COLUMNS:
		return fold_takes_columns(&scan->engine, step)
			       ? fold_columns(scan, table, view) == 0 ? 1 : -ENOMEM
			       : 0;
	case WCS_STEP_AT:
		if (counted)
			return 0;
		fold_times(&scan->engine, 0, time == INT64_MAX ? 0 : time + 1);
		return 1;
	case WCS_STEP_SINCE:
		if (counted)
			return 0;
		fold_times(&scan->engine, time, 0);
		return 1;
	case WCS_STEP_UNTIL:
		if (counted)
			return 0;
		fold_times(&scan->engine, 0, time);
		return 1;
	case WCS_STEP_NEWEST:
		if (valued)
			return 0;
		fold_newest(&scan->engine, step->number);
		return 1;
	default:
		return 0;
	}
}

static bool kind_is_rows(enum wcs_step_kind kind)
{
	return kind == WCS_STEP_HAS || kind == WCS_STEP_WHERE;
}

/* The time of a view of times; below 0: before 1970. */
static int64_t view_time(const struct wcs_table *table, const struct wcs_step *step)
{
	return step->ago ? store_now(table->store) - step->time : step->time;
}

/* Divides the chain and the caller's filter between the engine and the steps. 0 or -ENOMEM. */
static int scan_plan(struct chain_scan *scan, const struct wcs_table *table,
		     const struct wcs_filter *filter)
{
	const struct chain_view *views[WCS_CHAIN_MAX];
	bool rows = false, counted = false, valued = false;
	size_t count = scan->chain->length;

	for (const struct wcs_chain *at = scan->chain; at != NULL; at = at->before)
		views[--count] = at->view;
	for (; count < scan->chain->length; count++) {
		enum wcs_step_kind kind = views[count]->step.kind;
		int64_t time = view_time(table, &views[count]->step);
		int rc = 0;

		if (kind <= WCS_STEP_REVERSE) /* bounds and direction */
			continue;
		scan->empty |= (kind == WCS_STEP_NEWEST && views[count]->step.number == 0) ||
			       (kind == WCS_STEP_UNTIL && time <= 0) ||
			       (kind == WCS_STEP_AT && time < 0);
		if (!rows)
			rc = fold_view(scan, table, views[count], time, counted, valued);
		if (rc < 0)
			return rc;
		rows |= kind_is_rows(kind);
		counted |= kind == WCS_STEP_NEWEST;
		if (rc > 0)
			continue;
		/* A count behind these cannot go to the engine. */
		valued |= kind >= WCS_STEP_VALUE;
		scan->steps[scan->count].time = time;
		scan->steps[scan->count++].view = views[count];
		if (kind_is_rows(kind))
			scan->rows_end = scan->count;
	}
	scan->wanted = *filter;
	if (!rows && scan->engine.families == NULL) {
		scan->engine.families = filter->families;
		scan->engine.family_count = filter->family_count;
		scan->engine.qualifier_from = filter->qualifier_from;
		scan->engine.qualifier_to = filter->qualifier_to;
		scan->wanted.families = NULL;
		scan->wanted.family_count = 0;
		scan->wanted.qualifier_from = scan->wanted.qualifier_to =
			(struct wcs_slice){NULL, 0};
	}
	if (!rows && !counted) {
		fold_times(&scan->engine, filter->ts_from, filter->ts_to);
		scan->wanted.ts_from = scan->wanted.ts_to = 0;
	}
	if (!rows && !valued && filter->newest != 0 && scan->wanted.ts_from == 0 &&
	    scan->wanted.ts_to == 0) {
		fold_newest(&scan->engine, filter->newest);
		scan->wanted.newest = 0;
	}
	return 0;
}

/* Does the engine do all of it? */
static bool scan_is_folded(const struct chain_scan *scan)
{
	const struct wcs_filter *wanted = &scan->wanted;

	return scan->count == 0 && wanted->families == NULL && wanted->qualifier_from.len == 0 &&
	       wanted->qualifier_to.data == NULL && wanted->ts_from == 0 && wanted->ts_to == 0 &&
	       wanted->newest == 0;
}

/* ---- Values ------------------------------------------------------------------------------ */

/* Types change only while their family has no cell. 0 or -ENOMEM. */
static int types_get(struct chain_scan *scan, const struct wcs_table *table)
{
	for (size_t i = 0; i < table->family_count; i++) {
		const struct wcs_family *family = &table->families[i]->family;

		if (!wcs_type_aggregates(family->type))
			continue;
		if (scan->types == NULL)
			scan->types = calloc(table->family_count, sizeof(*scan->types));
		if (scan->types == NULL)
			return -ENOMEM;
		strcpy(scan->types[scan->type_count].family, family->name);
		scan->types[scan->type_count++].type = family->type;
	}
	return 0;
}

static enum wcs_type type_of(const struct chain_scan *scan, struct wcs_slice family)
{
	for (size_t i = 0; i < scan->type_count; i++)
		if (strlen(scan->types[i].family) == family.len &&
		    memcmp(scan->types[i].family, family.data, family.len) == 0)
			return scan->types[i].type;
	return WCS_BYTES;
}

/* Reads the value of the engine's last cell into the scan's memory. */
static int value_read(struct chain_scan *scan, const struct wcs_cell *cell, struct wcs_slice *value)
{
	size_t size = (size_t)cell->info.size, read = 0;

	if (size > scan->value_room) {
		free(scan->value);
		scan->value = malloc(size);
		scan->value_room = scan->value != NULL ? size : 0;
	}
	if (scan->value == NULL)
		return -ENOMEM;
	while (read < size) {
		size_t got = 0;
		int rc = scan->of->backend->scan_read(scan->of, scan->value + read, size - read,
						      read, &got);

		if (rc != 0 || got == 0)
			return rc != 0 ? rc : -EIO;
		read += got;
	}
	*value = (struct wcs_slice){scan->value, size};
	return 0;
}

/* A large one must not stay in memory. */
static void value_leave(struct chain_scan *scan)
{
	if (scan->value_room <= CHAIN_VALUE_KEPT)
		return;
	free(scan->value);
	scan->value = NULL;
	scan->value_room = 0;
}

/* The text that a cell's file shows, without one final newline; number has room for
 * CHAIN_NUMBER_MAX bytes. */
static int value_text(struct chain_scan *scan, const struct wcs_cell *cell, char *number,
		      struct wcs_slice *text)
{
	enum wcs_type type = type_of(scan, cell->family);
	struct wcs_slice value = cell->value;
	int64_t integer;
	int rc = 0;

	if (cell->info.size > WCS_VALUE_INLINE)
		rc = value_read(scan, cell, &value);
	if (rc != 0)
		return rc;
	if (type != WCS_BYTES) {
		if (wcs_aggregate_number(type, value, &integer) != 0)
			return -EIO;
		value.len = (size_t)snprintf(number, CHAIN_NUMBER_MAX, "%" PRId64, integer);
		value.data = number;
	} else if (value.len > 0 && ((const char *)value.data)[value.len - 1] == '\n') {
		value.len--;
	}
	*text = value;
	return 0;
}

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
	if (++scan->matches % CHAIN_ASKS == 0 && scan->options->interrupted != NULL &&
	    scan->options->interrupted())
		return -EINTR;
	return regex_match(view->regex, scan->room, text);
}

static int value_matches(struct chain_scan *scan, const struct chain_view *view,
			 const struct wcs_cell *cell)
{
	char number[CHAIN_NUMBER_MAX];
	struct wcs_slice text;
	int rc = value_text(scan, cell, number, &text);

	if (rc == 0)
		rc = view->step.kind == WCS_STEP_VALUE
			     ? expression_matches(scan, view, text)
			     : wcs_slice_compare(text, view->step.bytes) == 0;
	value_leave(scan);
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
		const struct chain_view *view = scan->steps[i].view;

		scan->steps[i].count = 0;
		scan->steps[i].column_out = false;
		if (view->step.kind == WCS_STEP_COLUMNS) {
			scan->steps[i].column_out = !columns_have(&view->step, cell, &family);
			if (scan->steps[i].column_out && !family)
				*skip = WCS_PART_FAMILY;
		} else if (view->step.kind == WCS_STEP_COLUMN) {
			rc = expression_matches(scan, view, cell->qualifier);
			if (rc < 0)
				return rc;
			scan->steps[i].column_out = rc == 0;
		}
		if (scan->steps[i].column_out && *skip == WCS_PART_TS)
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
		struct chain_step *step = &scan->steps[i];
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
	uint64_t hash = hash_bytes(HASH_START, row.data, row.len);
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);

	return folded * (uint64_t)WCS_SAMPLE_WHOLE < number << 32;
}

/* Whether the row's key passes: 1, 0 or an error. */
static int row_key_passes(struct chain_scan *scan, struct wcs_slice row)
{
	int rc = 1;

	for (size_t i = 0; i < scan->count && rc > 0; i++) {
		const struct chain_view *view = scan->steps[i].view;

		if (view->step.kind == WCS_STEP_KEY)
			rc = expression_matches(scan, view, row);
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
	const struct chain_view *view = scan->steps[index].view;
	const struct wcs_column *column = view->step.columns;
	const struct wcs_slice row = {scan->row, scan->row_len};
	struct wcs_cell cell;
	enum wcs_part skip;
	int rc = scan->of->backend->scan_enter(scan->of, row, view->families[0], column->qualifier);

	while (rc == 0) {
		rc = scan->of->backend->scan_next(scan->of, &cell);
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
			scan->of->backend->scan_skip(scan->of, skip);
	}
	if (rc > 0 && view->step.kind == WCS_STEP_WHERE)
		rc = value_matches(scan, view, &cell);
	return rc;
}

/* Looks into a row whose first cell the engine gave. If it passes, the engine gives its first
 * wanted cell next. 0 or an error; *skip: as in steps_enter. */
static int row_look(struct chain_scan *scan, struct wcs_slice row, enum wcs_part *skip)
{
	const struct wcs_filter *wanted = &scan->wanted;
	int rc = 1;

	memcpy(scan->row, row.data, row.len);
	scan->row[row.len] = '\0';
	scan->row_len = row.len;
	for (size_t i = 0; i < scan->rows_end && rc > 0; i++)
		if (kind_is_rows(scan->steps[i].view->step.kind))
			rc = row_passes_step(scan, i);
	scan->inside = rc > 0;
	*skip = rc == 0 && !scan->ahead ? WCS_PART_ROW : WCS_PART_TS;
	if (rc <= 0)
		return rc;
	row.data = scan->row;
	return scan->of->backend->scan_enter(scan->of, row,
					     wanted->family_count > 0 ? wanted->families[0] : NULL,
					     wanted->qualifier_from);
}

/* ---- The scan ---------------------------------------------------------------------------- */

/* Is the cell behind the last that the caller wants of its row? */
static bool wanted_ends(const struct chain_scan *scan, const struct wcs_cell *cell)
{
	const struct wcs_filter *wanted = &scan->wanted;
	const char *last;
	int order;

	if (wanted->family_count == 0)
		return false;
	last = wanted->families[wanted->family_count - 1];
	order = wcs_slice_compare(cell->family, (struct wcs_slice){last, strlen(last)});
	return order > 0 || (order == 0 && wanted->qualifier_to.data != NULL &&
			     wcs_slice_compare(cell->qualifier, wanted->qualifier_to) >= 0);
}

/* Whether the cell is given: 1, 0 or an error. *skip: as in steps_enter. */
static int scan_takes(struct chain_scan *scan, const struct wcs_cell *cell, enum wcs_part *skip)
{
	int rc = 1;

	*skip = WCS_PART_TS;
	if (cell->differs < WCS_PART_TS)
		scan->fitting = 0;
	if (cell->differs == WCS_PART_ROW && !(scan->inside && is_row(scan, cell->row))) {
		rc = row_key_passes(scan, cell->row);
		if (rc == 0)
			*skip = WCS_PART_ROW;
		else if (rc > 0 && scan->rows_end > 0)
			return row_look(scan, cell->row, skip); /* the cell is gone */
	}
	if (rc > 0)
		rc = steps_pass(scan, scan->count, cell, skip);
	if (rc <= 0)
		return rc;
	if (wanted_ends(scan, cell))
		*skip = WCS_PART_ROW;
	return engine_filter_has(&scan->wanted, cell) &&
	       (scan->wanted.newest == 0 || ++scan->fitting <= scan->wanted.newest);
}

/* The engine's next cell: 1, 0 or an error. */
static int scan_step(struct chain_scan *scan, struct wcs_cell *cell)
{
	bool ahead = scan->ahead;

	scan->ahead = false;
	if (!ahead)
		return scan->of->backend->scan_next(scan->of, cell);
	*cell = scan->next;
	return 1;
}

static int chain_scan_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	static const enum wcs_part parts[] = {[WCS_EACH_COLUMN] = WCS_PART_QUALIFIER,
					      [WCS_EACH_FAMILY] = WCS_PART_FAMILY,
					      [WCS_EACH_ROW] = WCS_PART_ROW};
	struct chain_scan *scan = (struct chain_scan *)base;
	const struct wcs_backend *backend;
	enum wcs_part skip;
	int rc = scan->error;

	if (rc != 0 || scan->of == NULL) /* no cell can pass */
		return rc;
	backend = scan->of->backend;
	if (scan->given && scan->wanted.each != WCS_EACH_CELL)
		backend->scan_skip(scan->of, parts[scan->wanted.each]);
	scan->given = false;
	while ((rc = scan_step(scan, cell)) > 0) {
		if (cell->differs < scan->differs)
			scan->differs = cell->differs;
		rc = scan_takes(scan, cell, &skip);
		if (rc != 0)
			break;
		if (skip < WCS_PART_TS)
			backend->scan_skip(scan->of, skip);
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
	return scan->of != NULL ? scan->of->backend->scan_seek(scan->of, row) : 0;
}

static int chain_scan_read(struct wcs_scan *base, void *buf, size_t len, uint64_t offset,
			   size_t *got)
{
	struct chain_scan *scan = (struct chain_scan *)base;

	if (!scan->given)
		return -EINVAL;
	return scan->of->backend->scan_read(scan->of, buf, len, offset, got);
}

static void chain_scan_close(struct wcs_scan *base)
{
	struct chain_scan *scan = (struct chain_scan *)base;

	if (scan->of != NULL)
		scan->of->backend->scan_close(scan->of);
	wcs_chain_free(scan->chain);
	regex_room_free(scan->room);
	free(scan->families);
	free(scan->types);
	free(scan->value);
	free(scan);
}

static const struct wcs_backend chain_backend = {.scan_next = chain_scan_next,
						 .scan_seek = chain_scan_seek,
						 .scan_read = chain_scan_read,
						 .scan_close = chain_scan_close};

int chain_scan(struct wcs_table *table, const struct wcs_view *view, const struct wcs_range *ranges,
	       size_t count, const struct wcs_filter *filter, struct wcs_scan **made)
{
	struct chain_scan *scan = malloc(sizeof(*scan));
	bool regex = false, values = false;
	int rc;

	if (scan == NULL)
		return -ENOMEM;
	memset(scan, 0, offsetof(struct chain_scan, row));
	memset(scan->steps, 0, sizeof(scan->steps));
	scan->base.backend = &chain_backend;
	scan->options = &table->store->options;
	scan->chain = wcs_chain_hold(filter->chain);
	scan->engine.reverse = chain_reversed(filter->chain) ^ filter->reverse;
	rc = scan_plan(scan, table, filter);
	for (size_t i = 0; i < scan->count; i++) {
		regex |= scan->steps[i].view->regex != NULL;
		values |= scan->steps[i].view->step.kind == WCS_STEP_VALUE ||
			  scan->steps[i].view->step.kind == WCS_STEP_WHERE;
	}
	if (rc == 0 && regex) {
		scan->room = regex_room_new();
		rc = scan->room != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0 && values)
		rc = types_get(scan, table);
	if (rc == 0 && scan_is_folded(scan)) {
		scan->engine.each = filter->each;
		scan->wanted.each = WCS_EACH_CELL;
	}
	if (rc == 0 && !scan->empty && !engine_filter_empty(&scan->engine))
		rc = engine_scan(&table->store->engine, view, table->id, ranges, count,
				 &scan->engine, &scan->of);
	if (rc != 0)
		chain_scan_close(&scan->base);
	else
		*made = &scan->base;
	return rc;
}
