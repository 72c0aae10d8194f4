/* SPDX-License-Identifier: MIT */
/*
 * Warns of cells that their policy hides as soon as they are written, stamped or moved; the resolve
 * layer says which (resolve.h). One line for a family and hour, without key and value.
 */
#include "store/table/table.h"

#include "lib/clock.h"

#define HIDDEN_AGAIN (3600 * CLOCK_SECOND)

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
