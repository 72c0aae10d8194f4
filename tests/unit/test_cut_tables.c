/* SPDX-License-Identifier: MIT */
/*
 * Tables that are cut while the store is open. If LevelDB mapped them, access to a lost page of the
 * mapping would be a signal. A read then gives the right cells or an error, also through a scan
 * that stood in a block that was good.
 */
#include "store/mutation.h"
#include "tests/unit/suite.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 600, SIZE = 3000, BIG = 300000 };

/* Bytes that do not compress: of blocks that do, LevelDB makes a copy anyway. */
static struct wcs_slice value_of(int row)
{
	static char value[BIG];
	uint64_t state = (uint64_t)row + 1;
	size_t size = row == ROWS ? BIG : SIZE;

	for (size_t i = 0; i < size; i++)
		value[i] = (char)(suite_random(&state) >> 13);
	return (struct wcs_slice){value, size};
}

static void fill(struct suite *suite)
{
	char name[16];

	for (int row = 0; row <= ROWS; row++) {
		snprintf(name, sizeof(name), "r%03d", row);
		suite_put(suite->table, suite_text(name), "f", suite_text("q"), 1, value_of(row));
	}
	suite_reopen(suite); /* makes tables of the log */
}

static int cut_tables(const struct suite *suite, off_t kept)
{
	char pattern[300];
	int count = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/data/*.ldb", suite->path);
	SUITE_OK(glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat st;

		SUITE_OK(stat(found.gl_pathv[i], &st));
		if (st.st_size <= kept)
			continue;
		SUITE_OK(truncate(found.gl_pathv[i], kept));
		count++;
	}
	globfree(&found);
	return count;
}

/* Reads one cell: 1 when it is right, 0 when that is an error. */
static int read_one(struct suite *suite, int row)
{
	static char bytes[BIG];
	struct wcs_slice expected = value_of(row);
	struct wcs_value *value;
	size_t made = 0;
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "r%03d", row);
	rc = wcs_value_open(suite->table, suite_text(name), "f", suite_text("q"), WCS_TS_NEWEST,
			    &value);
	if (rc != 0) {
		ck_assert_msg(rc == -EIO, "row %d: error %d", row, rc);
		return 0;
	}
	while (rc == 0 && made < expected.len) {
		size_t got = 0;

		rc = wcs_value_read(value, bytes + made, expected.len - made, made, &got);
		made += got;
	}
	ck_assert_msg(rc == 0 || rc == -EIO, "row %d: error %d", row, rc);
	ck_assert_msg(rc != 0 || memcmp(bytes, expected.data, expected.len) == 0,
		      "row %d: wrong bytes", row);
	wcs_value_close(value);
	return rc == 0;
}

SUITE_LEVELDB_STORE(test_cells, 60)
{
	int right = 0;

	fill(s);
	for (int row = 0; row <= ROWS; row += 100) /* so that LevelDB has the tables open */
		ck_assert_int_eq(read_one(s, row), 1);
	ck_assert_int_gt(cut_tables(s, 400000), 0);
	for (int row = 0; row <= ROWS; row++)
		right += read_one(s, row);
	ck_assert_int_gt(right, 0);
	ck_assert_int_lt(right, ROWS);
	ck_assert_ptr_nonnull(strstr(s->log, "fsck.rowfs"));
	/* Another thread, or the next request, meets no error that is not its own. */
	ck_assert_int_eq(read_one(s, 0), 1);
}

static int scan_some(struct wcs_scan *scan, int *row, int count)
{
	struct wcs_cell cell;
	int rc = 1;

	for (int i = 0; i < count && (rc = wcs_scan_next(scan, &cell)) == 1; i++, (*row)++)
		ck_assert_msg(*row == ROWS || wcs_slice_compare(cell.value, value_of(*row)) == 0,
			      "row %d: wrong bytes", *row);
	return rc;
}

SUITE_LOOP(test_scan, 7, 60)
{
	struct wcs_scan *scan;
	struct suite suite;
	int row = 0;

	suite_open(&suite, SUITE_LEVELDB);
	fill(&suite);
	SUITE_OK(wcs_scan_open(suite.table, &suite_all, 1, &suite_cells, &scan));
	ck_assert_int_eq(scan_some(scan, &row, _i + 1), 1);
	ck_assert_int_gt(cut_tables(&suite, 0), 0);
	ck_assert_int_eq(scan_some(scan, &row, 2 * ROWS), -EIO);
	ck_assert_int_lt(row, ROWS);
	wcs_scan_close(scan);
	suite_close(&suite);
}
