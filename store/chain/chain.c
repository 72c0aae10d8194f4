/* SPDX-License-Identifier: MIT */
/* Chains: made view by view, and reduced to bounds of keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "store/chain/chain_private.h"

/* ---- Views ------------------------------------------------------------------------------- */

static void chain_view_free(struct chain_view *view)
{
	if (view == NULL || atomic_fetch_sub(&view->holders, 1) != 1)
		return;
	regex_free(view->regex);
	free(view->families);
	free(view);
}

struct chain_view *chain_view_hold(struct chain_view *view)
{
	atomic_fetch_add(&view->holders, 1);
	return view;
}

/* Copies a slice to *to, with a NUL behind it. An empty one is not NULL afterwards, if it was not.
 */
static struct wcs_slice view_copy(struct wcs_slice slice, unsigned char **to)
{
	struct wcs_slice copy = {slice.data != NULL ? *to : NULL, slice.len};

	if (slice.len > 0)
		memcpy(*to, slice.data, slice.len);
	(*to)[slice.len] = '\0';
	*to += slice.len + 1;
	return copy;
}

struct chain_view *chain_view_new(const struct wcs_step *step)
{
	size_t count = step->column_count, len = step->bytes.len + 1;
	struct wcs_column *columns;
	struct chain_view *view;
	struct wcs_slice *within;
	unsigned char *to;

	if (step->within != NULL)
		len += step->within->len + 1;
	for (size_t i = 0; i < count; i++)
		len += step->columns[i].family.len + step->columns[i].qualifier.len + 2;
	view = calloc(1, sizeof(*view) + len);
	if (view == NULL)
		return NULL;
	view->families = calloc(count + 1, sizeof(*within) + sizeof(*columns) + sizeof(char *));
	if (view->families == NULL) {
		free(view);
		return NULL;
	}
	within = (struct wcs_slice *)(void *)(view->families + count + 1);
	columns = (struct wcs_column *)(void *)(within + 1);
	to = view->memory;
	atomic_init(&view->holders, 1);
	view->step = *step;
	view->step.bytes = view_copy(step->bytes, &to);
	if (step->within != NULL)
		*within = view_copy(*step->within, &to);
	view->step.within = step->within != NULL ? within : NULL;
	view->step.columns = columns;
	for (size_t i = 0; i < count; i++) {
		view->families[i] = (const char *)to;
		columns[i].family = view_copy(step->columns[i].family, &to);
		columns[i].qualifier = view_copy(step->columns[i].qualifier, &to);
	}
	return view;
}

/* ---- Chains ------------------------------------------------------------------------------ */

struct wcs_chain *chain_new(struct wcs_chain *before, struct chain_view *view)
{
	struct wcs_chain *chain = malloc(sizeof(*chain));

	if (chain == NULL) {
		chain_view_free(view);
		wcs_chain_free(before);
		return NULL;
	}
	atomic_init(&chain->holders, 1);
	chain->length = before != NULL ? before->length + 1 : 1;
	chain->before = before;
	chain->view = view;
	return chain;
}

static int chain_check(struct wcs_table *table, const struct wcs_chain *before,
		       const struct wcs_step *step, struct wcs_fault *fault)
{
	if (before != NULL && before->length >= WCS_CHAIN_MAX)
		return wcs_fault_set(fault, -ELOOP, "a chain has at most %u views", WCS_CHAIN_MAX);
	if (before != NULL && step->kind == WCS_STEP_RAW)
		return wcs_fault_set(fault, -EINVAL, ".raw must be the first view, in the table");
	if (step->bytes.len > WCS_ROW_KEY_MAX ||
	    (step->within != NULL && step->within->len > WCS_ROW_KEY_MAX))
		return wcs_fault_set(fault, -ENAMETOOLONG, "a row key has at most %u bytes",
				     WCS_ROW_KEY_MAX);
	for (size_t i = 0; i < step->column_count; i++) {
		struct wcs_slice family = step->columns[i].family;

		if (!wcs_family_exists(table, family))
			return wcs_fault_set(fault, -EINVAL, "there is no family %.*s",
					     (int)family.len, (const char *)family.data);
	}
	return 0;
}

int wcs_chain_add(struct wcs_table *table, struct wcs_chain *before, const struct wcs_step *step,
		  struct wcs_chain **chain, struct wcs_fault *fault)
{
	bool expression = step->kind == WCS_STEP_KEY || step->kind == WCS_STEP_COLUMN ||
			  step->kind == WCS_STEP_VALUE;
	int rc = chain_check(table, before, step, fault);
	struct chain_view *view;
	struct wcs_chain *made;

	if (rc != 0)
		return rc;
	view = chain_view_new(step);
	if (view == NULL)
		return -ENOMEM;
	if (expression)
		rc = regex_compile(view->step.bytes, &view->regex, fault);
	if (rc != 0) {
		chain_view_free(view);
		return rc;
	}
	made = chain_new(wcs_chain_hold(before), view);
	if (made == NULL)
		return -ENOMEM;
	*chain = made;
	return 0;
}

struct wcs_chain *wcs_chain_hold(struct wcs_chain *chain)
{
	if (chain != NULL)
		atomic_fetch_add(&chain->holders, 1);
	return chain;
}

void wcs_chain_free(struct wcs_chain *chain)
{
	while (chain != NULL && atomic_fetch_sub(&chain->holders, 1) == 1) {
		struct wcs_chain *before = chain->before;

		chain_view_free(chain->view);
		free(chain);
		chain = before;
	}
}

bool chain_reversed(const struct wcs_chain *chain)
{
	bool reversed = false;

	for (; chain != NULL; chain = chain->before)
		reversed ^= chain->view->step.kind == WCS_STEP_REVERSE;
	return reversed;
}

bool wcs_chain_raw(const struct wcs_chain *chain)
{
	while (chain != NULL && chain->before != NULL)
		chain = chain->before;
	return chain != NULL && chain->view->step.kind == WCS_STEP_RAW;
}

uint32_t wcs_chain_moment(const struct wcs_chain *chain)
{
	const struct wcs_step *step = &chain->view->step;

	if (!step->ago || step->kind > WCS_STEP_PREFIX)
		return 0;
	return (uint32_t)hash_bytes(HASH_START, step->bytes.data, step->bytes.len) | 1;
}

bool wcs_chain_moves(const struct wcs_chain *chain)
{
	for (; chain != NULL; chain = chain->before)
		if (chain_view_is_limit(chain->view))
			return true;
	return false;
}

/* ---- Bounds ------------------------------------------------------------------------------ */

static void bounds_raise(struct chain_bounds *bounds, struct wcs_slice start)
{
	if (wcs_slice_compare(start, bounds->start) <= 0)
		return;
	memcpy(bounds->start_bytes, start.data, start.len);
	bounds->start = (struct wcs_slice){bounds->start_bytes, start.len};
}

static void bounds_lower(struct chain_bounds *bounds, struct wcs_slice end)
{
	if (bounds->end.data != NULL && wcs_slice_compare(end, bounds->end) >= 0)
		return;
	if (end.len > 0)
		memcpy(bounds->end_bytes, end.data, end.len);
	bounds->end = (struct wcs_slice){bounds->end_bytes, end.len};
}

static void bounds_prefix(struct chain_bounds *bounds, struct wcs_slice prefix)
{
	unsigned char past[WCS_ROW_KEY_MAX];
	size_t len;

	if (prefix.len > 0)
		memcpy(past, prefix.data, prefix.len);
	len = engine_past(past, prefix.len);
	bounds_raise(bounds, prefix);
	if (len > 0)
		bounds_lower(bounds, (struct wcs_slice){past, len});
}

/* The length of a shown key's beginning that is the beginning of the key, too: its segments are
 * text. */
static size_t bounds_text(const struct wcs_keys *keys, const unsigned char *shown, size_t len)
{
	size_t start = 0;

	if (keys == NULL)
		return len;
	for (size_t segment = 0; !wcs_keys_coded(keys, segment); segment++) {
		const unsigned char *end =
			len > start ? memchr(shown + start, keys->delimiter, len - start) : NULL;

		if (end == NULL)
			return len;
		start = (size_t)(end - shown) + 1;
	}
	return start;
}

/* The bounds of FROM and TO, and, if all is true, of the other views as well. */
static void bounds_get(const struct wcs_chain *chain, const struct wcs_keys *keys, bool all,
		       struct chain_bounds *bounds)
{
	unsigned char literal[WCS_ROW_KEY_MAX];

	bounds->start = (struct wcs_slice){bounds->start_bytes, 0};
	bounds->end = (struct wcs_slice){NULL, 0};
	for (; chain != NULL; chain = chain->before) {
		enum wcs_step_kind kind = chain->view->step.kind;
		struct wcs_slice bytes = chain->view->step.bytes;

		if (kind == WCS_STEP_FROM)
			bounds_raise(bounds, bytes);
		else if (kind == WCS_STEP_TO)
			bounds_lower(bounds, bytes);
		else if (all && kind == WCS_STEP_PREFIX)
			bounds_prefix(bounds, bytes);
		else if (all && kind == WCS_STEP_KEY)
			bounds_prefix(bounds,
				      (struct wcs_slice){
					      literal, bounds_text(keys, literal,
								   regex_literal(bytes, literal))});
	}
}

void chain_bounds(const struct wcs_chain *chain, const struct wcs_keys *keys,
		  struct chain_bounds *bounds)
{
	bounds_get(chain, chain_keys(chain, keys), true, bounds);
}

size_t chain_cut(const struct chain_bounds *bounds, struct wcs_range *ranges, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct wcs_range range = ranges[i];

		if (wcs_slice_compare(bounds->start, range.start) > 0)
			range.start = bounds->start;
		if (bounds->end.data != NULL &&
		    (range.end.data == NULL || wcs_slice_compare(bounds->end, range.end) < 0))
			range.end = bounds->end;
		if (!engine_bounds_empty(range.start, range.end))
			ranges[left++] = range;
	}
	return left;
}

bool wcs_chain_crossed(const struct wcs_chain *chain)
{
	struct chain_bounds bounds;

	bounds_get(chain, NULL, false, &bounds);
	return bounds.end.data != NULL && wcs_slice_compare(bounds.start, bounds.end) > 0;
}

bool wcs_chain_is_range(const struct wcs_chain *chain)
{
	for (; chain != NULL; chain = chain->before)
		if (chain->view->step.kind < WCS_STEP_FROM ||
		    chain->view->step.kind > WCS_STEP_PREFIX)
			return false;
	return true;
}

bool wcs_chain_meets(const struct wcs_chain *chain, const struct wcs_keys *keys,
		     unsigned char delimiter, struct wcs_slice key, bool below)
{
	struct wcs_subtree subtree;
	struct chain_bounds bounds;

	if (wcs_subtree_init(&subtree, &key, delimiter) != 0)
		return false;
	chain_bounds(chain, keys, &bounds);
	return chain_cut(&bounds, subtree.ranges, below ? subtree.count : 1) > 0;
}
