/* SPDX-License-Identifier: MIT */
/* Large values in extents. */
#ifndef WCS_LEVELDB_EXTENT_H
#define WCS_LEVELDB_EXTENT_H

#include "store/leveldb/engine.h"

/* *data are the len bytes of the value from offset on, in place or in scratch, which has room for
 * len bytes. offset + len <= size. */
int ldb_extent_view(struct ldb *db, const struct wcs_content *value, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data);
/* A value id that was never used. */
int ldb_extent_reserve(struct ldb *db, uint64_t *id);
/* Puts the extents of a value into batch. */
int ldb_extent_batch(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		     const struct wcs_content *value);
/* Writes an intent and the extents at once, in several batches. */
int ldb_extent_stream(struct ldb *db, uint64_t id, const struct wcs_content *value);
/* As wcs_value_read, of the value of a cell, inline or in extents. */
int ldb_extent_read(struct ldb *db, const struct ldb_cell *cell, void *buf, size_t len,
		    uint64_t offset, size_t *got);

#endif
