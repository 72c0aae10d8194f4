/* SPDX-License-Identifier: MIT */
/*
 * Families in memory.
 *
 * A family object never changes: a new policy or type puts another object in its place, so that a
 * change that the engine refuses leaves nothing to undo.
 */
#include "store/table/table.h"

#include <stdlib.h>
#include <string.h>

struct table_family *family_new(const struct wcs_family *family)
{
	struct table_family *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NULL;
	made->family = *family;
	if (family->type == WCS_TYPE_NONE)
		made->family.type = WCS_BYTES;
	made->family.gc = strdup(family->gc != NULL ? family->gc : "never");
	atomic_init(&made->writes, 0);
	if (made->family.gc != NULL)
		return made;
	free(made);
	return NULL;
}

void family_free(struct table_family *family)
{
	if (family == NULL)
		return;
	free(family->family.gc);
	free(family);
}

bool family_find(const struct wcs_table *table, struct wcs_slice name, size_t *at)
{
	size_t low = 0;
	size_t high = table->family_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *other = table->families[middle]->family.name;
		int order = wcs_slice_compare(name, (struct wcs_slice){other, strlen(other)});

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return false;
}

void family_warn_count(const struct wcs_table *table)
{
	if (table->family_count > WCS_FAMILIES_WARN)
		store_log(table->store, WCS_LOG_WARNING,
			  "table %s has %zu families; more than %u make it slow", table->name,
			  table->family_count, WCS_FAMILIES_WARN);
}

struct table_family *family_of(const struct wcs_table *table, const char *name)
{
	size_t at;

	return family_find(table, (struct wcs_slice){name, strlen(name)}, &at) ? table->families[at]
									       : NULL;
}
