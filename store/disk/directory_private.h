/* SPDX-License-Identifier: MIT */
/* Shared by directory*.c only. */
#ifndef WCS_DIRECTORY_PRIVATE_H
#define WCS_DIRECTORY_PRIVATE_H

#include "store/disk/directory.h"

#include <sys/types.h>

struct directory {
	char *path;
	int fd;
	int lock_fd; /* -1: none */
	dev_t dev;
	ino_t ino;
	pid_t pid; /* of the process that locked it */
	struct directory *next;
};

/* ---- directory_look.c ---- */
/* Is the directory a store's? 0: it has a marker, or, with damaged, it is a store although its
 * marker is damaged or missing. path: as the user gave it. */
int directory_look(const struct directory *directory, const char *path, bool damaged,
		   struct wcs_fault *fault);

#endif
