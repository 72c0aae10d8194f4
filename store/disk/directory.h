/* SPDX-License-Identifier: MIT */
/* The directory around a store's engine: its marker and its lock. Private to store/. */
#ifndef WCS_DIRECTORY_H
#define WCS_DIRECTORY_H

#include "store/store.h"

#include <sys/types.h>

#include "lib/system/mounts.h"

#define DIRECTORY_MARKER     MOUNTS_MARKER
#define DIRECTORY_NEW	     "ROWFS.new" /* a marker being made */
#define DIRECTORY_LOCK	     "LOCK"
#define DIRECTORY_DATA	     "data"	  /* the engine's files */
#define DIRECTORY_TABLES     "TABLES"	  /* an engine's copy of its tables' descriptions */
#define DIRECTORY_TABLES_NEW "TABLES.new" /* one being made */
#define DIRECTORY_ANEW	     "data.new"	  /* beside it, while a repair rebuilds it */
#define DIRECTORY_TORN	     "torn-"	  /* prefix of pieces that a repair cut from files in it */
#define DIRECTORY_FORMAT     3		  /* the newest that is known */
#define DIRECTORY_ENGINE_MAX 32		  /* bytes of an engine's name, with its NUL */

/* The content of a marker. */
struct directory_marker {
	int64_t format;
	char engine[DIRECTORY_ENGINE_MAX];
	int64_t created; /* microseconds since 1970 */
};

/* The directory of a store, locked by this process. Only directory.c changes it. */
struct directory {
	char *path; /* absolute and without symbolic links */
	int fd;
	int lock_fd; /* -1: none */
	dev_t dev;
	ino_t ino;
	pid_t pid; /* of the process that locked it */
	bool look; /* for DIRECTORY_LOOK */
	struct directory *next;
};

enum directory_for {
	DIRECTORY_USE,
	DIRECTORY_MEND, /* the marker may be damaged or missing */
	DIRECTORY_LOOK, /* the same; makes nothing there, and shares the lock with other checks */
};

/* Locks the store at path, regardless of its marker. -ENOENT: no store; -EBUSY: in use by another
 * process for a second, or by this one. */
int directory_open(const char *path, enum directory_for what, struct directory **directory,
		   struct wcs_fault *fault);
void directory_close(struct directory *directory);
/* Is this name in parent the directory that is open? */
bool directory_is(const struct directory *directory, int parent, const char *name);
/* Fills in the bytes and files of its medium, but for those that are available. */
int directory_space(const struct directory *directory, struct wcs_space *space);
/* Are there only directories and regular files in DIRECTORY_DATA? An engine follows symbolic links,
 * which may lead out of the store. -EIO: no; -EACCES: this process may not open one of the files.
 */
int directory_check_data(const struct directory *directory, struct wcs_fault *fault);

/* ---- directory_marker.c ---- */
/* Makes the marker, of the newest format, in the directory that fd is open on, durably. */
int directory_mark(int fd, const char *engine, int64_t created);
/* Has the directory that fd is open on a marker whose first line says that it is a store's? 1; 0:
 * no; a negative errno: this process may not read it. */
int directory_find_marker(int fd);
/* -EPROTO: a newer format; -EIO: damaged. */
int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault);
/* Makes the marker anew, durably, with the age of the lock as that of the store. */
int directory_mend_marker(const struct directory *directory, const char *engine,
			  struct wcs_fault *fault);

/* ---- directory_tree.c ---- */
/* Calls each for every name in the directory that dir is open on but "." and "..", until a call
 * returns another number than 0; returns that. */
int directory_each(int dir, int (*each)(void *ctx, int dir, const char *name), void *ctx);
/* Gives the directory of that name and all in it the modes 0700 and 0600, and makes them durable.
 */
int directory_sync(int parent, const char *name);
/* Removes the directory of that name with all in it but directories of another device (-EBUSY). */
int directory_remove(int parent, const char *name);
/* Reads a regular file of at most `most` bytes; a NUL follows them in *data, which the caller
 * frees. A negative errno; -EIO: it is larger, or no regular file. */
int directory_load(int dir, const char *name, size_t most, char **data, size_t *len);
/* Replaces a file's contents durably in one step, by renaming `temporary`, which may be left by a
 * crash. After an error the old file is still there, but if only the rename may not be durable. */
int directory_replace(int dir, const char *temporary, const char *name, const void *data,
		      size_t len);
/* Is it a directory that has that name in parent? */
bool directory_is_place(int parent, const char *name);
/* The offset of the first byte at or after `at` that is not in a hole of the open file; its size,
 * if there is none. */
uint64_t directory_data(int file, uint64_t at);

/* ---- log.c ---- */
/* The end of a path, short enough for a fault's text. */
const char *directory_name(const char *path);
/* The error of store.h for this errno. */
int directory_error(int error);
/* Fill the fault: with the end of the path and the reason; and also with the words of an errno,
 * whose error of store.h it returns. */
int directory_refuse(struct wcs_fault *fault, int rc, const char *path, const char *why);
int directory_fail(struct wcs_fault *fault, int error, const char *path, const char *what);
/* As directory_fail, of a file in the store; "": the store's directory. Where access is denied, the
 * words have the file's owner, and the command that helps. */
int directory_fail_at(struct wcs_fault *fault, int error, const struct directory *directory,
		      const char *name);
/* Does this errno mean that the process may not open a file, or not now? Then the file is not
 * damaged. */
bool directory_is_barred(int error);

#endif
