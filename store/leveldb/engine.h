/* SPDX-License-Identifier: MIT */
/*
 * The inside of the LevelDB engine: an open database, and the functions of this folder.
 *
 * Order of locks: row locks upwards, then ids_lock or admin_lock, then write_lock. manual_lock is
 * taken while none of these is held, and write_lock under it. The locks of reclaim.c and space.c
 * are leaves: no other lock is taken under them. That of space.c may be taken
 * under row locks, that of reclaim.c is taken while no other lock is held. erase_lock comes behind
 * the row locks, and before ids_lock.
 */
#ifndef WCS_LEVELDB_ENGINE_H
#define WCS_LEVELDB_ENGINE_H

#include <leveldb/c.h>
#include <pthread.h>
#include <stdatomic.h>

#include "store/backend.h"
#include "store/leveldb/encoding/record.h"
#include "store/policy/view.h"

/* Row locks. A build for ThreadSanitizer has fewer: it detects deadlocks among up to 64 locks that
 * one thread holds. */
#ifndef LDB_STRIPES
#define LDB_STRIPES 256u
#endif
#define LDB_BATCH_BYTES (1u << 20) /* of extents in one batch, about */
#define LDB_SYNC_LOGS	64u	   /* LevelDB has two logs, and for a moment more */

/* Syncs, numbered from 1. */
struct ldb_sync {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint64_t begun, done; /* under lock, as error, which is that of the last one done */
	int error;
	/* The rest is of the thread that runs the sync. */
	int notify; /* inotify descriptor of the directory; negative: none */
	bool known; /* logs lists every log except those that notify has still to report */
	uint64_t logs[LDB_SYNC_LOGS];
	size_t count, names; /* logs; files at the last listing of the directory */
};

/* Counts that begin when the store is opened; relaxed atomics. */
struct ldb_counters {
	_Atomic uint64_t cells_written;
	_Atomic uint64_t cells_deleted;
	_Atomic uint64_t bytes_written;
	_Atomic uint64_t bytes_read; /* of values */
	_Atomic uint64_t values_reclaimed;
	_Atomic uint64_t garbage_extents; /* of values whose size was known, as below */
	_Atomic uint64_t garbage_bytes;
};

/* The range that the collector deleted since it pushed the last one; its thread's own. */
struct ldb_tombstones {
	struct ldb_range range;
	uint64_t cells, bytes; /* deleted in it */
};

/* A range of keys that a change deletes after its batch (write/erase.c). Constant once set. */
struct ldb_erased {
	_Atomic unsigned int refs;
	uint64_t id; /* of its record */
	struct wcs_slice from, to;
	unsigned char bytes[]; /* of both */
};

struct ldb_rows; /* store/leveldb/write/write.h */

struct ldb {
	leveldb_t *db;
	leveldb_options_t *open_options;
	leveldb_cache_t *cache;
	leveldb_filterpolicy_t *filter;
	leveldb_readoptions_t *read;
	leveldb_writeoptions_t *write;
	const struct wcs_options *options;
	int dir; /* of LevelDB's files */
	/* Set at open. */
	size_t cache_bytes;
	uint64_t table_bytes, buffer_bytes; /* about, of a table; of one on level 0 */
	char newer[LDB_RECORD_WHY];	    /* why ldb_admin_load gave -EPROTO */

	_Atomic(struct ldb_rows *) spare;  /* memory of the last change of rows */
	atomic_bool failed;		   /* a write failed: there are no more writes */
	_Atomic uint32_t etag;		   /* of the next cell written */
	_Atomic uint64_t next_drop;	   /* number of the next drop's first record */
	_Atomic uint64_t drops;		   /* under way */
	_Atomic uint64_t compacted_at;	   /* counters.cells_deleted at the last run, see rows.c */
	pthread_mutex_t admin_lock;	   /* tables' descriptions and their counter */
	pthread_mutex_t manual_lock;	   /* held during a requested compaction */
	pthread_mutex_t rows[LDB_STRIPES]; /* by rows_stripe; a drop takes all */

	pthread_mutex_t write_lock; /* held during each write, see commit.c */
	pthread_cond_t unbounded;   /* with write_lock, as the next two */
	bool bounded;		    /* a requested compaction runs */
	uint64_t admitted;	    /* bytes in the memtable since it began */

	pthread_mutex_t ids_lock;
	uint64_t next_id;     /* under ids_lock: of values in extents */
	uint64_t reserved_id; /* under ids_lock: next_id must stay below */
	uint64_t first_id;    /* set at open: the least value id of this session */

	pthread_mutex_t erase_lock;  /* one change erases at a time; taken under its row locks */
	pthread_mutex_t erased_lock; /* of erased; a leaf, but for LevelDB's own */
	_Atomic uint64_t erasing;    /* odd while erased is set */
	struct ldb_erased *erased;   /* with erased_lock; NULL: none */

	struct ldb_sync sync;
	struct ldb_counters counters;
	struct ldb_tombstones tombstones;
	struct ldb_reclaim *reclaim;
	struct ldb_space *space;
	pthread_t compact_thread;
};

static inline void ldb_count(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- engine.c: opening and closing ---- */
/* Opens LevelDB alone in the directory data, after ldb_files_check, which cuts a torn log: starts
 * no thread and reads no key. options may be NULL if the caller only writes batches. */
int ldb_engine_open_raw(const char *data, bool create, const struct wcs_options *options,
			struct ldb **db, struct wcs_fault *fault);
void ldb_engine_close_raw(struct ldb *db);

/* ---- core/replace.c ---- */
/* Takes a line, without newline, before the process ends. */
typedef void (*ldb_replace_fatal)(const char *why);
/* Makes LevelDB read tables without mapping them, and end the process, where it must, by
 * ldb_replace_exit. Called before any other function of LevelDB. fatal may be NULL: the line is
 * printed, unless an earlier call gave one. */
void ldb_replace_start(ldb_replace_fatal fatal);
/* Ends the process with a line and exit code 1. */
_Noreturn void ldb_replace_exit(const char *why);

/* ---- db.c: reads, errors, parts of batches ---- */
bool ldb_db_failed(void *db);
/* Were its files removed while it was open? */
bool ldb_db_is_gone(void *db);
/* The path by which LevelDB gets an open directory: it stays right where that is moved. */
#define LDB_DB_PATH 32u
void ldb_db_path(int dir, char path[LDB_DB_PATH]);
/* Frees text, an error of LevelDB; sets the fault to it, and returns its errno. */
int ldb_db_tell(const struct ldb *db, char *text, struct wcs_fault *fault);
void ldb_db_log(struct ldb *db, enum wcs_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The errno of an error of LevelDB, which is a text only. */
int ldb_db_errno(const char *text);
/* Whether text is a resource limit of the process (EMFILE, EFBIG), not corruption. */
bool ldb_db_is_limit(const char *text);
/* Frees text, an error of LevelDB, logs it after a few words in `what`, and returns its errno. */
int ldb_db_error(struct ldb *db, const char *what, char *text);
/* Logs that a record is damaged and returns -EIO. */
int ldb_db_damaged(struct ldb *db, const char *what);
/* Ends writing after the first failed write: logs why and returns rc. The caller holds write_lock,
 * or no lock if its failed call wrote nothing itself. */
int ldb_db_fail(struct ldb *db, int rc, const char *why);
/* Takes or frees all row locks; no mutation runs in between. */
void ldb_db_lock_rows(struct ldb *db);
void ldb_db_unlock_rows(struct ldb *db);
/* The value of a small key; NULL: there is none. The caller frees *value. */
int ldb_db_get(struct ldb *db, struct ldb_id_key key, unsigned char **value, size_t *len);
/* The number of len bytes (4 or 8) under a key. -EIO, logged: it is missing (`what`), or leaves no
 * room for more. */
int ldb_db_counter(struct ldb *db, struct ldb_id_key key, size_t len, const char *what,
		   uint64_t *number);
/* The id of the next table. */
int ldb_db_next_table(struct ldb *db, uint32_t *id);
leveldb_iterator_t *ldb_db_iterate(struct ldb *db);
/* An iterator for readers of cells. They pass over the range *erased (NULL: none), and release it
 * with ldb_erased_put. */
leveldb_iterator_t *ldb_db_iterate_cells(struct ldb *db, struct ldb_erased **erased);
/* Sets or ends (NULL) the erased range. The caller holds erase_lock. */
void ldb_erased_set(struct ldb *db, struct ldb_erased *erased);
void ldb_erased_put(struct ldb_erased *erased);
/* Is the iterator at a key of the range? erased may be NULL. */
bool ldb_erased_at(const struct ldb_erased *erased, leveldb_iterator_t *iter);
/* Moves the iterator, which goes forward, behind the erased range. */
void ldb_erased_pass(const struct ldb_erased *erased, leveldb_iterator_t *iter);
/* Is the cell of that key erased? */
bool ldb_erased_has(struct ldb *db, const struct ldb_key *key);
/* The iterator's error, logged. An iterator with an error looks like the end, or skips a block. */
int ldb_db_iter_error(struct ldb *db, leveldb_iterator_t *iter);
/* Ends an iterator: its error, or else rc. */
int ldb_db_iter_end(struct ldb *db, leveldb_iterator_t *iter, int rc);
/* A numeric property of LevelDB; 0 if it has none of that name. */
uint64_t ldb_db_property(struct ldb *db, const char *name);
/* Sets level_count and levels; a level's bytes are rounded down to MiB. */
void ldb_db_levels(struct ldb *db, struct wcs_stats *stats);
void ldb_db_batch_put(leveldb_writebatch_t *batch, struct ldb_id_key key,
		      const unsigned char *value, size_t len);
void ldb_db_batch_delete(leveldb_writebatch_t *batch, struct ldb_id_key key);
void ldb_db_batch_garbage(leveldb_writebatch_t *batch, uint64_t id, enum ldb_garbage_kind kind,
			  uint32_t extents);
/* Puts the garbage record of a cell's extents. */
void ldb_db_batch_value(struct ldb *db, leveldb_writebatch_t *batch, const struct ldb_cell *cell);
/* Deletes the cell under the iterator, and puts the garbage record of its extents (cell->id is not
 * 0 then). *key_len: bytes of its key. -EIO: its record is damaged. */
int ldb_db_batch_cell(struct ldb *db, leveldb_writebatch_t *batch, leveldb_iterator_t *iter,
		      struct ldb_cell *cell, size_t *key_len);

/* ---- sync.c: durability ---- */
void ldb_sync_init(struct ldb_sync *sync);
void ldb_sync_clear(struct ldb_sync *sync);
/* Makes every earlier write durable, so that a power cut cannot keep a later write and lose an
 * earlier one. Concurrent callers share one sync. */
int ldb_sync_logs(void *db);

/* ---- commit.c: writes ---- */
/* Writes a batch, and syncs it if asked to. After the first failure every call gives -EROFS. */
int ldb_commit(struct ldb *db, leveldb_writebatch_t *batch, bool sync);
/* Writes a batch that the counters leave out. */
int ldb_commit_uncounted(struct ldb *db, leveldb_writebatch_t *batch);
/* Starts or ends the time in which writers wait once the memtable is half full. */
void ldb_commit_bound(struct ldb *db, bool bounded);
/* Whether LevelDB lags behind the writers and soon slows them; background work should yield. */
bool ldb_commit_busy(void *db);

static inline const unsigned char *ldb_iter_key(leveldb_iterator_t *iter, size_t *len)
{
	return (const unsigned char *)leveldb_iter_key(iter, len);
}

/* Moves to the first key >= the given one. False: the iterator is at a key before that, as the keys
 * of a table are not in order. A reader that goes on by seeks would then never end. */
static inline bool ldb_iter_finds(leveldb_iterator_t *iter, const void *key, size_t len)
{
	struct wcs_slice found;

	leveldb_iter_seek(iter, key, len);
	if (!leveldb_iter_valid(iter))
		return true;
	found.data = ldb_iter_key(iter, &found.len);
	return wcs_slice_compare(found, (struct wcs_slice){key, len}) >= 0;
}

/* Moves to the first key >= the given one, or ends the process: writers must not delete keys before
 * it. Readers use a cursor, or ldb_iter_finds. */
static inline void ldb_iter_seek_bytes(leveldb_iterator_t *iter, const void *key, size_t len)
{
	if (!ldb_iter_finds(iter, key, len))
		ldb_replace_exit("keys are not in order");
}

static inline void ldb_iter_seek(leveldb_iterator_t *iter, const struct ldb_key *key)
{
	ldb_iter_seek_bytes(iter, key->data, key->len);
}

static inline void ldb_iter_seek_id(leveldb_iterator_t *iter, struct ldb_id_key key)
{
	ldb_iter_seek_bytes(iter, key.data, key.len);
}

/* Whether the iterator is at a key that starts with prefix. */
static inline bool ldb_iter_within(leveldb_iterator_t *iter, const struct ldb_key *prefix)
{
	const unsigned char *key;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	key = ldb_iter_key(iter, &len);
	return ldb_key_starts(key, len, prefix);
}

/* Whether the iterator is at a key before `end`. */
static inline bool ldb_iter_before(leveldb_iterator_t *iter, const struct ldb_key *end)
{
	const unsigned char *key;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	key = ldb_iter_key(iter, &len);
	return ldb_key_compare(key, len, end) < 0;
}

/* Moves forward to the first key >= target, with up to `steps` steps and then a seek. Returns
 * false if it had to seek. */
static inline bool ldb_iter_skip(leveldb_iterator_t *iter, const struct ldb_key *target, int steps)
{
	for (int i = 0; i < steps; i++) {
		leveldb_iter_next(iter);
		if (!ldb_iter_before(iter, target))
			return true;
	}
	ldb_iter_seek(iter, target);
	return false;
}

/* Whether the iterator's key is in the key space of `key`; it need not be a valid key. */
static inline bool ldb_iter_in_space(leveldb_iterator_t *iter, struct ldb_id_key key)
{
	const unsigned char *data;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	data = ldb_iter_key(iter, &len);
	return ldb_key_same_space(data, len, key);
}

/* The cell under the iterator. -EIO, logged: damaged. */
static inline int ldb_iter_cell(struct ldb *db, leveldb_iterator_t *iter, struct ldb_cell *cell)
{
	size_t len;
	const char *value = leveldb_iter_value(iter, &len);

	return ldb_record_cell_decode(value, len, cell) ? ldb_db_damaged(db, "a cell's record") : 0;
}

/* The timestamp of the cell under the iterator, whose column's prefix has column_end bytes. -EIO,
 * logged: its key is damaged. */
static inline int ldb_iter_ts(struct ldb *db, leveldb_iterator_t *iter, size_t column_end,
			      int64_t *ts)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(iter, &len);

	return ldb_key_split_ts(key, len, column_end, ts) ? ldb_db_damaged(db, "a cell's key") : 0;
}

/* ---- admin.c: tables' descriptions ---- */
int ldb_admin_load(void *db,
		   int (*each)(void *ctx, uint32_t id, const struct wcs_table_schema *schema),
		   void *ctx);
int ldb_admin_put(void *db, uint32_t *id, const struct wcs_table_schema *schema);
int ldb_note_put(void *db, uint16_t number, const unsigned char *bytes, size_t len);
int ldb_note_get(void *db, uint16_t number, unsigned char **bytes, size_t *len);

/* ---- The other operations of backend.h ---- */
int ldb_read_open(void *db, const struct wcs_view *view, const struct wcs_address *at,
		  struct wcs_cell_info *info, struct wcs_value **value);
int ldb_read_key(void *db, uint32_t table, struct wcs_slice key, unsigned char delimiter,
		 struct wcs_key_info *info);
int ldb_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		  const struct wcs_range *ranges, size_t range_count,
		  const struct wcs_filter *filter, struct wcs_scan **scan);

int ldb_rows_open(void *db, uint32_t table, const struct wcs_edit *edits, size_t count,
		  struct wcs_rows **rows);
int ldb_rows_find(struct wcs_rows *rows, const struct wcs_address *at, struct wcs_stored *cell);
int ldb_rows_read(struct wcs_rows *rows, const struct wcs_stored *cell, void *buf, size_t len,
		  uint64_t offset, size_t *got);
int ldb_rows_purge(struct wcs_rows *rows, const struct wcs_address *at);
int ldb_rows_apply(struct wcs_rows *rows, const struct wcs_edit *edits, size_t count,
		   size_t *applied);
void ldb_rows_close(struct wcs_rows *rows);
int ldb_splits(void *db, uint32_t table, const struct wcs_range *ranges, size_t count, size_t max,
	       int (*each)(void *ctx, struct wcs_slice row), void *ctx);
int ldb_drop_rows(void *db, uint32_t table, const struct wcs_range *ranges, size_t count);
/* Finishes the drops that a crash interrupted. Called before the store serves. */
int ldb_drop_resume(struct ldb *db);

struct wcs_fsck;
int ldb_fsck_unused(const char *path, struct wcs_fault *fault);
int ldb_fsck_store(const char *path, struct wcs_fsck *fsck);

#endif
