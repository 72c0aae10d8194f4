/* SPDX-License-Identifier: MIT */
/*
 * Many mutations in one call. What is wrong with the arguments of one is found before the engine is
 * asked, and ends the batch before it: the engine gets only what it may trust.
 */
#include "table.h"

#include <errno.h>

/* How many entries may go to the engine. *rc is what is wrong with the next. */
static size_t store_batch_good(const struct wcs_table *table, struct wcs_entry *entries,
			       size_t count, int *rc)
{
	size_t good = 0;

	for (; good < count; good++) {
		struct wcs_entry *entry = &entries[good];

		*rc = store_check_row(entry->row);
		if (*rc == 0 && !store_has_families(table, entry->mutation))
			*rc = -ENOENT;
		if (*rc != 0)
			break;
		wcs_mutation_seal(entry->mutation);
	}
	return good;
}

int wcs_rows_mutate(struct wcs_table *table, struct wcs_entry *entries, size_t count,
		    size_t *applied)
{
	const struct wcs_backend *backend = table->store->backend;
	struct wcs_view view;
	int rc, wrong = 0;
	size_t good;

	*applied = 0;
	rc = table_enter(table);
	if (rc != 0)
		return rc;
	good = store_batch_good(table, entries, count, &wrong);
	if (good > 0) {
		view = table_view(table);
		rc = backend->mutate_many(table->store->db, &view, table->id, entries, good,
					  applied);
	}
	for (size_t i = 0; i < good; i++)
		store_count_writes(table, entries[i].mutation);
	table_leave(table);
	return rc != 0 ? rc : wrong;
}
