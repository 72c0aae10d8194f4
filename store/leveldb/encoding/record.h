/* SPDX-License-Identifier: MIT */
/*
 * The values that the LevelDB engine stores, as docs/format.md has them. Decoders return -EIO for
 * what is not exactly such a record; what they give borrows from the bytes given.
 */
#ifndef WCS_LEVELDB_RECORD_H
#define WCS_LEVELDB_RECORD_H

#include <string.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/encoding/key.h"
#include "store/store.h"

#define LDB_CHUNK (64u << 10) /* bytes of a value in one chunk; the last may be shorter */

#define LDB_CELL_HEAD	5u /* of an inline cell, before the value */
#define LDB_CELL_MAX	(LDB_CELL_HEAD + WCS_VALUE_INLINE)
#define LDB_GARBAGE_LEN 5u
#define LDB_DROP_MAX	(7u + 2 * LDB_ROW_BOUND)

/* A cell: its value, or where the chunks of it are. */
struct ldb_cell {
	uint32_t etag;
	uint64_t size;
	uint64_t id;		   /* of a chunked value; 0: inline */
	const unsigned char *data; /* of an inline value */
};

/* to has room for LDB_CELL_HEAD bytes and the value. Both return the record's length. */
size_t ldb_record_inline(unsigned char *to, uint32_t etag, struct wcs_slice value);
size_t ldb_record_chunked(unsigned char *to, uint32_t etag, uint64_t size, uint64_t id);
int ldb_record_cell_decode(const void *data, size_t len, struct ldb_cell *cell);

/* How many chunks a value of that size has. */
uint32_t ldb_record_chunks(uint64_t size);

/* What is known of chunks that no cell needs, or may come to need. */
enum ldb_garbage_kind {
	LDB_INTENT = 0, /* being written by a mutation that is not applied yet */
	LDB_GARBAGE = 1,
};
void ldb_record_garbage(unsigned char *to, enum ldb_garbage_kind kind, uint32_t chunks);
int ldb_record_garbage_decode(const void *data, size_t len, enum ldb_garbage_kind *kind,
			      uint32_t *chunks);

/* What is left of a drop. A NULL data of end: to the table's end. */
struct ldb_drop {
	uint32_t table;
	struct wcs_range range;
};
size_t ldb_record_drop(unsigned char *to, const struct ldb_drop *drop);
int ldb_record_drop_decode(const void *data, size_t len, struct ldb_drop *drop);

/* Where a range of keys begins or ends: a key, cut where it is longer, with zeros behind it. */
#define LDB_PLACE_BYTES 1024u
struct ldb_place {
	unsigned char bytes[LDB_PLACE_BYTES];
};
struct ldb_place ldb_place_before(struct wcs_slice key);
struct ldb_place ldb_place_behind(struct wcs_slice key); /* at the key where it is not longer */
/* Its bytes but for the zeros behind it. LevelDB's LOG has them for every piece. */
struct wcs_slice ldb_place_key(const struct ldb_place *place);
static inline int ldb_place_compare(const struct ldb_place *a, const struct ldb_place *b)
{
	return memcmp(a, b, sizeof(*a));
}

/* Keys that were deleted or replaced, their bytes with the values', and the range they are in. */
struct ldb_dead {
	struct ldb_place from, to;
	uint64_t keys, bytes;
};
#define LDB_DEAD_MAX (2u * (2 + LDB_PLACE_BYTES) + 16)
size_t ldb_record_dead(unsigned char *to, const struct ldb_dead *dead);
/* Takes the first one. False: it is damaged. */
bool ldb_record_dead_decode(struct ldb_rest *rest, struct ldb_dead *dead);

/* A table's description. The caller frees the bytes; NULL: no memory. */
unsigned char *ldb_record_table(const struct wcs_table_schema *schema, size_t *len);
/* Fills schema, to be released with ldb_record_table_clear. */
int ldb_record_table_decode(const void *data, size_t len, struct wcs_table_schema *schema);
void ldb_record_table_clear(struct wcs_table_schema *schema);

#endif
