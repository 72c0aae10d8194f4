/* SPDX-License-Identifier: MIT */
/* Moves of a cursor: see cursor.h. */
#include "store/leveldb/core/cursor.h"

#include <errno.h>
#include <stdlib.h>

#define CURSOR_ROOM	  (64u << 10) /* bytes of a row that are kept at most */
#define CURSOR_AHEAD_ROOM (16u << 10) /* bytes that are read ahead at most */
#define CURSOR_STEPS	  8	      /* before a seek: a seek costs about as much */
/* Rows left with a seek until steps are tried again, if they did not do. */
#define CURSOR_RETRY 32

int ldb_cursor_open(struct ldb_cursor *cursor, struct ldb *db, unsigned int keep,
		    const struct ldb_key *bound)
{
	*cursor = (struct ldb_cursor){.db = db, .keep = keep, .bound = bound};
	if (keep > 0) {
		cursor->kept = malloc(CURSOR_ROOM);
		if (!cursor->kept)
			return -ENOMEM;
		cursor->end = cursor->kept + CURSOR_ROOM;
	}
	cursor->iter = ldb_db_iterate_cells(db, &cursor->erased);
	return 0;
}

void ldb_cursor_close(struct ldb_cursor *cursor)
{
	leveldb_iter_destroy(cursor->iter);
	ldb_erased_put(cursor->erased);
	free(cursor->kept);
}

int ldb_cursor_cell(const struct ldb_cursor *cursor, struct ldb_cell *cell)
{
	struct ldb_cursor_entry entry;
	const unsigned char *value;

	if (!cursor->at)
		return ldb_iter_cell(cursor->db, cursor->iter, cell);
	entry = ldb_cursor_entry(cursor->at);
	value = cursor->at + sizeof(entry) + entry.key_len;
	return ldb_record_cell_decode(value, entry.value_len, cell)
		       ? ldb_db_damaged(cursor->db, "a cell's record")
		       : 0;
}

/* Keeps the iterator's key, and its value, from `to` on, or before it: their bytes; 0: there is no
 * room. */
static size_t cursor_copy(struct ldb_cursor *cursor, const unsigned char *key, size_t key_len,
			  unsigned char *to, size_t room, bool before)
{
	size_t value_len;
	const char *value = leveldb_iter_value(cursor->iter, &value_len);
	struct ldb_cursor_entry entry = {(uint32_t)key_len, (uint32_t)value_len};
	size_t len = sizeof(entry) + key_len + value_len;

	if (key_len > room || value_len > room || len > room)
		return 0;
	to -= before ? len : 0;
	memcpy(to, &entry, sizeof(entry));
	memcpy(to + sizeof(entry), key, key_len);
	memcpy(to + sizeof(entry) + key_len, value, value_len);
	return len;
}

/* ---- Forward ----------------------------------------------------------------------------- */

void ldb_cursor_ahead(struct ldb_cursor *cursor)
{
	const unsigned char *key;
	size_t used = 0, key_len, len;

	cursor->at = NULL;
	cursor->steps = 0;
	if (!cursor->kept)
		cursor->kept = malloc(CURSOR_AHEAD_ROOM);
	for (int i = 0; i < LDB_CURSOR_AHEAD && leveldb_iter_valid(cursor->iter); i++) {
		key = ldb_iter_key(cursor->iter, &key_len);
		if (!cursor->kept || ldb_key_compare(key, key_len, cursor->bound) >= 0)
			break;
		len = cursor_copy(cursor, key, key_len, cursor->kept + used,
				  CURSOR_AHEAD_ROOM - used, false);
		if (len == 0)
			break;
		used += len;
		leveldb_iter_next(cursor->iter);
		ldb_erased_pass(cursor->erased, cursor->iter);
	}
	if (used == 0)
		return;
	cursor->at = cursor->kept;
	cursor->end = cursor->kept + used;
	cursor->error = ldb_db_iter_error(cursor->db, cursor->iter);
}

/* Moves the iterator to the first key >= the given one. Keys that are not in order end the cursor.
 */
static bool cursor_find(struct ldb_cursor *cursor, const void *key, size_t len)
{
	static const unsigned char none;

	cursor->at = NULL;
	cursor->steps = 0;
	if (ldb_iter_finds(cursor->iter, key, len))
		return true;
	cursor->unsorted = true;
	cursor->at = cursor->end = &none;
	return false;
}

void ldb_cursor_seek(struct ldb_cursor *cursor, const struct ldb_key *target)
{
	if (cursor_find(cursor, target->data, target->len))
		ldb_erased_pass(cursor->erased, cursor->iter);
}

bool ldb_cursor_skip(struct ldb_cursor *cursor, const struct ldb_key *target)
{
	bool kept = cursor->at && cursor->keep > 0;

	cursor->steps = 0;
	for (int steps = 0; kept || steps < CURSOR_STEPS; steps++) {
		ldb_cursor_next(cursor);
		if (!ldb_cursor_before(cursor, target))
			return true;
	}
	ldb_cursor_seek(cursor, target);
	return false;
}

void ldb_cursor_skip_row(struct ldb_cursor *cursor, const struct ldb_key *target)
{
	if (cursor->seeks > 0) {
		cursor->seeks--;
		ldb_cursor_seek(cursor, target);
	} else if (!ldb_cursor_skip(cursor, target)) {
		cursor->seeks = CURSOR_RETRY;
	}
}

int ldb_cursor_error(struct ldb_cursor *cursor)
{
	if (cursor->unsorted)
		return ldb_db_damaged(cursor->db, "the order of keys");
	if (cursor->at && cursor->at != cursor->end)
		return cursor->error;
	return ldb_db_iter_error(cursor->db, cursor->iter);
}

/* ---- Back -------------------------------------------------------------------------------- */

/* Puts the iterator at the last key before the given one. */
static void cursor_seek_before(struct ldb_cursor *cursor, const void *key, size_t len)
{
	if (!cursor_find(cursor, key, len))
		return;
	if (leveldb_iter_valid(cursor->iter))
		leveldb_iter_prev(cursor->iter);
	else
		leveldb_iter_seek_to_last(cursor->iter);
}

/* Moves the iterator, which goes back, before the erased range. */
static void cursor_pass_back(struct ldb_cursor *cursor)
{
	if (!cursor->unsorted && ldb_erased_at(cursor->erased, cursor->iter))
		cursor_seek_before(cursor, cursor->erased->from.data, cursor->erased->from.len);
}

/* Puts the iterator at the last key before the target. */
static void cursor_before(struct ldb_cursor *cursor, const struct ldb_key *target)
{
	leveldb_iterator_t *iter = cursor->iter;

	if (!cursor->at || (leveldb_iter_valid(iter) && !ldb_iter_before(iter, target)))
		cursor_seek_before(cursor, target->data, target->len);
	cursor_pass_back(cursor);
	cursor->at = cursor->end;
}

/* Keeps the row whose last key is under the iterator. False: it is too long. */
static bool cursor_keep(struct ldb_cursor *cursor, const struct ldb_key *row)
{
	unsigned char *at = cursor->kept + CURSOR_ROOM;

	for (unsigned int i = 0; i < cursor->keep; i++) {
		size_t key_len, len;
		const unsigned char *key = ldb_iter_key(cursor->iter, &key_len);

		len = cursor_copy(cursor, key, key_len, at, (size_t)(at - cursor->kept), true);
		if (len == 0)
			return false;
		at -= len;
		leveldb_iter_prev(cursor->iter);
		cursor_pass_back(cursor);
		if (!ldb_iter_within(cursor->iter, row)) {
			cursor->at = cursor->first = at;
			cursor->error = ldb_db_iter_error(cursor->db, cursor->iter);
			return true;
		}
	}
	return false;
}

bool ldb_cursor_rewind(struct ldb_cursor *cursor, const struct ldb_key *target)
{
	if (!cursor->at)
		return false;
	cursor->at = cursor->first;
	while (ldb_cursor_before(cursor, target))
		ldb_cursor_next(cursor);
	return true;
}

int ldb_cursor_back(struct ldb_cursor *cursor, struct ldb_key *target, const struct ldb_key *first)
{
	struct ldb_key_parts parts;
	const unsigned char *key;
	size_t len;

	cursor_before(cursor, target);
	if (cursor->unsorted)
		return ldb_cursor_error(cursor);
	if (!leveldb_iter_valid(cursor->iter) || ldb_iter_before(cursor->iter, first))
		return 0;
	key = ldb_iter_key(cursor->iter, &len);
	if (ldb_key_split(key, len, &parts))
		return ldb_db_damaged(cursor->db, "a cell's key");
	target->len = parts.row_end;
	memcpy(target->data, key, parts.row_end);
	if (cursor->seeks > 0)
		cursor->seeks--;
	else if (cursor_keep(cursor, target))
		return 1;
	else
		cursor->seeks = CURSOR_RETRY;
	ldb_cursor_seek(cursor, target);
	return 1;
}
