/* SPDX-License-Identifier: MIT */
/*
 * One damaged byte in the only table of a store: behind a repair all tables have their names,
 * delimiters, policies and types, and the repair tells between which rows one can be lost.
 */
#include "tests/unit/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DESCRIBED_ROWS = 200, DESCRIBED_STEP = 19, LOST_MAX = 16 };

static const char described[] =
	"{\"tables\":{\"t\":{\"delimiter\":\"|\",\"families\":{\"f\":\"maxversions=3\","
	"\"n\":{\"type\":\"intsum\"}}},\"u\":{\"families\":{\"g\":\"maxage=10d\"}}}}";

/* A store whose only table has the rows and, in its last block, the descriptions. */
static void make_described(void)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	uint64_t state = 15;

	ck_assert_int_eq(wcs_schema_parse(described, strlen(described), &schema, &fault), 0);
	ck_assert_int_eq(wcs_store_create(stores_base, NULL, false, NULL, &fault), 0);
	ck_assert_int_eq(wcs_store_open(stores_base, NULL, &store, &fault), 0);
	ck_assert_int_eq(wcs_schema_apply(store, schema, &fault), 0);
	wcs_schema_free(schema);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	for (int i = 0; i < DESCRIBED_ROWS; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		char name[16], value[48];

		snprintf(name, sizeof(name), "k|%03d", i);
		snprintf(value, sizeof(value), "%08x%08x", suite_random(&state),
			 suite_random(&state));
		wcs_mutation_set(mutation, "f", suite_text("q"), 1, suite_text(value));
		ck_assert_int_eq(suite_mutate(table, name, mutation, NULL), 0);
	}
	wcs_table_close(table);
	wcs_store_close(store);
	ck_assert_int_eq(wcs_store_open(stores_base, NULL, &store, &fault), 0);
	wcs_store_close(store);
}

/* What the repair said of rows that it could not keep. */
static struct {
	char from[16], to[16];
} lost[LOST_MAX];
static size_t lost_count;

static void lost_found(void *ctx, const struct wcs_finding *finding)
{
	char what[256];

	(void)ctx;
	ck_assert_ptr_null(strstr(finding->where, "lost-"));
	if (!strstr(finding->what, "cells there may be lost") ||
	    strncmp(finding->where, "table t, ", 9) != 0)
		return;
	ck_assert_uint_lt(lost_count, LOST_MAX);
	snprintf(what, sizeof(what), "%s", finding->where);
	strcpy(lost[lost_count].from, "");
	strcpy(lost[lost_count].to, "~");
	ck_assert_msg(sscanf(what, "table t, rows from %15s to %15s", lost[lost_count].from,
			     lost[lost_count].to) >= 1,
		      "%s", what);
	lost_count++;
}

static bool lost_is_told(const char *row)
{
	for (size_t i = 0; i < lost_count; i++)
		if (strcmp(lost[i].from, row) <= 0 && strcmp(row, lost[i].to) <= 0)
			return true;
	return false;
}

/* Every cell of the text `all` is in the store, or its row is told. */
static void expect_told(const char *all, const char *have, off_t at)
{
	for (const char *cell = all, *end; (end = strchr(cell, ' ')); cell = end + 1) {
		char text[80], row[6] = "";

		snprintf(text, sizeof(text), "%.*s", (int)(end + 1 - cell), cell);
		memcpy(row, cell, 5);
		ck_assert_msg(strstr(have, text) || lost_is_told(row),
			      "byte %d: %s is neither there nor told", (int)at, text);
	}
}

static char *described_content(const char *path, const char *when)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	char *text;

	ck_assert_msg(wcs_store_open(path, NULL, &store, &fault) == 0, "%s: %s", when, fault.text);
	ck_assert_int_eq(wcs_schema_get(store, &schema), 0);
	text = wcs_schema_line(schema);
	ck_assert_str_eq(text, "{\"version\":1,\"tables\":{\"t\":{\"delimiter\":\"|\",\"families\":"
			       "{\"f\":{\"gc\":\"maxversions=3\",\"type\":\"bytes\"},"
			       "\"n\":{\"gc\":\"never\",\"type\":\"intsum\"}}},"
			       "\"u\":{\"delimiter\":\"#\",\"families\":{\"g\":{"
			       "\"gc\":\"maxage=10d\",\"type\":\"bytes\"}}}}}\n");
	free(text);
	wcs_schema_free(schema);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	text = suite_content(table);
	wcs_table_close(table);
	wcs_store_close(store);
	return text;
}

/* One damaged byte in the only table: tables keep their names, policies, types and delimiters. */
START_TEST(test_one_byte_takes_no_description)
{
	const struct wcs_check_options options = {
		.repair = true, .quarantine = stores_quarantine, .found = lost_found};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	char path[512], when[32], *all;
	int restored = 0;
	off_t size;

	snprintf(path, sizeof(path), "%s/stores", suite_directory());
	stores_name(path);
	setenv("TMPDIR", suite_directory(), 1);
	ck_assert_int_eq(mkdir(stores_place, 0700), 0);
	make_described();
	all = described_content(stores_base, "at first");
	stores_replace(stores_base, stores_copy);
	size = stores_file(".ldb", path);
	for (off_t at = 0; at < size; at += DESCRIBED_STEP) {
		char *have;

		stores_replace(stores_base, stores_copy);
		suite_remove(stores_quarantine);
		stores_flip(".ldb", at);
		lost_count = 0;
		snprintf(when, sizeof(when), "byte %d", (int)at);
		ck_assert_msg(wcs_store_check(stores_copy, &options, &result, &fault) == 0,
			      "%s: %s", when, fault.text);
		ck_assert_msg(result.found == result.corrected && result.tables == 2, "%s", when);
		restored += result.found > 2;
		have = described_content(stores_copy, when);
		expect_told(all, have, at);
		free(have);
	}
	ck_assert_int_gt(restored, 10);
	free(all);
	stores_remove();
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "one byte takes no description", test_one_byte_takes_no_description,
		       240);
}

int main(void)
{
	return suite_main("leveldb: descriptions", make);
}
