/* SPDX-License-Identifier: MIT */
/* A chain's memory, its bounds and its scan. Private to store/. */
#ifndef WCS_CHAIN_PRIVATE_H
#define WCS_CHAIN_PRIVATE_H

#include <stdatomic.h>

#include "store/chain/chain.h"
#include "store/chain/regex.h"
#include "store/engine/engine.h"
#include "store/keys/keys.h"
#include "store/table/table.h"

/* A view; chains that continue one another share it. Immutable, counted. */
struct chain_view {
	atomic_size_t holders;
	struct wcs_step step;  /* its slices are in `memory` */
	struct regex *regex;   /* NULL: none */
	const char **families; /* of step.columns, with a NUL each */
	unsigned char memory[];
};

struct wcs_chain {
	atomic_size_t holders;
	unsigned length;	  /* views */
	struct wcs_chain *before; /* NULL: none */
	struct chain_view *view;
};

/* A copy of the step with its slices; its expression is not compiled. NULL: no memory. */
struct chain_view *chain_view_new(const struct wcs_step *step);
struct chain_view *chain_view_hold(struct chain_view *view);

static inline bool chain_view_is_limit(const struct chain_view *view)
{
	return view->step.kind == WCS_STEP_FIRST || view->step.kind == WCS_STEP_LAST;
}

/* Takes over the view and a reference to before, also if there is no memory: NULL. */
struct wcs_chain *chain_new(struct wcs_chain *before, struct chain_view *view);

/* Do its rows come in descending order? chain may be NULL. */
bool chain_reversed(const struct wcs_chain *chain);

/* The rows between two keys. */
struct chain_bounds {
	struct wcs_slice start, end; /* end.data NULL: to the last row */
	unsigned char start_bytes[WCS_ROW_KEY_MAX + 1], end_bytes[WCS_ROW_KEY_MAX + 1];
};
/* The bounds of a chain that does not move, in a table of that design. bounds must not be copied or
 * moved afterwards. */
void chain_bounds(const struct wcs_chain *chain, const struct wcs_keys *keys,
		  struct chain_bounds *bounds);
/* The design as the chain sees it: RAW sees none. */
static inline const struct wcs_keys *chain_keys(const struct wcs_chain *chain,
						const struct wcs_keys *keys)
{
	return keys != NULL && wcs_chain_raw(chain) ? NULL : keys;
}
/* Cuts the ranges to the bounds; returns how many are left. */
size_t chain_cut(const struct chain_bounds *bounds, struct wcs_range *ranges, size_t count);

/* ---- chain_plan.c ---- */
/* A view that the scan evaluates. */
struct chain_step {
	const struct chain_view *view;
	int64_t time;	 /* of a view of times, as of the scan's start */
	uint64_t count;	 /* NEWEST: cells of the column that came so far */
	bool column_out; /* COLUMNS, COLUMN: the present column is not wanted */
};

struct chain_plan {
	struct wcs_filter engine; /* the part for the engine */
	struct wcs_filter wanted; /* the part of the caller's that comes behind the steps */
	const char **families;	  /* of engine; owned */
	bool empty;		  /* no cell can pass */
	size_t count;		  /* of steps */
	size_t rows_end;	  /* steps up to the last of HAS and WHERE; 0: there is none */
	struct chain_step steps[WCS_CHAIN_MAX];
};

static inline bool chain_kind_is_rows(enum wcs_step_kind kind)
{
	return kind == WCS_STEP_HAS || kind == WCS_STEP_WHERE;
}

/* Divides the chain and the caller's filter between the engine and the steps; the plan is zero
 * before, but for engine.reverse. 0 or -ENOMEM. */
int chain_plan(struct chain_plan *plan, const struct wcs_chain *chain,
	       const struct wcs_table *table, const struct wcs_filter *filter);

/* ---- chain_value.c ---- */
enum { CHAIN_NUMBER_MAX = 21 };

/* A family that aggregates. */
struct chain_type {
	char family[WCS_FAMILY_NAME_MAX + 1];
	enum wcs_type type;
};

/* The types of a table's families, and the memory of one value; zero is empty. */
struct chain_values {
	struct chain_type *types;
	size_t type_count;
	unsigned char *value;
	size_t value_room;
};

/* The caller has entered the table. -ENOMEM. */
int chain_values_init(struct chain_values *values, const struct wcs_table *table);
void chain_values_clear(struct chain_values *values);
/* The text that the file of the scan's last cell shows, without one final newline; number has room
 * for CHAIN_NUMBER_MAX bytes. Valid until the next one. */
int chain_value_text(struct chain_values *values, struct wcs_scan *of, const struct wcs_cell *cell,
		     char *number, struct wcs_slice *text);
/* Frees the memory of a large value. */
void chain_value_leave(struct chain_values *values);

/* ---- chain_scan.c ---- */
/* As engine_scan, of the cells that pass filter->chain, which does not move, and then the filter.
 * The ranges are within the chain's bounds. The caller has entered the table. */
int chain_scan(struct wcs_table *table, const struct wcs_view *view, const struct wcs_range *ranges,
	       size_t count, const struct wcs_filter *filter, struct wcs_scan **scan);

#endif
