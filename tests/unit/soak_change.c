/* SPDX-License-Identifier: MIT */
/* Changes of a writer, applied to the store and to the model of its rows. */
#include "tests/unit/soak.h"

#include <inttypes.h>

static struct history_cell soak_change_cell(int64_t ts, uint32_t number, struct wcs_slice value)
{
	return (struct history_cell){.ts = ts,
				     .number = number,
				     .size = value.len,
				     .sum = history_sum(HISTORY_SUM, value.data, value.len),
				     .sure = true};
}

/* The newest mutation of which all columns of the group surely have a cell as their newest one. */
static uint32_t soak_change_head(struct soak_writer *writer, struct soak_row *row, int family)
{
	struct history_view view = soak_view(writer, family);
	uint32_t head = 0;

	for (int column = 0; column < SOAK_GROUP; column++) {
		struct history_cell cell;

		if (history_newest(&row->columns[family][column], &view, &cell) != 1 ||
		    (column > 0 && cell.number != head))
			return 0;
		head = cell.number;
	}
	return head;
}

/* Begins a mutation of the row, which may be a delete of it. */
static void soak_change_begin(struct soak_writer *writer, struct soak_row *row)
{
	row->number = ++writer->number;
	atomic_store(&row->started, row->number);
}

static void soak_change_end(struct soak_row *row)
{
	atomic_store(&row->shown, row->there);
	atomic_store(&row->ended, row->number);
}

/* Puts the row's marker into the mutation, as the model is with it. It is borrowed from text. */
static void soak_change_mark(struct soak_writer *writer, struct soak_row *row,
			     struct wcs_mutation *mutation, char text[SOAK_MARKER])
{
	if (!row->there)
		row->floor = row->number;
	row->there = true;
	snprintf(text, SOAK_MARKER, "%u %u %u %u", row->number,
		 soak_change_head(writer, row, SOAK_KEPT),
		 soak_change_head(writer, row, SOAK_SHARED), row->floor);
	if (text != row->marker)
		strcpy(row->marker, text);
	SOAK_OK(wcs_mutation_set(mutation, "f", suite_text("m"), 1, suite_text(text)));
}

/* Applies a mutation that begun, whose changes the model has. */
static void soak_change_apply(struct soak_writer *writer, struct soak_row *row,
			      struct wcs_mutation *mutation)
{
	soak_change_mark(writer, row, mutation, row->marker);
	SOAK_OK(suite_mutate(writer->soak->table, row->key, mutation, NULL));
	soak_change_end(row);
}

/* The same value in all columns of the group, in the model and the mutation. */
static void soak_change_add_group(struct soak_writer *writer, struct soak_row *row, int64_t ts,
				  struct wcs_slice value, struct wcs_mutation *mutation)
{
	struct history_cell cell = soak_change_cell(ts, row->number, value);

	soak_each_column(writer, row, history_begin);
	for (int family = 0; family < SOAK_FAMILIES; family++)
		for (int column = 0; column < SOAK_GROUP; column++) {
			history_put(&row->columns[family][column], &cell);
			SOAK_OK(wcs_mutation_set(mutation, soak_family(writer, family),
						 suite_text(soak_columns[column]), ts, value));
		}
	soak_each_column(writer, row, history_end);
}

static int64_t soak_change_ts(struct soak_writer *writer)
{
	if (soak_below(&writer->state, 4) > 0)
		return writer->now;
	return writer->now - soak_below(&writer->state, 300000);
}

void soak_change_write(struct soak_writer *writer, struct soak_row *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	soak_change_begin(writer, row);
	soak_change_add_group(writer, row, soak_change_ts(writer),
			      soak_value(row->number, writer->value), mutation);
	soak_change_apply(writer, row, mutation);
}

/* Some rows at once, one of them perhaps twice. */
void soak_change_write_batch(struct soak_writer *writer)
{
	struct wcs_entry entries[SOAK_BATCH];
	char values[SOAK_BATCH][64], markers[SOAK_BATCH][SOAK_MARKER];
	struct soak_row *rows[SOAK_BATCH];
	size_t applied;

	for (size_t i = 0; i < SOAK_BATCH; i++) {
		struct soak_row *row = &writer->rows[soak_below(&writer->state, SOAK_ROWS)];

		while (soak_value(writer->number + 1, writer->value).len > sizeof(values[0]))
			writer->number++;
		rows[i] = row;
		soak_change_begin(writer, row);
		entries[i].row = suite_text(row->key);
		entries[i].mutation = wcs_mutation_new();
		soak_change_add_group(writer, row, soak_change_ts(writer),
				      soak_value(row->number, values[i]), entries[i].mutation);
		soak_change_mark(writer, row, entries[i].mutation, markers[i]);
	}
	SOAK_OK(wcs_rows_mutate(writer->soak->table, entries, SOAK_BATCH, &applied));
	for (size_t i = 0; i < SOAK_BATCH; i++) {
		soak_change_end(rows[i]);
		wcs_mutation_free(entries[i].mutation);
	}
}

void soak_change_delete_newest(struct soak_writer *writer, struct soak_row *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	soak_change_begin(writer, row);
	soak_each_column(writer, row, history_begin);
	for (int family = 0; family < SOAK_FAMILIES; family++)
		for (int column = 0; column < SOAK_GROUP; column++) {
			struct history *history = &row->columns[family][column];
			int64_t ts = history->count > 0 ? history->cells[0].ts : writer->now;

			history_remove(history, ts);
			SOAK_OK(wcs_mutation_delete_cell(mutation, soak_family(writer, family),
							 suite_text(soak_columns[column]), ts));
		}
	soak_each_column(writer, row, history_end);
	soak_change_apply(writer, row, mutation);
}

void soak_change_delete_group(struct soak_writer *writer, struct soak_row *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	soak_change_begin(writer, row);
	for (int family = 0; family < SOAK_FAMILIES; family++)
		for (int column = 0; column < SOAK_GROUP; column++) {
			row->columns[family][column].count = 0;
			SOAK_OK(wcs_mutation_delete_column(mutation, soak_family(writer, family),
							   suite_text(soak_columns[column])));
		}
	soak_change_apply(writer, row, mutation);
}

/* A new write after the delete sometimes takes the timestamp of a hidden cell. */
void soak_change_delete_row(struct soak_writer *writer, struct soak_row *row, bool anew)
{
	struct history before = row->columns[SOAK_OWN][0];
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts = soak_change_ts(writer);

	if (before.count > 0 && soak_below(&writer->state, 2) == 0)
		ts = before.cells[before.count - 1].ts;
	soak_change_begin(writer, row);
	memset(row->columns, 0, sizeof(row->columns));
	row->there = false;
	SOAK_OK(wcs_mutation_delete_row(mutation));
	if (anew) {
		soak_change_add_group(writer, row, ts, soak_value(row->number, writer->value),
				      mutation);
		soak_change_apply(writer, row, mutation);
		return;
	}
	SOAK_OK(suite_mutate(writer->soak->table, row->key, mutation, NULL));
	soak_change_end(row);
}

void soak_change_drop(struct soak_writer *writer, size_t prefix)
{
	struct soak_row *rows = &writer->rows[prefix * SOAK_LEAVES];
	struct wcs_slice key = {rows->key, strlen(rows->key) - 2};

	for (int i = 0; i < SOAK_LEAVES; i++) {
		soak_change_begin(writer, &rows[i]);
		memset(rows[i].columns, 0, sizeof(rows[i].columns));
		rows[i].there = false;
	}
	SOAK_OK(wcs_rows_drop(writer->soak->table, &key));
	for (int i = 0; i < SOAK_LEAVES; i++)
		soak_change_end(&rows[i]);
}

/* A condition that does not hold, then one that does. */
void soak_change_write_if(struct soak_writer *writer, struct soak_row *row)
{
	struct wcs_mutation *refused = wcs_mutation_new(), *taken = wcs_mutation_new();
	struct wcs_slice marker = suite_text("m"), wrong = suite_text("another"), right;
	char before[SOAK_MARKER];

	SOAK_OK(wcs_mutation_if(refused, "f", marker, row->there ? &wrong : &marker));
	SOAK_OK(wcs_mutation_delete_row(refused));
	SOAK_OK(suite_mutate(writer->soak->table, row->key, refused, NULL) == -ECANCELED ? 0
											 : -EINVAL);
	strcpy(before, row->marker);
	right = suite_text(before);
	SOAK_OK(wcs_mutation_if(taken, "f", marker, row->there ? &right : NULL));
	soak_change_begin(writer, row);
	soak_change_add_group(writer, row, soak_change_ts(writer),
			      soak_value(row->number, writer->value), taken);
	soak_change_apply(writer, row, taken);
}
/* ---- Single columns ---------------------------------------------------------------------- */

void soak_change_set_single(struct soak_writer *writer, struct soak_row *row, int family)
{
	struct history *history = &row->columns[family][SOAK_X];
	const char *name = soak_family(writer, family);
	struct history_view view = soak_view(writer, family);
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice x = suite_text("x"), value;
	struct history_cell cell, newest;
	int known;

	soak_change_begin(writer, row);
	soak_change_mark(writer, row, mutation, row->marker);
	value = soak_value(row->number, writer->value);
	history_begin(history, &view);
	cell = soak_change_cell(0, row->number, value);
	known = history_newest(history, &view, &newest);
	if (known >= 0 && (known == 0 || newest.size < SOAK_LARGE) &&
	    soak_below(&writer->state, 2) == 0) {
		SOAK_OK(wcs_mutation_append(mutation, name, x, value, WCS_TS_NONE));
		cell.size += known ? newest.size : 0;
		cell.sum = history_sum(known ? newest.sum : HISTORY_SUM, value.data, value.len);
	} else {
		SOAK_OK(wcs_mutation_set(mutation, name, x, WCS_TS_SERVER, value));
	}
	SOAK_OK(suite_mutate(writer->soak->table, row->key, mutation, &cell.ts));
	if (!history_server_ts(history, writer->now, cell.ts))
		soak_fail("%s/%s/x got the timestamp %" PRId64 " at %" PRId64, row->key, name,
			  cell.ts, writer->now);
	history_put(history, &cell);
	history_end(history, &view);
	soak_change_end(row);
}

void soak_change_delete_single(struct soak_writer *writer, struct soak_row *row, int family,
			       int column)
{
	struct history *history = &row->columns[family][column];
	struct history_view view = soak_view(writer, family);
	struct wcs_mutation *mutation = wcs_mutation_new();
	uint32_t which = soak_below(&writer->state, 4);
	int64_t ts = which < history->count ? history->cells[which].ts : writer->now;

	soak_change_begin(writer, row);
	history_begin(history, &view);
	history_remove(history, ts);
	history_end(history, &view);
	SOAK_OK(wcs_mutation_delete_cell(mutation, soak_family(writer, family),
					 suite_text(soak_columns[column]), ts));
	soak_change_apply(writer, row, mutation);
}
