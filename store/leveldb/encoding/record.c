/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes the values behind the keys:
 *
 *   cell         00 etag(4) value             up to WCS_VALUE_INLINE bytes of value
 *                01 etag(4) size(8) value-id(8)
 *   garbage      00|01 extents(4)             intent | garbage
 *   drop         table(4) 00|01|02 start-length(2) start end
 *                rows to the table's end | rows | keys of one row
 *   table        version(1) delimiter(1) created(8) name-length(1) name families(4)
 *                and for each family  name-length(1) name type(1) policy-changed(8)
 *                policy-length(4) policy; with a key design
 *                buckets(2) salted(1) segments(1) and for each segment
 *                name-length(1) name codec(1) unit(1) width(1)
 *
 * Versions of a table: 01 has no policy-changed and is only read, 03 is a protected table, 02 any
 * other; 05 and 04 are the same with a key design. Those up to 0F are a newer program's. Every
 * length is checked against the end of the record.
 */
#include "store/leveldb/encoding/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/keys/keys.h"

enum { RECORD_INLINE = 0, RECORD_EXTENTS = 1, RECORD_EXTENTS_LEN = 21 };
enum { RECORD_DROP_KEYS = 2 };
enum {
	RECORD_TABLE_NO_CHANGES = 1,
	RECORD_TABLE_VERSION = 2,
	RECORD_TABLE_PROTECTED = 3,
	RECORD_TABLE_KEYS = 4,
	RECORD_TABLE_KEYS_PROTECTED = 5,
	RECORD_TABLE_NEWEST = 15, /* that newer programs may write */
};

size_t ldb_record_inline(unsigned char *to, uint32_t etag, struct wcs_slice value)
{
	to[0] = RECORD_INLINE;
	put_be32(to + 1, etag);
	if (value.len > 0)
		memcpy(to + LDB_CELL_HEAD, value.data, value.len);
	return LDB_CELL_HEAD + value.len;
}

size_t ldb_record_extents(unsigned char *to, uint32_t etag, uint64_t size, uint64_t id)
{
	to[0] = RECORD_EXTENTS;
	put_be32(to + 1, etag);
	put_be64(to + 5, size);
	put_be64(to + 13, id);
	return RECORD_EXTENTS_LEN;
}

int ldb_record_cell_decode(const void *record, size_t len, struct ldb_cell *cell)
{
	const unsigned char *data = record;
	struct ldb_cell c = {0};

	if (len < LDB_CELL_HEAD)
		return -EIO;
	c.etag = get_be32(data + 1);
	if (data[0] == RECORD_INLINE) {
		c.size = len - LDB_CELL_HEAD;
		c.data = data + LDB_CELL_HEAD;
		if (c.size > WCS_VALUE_INLINE)
			return -EIO;
	} else if (data[0] == RECORD_EXTENTS && len == RECORD_EXTENTS_LEN) {
		c.size = get_be64(data + 5);
		c.id = get_be64(data + 13);
		if (c.id == 0 || c.size <= WCS_VALUE_INLINE || c.size > WCS_VALUE_MAX)
			return -EIO;
	} else {
		return -EIO;
	}
	*cell = c;
	return 0;
}

void ldb_record_garbage(unsigned char *to, enum ldb_garbage_kind kind, uint32_t extents)
{
	to[0] = (unsigned char)kind;
	put_be32(to + 1, extents);
}

int ldb_record_garbage_decode(const void *record, size_t len, enum ldb_garbage_kind *kind,
			      uint32_t *extents)
{
	const unsigned char *data = record;

	if (len != LDB_GARBAGE_LEN || data[0] > LDB_GARBAGE ||
	    get_be32(data + 1) > ldb_extent_count(WCS_VALUE_MAX))
		return -EIO;
	*kind = data[0] == LDB_GARBAGE ? LDB_GARBAGE : LDB_INTENT;
	*extents = get_be32(data + 1);
	return 0;
}

size_t ldb_record_drop(unsigned char *to, const struct ldb_drop *drop)
{
	struct wcs_slice bounds[] = {drop->range.start, drop->range.end};
	size_t len = 7, most = drop->keys ? LDB_KEY_MAX : LDB_ROW_BOUND;

	for (size_t i = 0; i < 2; i++) {
		if (bounds[i].len > most)
			bounds[i].len = most;
		if (bounds[i].len > 0)
			memcpy(to + len, bounds[i].data, bounds[i].len);
		len += bounds[i].len;
	}
	put_be32(to, drop->table);
	to[4] = drop->keys ? RECORD_DROP_KEYS : bounds[1].data != NULL;
	put_be16(to + 5, (uint16_t)bounds[0].len);
	return len;
}

/* Are these bounds of cells of the table, in order? */
static bool record_has_keys(uint32_t table, struct wcs_slice start, struct wcs_slice end)
{
	return ldb_key_is_cell(start.data, start.len) && start.len > LDB_KEY_TABLE_LEN &&
	       end.len > LDB_KEY_TABLE_LEN &&
	       get_be32((const unsigned char *)start.data + 1) == table &&
	       memcmp(start.data, end.data, LDB_KEY_TABLE_LEN) == 0 &&
	       wcs_slice_compare(start, end) < 0;
}

int ldb_record_drop_decode(const void *record, size_t len, struct ldb_drop *drop)
{
	const unsigned char *data = record;
	size_t start, end, most;

	if (len < 7 || data[4] > RECORD_DROP_KEYS)
		return -EIO;
	most = data[4] == RECORD_DROP_KEYS ? LDB_KEY_MAX : LDB_ROW_BOUND;
	start = get_be16(data + 5);
	if (start > most || start > len - 7)
		return -EIO;
	end = len - 7 - start;
	if (end > most || (data[4] == 0 && end > 0))
		return -EIO;
	drop->table = get_be32(data);
	drop->keys = data[4] == RECORD_DROP_KEYS;
	drop->range.start = (struct wcs_slice){data + 7, start};
	drop->range.end = (struct wcs_slice){data[4] ? data + 7 + start : NULL, end};
	return drop->keys && !record_has_keys(drop->table, drop->range.start, drop->range.end)
		       ? -EIO
		       : 0;
}

/* Writes a name with its length before it. Returns its end. */
static unsigned char *record_put_name(unsigned char *to, const char *name)
{
	size_t len = strlen(name);

	*to++ = (unsigned char)len;
	return mempcpy(to, name, len);
}

static unsigned char *record_put_family(unsigned char *to, const struct wcs_family *family)
{
	size_t gc = strlen(family->gc);

	to = record_put_name(to, family->name);
	*to++ = (unsigned char)family->type;
	put_be64(to, (uint64_t)family->gc_changed);
	put_be32(to + 8, (uint32_t)gc);
	return mempcpy(to + 12, family->gc, gc);
}

static unsigned char *record_put_keys(unsigned char *to, const struct wcs_keys *keys)
{
	put_be16(to, (uint16_t)keys->buckets);
	to[2] = (unsigned char)keys->salt_segments;
	to[3] = (unsigned char)keys->segment_count;
	to += 4;
	for (size_t i = 0; i < keys->segment_count; i++) {
		to = record_put_name(to, keys->segments[i].name);
		*to++ = (unsigned char)keys->segments[i].codec;
		*to++ = (unsigned char)keys->segments[i].unit;
		*to++ = keys->segments[i].width;
	}
	return to;
}

unsigned char *ldb_record_table(const struct wcs_table_schema *schema, size_t *len)
{
	bool designed = !wcs_keys_equal(schema->keys, NULL);
	bool protected = schema->protection == WCS_PROTECTED;
	size_t size = 10 + 1 + strlen(schema->name) + 4;
	unsigned char *record, *to;

	for (size_t i = 0; i < schema->family_count; i++)
		size += 1 + strlen(schema->families[i].name) + 1 + 8 + 4 +
			strlen(schema->families[i].gc);
	size += designed ? 4 : 0;
	for (size_t i = 0; designed && i < schema->keys->segment_count; i++)
		size += 1 + strlen(schema->keys->segments[i].name) + 3;
	record = malloc(size);
	if (!record)
		return NULL;
	record[0] = designed	? (protected ? RECORD_TABLE_KEYS_PROTECTED : RECORD_TABLE_KEYS)
		    : protected ? RECORD_TABLE_PROTECTED
				: RECORD_TABLE_VERSION;
	record[1] = schema->delimiter;
	put_be64(record + 2, (uint64_t)schema->created);
	to = record_put_name(record + 10, schema->name);
	put_be32(to, (uint32_t)schema->family_count);
	to += 4;
	for (size_t i = 0; i < schema->family_count; i++)
		to = record_put_family(to, &schema->families[i]);
	if (designed)
		record_put_keys(to, schema->keys);
	*len = size;
	return record;
}

/* Takes a name with its length before it into a text with room for max + 1 bytes. */
static bool record_name(struct ldb_rest *rest, char *to, size_t max)
{
	const unsigned char *len = ldb_rest_take(rest, 1);
	const unsigned char *name = len ? ldb_rest_take(rest, *len) : NULL;

	if (!name || *len == 0 || *len > max || memchr(name, 0, *len))
		return false;
	memcpy(to, name, *len);
	to[*len] = '\0';
	return true;
}

static int record_family(struct ldb_rest *rest, unsigned char version, struct wcs_family *family)
{
	size_t changed = version > RECORD_TABLE_NO_CHANGES ? 8 : 0;
	const unsigned char *data;
	uint32_t len;

	if (!record_name(rest, family->name, WCS_FAMILY_NAME_MAX))
		return -EIO;
	data = ldb_rest_take(rest, 1 + changed + 4);
	if (!data || data[0] > WCS_INTHLL)
		return -EIO;
	family->type = (enum wcs_type)data[0];
	family->gc_changed = changed ? (int64_t)get_be64(data + 1) : 0;
	len = get_be32(data + 1 + changed);
	data = ldb_rest_take(rest, len);
	if (!data || memchr(data, 0, len))
		return -EIO;
	family->gc = strndup((const char *)data, len);
	return family->gc ? 0 : -ENOMEM;
}

/* Takes the numbers and names of a design, as they are. */
static bool record_keys(struct ldb_rest *rest, struct wcs_keys *keys)
{
	const unsigned char *data = ldb_rest_take(rest, 4);

	if (!data || data[3] > WCS_KEYS_SEGMENTS_MAX)
		return false;
	keys->buckets = get_be16(data);
	keys->salt_segments = data[2];
	keys->segment_count = data[3];
	for (size_t i = 0; i < keys->segment_count; i++) {
		struct wcs_keys_segment *segment = &keys->segments[i];

		if (!record_name(rest, segment->name, WCS_KEYS_NAME_MAX))
			return false;
		data = ldb_rest_take(rest, 3);
		if (!data)
			return false;
		segment->codec = (enum wcs_codec)data[0];
		segment->unit = (enum wcs_unit)data[1];
		segment->width = data[2];
	}
	return true;
}

/* Takes the design of a table, which is the rest of its record. */
static int record_design(struct ldb_rest *rest, struct wcs_table_schema *schema)
{
	/* fsck corrects a delimiter that is none. */
	unsigned char delimiter = wcs_delimiter_valid(schema->delimiter) ? schema->delimiter : 0;
	struct wcs_keys *keys = calloc(1, sizeof(*keys));

	schema->keys = keys;
	if (!keys)
		return -ENOMEM;
	keys->delimiter = schema->delimiter;
	if (!record_keys(rest, keys) || rest->len > 0 || wcs_keys_equal(keys, NULL))
		return -EIO;
	for (size_t i = 0; i < keys->segment_count; i++)
		if (!wcs_codec_name(keys->segments[i].codec))
			return -EPROTO;
	return wcs_keys_check(keys, delimiter, NULL) == 0 ? 0 : -EIO;
}

/* Takes what follows the version, delimiter and time. */
static int record_table(struct ldb_rest *rest, unsigned char version,
			struct wcs_table_schema *schema)
{
	const unsigned char *data;
	uint32_t count;
	int rc = 0;

	if (!record_name(rest, schema->name, WCS_TABLE_NAME_MAX))
		return -EIO;
	data = ldb_rest_take(rest, 4);
	if (!data)
		return -EIO;
	count = get_be32(data);
	if (count > rest->len / 7) /* a family takes at least that much */
		return -EIO;
	schema->families = calloc(count + 1, sizeof(*schema->families));
	if (!schema->families)
		return -ENOMEM;
	for (; !rc && schema->family_count < count; schema->family_count++)
		rc = record_family(rest, version, &schema->families[schema->family_count]);
	if (!rc && version >= RECORD_TABLE_KEYS)
		rc = record_design(rest, schema);
	return !rc && rest->len > 0 ? -EIO : rc;
}

int ldb_record_table_decode(const void *record, size_t len, struct wcs_table_schema *schema)
{
	struct ldb_rest rest = {record, len};
	struct wcs_table_schema made = {0};
	const unsigned char *data = ldb_rest_take(&rest, 10);
	int rc;

	if (!data || data[0] < RECORD_TABLE_NO_CHANGES || data[0] > RECORD_TABLE_NEWEST)
		return -EIO;
	if (data[0] > RECORD_TABLE_KEYS_PROTECTED)
		return -EPROTO;
	made.protection =
		data[0] == RECORD_TABLE_PROTECTED || data[0] == RECORD_TABLE_KEYS_PROTECTED
			? WCS_PROTECTED
			: WCS_UNPROTECTED;
	made.delimiter = data[1];
	made.created = (int64_t)get_be64(data + 2);
	rc = record_table(&rest, data[0], &made);
	if (rc)
		wcs_table_schema_clear(&made);
	else
		*schema = made;
	return rc;
}

void ldb_record_newer(const void *record, size_t len, uint32_t id, char why[LDB_RECORD_WHY])
{
	struct ldb_rest rest = {record, len};
	char name[WCS_TABLE_NAME_MAX + 1];
	const unsigned char *data = ldb_rest_take(&rest, 10);

	if (data && data[0] <= RECORD_TABLE_KEYS_PROTECTED &&
	    record_name(&rest, name, WCS_TABLE_NAME_MAX) && wcs_table_name_valid(name))
		snprintf(why, LDB_RECORD_WHY,
			 "table %s: its key design has a codec that this program does not know; "
			 "use a newer rowfs",
			 name);
	else
		snprintf(why, LDB_RECORD_WHY,
			 "table %" PRIu32 ": a newer program described it; use a newer rowfs", id);
}
