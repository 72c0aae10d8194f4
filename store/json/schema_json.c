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

#include "lib/grow.h"
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

/* Reads an object with a member for each element, which is all zero at first, of an array of that
 * element size; array: the address of the pointer to it. Sorts it. */
static int schema_json_array(struct wcs_json_text *in, const struct wcs_json_at *at,
			     const char *more, void *array, size_t *count, size_t size,
			     int (*read)(struct wcs_json_text *in, const struct wcs_json_at *at,
					 void *element))
{
	struct wcs_json_at inner = {.up = at};
	int rc = wcs_json_begin(in, at, more);
	unsigned char *elements = NULL;
	size_t room = *count;

	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		rc = grow(array, &room, *count + 1, 8, size);
		if (rc != 0)
			return rc;
		memcpy(&elements, array, sizeof(elements));
		/* Counted first, so that wcs_schema_free frees it after a failure. */
		rc = read(in, &inner, memset(elements + size * (*count)++, 0, size));
	}
	if (elements)
		qsort(elements, *count, size, schema_json_order);
	return rc;
}

static int schema_json_gc(struct wcs_json_text *in, const struct wcs_json_at *at, char **gc)
{
	struct wcs_fault why = {0};
	const char *policy;
	int rc = wcs_json_words(in, at, "must be a policy in quotes, without NUL", &policy);

	if (rc != 0)
		return rc;
	free(*gc);
	*gc = NULL;
	rc = wcs_gc_canonical(policy, gc, &why);
	if (rc != 0) {
		if (why.column > 0)
			wcs_json_fault(in, rc, at, "%s, at character %d of the policy", why.text,
				       why.column);
		else
			wcs_json_fault(in, rc, at, "%s", why.text);
		wcs_json_locate(in, at->from);
	}
	return rc;
}

static int schema_json_type(struct wcs_json_text *in, const struct wcs_json_at *at,
			    enum wcs_type *type)
{
	static const char why[] =
		"must be \"bytes\", \"intsum\", \"intmin\", \"intmax\" or \"inthll\"";
	const char *name;
	int rc = wcs_json_words(in, at, why, &name);

	return rc == 0 && wcs_type_parse(name, type) ? wcs_json_refuse(in, at, why) : rc;
}

static int schema_json_family(struct wcs_json_text *in, const struct wcs_json_at *at, void *element)
{
	struct wcs_json_at inner = {.up = at};
	struct wcs_family *family = element;
	const char *name = wcs_json_copy(in, at->name);
	int rc;

	if (!wcs_family_name_valid(name))
		return wcs_json_refuse(in, at, "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	strcpy(family->name, name);
	family->type = WCS_TYPE_NONE;
	if (wcs_json_read_peek(&in->reader) == '"')
		return schema_json_gc(in, at, &family->gc);
	rc = wcs_json_begin(in, at, " or a policy in quotes");
	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		if (wcs_json_is(&inner, "gc"))
			rc = schema_json_gc(in, &inner, &family->gc);
		else if (wcs_json_is(&inner, "type"))
			rc = schema_json_type(in, &inner, &family->type);
		else
			rc = wcs_json_refuse(in, &inner, "a family has only gc and type");
	}
	return rc;
}

static int schema_json_delimiter(struct wcs_json_text *in, const struct wcs_json_at *at,
				 unsigned char *delimiter)
{
	static const char why[] = "must be one ASCII character in quotes, not / % . or NUL";
	const char *text;
	int rc = wcs_json_words(in, at, why, &text);

	if (rc == 0 && (strlen(text) != 1 || !wcs_delimiter_valid((unsigned char)*text)))
		rc = wcs_json_refuse(in, at, why);
	if (rc == 0)
		*delimiter = (unsigned char)*text;
	return rc;
}

static int schema_json_protected(struct wcs_json_text *in, const struct wcs_json_at *at,
				 enum wcs_protection *protection)
{
	*protection = wcs_json_read_word(&in->reader, "true") ? WCS_PROTECTED : WCS_UNPROTECTED;
	return *protection == WCS_PROTECTED || wcs_json_read_word(&in->reader, "false")
		       ? 0
		       : wcs_json_refuse(in, at, "must be true or false");
}

/* Reads a design. *place: where it is. */
static int schema_json_keys(struct wcs_json_text *in, const struct wcs_json_at *at,
			    struct wcs_json_at *place, struct wcs_keys **keys)
{
	free(*keys);
	*place = *at;
	*keys = calloc(1, sizeof(**keys));
	return *keys ? wcs_json_keys(in, at, *keys) : -ENOMEM;
}

static int schema_json_table(struct wcs_json_text *in, const struct wcs_json_at *at, void *element)
{
	struct wcs_json_at inner = {.up = at}, keys = {.up = at};
	struct wcs_table_schema *table = element;
	const char *name = wcs_json_copy(in, at->name);
	int rc;

	if (!wcs_table_name_valid(name))
		return wcs_json_refuse(
			in, at, "a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or . first");
	strcpy(table->name, name);
	rc = wcs_json_begin(in, at, "");
	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		if (wcs_json_is(&inner, "delimiter"))
			rc = schema_json_delimiter(in, &inner, &table->delimiter);
		else if (wcs_json_is(&inner, "protected"))
			rc = schema_json_protected(in, &inner, &table->protection);
		else if (wcs_json_is(&inner, "keys"))
			rc = schema_json_keys(in, &inner, &keys, &table->keys);
		else if (wcs_json_is(&inner, "families"))
			rc = schema_json_array(in, &inner, " with a member per family",
					       &table->families, &table->family_count,
					       sizeof(table->families[0]), schema_json_family);
		else
			rc = wcs_json_refuse(
				in, &inner,
				"a table has only delimiter, protected, keys and families");
	}
	if (rc == 0 && table->keys)
		rc = wcs_json_keys_check(in, &keys, table->keys, table->delimiter);
	return rc;
}

static int schema_json_tables(struct wcs_json_text *in, const struct wcs_json_at *at,
			      struct wcs_schema *schema)
{
	int rc = schema_json_array(in, at, " with a member per table", &schema->tables,
				   &schema->table_count, sizeof(schema->tables[0]),
				   schema_json_table);

	return rc == 0 && schema->table_count > WCS_TABLES_MAX
		       ? wcs_json_refuse(in, at, "a store holds at most 1000 tables")
		       : rc;
}

static int schema_json_version(struct wcs_json_text *in, const struct wcs_json_at *at)
{
	static const char why[] = "must be the number 1";
	int64_t version;
	int rc = wcs_json_integer(in, at, why, &version);

	if (rc == 0 && version > SCHEMA_JSON_VERSION)
		return wcs_json_refuse(in, at, "newer than this program, which knows version 1");
	return rc == -EINVAL || (rc == 0 && version != SCHEMA_JSON_VERSION)
		       ? wcs_json_refuse(in, at, why)
		       : rc;
}

/* Reads the version, or with a schema all members. */
static int schema_json_root(struct wcs_json_text *in, struct wcs_schema *schema)
{
	struct wcs_json_at at = {.up = NULL};
	int rc = wcs_json_object(in, NULL, " in braces");

	while (rc == 0 && (rc = wcs_json_member(in, &at)) == 1) {
		if (wcs_json_is(&at, "version"))
			rc = schema_json_version(in, &at);
		else if (!schema)
			rc = wcs_json_skip(in, &at);
		else if (wcs_json_is(&at, "tables"))
			rc = schema_json_tables(in, &at, schema);
		else
			rc = wcs_json_refuse(in, &at, "a schema has only version and tables");
	}
	return rc;
}

int wcs_schema_read(const char *text, size_t len, struct wcs_schema **schema,
		    struct wcs_fault *fault)
{
	struct wcs_schema *made = calloc(1, sizeof(*made));
	struct wcs_json_text in = {.fault = fault};
	int rc = made ? wcs_json_start(&in, text, len, fault)
		      : wcs_fault_set(fault, -ENOMEM, "no memory");

	/* The version first: in a newer one other members may be unknown. */
	if (rc == 0)
		rc = wcs_json_finish(&in, schema_json_root(&in, NULL));
	if (rc == 0)
		rc = wcs_json_start(&in, text, len, fault);
	if (rc == 0)
		rc = wcs_json_finish(&in, schema_json_root(&in, made));
	wcs_json_free(&in);
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

static void schema_json_put_family(FILE *out, const struct wcs_family *family)
{
	const char *gc = family->gc, *type = wcs_type_name(family->type);

	fprintf(out, "\n        \"%s\": {", family->name);
	if (gc)
		fprintf(out, "\n          \"gc\": \"%s\"%s", gc, type ? "," : "");
	if (type)
		fprintf(out, "\n          \"type\": \"%s\"", type);
	fputs(gc || type ? "\n        }" : "}", out);
}

static void schema_json_put_table(FILE *out, const struct wcs_table_schema *table)
{
	static const char escaped[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	unsigned char byte = table->delimiter;
	const char *escape = strchr(escaped, byte);

	fprintf(out, "\n    \"%s\": {", table->name);
	if (byte) /* the only string that may need an escape */
		fprintf(out,
			escape	      ? "\n      \"delimiter\": \"\\%c\","
			: byte < 0x20 ? "\n      \"delimiter\": \"\\u%04X\","
				      : "\n      \"delimiter\": \"%c\",",
			escape ? letters[escape - escaped] : byte);
	if (table->protection == WCS_PROTECTED)
		fputs("\n      \"protected\": true,", out);
	else if (table->protection == WCS_UNPROTECTED && table->created == 0)
		fputs("\n      \"protected\": false,", out);
	if (table->keys) {
		fputs("\n      \"keys\": ", out);
		wcs_json_put_keys(out, table->keys, 6);
		fputs(",", out);
	}
	fputs("\n      \"families\": {", out);
	for (size_t i = 0; i < table->family_count; i++) {
		fputs(i > 0 ? "," : "", out);
		schema_json_put_family(out, &table->families[i]);
	}
	fputs(table->family_count > 0 ? "\n      }\n    }" : "}\n    }", out);
}

char *wcs_schema_format(const struct wcs_schema *schema)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs("{\n  \"version\": 1,\n  \"tables\": {", out);
	for (size_t i = 0; i < schema->table_count; i++) {
		fputs(i > 0 ? "," : "", out);
		schema_json_put_table(out, &schema->tables[i]);
	}
	fputs(schema->table_count > 0 ? "\n  }\n}\n" : "}\n}\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *wcs_schema_line(const struct wcs_schema *schema)
{
	char *text = wcs_schema_format(schema);

	return text ? wcs_json_one_line(text) : NULL;
}
