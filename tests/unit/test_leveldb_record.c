/* SPDX-License-Identifier: MIT */
/* The LevelDB engine's records: both ways, and that decoders take nothing else. */
#include "tests/unit/suite.h"

#include "store/leveldb/encoding/place.h"
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
	struct ldb_drop drop = {7, {{bytes, sizeof(bytes)}, {bytes, sizeof(bytes)}}}, got;
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

SUITE_TEST(test_dead_records, 10)
{
	const struct ldb_dead dead = {{{'c', 0, 1}}, {{'v', 2}}, 3, UINT64_C(1) << 40};
	unsigned char record[2 * LDB_DEAD_MAX];
	size_t len = ldb_dead_encode(record, &dead);
	struct ldb_rest rest = {record, len};
	struct ldb_dead got;

	ck_assert(ldb_dead_decode(&rest, &got));
	ck_assert_uint_eq(rest.len, 0);
	ck_assert_mem_eq(&got, &dead, sizeof(got));
	ck_assert_uint_eq(len, 2 + 3 + 2 + 2 + 16);
	for (size_t shorter = 0; shorter < len; shorter++) {
		rest = (struct ldb_rest){record, shorter};
		ck_assert(!ldb_dead_decode(&rest, &got));
	}
	record[2] = 'w'; /* begins behind its end */
	rest = (struct ldb_rest){record, len};
	ck_assert(!ldb_dead_decode(&rest, &got));
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
	ldb_record_table_clear(&got);
	for (size_t shorter = 0; shorter < len; shorter++)
		ck_assert_int_eq(ldb_record_table_decode(record, shorter, &got), -EIO);
	memcpy(longer, record, len);
	longer[len] = 0;
	ck_assert_int_eq(ldb_record_table_decode(longer, len + 1, &got), -EIO);
	ck_assert_int_eq(longer[0], 2);
	longer[0] = 4; /* a later version of the record */
	ck_assert_int_eq(ldb_record_table_decode(longer, len, &got), -EIO);
	longer[0] = 3; /* the same of a protected table */
	SUITE_OK(ldb_record_table_decode(longer, len, &got));
	ck_assert_int_eq(got.protection, WCS_PROTECTED);
	free(record);
	record = ldb_record_table(&got, &len);
	ck_assert_mem_eq(record, longer, len);
	ldb_record_table_clear(&got);
	free(longer);
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
	ldb_record_table_clear(&got);
	ck_assert_int_eq(ldb_record_table_decode(record, sizeof(record) - 1, &got), -EIO);
}
