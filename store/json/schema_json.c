/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes schemas as JSON. Reading returns a schema only if all of it is valid. Written
 * schemas are sorted, so equal schemas are equal bytes. A missing member stays open, in both
 * directions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json.h"

#define SCHEMA_JSON_VERSION 1

/* Both structs begin with their name. */
static int schema_json_order(const void *a, const void *b)
{
	_Static_assert(offsetof(struct wcs_family, name) == 0, "a family begins with its name");
	_Static_assert(offsetof(struct wcs_table_schema, name) == 0, "and a table");
	return strcmp(a, b);
}

static int schema_json_gc(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	struct wcs_fault why = {0};
	struct wcs_family *family = to;
	const char *policy;
	int rc = wcs_json_words(in, at, "must be a policy in quotes, without NUL", &policy);

	if (rc != 0)
		return rc;
	rc = wcs_gc_canonical(policy, &family->gc, &why);
	return rc == -EINVAL ? wcs_json_refuse_inside(in, at, &why) : rc;
}

static int schema_json_type(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const char why[] =
		"must be \"bytes\", \"intsum\", \"intmin\", \"intmax\" or \"inthll\"";
	const char *name;
	int rc = wcs_json_words(in, at, why, &name);

	return rc == 0 && wcs_type_parse(name, &((struct wcs_family *)to)->type)
		       ? wcs_json_refuse(in, at, why)
		       : rc;
}

static int schema_json_family(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object object = {
		"must be an object or a policy in quotes",
		"a family has only gc and type",
		{{"gc", schema_json_gc}, {"type", schema_json_type}}};
	struct wcs_table_schema *table = to;
	struct wcs_family *family = &table->families[table->family_count++];

	if (!wcs_family_name_valid(at->name.data))
		return wcs_json_refuse(in, at, "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	strcpy(family->name, at->name.data);
	family->type = WCS_TYPE_NONE;
	return json_is_string(at->json) ? schema_json_gc(in, at, family)
					: wcs_json_members(in, at, &object, family);
}

static int schema_json_families(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object object = {
		.is = "must be an object with a member per family",
		.members = {{NULL, schema_json_family}}};
	struct wcs_table_schema *table = to;
	int rc;

	table->families = calloc(json_object_size(at->json) + 1, sizeof(table->families[0]));
	if (!table->families)
		return -ENOMEM;
	rc = wcs_json_members(in, at, &object, table);
	qsort(table->families, table->family_count, sizeof(table->families[0]), schema_json_order);
	return rc;
}

static int schema_json_delimiter(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const char why[] = "must be one ASCII character in quotes, not / % . or NUL";
	struct wcs_table_schema *table = to;
	const char *text;
	int rc = wcs_json_words(in, at, why, &text);

	if (rc == 0 && (strlen(text) != 1 || !wcs_delimiter_valid((unsigned char)*text)))
		rc = wcs_json_refuse(in, at, why);
	if (rc == 0)
		table->delimiter = (unsigned char)*text;
	return rc;
}

static int schema_json_protected(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	struct wcs_table_schema *table = to;

	table->protection = json_is_true(at->json) ? WCS_PROTECTED : WCS_UNPROTECTED;
	return json_is_boolean(at->json) ? 0 : wcs_json_refuse(in, at, "must be true or false");
}

static int schema_json_keys(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	struct wcs_table_schema *table = to;

	table->keys = calloc(1, sizeof(*table->keys));
	return table->keys ? wcs_json_keys(in, at, table->keys) : -ENOMEM;
}

static int schema_json_table(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object object = {
		"must be an object",
		"a table has only delimiter, protected, keys and families",
		{{"delimiter", schema_json_delimiter},
		 {"protected", schema_json_protected},
		 {"keys", schema_json_keys},
		 {"families", schema_json_families}}};
	const struct wcs_json_at keys = {.up = at, .name = {"keys", 4}};
	struct wcs_schema *schema = to;
	struct wcs_table_schema *table = &schema->tables[schema->table_count++];
	int rc;

	if (!wcs_table_name_valid(at->name.data))
		return wcs_json_refuse(
			in, at, "a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or . first");
	strcpy(table->name, at->name.data);
	rc = wcs_json_members(in, at, &object, table);
	return rc == 0 && table->keys
		       ? wcs_json_keys_check(in, &keys, table->keys, table->delimiter)
		       : rc;
}

static int schema_json_tables(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object object = {
		.is = "must be an object with a member per table",
		.members = {{NULL, schema_json_table}}};
	struct wcs_schema *schema = to;
	size_t count = json_object_size(at->json);
	int rc;

	if (count > WCS_TABLES_MAX)
		return wcs_json_refuse(in, at, "a store holds at most 1000 tables");
	schema->tables = calloc(count + 1, sizeof(schema->tables[0]));
	if (!schema->tables)
		return -ENOMEM;
	rc = wcs_json_members(in, at, &object, schema);
	qsort(schema->tables, schema->table_count, sizeof(schema->tables[0]), schema_json_order);
	return rc;
}

static int schema_json_version(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	json_int_t version = json_integer_value(at->json);

	(void)to;
	if (json_is_integer(at->json) && version == SCHEMA_JSON_VERSION)
		return 0;
	return wcs_json_refuse(in, at,
			       version > SCHEMA_JSON_VERSION
				       ? "newer than this program, which knows version 1"
				       : "must be the number 1");
}

/* The version first: in a newer one other members may be unknown. */
static int schema_json_root(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object object = {
		"must be an object in braces",
		"a schema has only version and tables",
		{{"version", schema_json_version}, {"tables", schema_json_tables}}};
	const struct wcs_json_at version = {
		.up = at, .name = {"version", 7}, .json = json_object_get(at->json, "version")};
	int rc = version.json ? schema_json_version(in, &version, NULL) : 0;

	return rc == 0 ? wcs_json_members(in, at, &object, to) : rc;
}

int wcs_schema_read(const char *text, size_t len, struct wcs_schema **schema,
		    struct wcs_fault *fault)
{
	struct wcs_schema *made = calloc(1, sizeof(*made));
	int rc = made ? wcs_json_load(text, len, fault, schema_json_root, made)
		      : wcs_fault_set(fault, -ENOMEM, "no memory");

	if (rc == 0)
		*schema = made;
	else
		wcs_schema_free(made);
	return rc;
}

int wcs_schema_parse(const char *text, size_t len, struct wcs_schema **schema,
		     struct wcs_fault *fault)
{
	int rc = wcs_schema_read(text, len, schema, fault);

	return rc == -EOVERFLOW ? -EINVAL : rc; /* no member is a large number */
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Adds a member, unless it is open (NULL). */
static int schema_json_put(json_t *object, const char *name, const char *value)
{
	return value ? json_object_set_new(object, name, json_string(value)) : 0;
}

static json_t *schema_json_of_table(const struct wcs_table_schema *table)
{
	const char delimiter[] = {(char)table->delimiter, '\0'};
	json_t *json = json_object(), *families = json_object();
	int rc = schema_json_put(json, "delimiter", *delimiter ? delimiter : NULL);

	if (table->protection != WCS_PROTECTION_OPEN)
		rc |= json_object_set_new(json, "protected",
					  json_boolean(table->protection == WCS_PROTECTED));
	if (table->keys)
		rc |= json_object_set_new(json, "keys", wcs_json_of_keys(table->keys));
	for (size_t i = 0; i < table->family_count; i++) {
		const struct wcs_family *family = &table->families[i];
		json_t *member = json_object();

		rc |= schema_json_put(member, "gc", family->gc);
		rc |= schema_json_put(member, "type", wcs_type_name(family->type));
		rc |= json_object_set_new(families, family->name, member);
	}
	rc |= json_object_set_new(json, "families", families);
	if (rc == 0)
		return json;
	json_decref(json);
	return NULL;
}

static char *schema_json_text(const struct wcs_schema *schema, size_t flags)
{
	json_t *tables = json_object();
	int rc = 0;

	for (size_t i = 0; i < schema->table_count; i++)
		rc |= json_object_set_new(tables, schema->tables[i].name,
					  schema_json_of_table(&schema->tables[i]));
	if (rc != 0) {
		json_decref(tables);
		return NULL;
	}
	return wcs_json_dump(
		json_pack("{s:i, s:o}", "version", SCHEMA_JSON_VERSION, "tables", tables), flags);
}

char *wcs_schema_format(const struct wcs_schema *schema)
{
	return schema_json_text(schema, JSON_INDENT(2));
}

char *wcs_schema_line(const struct wcs_schema *schema)
{
	return schema_json_text(schema, JSON_COMPACT);
}
