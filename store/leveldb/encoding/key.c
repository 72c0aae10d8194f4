/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes keys; no other file knows how a key is spelled. Keys sort as unsigned bytes,
 * and their parts sort the same way:
 *
 *   'c' table(4) esc(row) 00 01  family 00  esc(qualifier) 00 01  INT64_MAX-ts(8)    a cell
 *   'g' value-id(8)                        garbage or intent of a value in extents
 *   'm' 'i'  'm' 'n'  'm' 't' table(4)     next table; the collector's note; a table
 *   'm' 'n' number(2)                      another note, from number 1 on
 *   'm' 'v'                                next value id
 *   'v' value-id(8) index(4)               one extent
 *   'x' drop-id(8)                         an unfinished drop
 *
 * esc writes byte 00 as 00 FF. Within an escaped part 00 01 is therefore its end only, and every
 * continuation is greater: 00 FF or 01 to FF. A part that is a prefix of another sorts before it,
 * and the closed part with 00 02 at its end is the first key behind all keys that start with it.
 */
#include "store/leveldb/encoding/key.h"

#include <errno.h>

#include "lib/words.h"
#include "store/leveldb/encoding/bytes.h"

enum {
	KEY_CELL = 'c',
	KEY_GARBAGE = 'g',
	KEY_META = 'm',
	KEY_EXTENT = 'v',
	KEY_DROP = 'x',
	KEY_META_TABLE = 't',
	KEY_META_NEXT_TABLE = 'i',
	KEY_META_NEXT_VALUE = 'v',
	KEY_META_NOTE = 'n',
	KEY_ESCAPE = 0xFF,
	KEY_END = 0x01,
};

static void key_escape(struct ldb_key *key, const unsigned char *from, size_t len)
{
	const unsigned char *end = from + len;

	while (from < end) {
		const unsigned char *nul = memchr(from, 0, (size_t)(end - from));
		size_t run = (size_t)((nul ? nul : end) - from);

		memcpy(key->data + key->len, from, run);
		key->len += run;
		if (!nul)
			return;
		key->data[key->len++] = 0;
		key->data[key->len++] = KEY_ESCAPE;
		from = nul + 1;
	}
}

/* Turns a prefix of ldb_key_row_prefix into that of one row's cells. */
static void key_close(struct ldb_key *key)
{
	key->data[key->len++] = 0;
	key->data[key->len++] = KEY_END;
}

void ldb_key_table(struct ldb_key *key, uint32_t table)
{
	key->data[0] = KEY_CELL;
	put_be32(key->data + 1, table);
	key->len = LDB_KEY_TABLE_LEN;
}

void ldb_key_table_past(struct ldb_key *key, uint32_t table)
{
	ldb_key_table(key, table + 1);
	if (table == UINT32_MAX)
		key->data[0]++;
}

void ldb_key_row_prefix(struct ldb_key *key, struct wcs_slice bytes)
{
	if (bytes.len > 0)
		key_escape(key, bytes.data, bytes.len < LDB_ROW_BOUND ? bytes.len : LDB_ROW_BOUND);
}

void ldb_key_row(struct ldb_key *key, uint32_t table, struct wcs_slice row)
{
	ldb_key_table(key, table);
	ldb_key_row_prefix(key, row);
	key_close(key);
}

void ldb_key_family(struct ldb_key *key, const char *family)
{
	size_t len = strlen(family) + 1;

	memcpy(key->data + key->len, family, len);
	key->len += len;
}

void ldb_key_qualifier(struct ldb_key *key, struct wcs_slice qualifier)
{
	size_t len = qualifier.len < LDB_QUALIFIER_BOUND ? qualifier.len : LDB_QUALIFIER_BOUND;

	if (len > 0)
		key_escape(key, qualifier.data, len);
	key_close(key);
}

void ldb_key_ts(struct ldb_key *key, int64_t ts)
{
	put_be64(key->data + key->len, (uint64_t)(INT64_MAX - ts));
	key->len += LDB_KEY_TS_LEN;
}

void ldb_key_past(struct ldb_key *key)
{
	key->data[key->len - 1]++;
}

bool ldb_key_starts(const void *data, size_t len, const struct ldb_key *prefix)
{
	return len >= prefix->len && memcmp(data, prefix->data, prefix->len) == 0;
}

size_t ldb_key_shared(const void *data, size_t len, const struct ldb_key *key)
{
	const unsigned char *a = data, *b = key->data;
	size_t at = 0, end = len < key->len ? len : key->len;

	for (; at + 8 <= end; at += 8) {
		uint64_t differ = get_le64(a + at) ^ get_le64(b + at);

		if (differ)
			return at + word_first(differ);
	}
	while (at < end && a[at] == b[at])
		at++;
	return at;
}

int ldb_key_compare(const void *data, size_t len, const struct ldb_key *key)
{
	int order = memcmp(data, key->data, len < key->len ? len : key->len);

	return order ? order : (len > key->len) - (len < key->len);
}

/* Finds the end of an escaped part: *to is behind its terminator, *bytes its unescaped length. */
static bool key_part(const unsigned char *data, size_t len, size_t from, size_t *to, size_t *bytes)
{
	size_t escapes = 0;

	for (size_t at = from; at < len;) {
		const unsigned char *nul = memchr(data + at, 0, len - at);

		if (!nul)
			return false;
		at = (size_t)(nul - data) + 1;
		if (at == len)
			return false;
		if (data[at] == KEY_END) {
			*to = at + 1;
			*bytes = at - 1 - from - escapes;
			return true;
		}
		if (data[at++] != KEY_ESCAPE)
			return false;
		escapes++;
	}
	return false;
}

int ldb_key_split_ts(const void *data, size_t len, size_t column_end, int64_t *ts)
{
	uint64_t reversed;

	if (len - column_end != LDB_KEY_TS_LEN)
		return -EIO;
	reversed = get_be64((const unsigned char *)data + column_end);
	if (reversed > INT64_MAX)
		return -EIO;
	*ts = INT64_MAX - (int64_t)reversed;
	return 0;
}

int ldb_key_split_column(const void *data, size_t len, struct ldb_key_parts *parts)
{
	if (!key_part(data, len, parts->family_end, &parts->column_end, &parts->qualifier_len) ||
	    parts->qualifier_len > WCS_QUALIFIER_MAX)
		return -EIO;
	return ldb_key_split_ts(data, len, parts->column_end, &parts->ts);
}

int ldb_key_split(const void *key, size_t len, struct ldb_key_parts *parts)
{
	const unsigned char *data = key;
	const unsigned char *nul;
	struct ldb_key_parts p;
	size_t bytes;

	if (len <= LDB_KEY_TABLE_LEN || data[0] != KEY_CELL)
		return -EIO;
	p.table = get_be32(data + 1);
	if (!key_part(data, len, LDB_KEY_TABLE_LEN, &p.row_end, &bytes) || bytes == 0 ||
	    bytes > WCS_ROW_KEY_MAX)
		return -EIO;
	nul = memchr(data + p.row_end, 0, len - p.row_end);
	if (!nul)
		return -EIO;
	p.family_end = (size_t)(nul - data) + 1;
	bytes = p.family_end - p.row_end - 1;
	if (bytes == 0 || bytes > WCS_FAMILY_NAME_MAX || ldb_key_split_column(data, len, &p))
		return -EIO;
	*parts = p;
	return 0;
}

/* The bytes of an escaped part that ldb_key_split accepted, without its terminator; to has room for
 * len bytes. Returns how many there are. */
static size_t key_unescape(const unsigned char *from, size_t len, unsigned char *to)
{
	const unsigned char *end = from + len;
	size_t made = 0;

	while (from < end) {
		const unsigned char *nul = memchr(from, 0, (size_t)(end - from));
		size_t run = nul ? (size_t)(nul - from) + 1 : (size_t)(end - from);

		memcpy(to + made, from, run);
		made += run;
		from += nul ? run + 1 : run;
	}
	return made;
}

size_t ldb_key_get_row(const unsigned char *data, const struct ldb_key_parts *parts,
		       unsigned char *to)
{
	return key_unescape(data + LDB_KEY_TABLE_LEN, parts->row_end - 2 - LDB_KEY_TABLE_LEN, to);
}

size_t ldb_key_get_qualifier(const unsigned char *data, const struct ldb_key_parts *parts,
			     unsigned char *to)
{
	return key_unescape(data + parts->family_end, parts->column_end - 2 - parts->family_end,
			    to);
}

static struct ldb_id_key key_id(unsigned char space, uint64_t id)
{
	struct ldb_id_key key = {9, {space}};

	put_be64(key.data + 1, id);
	return key;
}

struct ldb_id_key ldb_key_garbage(uint64_t id)
{
	return key_id(KEY_GARBAGE, id);
}

struct ldb_id_key ldb_key_drop(uint64_t id)
{
	return key_id(KEY_DROP, id);
}

struct ldb_id_key ldb_key_extent(uint64_t id, uint32_t index)
{
	struct ldb_id_key key = key_id(KEY_EXTENT, id);

	put_be32(key.data + 9, index);
	key.len = 13;
	return key;
}

struct ldb_id_key ldb_key_description(uint32_t table)
{
	struct ldb_id_key key = {6, {KEY_META, KEY_META_TABLE}};

	put_be32(key.data + 2, table);
	return key;
}

const struct ldb_id_key ldb_key_next_table = {2, {KEY_META, KEY_META_NEXT_TABLE}};
const struct ldb_id_key ldb_key_next_value = {2, {KEY_META, KEY_META_NEXT_VALUE}};

struct ldb_id_key ldb_key_note(uint16_t number)
{
	struct ldb_id_key key = {number > 0 ? 4 : 2, {KEY_META, KEY_META_NOTE}};

	put_be16(key.data + 2, number);
	return key;
}

bool ldb_key_note_decode(const void *data, size_t len, uint16_t *number)
{
	const unsigned char *bytes = data;

	if ((len != 2 && len != 4) || bytes[0] != KEY_META || bytes[1] != KEY_META_NOTE)
		return false;
	*number = len == 4 ? get_be16(bytes + 2) : 0;
	return len == 2 || *number > 0;
}

bool ldb_key_is_cell(const void *data, size_t len)
{
	return len > 0 && *(const unsigned char *)data == KEY_CELL;
}

bool ldb_key_same_space(const void *data, size_t len, struct ldb_id_key key)
{
	size_t head = key.data[0] == KEY_META ? 2 : 1;

	return len >= head && memcmp(data, key.data, head) == 0;
}

static bool key_id_decode(unsigned char space, const unsigned char *data, size_t len, size_t want,
			  uint64_t *id)
{
	if (len != want || data[0] != space)
		return false;
	*id = get_be64(data + 1);
	return true;
}

bool ldb_key_garbage_decode(const void *data, size_t len, uint64_t *id)
{
	return key_id_decode(KEY_GARBAGE, data, len, 9, id);
}

bool ldb_key_drop_decode(const void *data, size_t len, uint64_t *id)
{
	return key_id_decode(KEY_DROP, data, len, 9, id);
}

bool ldb_key_extent_decode(const void *data, size_t len, uint64_t *id, uint32_t *index)
{
	if (!key_id_decode(KEY_EXTENT, data, len, 13, id))
		return false;
	*index = get_be32((const unsigned char *)data + 9);
	return true;
}

bool ldb_key_description_decode(const void *key, size_t len, uint32_t *table)
{
	const unsigned char *data = key;

	if (len != 6 || data[0] != KEY_META || data[1] != KEY_META_TABLE)
		return false;
	*table = get_be32(data + 2);
	return true;
}

/* ---- Places ------------------------------------------------------------------------------ */

struct ldb_place ldb_place_before(struct wcs_slice key)
{
	struct ldb_place place = {{0}};

	if (key.len > 0)
		memcpy(place.bytes, key.data,
		       key.len < LDB_PLACE_BYTES ? key.len : LDB_PLACE_BYTES);
	return place;
}

struct ldb_place ldb_place_behind(struct wcs_slice key)
{
	struct ldb_place place = ldb_place_before(key);

	for (size_t i = LDB_PLACE_BYTES; key.len > LDB_PLACE_BYTES && i-- > 0;)
		if (++place.bytes[i] != 0)
			break;
	return place;
}

struct wcs_slice ldb_place_key(const struct ldb_place *place)
{
	size_t len = LDB_PLACE_BYTES;

	while (len > 0 && place->bytes[len - 1] == 0)
		len--;
	return (struct wcs_slice){place->bytes, len};
}
