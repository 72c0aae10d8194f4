/* SPDX-License-Identifier: MIT */
/*
 * What an engine gives to the store. Private to store/ and the engines.
 *
 * The layer above (store.c, table.c) has checked every argument before it calls: names and limits
 * hold, families exist, tables are there and cannot go while the call runs. An engine need not
 * check them again. It returns the errors of store.h, and has logged the reason of what is its own
 * fault (-EIO, -ENOSPC, -EROFS). Any thread may call; an engine locks for itself.
 */
#ifndef WCS_BACKEND_H
#define WCS_BACKEND_H

#include "store/mutation.h"
#include "store/store.h"

struct wcs_view;     /* store/policy/view.h */
struct wcs_policies; /* the same */

/* The first member of every engine's own struct, so that the layer above finds the engine. */
struct wcs_scan {
	const struct wcs_backend *backend;
	struct wcs_policies *policies; /* the layer above holds them while it is open */
};
struct wcs_list {
	const struct wcs_backend *backend;
	struct wcs_policies *policies; /* the same */
};
struct wcs_value {
	const struct wcs_backend *backend;
	struct wcs_cell_info info;
};

/* Collecting: a place in a table, and what was done. */
#define WCS_COLLECT_AT_MAX (48u << 10)
struct wcs_collect {
	size_t batch; /* cells to delete, at most */
	size_t look;  /* cells to look at, at most, or not many more */
	/* Cells that slices delete before what they emptied is made fast to read: few of them cost
	 * readers less, many of them cost less in all. */
	size_t compact;
	bool done; /* the table's end was reached */
	/* Counted up. */
	uint64_t looked, collected, bytes;
	size_t len; /* of the place, the engine's own bytes; 0: the table's start */
	unsigned char at[WCS_COLLECT_AT_MAX];
	size_t row_len; /* of the row where the place is, for who looks on; 0: none */
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

struct wcs_fsck;

struct wcs_backend {
	const char *name; /* as the store's marker file names it */

	/* Makes an empty engine below the existing directory path. */
	int (*create)(const char *path, struct wcs_fault *fault);
	/* Opens it; fills fault on failure. The options stay valid while it is open; their log and
	 * now are never NULL. */
	int (*open)(const char *path, const struct wcs_options *options, void **db,
		    struct wcs_fault *fault);
	void (*close)(void *db);
	/* Is that the name of a file that the engine makes in DIRECTORY_DATA? It makes nothing but
	 * regular files there. */
	bool (*owns)(const char *name);
	/* Has no process opened it? Tells also of one from under which somebody took the store's
	 * LOCK. There where check is. -EBUSY: fault names the process. */
	int (*check_unused)(const char *path, struct wcs_fault *fault);
	/* As wcs_store_check (fsck.h), of an engine that is not open. NULL: it cannot be. */
	int (*check)(const char *path, struct wcs_fsck *fsck);
	/* As wcs_store_sync. */
	int (*sync)(void *db);
	/* As wcs_store_failed. */
	bool (*failed)(void *db);
	/* Fills in what the engine knows; the rest is 0 and stays so. failed is set already. */
	int (*stats)(void *db, struct wcs_stats *stats);
	/* As wcs_store_engine_text. */
	char *(*text)(void *db);

	/* Calls each for every table, in any order; stops at the first error and returns it. */
	int (*tables_load)(void *db,
			   int (*each)(void *ctx, uint32_t id,
				       const struct wcs_table_schema *schema),
			   void *ctx);
	/* Makes a table (*id 0: the engine sets it to a number that it never used before) or
	 * replaces the description of one. Durable. Calls for one table do not overlap. */
	int (*table_put)(void *db, uint32_t *id, const struct wcs_table_schema *schema);
	/* Removes a table without rows. Durable. */
	int (*table_remove)(void *db, uint32_t id);

	/* As the functions of store.h of like name; ts is WCS_TS_NEWEST or >= 0. What the view
	 * hides is not there for them. It is good for the call; its policies as long as what the
	 * call opened is open. */
	int (*cell_get)(void *db, const struct wcs_view *view, const struct wcs_address *at,
			struct wcs_cell_info *info);
	int (*value_open)(void *db, const struct wcs_view *view, const struct wcs_address *at,
			  struct wcs_value **value);
	int (*value_read)(struct wcs_value *value, void *buf, size_t len, uint64_t offset,
			  size_t *got);
	void (*value_close)(struct wcs_value *value);
	int (*key_get)(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice key,
		       unsigned char delimiter, struct wcs_key_info *info);

	/* range and filter are not NULL, and not such that nothing can be in them; the filter's
	 * families are sorted and distinct. The engine copies of both what it needs beyond the
	 * call. */
	int (*scan_open)(void *db, const struct wcs_view *view, uint32_t table,
			 const struct wcs_range *range, const struct wcs_filter *filter,
			 struct wcs_scan **scan);
	int (*scan_next)(struct wcs_scan *scan, struct wcs_cell *cell);
	int (*scan_seek)(struct wcs_scan *scan, struct wcs_slice row);
	int (*scan_read)(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset,
			 size_t *got);
	void (*scan_close)(struct wcs_scan *scan);

	int (*list_open)(void *db, const struct wcs_view *view, uint32_t table,
			 struct wcs_slice prefix, unsigned char delimiter,
			 const struct wcs_slice *after, struct wcs_list **list);
	int (*list_next)(struct wcs_list *list, struct wcs_slice *segment);
	void (*list_close)(struct wcs_list *list);

	/* The mutation is sealed (mutation.h): its deletes and writes are sorted by column. What
	 * the view hides has no value for conditions, appends and increments; but it counts for the
	 * server's timestamps, and nothing that the call does makes it seen again: where it could,
	 * as by a delete of a newer cell, it goes.
	 *
	 * Where it succeeds, `hidden` of each write says whether the view hides the cell that this
	 * made. By its age that is so in any case; by its rank as far as the engine knows without
	 * looking for more of the column than the write needs: it may say that a cell is shown
	 * which is behind newer ones, but never the reverse. Of writes that make one cell it
	 * marks one at least. */
	int (*mutate)(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		      struct wcs_mutation *mutation, int64_t *ts);
	/* As wcs_rows_mutate; count is not 0. Rows are as mutate has them. */
	int (*mutate_many)(void *db, const struct wcs_view *view, uint32_t table,
			   struct wcs_entry *entries, size_t count, size_t *applied);
	/* *hidden: as of a write, of the cell that moved. */
	int (*move)(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		    const struct wcs_move *move, int64_t *ts, bool *hidden);
	/* Deletes, from the place on, what the view hides of the table, a slice at a time; the
	 * place moves. A cell that is written meanwhile stays. One call at a time. */
	int (*collect)(void *db, const struct wcs_view *view, uint32_t table,
		       struct wcs_collect *slice);
	/* Comes behind each slice: what slices emptied is made fast to read, in the background.
	 * end: of a table. */
	void (*collected)(void *db, bool end);
	/* Does the engine lag behind what is written, so that work which can wait should? */
	bool (*busy)(void *db);
	/* There is no room on the medium: what deletes left behind is given back, in the
	 * background. Called often then, and returns at once. */
	void (*shrink)(void *db);
	/* One small record of the layer above. The caller of note_get frees *bytes. -ENOENT: there
	 * is none. What is put need not be durable. */
	int (*note_put)(void *db, const unsigned char *bytes, size_t len);
	int (*note_get)(void *db, unsigned char **bytes, size_t *len);
	/* Deletes a row (NULL: none) and the rows of a range that starts behind it. */
	int (*drop)(void *db, uint32_t table, const struct wcs_slice *row,
		    const struct wcs_range *range);
};

/* The engine of that name, NULL: there is none; of name NULL: the one that new stores get, and a
 * store whose marker is lost. */
const struct wcs_backend *wcs_backend_find(const char *name);

/* wcs_store_open with a given engine and no directory, marker or lock around it: for an engine
 * that has none of its own, such as the one in tests/. path goes to the engine as it is. */
int wcs_store_open_backend(const struct wcs_backend *backend, const char *path,
			   const struct wcs_options *options, struct wcs_store **store,
			   struct wcs_fault *fault);

/* Is it an ASCII byte other than NUL, '/', '%' and '.'? */
bool wcs_delimiter_valid(unsigned char delimiter);

/* Logs a warning where the value that a mutation made is over WCS_VALUE_WARN; an engine says so of
 * the largest, since it alone knows what an append comes to. */
void wcs_warn_value(const struct wcs_options *options, const char *family, uint64_t size);

/* Fills a fault, printf-like; fault may be NULL. Returns error, so that callers can return it. */
int wcs_fault_set(struct wcs_fault *fault, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
