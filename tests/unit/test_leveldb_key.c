/* SPDX-License-Identifier: MIT */
/*
 * The LevelDB engine's keys: the bytes of docs/format.md, the order, the limits, and that the
 * decoder takes nothing else.
 */
#include "tests/unit/suite.h"

#include "store/leveldb/encoding/key.h"
#include "store/leveldb/encoding/record.h"
#include "store/mutation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parts {
	uint32_t table;
	size_t row_len;
	unsigned char row[8];
	const char *family;
	size_t qualifier_len;
	unsigned char qualifier[8];
	int64_t ts;
};

static void cell_key(struct ldb_key *key, uint32_t table, struct wcs_slice row, const char *family,
		     struct wcs_slice qualifier, int64_t ts)
{
	ldb_key_row(key, table, row);
	ldb_key_family(key, family);
	ldb_key_qualifier(key, qualifier);
	ldb_key_ts(key, ts);
}

static void parts_key(struct ldb_key *key, const struct parts *p)
{
	cell_key(key, p->table, (struct wcs_slice){p->row, p->row_len}, p->family,
		 (struct wcs_slice){p->qualifier, p->qualifier_len}, p->ts);
}

static void expect_bytes(const void *data, size_t len, const char *hex)
{
	static char text[4096];
	size_t made = 0;

	for (size_t i = 0; i < len; i++)
		made += (size_t)sprintf(text + made, "%s%02x", i ? " " : "",
					((const unsigned char *)data)[i]);
	ck_assert_str_eq(text, hex);
}

/* ---- The page's example ------------------------------------------------------------------ */

SUITE_TEST(test_page_cell, 10)
{
	static struct ldb_key key;
	unsigned char record[LDB_CELL_MAX];
	size_t len;

	cell_key(&key, 1, SUITE_BYTES("STC#22\0A"), "loc", suite_text("lat"), 1700000000000000);
	expect_bytes(key.data, key.len,
		     "63 00 00 00 01 53 54 43 23 32 32 00 ff 41 00 01 6c 6f 63 00 6c 61 74 00 01 "
		     "7f f9 f5 db e7 e1 bf ff");
	len = ldb_record_inline(record, 0x01020304, suite_text("53.4"));
	expect_bytes(record, len, "00 01 02 03 04 35 33 2e 34");
}

SUITE_TEST(test_page_chunked, 10)
{
	unsigned char record[LDB_CELL_MAX];
	struct ldb_id_key key;
	size_t len = ldb_record_chunked(record, 0x01020305, 70000, 9);

	expect_bytes(record, len, "01 01 02 03 05 00 00 00 00 00 01 11 70 00 00 00 00 00 00 00 09");
	ldb_key_chunk(&key, 9, 0);
	expect_bytes(key.data, key.len, "76 00 00 00 00 00 00 00 09 00 00 00 00");
	ldb_key_chunk(&key, 9, 1);
	expect_bytes(key.data, key.len, "76 00 00 00 00 00 00 00 09 00 00 00 01");
	ldb_key_garbage(&key, 9);
	expect_bytes(key.data, key.len, "67 00 00 00 00 00 00 00 09");
	ldb_record_garbage(record, LDB_GARBAGE, ldb_record_chunks(70000));
	expect_bytes(record, LDB_GARBAGE_LEN, "01 00 00 00 02");
}

SUITE_TEST(test_page_meta, 10)
{
	struct wcs_family family = {.name = "loc",
				    .type = WCS_INTSUM,
				    .gc = (char *)"never",
				    .gc_changed = 1700000000000001};
	struct wcs_table_schema schema = {.name = "vehicles",
					  .delimiter = '#',
					  .created = 1700000000000000,
					  .family_count = 1,
					  .families = &family};
	struct ldb_drop drop = {1, {SUITE_BYTES("a"), SUITE_BYTES("b\0")}};
	unsigned char record[LDB_DROP_MAX];
	struct ldb_id_key key;
	unsigned char *bytes;
	size_t len;

	ldb_key_description(&key, 1);
	expect_bytes(key.data, key.len, "6d 74 00 00 00 01");
	ldb_key_next_table(&key);
	expect_bytes(key.data, key.len, "6d 69");
	ldb_key_next_value(&key);
	expect_bytes(key.data, key.len, "6d 76");
	ldb_key_drop(&key, 3);
	expect_bytes(key.data, key.len, "78 00 00 00 00 00 00 00 03");
	len = ldb_record_drop(record, &drop);
	expect_bytes(record, len, "00 00 00 01 01 00 01 61 62 00");
	bytes = ldb_record_table(&schema, &len);
	expect_bytes(bytes, len,
		     "02 23 00 06 0a 24 18 1e 40 00 08 76 65 68 69 63 6c 65 73 00 00 00 01 "
		     "03 6c 6f 63 01 00 06 0a 24 18 1e 40 01 00 00 00 05 6e 65 76 65 72");
	free(bytes);
}

/* ---- Order ------------------------------------------------------------------------------- */

static size_t random_bytes(uint64_t *state, unsigned char *to, size_t min)
{
	static const unsigned char alphabet[] = {0, 1, 2, '#', 'a', 0xFE, 0xFF};
	size_t len = min + suite_random(state) % 4;

	for (size_t i = 0; i < len; i++)
		to[i] = alphabet[suite_random(state) % sizeof(alphabet)];
	return len;
}

static void random_parts(uint64_t *state, struct parts *p)
{
	static const char *const families[] = {"a", "a-", "a.b", "ab", "b", "zz"};
	static const int64_t stamps[] = {0,	   1, 255, 256, 1700000000000000, INT64_MAX - 1,
					 INT64_MAX};

	p->table = 1 + suite_random(state) % 2 * 255;
	p->row_len = random_bytes(state, p->row, 1);
	p->family = families[suite_random(state) % 6];
	p->qualifier_len = random_bytes(state, p->qualifier, 0);
	p->ts = stamps[suite_random(state) % 7];
}

static int parts_compare(const struct parts *a, const struct parts *b)
{
	int order = (a->table > b->table) - (a->table < b->table);

	if (!order)
		order = wcs_slice_compare((struct wcs_slice){a->row, a->row_len},
					  (struct wcs_slice){b->row, b->row_len});
	if (!order)
		order = strcmp(a->family, b->family);
	if (!order)
		order = wcs_slice_compare((struct wcs_slice){a->qualifier, a->qualifier_len},
					  (struct wcs_slice){b->qualifier, b->qualifier_len});
	return order ? order : (a->ts < b->ts) - (a->ts > b->ts);
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

SUITE_TEST(test_order, 60)
{
	static struct ldb_key x, y;
	uint64_t state = 1;

	for (int i = 0; i < 200000; i++) {
		struct parts a, b;

		random_parts(&state, &a);
		b = a;
		if (suite_random(&state) % 2)
			random_parts(&state, &b);
		else
			b.row_len = random_bytes(&state, b.row, 1);
		parts_key(&x, &a);
		parts_key(&y, &b);
		ck_assert_int_eq(sign(ldb_key_compare(x.data, x.len, &y)),
				 sign(parts_compare(&a, &b)));
	}
}

/* What ldb_key_past makes lies behind all that the prefix is one of, and before all else. */
SUITE_TEST(test_past, 60)
{
	static struct ldb_key key, past, prefix;
	uint64_t state = 2;

	for (int i = 0; i < 200000; i++) {
		struct parts a, b;
		size_t ends[3];
		size_t end;

		random_parts(&state, &a);
		random_parts(&state, &b);
		ldb_key_row(&past, a.table, (struct wcs_slice){a.row, a.row_len});
		ends[0] = past.len;
		ldb_key_family(&past, a.family);
		ends[1] = past.len;
		ldb_key_qualifier(&past, (struct wcs_slice){a.qualifier, a.qualifier_len});
		ends[2] = past.len;
		end = ends[suite_random(&state) % 3];
		past.len = prefix.len = end;
		memcpy(prefix.data, past.data, end);
		ldb_key_past(&past);
		parts_key(&key, suite_random(&state) % 3 ? &b : &a);
		if (ldb_key_starts(key.data, key.len, &prefix))
			ck_assert_int_lt(ldb_key_compare(key.data, key.len, &past), 0);
		else
			ck_assert_int_eq(ldb_key_compare(key.data, key.len, &past) < 0,
					 ldb_key_compare(key.data, key.len, &prefix) < 0);
	}
}

SUITE_TEST(test_table_bounds, 10)
{
	static struct ldb_key key, past;
	static const uint32_t tables[] = {1, 255, 256, UINT32_MAX};

	for (size_t i = 0; i < 4; i++) {
		cell_key(&key, tables[i], SUITE_BYTES("\xFF\xFF"), "z", SUITE_BYTES("\xFF"), 0);
		ldb_key_table_past(&past, tables[i]);
		ck_assert_int_lt(ldb_key_compare(key.data, key.len, &past), 0);
		cell_key(&key, tables[i] + 1, SUITE_BYTES("\0"), "a", SUITE_BYTES(""), INT64_MAX);
		if (tables[i] != UINT32_MAX)
			ck_assert_int_gt(ldb_key_compare(key.data, key.len, &past), 0);
	}
}

/* ---- Limits ------------------------------------------------------------------------------ */

SUITE_TEST(test_longest, 10)
{
	static unsigned char zeros[WCS_QUALIFIER_MAX + 100], out[WCS_QUALIFIER_MAX];
	static struct ldb_key key;
	struct ldb_key_parts parts;
	char family[WCS_FAMILY_NAME_MAX + 1];

	memset(family, 'f', WCS_FAMILY_NAME_MAX);
	family[WCS_FAMILY_NAME_MAX] = '\0';
	cell_key(&key, UINT32_MAX, (struct wcs_slice){zeros, WCS_ROW_KEY_MAX}, family,
		 (struct wcs_slice){zeros, WCS_QUALIFIER_MAX}, 0);
	ck_assert_uint_le(key.len, LDB_KEY_MAX);
	ck_assert_int_eq(ldb_key_split(key.data, key.len, &parts), 0);
	ck_assert_uint_eq(ldb_key_get_row(key.data, &parts, out), WCS_ROW_KEY_MAX);
	ck_assert_uint_eq(ldb_key_get_qualifier(key.data, &parts, out), WCS_QUALIFIER_MAX);
	/* Bounds that are longer than any row or qualifier are cut where that changes nothing. */
	cell_key(&key, 1, (struct wcs_slice){zeros, sizeof(zeros)}, family,
		 (struct wcs_slice){zeros, sizeof(zeros)}, 0);
	ck_assert_uint_eq(key.len, LDB_KEY_MAX);
	ck_assert_int_eq(ldb_key_split(key.data, key.len, &parts), -EIO);
}

/* ---- Decoding ---------------------------------------------------------------------------- */

SUITE_TEST(test_round_trip, 60)
{
	static struct ldb_key key;
	uint64_t state = 3;

	for (int i = 0; i < 100000; i++) {
		struct ldb_key_parts parts;
		unsigned char bytes[16];
		struct parts p;
		size_t len;

		random_parts(&state, &p);
		parts_key(&key, &p);
		ck_assert_int_eq(ldb_key_split(key.data, key.len, &parts), 0);
		ck_assert_uint_eq(parts.table, p.table);
		ck_assert_int_eq(parts.ts, p.ts);
		len = ldb_key_get_row(key.data, &parts, bytes);
		ck_assert_uint_eq(len, p.row_len);
		ck_assert_mem_eq(bytes, p.row, len);
		ck_assert_str_eq((const char *)key.data + parts.row_end, p.family);
		len = ldb_key_get_qualifier(key.data, &parts, bytes);
		ck_assert_uint_eq(len, p.qualifier_len);
		ck_assert_mem_eq(bytes, p.qualifier, len);
	}
}

/* What a decoder accepts is what the encoder makes of it, byte for byte. */
SUITE_TEST(test_one_spelling, 60)
{
	static struct ldb_key key, again;
	uint64_t state = 4;
	int accepted = 0;

	for (int i = 0; i < 300000; i++) {
		struct ldb_key_parts parts;
		unsigned char row[64], qualifier[64];
		struct parts p;
		size_t row_len, qualifier_len;

		random_parts(&state, &p);
		parts_key(&key, &p);
		for (uint32_t n = suite_random(&state) % 3; n > 0; n--)
			key.data[1 + suite_random(&state) % (key.len - 1)] =
				(unsigned char)(suite_random(&state) % 3);
		if (suite_random(&state) % 4 == 0)
			key.len -= suite_random(&state) % key.len;
		else if (suite_random(&state) % 4 == 0)
			key.data[key.len++] = (unsigned char)suite_random(&state);
		if (ldb_key_split(key.data, key.len, &parts))
			continue;
		accepted++;
		row_len = ldb_key_get_row(key.data, &parts, row);
		qualifier_len = ldb_key_get_qualifier(key.data, &parts, qualifier);
		cell_key(&again, parts.table, (struct wcs_slice){row, row_len},
			 (const char *)key.data + parts.row_end,
			 (struct wcs_slice){qualifier, qualifier_len}, parts.ts);
		ck_assert_uint_eq(again.len, key.len);
		ck_assert_mem_eq(again.data, key.data, key.len);
	}
	ck_assert_int_gt(accepted, 1000);
}

SUITE_TEST(test_rejects_keys, 10)
{
	const struct wcs_slice bad[] = {
		SUITE_BYTES("c\0\0\0\1\0\1f\0q\0\1\177\1\2\3\4\5\6\7"),	    /* no row */
		SUITE_BYTES("c\0\0\0\1r\0\1\0q\0\1\177\1\2\3\4\5\6\7"),	    /* no family */
		SUITE_BYTES("c\0\0\0\1r\0\2f\0q\0\1\177\1\2\3\4\5\6\7"),    /* no such escape */
		SUITE_BYTES("c\0\0\0\1r\0\1f\0q\0\1\377\1\2\3\4\5\6\7"),    /* below zero */
		SUITE_BYTES("c\0\0\0\1r\0\1f\0q\0\1\177\1\2\3\4\5\6"),	    /* short */
		SUITE_BYTES("c\0\0\0\1r\0\1f\0q\0\1\177\1\2\3\4\5\6\7\10"), /* trailing */
		SUITE_BYTES("v\0\0\0\1r\0\1f\0q\0\1\177\1\2\3\4\5\6\7"),    /* another space */
		SUITE_BYTES("c\0\0\0\1r"),				    /* open */
		SUITE_BYTES("c\0\0\0\1"),
		SUITE_BYTES(""),
	};
	struct ldb_key_parts parts;
	struct ldb_id_key key;
	uint64_t id;
	uint32_t n;

	ck_assert_int_eq(ldb_key_split("c\0\0\0\1r\0\1f\0q\0\1\177\1\2\3\4\5\6\7", 21, &parts), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(ldb_key_split(bad[i].data, bad[i].len, &parts), -EIO);
	ck_assert(!ldb_key_garbage_decode("g12345678x", 10, &id));
	ck_assert(!ldb_key_garbage_decode("g1234567", 8, &id));
	ck_assert(!ldb_key_garbage_decode("x12345678", 9, &id));
	ck_assert(ldb_key_drop_decode("x12345678", 9, &id));
	ck_assert(!ldb_key_description_decode("mi", 2, &n));
	ck_assert(!ldb_key_description_decode("mt12345", 7, &n));
	ck_assert(ldb_key_description_decode("mt1234", 6, &n));
	ldb_key_description(&key, 0);
	ck_assert(ldb_key_same_space("mt12345", 7, &key));
	ck_assert(!ldb_key_same_space("mi", 2, &key));
	ck_assert(!ldb_key_same_space("m", 1, &key));
	ldb_key_garbage(&key, 0);
	ck_assert(ldb_key_same_space("g", 1, &key));
	ck_assert(!ldb_key_same_space("m12345678", 9, &key));
}
