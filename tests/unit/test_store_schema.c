/* SPDX-License-Identifier: MIT */
/* Schemas on both engines: additions, unchanged parts and refusals. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

#include <pthread.h>

static int tables_apply(struct wcs_store *store, const char *json, struct wcs_fault *fault)
{
	struct wcs_schema *schema;
	int rc = wcs_schema_parse(json, strlen(json), &schema, fault);

	ck_assert_msg(rc == 0, "%s", fault->text);
	rc = wcs_schema_apply(store, schema, fault);
	wcs_schema_free(schema);
	return rc;
}

/* Applied one after the other. A setting that a schema omits stays as it is, and gets its default
 * only in a new family or table. A schema that the store cannot follow is applied in no part. From
 * the second on there is a cell in f. */
static const struct {
	const char *json;
	const char *refused; /* the fault's words; NULL: it is applied */
	const char *after;   /* NULL: as before */
} schemas[] = {
	{"{\"version\":1,\"tables\":{\"z\":{\"families\":{\"y\":{\"gc\":\"maxage=1h\",\"type\":"
	 "\"intsum\"},\"x\":{}}},\"s\":{\"delimiter\":\"|\"},\"t\":{\"delimiter\":\"!\","
	 "\"families\":"
	 "{\"a\":{\"gc\":\"maxage=1h\",\"type\":\"inthll\"},\"b\":\"maxversions=2\","
	 "\"f\":{\"type\":\"intmax\"}}}}}",
	 NULL,
	 "s|() t!(a:inthll:maxage=1h b:bytes:maxversions=2 f:intmax:never ) "
	 "z#(x:bytes:never y:intsum:maxage=1h ) "},
	{"{\"tables\":{\"t\":{\"families\":{\"a\":{},\"b\":{\"type\":\"intmin\"},"
	 "\"f\":\"maxversions=9\",\"new\":{}}},\"u\":{\"families\":{\"x\":{}}}}}",
	 NULL,
	 "s|() t!(a:inthll:maxage=1h b:intmin:maxversions=2 f:intmax:maxversions=9 "
	 "new:bytes:never ) u#(x:bytes:never ) z#(x:bytes:never y:intsum:maxage=1h ) "},
	{"{\"version\":1,\"tables\":{}}", NULL, NULL},
	{"{\"tables\":{\"r\":{},\"t\":{\"delimiter\":\"#\",\"families\":{\"b\":\"never\"}}}}",
	 "table t: its delimiter and keys cannot change", NULL},
	{"{\"tables\":{\"r\":{},\"t\":{\"delimiter\":\"!\",\"families\":{\"b\":\"maxversions=1\","
	 "\"f\":{\"type\":\"intmin\"},\"g\":{}}},\"w\":{}}}",
	 "table t, family f: its type cannot change", NULL},
};

SUITE_CONTRACT("store.h, Schema: wcs_schema_apply")
SUITE_STORES(test_schemas, 10)
{
	const char *after = "t#(a:bytes:never b:bytes:never f:bytes:never ) ";

	suite_expect_schema(s->store, after);
	for (size_t i = 0; i < 2 * sizeof(schemas) / sizeof(schemas[0]); i++) { /* each twice */
		struct wcs_fault fault = {.text = ""};
		const char *refused = schemas[i / 2].refused;
		int rc = tables_apply(s->store, schemas[i / 2].json, &fault);

		ck_assert_int_eq(rc, refused != NULL ? -ENOTEMPTY : 0);
		ck_assert_msg(strstr(fault.text, refused != NULL ? refused : "") != NULL, "%s",
			      fault.text);
		if (schemas[i / 2].after != NULL)
			after = schemas[i / 2].after;
		suite_expect_schema(s->store, after);
		suite_set(s->table, "r", "f", "q", 1, "8 bytes.");
		suite_expect(s->table, "r/f/q@1=8\\20bytes. ");
	}
}

SUITE_STORES(test_schema_with_many_families_warns, 10)
{
	char json[4096] = "{\"tables\":{\"m\":{\"families\":{";
	struct wcs_fault fault = {.text = ""};

	for (unsigned int i = 0; i <= WCS_FAMILIES_WARN; i++)
		snprintf(json + strlen(json), sizeof(json) - strlen(json), "%s\"n%u\":{}",
			 i ? "," : "", i);
	strcat(json, "}}}}");
	SUITE_OK(tables_apply(s->store, json, &fault));
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_ptr_nonnull(strstr(s->log, "101"));
}

/* Cells that a policy hides are in the way of a delimiter, but not of a type, nor in that of the
 * look before it. */
SUITE_STORES(test_schema_changes_what_shows_no_cell, 10)
{
	struct wcs_fault fault = {.text = ""};

	suite_set(s->table, "r", "f", "q", 1, "v");
	suite_policy(s->table, "f", "maxage=1ms");
	ck_assert_int_eq(tables_apply(s->store,
				      "{\"tables\":{\"t\":{\"delimiter\":\"!\",\"families\":{"
				      "\"f\":{\"gc\":\"never\",\"type\":\"intsum\"}}}}}",
				      &fault),
			 -EBUSY);
	ck_assert_ptr_nonnull(strstr(fault.text, "garbage collector"));
	SUITE_OK(tables_apply(s->store,
			      "{\"tables\":{\"t\":{\"families\":{\"f\":{\"gc\":\"never\",\"type\":"
			      "\"intsum\"}}}}}",
			      &fault));
	suite_expect_schema(s->store, "t#(a:bytes:never b:bytes:never f:intsum:never ) ");
	suite_expect(s->table, "");
}

/* Tables are counted before any is made: those that are there are none too many. */
SUITE_STORES(test_schema_refuses_tables_too_many, 10)
{
	static struct wcs_table_schema tables[WCS_TABLES_MAX];
	struct wcs_schema schema = {.table_count = WCS_TABLES_MAX, .tables = tables};
	struct wcs_fault fault = {.text = ""};

	for (unsigned int i = 0; i < WCS_TABLES_MAX; i++)
		snprintf(tables[i].name, sizeof(tables[i].name), "n%03u", i);
	ck_assert_int_eq(wcs_schema_apply(s->store, &schema, &fault), -EMFILE);
	ck_assert_str_eq(fault.text, "table n999: a store holds at most 1000 tables");
	suite_expect_schema(s->store, "t#(a:bytes:never b:bytes:never f:bytes:never ) ");
	schema.table_count = 2;
	strcpy(tables[1].name, "t");
	SUITE_OK(wcs_schema_apply(s->store, &schema, &fault));
	suite_expect_schema(s->store, "n000#() t#(a:bytes:never b:bytes:never f:bytes:never ) ");
}

SUITE_CONTRACT("store.h, Schema: enum wcs_protection")
SUITE_STORES(test_protected, 10)
{
	static const char hides[] = "{\"tables\":{\"new\":{},\"t\":{\"families\":{\"f\":"
				    "\"maxversions=1\"}}}}";
	struct wcs_fault fault = {.text = ""};
	char *before, *after;

	suite_set(s->table, "r", "f", "q", 1, "v");
	ck_assert(!wcs_table_protected(s->table));
	SUITE_OK(tables_apply(s->store, "{\"tables\":{\"t\":{\"protected\":true}}}", &fault));
	if (s->engine == SUITE_LEVELDB)
		suite_reopen(s);
	ck_assert(wcs_table_protected(s->table));
	before = suite_schema_line(s->store);
	ck_assert_ptr_nonnull(strstr(before, "\"t\":{\"delimiter\":\"#\",\"protected\":true,"));
	ck_assert_int_eq(wcs_rows_drop(s->table, NULL), -EPERM);
	ck_assert_int_eq(wcs_rows_drop(s->table, &(struct wcs_slice){"r", 1}), -EPERM);
	ck_assert_int_eq(wcs_family_remove(s->table, "a"), -EPERM);
	ck_assert_int_eq(wcs_table_remove(s->store, "t"), -EPERM);
	ck_assert_int_eq(wcs_family_set_gc(s->table, "f", "maxversions=1", &fault), -EPERM);
	ck_assert_ptr_nonnull(strstr(fault.text, "table t is protected"));
	ck_assert_int_eq(tables_apply(s->store, hides, &fault), -EPERM);
	ck_assert_ptr_nonnull(strstr(fault.text, "table t, family f: the table is protected"));
	after = suite_schema_line(s->store);
	ck_assert_str_eq(after, before);
	free(before);
	free(after);
	suite_expect(s->table, "r/f/q@1=v ");
	suite_set(s->table, "r", "f", "q", 2, "w");
	SUITE_OK(wcs_family_create(s->table, "more"));
	ck_assert(wcs_table_protected(s->table));
	/* fuzz_gc.c compares policies of which one hides no more than the other. */
	SUITE_OK(wcs_table_set_protected(s->table, false));
	suite_policy(s->table, "a", "maxage=1d and maxversions=5");
	SUITE_OK(wcs_table_set_protected(s->table, true));
	ck_assert_int_eq(wcs_family_set_gc(s->table, "a", "maxage=1d", &fault), -EPERM);
	suite_policy(s->table, "a", "maxage=2d and maxversions=6");
	/* One schema may end the protection and hide more, and one may hide more and protect. */
	SUITE_OK(tables_apply(s->store,
			      "{\"tables\":{\"t\":{\"protected\":false,\"families\":{"
			      "\"f\":\"maxversions=1\"}}}}",
			      &fault));
	suite_expect(s->table, "r/f/q@2=w ");
	SUITE_OK(tables_apply(s->store,
			      "{\"tables\":{\"t\":{\"protected\":true,\"families\":{"
			      "\"f\":\"maxversions=1 or maxage=1h\"}}}}",
			      &fault));
	ck_assert(wcs_table_protected(s->table));
	SUITE_OK(wcs_table_set_protected(s->table, false));
	SUITE_OK(wcs_rows_drop(s->table, NULL));
}

static void *protect(void *table)
{
	return (void *)(intptr_t)wcs_table_set_protected(table, true);
}

/* Both raise the format of the store's directory. */
SUITE_LOOP(test_two_tables_are_protected_at_once, SUITE_ENGINES, 30)
{
	for (int round = 0; round < 10; round++) {
		struct wcs_table *other;
		pthread_t thread;
		struct suite s;
		void *rc;

		suite_open(&s, _i);
		SUITE_OK(wcs_table_create(s.store, "u"));
		SUITE_OK(wcs_table_open(s.store, "u", &other));
		SUITE_OK(pthread_create(&thread, NULL, protect, other));
		SUITE_OK(wcs_table_set_protected(s.table, true));
		pthread_join(thread, &rc);
		ck_assert_ptr_null(rc);
		ck_assert(wcs_table_protected(s.table) && wcs_table_protected(other));
		wcs_table_close(other);
		suite_close(&s);
	}
}
