/* SPDX-License-Identifier: MIT */
/* A change of one row under way, and the functions of this folder. */
#ifndef WCS_LEVELDB_MUTATE_H
#define WCS_LEVELDB_MUTATE_H

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/extent.h"

/* A value in extents that the mutation makes. */
struct ldb_made {
	const struct wcs_write *write;
	int64_t ts; /* -1: not stored yet */
	uint64_t id;
	uint32_t extents;
	bool streamed; /* its extents are written, under an intent */
	bool replaced; /* by a later write of the mutation: garbage from the start */
};

struct ldb_mutate {
	struct ldb *db;
	const struct wcs_view *view;
	struct wcs_mutation *mutation; /* NULL: a move */
	leveldb_writebatch_t *batch;
	leveldb_iterator_t *iter; /* a view made under the row's lock; its maker ends it */
	bool row_empty;		  /* the store has no cell of the row; false: unknown */
	bool changes;		  /* the batch holds something */
	bool garbage;		  /* some of it makes garbage */
	bool unsynced;		  /* extents were streamed since the logs were synced */
	size_t deleted;		  /* bytes of keys that the batch deletes */
	size_t batch_extents;	  /* bytes of extents in the batch, the planned ones included */
	int64_t now;		  /* -1: not asked yet */
	size_t last_order;	  /* of the writes put so far, the one added last; its timestamp */
	int64_t last_ts;
	uint64_t largest; /* size and family of the largest value made */
	const char *largest_family;
	struct ldb_made *made;
	size_t made_count, made_room;
	size_t prepared, prepared_used;		/* the first of made: streamed before the lock */
	size_t row_end;				/* the key's length as the row's prefix */
	struct ldb_key key;			/* the row's prefix, and a key below it */
	unsigned char newest[WCS_VALUE_INLINE]; /* of the present column */
	unsigned char record[LDB_CELL_MAX];
};

/* ---- row.c ---- */
#define LDB_ROW_STEPS 8u
/* A hash of the row; its lock is that of the stripe. */
uint64_t ldb_row_hash(uint32_t table, struct wcs_slice row);
static inline size_t ldb_row_stripe(uint64_t hash)
{
	return (hash ^ hash >> 32) % LDB_STRIPES;
}
pthread_mutex_t *ldb_row_lock(struct ldb *db, uint32_t table, struct wcs_slice row);
/* Starts a change of the row, of which m->db and m->view are set. The caller frees made, and the
 * batch. */
void ldb_row_init(struct ldb_mutate *m, uint32_t table, struct wcs_slice row,
		  struct wcs_mutation *mutation, leveldb_writebatch_t *batch);
/* Makes the key the prefix of a column of the row. */
void ldb_row_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier);
/* Puts the cell (key, ts) into the batch, with the record in m->record. */
void ldb_row_put(struct ldb_mutate *m, size_t record_len);
/* Deletes the cell under m->iter, as ldb_db_batch_cell does, and counts its dead bytes. */
int ldb_row_delete(struct ldb_mutate *m, size_t *key_len);
/* Accounts for the cell at m->key, if there is one, as replaced; moves m->iter there. */
int ldb_row_replaced(struct ldb_mutate *m);
/* The server's timestamp in a column with (found) or without a newest cell. -EOVERFLOW. */
int ldb_row_server_ts(struct ldb_mutate *m, bool found, int64_t newest, int64_t *ts);
/* Whether the family's policy looks at ranks. Newer cells and deletes do not change the set of
 * cells that a policy hides for their age alone. */
bool ldb_row_has_ranks(const struct ldb_mutate *m, const char *family);
/* Whether newer cells of the store have to be counted for these writes of a column. */
bool ldb_row_counts(const struct ldb_mutate *m, const struct wcs_write *writes, size_t count);
/* Counts the cells newer than ts in the column whose prefix are the first column_end bytes of
 * m->key, up to LDB_ROW_STEPS; below that it leaves m->iter behind them all. */
int ldb_row_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer);
/* ldb_row_newer and ldb_row_replaced together, with m->key that of the cell ts. */
int ldb_row_replaced_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer);

/* ---- values.c ---- */
/* Streams the values that are too large for the batch. The caller does not hold the row's lock. */
int ldb_values_prepare(struct ldb_mutate *m);
/* Makes garbage of the values that a failed mutation streamed. */
void ldb_values_abandon(struct ldb_mutate *m);
/* Syncs the logs if m->unsynced. Must come before the batch is written. */
int ldb_values_sync(struct ldb_mutate *m);
/* Writes the extents of the write's value, unless they were streamed before the lock. *index: of
 * m->made. */
int ldb_values_extents(struct ldb_mutate *m, const struct wcs_write *write,
		       const struct ldb_source *source, size_t *index);
/* Ends the intents in the batch: the last step before it is written. */
void ldb_values_end(struct ldb_mutate *m);

/* ---- purge.c ---- */
/* The hidden end of a column. */
struct ldb_hidden {
	bool any;
	uint64_t rank; /* of its newest cell, from 1 */
	int64_t ts;
};
/* Deletes the cells of a column that the view hides, if must agrees (NULL: it does). The caller
 * holds the row's lock, and has no iterator and an empty batch; afterwards m->unsynced may be set.
 */
int ldb_purge_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier,
		     bool (*must)(void *ctx, const struct ldb_hidden *hidden), void *ctx);

/* ---- column.c, merge.c ---- */
/* Puts the writes of one column into the batch. */
int ldb_column_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count);
/* The same, in an aggregate family. */
int ldb_merge_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count);
/* Puts the cell at m->key, which write made, into the batch. */
int ldb_column_put(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
		   const struct ldb_source *source);

/* ---- mutate.c ---- */
/* Fills the batch from the view m->iter. After an error nothing that the iterator showed counts. */
int ldb_mutate_build(struct ldb_mutate *m);

#endif
