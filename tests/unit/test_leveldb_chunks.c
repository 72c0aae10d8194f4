/* SPDX-License-Identifier: MIT */
/* Chunks of large values, and that they go when nobody can read them any more. */
#include "tests/unit/engine.h"

/* ---- Chunks and their garbage ------------------------------------------------------------ */

ENGINE_TEST(test_replace_frees_chunks, 60)
{
	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	ck_assert_int_eq(engine_count(engine->db, 'v'), 4);
	SUITE_OK(engine_set(engine, "r", 1, 70000, 2));
	engine_expect_chunks(engine->db, 2);
	engine_expect(engine, "r", 70000, 2);
	SUITE_OK(engine_set(engine, "r", 1, 10, 3));
	engine_expect_chunks(engine->db, 0);
}

/* Values around every bound where their storage changes. */
ENGINE_TEST(test_sizes, 60)
{
	static const size_t sizes[] = {0,     1,       4095,	    4096,	 4097,
				       65535, 65536,   65537,	    131072,	 MIB - 1,
				       MIB,   MIB + 1, 3 * MIB / 2, 3 * MIB - 1, 5 * MIB + 7};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		SUITE_OK(engine_set(engine, "r", 1, sizes[i], i));
		engine_expect(engine, "r", sizes[i], i);
	}
	engine_reopen(engine);
	engine_expect(engine, "r", 5 * MIB + 7, 14);
	SUITE_OK(engine_delete(engine, "r"));
	engine_expect_chunks(engine->db, 0);
}

ENGINE_TEST(test_open_value_keeps_its_chunks, 60)
{
	struct wcs_value *value;

	SUITE_OK(engine_set(engine, "r", 1, 3 * MIB, 1));
	SUITE_OK(engine_value_open(engine, "r", &value));
	SUITE_OK(engine_delete(engine, "r"));
	suite_sleep(300);
	engine_expect_value(value, 3 * MIB, 1);
	ck_assert_int_eq(engine_count(engine->db, 'v'), 48);
	value->ops->close(value);
	engine_expect_chunks(engine->db, 0);
}

ENGINE_TEST(test_scan_keeps_chunks, 60)
{
	struct wcs_range range = {{NULL, 0}, {NULL, 0}};
	struct wcs_filter filter = {0};
	char *expected = suite_pattern(200000, 1);
	char *bytes = malloc(200000);
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;

	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	SUITE_OK(wcs_backend_leveldb.scan_open(engine->db, &suite_everything, 1, &range, 1, &filter,
					       &scan));
	SUITE_OK(engine_delete(engine, "r"));
	suite_sleep(300);
	ck_assert_int_eq(scan->ops->next(scan, &cell), 1);
	SUITE_OK(scan->ops->read(scan, bytes, 200000, 0, &got));
	ck_assert_uint_eq(got, 200000);
	ck_assert_mem_eq(bytes, expected, got);
	ck_assert_int_eq(scan->ops->next(scan, &cell), 0);
	scan->ops->close(scan);
	engine_expect_chunks(engine->db, 0);
	free(bytes);
	free(expected);
}

/* An open value keeps its own chunks and no other's. */
ENGINE_TEST(test_open_value_keeps_only_its_chunks, 60)
{
	struct wcs_value *first, *second;

	SUITE_OK(engine_set(engine, "a", 1, 100000, 1));
	SUITE_OK(engine_value_open(engine, "a", &first));
	SUITE_OK(engine_value_open(engine, "a", &second));
	for (unsigned int i = 0; i < 5; i++) {
		SUITE_OK(engine_set(engine, "b", 1, 300000, i));
		SUITE_OK(engine_delete(engine, "b"));
		engine_expect_chunks(engine->db, 2);
	}
	SUITE_OK(engine_delete(engine, "a"));
	suite_sleep(300);
	ck_assert_int_eq(engine_count(engine->db, 'g'), 1);
	/* the garbage of later values goes though the record before it must wait */
	SUITE_OK(engine_set(engine, "b", 1, 300000, 9));
	SUITE_OK(engine_delete(engine, "b"));
	while (engine_count(engine->db, 'v') > 2)
		suite_sleep(10);
	ck_assert_int_eq(engine_count(engine->db, 'v'), 2);
	first->ops->close(first);
	suite_sleep(300);
	engine_expect_value(second, 100000, 1);
	second->ops->close(second);
	engine_expect_chunks(engine->db, 0);
}

/* A record or key of garbage that cannot be understood is told and stops no other. */
ENGINE_TEST(test_bad_garbage_record_stops_no_other, 60)
{
	struct ldb_id_key key;

	key = ldb_key_garbage(0);
	engine_put_raw(engine, key.data, key.len, "\7what", 5);
	engine_put_raw(engine, "g\0\0x", 4, "", 0);
	for (unsigned int i = 0; i < 3; i++) {
		SUITE_OK(engine_set(engine, "r", 1, 200000, i));
		SUITE_OK(engine_delete(engine, "r"));
		while (engine_count(engine->db, 'v') > 0)
			suite_sleep(10);
		ck_assert_int_eq(engine_count(engine->db, 'v'), 0);
	}
	ck_assert_int_eq(engine_count(engine->db, 'g'), 2);
	ck_assert_int_eq(engine->errors, 1);
}

/* A reader that came after the garbage does not hold it up. */
ENGINE_TEST(test_later_reader_does_not_wait, 60)
{
	struct wcs_value *first, *second;

	SUITE_OK(engine_set(engine, "a", 1, 100000, 1));
	SUITE_OK(engine_set(engine, "b", 1, 100000, 2));
	SUITE_OK(engine_value_open(engine, "a", &first));
	SUITE_OK(engine_delete(engine, "a"));
	suite_sleep(200);
	SUITE_OK(engine_value_open(engine, "b", &second));
	first->ops->close(first);
	engine_expect_chunks(engine->db, 2);
	engine_expect_value(second, 100000, 2);
	second->ops->close(second);
}

ENGINE_TEST(test_close_does_not_wait_for_readers, 60)
{
	struct ldb_ticket ticket;

	ldb_reclaim_enter(engine->db, &ticket);
	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	SUITE_OK(engine_delete(engine, "r"));
	suite_sleep(200);
	engine_reopen(engine);
	engine_expect_chunks(engine->db, 0);
}

/* Two writes of one cell in one mutation: the first one's chunks belong to nobody. */
ENGINE_TEST(test_replaced_within_a_mutation, 60)
{
	static const size_t sizes[] = {100000, 2 * MIB};

	for (size_t i = 0; i < 2; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		char *value = suite_pattern(sizes[i], 1);
		struct wcs_slice bytes = {value, sizes[i]};

		wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
		wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
		SUITE_OK(engine_apply(engine, "r", mutation));
		engine_expect_chunks(engine->db, (int)ldb_extent_count(sizes[i]));
		engine_expect(engine, "r", sizes[i], 1);
		free(value);
	}
}

ENGINE_TEST(test_failed_mutation_leaves_nothing, 60)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(3 * MIB, 1);
	struct wcs_slice bytes = {value, 3 * MIB};

	wcs_mutation_if(mutation, "f", suite_text("q"), &bytes);
	wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
	wcs_mutation_set(mutation, "f", suite_text("r"), 5, (struct wcs_slice){value, 5000});
	ck_assert_int_eq(engine_apply(engine, "r", mutation), -ECANCELED);
	engine_expect_chunks(engine->db, 0);

	mutation = wcs_mutation_new();
	wcs_mutation_append(mutation, "f", suite_text("q"), bytes, WCS_TS_NONE);
	wcs_mutation_increment(mutation, "f", suite_text("q"), 1);
	ck_assert_int_eq(engine_apply(engine, "r", mutation), -EINVAL);
	engine_expect_chunks(engine->db, 0);
	ck_assert_int_eq(engine_count(engine->db, 'c'), 0);
	free(value);
}

ENGINE_TEST(test_append_grows_into_chunks, 60)
{
	size_t size = 0;
	char *value = suite_pattern(3 * MIB, 9);

	for (size_t step = 1000; size + step <= 3 * MIB; step *= 2) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		wcs_mutation_append(mutation, "f", suite_text("q"),
				    (struct wcs_slice){value + size, step / 2}, WCS_TS_NONE);
		wcs_mutation_append(mutation, "f", suite_text("q"),
				    (struct wcs_slice){value + size + step / 2, step - step / 2},
				    WCS_TS_NONE);
		SUITE_OK(engine_apply(engine, "r", mutation));
		size += step;
		engine_expect(engine, "r", size, 9);
	}
	ck_assert_uint_gt(size, MIB);
	SUITE_OK(engine_delete(engine, "r"));
	engine_expect_chunks(engine->db, 0);
	free(value);
}

ENGINE_TEST(test_ids_are_not_used_again, 60)
{
	uint64_t first, second;

	SUITE_OK(ldb_extent_reserve(engine->db, &first));
	engine_reopen(engine);
	SUITE_OK(ldb_extent_reserve(engine->db, &second));
	ck_assert_uint_gt(second, first);
}
