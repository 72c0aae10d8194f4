/* SPDX-License-Identifier: MIT */
/*
 * Counts the cells that their policy hides as soon as they are written, stamped or moved; the
 * resolve layer says which (resolve.h). Logs one line for a family in the time of the options,
 * without key and value.
 */
#include "store/table/table.h"

#include <inttypes.h>
#include <string.h>

#include "lib/clock.h"

static void hidden_say(const struct wcs_table *table, struct table_family *family, bool more)
{
	uint64_t cells = atomic_exchange(&family->hidden.untold, 0);

	if (cells > 0)
		store_log(table->store, WCS_LOG_WARNING,
			  "table %s, family %s: %" PRIu64 "%s cell%s written that its policy "
			  "hides at once",
			  table->name, family->family.name, cells, more ? " more" : "",
			  cells == 1 ? " was" : "s were");
}

static void hidden_tell_family(const struct wcs_table *table, struct table_family *family)
{
	int64_t every = table->store->options.hidden_every, now = clock_ns() / 1000;
	int64_t told = atomic_load(&family->hidden.told);

	if (every <= 0 || atomic_load(&family->hidden.untold) == 0 ||
	    (told != 0 && now - told < every))
		return;
	if (atomic_compare_exchange_strong(&family->hidden.told, &told, now))
		hidden_say(table, family, told != 0);
}

void hidden_count(struct wcs_table *table, const char *name, uint64_t cells)
{
	struct table_family *family = family_of(table, name);

	if (family == NULL)
		return;
	atomic_fetch_add(&table->store->hidden, cells);
	atomic_fetch_add(&family->hidden.untold, cells);
	hidden_tell_family(table, family);
}

void hidden_count_mutation(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	const char *family = NULL; /* writes of one family are together */
	uint64_t cells = 0;

	if (table->policies == NULL)
		return;
	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		if (!write->hidden)
			continue;
		if (family != NULL && strcmp(family, write->family) != 0) {
			hidden_count(table, family, cells);
			cells = 0;
		}
		family = write->family;
		cells++;
	}
	if (family != NULL)
		hidden_count(table, family, cells);
}

void hidden_tell(struct wcs_table *table)
{
	for (size_t i = 0; i < table->family_count; i++)
		hidden_tell_family(table, table->families[i]);
}

void hidden_end(const struct wcs_table *table, struct table_family *family)
{
	hidden_say(table, family, atomic_load(&family->hidden.told) != 0);
}
