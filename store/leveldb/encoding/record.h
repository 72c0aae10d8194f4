/* SPDX-License-Identifier: MIT */
/*
 * The values that the LevelDB engine stores; docs/format.md has their bytes. Decoders return -EIO
 * for anything that is not exactly such a record; results borrow from the bytes given.
 */
#ifndef WCS_LEVELDB_RECORD_H
#define WCS_LEVELDB_RECORD_H

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/encoding/key.h"
#include "store/store.h"

#define LDB_EXTENT (64u << 10) /* bytes of a value in one extent; the last may be shorter */

#define LDB_CELL_HEAD	5u /* of an inline cell, before the value */
#define LDB_CELL_MAX	(LDB_CELL_HEAD + WCS_VALUE_INLINE)
#define LDB_GARBAGE_LEN 5u
#define LDB_DROP_MAX	(7u + 2 * LDB_ROW_BOUND)
#define LDB_ERASE_MAX	(7u + 2 * LDB_KEY_MAX) /* a drop of keys */

/* A cell: its value, or the id of the value's extents. */
struct ldb_cell {
	uint32_t etag;
	uint64_t size;
	uint64_t id;		   /* of a value in extents; 0: inline */
	const unsigned char *data; /* of an inline value */
};

/* to has room for LDB_CELL_HEAD bytes and the value. Both return the record's length. */
size_t ldb_record_inline(unsigned char *to, uint32_t etag, struct wcs_slice value);
size_t ldb_record_extents(unsigned char *to, uint32_t etag, uint64_t size, uint64_t id);
int ldb_record_cell_decode(const void *data, size_t len, struct ldb_cell *cell);

/* How many extents a value of that size has. */
static inline uint32_t ldb_extent_count(uint64_t size)
{
	return (uint32_t)((size + LDB_EXTENT - 1) / LDB_EXTENT);
}

/* Why no cell refers to extents. */
enum ldb_garbage_kind {
	LDB_INTENT = 0, /* a mutation that is not applied yet writes them */
	LDB_GARBAGE = 1,
};
void ldb_record_garbage(unsigned char *to, enum ldb_garbage_kind kind, uint32_t extents);
int ldb_record_garbage_decode(const void *data, size_t len, enum ldb_garbage_kind *kind,
			      uint32_t *extents);

/* The rest of a drop of rows, or of cells of one row. Of rows: a NULL data of end: to the table's
 * end. */
struct ldb_drop {
	uint32_t table;
	struct wcs_range range;
	bool keys; /* the bounds are keys of LevelDB, not rows */
};
/* to has room for LDB_DROP_MAX bytes; of keys: LDB_ERASE_MAX. */
size_t ldb_record_drop(unsigned char *to, const struct ldb_drop *drop);
int ldb_record_drop_decode(const void *data, size_t len, struct ldb_drop *drop);

/* A table's description. The caller frees the bytes; NULL: no memory. */
unsigned char *ldb_record_table(const struct wcs_table_schema *schema, size_t *len);
/* Fills schema, to be released with wcs_table_schema_clear. -EPROTO: a newer program's, with
 * another version or codec. */
int ldb_record_table_decode(const void *data, size_t len, struct wcs_table_schema *schema);
/* Says why a description cannot be decoded (-EPROTO), with the name of the table where this program
 * can read it, else with its id. */
#define LDB_RECORD_WHY 160
void ldb_record_newer(const void *data, size_t len, uint32_t id, char why[LDB_RECORD_WHY]);

#endif
