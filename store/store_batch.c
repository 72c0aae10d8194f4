/* SPDX-License-Identifier: MIT */
/*
 * Many mutations in one call. What is wrong with the arguments of one is found before the engine is
 * asked, and ends the batch before it: the engine gets only what it may trust. So does a mutation
 * that writes where there is no room.
 */
#include "store/table/table.h"

#include <errno.h>

/* How many entries may go to the engine. *rc is what is wrong with the next. */
static size_t store_batch_good(const struct wcs_table *table, struct wcs_entry *entries,
			       size_t count, int *rc)
{
	size_t good = 0;

	for (; good < count; good++) {
		struct wcs_entry *entry = &entries[good];

		*rc = store_check_row(entry->row);
		if (*rc == 0)
			*rc = store_check_mutation(table, entry->mutation);
		if (*rc != 0)
			break;
		wcs_mutation_seal(entry->mutation);
	}
	return good;
}

/* How many of them may go to the engine now: those that only delete where there is no room for the
 * others. room: for what they write. */
static size_t store_batch_enter(struct wcs_table *table, const struct wcs_view *view,
				const struct wcs_entry *entries, size_t count, uint64_t *room,
				int *rc)
{
	uint64_t copied = 0;
	size_t deletes = 0;

	*room = 0;
	for (size_t i = 0; i < count; i++) {
		*room += room_of(entries[i].row, entries[i].mutation);
		if (*room == 0)
			deletes++;
	}
	*rc = room_copies_of(table, view, entries, count, &copied);
	*room += copied;
	if (*rc == 0)
		*rc = room_enter(table->store, *room);
	if (*rc == 0)
		return count;
	*room = 0;
	return deletes;
}

int wcs_rows_mutate(struct wcs_table *table, struct wcs_entry *entries, size_t count,
		    size_t *applied)
{
	const struct wcs_backend *backend = table->store->backend;
	struct wcs_view view;
	int rc, wrong = 0, full;
	uint64_t room;
	size_t good;

	*applied = 0;
	rc = table_enter(table);
	if (rc != 0)
		return rc;
	good = store_batch_good(table, entries, count, &wrong);
	view = table_view(table);
	good = store_batch_enter(table, &view, entries, good, &room, &full);
	if (full != 0)
		wrong = full;
	if (good > 0)
		rc = backend->mutate_many(table->store->db, &view, table->id, entries, good,
					  applied);
	for (size_t i = 0; i < *applied; i++)
		hidden_count_mutation(table, entries[i].mutation);
	for (size_t i = 0; i < good; i++)
		store_count_writes(table, entries[i].mutation);
	room_leave(table->store, room);
	table_leave(table);
	return rc != 0 ? rc : wrong;
}
