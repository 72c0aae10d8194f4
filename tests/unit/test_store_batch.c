/* SPDX-License-Identifier: MIT */
/*
 * Batches of row mutations on both engines: each mutation is atomic for itself and sees those
 * before it. The first that fails ends the batch, and the call returns the number of applied ones.
 * test_store_threads.c has batches of threads that meet.
 */
#include "store/mutation.h"

#include "tests/unit/suite.h"

#include <signal.h>

#define BATCH_MANY 2000

static const struct wcs_slice q = {"q", 1};

static struct wcs_entry entry_new(const char *row)
{
	return (struct wcs_entry){.row = suite_text(row), .mutation = wcs_mutation_new(), .ts = -7};
}

static struct wcs_entry entry_set(const char *row, const char *family, int64_t ts,
				  const char *value)
{
	struct wcs_entry entry = entry_new(row);

	SUITE_OK(wcs_mutation_set(entry.mutation, family, q, ts, suite_text(value)));
	return entry;
}

static struct wcs_entry entry_append(const char *row, const char *data)
{
	struct wcs_entry entry = entry_new(row);

	SUITE_OK(wcs_mutation_append(entry.mutation, "f", q, suite_text(data), WCS_TS_NONE));
	return entry;
}

static struct wcs_entry entry_increment(const char *row, int64_t delta)
{
	struct wcs_entry entry = entry_new(row);

	SUITE_OK(wcs_mutation_increment(entry.mutation, "f", q, delta));
	return entry;
}

/* A set that holds only where the newest value is expected (NULL: none). */
static struct wcs_entry entry_if(const char *row, const char *expected, const char *value)
{
	struct wcs_entry entry = entry_set(row, "f", WCS_TS_SERVER, value);
	struct wcs_slice slice = suite_text(expected ? expected : "");

	SUITE_OK(wcs_mutation_if(entry.mutation, "f", q, expected ? &slice : NULL));
	return entry;
}

static struct wcs_entry entry_delete(const char *row)
{
	struct wcs_entry entry = entry_new(row);

	SUITE_OK(wcs_mutation_delete_row(entry.mutation));
	return entry;
}

/* Applies the entries and frees their mutations. */
static int apply(struct wcs_table *table, struct wcs_entry *entries, size_t count, size_t *applied)
{
	int rc = wcs_rows_mutate(table, entries, count, applied);

	for (size_t i = 0; i < count; i++)
		wcs_mutation_free(entries[i].mutation);
	return rc;
}

SUITE_CONTRACT("store.h, Writing: wcs_rows_mutate, in order, each mutation atomic")
SUITE_STORES(test_in_order, 10)
{
	struct wcs_entry entries[] = {
		entry_set("b", "f", 5, "one"),
		entry_set("a", "f", WCS_TS_SERVER, "two"),
		entry_append("b", "+"),
		entry_append("b", "-"),
		entry_if("b", "one+-", "was"),
		entry_set("c", "a", 0, ""),
		entry_delete("a"),
		entry_if("a", NULL, "new"),
	};
	size_t applied = 99;

	SUITE_OK(apply(s->table, entries, 8, &applied));
	ck_assert_uint_eq(applied, 8);
	suite_expect(s->table, "a/f/q@1000000=new b/f/q@1000002=was b/f/q@1000001=one+- "
			       "b/f/q@1000000=one+ b/f/q@5=one c/a/q@0= ");
	ck_assert_int_eq(entries[0].ts, 5);
	ck_assert_int_eq(entries[1].ts, 1000000);
	ck_assert_int_eq(entries[4].ts, 1000002);
	ck_assert_int_eq(entries[5].ts, 0);
	ck_assert_int_eq(entries[6].ts, 0); /* no write */
	ck_assert_int_eq(entries[7].ts, 1000000);
}

SUITE_STORES(test_nothing, 10)
{
	size_t applied = 99;

	SUITE_OK(wcs_rows_mutate(s->table, NULL, 0, &applied));
	ck_assert_uint_eq(applied, 0);
}

/* Every kind of fault, after two good entries and before one. */
SUITE_LOOP(test_stops_at_the_first_that_fails, SUITE_ENGINES, 20)
{
	static const char longer[WCS_ROW_KEY_MAX + 1];
	static const int errors[] = {-ECANCELED,    -ENOENT, -EINVAL,
				     -ENAMETOOLONG, -EINVAL, -EOVERFLOW};
	struct wcs_entry faulty[] = {entry_if("b", "other", "x"), entry_set("b", "none", 1, "x"),
				     entry_set("", "f", 1, "x"),  entry_set("long", "f", 1, "x"),
				     entry_increment("b", 1), /* no number */
				     entry_increment("c", 1)};
	struct suite s;

	faulty[3].row = (struct wcs_slice){longer, sizeof(longer)};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct wcs_entry entries[] = {entry_set("b", "f", 2, "text"),
					      entry_increment("c", INT64_MAX), faulty[i],
					      entry_set("d", "f", 2, "behind")};
		size_t applied = 99;
		int rc;

		suite_open(&s, _i);
		rc = apply(s.table, entries, 4, &applied);
		ck_assert_msg(rc == errors[i], "fault %zu: %d", i, rc);
		ck_assert_uint_eq(applied, 2);
		ck_assert_int_eq(entries[2].ts, -7);
		ck_assert_int_eq(entries[3].ts, -7);
		suite_expect(s.table,
			     "b/f/q@2=text c/f/q@1000000=\\7F\\FF\\FF\\FF\\FF\\FF\\FF\\FF ");
		suite_close(&s);
	}
}

/* A mutation that fails late leaves none of its earlier puts. */
SUITE_STORES(test_what_fails_is_applied_in_no_part, 10)
{
	struct wcs_entry entries[2] = {entry_set("a", "f", 2, "text"), entry_delete("b")};
	size_t applied = 99;

	suite_set(s->table, "b", "a", "q", 1, "kept");
	suite_set(s->table, "b", "f", "q", 1, "no number");
	wcs_mutation_free(entries[1].mutation);
	entries[1] = entry_increment("b", 1);
	SUITE_OK(wcs_mutation_delete_family(entries[1].mutation, "a"));
	SUITE_OK(wcs_mutation_set(entries[1].mutation, "a", q, 9, suite_text("new")));
	ck_assert_int_eq(apply(s->table, entries, 2, &applied), -EINVAL);
	ck_assert_uint_eq(applied, 1);
	suite_expect(s->table, "a/f/q@2=text b/a/q@1=kept b/f/q@1=no\\20number ");
}

/* More than goes into one batch of an engine, each row many times, with values of all sizes. */
SUITE_LOOP(test_many, SUITE_ENGINES, 120)
{
	static struct wcs_entry entries[BATCH_MANY];
	static char rows[BATCH_MANY][16];
	char *values[BATCH_MANY];
	size_t applied = 99;
	uint64_t state = 7;
	struct suite s, one;
	char *whole, *single;

	suite_open(&s, _i);
	for (size_t i = 0; i < BATCH_MANY; i++) {
		uint32_t kind = suite_random(&state) % 100;
		size_t size = kind < 90 ? kind : kind < 97 ? 9000 : kind < 99 ? 70000 : 1200000;

		snprintf(rows[i], sizeof(rows[i]), "r%u", suite_random(&state) % 900);
		values[i] = suite_pattern(size, (unsigned int)i);
		entries[i] = kind % 9 == 0 ? entry_delete(rows[i]) : entry_new(rows[i]);
		SUITE_OK(wcs_mutation_set(entries[i].mutation, "f", q,
					  kind % 2 ? WCS_TS_SERVER : (int64_t)i,
					  (struct wcs_slice){values[i], size}));
	}
	SUITE_OK(wcs_rows_mutate(s.table, entries, BATCH_MANY, &applied));
	ck_assert_uint_eq(applied, BATCH_MANY);
	whole = suite_content(s.table);
	suite_close(&s);

	/* One by one gives the same. */
	suite_open(&one, _i);
	for (size_t i = 0; i < BATCH_MANY; i++)
		SUITE_OK(wcs_row_mutate(one.table, entries[i].row, entries[i].mutation, NULL));
	single = suite_content(one.table);
	ck_assert_str_eq(whole, single);
	suite_close(&one);
	free(whole);
	free(single);
	for (size_t i = 0; i < BATCH_MANY; i++) {
		wcs_mutation_free(entries[i].mutation);
		free(values[i]);
	}
}

/* ---- A medium that fails ----------------------------------------------------------------- */

SUITE_LEVELDB_STORE(test_a_failed_write_applies_only_what_it_says, 60)
{
	static struct wcs_entry entries[BATCH_MANY];
	static char rows[BATCH_MANY][16];
	char *value = suite_pattern(1000, 1);
	struct wcs_cell_info info;
	size_t applied = 99, again = 99;

	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < BATCH_MANY; i++) {
		snprintf(rows[i], sizeof(rows[i]), "r%05zu", i);
		entries[i] = entry_new(rows[i]);
		SUITE_OK(wcs_mutation_set(entries[i].mutation, "f", q, 1,
					  (struct wcs_slice){value, 1000}));
	}
	suite_limit_files(1000000);
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, BATCH_MANY, &applied), -EIO);
	suite_limit_files(UINT64_MAX);
	ck_assert_uint_gt(applied, 100);
	ck_assert_uint_lt(applied, 1000);
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 1, &again), -EROFS);
	ck_assert_uint_eq(again, 0);
	for (int reopened = 0; reopened < 2; reopened++) {
		for (size_t i = 0; i < BATCH_MANY; i++)
			ck_assert_int_eq(wcs_cell_get(s->table, entries[i].row, "f", q, 1, &info),
					 i < applied ? 0 : -ENOENT);
		suite_reopen(s);
	}
	SUITE_OK(apply(s->table, entries, BATCH_MANY, &applied));
	ck_assert_uint_eq(applied, BATCH_MANY);
	free(value);
}
