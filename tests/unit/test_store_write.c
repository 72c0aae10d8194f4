/* SPDX-License-Identifier: MIT */
/* Row mutations on both engines: sets, deletes, conditions, limits, and timestamps. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

static const struct wcs_slice q = {"q", 1};

static int write_newest(struct wcs_table *table, const char *row, int64_t wanted, const char *value,
			int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_set_newest(mutation, "f", q, wanted, suite_text(value)));
	return suite_mutate(table, row, mutation, ts);
}

/* ---- Sets -------------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Writing: wcs_mutation_set, wcs_mutation_set_newest")
SUITE_STORES(test_set, 10)
{
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", 5, "five"), 5);
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", 0, "zero"), 0);
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", 9, ""), 9);
	suite_expect(s->table, "r/f/q@9= r/f/q@5=five r/f/q@0=zero ");
	suite_set(s->table, "r", "f", "q", 5, "FIVE");
	suite_expect(s->table, "r/f/q@9= r/f/q@5=FIVE r/f/q@0=zero ");
	suite_set(s->table, "r", "f", "q", INT64_MAX, "last");
	suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST, "last");
}

SUITE_STORES(test_replacing_changes_the_etag, 10)
{
	struct wcs_cell_info before;
	struct wcs_cell_info after;

	suite_set(s->table, "r", "f", "q", 5, "one");
	SUITE_OK(wcs_cell_get(s->table, suite_text("r"), "f", q, 5, &before));
	suite_set(s->table, "r", "f", "other", 5, "x");
	SUITE_OK(wcs_cell_get(s->table, suite_text("r"), "f", q, 5, &after));
	ck_assert_uint_eq(before.etag, after.etag);
	suite_set(s->table, "r", "f", "q", 5, "one");
	SUITE_OK(wcs_cell_get(s->table, suite_text("r"), "f", q, 5, &after));
	ck_assert_uint_ne(before.etag, after.etag);
}

SUITE_STORES(test_server_timestamps, 10)
{
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "1"), 1000000);
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "2"), 1000001);
	ck_assert_int_eq(suite_set(s->table, "r", "f", "p", WCS_TS_SERVER, "1"), 1000000);
	s->clock = 500;
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "3"), 1000002);
	ck_assert_int_eq(suite_set(s->table, "r", "f", "new", WCS_TS_SERVER, "1"), 500);
	s->clock = 2000000;
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "4"), 2000000);
	suite_set(s->table, "r", "f", "q", 3000000, "5");
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "6"), 3000001);
}

SUITE_STORES(test_two_server_timestamps_in_one_mutation, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts = 0;

	for (int i = 0; i < 3; i++)
		SUITE_OK(wcs_mutation_set(mutation, "f", q, WCS_TS_SERVER, suite_text("v")));
	SUITE_OK(wcs_row_mutate(s->table, suite_text("r"), mutation, &ts));
	ck_assert_int_eq(ts, 1000002);
	/* and the same mutation again */
	SUITE_OK(wcs_row_mutate(s->table, suite_text("r"), mutation, &ts));
	ck_assert_int_eq(ts, 1000005);
	wcs_mutation_free(mutation);
}

SUITE_STORES(test_timestamps_end, 10)
{
	int64_t ts = 77;

	suite_set(s->table, "r", "f", "q", INT64_MAX - 1, "a");
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "b"), INT64_MAX);
	ck_assert_int_eq(suite_append(s->table, "r", "c", &ts), -EOVERFLOW);
	ck_assert_int_eq(write_newest(s->table, "r", 5, "c", &ts), -EOVERFLOW);
	ck_assert_int_eq(ts, 77);
	SUITE_OK(write_newest(s->table, "r", INT64_MAX, "c", &ts));
	ck_assert_int_eq(ts, INT64_MAX);
	suite_expect(s->table, "r/f/q@9223372036854775807=c r/f/q@9223372036854775806=a ");
}

SUITE_STORES(test_set_newest, 10)
{
	int64_t ts = 0;

	SUITE_OK(write_newest(s->table, "r", 10, "a", &ts));
	ck_assert_int_eq(ts, 10);
	SUITE_OK(write_newest(s->table, "r", 10, "b", &ts));
	ck_assert_int_eq(ts, 10);
	SUITE_OK(write_newest(s->table, "r", 20, "c", &ts));
	ck_assert_int_eq(ts, 20);
	SUITE_OK(write_newest(s->table, "r", 19, "d", &ts));
	ck_assert_int_eq(ts, 1000000);
	SUITE_OK(write_newest(s->table, "r", 0, "e", &ts));
	ck_assert_int_eq(ts, 1000001);
	suite_expect(s->table, "r/f/q@1000001=e r/f/q@1000000=d r/f/q@20=c r/f/q@10=b ");
}

SUITE_STORES(test_ts_is_of_the_last_write, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts = 77;

	/* added in an order that is not the sorted one */
	wcs_mutation_set(mutation, "f", q, 30, suite_text("x"));
	wcs_mutation_set(mutation, "b", q, 20, suite_text("y"));
	wcs_mutation_set(mutation, "a", q, 10, suite_text("z"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &ts));
	ck_assert_int_eq(ts, 10);
	mutation = wcs_mutation_new();
	wcs_mutation_delete_row(mutation);
	SUITE_OK(suite_mutate(s->table, "r", mutation, &ts));
	ck_assert_int_eq(ts, 0);
	ts = 77;
	SUITE_OK(suite_mutate(s->table, "r", wcs_mutation_new(), &ts));
	ck_assert_int_eq(ts, 0);
	suite_expect(s->table, "");
}

SUITE_STORES(test_later_writes_win, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_set(mutation, "f", q, 5, suite_text("first"));
	wcs_mutation_set(mutation, "f", q, 5, suite_text("second"));
	wcs_mutation_append(mutation, "f", q, suite_text("+"), WCS_TS_NONE);
	wcs_mutation_append(mutation, "f", q, suite_text("+"), WCS_TS_NONE);
	wcs_mutation_set(mutation, "f", q, 4, suite_text("older"));
	wcs_mutation_append(mutation, "f", q, suite_text("!"), WCS_TS_NONE);
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	suite_expect(s->table, "r/f/q@1000002=second++! r/f/q@1000001=second++ "
			       "r/f/q@1000000=second+ r/f/q@5=second r/f/q@4=older ");
}

/* ---- Deletes ----------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Writing: deletes come before writes")
SUITE_STORES(test_deletes, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	static const char *const families[] = {"a", "b", "f"};

	for (size_t i = 0; i < 3; i++)
		for (int64_t ts = 1; ts <= 2; ts++) {
			suite_set(s->table, "r", families[i], "", ts, "e");
			suite_set(s->table, "r", families[i], "q", ts, "v");
		}
	suite_set(s->table, "q", "a", "q", 1, "before");
	suite_set(s->table, "r!", "a", "q", 1, "behind");
	wcs_mutation_delete_family(mutation, "b");
	wcs_mutation_delete_column(mutation, "f", q);
	wcs_mutation_delete_cell(mutation, "a", q, 1);
	wcs_mutation_delete_cell(mutation, "a", (struct wcs_slice){NULL, 0}, 2);
	wcs_mutation_delete_cell(mutation, "a", q, 3);
	wcs_mutation_delete_column(mutation, "a", suite_text("none"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	suite_expect(s->table, "q/a/q@1=before r/a/@1=e r/a/q@2=v r/f/@2=e r/f/@1=e "
			       "r!/a/q@1=behind ");
	suite_delete_row(s->table, "r");
	suite_delete_row(s->table, "r");
	suite_expect(s->table, "q/a/q@1=before r!/a/q@1=behind ");
}

SUITE_STORES(test_deletes_come_before_writes, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts = 0;

	suite_set(s->table, "r", "f", "q", 5000000, "old");
	suite_set(s->table, "r", "a", "q", 7, "old");
	wcs_mutation_append(mutation, "f", q, suite_text("new"), WCS_TS_NONE);
	wcs_mutation_set(mutation, "a", q, 7, suite_text("put"));
	wcs_mutation_delete_column(mutation, "f", q);
	wcs_mutation_delete_cell(mutation, "a", q, 7);
	SUITE_OK(suite_mutate(s->table, "r", mutation, &ts));
	/* the deleted cell is no newest cell any more */
	suite_expect(s->table, "r/a/q@7=put r/f/q@1000000=new ");
	ck_assert_int_eq(ts, 7);
}

SUITE_STORES(test_delete_newest_then_write, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	suite_set(s->table, "r", "f", "q", 2000, "older");
	suite_set(s->table, "r", "f", "q", 5000000, "newest");
	wcs_mutation_delete_cell(mutation, "f", q, 5000000);
	wcs_mutation_append(mutation, "f", q, suite_text("+"), WCS_TS_NONE);
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	suite_expect(s->table, "r/f/q@1000000=older+ r/f/q@2000=older ");
}

/* ---- Conditions -------------------------------------------------------------------------- */

static int write_if(struct wcs_table *table, const struct wcs_slice *expected)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_if(mutation, "f", q, expected));
	SUITE_OK(wcs_mutation_set(mutation, "a", q, 1, suite_text("done")));
	return suite_mutate(table, "r", mutation, NULL);
}

SUITE_CONTRACT("store.h, Writing: wcs_mutation_if")
SUITE_STORES(test_conditions, 10)
{
	struct wcs_slice empty = {NULL, 0};
	struct wcs_slice one = SUITE_BYTES("one");
	struct wcs_slice two = SUITE_BYTES("two");
	struct wcs_slice longer = SUITE_BYTES("two\0");

	ck_assert_int_eq(write_if(s->table, &one), -ECANCELED);
	ck_assert_int_eq(write_if(s->table, &empty), -ECANCELED);
	suite_expect(s->table, "");
	SUITE_OK(write_if(s->table, NULL));
	suite_set(s->table, "r", "f", "q", 1, "one");
	suite_set(s->table, "r", "f", "q", 2, "two");
	ck_assert_int_eq(write_if(s->table, NULL), -ECANCELED);
	ck_assert_int_eq(write_if(s->table, &one), -ECANCELED);
	ck_assert_int_eq(write_if(s->table, &empty), -ECANCELED);
	ck_assert_int_eq(write_if(s->table, &longer), -ECANCELED);
	SUITE_OK(write_if(s->table, &two));
	suite_set(s->table, "r", "f", "q", 3, "");
	ck_assert_int_eq(write_if(s->table, &two), -ECANCELED);
	SUITE_OK(write_if(s->table, &empty));
}

SUITE_STORES(test_condition_on_a_large_value, 20)
{
	char *bytes = suite_pattern(200000, 3);
	struct wcs_slice large = {bytes, 200000};

	suite_put(s->table, suite_text("r"), "f", q, 1, large);
	SUITE_OK(write_if(s->table, &large));
	bytes[199999] ^= 1;
	ck_assert_int_eq(write_if(s->table, &large), -ECANCELED);
	free(bytes);
}

SUITE_STORES(test_conditions_see_the_row_before, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice one = SUITE_BYTES("one");

	suite_set(s->table, "r", "f", "q", 1, "one");
	wcs_mutation_set(mutation, "f", q, 2, suite_text("two"));
	wcs_mutation_delete_row(mutation);
	wcs_mutation_if(mutation, "f", q, &one);
	wcs_mutation_if(mutation, "a", q, NULL);
	SUITE_OK(wcs_row_mutate(s->table, suite_text("r"), mutation, NULL));
	suite_expect(s->table, "r/f/q@2=two ");
	ck_assert_int_eq(wcs_row_mutate(s->table, suite_text("r"), mutation, NULL), -ECANCELED);
	suite_expect(s->table, "r/f/q@2=two ");
	wcs_mutation_free(mutation);
}

/* ---- Arguments --------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Errors: -EINVAL, -ENAMETOOLONG, -EFBIG, -ENOENT")
SUITE_STORES(test_row_key_limits, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *key = suite_pattern(WCS_ROW_KEY_MAX + 1, 5);
	struct wcs_cell_info info;

	wcs_mutation_set(mutation, "f", q, 1, suite_text("v"));
	SUITE_OK(wcs_row_mutate(s->table, (struct wcs_slice){key, suite_row_max(s)}, mutation,
				NULL));
	SUITE_OK(wcs_cell_get(s->table, (struct wcs_slice){key, suite_row_max(s)}, "f", q, 1,
			      &info));
	ck_assert_int_eq(wcs_row_mutate(s->table, (struct wcs_slice){key, suite_row_max(s) + 1},
					mutation, NULL),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_row_mutate(s->table, (struct wcs_slice){key, 0}, mutation, NULL),
			 -EINVAL);
	ck_assert_int_eq(wcs_row_mutate(s->table, (struct wcs_slice){NULL, 3}, mutation, NULL),
			 -EINVAL);
	wcs_mutation_free(mutation);
	free(key);
}

SUITE_STORES(test_missing_family, 10)
{
	struct wcs_mutation *mutation;

	suite_set(s->table, "r", "f", "q", 1, "v");
	for (int kind = 0; kind < 8; kind++) {
		mutation = wcs_mutation_new();
		wcs_mutation_set(mutation, "f", q, 2, suite_text("v"));
		if (kind == 0)
			wcs_mutation_set(mutation, "none", q, 1, suite_text("v"));
		else if (kind == 1)
			wcs_mutation_set_newest(mutation, "none", q, 1, suite_text("v"));
		else if (kind == 2)
			wcs_mutation_append(mutation, "none", q, suite_text("v"), WCS_TS_NONE);
		else if (kind == 3)
			wcs_mutation_increment(mutation, "none", q, 1);
		else if (kind == 4)
			wcs_mutation_delete_family(mutation, "none");
		else if (kind == 5)
			wcs_mutation_delete_column(mutation, "none", q);
		else if (kind == 6)
			wcs_mutation_delete_cell(mutation, "none", q, 1);
		else
			wcs_mutation_if(mutation, "none", q, NULL);
		ck_assert_int_eq(suite_mutate(s->table, "r", mutation, NULL), -ENOENT);
	}
	suite_expect(s->table, "r/f/q@1=v ");
}

SUITE_STORES(test_large_mutation, 20)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	static char names[1000][8];
	struct wcs_filter newest = {.each = WCS_EACH_COLUMN};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int count = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "c%03d", (i * 387) % 1000);
		SUITE_OK(wcs_mutation_set(mutation, i % 2 ? "a" : "f", suite_text(names[i]),
					  WCS_TS_SERVER, suite_text(names[i])));
	}
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &newest, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		ck_assert_int_eq(wcs_slice_compare(cell.qualifier, cell.value), 0);
		count++;
	}
	wcs_scan_close(scan);
	ck_assert_int_eq(count, 1000);
}
