/* SPDX-License-Identifier: MIT */
/* Reading single cells and values on both engines. */
#include "tests/unit/suite.h"

static const struct wcs_slice q = {"q", 1};

SUITE_CONTRACT("store.h, Reading: wcs_cell_get")
SUITE_STORES(test_cell_get, 10)
{
	struct wcs_cell_info info = {.ts = 77};
	struct wcs_slice r = suite_text("r");

	suite_set(s->table, "r", "f", "q", 5, "five!");
	suite_set(s->table, "r", "f", "q", 9, "nine");
	SUITE_OK(wcs_cell_get(s->table, r, "f", q, WCS_TS_NEWEST, &info));
	ck_assert_int_eq(info.ts, 9);
	ck_assert_uint_eq(info.size, 4);
	SUITE_OK(wcs_cell_get(s->table, r, "f", q, 5, &info));
	ck_assert_int_eq(info.ts, 5);
	ck_assert_uint_eq(info.size, 5);
	info.ts = 77;
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", q, 6, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", q, 0, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", q, INT64_MAX, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "a", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "none", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, suite_text("q"), "f", q, 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, suite_text("rr"), "f", q, 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", suite_text(""), 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", suite_text("qq"), 5, &info), -ENOENT);
	ck_assert_int_eq(info.ts, 77);
}

SUITE_STORES(test_read_arguments, 10)
{
	char *bytes = suite_pattern(WCS_QUALIFIER_MAX + 2, 1);
	struct wcs_slice longer_row = {bytes, WCS_ROW_KEY_MAX + 1};
	struct wcs_slice longer_qualifier = {bytes, WCS_QUALIFIER_MAX + 1};
	struct wcs_slice empty = {NULL, 0};
	struct wcs_slice missing = {NULL, 1};
	struct wcs_slice r = suite_text("r");
	struct wcs_cell_info info;
	struct wcs_key_info key;
	struct wcs_value *value;
	const struct wcs_list_child longer_child = {.segment = longer_row};
	struct wcs_list *list;

	ck_assert_int_eq(wcs_cell_get(s->table, empty, "f", q, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s->table, missing, "f", q, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s->table, longer_row, "f", q, 0, &info), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", longer_qualifier, 0, &info), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", missing, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s->table, r, "f", q, -2, &info), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s->table, empty, "f", q, 0, &value), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s->table, longer_row, "f", q, 0, &value), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_value_open(s->table, r, "f", longer_qualifier, 0, &value),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_value_open(s->table, r, "f", q, -2, &value), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s->table, r, "none", q, 0, &value), -ENOENT);
	ck_assert_int_eq(wcs_value_open(s->table, r, "f", q, 0, &value), -ENOENT);
	ck_assert_int_eq(wcs_key_get(s->table, longer_row, &key), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_key_get(s->table, missing, &key), -EINVAL);
	ck_assert_int_eq(wcs_list_open(s->table, longer_row, NULL, NULL, &list), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_list_open(s->table, r, &longer_child, NULL, &list), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_list_open(s->table, missing, NULL, NULL, &list), -EINVAL);
	wcs_value_close(NULL);
	wcs_scan_close(NULL);
	wcs_list_close(NULL);
	wcs_table_close(NULL);
	wcs_store_close(NULL);
	free(bytes);
}

static void read_check_value(struct wcs_table *table, size_t size, unsigned int seed)
{
	const size_t offsets[] = {0,	 1,	 4095,	   4096,     65535, 65536,
				  65537, 131071, size / 2, size - 1, size,  size + 1};
	char *bytes = suite_pattern(size, seed);
	char *buf = malloc(size + 10);
	struct wcs_value *value;
	size_t got;

	suite_put(table, suite_text("large"), "f", q, 1, (struct wcs_slice){bytes, size});
	SUITE_OK(wcs_value_open(table, suite_text("large"), "f", q, 1, &value));
	ck_assert_uint_eq(wcs_value_info(value)->size, size);
	ck_assert_int_eq(wcs_value_info(value)->ts, 1);
	SUITE_OK(wcs_value_read(value, buf, size + 10, 0, &got));
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		size_t rest = offsets[i] < size ? size - offsets[i] : 0;
		size_t len = i % 3 == 0 ? 1 : i % 3 == 1 ? 70000 : 4096;

		len = len < size + 10 ? len : size;
		SUITE_OK(wcs_value_read(value, buf, len, offsets[i], &got));
		ck_assert_uint_eq(got, len < rest ? len : rest);
		ck_assert(got == 0 || memcmp(buf, bytes + offsets[i], got) == 0);
	}
	SUITE_OK(wcs_value_read(value, buf, 5, UINT64_MAX, &got));
	ck_assert_uint_eq(got, 0);
	wcs_value_close(value);
	free(buf);
	free(bytes);
}

SUITE_CONTRACT("store.h, Reading: wcs_value_open, one immutable value")
SUITE_STORES(test_value_sizes, 60)
{
	const size_t sizes[] = {1,
				WCS_VALUE_INLINE - 1,
				WCS_VALUE_INLINE,
				WCS_VALUE_INLINE + 1,
				65535,
				65536,
				65537,
				131071,
				131072,
				131073,
				196608,
				196609,
				1000000,
				WCS_VALUE_WARN,
				WCS_VALUE_WARN + 1};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_int_eq(s->warnings, 0);
		read_check_value(s->table, sizes[i], (unsigned int)i);
	}
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_ptr_null(strstr(s->log, "large"));
	/* and back from the largest to a small one */
	read_check_value(s->table, 10, 99);
	ck_assert_int_eq(s->warnings, 1);
}

SUITE_LEVELDB_STORE(test_largest_value, 60)
{
	read_check_value(s->table, WCS_VALUE_MAX, 7);
	suite_reopen(s);
	suite_delete_row(s->table, "large");
	suite_expect(s->table, "");
}

/* An open value does not change when its cell is replaced, deleted or dropped. */
static void read_open_value_stays(struct suite *s, size_t size)
{
	char *bytes = suite_pattern(size, 1);
	char *buf = malloc(size);
	struct wcs_slice r = suite_text("r");
	struct wcs_value *value;
	struct wcs_value *second;
	size_t got;

	suite_put(s->table, r, "f", q, 1, (struct wcs_slice){bytes, size});
	SUITE_OK(wcs_value_open(s->table, r, "f", q, 1, &value));
	SUITE_OK(wcs_value_open(s->table, r, "f", q, WCS_TS_NEWEST, &second));
	suite_set(s->table, "r", "f", "q", 1, "replaced");
	SUITE_OK(wcs_value_read(value, buf, size, 0, &got));
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	suite_delete_row(s->table, "r");
	suite_put(s->table, r, "f", q, 1, (struct wcs_slice){bytes + 1, size - 1});
	wcs_value_close(value);
	memset(buf, 0, size);
	SUITE_OK(wcs_value_read(second, buf, size, 0, &got));
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	SUITE_OK(wcs_rows_drop(s->table, NULL));
	memset(buf, 0, size);
	SUITE_OK(wcs_value_read(second, buf, size, 0, &got));
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	wcs_value_close(second);
	suite_expect(s->table, "");
	free(buf);
	free(bytes);
}

SUITE_STORES(test_open_value_stays, 30)
{
	read_open_value_stays(s, 10);
	read_open_value_stays(s, 5000);
	read_open_value_stays(s, 70000);
	read_open_value_stays(s, 3000000);
}
