/* SPDX-License-Identifier: MIT */
/* A check of a store under way, for its engine to report to. Private to store/. One thread. */
#ifndef WCS_FSCK_H
#define WCS_FSCK_H

#include <stdio.h>

#include "store/store.h"

struct wcs_fsck {
	const struct wcs_check_options *options;
	struct wcs_check_result *result;
	struct wcs_fault *fault;
	int store;			 /* its directory, open */
	bool (*fixed)(const char *name); /* of struct wcs_local */
	int answer;			 /* 0: not asked, 1: yes, -1: no */
};

/* Reports and counts a finding. done: how the repair corrects it, or NULL; where: printf-like. */
void wcs_fsck_found(struct wcs_fsck *fsck, enum wcs_found kind, const char *what, const char *done,
		    const char *where, ...) __attribute__((format(printf, 5, 6)));
/* May the check repair the store? Asks once. */
bool wcs_fsck_agreed(struct wcs_fsck *fsck);
/* Clones the directory that from is open on, to one of that name below `path` (store/disk/clone.h).
 */
int wcs_fsck_clone(struct wcs_fsck *fsck, const char *path, const char *links, int from,
		   const char *name);
/* Before the first change: makes a clone of the store in the quarantine, durably. 0 if it has one.
 * -ENOSPC, -EIO, -ENOMEM, -ECANCELED; the fault is filled. */
int wcs_fsck_keep(struct wcs_fsck *fsck);
/* Removes that clone, since the store was not changed after all. */
void wcs_fsck_drop(struct wcs_fsck *fsck);
/* Reports progress. -ECANCELED: the caller ends the check; the fault is filled. */
int wcs_fsck_progress(struct wcs_fsck *fsck, const char *what, uint64_t done, uint64_t total);

#endif
