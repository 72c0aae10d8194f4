/* SPDX-License-Identifier: MIT */
/*
 * Divides the keys of a table into rows by the spans that were seen in them. Rows have no gaps:
 * each begins where the one before ends, the first at the empty key.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_UNITS (UINT64_C(1) << 20) /* into which a span is divided */

int heat_rows_init(struct heat_rows *rows, unsigned char delimiter)
{
	*rows = (struct heat_rows){.delimiter = delimiter};
	rows->rows = malloc(sizeof(*rows->rows));
	if (rows->rows == NULL)
		return -ENOMEM;
	rows->count = 1;
	rows->rows[0] = (struct heat_row){{"", 0}, 0};
	return 0;
}

void heat_rows_free(struct heat_rows *rows)
{
	heat_arena_free(&rows->bytes);
	free(rows->rows);
	rows->rows = NULL;
}

/* ---- Adding spans ------------------------------------------------------------------------ */

/* A row to be: its start, and the row and span that it is a part of. */
struct piece {
	struct wcs_slice start;
	size_t row;
	size_t span; /* SIZE_MAX: none */
};

static void pieces_put(struct piece *pieces, size_t *count, struct wcs_slice start, size_t row,
		       size_t span)
{
	if (*count > 0 && wcs_slice_compare(pieces[*count - 1].start, start) == 0)
		start = pieces[--*count].start; /* the bound of two at once */
	pieces[(*count)++] = (struct piece){start, row, span};
}

/* Cuts the rows at all bounds of the spans. pieces has room for rows and twice the spans. */
static size_t pieces_make(const struct heat_rows *rows, const struct heat_spans *spans,
			  struct piece *pieces)
{
	size_t count = 0, row = 0, span = 0;
	bool inside = false; /* the next bound of a span is its end */

	while (row < rows->count || span < spans->count) {
		const struct heat_span *at = span < spans->count ? &spans->spans[span] : NULL;
		struct wcs_slice bound = {NULL, 0}; /* of the span */
		int order;

		if (at != NULL)
			bound = inside ? at->end : at->start;
		order = row == rows->count ? 1
			: at == NULL	   ? -1
					   : heat_compare_ends(rows->rows[row].start, bound);
		if (order <= 0) {
			pieces_put(pieces, &count, rows->rows[row].start, row,
				   inside ? span : SIZE_MAX);
			row++;
		}
		if (order >= 0 && at != NULL) {
			span += inside;
			inside = !inside;
			if (bound.data != NULL)
				pieces_put(pieces, &count, bound, row - 1,
					   inside ? span : SIZE_MAX);
		}
	}
	return count;
}

/* The pieces from `at` on that are parts of the same row, or of the same span. */
static size_t pieces_run(const struct piece *pieces, size_t count, size_t at, bool span)
{
	size_t end = at;

	while (end < count &&
	       (span ? pieces[end].span == pieces[at].span : pieces[end].row == pieces[at].row))
		end++;
	return end - at;
}

int heat_rows_add(struct heat_rows *rows, const struct heat_spans *spans, double scale)
{
	size_t most = rows->count + 2 * spans->count, count;
	struct piece *pieces = malloc(most * sizeof(*pieces));
	struct heat_row *made = malloc(most * sizeof(*made));
	double of_row = 0, of_span = 0;
	int rc = pieces != NULL && made != NULL ? 0 : -ENOMEM;

	if (rc != 0)
		goto out;
	count = pieces_make(rows, spans, pieces);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct piece *piece = &pieces[i];
		struct heat_row *row = &rows->rows[piece->row];

		if (i == 0 || piece->row != piece[-1].row)
			of_row = row->weight / (double)pieces_run(pieces, count, i, false);
		if (piece->span != SIZE_MAX && (i == 0 || piece->span != piece[-1].span))
			of_span = scale *
				  (double)heat_counts_ops(&spans->spans[piece->span].counts) /
				  (double)pieces_run(pieces, count, i, true);
		made[i] = (struct heat_row){piece->start,
					    of_row + (piece->span != SIZE_MAX ? of_span : 0)};
		if (piece->start.data != row->start.data)
			made[i].start = heat_arena_copy(&rows->bytes, piece->start, 0);
		if (made[i].start.data == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0) {
		free(rows->rows);
		rows->rows = made;
		rows->count = count;
		made = NULL;
	}
out:
	free(pieces);
	free(made);
	return rc;
}

/* ---- Joining rows ------------------------------------------------------------------------ */

static size_t rows_depth(const struct heat_rows *rows, struct wcs_slice key)
{
	const unsigned char *bytes = key.data;
	size_t depth = 0;

	for (size_t i = 0; i < key.len; i++)
		depth += bytes[i] == rows->delimiter;
	return depth;
}

size_t heat_rows_size(const struct heat_rows *rows)
{
	size_t size = 0;

	for (size_t i = 0; i < rows->count; i++)
		size += heat_bound_size(rows->rows[i].start);
	return size;
}

/* Joins rows until each has about that weight, but with `ends` not the first and the last one if
 * they have none; writes the joined ones to `to` (NULL: only measures them). *made: how many.
 * Returns their size. */
static size_t rows_sweep(const struct heat_rows *rows, double weight, bool ends,
			 struct heat_row *to, size_t *made)
{
	size_t count = 0, size = 0, depth = 0, own;
	double sum = 0, last = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct heat_row row = rows->rows[i];
		bool empty = (i == 1 && sum <= 0) || (i + 1 == rows->count && row.weight <= 0);

		own = rows_depth(rows, row.start);
		if (i == 0 || (ends && empty) || row.weight >= weight || last >= weight ||
		    sum >= weight || (sum >= weight / 2 && own <= depth)) {
			if (to != NULL)
				to[count] = (struct heat_row){row.start, 0};
			count++;
			size += heat_bound_size(row.start);
			sum = 0;
		}
		if (sum <= 0) /* keys before the first one seen do not tell */
			depth = own;
		sum += row.weight;
		last = row.weight;
		if (to != NULL)
			to[count - 1].weight += row.weight;
	}
	*made = count;
	return size;
}

/* Frees the starts of joined rows. Without memory they stay. */
static void rows_compact(struct heat_rows *rows)
{
	struct heat_arena old = rows->bytes;
	struct wcs_slice *starts = malloc(rows->count * sizeof(*starts));
	bool copied = starts != NULL;

	rows->bytes = (struct heat_arena){NULL, 0};
	for (size_t i = 0; i < rows->count && copied; i++) {
		starts[i] = heat_arena_copy(&rows->bytes, rows->rows[i].start, 0);
		copied = starts[i].data != NULL;
	}
	for (size_t i = 0; i < rows->count && copied; i++)
		rows->rows[i].start = starts[i];
	heat_arena_free(copied ? &old : &rows->bytes);
	if (!copied)
		rows->bytes = old;
	free(starts);
}

void heat_rows_reduce(struct heat_rows *rows, size_t limit, bool ends)
{
	double total = 0, weight;
	size_t count;

	if (heat_rows_size(rows) <= limit)
		return;
	for (size_t i = 0; i < rows->count; i++)
		total += rows->rows[i].weight;
	weight = total > 0 ? total / (double)limit : 1;
	while (rows_sweep(rows, weight, ends, NULL, &count) > limit) {
		weight *= 1.25;
		ends &= weight < total; /* else all rows between them are one already */
	}
	rows_sweep(rows, weight, ends, rows->rows, &count); /* rows move only towards the front */
	rows->count = count;
	rows_compact(rows);
}

/* ---- Weights for a picture --------------------------------------------------------------- */

/* The end of the rows from `at` on that share more than so many bytes; *weight: their sum. */
static size_t rows_group(const struct heat_rows *rows, size_t at, size_t end, size_t shared,
			 double *weight)
{
	*weight = rows->rows[at].weight;
	while (++at < end &&
	       wcs_slice_shared(rows->rows[at - 1].start, rows->rows[at].start) > shared)
		*weight += rows->rows[at].weight;
	return at;
}

/* Gives the rows a weight together, and each of their prefixes a part as the square root of what it
 * had. */
static void rows_spread(struct heat_rows *rows, size_t at, size_t end, double weight)
{
	size_t shared = wcs_slice_shared(rows->rows[at].start, rows->rows[end - 1].start), next;
	double sum, roots = 0;

	if (end - at == 1) {
		rows->rows[at].weight = weight;
		return;
	}
	for (size_t i = at; i < end; i = next) {
		next = rows_group(rows, i, end, shared, &sum);
		roots += sqrt(sum);
	}
	for (; at < end; at = next) {
		next = rows_group(rows, at, end, shared, &sum);
		rows_spread(rows, at, next, roots > 0 ? weight * sqrt(sum) / roots : 0);
	}
}

int heat_rows_spread(struct heat_rows *rows, size_t limit)
{
	double *own = calloc(rows->count, sizeof(*own)), total = 0;

	if (own == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		own[i] = rows->rows[i].weight;
		total += own[i];
	}
	rows_spread(rows, 0, rows->count, total);
	for (size_t i = 0; i + 1 < rows->count; i++)
		if (own[i] * (double)limit >= 3 * total &&
		    wcs_keys_one(rows->rows[i].start, rows->rows[i + 1].start))
			rows->rows[i].weight = own[i];
	free(own);
	return 0;
}

/* ---- Counts ------------------------------------------------------------------------------ */

static struct wcs_slice rows_end(const struct heat_rows *rows, size_t at)
{
	return at + 1 < rows->count ? rows->rows[at + 1].start : (struct wcs_slice){NULL, 0};
}

/* Divides the counts among the rows [first, end), by weight; equally if none has any. */
static void rows_divide(const struct heat_rows *rows, size_t first, size_t end,
			const union heat_counts *all, union heat_counts *counts)
{
	double total = 0, sum = 0;
	uint64_t from = 0, to;

	for (size_t at = first; at < end; at++)
		total += rows->rows[at].weight;
	for (size_t at = first; at < end; at++) {
		union heat_counts part;

		sum += total > 0 ? rows->rows[at].weight / total : 1.0 / (double)(end - first);
		to = at + 1 < end ? (uint64_t)(sum * ROWS_UNITS) : ROWS_UNITS;
		if (to > ROWS_UNITS)
			to = ROWS_UNITS;
		part = heat_counts_part(all, from, to, ROWS_UNITS);
		heat_counts_add(&counts[at], &part);
		from = to;
	}
}

void heat_rows_fill(const struct heat_rows *rows, const struct heat_spans *spans,
		    union heat_counts *counts)
{
	size_t row = 0;

	for (size_t i = 0; i < spans->count; i++) {
		const struct heat_span *span = &spans->spans[i];
		size_t end;

		while (heat_compare_ends(rows_end(rows, row), span->start) <= 0)
			row++;
		end = row + 1;
		while (end < rows->count && heat_compare_ends(rows->rows[end].start, span->end) < 0)
			end++;
		rows_divide(rows, row, end, &span->counts, counts);
	}
}

static int rows_spans(const struct heat_rows *rows, const union heat_counts *counts,
		      struct heat_spans *spans)
{
	static const union heat_counts none;
	int rc = 0;

	for (size_t i = 0; i < rows->count && rc == 0; i++) {
		struct heat_span span = {rows->rows[i].start, rows_end(rows, i), counts[i]};

		if (memcmp(&counts[i], &none, sizeof(none)) != 0)
			rc = heat_spans_add(spans, &span);
	}
	return rc;
}

int heat_rows_join(struct heat_rows *rows, unsigned char delimiter,
		   const struct heat_spans *const *lists, size_t list_count, size_t limit,
		   struct heat_spans *joined)
{
	union heat_counts *counts = NULL;
	int rc = heat_rows_init(rows, delimiter);

	for (size_t i = 0; i < list_count && rc == 0; i++)
		rc = heat_rows_add(rows, lists[i], 1);
	if (rc == 0) {
		heat_rows_reduce(rows, limit, true);
		counts = calloc(rows->count, sizeof(*counts));
		rc = counts != NULL ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < list_count && rc == 0; i++)
		heat_rows_fill(rows, lists[i], counts);
	if (rc == 0)
		rc = rows_spans(rows, counts, joined);
	free(counts);
	return rc;
}
