/* SPDX-License-Identifier: MIT */
/*
 * The chain of a NODE_VIEWED. `.first` and `.last` are resolved as the view is opened; the bounds
 * serve the lookups of the next second, since a path is looked up name by name.
 */
#include <pthread.h>
#include <stdlib.h>

#include "fs/inode/node.h"
#include "lib/clock.h"
#include "store/chain/chain.h"

struct view {
	struct wcs_chain *chain;
	bool moves; /* it must be resolved */
	pthread_mutex_t lock;
	struct wcs_chain *resolved; /* NULL: it shows all. Lock: lock, as below */
	int64_t until;		    /* of the steady clock; 0: it was never resolved */
};

struct view *view_new(struct wcs_chain *chain)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view) {
		wcs_chain_free(chain);
		return NULL;
	}
	view->chain = chain;
	view->moves = wcs_chain_moves(chain);
	pthread_mutex_init(&view->lock, NULL);
	return view;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	wcs_chain_free(view->chain);
	wcs_chain_free(view->resolved);
	pthread_mutex_destroy(&view->lock);
	free(view);
}

struct wcs_chain *view_chain(const struct view *view)
{
	return view ? view->chain : NULL;
}

int view_now(struct view *view, struct wcs_table *table, bool fresh, struct wcs_chain **chain)
{
	struct wcs_chain *resolved, *old;
	bool kept;
	int rc;

	if (!view->moves) {
		*chain = wcs_chain_hold(view->chain);
		return 0;
	}
	pthread_mutex_lock(&view->lock);
	kept = !fresh && clock_ns() < view->until;
	if (kept)
		*chain = wcs_chain_hold(view->resolved);
	pthread_mutex_unlock(&view->lock);
	if (kept)
		return 0;
	rc = wcs_chain_resolve(table, view->chain, &resolved);
	if (rc != 0)
		return rc;
	*chain = wcs_chain_hold(resolved);
	pthread_mutex_lock(&view->lock);
	old = view->resolved;
	view->resolved = resolved;
	view->until = clock_ns() + CLOCK_SECOND; /* to resolve may take longer */
	pthread_mutex_unlock(&view->lock);
	wcs_chain_free(old);
	return 0;
}
