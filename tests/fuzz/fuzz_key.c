/* SPDX-License-Identifier: MIT */
/* Keys of the LevelDB engine: an accepted key is encoded again to the same bytes, and two keys sort
 * as their decoded parts. */
#include "tests/fuzz/fuzz.h"

#include "store/leveldb/encoding/key.h"
#include "store/mutation.h"

struct key_fuzz {
	uint32_t table;
	struct wcs_slice row, qualifier;
	char family[WCS_FAMILY_NAME_MAX + 1];
	int64_t ts;
	unsigned char row_bytes[WCS_ROW_KEY_MAX], qualifier_bytes[WCS_QUALIFIER_MAX];
};

static void key_fuzz_spell(const struct key_fuzz *cell, struct ldb_key *key)
{
	ldb_key_row(key, cell->table, cell->row);
	ldb_key_family(key, cell->family);
	ldb_key_qualifier(key, cell->qualifier);
	ldb_key_ts(key, cell->ts);
}

static bool key_fuzz_split(const uint8_t *data, size_t size, struct key_fuzz *cell)
{
	struct ldb_key_parts parts = {.table = 0};
	int error = ldb_key_split(data, size, &parts);

	FUZZ_CHECK(error == 0 || error == -EIO);
	if (error)
		return false;
	FUZZ_CHECK(ldb_key_is_cell(data, size));
	cell->table = parts.table;
	cell->ts = parts.ts;
	cell->row.data = cell->row_bytes;
	cell->row.len = ldb_key_get_row(data, &parts, cell->row_bytes);
	cell->qualifier.data = cell->qualifier_bytes;
	cell->qualifier.len = ldb_key_get_qualifier(data, &parts, cell->qualifier_bytes);
	strcpy(cell->family, (const char *)data + parts.row_end);
	FUZZ_CHECK(cell->row.len >= 1 && cell->row.len <= WCS_ROW_KEY_MAX);
	FUZZ_CHECK(cell->qualifier.len <= WCS_QUALIFIER_MAX && cell->ts >= 0);
	return true;
}

/* An accepted key is the only encoding of its decoded parts. */
static void key_fuzz_decode(const uint8_t *data, size_t size)
{
	static struct key_fuzz cell;
	static struct ldb_key key;
	struct ldb_id_key id_key;
	uint64_t id;
	uint32_t table;

	if (key_fuzz_split(data, size, &cell)) {
		key_fuzz_spell(&cell, &key);
		FUZZ_CHECK(fuzz_same(key.data, key.len, data, size));
	}
	if (ldb_key_garbage_decode(data, size, &id)) {
		id_key = ldb_key_garbage(id);
		FUZZ_CHECK(fuzz_same(id_key.data, id_key.len, data, size));
	}
	if (ldb_key_drop_decode(data, size, &id)) {
		id_key = ldb_key_drop(id);
		FUZZ_CHECK(fuzz_same(id_key.data, id_key.len, data, size));
	}
	if (ldb_key_description_decode(data, size, &table)) {
		id_key = ldb_key_description(table);
		FUZZ_CHECK(fuzz_same(id_key.data, id_key.len, data, size));
	}
}

/* A byte, few: one of those that matter, so that two cells have much in common. */
static unsigned char key_fuzz_byte(const uint8_t **data, size_t *size, bool few)
{
	static const unsigned char alphabet[] = {0, 1, 2, '#', 'a', 0xFE, 0xFF};
	unsigned int byte = fuzz_byte(data, size);

	return few ? alphabet[byte % sizeof(alphabet)] : (unsigned char)byte;
}

/* A cell from bytes: the lengths, then the parts of those lengths. */
static void key_fuzz_make(const uint8_t **data, size_t *size, struct key_fuzz *cell, bool few)
{
	size_t row = fuzz_byte(data, size) % (few ? 4 : 8) + 1,
	       family = fuzz_byte(data, size) % 4 + 1;
	size_t qualifier = fuzz_byte(data, size) % (few ? 4 : 8);
	static const int64_t stamps[] = {0, 1, 255, 256, INT64_MAX - 1, INT64_MAX};
	uint64_t ts = 0;

	cell->table = fuzz_byte(data, size) % 3;
	for (size_t i = 0; i < row; i++)
		cell->row_bytes[i] = key_fuzz_byte(data, size, few);
	for (size_t i = 0; i < family; i++)
		cell->family[i] = (char)('a' + fuzz_byte(data, size) % 3);
	cell->family[family] = '\0';
	for (size_t i = 0; i < qualifier; i++)
		cell->qualifier_bytes[i] = key_fuzz_byte(data, size, few);
	for (int i = 0; i < (few ? 1 : 8); i++)
		ts = ts << 8 | fuzz_byte(data, size);
	if (few)
		ts = (uint64_t)stamps[ts % 6];
	cell->ts = (int64_t)(ts & INT64_MAX);
	cell->row = (struct wcs_slice){cell->row_bytes, row};
	cell->qualifier = (struct wcs_slice){cell->qualifier_bytes, qualifier};
}

static int key_fuzz_order(const struct key_fuzz *a, const struct key_fuzz *b)
{
	int order = (a->table > b->table) - (a->table < b->table);

	if (!order)
		order = wcs_slice_compare(a->row, b->row);
	if (!order)
		order = strcmp(a->family, b->family);
	if (!order)
		order = wcs_slice_compare(a->qualifier, b->qualifier);
	return order ? order : (a->ts < b->ts) - (a->ts > b->ts);
}

/* The result of ldb_key_past lies behind all keys that start with a's first parts, and before all
 * others. */
static void key_fuzz_past(const struct key_fuzz *a, const struct ldb_key *key)
{
	static struct ldb_key prefix, past;

	for (int parts = 1; parts <= 3; parts++) {
		ldb_key_row(&prefix, a->table, a->row);
		if (parts > 1)
			ldb_key_family(&prefix, a->family);
		if (parts > 2)
			ldb_key_qualifier(&prefix, a->qualifier);
		past = prefix;
		ldb_key_past(&past);
		FUZZ_CHECK((ldb_key_compare(key->data, key->len, &past) < 0) ==
			   (ldb_key_starts(key->data, key->len, &prefix) ||
			    ldb_key_compare(key->data, key->len, &prefix) < 0));
	}
}

static void key_fuzz_compare(const uint8_t *data, size_t size, bool few)
{
	static struct key_fuzz a, b, back;
	static struct ldb_key key_a, key_b;
	int order, keys;

	key_fuzz_make(&data, &size, &a, few);
	key_fuzz_make(&data, &size, &b, few);
	key_fuzz_spell(&a, &key_a);
	key_fuzz_spell(&b, &key_b);
	order = key_fuzz_order(&a, &b);
	keys = ldb_key_compare(key_a.data, key_a.len, &key_b);
	FUZZ_CHECK((order < 0) == (keys < 0) && (order > 0) == (keys > 0));
	FUZZ_CHECK(key_fuzz_split(key_a.data, key_a.len, &back));
	FUZZ_CHECK(key_fuzz_order(&a, &back) == 0);
	key_fuzz_past(&a, &key_a);
	key_fuzz_past(&a, &key_b);
	/* The cells of a's row lie before the row's end, b's where it is another. */
	ldb_key_row(&key_b, a.table, a.row);
	FUZZ_CHECK(ldb_key_starts(key_a.data, key_a.len, &key_b));
	key_fuzz_spell(&b, &key_a);
	keys = a.table == b.table && wcs_slice_compare(a.row, b.row) == 0;
	FUZZ_CHECK(ldb_key_starts(key_a.data, key_a.len, &key_b) == (keys != 0));
	ldb_key_past(&key_b);
	if (a.table == b.table)
		FUZZ_CHECK((ldb_key_compare(key_a.data, key_a.len, &key_b) < 0) ==
			   (wcs_slice_compare(b.row, a.row) <= 0));
	/* A key with some bytes changed is none, or the one spelling of another cell. */
	for (; size >= 2; data += 2, size -= 2)
		key_a.data[data[0] % key_a.len] = data[1] % 4 ? data[1] % 3 : data[1];
	key_fuzz_decode(key_a.data, key_a.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int kind = fuzz_byte(&data, &size);

	if (kind % 2 == 0)
		key_fuzz_decode(data, size);
	else
		key_fuzz_compare(data, size, kind >= 64);
	return 0;
}
