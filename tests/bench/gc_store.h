/* SPDX-License-Identifier: MIT */
/*
 * Shared by the benchmarks of garbage collection: stores with many cells to collect, and the same
 * without them.
 */
#ifndef GC_STORE_H
#define GC_STORE_H

#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#define GC_DIRECTORY 100u /* rows in a directory */

/*
 * A table "t" with a family "f", and the part of it that its policy hides. Rows are named by a
 * letter, a directory and a number: those that stay "a#…" and "z#…", those that go "m#…" between
 * them.
 */
struct gc_shape {
	const char *name, *what, *policy;
	unsigned int rows, versions; /* of each row the newest version stays */
	unsigned int gone;	     /* rows of one version, which goes */
	unsigned int others;	     /* rows of one version, which stays: "k#…" */
};

enum { GC_ROWS, GC_COLUMNS, GC_AGED, GC_SHAPES };
/* So many cells to collect in many rows, in tall columns, in rows that go as a whole. */
struct gc_shape gc_shape(int kind, unsigned int cells);
/* Runs a benchmark of each shape, or of BENCH_SHAPE; of BENCH_CELLS cells, if not 1,000,000. */
void gc_each_shape(void (*run)(const struct gc_shape *shape));
/* How many cells those are exactly. */
uint64_t gc_shape_cells(const struct gc_shape *shape);
/* The i-th of its rows that stay. size: 32 or more. */
void gc_row(const struct gc_shape *shape, char *row, size_t size, unsigned int i);
/* The i-th of those that go. */
void gc_row_gone(char *row, size_t size, unsigned int i);

struct gc_store {
	char path[256];
	struct wcs_store *store;
	struct wcs_table *table;
};

/* Makes a store of that name in the suite's directory, with (hidden) or without the cells that its
 * policy hides. It is not open. */
void gc_store_make(struct gc_store *store, const char *name, const struct gc_shape *shape,
		   bool hidden);
void gc_store_copy(struct gc_store *copy, const struct gc_store *from, const char *name);
/* interval: microseconds between passes, 0: none. */
void gc_store_open(struct gc_store *store, int64_t interval);
void gc_store_close(struct gc_store *store);
void gc_store_remove(struct gc_store *store);
/* Returns when nothing is left to compact, and LevelDB's own compactions have ended. */
void gc_store_settle(struct gc_store *store);
/* Bytes of the files of an open store, after the memtable is written to them. */
uint64_t gc_store_size(struct gc_store *store);

#endif
