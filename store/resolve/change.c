/* SPDX-License-Identifier: MIT */
/* Looks at the cells of a row that is being changed, and collects its edit. */
#include "store/resolve/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum { CHANGE_CHUNK = 8192 };

/* Memory of an edit, the newest chunk first. */
struct change_memory {
	struct change_memory *next;
	size_t used, room;
	_Alignas(max_align_t) unsigned char bytes[];
};

/* ---- The row's cells --------------------------------------------------------------------- */

int change_find(struct change *c, const char *family, struct wcs_slice qualifier, int64_t ts,
		struct wcs_stored *cell)
{
	struct wcs_address at = {.table = c->table->id,
				 .row = c->edit->row,
				 .family = family,
				 .qualifier = qualifier,
				 .ts = ts};

	return c->row_empty ? 0 : c->table->store->engine.backend->rows_find(c->rows, &at, cell);
}

int change_older(struct change *c, const char *family, struct wcs_slice qualifier,
		 struct wcs_stored *cell)
{
	return cell->ts == 0 ? 0 : change_find(c, family, qualifier, cell->ts - 1, cell);
}

int change_server_ts(struct change *c, bool found, int64_t newest, int64_t *ts)
{
	int64_t grain = c->table->store->engine.backend->can.granularity;

	if (c->now < 0)
		c->now = store_now(c->table->store);
	if (c->now < 0)
		c->now = 0;
	if (found && newest == INT64_MAX)
		return -EOVERFLOW;
	*ts = found && newest >= c->now ? newest + 1 : c->now;
	if (grain > 1 && *ts % grain != 0 && __builtin_add_overflow(*ts, grain - *ts % grain, ts))
		return -EOVERFLOW;
	return 0;
}

bool change_has_ranks(const struct change *c, const char *family)
{
	const struct wcs_gc *gc = wcs_view_gc(c->view, family);

	return gc != NULL && wcs_gc_last_rank(gc) > 1;
}

int change_purge(struct change *c, const char *family, struct wcs_slice qualifier,
		 bool (*must)(void *ctx, const struct change_hidden *hidden), void *ctx)
{
	const struct wcs_gc *gc = wcs_view_gc(c->view, family);
	struct change_hidden hidden = {.rank = 1};
	struct wcs_stored cell;
	int found;

	if (gc == NULL)
		return 0;
	found = change_find(c, family, qualifier, WCS_TS_NEWEST, &cell);
	for (; found > 0; hidden.rank++) {
		hidden.ts = cell.ts;
		if (wcs_view_hides(c->view, wcs_view_expiry(gc, hidden.rank, cell.ts)))
			break;
		found = change_older(c, family, qualifier, &cell);
	}
	if (found <= 0)
		return found;
	if (must != NULL && !must(ctx, &hidden))
		return 0;
	return c->table->store->engine.backend->rows_purge(
		c->rows, &(struct wcs_address){.table = c->table->id,
					       .row = c->edit->row,
					       .family = family,
					       .qualifier = qualifier,
					       .ts = hidden.ts});
}

/* ---- The edit ---------------------------------------------------------------------------- */

void *change_alloc(struct wcs_edit *edit, size_t len)
{
	struct change_memory *chunk = edit->memory;
	size_t room = len > CHANGE_CHUNK ? len : CHANGE_CHUNK;

	len = (len + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	if (chunk == NULL || len > chunk->room - chunk->used) {
		chunk = malloc(sizeof(*chunk) + room + _Alignof(max_align_t));
		if (chunk == NULL)
			return NULL;
		*chunk = (struct change_memory){edit->memory, 0, room + _Alignof(max_align_t)};
		edit->memory = chunk;
	}
	chunk->used += len;
	return chunk->bytes + chunk->used - len;
}

void change_clear(struct wcs_edit *edit)
{
	while (edit->memory != NULL) {
		struct change_memory *chunk = edit->memory;

		edit->memory = chunk->next;
		free(chunk);
	}
	edit->delete_row = false;
	edit->delete_count = edit->set_count = edit->given_count = 0;
}

void change_free(struct wcs_edit *edit)
{
	change_clear(edit);
	free(edit->deletes);
	free(edit->sets);
}

int change_delete(struct change *c, struct wcs_delete entry)
{
	struct wcs_edit *edit = c->edit;
	int rc = grow(&edit->deletes, &edit->delete_room, edit->delete_count + 1, 4, sizeof(entry));

	if (rc == 0)
		edit->deletes[edit->delete_count++] = entry;
	return rc;
}

int change_set(struct change *c, struct wcs_set set)
{
	int64_t grain = c->table->store->engine.backend->can.granularity;
	struct wcs_edit *edit = c->edit;
	int rc;

	if (grain > 1 && set.ts % grain != 0)
		return -EINVAL;
	rc = grow(&edit->sets, &edit->set_room, edit->set_count + 1, 4, sizeof(set));

	if (rc == 0)
		edit->sets[edit->set_count++] = set;
	return rc;
}

int change_keep(struct change *c, const struct wcs_stored *cell, struct wcs_content *value)
{
	struct wcs_slice *part;
	struct wcs_stored *from;

	*value = (struct wcs_content){.size = cell->size};
	if (cell->size == 0)
		return 0;
	if (cell->data == NULL) {
		from = change_alloc(c->edit, sizeof(*from));
		if (from == NULL)
			return -ENOMEM;
		*from = *cell;
		value->from = from;
		return 0;
	}
	part = change_alloc(c->edit, sizeof(*part) + (size_t)cell->size);
	if (part == NULL)
		return -ENOMEM;
	*part = (struct wcs_slice){part + 1, (size_t)cell->size};
	memcpy(part + 1, cell->data, (size_t)cell->size);
	value->parts = part;
	value->part_count = 1;
	return 0;
}

int change_put(struct change *c, const struct wcs_write *write, int64_t ts,
	       const struct wcs_content *value, bool fresh)
{
	if (value->size > c->largest) {
		c->largest = value->size;
		c->largest_family = write->family;
	}
	if (write->order >= c->last_order) {
		c->last_order = write->order;
		c->last_ts = ts;
	}
	return change_set(c, (struct wcs_set){.family = write->family,
					      .qualifier = write->qualifier,
					      .ts = ts,
					      .value = *value,
					      .fresh = fresh || c->row_empty});
}
