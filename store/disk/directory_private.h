/* SPDX-License-Identifier: MIT */
/* What directory.c, directory_lock.c and directory_look.c share. */
#ifndef WCS_DIRECTORY_PRIVATE_H
#define WCS_DIRECTORY_PRIVATE_H

#include "store/disk/directory.h"

#include <sys/types.h>

struct directory {
	char *path;
	int fd;
	int lock_fd;
	bool misplaced; /* a directory stands where LOCK belongs; lock_fd is of LOCK.new, or -1 */
	dev_t dev;
	ino_t ino;
	pid_t pid; /* who locked it */
	struct directory *next;
};

/* Fills the fault with errno's words, and returns its error. */
int directory_fail(struct wcs_fault *fault, const char *path, const char *what);

/* ---- directory_lock.c ---- */
/* Takes the lock that is needed for that. -EAGAIN: another process has it, which fault tells. */
int directory_lock_take(struct directory *directory, enum directory_for what,
			struct wcs_fault *fault);
/* Fills the fault; pid 0: not known. -EBUSY. */
int directory_lock_busy(const struct directory *directory, pid_t pid, struct wcs_fault *fault);
/* Removes what mending made where it did not come to it; before the lock is let go. */
void directory_lock_end(const struct directory *directory);

/* ---- directory_look.c ---- */
/* 0: it has a marker, or, where that may be damaged or missing, is a store all the same. path: as
 * it was given. */
int directory_look(const struct directory *directory, const char *path, bool damaged,
		   struct wcs_fault *fault);

#endif
