/* SPDX-License-Identifier: MIT */
/* Sums of records, and records that fit into their room. */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies the bytes of the spans, which become the record's. */
static int merge_copy(struct heat_record *record, struct heat_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++) {
		struct heat_span *span = &spans->spans[i];

		span->start = heat_arena_copy(&record->bytes, span->start, 0);
		if (span->end.data != NULL) {
			span->end = heat_arena_copy(&record->bytes, span->end, 0);
			if (span->end.data == NULL)
				return -ENOMEM;
		}
		if (span->start.data == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* Replaces the spans of a table by the sum of the lists. */
static int merge_table(struct heat_record *record, struct heat_table *table,
		       const struct heat_spans *const *lists, size_t count, size_t limit)
{
	struct heat_spans old = table->spans, joined = {NULL, 0, 0};
	struct heat_rows rows;
	int rc = heat_rows_join(&rows, table->delimiter, lists, count, limit, &joined);

	if (rc == 0)
		rc = merge_copy(record, &joined);
	if (rc == 0)
		table->spans = joined;
	heat_spans_free(rc == 0 ? &old : &joined);
	heat_rows_free(&rows);
	return rc;
}

int heat_record_join(struct heat_record *to, const struct heat_record *parts, size_t count)
{
	const struct heat_spans **lists = malloc((count + 1) * sizeof(*lists));
	int rc = lists != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++)
		for (size_t j = 0; j < parts[i].count && rc == 0; j++)
			if (heat_record_table(to, parts[i].tables[j].table,
					      parts[i].tables[j].delimiter) == NULL)
				rc = -ENOMEM;
	for (size_t i = 0; i < to->count && rc == 0; i++) {
		size_t found = 0;

		for (size_t j = 0; j < count; j++) {
			lists[found] = heat_record_find(&parts[j], to->tables[i].table);
			found += lists[found] != NULL;
		}
		rc = merge_table(to, &to->tables[i], lists, found, HEAT_TABLE_RANGES);
	}
	free(lists);
	return rc;
}

/* The size of rows with these bounds, about. */
static size_t merge_bounds(const struct heat_spans *spans)
{
	size_t size = 0;

	for (size_t i = 0; i < spans->count; i++)
		size += heat_bound_size(spans->spans[i].start);
	return size;
}

/* Removes the table with the fewest operations. */
static void merge_remove_least(struct heat_record *record)
{
	size_t least = 0;

	for (size_t i = 1; i < record->count; i++)
		if (heat_spans_ops(&record->tables[i].spans) <
		    heat_spans_ops(&record->tables[least].spans))
			least = i;
	heat_spans_free(&record->tables[least].spans);
	memmove(record->tables + least, record->tables + least + 1,
		(--record->count - least) * sizeof(*record->tables));
}

int heat_record_fit(struct heat_record *record, size_t share, size_t most)
{
	uint64_t total = 1;
	int rc = 0;

	for (size_t i = 0; i < record->count; i++)
		total += heat_spans_ops(&record->tables[i].spans);
	for (size_t i = 0; i < record->count && rc == 0; i++) {
		struct heat_table *table = &record->tables[i];
		double part = (double)heat_spans_ops(&table->spans) / (double)total;
		size_t limit = merge_bounds(&table->spans);

		while (rc == 0 && limit > 1 &&
		       (double)heat_record_size(&table->spans) > part * (double)share) {
			const struct heat_spans *list = &table->spans;

			limit -= limit / 4 + 1;
			rc = merge_table(record, table, &list, 1, limit > 0 ? limit : 1);
		}
	}
	for (; rc == 0 && record->count > 0; merge_remove_least(record)) {
		size_t size = 0;

		for (size_t i = 0; i < record->count; i++)
			size += heat_record_size(&record->tables[i].spans) + 8;
		if (size <= most)
			break;
	}
	return rc;
}
