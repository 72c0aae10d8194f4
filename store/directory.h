/* SPDX-License-Identifier: MIT */
/* The directory around a store's engine: its marker and its lock. Private to store/. */
#ifndef WCS_DIRECTORY_H
#define WCS_DIRECTORY_H

#include "store.h"

#define DIRECTORY_MARKER     "ROWFS"
#define DIRECTORY_LOCK	     "LOCK"
#define DIRECTORY_DATA	     "data" /* what an engine may make in it */
#define DIRECTORY_FORMAT     1
#define DIRECTORY_ENGINE_MAX 32 /* bytes of an engine's name, with its NUL */

/* What the marker says. */
struct directory_marker {
	char engine[DIRECTORY_ENGINE_MAX];
	int64_t created; /* microseconds since 1970 */
};

struct directory; /* the directory of a store, locked by this process */

/* Locks the store at path, whatever its marker says. -ENOENT: no store; -EBUSY: in use. */
int directory_open(const char *path, struct directory **directory, struct wcs_fault *fault);
void directory_close(struct directory *directory);
/* -EPROTO: a newer format; -EIO: damaged. */
int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault);
/* Absolute, without symbolic links. */
const char *directory_path(const struct directory *directory);
int directory_space(const struct directory *directory, struct wcs_space *space);

/* Makes marker and lock file in the empty directory that fd is open on. An errno of store.h. */
int directory_fill(int fd, const struct directory_marker *marker);
/* Does the directory that fd is open on have a marker whose first line says that it is a store? */
bool directory_has_marker(int fd);
/* Is this name in parent the directory that is open? */
bool directory_is(const struct directory *directory, int parent, const char *name);
/* Gives the directory of that name and all in it the modes 0700 and 0600, and makes them durable.
 */
int directory_sync(int parent, const char *name);
/* Removes the directory of that name with all in it; what is on another device stays. */
int directory_remove(int parent, const char *name);

/* The end of a path, short enough for a fault's text. */
const char *directory_name(const char *path);
/* The error of store.h for this errno. */
int directory_error(int error);

#endif
