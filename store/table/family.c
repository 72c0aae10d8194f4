/* SPDX-License-Identifier: MIT */
/*
 * Families in memory, and warnings of cells that a family hides as soon as they are written.
 *
 * A family object never changes: a new policy or type puts another object in its place, so that a
 * change that the engine refuses leaves nothing to undo.
 */
#include "store/table/table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"

#define HIDDEN_AGAIN (3600 * CLOCK_SECOND)

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

void hidden_tell(struct wcs_table *table, const char *name)
{
	struct table_family *family = family_of(table, name);
	int64_t now = clock_ns(), told = family ? atomic_load(&family->hidden_told) : now;

	if ((told == 0 || now - told >= HIDDEN_AGAIN) &&
	    atomic_compare_exchange_strong(&family->hidden_told, &told, now))
		store_log(table->store, WCS_LOG_WARNING,
			  "table %s, family %s: a cell was written that its policy hides at once",
			  table->name, name);
}

void hidden_tell_mutation(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	for (size_t i = 0; table->policies != NULL && i < mutation->write_count; i++)
		if (mutation->writes[i].hidden)
			hidden_tell(table, mutation->writes[i].family);
}
