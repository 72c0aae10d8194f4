/* SPDX-License-Identifier: MIT */
/*
 * The keys of the LevelDB engine; docs/format.md has their bytes.
 *
 * A cell's key is built from the left: ldb_key_row, then ldb_key_family, ldb_key_qualifier and
 * ldb_key_ts. After each step it is the prefix of exactly the keys of that row, family, column or
 * cell, and ldb_key_past turns it into the first key behind them. A smaller len takes back the last
 * steps.
 */
#ifndef WCS_LEVELDB_KEY_H
#define WCS_LEVELDB_KEY_H

#include <string.h>

#include "store/store.h"

/* A bound of a range may be one byte longer than a stored row or qualifier. A longer bound is cut
 * there, which changes no comparison with a stored one. */
#define LDB_ROW_BOUND	    (WCS_ROW_KEY_MAX + 1)
#define LDB_QUALIFIER_BOUND (WCS_QUALIFIER_MAX + 1)

/* The highest ids of a table and of a value that leave room for more. */
#define LDB_TABLE_ID_MAX ((uint32_t)INT32_MAX)
#define LDB_VALUE_ID_MAX ((uint64_t)INT64_MAX)

#define LDB_KEY_TABLE_LEN 5u /* 'c' and the table's id, with which every cell key begins */
#define LDB_KEY_TS_LEN	  8u
#define LDB_KEY_MAX                                                                                \
	(LDB_KEY_TABLE_LEN + 2 * LDB_ROW_BOUND + 2 + WCS_FAMILY_NAME_MAX + 1 +                     \
	 2 * LDB_QUALIFIER_BOUND + 2 + LDB_KEY_TS_LEN)

struct ldb_key {
	size_t len;
	unsigned char data[LDB_KEY_MAX];
};

/* A key of one of the other key spaces. */
struct ldb_id_key {
	size_t len;
	unsigned char data[13];
};

/* The ends of the parts of a cell's key, behind their terminators. */
struct ldb_key_parts {
	uint32_t table;
	size_t row_end;
	size_t family_end;
	size_t column_end;
	size_t qualifier_len; /* without escapes */
	int64_t ts;
};

/* The prefix of every cell key of the table. */
void ldb_key_table(struct ldb_key *key, uint32_t table);
/* The first key behind those. */
void ldb_key_table_past(struct ldb_key *key, uint32_t table);
/* Appends to the table's prefix, or to another of these, the prefix of all rows that start with
 * these bytes. */
void ldb_key_row_prefix(struct ldb_key *key, struct wcs_slice bytes);
/* The prefix of the row's cells; row may also be a bound. */
void ldb_key_row(struct ldb_key *key, uint32_t table, struct wcs_slice row);
void ldb_key_family(struct ldb_key *key, const char *family);
void ldb_key_qualifier(struct ldb_key *key, struct wcs_slice qualifier);
void ldb_key_ts(struct ldb_key *key, int64_t ts);
/* Turns the prefix of a row, family or column into the first key behind it. */
void ldb_key_past(struct ldb_key *key);

bool ldb_key_starts(const void *data, size_t len, const struct ldb_key *prefix);
/* How many bytes data and the key have in common at their start. */
size_t ldb_key_shared(const void *data, size_t len, const struct ldb_key *key);
/* As memcmp: order of data against key. */
int ldb_key_compare(const void *data, size_t len, const struct ldb_key *key);

/* Takes a cell's key apart. -EIO: it is not exactly one. */
int ldb_key_split(const void *data, size_t len, struct ldb_key_parts *parts);
/* The rest of a key that starts with the family whose end parts has. -EIO: not exactly; parts may
 * have been written to then. */
int ldb_key_split_column(const void *data, size_t len, struct ldb_key_parts *parts);
/* The timestamp of a key that starts with a column's prefix of column_end bytes. -EIO: not exactly.
 */
int ldb_key_split_ts(const void *data, size_t len, size_t column_end, int64_t *ts);
/* The row of a split key; to has room for WCS_ROW_KEY_MAX bytes. */
size_t ldb_key_get_row(const unsigned char *data, const struct ldb_key_parts *parts,
		       unsigned char *to);
/* Its qualifier; to has room for WCS_QUALIFIER_MAX bytes. */
size_t ldb_key_get_qualifier(const unsigned char *data, const struct ldb_key_parts *parts,
			     unsigned char *to);

struct ldb_id_key ldb_key_garbage(uint64_t id);
struct ldb_id_key ldb_key_extent(uint64_t id, uint32_t index);
struct ldb_id_key ldb_key_description(uint32_t table);
struct ldb_id_key ldb_key_drop(uint64_t id);
struct ldb_id_key ldb_key_note(uint16_t number);
extern const struct ldb_id_key ldb_key_next_table, ldb_key_next_value;

/* Whether data starts as the keys of key's key space do; it need not be a valid key of it. */
bool ldb_key_same_space(const void *data, size_t len, struct ldb_id_key key);
/* Whether a key of the database is one of a cell. */
bool ldb_key_is_cell(const void *data, size_t len);

/* True if data is exactly such a key. */
bool ldb_key_garbage_decode(const void *data, size_t len, uint64_t *id);
bool ldb_key_description_decode(const void *data, size_t len, uint32_t *table);
bool ldb_key_note_decode(const void *data, size_t len, uint16_t *number);
bool ldb_key_drop_decode(const void *data, size_t len, uint64_t *id);
bool ldb_key_extent_decode(const void *data, size_t len, uint64_t *id, uint32_t *index);

/*
 * Places in the key space, and ranges between them.
 *
 * A place is a key with zeros behind it. A longer key is cut, and the place is then before the key:
 * a range may begin a little early, and ends a little late.
 */
#define LDB_PLACE_BYTES 1024u
struct ldb_place {
	unsigned char bytes[LDB_PLACE_BYTES];
};
/* The last place at or before the key. */
struct ldb_place ldb_place_before(struct wcs_slice key);
/* The first place at or behind the key. */
struct ldb_place ldb_place_behind(struct wcs_slice key);
/* Its bytes without the zeros at its end; LevelDB's LOG has them for each slice. */
struct wcs_slice ldb_place_key(const struct ldb_place *place);
static inline int ldb_place_compare(const struct ldb_place *a, const struct ldb_place *b)
{
	return memcmp(a, b, sizeof(*a));
}

struct ldb_range {
	struct ldb_place from, to;
};
static inline struct ldb_range ldb_range(struct wcs_slice from, struct wcs_slice to)
{
	return (struct ldb_range){ldb_place_before(from), ldb_place_behind(to)};
}

#endif
