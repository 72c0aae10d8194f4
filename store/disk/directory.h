/* SPDX-License-Identifier: MIT */
/* The directory around a store's engine: its marker and its lock. Private to store/. */
#ifndef WCS_DIRECTORY_H
#define WCS_DIRECTORY_H

#include "store/store.h"

#define DIRECTORY_MARKER     "ROWFS"
#define DIRECTORY_NEW	     "ROWFS.new" /* a marker being made */
#define DIRECTORY_LOCK	     "LOCK"
#define DIRECTORY_LOCK_NEW   "LOCK.new"	  /* one being made, where a directory is in its place */
#define DIRECTORY_DATA	     "data"	  /* what an engine may make in it */
#define DIRECTORY_TABLES     "TABLES"	  /* an engine's copy of its tables' descriptions */
#define DIRECTORY_TABLES_NEW "TABLES.new" /* one being made */
#define DIRECTORY_ANEW	     "data.new"	  /* beside it, while a repair makes it anew */
#define DIRECTORY_TORN	     "torn-"	  /* so begin the names of what was cut from files in it */
#define DIRECTORY_FORMAT     2		  /* the newest that is known */
#define DIRECTORY_PROTECTS   2		  /* the format from which on a table may be protected */
#define DIRECTORY_ENGINE_MAX 32		  /* bytes of an engine's name, with its NUL */

/* What the marker says. */
struct directory_marker {
	int format;
	char engine[DIRECTORY_ENGINE_MAX];
	int64_t created; /* microseconds since 1970 */
};

struct directory; /* the directory of a store, locked by this process */

enum directory_for {
	DIRECTORY_USE,
	DIRECTORY_MEND, /* the marker may be damaged or missing */
	DIRECTORY_LOOK, /* the same, and nothing is made there; others may look, too */
};

/* Locks the store at path, whatever its marker says. -ENOENT: no store; -EBUSY: in use, by
 * another process also a second later. */
int directory_open(const char *path, enum directory_for what, struct directory **directory,
		   struct wcs_fault *fault);
void directory_close(struct directory *directory);
/* Does a directory stand where its lock belongs? Who opens it to use it is refused then. */
bool directory_lock_misplaced(const struct directory *directory);
/* Of one that is open to be mended: puts a lock there, and removes the directory, which must have
 * been copied. */
int directory_mend_lock(struct directory *directory, struct wcs_fault *fault);
/* A descriptor of the directory, which stays its own. */
int directory_fd(const struct directory *directory);
/* Removes the directory that stands in the place of its marker, and must have been copied. */
int directory_clear_marker(struct directory *directory, struct wcs_fault *fault);
/* Makes the marker anew. The time the store was made is then that of its lock. */
int directory_mend_marker(const struct directory *directory, const char *engine,
			  struct wcs_fault *fault);
/* Raises the format, where it is older than that. One thread at a time. */
int directory_need_format(const struct directory *directory, int format);
/* -EPROTO: a newer format; -EIO: damaged. */
int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault);
/* -EIO: what the engine has there is not only directories and regular files. */
int directory_check_data(const struct directory *directory, struct wcs_fault *fault);
/* Absolute, without symbolic links. */
const char *directory_path(const struct directory *directory);
int directory_space(const struct directory *directory, struct wcs_space *space);

/* Is there a file that may be a marker? */
bool directory_has_file(int fd);
/* Makes marker and lock file in the empty directory that fd is open on. An errno of store.h. */
int directory_fill(int fd, const struct directory_marker *marker);
/* Does the directory that fd is open on have a marker whose first line says that it is a store? 1;
 * 0: no; or the negative errno that keeps this process from reading it. */
int directory_find_marker(int fd);
/* Is this name in parent the directory that is open? */
bool directory_is(const struct directory *directory, int parent, const char *name);
/* Is it a directory that has that name in parent? */
bool directory_is_place(int parent, const char *name);
/* Is there nothing in the directory of that name but directories and regular files? An engine
 * follows symbolic links, which could lead it to what is not the store's. -ELOOP: there is. */
int directory_check(int parent, const char *name);
/* Gives the directory of that name and all in it the modes 0700 and 0600, and makes them durable.
 */
int directory_sync(int parent, const char *name);
/* Calls each for every name in the directory that dir is open on but "." and "..", until one
 * returns another number than 0, which it returns then. */
int directory_each(int dir, int (*each)(void *ctx, int dir, const char *name), void *ctx);
/* What a name in the directory that fd is open on is to a store, by its type, too. */
enum directory_part {
	DIRECTORY_PART_NONE,
	DIRECTORY_PART_FILE, /* its marker, its lock */
	DIRECTORY_PART_DATA,
	DIRECTORY_PART_LEFT,  /* as of directory_is_left */
	DIRECTORY_PART_PLACE, /* a directory in the place of its marker or its lock */
	DIRECTORY_PART_MEDIUM /* not its own: the filesystem's whose root it is */
};
enum directory_part directory_weigh(int fd, const char *name);
/* Is that a name of what an engine may make beside DIRECTORY_DATA? */
bool directory_is_left(const char *name);
/* Where the next bytes of an open file stand that are not in a hole; its size, if there are none.
 */
uint64_t directory_data(int file, uint64_t at);
/* Removes the directory of that name with all in it; what is on another device stays. */
int directory_remove(int parent, const char *name);

/* The end of a path, short enough for a fault's text. */
const char *directory_name(const char *path);
/* The error of store.h for this errno. */
int directory_error(int error);
/* Is it this process that may not open a file, or not now? Then the file is not damaged. */
bool directory_is_barred(int error);

#endif
