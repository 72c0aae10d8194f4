/* SPDX-License-Identifier: MIT */
/*
 * The place of a scan among the keys: it moves forward key by key, and back row by row.
 *
 * A step back costs LevelDB twice a step forward, a change of direction as much as two seeks or
 * twenty steps. The cursor therefore goes back over all keys of a short row, and keeps them: they
 * are read forward from memory, while the iterator stands at the row before. In a long row it seeks
 * to the first key.
 *
 * An iterator passes over a block that it cannot read, and tells only when asked, which costs up to
 * half a step. A cursor that goes forward for a while keeps the next keys of its range as well, and
 * asks once for all of them.
 */
#ifndef WCS_LEVELDB_CURSOR_H
#define WCS_LEVELDB_CURSOR_H

#include <string.h>

#include "store/leveldb/engine.h"

#define LDB_CURSOR_AHEAD 16 /* keys that are kept at once, behind as many steps */

struct ldb_cursor {
	struct ldb *db;
	leveldb_iterator_t *iter;
	struct ldb_erased *erased; /* the range that it passes over */
	bool unsorted;		   /* a seek ended before its key: there are no more keys */
	unsigned int seeks; /* moves from row to row that seek before steps are tried again */
	unsigned int steps; /* forward in a row */
	const struct ldb_key *bound;
	/* `at` is the present key among the kept ones; NULL: none are kept, and the iterator has
	 * the key. At `end` there is no key. While keys are kept, the iterator is behind them, or
	 * at the last key before their row. */
	const unsigned char *at, *end;
	int error;		    /* of the iterator, when they were kept */
	const unsigned char *first; /* the first kept key */
	unsigned char *kept;
	unsigned int keep; /* keys at most */
};

/* Before each kept key and its value. */
struct ldb_cursor_entry {
	uint32_t key_len, value_len;
};

/* keep: the keys of a row that is short; 0: the cursor will not move back, and reads ahead as far
 * as bound, which the caller may change between two moves. It is nowhere until it has moved.
 * -ENOMEM. */
int ldb_cursor_open(struct ldb_cursor *cursor, struct ldb *db, unsigned int keep,
		    const struct ldb_key *bound);
void ldb_cursor_close(struct ldb_cursor *cursor);

static inline struct ldb_cursor_entry ldb_cursor_entry(const unsigned char *at)
{
	struct ldb_cursor_entry entry;

	memcpy(&entry, at, sizeof(entry));
	return entry;
}

/* The present key, good until the cursor moves; NULL: it is at the end of all keys, or of a row
 * that it has moved back to. */
static inline const unsigned char *ldb_cursor_key(const struct ldb_cursor *cursor, size_t *len)
{
	if (!cursor->at)
		return leveldb_iter_valid(cursor->iter) ? ldb_iter_key(cursor->iter, len) : NULL;
	if (cursor->at == cursor->end)
		return NULL;
	*len = ldb_cursor_entry(cursor->at).key_len;
	return cursor->at + sizeof(struct ldb_cursor_entry);
}

/* The cell under the present key. -EIO, logged: damaged. */
int ldb_cursor_cell(const struct ldb_cursor *cursor, struct ldb_cell *cell);

/* Keeps the iterator's keys and some behind. */
void ldb_cursor_ahead(struct ldb_cursor *cursor);

static inline void ldb_cursor_next(struct ldb_cursor *cursor)
{
	struct ldb_cursor_entry entry;

	if (!cursor->at) {
		leveldb_iter_next(cursor->iter);
		ldb_erased_pass(cursor->erased, cursor->iter);
		if (++cursor->steps >= LDB_CURSOR_AHEAD && cursor->keep == 0)
			ldb_cursor_ahead(cursor);
		return;
	}
	entry = ldb_cursor_entry(cursor->at);
	cursor->at += sizeof(entry) + entry.key_len + entry.value_len;
	if (cursor->at == cursor->end && cursor->keep == 0)
		ldb_cursor_ahead(cursor);
}

/* Whether the present key is before another. */
static inline bool ldb_cursor_before(const struct ldb_cursor *cursor, const struct ldb_key *other)
{
	size_t len;
	const unsigned char *key = ldb_cursor_key(cursor, &len);

	return key && ldb_key_compare(key, len, other) < 0;
}

/* Whether the present key starts with prefix. */
static inline bool ldb_cursor_within(const struct ldb_cursor *cursor, const struct ldb_key *prefix)
{
	size_t len;
	const unsigned char *key = ldb_cursor_key(cursor, &len);

	return key && ldb_key_starts(key, len, prefix);
}

/* Moves to the first key >= target, anywhere. */
void ldb_cursor_seek(struct ldb_cursor *cursor, const struct ldb_key *target);
/* Moves forward within a row, or a little behind it, to the first key >= target: by a few steps
 * first, as it is mostly near. */
bool ldb_cursor_skip(struct ldb_cursor *cursor, const struct ldb_key *target);
/* Moves forward from row to row: without steps if they did not suffice lately. */
void ldb_cursor_skip_row(struct ldb_cursor *cursor, const struct ldb_key *target);
/* Moves to the first key of the last row between first and target, whose prefix becomes the target.
 * The target is the prefix of the cursor's row, or before it, unless the cursor has left. 1: there;
 * 0: there is no such row; -EIO, logged: a key is damaged. */
int ldb_cursor_back(struct ldb_cursor *cursor, struct ldb_key *target, const struct ldb_key *first);
/* Moves to the first key >= target of the row that it is in. False: its keys are not kept. */
bool ldb_cursor_rewind(struct ldb_cursor *cursor, const struct ldb_key *target);

/* The error that ended the cursor, or made it pass over keys: -EIO, logged. 0: none. */
int ldb_cursor_error(struct ldb_cursor *cursor);

/* The next move may be to anywhere. */
static inline void ldb_cursor_leave(struct ldb_cursor *cursor)
{
	cursor->at = NULL;
}

#endif
