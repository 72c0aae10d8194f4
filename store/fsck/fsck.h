/* SPDX-License-Identifier: MIT */
/* A check of a store under way: what the layer above gives to its engine. Private to store/. */
#ifndef WCS_FSCK_H
#define WCS_FSCK_H

#include "store/fsck/quarantine.h"
#include "store/store.h"

struct wcs_fsck {
	const struct wcs_check_options *options;
	struct wcs_check_result *result;
	struct wcs_fault *fault;
	struct wcs_quarantine *quarantine; /* NULL: nothing is repaired */
	int answers[3];			   /* by enum wcs_check_ask: 0: not asked yet; 1; -1 */
};

/* Tells of a finding and counts it. done: how it was corrected, or NULL. The place is printf-like.
 */
void wcs_fsck_found(struct wcs_fsck *fsck, enum wcs_found kind, const char *what, const char *done,
		    const char *where, ...) __attribute__((format(printf, 5, 6)));
/* May this be repaired? Asks where it was not asked yet. */
bool wcs_fsck_agreed(struct wcs_fsck *fsck, enum wcs_check_ask ask, const char *what);
/* The same of one file or directory, which is a question of its own each time. */
bool wcs_fsck_agreed_one(struct wcs_fsck *fsck, const char *what);
/* 0, or -ECANCELED. */
int wcs_fsck_progress(struct wcs_fsck *fsck, const char *what, uint64_t done, uint64_t total);

#endif
