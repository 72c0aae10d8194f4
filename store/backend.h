/* SPDX-License-Identifier: MIT */
/*
 * The interface of an engine. Private to store/ and the engines.
 *
 * The layer above checks every argument before it calls: names and limits hold, families exist,
 * tables exist and stay while the call runs. An engine need not check them again. It returns the
 * errors of store.h, and logs the reason of its own failures (-EIO, -ENOSPC, -EROFS). Any thread
 * may call; an engine locks for itself.
 */
#ifndef WCS_BACKEND_H
#define WCS_BACKEND_H

#include "store/mutation.h"
#include "store/store.h"

#define WCS_NOTE_COLLECTOR 0u /* the collector's place */
#define WCS_NOTE_HEAT	   1u /* and on: the heat map's records */

struct heat_scan;    /* store/heat/heat_count.h */
struct wcs_view;     /* store/policy/view.h */
struct wcs_policies; /* store/policy/view.h */

/* The functions of a scan. A scan is an engine's, or a filter over another scan. */
struct scan_ops {
	/* As wcs_scan_next, wcs_scan_seek and wcs_scan_read. A seek may go back. */
	int (*next)(struct wcs_scan *scan, struct wcs_cell *cell);
	int (*seek)(struct wcs_scan *scan, struct wcs_slice row);
	int (*read)(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got);
	/* Scans of engines with can.filter have these two. Goes on at the first cell of the row
	 * from that column on (family NULL: at its first cell), and then with the rows behind it in
	 * the scan's order; a row without such a cell is passed over. The slices may be those of
	 * the last cell given. The next cell differs in its row. In a scan of the first cells
	 * alone, the column is that of a cell that it gives. A filter over an engine's scan need
	 * enter no other row than that of the last cell given. */
	int (*enter)(struct wcs_scan *scan, struct wcs_slice row, const char *family,
		     struct wcs_slice qualifier);
	/* The next cell will differ from the last one given in this part or in one before. For
	 * scans of each cell; WCS_PART_ROW for all. */
	void (*skip)(struct wcs_scan *scan, enum wcs_part part);
	void (*close)(struct wcs_scan *scan);
};

struct value_ops {
	/* As wcs_value_read; several threads may read one value at once. */
	int (*read)(struct wcs_value *value, void *buf, size_t len, uint64_t offset, size_t *got);
	void (*close)(struct wcs_value *value);
};

/* The first member of every scan's own struct, and of every value's. */
struct wcs_scan {
	const struct scan_ops *ops;
	struct wcs_scan *below;	       /* of a filter: the scan that it filters, and closes */
	struct wcs_policies *policies; /* the layer above holds them while it is open */
	struct wcs_filter *filter;     /* held as policies are; NULL: the caller holds it */
	struct wcs_table *table;       /* held as policies are, for its design of keys */
	struct heat_scan *heat; /* the layer's above; NULL: no row was read, or none counts */
};
struct wcs_value {
	const struct value_ops *ops;
	struct wcs_cell_info info;
};

/* A slice of collecting: its limit, its place in a table, and counts. */
#define WCS_COLLECT_AT_MAX (48u << 10)
struct wcs_collect {
	size_t batch; /* cells to delete, at most; the engine limits those that it looks at */
	bool done;    /* the table's end was reached */
	/* Counted up. */
	uint64_t looked, collected, bytes;
	size_t len; /* of the place, the engine's own bytes; 0: the table's start */
	unsigned char at[WCS_COLLECT_AT_MAX];
	size_t row_len; /* of the row at the place, for a status; 0: none */
	unsigned char row[WCS_ROW_KEY_MAX];
};

/* The address of a cell. ts: WCS_TS_NEWEST or >= 0. */
struct wcs_address {
	uint32_t table;
	struct wcs_slice row;
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;
};

/* A stored cell as a change of its row sees it, hidden ones too. */
struct wcs_stored {
	int64_t ts;
	uint64_t size;
	uint32_t etag;
	const unsigned char
		*data; /* its value, up to WCS_VALUE_INLINE bytes; NULL: see rows_read */
	uint64_t id;   /* the engine's own */
};

/* A value to be: that of a stored cell of the row, if there is one, and then the parts. */
struct wcs_content {
	const struct wcs_stored *from; /* its data is NULL; NULL: none */
	const struct wcs_slice *parts;
	size_t part_count;
	uint64_t size; /* of all */
};

/* A cell that an edit makes. */
struct wcs_set {
	const char *family;
	struct wcs_slice qualifier;
	int64_t ts;
	struct wcs_content value;
	bool fresh; /* the row has no cell at this address */
	/* value is `from` alone, and a delete of the edit has `taken` for its cell: the engine may
	 * hand on the value instead of copying it. */
	bool takes;
};

/* The changes of one row, applied together or not at all: the deletes first, then the sets in
 * order. The sets of a column stand together; of several sets of one cell the last counts. */
struct wcs_edit {
	struct wcs_slice row;
	/* Set before rows_open, of an edit that is alone: values that the sets may have, in this
	 * order. An engine may write large ones before it locks the row. */
	const struct wcs_slice *given;
	size_t given_count;
	bool delete_row;
	struct wcs_delete *deletes;
	size_t delete_count;
	struct wcs_set *sets;
	size_t set_count;
	size_t delete_room, set_room; /* of the layer above, as the next */
	struct change_memory *memory; /* that deletes and sets point to */
};

/* Rows that are being changed. */
struct wcs_rows;

struct wcs_fsck;

/* The capabilities of an engine. The layer above does the rest. */
struct wcs_capabilities {
	bool shared;	     /* other clients change its tables meanwhile */
	int64_t fresh;	     /* shared: microseconds for which a read value may be cached */
	bool collects;	     /* it collects garbage itself: no view hides a cell */
	bool filter;	     /* its scans evaluate views and filters; else they give all cells */
	bool reverse;	     /* its scans give rows in reverse order if the filter says so */
	int64_t granularity; /* of timestamps, in microseconds; 0 is 1 */
};

struct wcs_backend {
	const char *name; /* as the store's marker file names it */
	struct wcs_capabilities can;

	/* Opens it; fills fault on failure. The options stay valid while it is open; their log and
	 * now are never NULL. */
	int (*open)(const char *path, const struct wcs_options *options, void **db,
		    struct wcs_fault *fault);
	void (*close)(void *db);

	/* Calls each for every table, in any order; stops at the first error and returns it. */
	int (*tables_load)(void *db,
			   int (*each)(void *ctx, uint32_t id,
				       const struct wcs_table_schema *schema),
			   void *ctx);
	/* Makes a table (*id 0: the engine sets it to a number that it never used before), replaces
	 * the description of one, or removes it (schema NULL), which has no rows then. Durable.
	 * Calls for one table do not overlap. */
	int (*table_put)(void *db, uint32_t *id, const struct wcs_table_schema *schema);

	/* As the functions of store.h of like name. There is a range, and none is empty; all are
	 * borrowed for the call. view and filter are for engines that evaluate them,
	 * filter->reverse for all that can. The view is borrowed for the call, its policies and the
	 * filter, whose families are sorted, until the scan is closed. */
	int (*scan_open)(void *db, const struct wcs_view *view, uint32_t table,
			 const struct wcs_range *ranges, size_t range_count,
			 const struct wcs_filter *filter, struct wcs_scan **scan);

	/* Starts a change of these rows, which differ; the edits have their rows and given values.
	 * All calls on one wcs_rows come from one thread, and see the rows as they were at the
	 * start. Behind rows_apply that thread may open values and scans before rows_close. An
	 * exclusive engine locks the rows until rows_close. A shared one remembers the cells that
	 * rows_find gave (or that there was none), and rows_apply returns -EAGAIN if another client
	 * has changed, removed or added one there: the layer above decides again. */
	int (*rows_open)(void *db, uint32_t table, const struct wcs_edit *edits, size_t count,
			 struct wcs_rows **rows);
	/* Finds the newest cell of the column that is not later than at->ts (WCS_TS_NEWEST: any);
	 * with the family NULL any cell of the row. at->table is not used. 1: *cell is filled,
	 * unless the family is NULL, and its data valid until the next call on rows; 0: none. */
	int (*rows_find)(struct wcs_rows *rows, const struct wcs_address *at,
			 struct wcs_stored *cell);
	/* As wcs_value_read, of a cell that rows_find gave. */
	int (*rows_read)(struct wcs_rows *rows, const struct wcs_stored *cell, void *buf,
			 size_t len, uint64_t offset, size_t *got);
	/* Deletes the cells of the column that are not later than at->ts: hidden ones, so it need
	 * not be atomic. It is as durable as the next rows_apply. Not called if the engine collects
	 * garbage itself. */
	int (*rows_purge)(struct wcs_rows *rows, const struct wcs_address *at);
	/* Applies the first edits, at least one if there is no error; *applied says how many. An
	 * error is that of the next one. Called once at most. */
	int (*rows_apply)(struct wcs_rows *rows, const struct wcs_edit *edits, size_t count,
			  size_t *applied);
	void (*rows_close)(struct wcs_rows *rows);

	/* ---- Faster ways to do the same; each may be NULL ---- */
	/* Finds a visible cell: info, and, unless value is NULL, its value, with info in it. The
	 * view is borrowed for the call. -ENOENT. */
	int (*cell_open)(void *db, const struct wcs_view *view, const struct wcs_address *at,
			 struct wcs_cell_info *info, struct wcs_value **value);
	/* As wcs_key_get, hidden cells included: not called if the view can hide whole rows. */
	int (*key_get)(void *db, uint32_t table, struct wcs_slice key, unsigned char delimiter,
		       struct wcs_key_info *info);
	/* As wcs_rows_splits: calls each for up to max rows of the ranges, in order, that divide
	 * all of them together; never for the first one of a range. Parts may be smaller where
	 * there are several ranges. NULL: the engine knows none. */
	int (*splits)(void *db, uint32_t table, const struct wcs_range *ranges, size_t count,
		      size_t max, int (*each)(void *ctx, struct wcs_slice row), void *ctx);
	/* Deletes the rows of the ranges, of which there is one or more, as scan_open has them. It
	 * is one drop, as of wcs_rows_drop. */
	int (*drop)(void *db, uint32_t table, const struct wcs_range *ranges, size_t count);

	const struct wcs_local *local; /* NULL: the engine has no files or memory of its own here */
};

/* The functions of an engine that keeps the store itself. All are set, but for the first five,
 * which an engine without a directory lacks. */
struct wcs_local {
	/* Makes an empty engine below the existing directory path. */
	int (*create)(const char *path, struct wcs_fault *fault);
	/* Is that the name of a file that the engine makes in DIRECTORY_DATA? It makes nothing but
	 * regular files there. */
	bool (*owns)(const char *name);
	/* Does a file of that name never change once it is complete? A clone may link it. */
	bool (*fixed)(const char *name);
	/* Has no process opened it, not even one whose store has lost its LOCK since? Set if check
	 * is. -EBUSY: fault names the process. */
	int (*check_unused)(const char *path, struct wcs_fault *fault);
	/* As wcs_store_check (fsck.h), of an engine that is not open. NULL: it cannot be. */
	int (*check)(const char *path, struct wcs_fsck *fsck);

	/* As wcs_store_sync. */
	int (*sync)(void *db);
	/* As wcs_store_failed. */
	bool (*failed)(void *db);
	/* Were its files removed while it was open? */
	bool (*gone)(void *db);
	/* Fills in the engine's counters; the others stay 0. failed is set already. */
	int (*stats)(void *db, struct wcs_stats *stats);
	/* As wcs_store_engine_text. */
	char *(*text)(void *db);
	/* Deletes the next slice of hidden cells, moves the place, and compacts emptied ranges in
	 * the background. A cell that is written meanwhile stays. One call at a time. */
	int (*collect)(void *db, const struct wcs_view *view, uint32_t table,
		       struct wcs_collect *slice);
	/* Does the engine lag behind the writers? Then work that can wait should. */
	bool (*busy)(void *db);
	/* The medium is full: the engine compacts deleted ranges in the background, to free space.
	 * Called often then; returns at once. */
	void (*shrink)(void *db);
	/* Small records of the layer above, by number, which need not be durable. The caller of
	 * note_get frees *bytes. -ENOENT: there is none. */
	int (*note_put)(void *db, uint16_t number, const unsigned char *bytes, size_t len);
	int (*note_get)(void *db, uint16_t number, unsigned char **bytes, size_t *len);
};

/* An open engine. */
struct wcs_engine {
	const struct wcs_backend *backend;
	const struct wcs_options *options;
	const struct wcs_local *local; /* NULL: it is none */
	_Atomic uint64_t *wrong_salt;  /* rows met by reads whose key has not its salt */
	void *db;
};

/* The engine of that name, NULL: there is none; of name NULL: the one that new stores get, and a
 * store whose marker is lost. */
const struct wcs_backend *wcs_backend_find(const char *name);
extern const struct wcs_backend wcs_backend_leveldb; /* store/leveldb/ */

/* wcs_store_open with a given engine and no directory, marker or lock around it: for an engine
 * that has none of its own, such as the one in tests/. path goes to the engine as it is. */
int wcs_store_open_backend(const struct wcs_backend *backend, const char *path,
			   const struct wcs_options *options, struct wcs_store **store,
			   struct wcs_fault *fault);

/* Functions of a filter that pass the call on to the scan below; the last one, after it has closed
 * that scan, if there is one, frees the filter. */
int scan_pass_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got);
void scan_pass_skip(struct wcs_scan *scan, enum wcs_part part);
void scan_pass_close(struct wcs_scan *scan);

/* Is it an ASCII byte other than NUL, '/', '%' and '.'? */
bool wcs_delimiter_valid(unsigned char delimiter);

/* Is the read under way on this thread to end? Asks options->interrupted, which may wait for other
 * reads, or options->ends between wcs_hold and wcs_release. */
bool wcs_interrupted(const struct wcs_options *options);
/* This thread takes, or has left, a lock that other reads wait for. */
void wcs_hold(void);
void wcs_release(void);

/* Fills a fault as a whole, printf-like; fault may be NULL. Returns error. */
int wcs_fault_set(struct wcs_fault *fault, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
