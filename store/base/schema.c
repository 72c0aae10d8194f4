/* SPDX-License-Identifier: MIT */
/* Schemas: which names are valid, the names of the types, and the end of a schema. */
#include "store/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const schema_types[] = {
	[WCS_BYTES] = "bytes",	 [WCS_INTSUM] = "intsum", [WCS_INTMIN] = "intmin",
	[WCS_INTMAX] = "intmax", [WCS_INTHLL] = "inthll",
};
#define SCHEMA_TYPES (sizeof(schema_types) / sizeof(schema_types[0]))

const char *wcs_type_name(enum wcs_type type)
{
	return (size_t)type < SCHEMA_TYPES ? schema_types[type] : NULL;
}

int wcs_type_parse(const char *name, enum wcs_type *type)
{
	for (size_t i = 0; i < SCHEMA_TYPES; i++)
		if (strcmp(name, schema_types[i]) == 0) {
			*type = (enum wcs_type)i;
			return 0;
		}
	return -EINVAL;
}

bool wcs_type_aggregates(enum wcs_type type)
{
	return type == WCS_INTSUM || type == WCS_INTMIN || type == WCS_INTMAX || type == WCS_INTHLL;
}

/* 1 to max bytes of [-_.a-zA-Z0-9]. */
static bool schema_name_valid(const char *name, size_t max)
{
	size_t i;

	for (i = 0; i <= max && name[i] != '\0'; i++) {
		char byte = name[i];

		if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		      (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.'))
			return false;
	}
	return i > 0 && i <= max;
}

bool wcs_table_name_valid(const char *name)
{
	return name != NULL && name[0] != '-' && name[0] != '.' &&
	       schema_name_valid(name, WCS_TABLE_NAME_MAX);
}

bool wcs_family_name_valid(const char *name)
{
	return name != NULL && schema_name_valid(name, WCS_FAMILY_NAME_MAX);
}

bool wcs_delimiter_valid(unsigned char delimiter)
{
	return delimiter > 0 && delimiter < 0x80 && delimiter != '/' && delimiter != '%' &&
	       delimiter != '.';
}

struct wcs_table_schema *wcs_schema_table(const struct wcs_schema *schema, const char *name)
{
	for (size_t i = 0; i < schema->table_count; i++)
		if (strcmp(schema->tables[i].name, name) == 0)
			return &schema->tables[i];
	return NULL;
}

const struct wcs_family *wcs_schema_family(const struct wcs_table_schema *table, const void *name,
					   size_t len)
{
	for (size_t i = 0; i < table->family_count; i++)
		if (strlen(table->families[i].name) == len &&
		    memcmp(table->families[i].name, name, len) == 0)
			return &table->families[i];
	return NULL;
}

void wcs_table_schema_clear(struct wcs_table_schema *table)
{
	for (size_t i = 0; i < table->family_count; i++)
		free(table->families[i].gc);
	free(table->families);
	free(table->keys);
	table->families = NULL;
	table->keys = NULL;
	table->family_count = 0;
}

void wcs_schema_free(struct wcs_schema *schema)
{
	if (!schema)
		return;
	for (size_t i = 0; i < schema->table_count; i++)
		wcs_table_schema_clear(&schema->tables[i]);
	free(schema->tables);
	free(schema);
}
