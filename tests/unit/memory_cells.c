/* SPDX-License-Identifier: MIT */
/* The memory engine's cells: made, found, kept in order. */
#include "tests/unit/memory.h"

void *memory_cells_realloc(void *old, size_t size)
{
	void *got = realloc(old, size > 0 ? size : 1);

	if (got == NULL)
		abort();
	return got;
}

struct wcs_slice memory_cells_text(const char *text)
{
	return (struct wcs_slice){text, strlen(text)};
}

bool memory_cells_same(struct wcs_slice a, struct wcs_slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

struct wcs_slice memory_cells_copy(char **at, struct wcs_slice from)
{
	struct wcs_slice put = {*at, from.len};

	if (from.len > 0)
		memcpy(*at, from.data, from.len);
	*at += from.len;
	return put;
}

struct memory_cell *memory_cells_new(struct memory_engine *engine, uint32_t table,
				     struct wcs_slice row, const struct wcs_set *set)
{
	struct wcs_slice family = memory_cells_text(set->family);
	struct memory_cell *cell = memory_cells_realloc(
		NULL, sizeof(*cell) + row.len + family.len + set->qualifier.len + set->value.size);
	char *at = cell->bytes;

	cell->refs = 1;
	cell->table = table;
	cell->row = memory_cells_copy(&at, row);
	cell->family = memory_cells_copy(&at, family);
	cell->qualifier = memory_cells_copy(&at, set->qualifier);
	cell->value = (struct wcs_slice){at, (size_t)set->value.size};
	for (size_t i = 0; i < set->value.part_count; i++)
		memory_cells_copy(&at, set->value.parts[i]);
	cell->ts = set->ts;
	cell->etag = ++engine->last_etag;
	return cell;
}

void memory_cells_put(struct memory_cell *cell)
{
	if (--cell->refs == 0)
		free(cell);
}

void memory_cells_add(struct memory_cells *cells, size_t at, struct memory_cell *cell)
{
	if (cells->count == cells->room) {
		cells->room = cells->room * 2 + 8;
		cells->all = memory_cells_realloc(cells->all, cells->room * sizeof(*cells->all));
	}
	memmove(&cells->all[at + 1], &cells->all[at], (cells->count - at) * sizeof(*cells->all));
	cells->all[at] = cell;
	cells->count++;
}

void memory_cells_remove(struct memory_cells *cells, size_t at)
{
	memory_cells_put(cells->all[at]);
	cells->count--;
	memmove(&cells->all[at], &cells->all[at + 1], (cells->count - at) * sizeof(*cells->all));
}

void memory_cells_clear(struct memory_cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		memory_cells_put(cells->all[i]);
	free(cells->all);
}

static int memory_compare(const struct memory_cell *a, const struct memory_cell *b)
{
	int order;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	order = wcs_slice_compare(a->row, b->row);
	if (order == 0)
		order = wcs_slice_compare(a->family, b->family);
	if (order == 0)
		order = wcs_slice_compare(a->qualifier, b->qualifier);
	if (order == 0)
		order = (a->ts < b->ts) - (a->ts > b->ts);
	return order;
}

void memory_cells_set(struct memory_cells *cells, struct memory_cell *cell)
{
	size_t at = 0;

	while (at < cells->count && memory_compare(cells->all[at], cell) < 0)
		at++;
	if (at < cells->count && memory_compare(cells->all[at], cell) == 0)
		memory_cells_remove(cells, at);
	memory_cells_add(cells, at, cell);
}

bool memory_cells_in(const struct memory_cell *cell, uint32_t table, struct wcs_slice row,
		     const char *family, struct wcs_slice qualifier)
{
	return cell->table == table && memory_cells_same(cell->row, row) &&
	       memory_cells_same(cell->family, memory_cells_text(family)) &&
	       memory_cells_same(cell->qualifier, qualifier);
}

int memory_cells_read(struct wcs_slice value, void *buf, size_t len, uint64_t offset, size_t *got)
{
	size_t rest = offset < value.len ? value.len - (size_t)offset : 0;

	*got = len < rest ? len : rest;
	if (*got > 0)
		memcpy(buf, (const char *)value.data + offset, *got);
	return 0;
}

bool memory_cells_within(struct wcs_slice bytes, struct wcs_slice from, struct wcs_slice to)
{
	return wcs_slice_compare(bytes, from) >= 0 &&
	       (to.data == NULL || wcs_slice_compare(bytes, to) < 0);
}
