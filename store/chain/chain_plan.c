/* SPDX-License-Identifier: MIT */
/*
 * Divides a chain between the engine and the scan above it. Families, times and counts at the
 * chain's beginning go to the engine, as far as the order of views allows: a view of times does not
 * pass one of counts, and no view of cells passes one of rows (HAS, WHERE), since that sees the
 * cells before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/chain/chain_private.h"

static void fold_times(struct wcs_filter *to, int64_t from, int64_t end)
{
	if (from > to->ts_from)
		to->ts_from = from;
	if (end != 0 && (to->ts_to == 0 || end < to->ts_to))
		to->ts_to = end;
}

static void fold_newest(struct wcs_filter *to, uint64_t number)
{
	if (number < UINT32_MAX && (to->newest == 0 || number < to->newest))
		to->newest = (uint32_t)number;
}

/* Is it a list of whole families, or one column? The engine takes these. */
static bool fold_takes_columns(const struct wcs_filter *to, const struct wcs_step *step)
{
	if (to->families != NULL)
		return false;
	for (size_t i = 0; i < step->column_count; i++)
		if (step->columns[i].qualifier.data != NULL)
			return step->column_count == 1;
	return true;
}

/* 1 or -ENOMEM. */
static int fold_columns(struct chain_plan *plan, const struct wcs_table *table,
			const struct chain_view *view)
{
	const struct wcs_step *step = &view->step;
	size_t count = 0;

	plan->families = calloc(step->column_count + 1, sizeof(*plan->families));
	if (plan->families == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < step->column_count; i++)
		if (family_of(table, view->families[i]) != NULL)
			plan->families[count++] = view->families[i];
	engine_sort_families(plan->families, count);
	plan->engine.families = plan->families;
	plan->engine.family_count = count;
	if (step->column_count == 1 && step->columns[0].qualifier.data != NULL) {
		/* a NUL follows the bytes */
		plan->engine.qualifier_from = plan->engine.qualifier_to =
			step->columns[0].qualifier;
		plan->engine.qualifier_to.len++;
	}
	return 1;
}

/* Gives a view to the engine. 1: done; 0: it cannot be; or an error. */
static int fold_view(struct chain_plan *plan, const struct wcs_table *table,
		     const struct chain_view *view, int64_t time, bool counted, bool valued)
{
	const struct wcs_step *step = &view->step;
	bool times = step->kind == WCS_STEP_AT || step->kind == WCS_STEP_SINCE ||
		     step->kind == WCS_STEP_UNTIL;

	if (times && counted)
		return 0;
	switch (step->kind) {
	case WCS_STEP_COLUMNS:
		return fold_takes_columns(&plan->engine, step) ? fold_columns(plan, table, view)
							       : 0;
	case WCS_STEP_AT:
		fold_times(&plan->engine, 0, time == INT64_MAX ? 0 : time + 1);
		return 1;
	case WCS_STEP_SINCE:
		fold_times(&plan->engine, time, 0);
		return 1;
	case WCS_STEP_UNTIL:
		fold_times(&plan->engine, 0, time);
		return 1;
	case WCS_STEP_NEWEST:
		if (valued)
			return 0;
		fold_newest(&plan->engine, step->number);
		return 1;
	default:
		return 0;
	}
}

/* The time of a view of times; below 0: before 1970. */
static int64_t view_time(const struct wcs_table *table, const struct wcs_step *step)
{
	return step->ago ? store_now(table->store) - step->time : step->time;
}

/* Does the engine do all of it? */
static bool plan_is_folded(const struct chain_plan *plan)
{
	const struct wcs_filter *wanted = &plan->wanted;

	return plan->count == 0 && wanted->families == NULL && wanted->qualifier_from.len == 0 &&
	       wanted->qualifier_to.data == NULL && wanted->ts_from == 0 && wanted->ts_to == 0 &&
	       wanted->newest == 0;
}

int chain_plan(struct chain_plan *plan, const struct wcs_chain *chain,
	       const struct wcs_table *table, const struct wcs_filter *filter)
{
	const struct chain_view *views[WCS_CHAIN_MAX];
	bool rows = false, counted = false, valued = false;
	size_t count = chain->length;

	for (const struct wcs_chain *at = chain; at != NULL; at = at->before)
		views[--count] = at->view;
	for (; count < chain->length; count++) {
		enum wcs_step_kind kind = views[count]->step.kind;
		int64_t time = view_time(table, &views[count]->step);
		int rc = 0;

		if (kind <= WCS_STEP_REVERSE) /* bounds and direction */
			continue;
		plan->empty |= (kind == WCS_STEP_NEWEST && views[count]->step.number == 0) ||
			       (kind == WCS_STEP_UNTIL && time <= 0) ||
			       (kind == WCS_STEP_AT && time < 0);
		if (!rows)
			rc = fold_view(plan, table, views[count], time, counted, valued);
		if (rc < 0)
			return rc;
		rows |= chain_kind_is_rows(kind);
		counted |= kind == WCS_STEP_NEWEST;
		if (rc > 0)
			continue;
		/* A count behind these cannot go to the engine. */
		valued |= kind >= WCS_STEP_VALUE;
		plan->steps[plan->count].time = time;
		plan->steps[plan->count++].view = views[count];
		if (chain_kind_is_rows(kind))
			plan->rows_end = plan->count;
	}
	plan->wanted = *filter;
	if (!rows && plan->engine.families == NULL) {
		plan->engine.families = filter->families;
		plan->engine.family_count = filter->family_count;
		plan->engine.qualifier_from = filter->qualifier_from;
		plan->engine.qualifier_to = filter->qualifier_to;
		plan->wanted.families = NULL;
		plan->wanted.family_count = 0;
		plan->wanted.qualifier_from = plan->wanted.qualifier_to =
			(struct wcs_slice){NULL, 0};
	}
	if (!rows && !counted) {
		fold_times(&plan->engine, filter->ts_from, filter->ts_to);
		plan->wanted.ts_from = plan->wanted.ts_to = 0;
	}
	if (!rows && !valued && filter->newest != 0 && plan->wanted.ts_from == 0 &&
	    plan->wanted.ts_to == 0) {
		fold_newest(&plan->engine, filter->newest);
		plan->wanted.newest = 0;
	}
	if (plan_is_folded(plan)) {
		plan->engine.each = filter->each;
		plan->wanted.each = WCS_EACH_CELL;
	}
	return 0;
}
