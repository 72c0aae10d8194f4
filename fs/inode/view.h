/* SPDX-License-Identifier: MIT */
/* The chain of a NODE_VIEWED, as it is spelled and as it is now. Any thread. */
#ifndef FS_VIEW_H
#define FS_VIEW_H

#include "store/chain/chain.h"

/* Takes over the chain. NULL: no memory; the chain is freed. */
struct view *view_new(struct wcs_chain *chain);
void view_free(struct view *view); /* NULL is none */

/* The chain as spelled; NULL: of no view. Borrowed. */
struct wcs_chain *view_chain(const struct view *view);

/* The chain as it is now, or (fresh false) was less than a second ago; the caller frees it. NULL:
 * it shows all. Errors as wcs_chain_resolve. */
int view_now(struct view *view, struct wcs_table *table, bool fresh, struct wcs_chain **chain);

#endif
