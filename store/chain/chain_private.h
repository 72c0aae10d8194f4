/* SPDX-License-Identifier: MIT */
/* A chain's memory, its bounds and its scan. Private to store/. */
#ifndef WCS_CHAIN_PRIVATE_H
#define WCS_CHAIN_PRIVATE_H

#include <stdatomic.h>

#include "store/chain/chain.h"
#include "store/chain/regex.h"
#include "store/engine/engine.h"
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
void chain_view_free(struct chain_view *view);

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
/* The bounds of a chain that does not move. bounds must not be copied or moved afterwards. */
void chain_bounds(const struct wcs_chain *chain, struct chain_bounds *bounds);
/* Cuts the ranges to the bounds; returns how many are left. */
size_t chain_cut(const struct chain_bounds *bounds, struct wcs_range *ranges, size_t count);

/* ---- chain_scan.c ---- */
/* As engine_scan, of the cells that pass filter->chain, which does not move, and then the filter.
 * The ranges are within the chain's bounds. The caller has entered the table. */
int chain_scan(struct wcs_table *table, const struct wcs_view *view, const struct wcs_range *ranges,
	       size_t count, const struct wcs_filter *filter, struct wcs_scan **scan);

#endif
