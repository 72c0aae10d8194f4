/* SPDX-License-Identifier: MIT */
/* The LevelDB engine's keys: the bytes of docs/format.md, the limits, and that the decoder takes
 * nothing else. Their order, and random ones, are fuzz_key.c's. */
#include "tests/unit/suite.h"

#include "store/keys/keys.h"
#include "store/leveldb/encoding/key.h"
#include "store/leveldb/encoding/record.h"
#include "store/mutation.h"

static void cell_key(struct ldb_key *key, uint32_t table, struct wcs_slice row, const char *family,
		     struct wcs_slice qualifier, int64_t ts)
{
	ldb_key_row(key, table, row);
	ldb_key_family(key, family);
	ldb_key_qualifier(key, qualifier);
	ldb_key_ts(key, ts);
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
	size_t len = ldb_record_extents(record, 0x01020305, 70000, 9);

	expect_bytes(record, len, "01 01 02 03 05 00 00 00 00 00 01 11 70 00 00 00 00 00 00 00 09");
	key = ldb_key_extent(9, 0);
	expect_bytes(key.data, key.len, "76 00 00 00 00 00 00 00 09 00 00 00 00");
	key = ldb_key_extent(9, 1);
	expect_bytes(key.data, key.len, "76 00 00 00 00 00 00 00 09 00 00 00 01");
	key = ldb_key_garbage(9);
	expect_bytes(key.data, key.len, "67 00 00 00 00 00 00 00 09");
	ldb_record_garbage(record, LDB_GARBAGE, ldb_extent_count(70000));
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
	struct wcs_keys keys = {
		.buckets = 16,
		.salt_segments = 1,
		.segment_count = 2,
		.segments = {{.name = "route"}, {"at", WCS_CODEC_REVERSE_TIME, WCS_UNIT_S, 0}}};
	struct ldb_drop drop = {1, {SUITE_BYTES("a"), SUITE_BYTES("b\0")}, false};
	unsigned char record[LDB_DROP_MAX];
	struct ldb_id_key key;
	unsigned char *bytes;
	size_t len;

	key = ldb_key_description(1);
	expect_bytes(key.data, key.len, "6d 74 00 00 00 01");
	key = ldb_key_next_table;
	expect_bytes(key.data, key.len, "6d 69");
	key = ldb_key_next_value;
	expect_bytes(key.data, key.len, "6d 76");
	key = ldb_key_drop(3);
	expect_bytes(key.data, key.len, "78 00 00 00 00 00 00 00 03");
	len = ldb_record_drop(record, &drop);
	expect_bytes(record, len, "00 00 00 01 01 00 01 61 62 00");
	drop = (struct ldb_drop){
		1, {SUITE_BYTES("c\0\0\0\1r\0\1"), SUITE_BYTES("c\0\0\0\1r\0\2")}, true};
	len = ldb_record_drop(record, &drop);
	expect_bytes(record, len,
		     "00 00 00 01 02 00 08 63 00 00 00 01 72 00 01 63 00 00 00 01 72 00 02");
	bytes = ldb_record_table(&schema, &len);
	expect_bytes(bytes, len,
		     "02 23 00 06 0a 24 18 1e 40 00 08 76 65 68 69 63 6c 65 73 00 00 00 01 "
		     "03 6c 6f 63 01 00 06 0a 24 18 1e 40 01 00 00 00 05 6e 65 76 65 72");
	free(bytes);
	schema.keys = &keys;
	bytes = ldb_record_table(&schema, &len);
	expect_bytes(bytes, len,
		     "04 23 00 06 0a 24 18 1e 40 00 08 76 65 68 69 63 6c 65 73 00 00 00 01 "
		     "03 6c 6f 63 01 00 06 0a 24 18 1e 40 01 00 00 00 05 6e 65 76 65 72 "
		     "00 10 01 02 05 72 6f 75 74 65 00 00 00 02 61 74 03 02 00");
	free(bytes);
}

/* ---- Limits ------------------------------------------------------------------------------ */

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
	SUITE_OK(ldb_key_split(key.data, key.len, &parts));
	ck_assert_uint_eq(ldb_key_get_row(key.data, &parts, out), WCS_ROW_KEY_MAX);
	ck_assert_uint_eq(ldb_key_get_qualifier(key.data, &parts, out), WCS_QUALIFIER_MAX);
	/* Bounds that are longer than any row or qualifier are cut where that changes nothing. */
	cell_key(&key, 1, (struct wcs_slice){zeros, sizeof(zeros)}, family,
		 (struct wcs_slice){zeros, sizeof(zeros)}, 0);
	ck_assert_uint_eq(key.len, LDB_KEY_MAX);
	ck_assert_int_eq(ldb_key_split(key.data, key.len, &parts), -EIO);
}

/* ---- Decoding ---------------------------------------------------------------------------- */

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

	SUITE_OK(ldb_key_split("c\0\0\0\1r\0\1f\0q\0\1\177\1\2\3\4\5\6\7", 21, &parts));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(ldb_key_split(bad[i].data, bad[i].len, &parts), -EIO);
	ck_assert(!ldb_key_garbage_decode("g12345678x", 10, &id));
	ck_assert(!ldb_key_garbage_decode("g1234567", 8, &id));
	ck_assert(!ldb_key_garbage_decode("x12345678", 9, &id));
	ck_assert(ldb_key_drop_decode("x12345678", 9, &id));
	ck_assert(!ldb_key_description_decode("mi", 2, &n));
	ck_assert(!ldb_key_description_decode("mt12345", 7, &n));
	ck_assert(ldb_key_description_decode("mt1234", 6, &n));
	key = ldb_key_description(0);
	ck_assert(ldb_key_same_space("mt12345", 7, key));
	ck_assert(!ldb_key_same_space("mi", 2, key));
	ck_assert(!ldb_key_same_space("m", 1, key));
	key = ldb_key_garbage(0);
	ck_assert(ldb_key_same_space("g", 1, key));
	ck_assert(!ldb_key_same_space("m12345678", 9, key));
}
