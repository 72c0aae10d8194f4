/* SPDX-License-Identifier: MIT */
/* The content of a store that is opened again. tests/crash/test_kill.sh has processes that die. */
#include "tests/unit/suite.h"

SUITE_LEVELDB_STORE(test_reopen, 20)
{
	char *bytes = suite_pattern(300000, 2);
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *before;

	suite_policy(s->table, "a", "maxage=1h");
	SUITE_OK(wcs_family_set_type(s->table, "b", WCS_INTMIN));
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, '!', NULL), 0);
	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_create(s->store, "gone"));
	SUITE_OK(wcs_table_remove(s->store, "gone"));
	wcs_mutation_set(mutation, "f", suite_text("q"), 7, (struct wcs_slice){bytes, 300000});
	wcs_mutation_set(mutation, "f", suite_text("small"), 7, suite_text("x"));
	SUITE_OK(suite_mutate(s->table, "row", mutation, NULL));
	suite_set(s->table, "away", "f", "q", 1, "v");
	suite_delete_row(s->table, "away");
	before = suite_content(s->table);
	for (int i = 0; i < 3; i++) {
		struct wcs_family family;
		struct wcs_table *table;

		s->clock += 1000;
		suite_reopen(s);
		ck_assert_ptr_nonnull(s->table);
		suite_expect(s->table, before);
		ck_assert_int_eq(wcs_table_delimiter(s->table), '!');
		ck_assert_int_eq(wcs_table_created(s->table), 1000000);
		SUITE_OK(wcs_family_get(s->table, "a", &family));
		ck_assert_str_eq(family.gc, "maxage=1h");
		wcs_family_clear(&family);
		SUITE_OK(wcs_family_get(s->table, "b", &family));
		ck_assert_int_eq(family.type, WCS_INTMIN);
		wcs_family_clear(&family);
		SUITE_OK(wcs_table_open(s->store, "u", &table));
		wcs_table_close(table);
		ck_assert_int_eq(wcs_table_open(s->store, "gone", &table), -ENOENT);
	}
	free(before);
	free(bytes);
}

/* A table that takes a removed one's name must not take its rows' place on disk. */
SUITE_LEVELDB_STORE(test_removed_table_stays_apart, 20)
{
	struct wcs_table *table;

	for (int i = 0; i < 3; i++) {
		SUITE_OK(wcs_table_create(s->store, "u"));
		SUITE_OK(wcs_table_open(s->store, "u", &table));
		SUITE_OK(wcs_family_create(table, "f"));
		suite_expect(table, "");
		suite_set(table, "r", "f", "q", i, "v");
		wcs_table_close(table);
		suite_reopen(s);
		SUITE_OK(wcs_table_open(s->store, "u", &table));
		suite_delete_row(table, "r");
		SUITE_OK(wcs_family_remove(table, "f"));
		SUITE_OK(wcs_table_remove(s->store, "u"));
		wcs_table_close(table);
	}
}
