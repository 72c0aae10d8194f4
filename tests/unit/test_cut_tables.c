/* SPDX-License-Identifier: MIT */
/*
 * Tables that are cut while the store is open. If LevelDB mapped them, access to a lost page of the
 * mapping would be a signal. A read then gives the right cells or an error, also through a scan
 * that stood in a block that was good.
 */
#include "tests/unit/suite.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 600, SIZE = 3000, BIG = 300000 };

/* Bytes that do not compress: of blocks that do, LevelDB makes a copy anyway. */
static char *value_of(int row, size_t size)
{
	uint64_t state = (uint64_t)row + 1;
	char *value = malloc(size);

	for (size_t i = 0; i < size; i++)
		value[i] = (char)(suite_random(&state) >> 13);
	return value;
}

static void fill(struct suite *suite)
{
	char name[16];

	for (int row = 0; row <= ROWS; row++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		size_t size = row == ROWS ? BIG : SIZE;
		char *value = value_of(row, size);

		snprintf(name, sizeof(name), "r%03d", row);
		SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), 1,
					  (struct wcs_slice){value, size}));
		SUITE_OK(suite_mutate(suite->table, name, mutation, NULL));
		free(value);
	}
	suite_reopen(suite); /* makes tables of the log */
}

static int cut_tables(const struct suite *suite, off_t kept)
{
	char path[600], data[300];
	const struct dirent *entry;
	int count = 0;
	DIR *stream;

	snprintf(data, sizeof(data), "%s/data", suite->path);
	stream = opendir(data);
	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream))) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", data, entry->d_name);
		if (!strstr(entry->d_name, ".ldb") || stat(path, &st) || st.st_size <= kept)
			continue;
		SUITE_OK(truncate(path, kept));
		count++;
	}
	closedir(stream);
	return count;
}

/* Reads one cell: 1 when it is right, 0 when that is an error. */
static int read_one(struct suite *suite, int row)
{
	char name[16], *expected, *bytes;
	size_t size = row == ROWS ? BIG : SIZE, made = 0;
	struct wcs_value *value;
	int rc;

	snprintf(name, sizeof(name), "r%03d", row);
	rc = wcs_value_open(suite->table, suite_text(name), "f", suite_text("q"), WCS_TS_NEWEST,
			    &value);
	if (rc != 0) {
		ck_assert_msg(rc == -EIO, "row %d: error %d", row, rc);
		return 0;
	}
	expected = value_of(row, size);
	bytes = malloc(size);
	while (rc == 0 && made < size) {
		size_t got = 0;

		rc = wcs_value_read(value, bytes + made, size - made, made, &got);
		made += got;
	}
	ck_assert_msg(rc == 0 || rc == -EIO, "row %d: error %d", row, rc);
	ck_assert_msg(rc != 0 || memcmp(bytes, expected, size) == 0, "row %d: wrong bytes", row);
	wcs_value_close(value);
	free(expected);
	free(bytes);
	return rc == 0;
}

SUITE_TEST(test_cells, 60)
{
	struct suite suite;
	int right = 0;

	suite_open(&suite, SUITE_LEVELDB);
	fill(&suite);
	for (int row = 0; row <= ROWS; row += 100) /* so that LevelDB has the tables open */
		ck_assert_int_eq(read_one(&suite, row), 1);
	ck_assert_int_gt(cut_tables(&suite, 400000), 0);
	for (int row = 0; row <= ROWS; row++)
		right += read_one(&suite, row);
	ck_assert_int_gt(right, 0);
	ck_assert_int_lt(right, ROWS);
	ck_assert_ptr_nonnull(strstr(suite.log, "fsck.rowfs"));
	/* Another thread, or the next request, meets no error that is not its own. */
	ck_assert_int_eq(read_one(&suite, 0), 1);
	suite_close(&suite);
}

static int scan_some(struct wcs_scan *scan, int *row, int count)
{
	struct wcs_cell cell;
	int rc = 1;

	for (int i = 0; i < count && (rc = wcs_scan_next(scan, &cell)) == 1; i++, (*row)++) {
		char *expected = value_of(*row, SIZE);

		if (*row == ROWS) {
			free(expected);
			continue;
		}
		ck_assert_uint_eq(cell.value.len, SIZE);
		ck_assert_msg(memcmp(cell.value.data, expected, SIZE) == 0, "row %d: wrong bytes",
			      *row);
		free(expected);
	}
	return rc;
}

SUITE_LOOP(test_scan, 7, 60)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct suite suite;
	int row = 0;

	suite_open(&suite, SUITE_LEVELDB);
	fill(&suite);
	SUITE_OK(wcs_scan_open(suite.table, &range, &filter, &scan));
	ck_assert_int_eq(scan_some(scan, &row, _i + 1), 1);
	ck_assert_int_gt(cut_tables(&suite, 0), 0);
	ck_assert_int_eq(scan_some(scan, &row, 2 * ROWS), -EIO);
	ck_assert_int_lt(row, ROWS);
	wcs_scan_close(scan);
	suite_close(&suite);
}
