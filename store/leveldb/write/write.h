/* SPDX-License-Identifier: MIT */
/* Rows that are being changed, and the functions of this folder. */
#ifndef WCS_LEVELDB_WRITE_H
#define WCS_LEVELDB_WRITE_H

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/extent.h"

/* A value in extents that an edit makes. */
struct ldb_made {
	const void *given;	     /* the bytes of one of the edit's given values */
	const struct wcs_edit *edit; /* NULL: not in the batch yet */
	size_t set;		     /* of the edit */
	uint64_t id;
	uint32_t extents;
	bool streamed; /* its extents are written, under an intent */
	bool replaced; /* by a later set of the edit: garbage from the start */
};

enum {
	LDB_ROWS_MASK_BITS = 64, /* stripes in a word of the mask */
	LDB_ROWS_FROM = 1024
};

struct ldb_rows {
	struct ldb *db;
	uint32_t table;
	uint64_t stripes[(LDB_STRIPES + LDB_ROWS_MASK_BITS - 1) / LDB_ROWS_MASK_BITS]; /* locked */
	leveldb_iterator_t *iter; /* made under the locks */
	leveldb_writebatch_t *batch;
	bool garbage;		   /* something became garbage */
	bool unsynced;		   /* extents or purges were written since the logs were synced */
	bool moved;		   /* the batch has a value in extents under a second key */
	bool looked;		   /* at keys since the iterator's error was asked for */
	bool changes;		   /* the batch has something */
	size_t deleted;		   /* bytes of keys that the batch deletes */
	struct ldb_erased *erased; /* to delete after the batch; NULL: none */
	bool erased_keys;	   /* some were deleted in it */
	bool has_crossed;
	struct ldb_range crossed; /* a run of tombstones, to be compacted */
	size_t batch_extents;	  /* bytes of extents in the batch, the planned ones included */
	struct ldb_made *made;
	size_t made_count, made_room;
	size_t used;   /* of the given values, which come first in made */
	size_t sought; /* bytes of from; 0: not known */
	/* The iterator is at the first key from here on. */
	unsigned char from[LDB_ROWS_FROM];
	struct ldb_key key;
	unsigned char record[LDB_CELL_MAX];
};

/* ---- rows.c ---- */
/* Puts the iterator at the first key from rows->key on. Does not seek if the iterator is
 * there already: for ascending rows in an empty range one seek serves all. */
void ldb_rows_seek(struct ldb_rows *rows);
/* Moves the iterator one key on. */
void ldb_rows_next(struct ldb_rows *rows);
/* Moves the iterator one key on, from a deleted one. If that steps over many tombstones,
 * ldb_rows_close has their range compacted. */
void ldb_rows_step(struct ldb_rows *rows);
/* The iterator's error, if it was moved since the last call. */
int ldb_rows_error(struct ldb_rows *rows);
/* Deletes the cell under the iterator, and counts its dead bytes. taken: its value lives on.
 * *key_len: bytes of its key. */
int ldb_rows_delete(struct ldb_rows *rows, bool taken, size_t *key_len);
/* Forgets the range of an edit that is not applied. */
void ldb_rows_cancel(struct ldb_rows *rows);

/* ---- erase.c ---- */
/* Is the batch full of deletes, and no range set? */
bool ldb_erase_starts(const struct ldb_rows *rows);
/* Sets the range of keys of the row that is deleted behind the batch. -ENOMEM. */
int ldb_erase_set(struct ldb_rows *rows, struct wcs_slice from, struct wcs_slice to);
/* Writes the batch, and deletes the range. Readers see the whole change or nothing of it. */
int ldb_erase_commit(struct ldb_rows *rows, leveldb_writebatch_t *batch, bool sync);
/* Finishes a drop of keys that a crash interrupted. */
int ldb_erase_resume(struct ldb *db, uint64_t id, const struct ldb_drop *what);

/* ---- values.c ---- */
/* Streams the edit's given values that are too large for a batch. No row is locked. */
int ldb_values_prepare(struct ldb_rows *rows, const struct wcs_edit *edit);
/* Makes garbage of the values that an edit streamed and that no cell got. */
void ldb_values_abandon(struct ldb_rows *rows);
/* Syncs the logs if rows->unsynced. Must come before the batch is written. */
int ldb_values_sync(struct ldb_rows *rows);
/* Writes the extents of the set's value, unless they were streamed before the lock. *id: of the
 * value. */
int ldb_values_extents(struct ldb_rows *rows, const struct wcs_edit *edit, size_t set,
		       uint64_t *id);
/* A later set of the edit makes the same cell: the value of the earlier one is garbage. */
void ldb_values_replace(struct ldb_rows *rows, const struct wcs_edit *edit, size_t set);
/* Ends the intents in the batch: the last step before it is written. */
void ldb_values_end(struct ldb_rows *rows, leveldb_writebatch_t *batch);

#endif
