/* SPDX-License-Identifier: MIT */
/* The LevelDB engine's records: both ways, and that decoders take nothing else. */
#include "tests/unit/suite.h"

#include "store/keys/keys.h"
#include "store/leveldb/encoding/record.h"

SUITE_TEST(test_cell_records, 10)
{
	static unsigned char value[WCS_VALUE_INLINE], record[LDB_CELL_MAX + 1];
	struct ldb_cell cell;
	size_t len = ldb_record_inline(record, 7, (struct wcs_slice){value, sizeof(value)});

	SUITE_OK(ldb_record_cell_decode(record, len, &cell));
	ck_assert_uint_eq(cell.etag, 7);
	ck_assert_uint_eq(cell.size, sizeof(value));
	ck_assert_uint_eq(cell.id, 0);
	ck_assert_int_eq(ldb_record_cell_decode(record, len + 1, &cell), -EIO);
	ck_assert_int_eq(ldb_record_cell_decode(record, 4, &cell), -EIO);
	SUITE_OK(ldb_record_cell_decode(record, 5, &cell));
	ck_assert_uint_eq(cell.size, 0);
	record[0] = 2;
	ck_assert_int_eq(ldb_record_cell_decode(record, 21, &cell), -EIO);

	len = ldb_record_extents(record, 8, WCS_VALUE_MAX, 5);
	SUITE_OK(ldb_record_cell_decode(record, len, &cell));
	ck_assert_uint_eq(cell.size, WCS_VALUE_MAX);
	ck_assert_uint_eq(cell.id, 5);
	ck_assert_int_eq(ldb_record_cell_decode(record, len + 1, &cell), -EIO);
	ck_assert_int_eq(ldb_record_cell_decode(record, len - 1, &cell), -EIO);
	ldb_record_extents(record, 8, WCS_VALUE_MAX + 1, 5);
	ck_assert_int_eq(ldb_record_cell_decode(record, len, &cell), -EIO);
	ldb_record_extents(record, 8, WCS_VALUE_INLINE, 5);
	ck_assert_int_eq(ldb_record_cell_decode(record, len, &cell), -EIO);
	ldb_record_extents(record, 8, WCS_VALUE_MAX, 0);
	ck_assert_int_eq(ldb_record_cell_decode(record, len, &cell), -EIO);
}

SUITE_TEST(test_chunk_count, 10)
{
	ck_assert_uint_eq(ldb_extent_count(WCS_VALUE_INLINE + 1), 1);
	ck_assert_uint_eq(ldb_extent_count(LDB_EXTENT), 1);
	ck_assert_uint_eq(ldb_extent_count(LDB_EXTENT + 1), 2);
	ck_assert_uint_eq(ldb_extent_count(WCS_VALUE_MAX), 1600);
}

SUITE_TEST(test_drop_records, 10)
{
	static unsigned char bytes[WCS_ROW_KEY_MAX + 1], record[LDB_DROP_MAX];
	struct ldb_drop drop = {7, {{bytes, sizeof(bytes)}, {bytes, sizeof(bytes)}}, false}, got;
	size_t len = ldb_record_drop(record, &drop);

	ck_assert_uint_eq(len, LDB_DROP_MAX);
	SUITE_OK(ldb_record_drop_decode(record, len, &got));
	ck_assert_uint_eq(got.table, 7);
	ck_assert_uint_eq(got.range.start.len, sizeof(bytes));
	ck_assert_uint_eq(got.range.end.len, sizeof(bytes));
	ck_assert_int_eq(ldb_record_drop_decode(record, 6, &got), -EIO);
	ck_assert_int_eq(ldb_record_drop_decode(record, 100, &got), -EIO);

	drop.range = (struct wcs_range){{NULL, 0}, {NULL, 0}};
	len = ldb_record_drop(record, &drop);
	SUITE_OK(ldb_record_drop_decode(record, len, &got));
	ck_assert_ptr_null(got.range.end.data);
	ck_assert_int_eq(ldb_record_drop_decode(record, len + 1, &got), -EIO);
}

/* A forged one could delete keys that are no cells, or those of another table. */
SUITE_TEST(test_drop_records_of_keys, 10)
{
	const struct {
		struct wcs_slice start, end;
		int error;
	} cases[] = {
		{SUITE_BYTES("c\0\0\0\7r\0\1"), SUITE_BYTES("c\0\0\0\7r\0\2"), 0},
		{SUITE_BYTES("c\0\0\0\7r\0\2"), SUITE_BYTES("c\0\0\0\7r\0\1"), -EIO},
		{SUITE_BYTES("c\0\0\0\7r\0\1"), SUITE_BYTES("c\0\0\0\7r\0\1"), -EIO},
		{SUITE_BYTES("c\0\0\0\6r\0\1"), SUITE_BYTES("c\0\0\0\6r\0\2"), -EIO},
		{SUITE_BYTES("c\0\0\0\7r\0\1"), SUITE_BYTES("c\0\0\0\10r\0\2"), -EIO},
		{SUITE_BYTES("c\0\0\0\7"), SUITE_BYTES("c\0\0\0\7r\0\2"), -EIO},
		{SUITE_BYTES("m\0\0\0\7r\0\1"), SUITE_BYTES("m\0\0\0\7r\0\2"), -EIO},
		{SUITE_BYTES("c\0\0\0\7r\0\1"), SUITE_BYTES(""), -EIO},
	};
	static unsigned char record[LDB_ERASE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ldb_drop drop = {7, {cases[i].start, cases[i].end}, true}, got;
		size_t len = ldb_record_drop(record, &drop);

		ck_assert_msg(ldb_record_drop_decode(record, len, &got) == cases[i].error,
			      "case %zu", i);
		if (cases[i].error == 0)
			ck_assert(got.keys && got.range.end.len == cases[i].end.len);
	}
}

SUITE_TEST(test_table_records, 10)
{
	struct wcs_family families[2] = {
		{.name = "a", .type = WCS_BYTES, .gc = (char *)"maxversions=3"},
		{.name = "b", .type = WCS_INTHLL, .gc = (char *)"never"}};
	struct wcs_table_schema schema = {.name = "t",
					  .delimiter = '/',
					  .created = 42,
					  .family_count = 2,
					  .families = families};
	struct wcs_table_schema got;
	size_t len;
	unsigned char *record = ldb_record_table(&schema, &len);
	unsigned char *longer = malloc(len + 1);

	SUITE_OK(ldb_record_table_decode(record, len, &got));
	ck_assert_str_eq(got.name, "t");
	ck_assert_int_eq(got.delimiter, '/');
	ck_assert_int_eq(got.created, 42);
	ck_assert_int_eq(got.protection, WCS_UNPROTECTED);
	ck_assert_uint_eq(got.family_count, 2);
	ck_assert_str_eq(got.families[0].name, "a");
	ck_assert_str_eq(got.families[0].gc, "maxversions=3");
	ck_assert_int_eq(got.families[1].type, WCS_INTHLL);
	wcs_table_schema_clear(&got);
	for (size_t shorter = 0; shorter < len; shorter++)
		ck_assert_int_eq(ldb_record_table_decode(record, shorter, &got), -EIO);
	memcpy(longer, record, len);
	longer[len] = 0;
	ck_assert_int_eq(ldb_record_table_decode(longer, len + 1, &got), -EIO);
	ck_assert_int_eq(longer[0], 2);
	longer[0] = 4; /* a table with a key design */
	ck_assert_int_eq(ldb_record_table_decode(longer, len, &got), -EIO);
	longer[0] = 6; /* a later version of the record */
	ck_assert_int_eq(ldb_record_table_decode(longer, len, &got), -EPROTO);
	longer[0] = 16; /* no version */
	ck_assert_int_eq(ldb_record_table_decode(longer, len, &got), -EIO);
	longer[0] = 3; /* the same of a protected table */
	SUITE_OK(ldb_record_table_decode(longer, len, &got));
	ck_assert_int_eq(got.protection, WCS_PROTECTED);
	free(record);
	record = ldb_record_table(&got, &len);
	ck_assert_mem_eq(record, longer, len);
	wcs_table_schema_clear(&got);
	free(longer);
	free(record);
}

/* A table of each version that has a design. */
SUITE_LOOP(test_table_records_with_keys, 2, 10)
{
	static const struct wcs_keys keys = {
		.delimiter = '#',
		.buckets = 256,
		.salt_segments = 2,
		.segment_count = 6,
		.segments = {{.name = "tenant"},
			     {"host", WCS_CODEC_REVERSE_DOMAIN, WCS_UNIT_US, 0},
			     {"at", WCS_CODEC_TIME, WCS_UNIT_MS, 13},
			     {"then", WCS_CODEC_REVERSE_TIME, WCS_UNIT_S, 0},
			     {"id", WCS_CODEC_PAD, WCS_UNIT_US, 19},
			     {"n", WCS_CODEC_REVERSE, WCS_UNIT_US, 0}}};
	struct wcs_family family = {.name = "f", .type = WCS_BYTES, .gc = (char *)"never"};
	struct wcs_keys own = keys;
	struct wcs_table_schema schema = {.name = "t",
					  .delimiter = '#',
					  .protection = _i ? WCS_PROTECTED : WCS_UNPROTECTED,
					  .created = 42,
					  .keys = &own,
					  .family_count = 1,
					  .families = &family};
	struct wcs_table_schema got;
	size_t len, again;
	unsigned char *record = ldb_record_table(&schema, &len), *longer = malloc(len + 1);

	ck_assert_int_eq(record[0], 4 + _i);
	SUITE_OK(ldb_record_table_decode(record, len, &got));
	ck_assert(wcs_keys_equal(got.keys, &keys));
	ck_assert_int_eq(got.keys->delimiter, '#');
	ck_assert_int_eq(got.protection, schema.protection);
	ck_assert_str_eq(got.families[0].gc, "never");
	free(longer);
	longer = ldb_record_table(&got, &again);
	ck_assert_uint_eq(again, len);
	ck_assert_mem_eq(longer, record, len);
	wcs_table_schema_clear(&got);
	for (size_t shorter = 0; shorter < len; shorter++)
		ck_assert_int_eq(ldb_record_table_decode(record, shorter, &got), -EIO);
	longer = realloc(longer, len + 1);
	longer[len] = 0;
	ck_assert_int_eq(ldb_record_table_decode(longer, len + 1, &got), -EIO);
	/* The last segment is "n", a codec, a unit and a width. */
	record[len - 3] = 6; /* a later codec */
	ck_assert_int_eq(ldb_record_table_decode(record, len, &got), -EPROTO);
	ck_assert_int_eq(ldb_record_table_decode(record, len - 1, &got), -EIO);
	record[len - 3] = WCS_CODEC_PAD; /* without a width */
	ck_assert_int_eq(ldb_record_table_decode(record, len, &got), -EIO);
	record[len - 1] = 7;
	SUITE_OK(ldb_record_table_decode(record, len, &got));
	wcs_table_schema_clear(&got);
	record[1] = 'a'; /* the salt makes it */
	ck_assert_int_eq(ldb_record_table_decode(record, len, &got), -EIO);
	record[1] = '.'; /* none, which a check corrects */
	SUITE_OK(ldb_record_table_decode(record, len, &got));
	wcs_table_schema_clear(&got);
	free(longer);
	free(record);

	/* A plain design is none. */
	own = (struct wcs_keys){.delimiter = '#'};
	record = ldb_record_table(&schema, &len);
	ck_assert_int_eq(record[0], 2 + _i);
	record = realloc(record, len + 4);
	record[0] = (unsigned char)(4 + _i);
	memset(record + len, 0, 4);
	ck_assert_int_eq(ldb_record_table_decode(record, len + 4, &got), -EIO);
	free(record);
}

/* Those of version 1 do not tell when a policy was changed. */
SUITE_TEST(test_table_records_of_version_1, 10)
{
	static const unsigned char record[] = {1, '#', 0, 0,   0,   0,	 0,   0,   0, 42,
					       1, 't', 0, 0,   0,   1,	 1,   'f', 0, 0,
					       0, 0,   5, 'n', 'e', 'v', 'e', 'r'};
	struct wcs_table_schema got;

	SUITE_OK(ldb_record_table_decode(record, sizeof(record), &got));
	ck_assert_uint_eq(got.family_count, 1);
	ck_assert_str_eq(got.families[0].gc, "never");
	ck_assert_int_eq(got.families[0].gc_changed, 0);
	wcs_table_schema_clear(&got);
	ck_assert_int_eq(ldb_record_table_decode(record, sizeof(record) - 1, &got), -EIO);
}
