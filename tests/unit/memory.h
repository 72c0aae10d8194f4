/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the memory engine. The engine's mutex is held around every call that
 * counts a cell's references or looks through the engine's cells; scans and changes
 * take it themselves. backend.h describes the operations.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "store/policy/view.h"
#include "tests/unit/memory_engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory_cell {
	size_t refs; /* guarded by the engine's mutex */
	uint32_t table;
	struct wcs_slice row;
	struct wcs_slice family;
	struct wcs_slice qualifier;
	struct wcs_slice value;
	int64_t ts;
	uint32_t etag;
	char bytes[]; /* of all four slices */
};

enum { MEMORY_NOTES = 2000 };

struct memory_cells {
	struct memory_cell **all;
	size_t count;
	size_t room;
};

struct memory_table {
	uint32_t id;
	struct wcs_table_schema schema;
};

struct memory_engine {
	size_t handles;
	pthread_mutex_t mutex; /* guards all that follows */
	struct memory_cells cells;
	struct memory_table *tables;
	size_t table_count;
	uint32_t last_table;
	uint32_t last_etag;
	struct memory_note {
		unsigned char *bytes; /* NULL: none */
		size_t len;
	} notes[MEMORY_NOTES]; /* of the layer above, by number */
};

/* ---- memory_cells.c ---- */

/* Tests have no use for an engine that goes on without memory. */
void *memory_cells_realloc(void *old, size_t size);
struct wcs_slice memory_cells_text(const char *text);
bool memory_cells_same(struct wcs_slice a, struct wcs_slice b);
/* Copies the bytes to *at, and moves that behind them. */
struct wcs_slice memory_cells_copy(char **at, struct wcs_slice from);
/* A cell of the engine, with an etag of its own, referred to once. */
struct memory_cell *memory_cells_new(struct memory_engine *engine, uint32_t table,
				     struct wcs_slice row, const struct wcs_set *set);
/* Gives one reference back; the last one frees. */
void memory_cells_put(struct memory_cell *cell);
/* Inserts the cell there; the array takes over the caller's reference. */
void memory_cells_add(struct memory_cells *cells, size_t at, struct memory_cell *cell);
void memory_cells_remove(struct memory_cells *cells, size_t at);
void memory_cells_clear(struct memory_cells *cells);
/* Puts the cell where it belongs, in place of one at the same address. */
void memory_cells_set(struct memory_cells *cells, struct memory_cell *cell);
/* Is the cell one of that column? */
bool memory_cells_in(const struct memory_cell *cell, uint32_t table, struct wcs_slice row,
		     const char *family, struct wcs_slice qualifier);
int memory_cells_read(struct wcs_slice value, void *buf, size_t len, uint64_t offset, size_t *got);
/* from <= bytes < to; a NULL to is no bound. */
bool memory_cells_within(struct wcs_slice bytes, struct wcs_slice from, struct wcs_slice to);

/* ---- memory_scan.c: operations of the backend ---- */

int memory_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		     const struct wcs_range *ranges, size_t range_count,
		     const struct wcs_filter *filter, struct wcs_scan **scan);

/* ---- memory_rows.c: operations of the backend ---- */

int memory_rows_open(void *db, uint32_t table, const struct wcs_edit *edits, size_t count,
		     struct wcs_rows **rows);
int memory_rows_find(struct wcs_rows *rows, const struct wcs_address *at, struct wcs_stored *found);
int memory_rows_read(struct wcs_rows *rows, const struct wcs_stored *cell, void *buf, size_t len,
		     uint64_t offset, size_t *got);
int memory_rows_purge(struct wcs_rows *rows, const struct wcs_address *at);
int memory_rows_apply(struct wcs_rows *rows, const struct wcs_edit *edits, size_t count,
		      size_t *applied);
void memory_rows_close(struct wcs_rows *rows);

#endif
