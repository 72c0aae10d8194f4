/* SPDX-License-Identifier: MIT */
/* Values as views compare them: the text that a cell's file shows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/chain/chain_private.h"

enum { CHAIN_VALUE_KEPT = 1 << 20 }; /* bytes of memory for values that stay between two */

/* Types change only while their family has no cell. */
int chain_values_init(struct chain_values *values, const struct wcs_table *table)
{
	for (size_t i = 0; i < table->family_count; i++) {
		const struct wcs_family *family = &table->families[i]->family;

		if (!wcs_type_aggregates(family->type))
			continue;
		if (values->types == NULL)
			values->types = calloc(table->family_count, sizeof(*values->types));
		if (values->types == NULL)
			return -ENOMEM;
		strcpy(values->types[values->type_count].family, family->name);
		values->types[values->type_count++].type = family->type;
	}
	return 0;
}

static enum wcs_type type_of(const struct chain_values *values, struct wcs_slice family)
{
	for (size_t i = 0; i < values->type_count; i++)
		if (strlen(values->types[i].family) == family.len &&
		    memcmp(values->types[i].family, family.data, family.len) == 0)
			return values->types[i].type;
	return WCS_BYTES;
}

/* Reads the value of the scan's last cell into memory. */
static int value_read(struct chain_values *values, struct wcs_scan *of, const struct wcs_cell *cell,
		      struct wcs_slice *value)
{
	size_t size = (size_t)cell->info.size, read = 0;

	if (size > values->value_room) {
		free(values->value);
		values->value = malloc(size);
		values->value_room = values->value != NULL ? size : 0;
	}
	if (values->value == NULL)
		return -ENOMEM;
	while (read < size) {
		size_t got = 0;
		int rc = of->ops->read(of, values->value + read, size - read, read, &got);

		if (rc != 0 || got == 0)
			return rc != 0 ? rc : -EIO;
		read += got;
	}
	*value = (struct wcs_slice){values->value, size};
	return 0;
}

void chain_value_leave(struct chain_values *values)
{
	if (values->value_room <= CHAIN_VALUE_KEPT)
		return;
	free(values->value);
	values->value = NULL;
	values->value_room = 0;
}

int chain_value_text(struct chain_values *values, struct wcs_scan *of, const struct wcs_cell *cell,
		     char *number, struct wcs_slice *text)
{
	enum wcs_type type = type_of(values, cell->family);
	struct wcs_slice value = cell->value;
	int64_t integer;
	int rc = 0;

	if (cell->info.size > WCS_VALUE_INLINE)
		rc = value_read(values, of, cell, &value);
	if (rc != 0)
		return rc;
	if (type != WCS_BYTES) {
		if (wcs_aggregate_number(type, value, &integer) != 0)
			return -EIO;
		value.len = (size_t)snprintf(number, CHAIN_NUMBER_MAX, "%" PRId64, integer);
		value.data = number;
	} else if (value.len > 0 && ((const char *)value.data)[value.len - 1] == '\n') {
		value.len--;
	}
	*text = value;
	return 0;
}

void chain_values_clear(struct chain_values *values)
{
	free(values->types);
	free(values->value);
}
