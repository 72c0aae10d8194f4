/* SPDX-License-Identifier: MIT */
/*
 * Large values in extents, and sources: the parts that a new value is made of, so that no value is
 * in memory as a whole.
 */
#ifndef WCS_LEVELDB_EXTENT_H
#define WCS_LEVELDB_EXTENT_H

#include "store/leveldb/engine.h"

/* A value as the sequence of its parts, each in memory or the extents of a stored value. Valid
 * while the parts are. All zero is the empty value; its owner frees more. */
struct ldb_source {
	uint64_t size;
	size_t count, room; /* parts; room of more */
	struct ldb_cell first;
	struct ldb_cell *more; /* the second part and those behind it */
};

/* Makes it the empty value again. */
void ldb_source_clear(struct ldb_source *source);
int ldb_source_add(struct ldb_source *source, struct wcs_slice data);
int ldb_source_add_cell(struct ldb_source *source, const struct ldb_cell *cell);
/* *data are the len bytes from offset on, in place or in scratch, which has room for len bytes.
 * offset + len <= size. */
int ldb_source_view(struct ldb *db, const struct ldb_source *source, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data);

/* A value id that was never used. */
int ldb_extent_reserve(struct ldb *db, uint64_t *id);
/* Puts the extents of a value into batch. */
int ldb_extent_batch(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		     const struct ldb_source *source);
/* Writes an intent and the extents at once, in several batches. */
int ldb_extent_stream(struct ldb *db, uint64_t id, const struct ldb_source *source);
/* As wcs_value_read, of the value of a cell, inline or in extents. */
int ldb_extent_read(struct ldb *db, const struct ldb_cell *cell, void *buf, size_t len,
		    uint64_t offset, size_t *got);

#endif
