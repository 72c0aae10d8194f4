/* SPDX-License-Identifier: MIT */
/* One mutation of one row under way: shared by mutate.c, column.c, column_merge.c, purge.c,
 * rank.c, batch.c and move.c only. */
#ifndef WCS_LEVELDB_MUTATE_H
#define WCS_LEVELDB_MUTATE_H

#include "store/leveldb/encoding/chunk.h"

/* A chunked value that the mutation makes. */
struct ldb_made {
	const struct wcs_write *write;
	int64_t ts; /* -1: not stored yet */
	uint64_t id;
	uint32_t chunks;
	bool streamed; /* its chunks are written, under an intent */
	bool replaced; /* by a later write of the mutation: garbage from the start */
};

struct ldb_mutate {
	struct ldb *db;
	const struct wcs_view *view;
	struct wcs_mutation *mutation; /* NULL: a move */
	leveldb_writebatch_t *batch;
	leveldb_iterator_t *iter; /* a view taken under the row's lock; whoever makes it ends it */
	bool row_empty;		  /* it was looked, and there is none */
	bool changes;		  /* the batch holds something */
	bool garbage;		  /* some of it makes garbage */
	bool unsynced;		  /* chunks were streamed since the logs were synced */
	size_t deleted;		  /* bytes of keys that the batch deletes */
	size_t batch_chunks;	  /* bytes of chunks in the batch, those still to come included */
	int64_t now;		  /* -1: not asked yet */
	size_t last_order; /* of the writes put so far, which was added last; its timestamp */
	int64_t last_ts;
	uint64_t largest; /* of the values made: its size and family */
	const char *largest_family;
	struct ldb_made *made;
	size_t made_count, made_room;
	size_t prepared, prepared_used;		/* the first of made: streamed before the lock */
	size_t row_end;				/* the key's length as the row's prefix */
	struct ldb_key key;			/* the row's prefix, and what is looked at */
	unsigned char newest[WCS_VALUE_INLINE]; /* of the present column */
	unsigned char record[LDB_CELL_MAX];
};

/* ---- mutate.c ---- */
/* A number that stands for the row; ldb_mutate_stripe makes that of its lock from it. */
uint64_t ldb_mutate_hash(uint32_t table, struct wcs_slice row);
static inline size_t ldb_mutate_stripe(uint64_t hash)
{
	return (hash ^ hash >> 32) % LDB_STRIPES;
}
pthread_mutex_t *ldb_mutate_lock(struct ldb *db, uint32_t table, struct wcs_slice row);
/* The batch stays the caller's, who also frees made. */
void ldb_mutate_init(struct ldb_mutate *m, struct ldb *db, const struct wcs_view *view,
		     leveldb_writebatch_t *batch, uint32_t table, struct wcs_slice row,
		     struct wcs_mutation *mutation);
/* Fills the batch from what m->iter sees. Nothing that the iterator led to counts where this
 * fails. */
int ldb_mutate_build(struct ldb_mutate *m);
/* Makes the key the prefix of a column of the row. */
void ldb_mutate_key(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier);
/* Deletes the cell under m->iter, as ldb_db_batch_cell does. */
int ldb_mutate_delete_cell(struct ldb_mutate *m, size_t *key_len);
/* Puts what a replaced cell leaves into the batch. */
void ldb_mutate_garbage(struct ldb_mutate *m, const struct ldb_cell *cell);
/* The same for the cell whose key m->key is, where there is one; it moves m->iter. */
int ldb_mutate_replaced(struct ldb_mutate *m);
/* The same, with m->iter at that key or behind it. */
int ldb_mutate_replaced_here(struct ldb_mutate *m);
/* The server's timestamp in a column with (found) or without a newest cell. -EOVERFLOW. */
int ldb_mutate_server_ts(struct ldb_mutate *m, bool found, int64_t newest, int64_t *ts);

/* ---- mutate_chunks.c ---- */
/* Streams the values that are too large for the batch. To be called without the row's lock. */
int ldb_mutate_prepare(struct ldb_mutate *m);
/* Turns what was streamed for a mutation that failed into garbage. */
void ldb_mutate_abandon(struct ldb_mutate *m);
/* Syncs the logs where m->unsynced says so. Must come before the batch is written. */
int ldb_mutate_sync(struct ldb_mutate *m);
/* Is the write's value what its cell will hold? Else that is known only under the row's lock. */
bool ldb_mutate_is_given(const struct wcs_write *write);
/* Chunks a value: under an intent at once (stream), or into the batch. *index: of m->made. */
int ldb_mutate_chunks(struct ldb_mutate *m, const struct wcs_write *write,
		      const struct ldb_source *source, bool stream, size_t *index);
/* Puts into the batch what becomes of the chunked values. The last step before it is written. */
void ldb_mutate_end_intents(struct ldb_mutate *m);

/* ---- purge.c ---- */
/* Deletes what the view hides of a column. The caller holds the row's lock, has no iterator and
 * nothing in the batch yet; afterwards m->unsynced may be set. */
int ldb_purge_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier);
/* What a view hides is the end of a column. */
struct ldb_hidden {
	bool any;
	uint64_t rank; /* of the newest that is hidden, from 1 on */
	int64_t ts;
};
/* The same, where anything is hidden and it must go (NULL: it must). */
int ldb_purge_if(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier,
		 bool (*must)(void *ctx, const struct ldb_hidden *hidden), void *ctx);

/* ---- rank.c ---- */
#define LDB_RANK_STEPS 8u
/* How many cells of the column, whose prefix are the first column_end bytes of m->key, are newer
 * than ts, counted up to LDB_RANK_STEPS; below that m->iter is behind them all. */
int ldb_rank_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer);
/* As ldb_mutate_replaced, with m->key that of the cell ts, and counts as ldb_rank_newer does. */
int ldb_rank_replaced(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer);
/* Is what is newer than these writes of a column to be counted in the store? */
bool ldb_rank_counts(const struct ldb_mutate *m, const struct wcs_write *writes, size_t count);
/* Does a cell's rank matter to the family's policy? */
bool ldb_rank_matters(const struct ldb_mutate *m, const char *family);

/* ---- column.c ---- */
/* Puts the writes of one column into the batch. */
int ldb_column_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count);
/* Puts the cell whose key m->key is, and which write made, into the batch. */
int ldb_column_put(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
		   const struct ldb_source *source);

/* ---- column_merge.c ---- */
/* As ldb_column_write, of an aggregate family. */
int ldb_column_merge(struct ldb_mutate *m, struct wcs_write *writes, size_t count);

#endif
