/* SPDX-License-Identifier: MIT */
/*
 * The inside of the LevelDB engine: an open database and what its files share.
 *
 * Order of locks: row locks upwards, then ids_lock or admin_lock, then write_lock. That of manual
 * is taken with none of these held, and write_lock under it. The locks of reclaim, compact and
 * space stand for themselves: no other is taken under them. Those of compact and space may be taken
 * under row locks, that of reclaim is taken with none of these held.
 */
#ifndef WCS_LEVELDB_ENGINE_H
#define WCS_LEVELDB_ENGINE_H

#include <leveldb/c.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store/backend.h"
#include "store/leveldb/compaction/space.h"
#include "store/leveldb/encoding/record.h"
#include "store/leveldb/leveldb.h"
#include "store/policy/view.h"

/* Locks of rows. A build for ThreadSanitizer sets fewer: it looks for deadlocks among up to 64 that
 * a thread holds. */
#ifndef LDB_STRIPES
#define LDB_STRIPES 256u
#endif
#define LDB_BATCH_BYTES (1u << 20) /* about how much one batch of chunks writes */

#define LDB_HOLDS 64u /* buckets of held values */

/*
 * Who looks cells up that can have chunks: chunks that were garbage before it came may go, and
 * none that became garbage later.
 */
struct ldb_ticket {
	uint64_t number;
	struct ldb_ticket *prev;
	struct ldb_ticket *next;
};

/* An open value: its chunks stay. */
struct ldb_hold {
	uint64_t id;
	bool awaited; /* its chunks are garbage that the thread left for later */
	struct ldb_hold *next;
};

struct ldb_reclaim {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the thread: something to do, a reader gone, stop */
	/* under lock */
	struct ldb_ticket readers; /* head of a ring, oldest first */
	uint64_t next_ticket;
	struct ldb_hold *holds[LDB_HOLDS]; /* by id; one for each open value */
	bool wanted;
	bool waiting; /* the thread, for readers to go */
	bool stop;
	atomic_bool told; /* of a bad record, once */
	/* set at open */
	pthread_t thread;
};

#define LDB_PIECE_TABLES 8u /* what is compacted at once, at most */

struct ldb_compact {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the thread: a range, stop */
	pthread_cond_t done; /* the others: one range less, stop */
	/* under lock */
	struct ldb_compact_range *first;
	struct ldb_compact_range **last; /* where the next one goes */
	uint64_t pushed;		 /* ranges, each with its number from 1 on */
	uint64_t finished;
	bool all;      /* every range that has dead bytes is to be compacted: the medium is full */
	time_t shrunk; /* when that was asked for last, of the monotonic clock */
	bool woken;    /* the thread should look for something to do */
	bool left;     /* it compacted something, so that tables may be left */
	bool blocked;  /* what it took last could not be compacted */
	bool stop;
	/* set at open */
	pthread_t thread;
};

/* Compactions that are asked for, one at a time. */
struct ldb_manual {
	pthread_mutex_t lock; /* held over each; write_lock may be taken under it */
	pthread_cond_t ended; /* with write_lock, as all below */
	bool runs;
	uint64_t written; /* bytes in memory since it began */
};

#define LDB_SYNC_LOGS 64u /* LevelDB has two, and for a moment more */

/* Syncs, numbered from 1 on. */
struct ldb_sync {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint64_t begun, done; /* under lock, as error: of the last one that is done */
	int error;
	/* of who syncs */
	int notify; /* tells of files that are made; negative: nothing does */
	bool known; /* these are all logs, but for what is to be heard */
	uint64_t logs[LDB_SYNC_LOGS];
	size_t count, names; /* of logs; of files when they were looked through */
};

/* Since the store was opened. What a mutation wrote and deleted is counted before its row's lock is
 * free; the collector relies on bytes_written and deletes. */
struct ldb_counters {
	_Atomic uint64_t cells_written;
	_Atomic uint64_t cells_deleted;
	_Atomic uint64_t bytes_written;
	_Atomic uint64_t bytes_read; /* of values */
	_Atomic uint64_t values_reclaimed;
	_Atomic uint64_t garbage_chunks; /* of values whose size was known, as below */
	_Atomic uint64_t garbage_bytes;
	_Atomic uint64_t deletes[LDB_STRIPES]; /* of cells, by ldb_stats_column */
};

/* What the collector emptied since it pushed the last compaction; its own. */
struct ldb_emptied {
	uint64_t cells, bytes;
	uint64_t enough; /* cells, for one */
	uint64_t number; /* of that compaction */
	struct ldb_key from, to;
};

/* Where the collector's last slice ended; its own. */
struct ldb_collected {
	uint64_t rank;	  /* of the cell there, if it counted them in that column; 0: not */
	uint64_t deletes; /* the counter of that column then */
	unsigned int tries;
	struct ldb_key at;
};

struct ldb {
	leveldb_t *db;
	leveldb_options_t *open_options;
	leveldb_cache_t *cache;
	leveldb_filterpolicy_t *filter;
	leveldb_readoptions_t *read;
	leveldb_writeoptions_t *write;
	const struct wcs_options *options;
	int dir; /* of LevelDB's files */
	/* About what a table has; on level 0. Set at open. */
	uint64_t table_bytes, buffer_bytes;

	atomic_bool failed;		   /* a write failed: no more of them */
	_Atomic uint32_t etag;		   /* of the next cell written */
	_Atomic uint64_t next_drop;	   /* number of the next drop's record */
	_Atomic uint64_t drops;		   /* under way */
	pthread_mutex_t write_lock;	   /* held over each write, see ldb_db_write */
	pthread_mutex_t admin_lock;	   /* tables' descriptions and their counter */
	pthread_mutex_t rows[LDB_STRIPES]; /* by ldb_mutate_stripe; a drop takes all */

	pthread_mutex_t ids_lock;
	uint64_t next_id;     /* under ids_lock: of chunked values */
	uint64_t reserved_id; /* under ids_lock: next_id must stay below */
	uint64_t first_id;    /* set at open: no value of this session has a smaller one */

	struct ldb_sync sync;
	struct ldb_manual manual;
	struct ldb_emptied emptied;
	struct ldb_collected collected;
	struct ldb_reclaim reclaim;
	struct ldb_space space;
	struct ldb_compact compact;
	struct ldb_counters counters;
};

/* ---- open.c: opening and closing ---- */
int ldb_open_create(const char *path, struct wcs_fault *fault);
int ldb_open_store(const char *path, const struct wcs_options *options, void **db,
		   struct wcs_fault *fault);
void ldb_open_close(void *db);
/* LevelDB alone, in the directory data, behind a look at its files (ldb_files_check), which cuts a
 * torn log: no thread, no key read. options may be NULL where nothing but batches is written. */
int ldb_open_raw(const char *data, bool create, const struct wcs_options *options, struct ldb **db,
		 struct wcs_fault *fault);
void ldb_open_raw_close(struct ldb *db);
size_t ldb_open_cache_bytes(const struct wcs_options *options);

/* ---- guard.c ---- */
/* Makes the process exit with a line, and no signal, where LevelDB throws an exception. */
void ldb_guard_start(void);

/* ---- db.c: the database itself ---- */
bool ldb_db_failed(void *db);
void ldb_db_log(struct ldb *db, enum wcs_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The errno of an error of LevelDB, which is a text only. */
int ldb_db_errno(const char *text);
/* Is it that this process may do no more of something? That is no damage. */
bool ldb_db_is_limit(const char *text);
/* Frees text, an error of LevelDB, logs it and returns its errno. what: a few words. */
int ldb_db_error(struct ldb *db, const char *what, char *text);
/* Logs that a record is damaged and returns -EIO. */
int ldb_db_damaged(struct ldb *db, const char *what);
/* The first failed write ends writing: logs why and returns err. Called with write_lock held, or
 * without any lock where the failed call wrote nothing itself. */
int ldb_db_fail(struct ldb *db, int err, const char *why);
/* Writes a batch; sync: and makes it durable. After the first failure every call is -EROFS. */
int ldb_db_write(struct ldb *db, leveldb_writebatch_t *batch, bool sync);
/* The same, of what the counters leave out. */
int ldb_db_write_uncounted(struct ldb *db, leveldb_writebatch_t *batch);
/* Does LevelDB lag behind what is written, so that it slows writers soon? Work that can wait should
 * then. */
bool ldb_db_busy(void *db);
/* All row locks, upwards: no mutation comes between. */
void ldb_db_lock_rows(struct ldb *db);
void ldb_db_unlock_rows(struct ldb *db);
/* The value of a small key. *found false: it is not there. The caller frees *value. */
int ldb_db_get(struct ldb *db, const struct ldb_id_key *key, unsigned char **value, size_t *len,
	       bool *found);
leveldb_iterator_t *ldb_db_iterate(struct ldb *db);
/* The error an iterator met, logged: it looks like the end otherwise, or like a gap. */
int ldb_db_iter_error(struct ldb *db, leveldb_iterator_t *iter);
void ldb_db_batch_put(leveldb_writebatch_t *batch, const struct ldb_id_key *key,
		      const unsigned char *value, size_t len);
void ldb_db_batch_delete(leveldb_writebatch_t *batch, const struct ldb_id_key *key);
void ldb_db_batch_garbage(leveldb_writebatch_t *batch, uint64_t id, enum ldb_garbage_kind kind,
			  uint32_t chunks);
/* The chunks of a cell that goes become garbage. */
void ldb_db_batch_value(struct ldb *db, leveldb_writebatch_t *batch, const struct ldb_cell *cell);
/* Deletes the cell under the iterator; where it has chunks (cell->id is not 0), they become
 * garbage. *key_len: bytes of its key. -EIO: its record is damaged. */
int ldb_db_batch_cell(struct ldb *db, leveldb_writebatch_t *batch, leveldb_iterator_t *iter,
		      struct ldb_cell *cell, size_t *key_len);

/* ---- sync.c: durability ---- */
void ldb_sync_init(struct ldb_sync *sync);
void ldb_sync_clear(struct ldb_sync *sync);
/* Makes all that was written before reach the medium; a power cut can then no more keep what is
 * written next and lose what was written before. Threads that call it together share the cost. */
int ldb_sync_logs(struct ldb *db);
int ldb_sync_store(void *db);

/* ---- manual.c: compactions that are asked for ---- */
void ldb_manual_init(struct ldb_manual *manual);
void ldb_manual_clear(struct ldb_manual *manual);
/* Compacts the keys from start to end, which should be few: writers may wait for it. cover: also
 * deletes that are in one table with what they delete. False: it did not come to that. The caller
 * holds no lock. */
bool ldb_manual_run(struct ldb *db, struct wcs_slice start, struct wcs_slice end, bool cover);
/* Moves what is in memory into a table, where LevelDB does what it is asked to. The caller holds no
 * lock. */
void ldb_manual_flush(struct ldb *db);
/* Before each write, with write_lock held, which is free while it waits: for room in memory, where
 * a compaction is under way. */
void ldb_manual_admit(struct ldb *db, leveldb_writebatch_t *batch);
/* Is half of that room taken? Work that can wait should then, before it takes locks. */
bool ldb_manual_busy(struct ldb *db);

static inline void ldb_iter_seek(leveldb_iterator_t *iter, const struct ldb_key *key)
{
	leveldb_iter_seek(iter, (const char *)key->data, key->len);
}

static inline const unsigned char *ldb_iter_key(leveldb_iterator_t *iter, size_t *len)
{
	return (const unsigned char *)leveldb_iter_key(iter, len);
}

/* Is the iterator at a key that starts with prefix? */
static inline bool ldb_iter_within(leveldb_iterator_t *iter, const struct ldb_key *prefix)
{
	const unsigned char *key;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	key = ldb_iter_key(iter, &len);
	return ldb_key_starts(key, len, prefix);
}

/* Steps forward to the first key from target on, in `steps` steps at the most. Is it there, or at
 * the end? */
static inline bool ldb_iter_step_to(leveldb_iterator_t *iter, const struct ldb_key *target,
				    int steps)
{
	for (int i = 0; i < steps; i++) {
		const unsigned char *key;
		size_t len;

		leveldb_iter_next(iter);
		if (!leveldb_iter_valid(iter))
			return true;
		key = ldb_iter_key(iter, &len);
		if (ldb_key_compare(key, len, target) >= 0)
			return true;
	}
	return false;
}

/* Is it at a key of the key space that key is of? Such a key need not be a good one. */
static inline bool ldb_iter_in_space(leveldb_iterator_t *iter, const struct ldb_id_key *key)
{
	const unsigned char *data;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	data = ldb_iter_key(iter, &len);
	return ldb_key_same_space(data, len, key);
}

/* The cell under the iterator. */
static inline int ldb_iter_cell(leveldb_iterator_t *iter, struct ldb_cell *cell)
{
	size_t len;
	const char *value = leveldb_iter_value(iter, &len);

	return ldb_record_cell_decode(value, len, cell);
}

/* ---- fsck.c ---- */
struct wcs_fsck;
int ldb_fsck_unused(const char *path, struct wcs_fault *fault);
int ldb_fsck_store(const char *path, struct wcs_fsck *fsck);

/* ---- reclaim.c: readers' tickets and the thread that deletes chunks ---- */
int ldb_reclaim_start(struct ldb *db);
void ldb_reclaim_stop(struct ldb *db);
/* Garbage was committed. */
void ldb_reclaim_wake(struct ldb *db);
/* Enter before looking a cell up, leave when its chunks are not read any more. A ticket keeps all
 * garbage that comes after it, so it is for a moment, or for a scan. */
void ldb_reclaim_enter(struct ldb *db, struct ldb_ticket *ticket);
void ldb_reclaim_leave(struct ldb *db, struct ldb_ticket *ticket);
/* Gives the ticket up and holds the chunks of one value that was found with it instead. */
void ldb_reclaim_hold(struct ldb *db, struct ldb_ticket *ticket, struct ldb_hold *hold,
		      uint64_t id);
void ldb_reclaim_release(struct ldb *db, struct ldb_hold *hold);
/* How much garbage there is, counted up to max records, and their chunks. */
int ldb_reclaim_pending(struct ldb *db, uint64_t max, uint64_t *count, uint64_t *chunks);

/* ---- compact.c: the thread that compacts what was emptied ---- */
int ldb_compact_start(struct ldb *db);
/* The calls below return at once from now on. */
void ldb_compact_cancel(struct ldb *db);
void ldb_compact_stop(struct ldb *db);
/* Queues a range, whose dead bytes are counted already; waits while the queue is full. Returns the
 * range's number, 0 where it is not queued. The caller holds no lock. */
uint64_t ldb_compact_push(struct ldb *db, const struct ldb_dead *dead);
/* Compacts all that has dead bytes, and removes tables that readers kept; not every moment. */
void ldb_compact_store(void *db);
/* Makes the thread look for what to do. */
void ldb_compact_wake(struct ldb *db);
/* Returns when that range, and all before it, were compacted or forgotten. */
void ldb_compact_wait(struct ldb *db, uint64_t number);
void ldb_compact_count(struct ldb *db, uint64_t *finished, uint64_t *pending);
/* Is the store being closed? */
bool ldb_compact_stopped(struct ldb *db);

/* ---- pieces.c: a range of keys in pieces ---- */
/* Bytes of the tables there, about. */
uint64_t ldb_place_size(struct ldb *db, const struct ldb_place *from, const struct ldb_place *to);
/* Where a piece of about that many bytes ends that starts at from; of more, where these keys cannot
 * be told apart. */
struct ldb_place ldb_place_end(struct ldb *db, const struct ldb_place *from, struct ldb_place end,
			       uint64_t piece);

/* ---- shrink.c: room for compactions ---- */
/* How much one piece may have, so that merging it, after all of the first two levels and what is in
 * memory, leaves room for as much again. 0: there is no room for any. */
uint64_t ldb_shrink_piece(struct ldb *db);
/* Can a range be compacted without running out of files (inodes)? Where other programs took what is
 * kept free of them, nothing is compacted that need not be. */
bool ldb_shrink_has_files(struct ldb *db);
/* Removes the tables that are not used any more and that readers had open when they came out of
 * use. Are there some still? For the thread of compact.c. */
bool ldb_shrink_left(struct ldb *db);

/* ---- stats.c: counters and properties ---- */
/* A property of LevelDB's that is a number; 0 where it has none. */
uint64_t ldb_stats_number(struct ldb *db, const char *property);
/* Bytes of the tables of a level, rather too many than too few. */
uint64_t ldb_stats_level(struct ldb *db, unsigned int level);
/* Counts a batch that was written. */
void ldb_stats_batch(struct ldb *db, leveldb_writebatch_t *batch);
/* Which of the counters of deletes that of a cell's column is: others may share it. */
size_t ldb_stats_column(const void *key, size_t len);
void ldb_stats_read(struct ldb *db, uint64_t bytes);
void ldb_stats_reclaimed(struct ldb *db, uint64_t values);
int ldb_stats_get(void *db, struct wcs_stats *stats);
char *ldb_stats_text(void *db);

/* ---- admin.c, read.c, scan.c, list.c, mutate.c, batch.c, move.c, drop.c: operations of backend.h
 * ---- */
int ldb_admin_load(void *db,
		   int (*each)(void *ctx, uint32_t id, const struct wcs_table_schema *schema),
		   void *ctx);
int ldb_admin_put(void *db, uint32_t *id, const struct wcs_table_schema *schema);
int ldb_admin_remove(void *db, uint32_t id);
/* The counter of tables. */
int ldb_admin_next_id(struct ldb *db, uint32_t *id);

int ldb_read_cell(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		  const char *family, struct wcs_slice qualifier, int64_t ts,
		  struct wcs_cell_info *info);
int ldb_read_open(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		  const char *family, struct wcs_slice qualifier, int64_t ts,
		  struct wcs_value **value);
int ldb_read_value(struct wcs_value *value, void *buf, size_t len, uint64_t offset, size_t *got);
void ldb_read_close(struct wcs_value *value);
int ldb_read_key(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice key,
		 unsigned char delimiter, struct wcs_key_info *info);

/* Does the view show a cell of that range? Then *expires comes down to when it hides that one. */
int ldb_read_shows(struct ldb *db, const struct wcs_view *view, uint32_t table,
		   const struct wcs_range *range, bool *shows, int64_t *expires);

int ldb_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		  const struct wcs_range *range, const struct wcs_filter *filter,
		  struct wcs_scan **scan);
int ldb_scan_next(struct wcs_scan *scan, struct wcs_cell *cell);
int ldb_scan_seek(struct wcs_scan *scan, struct wcs_slice row);
int ldb_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got);
void ldb_scan_close(struct wcs_scan *scan);

int ldb_list_open(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice prefix,
		  unsigned char delimiter, const struct wcs_slice *after, struct wcs_list **list);
int ldb_list_next(struct wcs_list *list, struct wcs_slice *segment);
void ldb_list_close(struct wcs_list *list);

int ldb_mutate_row(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		   struct wcs_mutation *mutation, int64_t *ts);

int ldb_batch_rows(void *db, const struct wcs_view *view, uint32_t table, struct wcs_entry *entries,
		   size_t count, size_t *applied);

int ldb_collect_slice(void *db, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *slice);

/* ---- emptied.c: the compaction of what the collector emptied, whose thread calls ---- */
void ldb_emptied_forget(struct ldb *db);
/* So many cells, and bytes of theirs, went from there on. */
void ldb_emptied_add(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to,
		     uint64_t cells, uint64_t bytes);
/* As collected of backend.h. */
void ldb_emptied_settle(void *db, bool end);

int ldb_admin_note_put(void *db, const unsigned char *bytes, size_t len);
int ldb_admin_note_get(void *db, unsigned char **bytes, size_t *len);

int ldb_move_cells(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		   const struct wcs_move *move, int64_t *ts, bool *hidden);

int ldb_drop_rows(void *db, uint32_t table, const struct wcs_slice *row,
		  const struct wcs_range *range);
/* Ends the drops that a crash interrupted. Called before the store serves. */
int ldb_drop_resume(struct ldb *db);

#endif
