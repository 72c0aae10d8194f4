/* SPDX-License-Identifier: MIT */
/* A check of a store under way, for its engine to report to. Private to store/. One thread. */
#ifndef WCS_FSCK_H
#define WCS_FSCK_H

#include "store/fsck/quarantine.h"
#include "store/store.h"

struct wcs_fsck {
	const struct wcs_check_options *options;
	struct wcs_check_result *result;
	struct wcs_fault *fault;
	struct wcs_quarantine *quarantine; /* NULL: nothing is repaired */
	int answers[3];			   /* by enum wcs_check_ask: 0 not asked, 1 yes, -1 no */
};

/* Reports and counts a finding. done: how it was corrected, or NULL; where: printf-like. */
void wcs_fsck_found(struct wcs_fsck *fsck, enum wcs_found kind, const char *what, const char *done,
		    const char *where, ...) __attribute__((format(printf, 5, 6)));
/* May the check repair this? Asks once for each kind. */
bool wcs_fsck_agreed(struct wcs_fsck *fsck, enum wcs_check_ask ask, const char *what);
/* The same of one file or directory; asks each time. */
bool wcs_fsck_agreed_one(struct wcs_fsck *fsck, const char *what);
/* Reports progress. -ECANCELED: the caller ends the check; the fault is filled. */
int wcs_fsck_progress(struct wcs_fsck *fsck, const char *what, uint64_t done, uint64_t total);

#endif
