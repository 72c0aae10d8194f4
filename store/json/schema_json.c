/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes schemas as JSON. Reading returns a schema only if all of it is valid. Written
 * schemas are sorted, so equal schemas are equal bytes. A missing member stays open, in both
 * directions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json.h"
#include "store/json/json_memory.h"

#define SCHEMA_JSON_VERSION 1

struct schema_json {
	const char *text;
	size_t len;
	struct wcs_fault *fault;
};

static int schema_json_fault(const struct schema_json *in, const struct wcs_json_at *at,
			     const char *why)
{
	wcs_json_fault(in->fault, -EINVAL, at, "%s", why);
	wcs_json_locate(in->text, in->len, at, in->fault);
	return -EINVAL;
}

static bool schema_json_has_nul(const json_t *string)
{
	return strlen(json_string_value(string)) != json_string_length(string);
}

/* Both structs begin with their name. */
static int schema_json_order(const void *a, const void *b)
{
	_Static_assert(offsetof(struct wcs_family, name) == 0, "a family begins with its name");
	_Static_assert(offsetof(struct wcs_table_schema, name) == 0, "and a table");
	return strcmp(a, b);
}

static int schema_json_gc(const struct schema_json *in, const struct wcs_json_at *at,
			  const json_t *json, char **gc)
{
	struct wcs_fault why = {0};
	char *canonical;
	int rc;

	if (!json_is_string(json))
		return schema_json_fault(in, at, "must be a policy in quotes");
	if (schema_json_has_nul(json))
		return schema_json_fault(in, at, "no policy holds a NUL");
	rc = wcs_gc_canonical(json_string_value(json), &canonical, &why);
	if (rc) {
		if (why.column > 0)
			wcs_json_fault(in->fault, rc, at, "%s, at character %d of the policy",
				       why.text, why.column);
		else
			wcs_json_fault(in->fault, rc, at, "%s", why.text);
		wcs_json_locate(in->text, in->len, at, in->fault);
		return rc;
	}
	*gc = canonical;
	return 0;
}

static int schema_json_family(const struct schema_json *in, const struct wcs_json_at *at,
			      const json_t *json, struct wcs_family *family)
{
	struct wcs_json_at inner = {.up = at};
	json_t *member;
	int rc = 0;

	if (!wcs_family_name_valid(at->name))
		return schema_json_fault(in, at, "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	strcpy(family->name, at->name);
	family->type = WCS_TYPE_NONE;
	if (json_is_string(json))
		return schema_json_gc(in, at, json, &family->gc);
	if (!json_is_object(json))
		return schema_json_fault(in, at, "must be an object or a policy in quotes");
	json_object_foreach((json_t *)(uintptr_t)json, inner.name, member)
	{
		if (strcmp(inner.name, "gc") == 0)
			rc = schema_json_gc(in, &inner, member, &family->gc);
		else if (strcmp(inner.name, "type") != 0)
			rc = schema_json_fault(in, &inner, "a family has only gc and type");
		else if (!json_is_string(member) || schema_json_has_nul(member) ||
			 wcs_type_parse(json_string_value(member), &family->type))
			rc = schema_json_fault(in, &inner,
					       "must be \"bytes\", \"intsum\", \"intmin\", "
					       "\"intmax\" or \"inthll\"");
		if (rc)
			break;
	}
	return rc;
}

static int schema_json_families(const struct schema_json *in, const struct wcs_json_at *at,
				json_t *json, struct wcs_table_schema *table)
{
	struct wcs_json_at inner = {.up = at};
	json_t *member;
	int rc;

	if (!json_is_object(json))
		return schema_json_fault(in, at, "must be an object with a member per family");
	if (json_object_size(json) == 0)
		return 0;
	table->families = calloc(json_object_size(json), sizeof(table->families[0]));
	if (!table->families)
		return wcs_fault_set(in->fault, -ENOMEM, "no memory");
	json_object_foreach(json, inner.name, member)
	{
		/* Counted first, so that wcs_schema_free frees it after a failure. */
		rc = schema_json_family(in, &inner, member,
					&table->families[table->family_count++]);
		if (rc)
			return rc;
	}
	qsort(table->families, table->family_count, sizeof(table->families[0]), schema_json_order);
	return 0;
}

static int schema_json_table(const struct schema_json *in, const struct wcs_json_at *at,
			     json_t *json, struct wcs_table_schema *table)
{
	struct wcs_json_at inner = {.up = at};
	const char *text;
	json_t *member;
	int rc = 0;

	if (!wcs_table_name_valid(at->name))
		return schema_json_fault(
			in, at, "a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or . first");
	strcpy(table->name, at->name);
	if (!json_is_object(json))
		return schema_json_fault(in, at, "must be an object");
	json_object_foreach(json, inner.name, member)
	{
		text = json_string_value(member);
		if (strcmp(inner.name, "delimiter") == 0) {
			if (text && json_string_length(member) == 1 && !strchr("/%.", *text))
				table->delimiter = (unsigned char)*text;
			else
				rc = schema_json_fault(
					in, &inner,
					"must be one ASCII character in quotes, not / % . or NUL");
		} else if (strcmp(inner.name, "protected") == 0) {
			table->protection = json_is_true(member) ? WCS_PROTECTED : WCS_UNPROTECTED;
			if (!json_is_boolean(member))
				rc = schema_json_fault(in, &inner, "must be true or false");
		} else if (strcmp(inner.name, "families") == 0) {
			rc = schema_json_families(in, &inner, member, table);
		} else {
			rc = schema_json_fault(
				in, &inner, "a table has only delimiter, protected and families");
		}
		if (rc)
			break;
	}
	return rc;
}

static int schema_json_tables(const struct schema_json *in, const struct wcs_json_at *at,
			      json_t *json, struct wcs_schema *schema)
{
	struct wcs_json_at inner = {.up = at};
	json_t *member;
	int rc;

	if (!json_is_object(json))
		return schema_json_fault(in, at, "must be an object with a member per table");
	if (json_object_size(json) > WCS_TABLES_MAX)
		return schema_json_fault(in, at, "a store holds at most 1000 tables");
	if (json_object_size(json) == 0)
		return 0;
	schema->tables = calloc(json_object_size(json), sizeof(schema->tables[0]));
	if (!schema->tables)
		return wcs_fault_set(in->fault, -ENOMEM, "no memory");
	json_object_foreach(json, inner.name, member)
	{
		rc = schema_json_table(in, &inner, member, &schema->tables[schema->table_count++]);
		if (rc)
			return rc;
	}
	qsort(schema->tables, schema->table_count, sizeof(schema->tables[0]), schema_json_order);
	return 0;
}

static int schema_json_root(const struct schema_json *in, json_t *root, struct wcs_schema *schema)
{
	const json_t *version = json_object_get(root, "version");
	struct wcs_json_at at = {.name = "version"};
	json_t *member;
	int rc = 0;

	/* The first check: in a newer version other members may be unknown. */
	if (json_is_integer(version) && json_integer_value(version) > SCHEMA_JSON_VERSION)
		return schema_json_fault(in, &at, "newer than this program, which knows version 1");
	if (version && json_integer_value(version) != SCHEMA_JSON_VERSION)
		return schema_json_fault(in, &at, "must be the number 1");
	json_object_foreach(root, at.name, member)
	{
		if (strcmp(at.name, "tables") == 0)
			rc = schema_json_tables(in, &at, member, schema);
		else if (strcmp(at.name, "version") != 0)
			rc = schema_json_fault(in, &at, "a schema has only version and tables");
		if (rc)
			break;
	}
	return rc;
}

int wcs_schema_parse(const char *text, size_t len, struct wcs_schema **schema,
		     struct wcs_fault *fault)
{
	struct schema_json in = {.text = text, .len = len, .fault = fault};
	struct wcs_schema *made = calloc(1, sizeof(*made));
	bool begun = wcs_json_begin(len);
	json_t *root = NULL;
	int rc = made ? wcs_json_parse(text, len, &root, fault)
		      : wcs_fault_set(fault, -ENOMEM, "no memory");

	if (rc == 0)
		rc = schema_json_root(&in, root, made);
	else if (rc == -EOVERFLOW) /* no member is a large number */
		rc = -EINVAL;
	json_decref(root);
	wcs_json_end(begun);
	if (rc == 0)
		*schema = made;
	else
		wcs_schema_free(made);
	return rc;
}

/* A member, unless it is open. (json_pack would leave out members without memory.) */
static int schema_json_put(json_t *object, const char *name, const char *value)
{
	return value ? json_object_set_new(object, name, json_string(value)) : 0;
}

static json_t *schema_json_of_families(const struct wcs_table_schema *table)
{
	json_t *families = json_object();

	for (size_t i = 0; families && i < table->family_count; i++) {
		const struct wcs_family *family = &table->families[i];
		json_t *json = json_object();

		if (json_object_set(families, family->name, json) ||
		    schema_json_put(json, "gc", family->gc) ||
		    schema_json_put(json, "type", wcs_type_name(family->type))) {
			json_decref(families);
			families = NULL;
		}
		json_decref(json);
	}
	return families;
}

static json_t *schema_json_of_tables(const struct wcs_schema *schema)
{
	json_t *tables = json_object();

	for (size_t i = 0; tables && i < schema->table_count; i++) {
		const struct wcs_table_schema *table = &schema->tables[i];
		const char delimiter[] = {(char)table->delimiter, '\0'};
		json_t *json = json_object();

		if (json_object_set(tables, table->name, json) ||
		    schema_json_put(json, "delimiter", *delimiter ? delimiter : NULL) ||
		    (table->protection == WCS_PROTECTED &&
		     json_object_set_new(json, "protected", json_true())) ||
		    json_object_set_new(json, "families", schema_json_of_families(table))) {
			json_decref(tables);
			tables = NULL;
		}
		json_decref(json);
	}
	return tables;
}

static char *schema_json_text(const struct wcs_schema *schema, size_t flags)
{
	json_t *root = json_pack("{s:i, s:o}", "version", SCHEMA_JSON_VERSION, "tables",
				 schema_json_of_tables(schema));
	size_t len = root ? json_dumpb(root, NULL, 0, flags) : 0;
	char *text = len > 0 ? malloc(len + 2) : NULL;

	if (text && json_dumpb(root, text, len, flags) == len) {
		memcpy(text + len, "\n", 2);
	} else {
		free(text);
		text = NULL;
	}
	json_decref(root);
	return text;
}

char *wcs_schema_format(const struct wcs_schema *schema)
{
	return schema_json_text(schema, JSON_INDENT(2));
}

char *wcs_schema_line(const struct wcs_schema *schema)
{
	return schema_json_text(schema, JSON_COMPACT);
}

void wcs_schema_free(struct wcs_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->table_count; i++) {
		struct wcs_table_schema *table = &schema->tables[i];

		for (size_t k = 0; k < table->family_count; k++)
			free(table->families[k].gc);
		free(table->families);
	}
	free(schema->tables);
	free(schema);
}
