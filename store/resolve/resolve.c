/* SPDX-License-Identifier: MIT */
/*
 * Applies mutations: those of a group are decided one after the other, and handed to the engine in
 * one call.
 *
 * - A group has no row twice, so each of its mutations sees everything that came before it: the
 *   writes of earlier groups.
 * - If a mutation fails, the group ends before it, so exactly the mutations before are applied.
 * - In a salted table sorted rows are scattered over the buckets. A group is decided in the order
 *   of its stored keys, so that the engine looks for rows side by side, and applied in its own
 *   order.
 * - A mutation that may be large, or show hidden cells again, goes alone. So the memory of a group
 *   and the time in which its rows are locked are bounded.
 */
#include "store/keys/salt_ranges.h"
#include "store/resolve/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"

enum {
	RESOLVE_ROWS = 512,  /* in a group */
	RESOLVE_SEEN = 1024, /* slots for their hashes; a power of two */
	RESOLVE_SETS = 16,   /* of an edit, whose memory is kept */
};
#define RESOLVE_BYTES (256u << 10) /* keys and values that a group puts */

/* The stored keys of a group in a salted table, and their order. */
struct resolve_stored {
	struct resolve_row {
		struct wcs_slice key;
		size_t index; /* in the group */
	} order[RESOLVE_ROWS];
	unsigned char keys[RESOLVE_BYTES + RESOLVE_ROWS * WCS_KEYS_SALT];
};

/* The edits of a batch. The store keeps the last one, with the arrays of small edits, for the next
 * batch. */
struct resolve_edits {
	uint64_t seen[RESOLVE_SEEN]; /* hashes of the group's rows, 0: none */
	struct wcs_edit all[RESOLVE_ROWS];
	struct resolve_stored *stored; /* NULL: no batch was of a salted table */
};

struct resolve {
	const struct wcs_table *table;
	const struct wcs_view *view;
	struct wcs_entry *entries;
	size_t count;		 /* left */
	enum room_for room;	 /* for copies */
	struct wcs_slice *given; /* of a mutation that is alone */
	struct wcs_edit *edits;
	uint64_t *seen;
	struct resolve_row *order;
	unsigned char *keys; /* room for the stored keys of a group */
};

void resolve_edits_free(struct resolve_edits *edits)
{
	for (size_t i = 0; edits != NULL && i < RESOLVE_ROWS; i++)
		change_free(&edits->all[i]);
	if (edits != NULL)
		free(edits->stored);
	free(edits);
}

/* Keeps the edits for the next batch, but not the memory of long rows. */
static void resolve_keep(struct wcs_store *store, struct resolve_edits *edits, size_t count)
{
	for (size_t i = 0; i < count && i < RESOLVE_ROWS; i++) {
		struct wcs_edit *edit = &edits->all[i];

		if (edit->set_room <= RESOLVE_SETS && edit->delete_room == 0 && !edit->memory)
			continue;
		change_free(edit);
		*edit = (struct wcs_edit){.delete_row = false};
	}
	resolve_edits_free(atomic_exchange(&store->edits, edits));
}

/* ---- Groups ------------------------------------------------------------------------------ */

/* About how many bytes the mutation puts; SIZE_MAX: it must go alone. */
static size_t resolve_size(const struct wcs_view *view, const struct wcs_entry *entry)
{
	const struct wcs_mutation *mutation = entry->mutation;
	size_t size = entry->row.len;

	for (size_t i = 0; i < mutation->write_count && size <= RESOLVE_BYTES; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		if (write->kind == WCS_WRITE_APPEND)
			return SIZE_MAX;
		size += entry->row.len + write->qualifier.len;
		size += write->type == WCS_INTHLL ? WCS_AGGREGATE_VALUE_MAX : write->value.len;
	}
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (mutation->deletes[i].kind == WCS_DELETE_CELL &&
		    wcs_view_gc(view, mutation->deletes[i].family) != NULL)
			return SIZE_MAX;
	return size <= RESOLVE_BYTES ? size : SIZE_MAX;
}

/* Adds the row to the group. False: the group has it, or another row with its hash. */
static bool resolve_note(struct resolve *resolve, struct wcs_slice row)
{
	uint64_t hash = hash_bytes(HASH_START, row.data, row.len);
	size_t at;

	hash = hash != 0 ? hash : 1;
	for (at = hash % RESOLVE_SEEN; resolve->seen[at] != 0; at = (at + 1) % RESOLVE_SEEN)
		if (resolve->seen[at] == hash)
			return false;
	resolve->seen[at] = hash;
	return true;
}

/* How many of the entries left make the next group. 0: the first must go alone. */
static size_t resolve_group(struct resolve *resolve)
{
	size_t bytes = 0, n;

	if (resolve->count == 1)
		return 0;
	memset(resolve->seen, 0, RESOLVE_SEEN * sizeof(*resolve->seen));
	for (n = 0; n < resolve->count && n < RESOLVE_ROWS; n++) {
		size_t size = resolve_size(resolve->view, &resolve->entries[n]);

		if (size > RESOLVE_BYTES - bytes || !resolve_note(resolve, resolve->entries[n].row))
			break;
		bytes += size;
	}
	return n;
}

/* ---- Mutations --------------------------------------------------------------------------- */

/* Tells the engine of the large values of a mutation that is alone. */
static int resolve_give(struct resolve *resolve)
{
	const struct wcs_mutation *mutation = resolve->entries->mutation;
	struct wcs_edit *edit = resolve->edits;

	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];
		bool sets = write->kind == WCS_WRITE_SET || write->kind == WCS_WRITE_SET_NEWEST;

		if (!sets || wcs_type_aggregates(write->type) ||
		    write->value.len <= WCS_VALUE_INLINE)
			continue;
		if (resolve->given == NULL)
			resolve->given = calloc(mutation->write_count - i, sizeof(*edit->given));
		if (resolve->given == NULL)
			return -ENOMEM;
		resolve->given[edit->given_count++] = write->value;
	}
	edit->given = resolve->given;
	return 0;
}

/* Cells behind those that the mutation deletes must not be shown again. */
static int resolve_purge(struct change *c)
{
	const struct wcs_delete *last = NULL, *entry = c->mutation->deletes;
	int rc = 0;

	for (size_t i = 0; i < c->mutation->delete_count && rc == 0; i++, entry++) {
		if (entry->kind != WCS_DELETE_CELL || !change_has_ranks(c, entry->family) ||
		    (last != NULL && strcmp(last->family, entry->family) == 0 &&
		     wcs_slice_compare(last->qualifier, entry->qualifier) == 0))
			continue;
		last = entry;
		rc = change_purge(c, entry->family, entry->qualifier, NULL, NULL);
	}
	return rc;
}

static int resolve_compare(const void *a, const void *b)
{
	return wcs_slice_compare(((const struct resolve_row *)a)->key,
				 ((const struct resolve_row *)b)->key);
}

/* Decides the next n mutations. *made: how many before the first that fails, whose error is
 * returned; *c is the last change. */
static int resolve_decide(struct resolve *resolve, struct wcs_rows *rows, size_t n, bool alone,
			  struct change *c, size_t *made)
{
	bool sorts = n > 1 && wcs_keys_salted(wcs_table_keys(resolve->table));
	int rc = 0;

	for (size_t i = 0; i < n && sorts; i++)
		resolve->order[i] = (struct resolve_row){resolve->edits[i].row, i};
	if (sorts)
		qsort(resolve->order, n, sizeof(*resolve->order), resolve_compare);
	*made = n;
	for (size_t i = 0; i < n; i++) {
		size_t index = sorts ? resolve->order[i].index : i;
		int failed;

		if (index >= *made)
			continue;
		*c = (struct change){.table = resolve->table,
				     .view = resolve->view,
				     .mutation = resolve->entries[index].mutation,
				     .rows = rows,
				     .edit = &resolve->edits[index],
				     .sorted = sorts,
				     .now = -1};
		failed = alone ? resolve_purge(c) : 0;
		if (failed == 0)
			failed = mutate_row(c);
		if (failed != 0) {
			rc = failed;
			*made = index;
			continue;
		}
		resolve->entries[index].ts = c->last_ts;
	}
	return rc;
}

/* Decides and applies the next n mutations; *done becomes how many were applied: the engine may
 * stop early, so that the rows are not locked for long. */
static int resolve_apply(struct resolve *resolve, size_t n, bool alone, size_t *done)
{
	struct wcs_store *store = resolve->table->store;
	struct wcs_rows *rows;
	struct change c = {0};
	size_t made = 0;
	int rc, written;
	uint64_t copied;

	rc = store->engine.backend->rows_open(store->engine.db, resolve->table->id, resolve->edits,
					      n, &rows);
	if (rc != 0)
		return rc;
	rc = resolve_decide(resolve, rows, n, alone, &c, &made);
	copied = rc == 0 && alone ? c.copied : 0;
	written = room_enter(store, copied, resolve->room);
	if (written == 0) {
		if (made > 0)
			written =
				store->engine.backend->rows_apply(rows, resolve->edits, made, done);
		room_leave(store, copied);
	}
	for (size_t i = 0; i < *done; i++)
		feed_tell(resolve->table, resolve->entries[i].row, &resolve->edits[i]);
	store->engine.backend->rows_close(rows);
	if (alone && *done > 0)
		store_weigh_value(store, c.largest_family, c.largest);
	return written != 0 || *done < made ? written : rc;
}

/* Applies the next group, or a mutation alone; *done becomes how many were applied. */
static int resolve_next(struct resolve *resolve, size_t *done)
{
	const struct wcs_keys *keys = wcs_table_keys(resolve->table);
	unsigned char *bytes = resolve->keys;
	size_t n = resolve_group(resolve);
	bool alone = n == 0;
	int rc = 0;

	n += alone;
	*done = 0;
	for (size_t i = 0; i < n; i++) {
		struct wcs_edit *edit = &resolve->edits[i];

		change_clear(edit);
		edit->row = wcs_keys_stored(keys, resolve->entries[i].row, bytes);
		if (edit->row.data == bytes)
			bytes += edit->row.len;
	}
	if (alone)
		rc = resolve_give(resolve);
	if (rc == 0)
		rc = resolve_apply(resolve, n, alone, done);
	free(resolve->given);
	resolve->given = NULL;
	return rc;
}

int resolve_rows(const struct wcs_table *table, const struct wcs_view *view,
		 struct wcs_entry *entries, size_t count, enum room_for room, size_t *applied)
{
	struct wcs_edit alone = {.delete_row = false};
	unsigned char key[WCS_ROW_KEY_MAX];
	struct resolve resolve = {
		.table = table, .view = view, .room = room, .edits = &alone, .keys = key};
	struct resolve_edits *edits = NULL;
	size_t done;
	int rc = 0;

	*applied = 0;
	if (count > 1) {
		edits = atomic_exchange(&table->store->edits, NULL);
		if (edits == NULL)
			edits = calloc(1, sizeof(*edits));
		if (edits == NULL)
			return -ENOMEM;
		resolve.edits = edits->all;
		resolve.seen = edits->seen;
	}
	if (count > 1 && wcs_keys_salted(wcs_table_keys(table))) {
		if (edits->stored == NULL)
			edits->stored = malloc(sizeof(*edits->stored));
		if (edits->stored == NULL) {
			resolve_edits_free(edits);
			return -ENOMEM;
		}
		resolve.order = edits->stored->order;
		resolve.keys = edits->stored->keys;
	}
	for (int tries = 0; rc == 0 && *applied < count;) {
		resolve.entries = entries + *applied;
		resolve.count = count - *applied;
		rc = resolve_next(&resolve, &done);
		*applied += done;
		tries = done > 0 ? 0 : tries + 1;
		if (rc == -EAGAIN)
			rc = tries < RESOLVE_TRIES ? 0 : -EBUSY;
	}
	change_free(&alone);
	if (rc == 0 && edits != NULL)
		resolve_keep(table->store, edits, count);
	else
		resolve_edits_free(edits);
	return rc;
}
