/* SPDX-License-Identifier: MIT */
/* Clones of a store's directory, by links where that is possible. Private to store/. Any
 * thread. */
#ifndef WCS_CLONE_H
#define WCS_CLONE_H

#include "store/store.h"

struct directory_clone {
	const char *path; /* of the directory for the clone; made if it does not exist */
	/* Does a file of that name never change once it is complete? NULL: any may. */
	bool (*fixed)(const char *name);
	/* Path of the original: symbolic links below it stand for files that never change. NULL:
	 * hard links do. */
	const char *links;
	/* Called for each piece that is copied, with the bytes so far; false ends the clone, after
	 * it filled the fault: -ECANCELED. NULL: none. */
	bool (*go_on)(void *ctx, uint64_t done);
	void *ctx;
	struct wcs_fault *fault; /* failed calls fill it */
};

/* Makes a clone, of that name, of the directory that from is open on, durably, without the data.new
 * of a repair. After an error
 * nothing is left of it. */
int directory_clone(const struct directory_clone *request, int from, const char *name);

#endif
