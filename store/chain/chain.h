/* SPDX-License-Identifier: MIT */
/*
 * A chain of views selects rows and cells of a table. It is read from left to right; each view
 * narrows the result of the one before. docs/queries.md shows their use. Errors,
 * threads and ownership as in store.h.
 *
 * Policies apply before the chain. A row without a visible cell does not exist, for the next view
 * either. "The chain so far" of a view is the result of the views before it.
 */
#ifndef WCS_CHAIN_H
#define WCS_CHAIN_H

#include "store/store.h"

#define WCS_CHAIN_MAX	 32u	     /* views in a chain */
#define WCS_SAMPLE_WHOLE 1000000000u /* the number of a sample that has every row */
#define WCS_SPLITS_MAX	 100u	     /* keys that wcs_rows_splits gives */

/* A column; of qualifier.data NULL: all columns of the family. */
struct wcs_column {
	struct wcs_slice family;
	struct wcs_slice qualifier;
};

/* Keys are those of store.h, but KEY looks at the shown key, without %XX. */
enum wcs_step_kind {
	WCS_STEP_RAW,	  /* keys are the engine's, as stored; only first; none of the fields */
	WCS_STEP_FROM,	  /* rows with a key >= bytes */
	WCS_STEP_TO,	  /* < bytes */
	WCS_STEP_PREFIX,  /* whose key begins with bytes */
	WCS_STEP_FIRST,	  /* the first `number` rows in the order so far, of those below `within` */
	WCS_STEP_LAST,	  /* the last ones */
	WCS_STEP_REVERSE, /* the same rows in descending order; none of the fields */
	WCS_STEP_SAMPLE,  /* rows whose key's hash is low: number / WCS_SAMPLE_WHOLE of all */
	WCS_STEP_KEY,	  /* rows whose whole key matches the expression in bytes */
	WCS_STEP_HAS,	  /* rows with a cell in columns[0] */
	WCS_STEP_WHERE,	  /* rows whose newest cell in columns[0] equals bytes; of an aggregate, its
			   * number; without a final newline, or with one that bytes lacks */
	WCS_STEP_COLUMNS, /* only cells of any of the columns */
	WCS_STEP_COLUMN,  /* only cells whose qualifier matches the expression in bytes */
	WCS_STEP_VALUE,	  /* only cells whose value matches it, as in WHERE */
	WCS_STEP_NEWEST,  /* only the `number` newest cells of each column so far */
	WCS_STEP_AT,	  /* only cells with a timestamp <= time */
	WCS_STEP_SINCE,	  /* >= time */
	WCS_STEP_UNTIL,	  /* < time */
};

/* A view. Expressions are PCRE2 on bytes, anchored at both ends, and '.' matches every byte. */
struct wcs_step {
	enum wcs_step_kind kind;
	bool ago; /* time is a span before the present, which each read evaluates as it starts; of
		   * FROM, TO, PREFIX: bytes have a time that was made of the present */
	struct wcs_slice bytes;
	const struct wcs_slice *within; /* a key: its row and the rows below it; NULL: all */
	uint64_t number;
	int64_t time; /* microseconds */
	const struct wcs_column *columns;
	size_t column_count;
};

/*
 * The chain before (NULL: none) and one more view; it shares `before`, and copies the rest. A chain
 * is immutable and counted. The caller frees *chain. -ELOOP: over WCS_CHAIN_MAX views; -EINVAL: an
 * unknown family, RAW behind another view, or an expression that does not compile, whose offset the
 * fault has as column, from 1; -ENAMETOOLONG, -ENOMEM.
 */
int wcs_chain_add(struct wcs_table *table, struct wcs_chain *before, const struct wcs_step *step,
		  struct wcs_chain **chain, struct wcs_fault *fault);
/* Takes a reference, and returns chain; releases one. Both take NULL. */
struct wcs_chain *wcs_chain_hold(struct wcs_chain *chain);
void wcs_chain_free(struct wcs_chain *chain);

/* Is RAW its first view? Then the keys of its reads, and of their results, are as the engine has
 * them, with the table's salt. chain may be NULL. */
bool wcs_chain_raw(const struct wcs_chain *chain);
/* A hash of the bytes of the last view if they have a time that was made of the present; else 0. */
uint32_t wcs_chain_moment(const struct wcs_chain *chain);
/* Does it depend on the rows that there are: has it FIRST or LAST? */
bool wcs_chain_moves(const struct wcs_chain *chain);
/* Does its FROM lie above its TO? Then it is empty. */
bool wcs_chain_crossed(const struct wcs_chain *chain);
/* Has it FROM, TO and PREFIX alone: does it select a range of keys? chain NULL: true. */
bool wcs_chain_is_range(const struct wcs_chain *chain);
/* Has that range (of a chain that does not move) the row `key`, or, with `below`, a key of those
 * that the row and the rows below it may have? keys and delimiter: of the table. */
bool wcs_chain_meets(const struct wcs_chain *chain, const struct wcs_keys *keys,
		     unsigned char delimiter, struct wcs_slice key, bool below);
/*
 * The chain as it is now: FIRST and LAST become bounds; the caller frees it. *resolved NULL: it
 * shows everything. Reads take only such a chain. A chain that does not move is itself. The cost is
 * that of reading the keys of the first or last rows. Errors as of scans; -E2BIG: an expression
 * took too many steps.
 */
int wcs_chain_resolve(struct wcs_table *table, struct wcs_chain *chain,
		      struct wcs_chain **resolved);

/*
 * Calls each for the keys of up to WCS_SPLITS_MAX rows, ascending, that divide the rows below key
 * (NULL: of the table), within the bounds of the chain (NULL: none; it does not move), into parts
 * of about equal size, by the engine's estimate of keys and of values up to WCS_VALUE_INLINE;
 * without a scan. There are fewer of a small table, and none while it is in memory. Stops at the
 * first error of each and returns it.
 */
int wcs_rows_splits(struct wcs_table *table, const struct wcs_slice *key, struct wcs_chain *chain,
		    int (*each)(void *ctx, struct wcs_slice row), void *ctx);

#endif
