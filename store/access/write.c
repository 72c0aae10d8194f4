/* SPDX-License-Identifier: MIT */
/*
 * Writes: a mutation of one row, many in one call, moves of cells, and drops of subtrees. Each call
 * but a drop checks its arguments, takes the table's gate, reserves room for the bytes given, and
 * calls the resolve layer, which may trust the arguments.
 */
#include "store/heat/heat_count.h"
#include "store/keys/salt_ranges.h"
#include "store/policy/aggregate.h"
#include "store/resolve/resolve.h"
#include "store/salt/salt.h"

#include <errno.h>
#include <string.h>

/* Has the table each family that the mutation names (-ENOENT), and does its type take the writes
 * (-EINVAL)? Gives conditions and writes their types, and conditions the value to expect, which may
 * point into the array of conditions: valid until the mutation gets another condition. */
static int store_check_mutation(const struct wcs_table *table, struct wcs_mutation *mutation)
{
	const struct table_family *family;
	int rc = 0;

	for (size_t i = 0; i < mutation->condition_count && rc == 0; i++) {
		struct wcs_condition *condition = &mutation->conditions[i];

		family = family_of(table, condition->family);
		if (family == NULL)
			return -ENOENT;
		condition->type = family->family.type;
		rc = wcs_aggregate_error(wcs_aggregate_refuses_if(condition));
		if (rc == 0)
			wcs_aggregate_expect(condition);
	}
	for (size_t i = 0; i < mutation->delete_count && rc == 0; i++)
		if (family_of(table, mutation->deletes[i].family) == NULL)
			rc = -ENOENT;
	for (size_t i = 0; i < mutation->write_count && rc == 0; i++) {
		struct wcs_write *write = &mutation->writes[i];

		family = family_of(table, write->family);
		if (family == NULL)
			return -ENOENT;
		write->type = family->family.type;
		rc = wcs_aggregate_error(wcs_aggregate_refuses(write));
	}
	return rc;
}

/* Counts a call that wrote to the family, even if it failed, since an engine may have written
 * before it failed. The caller has not left the gate yet: see table_change.c. */
static void store_count_write(struct wcs_table *table, const char *family)
{
	struct table_family *written = family_of(table, family);

	if (written != NULL)
		atomic_fetch_add(&written->writes, 1);
}

static void store_count_writes(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	const char *last = NULL;

	for (size_t i = 0; i < mutation->write_count; i++) {
		const char *family = mutation->writes[i].family;

		if (last != NULL && strcmp(last, family) == 0)
			continue;
		store_count_write(table, family);
		last = family;
	}
}

/* ---- Mutations --------------------------------------------------------------------------- */

/* A malformed mutation ends the batch before it: resolve/ gets only mutations that it may trust.
 * Returns how many it may get; *rc is the error of the next. */
static size_t store_batch_good(const struct wcs_table *table, struct wcs_entry *entries,
			       size_t count, int *rc)
{
	size_t good = 0;

	for (; good < count; good++) {
		struct wcs_entry *entry = &entries[good];

		*rc = store_check_row(entry->row);
		if (*rc == 0 && entry->row.len > wcs_keys_row_max(wcs_table_keys(table)))
			*rc = -ENAMETOOLONG;
		if (*rc == 0)
			*rc = store_check_mutation(table, entry->mutation);
		if (*rc != 0)
			break;
		wcs_mutation_seal(entry->mutation);
	}
	return good;
}

static int store_mutate(struct wcs_table *table, struct wcs_entry *entries, size_t count,
			enum room_for what, size_t *applied)
{
	struct wcs_view view;
	int rc, wrong = 0, full;
	int64_t began = heat_begin(table);
	uint64_t room = 0, old = 0;
	size_t good;

	*applied = 0;
	rc = table_enter(table);
	if (rc != 0)
		return rc;
	good = store_batch_good(table, entries, count, &wrong);
	view = table_view(table);
	full = room_enter_writes(table, entries, good, what, &room);
	if (full != 0) { /* only the deletes before the first write may go to the engine */
		wrong = full;
		count = good;
		for (good = 0; good < count && entries[good].mutation->write_count == 0;)
			good++;
	}
	rc = resolve_rows(table, &view, entries, good, what, applied);
	heat_count_mutations(table, entries, *applied, began);
	for (size_t i = 0; i < *applied; i++) {
		hidden_tell_mutation(table, entries[i].mutation);
		old += wcs_mutation_old(entries[i].mutation);
	}
	if (old > 0)
		atomic_fetch_add_explicit(&table->store->cells_old, old, memory_order_relaxed);
	for (size_t i = 0; i < good; i++)
		store_count_writes(table, entries[i].mutation);
	room_leave(table->store, room);
	table_leave(table);
	return rc != 0 ? rc : wrong;
}

int wcs_rows_mutate(struct wcs_table *table, struct wcs_entry *entries, size_t count,
		    size_t *applied)
{
	return store_mutate(table, entries, count, ROOM_NEW, applied);
}

int wcs_row_mutate(struct wcs_table *table, struct wcs_slice row, struct wcs_mutation *mutation,
		   int64_t *ts)
{
	struct wcs_entry entry = {.row = row, .mutation = mutation};
	size_t applied;
	int rc = store_mutate(table, &entry, 1, ROOM_BEGUN, &applied);

	if (rc == 0 && ts != NULL)
		*ts = entry.ts;
	return rc;
}

/* ---- Moves ------------------------------------------------------------------------------- */

static int store_check_move(const struct wcs_move *move)
{
	bool newest = move->kind == WCS_MOVE_CELL_NEWEST, cell = move->kind == WCS_MOVE_CELL;
	bool stamp = move->kind == WCS_MOVE_STAMP;
	int rc = store_check_slice(move->from, WCS_QUALIFIER_MAX);

	if (rc == 0 && !stamp)
		rc = store_check_slice(move->to, WCS_QUALIFIER_MAX);
	if (rc == 0 &&
	    ((unsigned int)move->kind > WCS_MOVE_STAMP || ((newest || cell) && move->from_ts < 0) ||
	     ((stamp || cell) && move->to_ts < 0) ||
	     (newest && wcs_slice_compare(move->from, move->to) == 0)))
		rc = -EINVAL;
	return rc;
}

int wcs_cells_move(struct wcs_table *table, struct wcs_slice row, const struct wcs_move *move,
		   int64_t *ts)
{
	int rc = store_check_row(row);
	struct wcs_view view;
	int64_t made = 0, began = heat_begin(table);
	bool hidden = false;

	if (rc == 0)
		rc = store_check_move(move);
	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	view = table_view(table);
	rc = row.len > wcs_keys_row_max(wcs_table_keys(table)) ? -ENAMETOOLONG
	     : family_of(table, move->family) != NULL	       ? 0
							       : -ENOENT;
	if (rc == 0) {
		rc = resolve_move(table, &view, row, move, &made, &hidden);
		if (rc == 0 && hidden)
			hidden_tell(table, move->family);
		store_count_write(table, move->family);
		if (rc == 0)
			heat_count_cells(table, wcs_table_keys(table), row, 0, 2, began);
	}
	table_leave(table);
	if (rc == 0 && ts != NULL)
		*ts = made;
	return rc;
}

/* ---- Drops ------------------------------------------------------------------------------- */

/* Holds admin, not the gate: during a long drop the table stays, and lookups do not wait. The
 * delimiter changes under admin only. */
int wcs_rows_drop(struct wcs_table *table, const struct wcs_slice *key)
{
	const bool above = key != NULL && key->len > 0; /* there can be a row of that key itself */
	struct wcs_subtree subtree;
	size_t first;
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = table->protected ? -EPERM : wcs_subtree_init(&subtree, key, table->delimiter);
	if (rc == 0 && above && key->len > wcs_keys_row_max(wcs_table_keys(table)))
		rc = -ENAMETOOLONG;
	if (rc == 0) {
		first = above ? 0 : subtree.count - 1;
		rc = salt_drop(&table->store->engine, wcs_table_keys(table), table->id,
			       subtree.ranges + first, subtree.count - first);
	}
	table_unlock(table);
	return rc;
}
