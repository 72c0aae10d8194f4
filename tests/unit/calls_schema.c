/* SPDX-License-Identifier: MIT */
/* Calls of the store that read and change its schema: see calls.h. */
#include "tests/unit/calls.h"

static int run_table_create(struct calls *calls)
{
	return wcs_table_create(calls->suite.store, "new");
}

static int run_table_open(struct calls *calls)
{
	struct wcs_table *table;
	int rc = wcs_table_open(calls->suite.store, "t", &table);

	if (rc == 0)
		wcs_table_close(table);
	return rc;
}

static int run_family_create(struct calls *calls)
{
	return wcs_family_create(calls->suite.table, "new");
}

static int run_family_remove(struct calls *calls)
{
	return wcs_family_remove(calls->suite.table, "h");
}

static int run_family_get(struct calls *calls)
{
	struct wcs_family family;
	int rc = wcs_family_get(calls->suite.table, "a", &family);

	if (rc != 0)
		return rc;
	calls_out_text(calls, family.gc);
	wcs_family_clear(&family);
	return 0;
}

static int run_set_gc(struct calls *calls)
{
	return wcs_family_set_gc(calls->suite.table, "a", "maxversions=1", NULL);
}

static int run_set_type(struct calls *calls)
{
	return wcs_family_set_type(calls->suite.table, "h", WCS_INTMIN);
}

static int run_gc_canonical(struct calls *calls)
{
	char *canonical;
	int rc = wcs_gc_canonical("maxage=24h||(never)", &canonical, NULL);

	if (rc != 0)
		return rc;
	calls_out_text(calls, canonical);
	free(canonical);
	return 0;
}

static int run_schema_parse(struct calls *calls)
{
	static const char json[] = "{\"version\":1,\"tables\":{\"t\":{\"families\":{\"b\":\"maxage="
				   "1d\",\"c\":{\"type\":\"intmax\"}}}}}";
	struct wcs_schema *schema;
	char *line;
	int rc = wcs_schema_parse(json, strlen(json), &schema, NULL);

	if (rc != 0)
		return rc;
	line = wcs_schema_line(schema);
	if (line)
		calls_out_text(calls, line);
	wcs_schema_free(schema);
	free(line);
	return line ? 0 : -ENOMEM;
}

static int run_schema_get(struct calls *calls)
{
	struct wcs_schema *schema;
	char *pretty;
	int rc = wcs_schema_get(calls->suite.store, &schema);

	if (rc != 0)
		return rc;
	pretty = wcs_schema_format(schema);
	if (pretty && strstr(pretty, "\"inthll\""))
		calls_out_text(calls, "inthll");
	wcs_schema_free(schema);
	free(pretty);
	return pretty ? 0 : -ENOMEM;
}

/* The schema adds one family only: a change applied before memory ends stays applied. */
static int run_schema_apply(struct calls *calls)
{
	struct wcs_family family = {.name = "new", .type = WCS_INTMAX};
	struct wcs_table_schema table = {.name = "t", .family_count = 1, .families = &family};
	struct wcs_schema schema = {.table_count = 1, .tables = &table};

	return wcs_schema_apply(calls->suite.store, &schema, NULL);
}

/* ---- All of them ------------------------------------------------------------------------- */

const struct call calls_schema[] = {
	{.name = "table_create", .run = run_table_create, .schema = "\"new\":{", .least = 4},
	{.name = "table_open", .run = run_table_open},
	{.name = "family_create", .run = run_family_create, .schema = "\"new\":{", .least = 4},
	{.name = "family_remove", .run = run_family_remove, .least = 2},
	{.name = "family_get", .run = run_family_get, .out = "never ", .least = 1},
	{.name = "set_gc",
	 .run = run_set_gc,
	 .schema = "\"a\":{\"gc\":\"maxversions=1\"",
	 .content = "r/a/q@2=new r/b/x@5=y r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\05 " CALLS_REST,
	 .least = 4},
	{.name = "set_type", .run = run_set_type, .schema = "\"type\":\"intmin\"", .least = 3},
	{.name = "gc_canonical", .run = run_gc_canonical, .out = "maxage=1d or never ", .least = 2},
	{.name = "schema_parse",
	 .run = run_schema_parse,
	 .out = "{\"version\":1,\"tables\":{\"t\":{\"families\":{\"b\":{\"gc\":\"maxage=1d\"},"
		"\"c\":{\"type\":\"intmax\"}}}}}\n ",
	 .least = 8},
	{.name = "schema_get", .run = run_schema_get, .out = "inthll ", .least = 8},
	{.name = "schema_apply", .run = run_schema_apply, .schema = "\"intmax\"", .least = 4},
	{.name = NULL},
};
