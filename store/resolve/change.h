/* SPDX-License-Identifier: MIT */
/* A row's change while it is decided, and the functions of this folder. */
#ifndef WCS_CHANGE_H
#define WCS_CHANGE_H

#include "store/resolve/resolve.h"

/* Another client of a shared engine changed the row meanwhile (-EAGAIN): it is decided again. */
#define RESOLVE_TRIES 16

struct change {
	const struct wcs_table *table;
	const struct wcs_view *view;
	struct wcs_mutation *mutation; /* sealed; NULL: a move */
	struct wcs_rows *rows;
	struct wcs_edit *edit; /* decided so far */
	bool row_empty;	       /* the store has no cell of the row; false: unknown */
	bool sorted; /* it is decided in the engine's order of rows, but not applied in it */
	int64_t now; /* -1: not asked yet */
	/* Bytes that the edit writes beyond its mutation, or, of a move, in all; and that it frees,
	 * of a move. values: some are of small values. */
	uint64_t copied, freed;
	bool values;
	size_t last_order; /* of the writes so far, the one added last; its timestamp */
	int64_t last_ts;
	uint64_t largest; /* size and family of the largest value made */
	const char *largest_family;
};

/* The hidden end of a column. */
struct change_hidden {
	uint64_t rank; /* of its newest cell, from 1 */
	int64_t ts;
};

/* ---- change.c ---- */
/* Finds the newest cell of a column that is not later than ts (WCS_TS_NEWEST: any). 1, 0 or an
 * error. Its data is valid until the next look. */
int change_find(struct change *c, const char *family, struct wcs_slice qualifier, int64_t ts,
		struct wcs_stored *cell);
/* Finds the cell behind *cell, which it replaces. Returns as change_find does. */
int change_older(struct change *c, const char *family, struct wcs_slice qualifier,
		 struct wcs_stored *cell);
/* Makes the value of a found cell one that stays valid. */
int change_keep(struct change *c, const struct wcs_stored *cell, struct wcs_content *value);
/* Memory that lives as long as the edit's deletes and sets. NULL: there is none. */
void *change_alloc(struct wcs_edit *edit, size_t len);
/* Makes the edit empty; keeps its arrays for the next use. */
void change_clear(struct wcs_edit *edit);
void change_free(struct wcs_edit *edit);
int change_delete(struct change *c, struct wcs_delete entry);
int change_set(struct change *c, struct wcs_set set);
/* The cell that a write makes. fresh: the store has none there. */
int change_put(struct change *c, const struct wcs_write *write, int64_t ts,
	       const struct wcs_content *value, bool fresh);
/* The server's timestamp in a column with (found) or without a newest cell. -EOVERFLOW. */
int change_server_ts(struct change *c, bool found, int64_t newest, int64_t *ts);
/* Whether the family's policy looks at ranks. Newer cells and deletes do not change the set of
 * cells that a policy hides for their age alone. */
bool change_has_ranks(const struct change *c, const char *family);
/* Deletes the cells of a column that the view hides, if must agrees (NULL: it does): before the
 * edit, which could show them again. A delete of a newer cell, or its move, gives older cells a
 * lower rank. */
int change_purge(struct change *c, const char *family, struct wcs_slice qualifier,
		 bool (*must)(void *ctx, const struct change_hidden *hidden), void *ctx);

/* ---- mutate.c ---- */
/* Decides the change's mutation. */
int mutate_row(struct change *c);

/* ---- column.c, merge.c ---- */
/* Decide the writes of one column; the second in an aggregate family. */
int column_write(struct change *c, struct wcs_write *writes, size_t count);
int merge_write(struct change *c, struct wcs_write *writes, size_t count);

/* ---- feed.c ---- */
/* Tells the table's watch, if there is one, of an edit that was applied, before its row is
 * unlocked. row: without salt. The caller has entered the table. */
void feed_tell(const struct wcs_table *table, struct wcs_slice row, const struct wcs_edit *edit);

#endif
