/* SPDX-License-Identifier: MIT */
/*
 * Is a directory a store's? A good marker says so. Without one it is taken for a store where it has
 * what a store's directory has, and nothing else: what is mended there must not be another
 * program's. Who is refused for that is told what it is.
 */
#include "store/disk/directory_private.h"

#include "store/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_PARTS     (DIRECTORY_PART_MEDIUM + 1)
#define LOOK_MEDIUM    "lost+found" /* where the store is the root of a filesystem */
#define LOOK_NAME_SAID 40	    /* bytes of a name in a fault */

struct look {
	size_t parts[LOOK_PARTS];
	char foreign[256]; /* the first name of those that no store has; "": none */
	bool engine;	   /* DIRECTORY_DATA has files of the engine's */
};

static bool look_is_file(const char *name)
{
	return strcmp(name, DIRECTORY_LOCK) == 0 || strcmp(name, DIRECTORY_MARKER) == 0;
}

static enum directory_part look_weigh_directory(const char *name)
{
	if (strcmp(name, DIRECTORY_DATA) == 0)
		return DIRECTORY_PART_DATA;
	if (strcmp(name, DIRECTORY_ANEW) == 0)
		return DIRECTORY_PART_LEFT;
	if (strcmp(name, LOOK_MEDIUM) == 0)
		return DIRECTORY_PART_MEDIUM;
	return look_is_file(name) ? DIRECTORY_PART_PLACE : DIRECTORY_PART_NONE;
}

static enum directory_part look_weigh_file(const char *name)
{
	if (look_is_file(name) || strcmp(name, DIRECTORY_LOCK_NEW) == 0 ||
	    strcmp(name, DIRECTORY_NEW) == 0)
		return DIRECTORY_PART_FILE;
	return directory_is_left(name) && strcmp(name, DIRECTORY_ANEW) != 0 ? DIRECTORY_PART_LEFT
									    : DIRECTORY_PART_NONE;
}

enum directory_part directory_weigh(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DIRECTORY_PART_NONE;
	if (S_ISDIR(st.st_mode))
		return look_weigh_directory(name);
	return S_ISREG(st.st_mode) ? look_weigh_file(name) : DIRECTORY_PART_NONE;
}

static int look_part(void *ctx, int fd, const char *name)
{
	struct look *look = ctx;
	enum directory_part part = directory_weigh(fd, name);

	look->parts[part]++;
	if (part == DIRECTORY_PART_NONE &&
	    (look->foreign[0] == '\0' || strcmp(name, look->foreign) < 0))
		snprintf(look->foreign, sizeof(look->foreign), "%s", name);
	return 0;
}

/* Without a marker there is but one engine that it can be. */
static int look_engine(void *ctx, int fd, const char *name)
{
	struct look *look = ctx;

	(void)fd;
	look->engine |= wcs_backend_find(NULL)->owns(name);
	return 0;
}

static int look_data(int fd, struct look *look)
{
	int data = openat(fd, DIRECTORY_DATA, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (data < 0)
		return directory_is_barred(errno) ? -errno : 0;
	rc = directory_each(data, look_engine, look);
	close(data);
	return rc;
}

/* A directory in the place of a file says less than a file: then the engine's must be there. */
static bool look_is_store(const struct look *look)
{
	return look->parts[DIRECTORY_PART_DATA] > 0 && look->parts[DIRECTORY_PART_NONE] == 0 &&
	       (look->parts[DIRECTORY_PART_PLACE] > 0 ? look->engine
						      : look->parts[DIRECTORY_PART_FILE] > 0);
}

/* It is none, or must not be taken for one. path: as it was given. */
static int look_refuse(const struct directory *directory, const char *path, const struct look *look,
		       struct wcs_fault *fault)
{
	const char *name = directory_name(directory->path);

	if (look->engine && look->parts[DIRECTORY_PART_NONE] > 0)
		return wcs_fault_set(fault, -EIO,
				     "%s/%.*s: not a store's, and " DIRECTORY_MARKER
				     " is damaged or missing; move it away and run fsck.rowfs -y",
				     name, LOOK_NAME_SAID, look->foreign);
	if (look->engine)
		return wcs_fault_set(fault, -EIO,
				     "%s: has " DIRECTORY_DATA "/, but neither " DIRECTORY_LOCK
				     " nor " DIRECTORY_MARKER
				     "; if it is a store, touch its " DIRECTORY_LOCK
				     " and run fsck.rowfs -y",
				     name);
	if (directory_has_file(directory->fd))
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_MARKER ": damaged, or not a store's; put it "
				     "back from a copy of the store",
				     name);
	return wcs_fault_set(fault, -ENOENT,
			     "%s: not a rowfs store: it has no file " DIRECTORY_MARKER
			     "; mkfs.rowfs makes a store",
			     directory_name(path));
}

static int look_fail(const struct directory *directory, const char *name, int rc,
		     struct wcs_fault *fault)
{
	return wcs_fault_set(fault, directory_error(-rc), "%s%s: %s",
			     directory_name(directory->path), name, strerror(-rc));
}

int directory_look(const struct directory *directory, const char *path, bool damaged,
		   struct wcs_fault *fault)
{
	int marker = directory_find_marker(directory->fd);
	struct look look = {.engine = false};
	int rc;

	/* Before LOCK is made there: it may be another program's. */
	if (marker > 0)
		return 0;
	if (marker < 0)
		return look_fail(directory, "/" DIRECTORY_MARKER, marker, fault);
	rc = directory_each(directory->fd, look_part, &look);
	if (rc == 0)
		rc = look_data(directory->fd, &look);
	if (rc != 0)
		return look_fail(directory, "", rc, fault);
	if (!look_is_store(&look))
		return look_refuse(directory, path, &look, fault);
	if (damaged)
		return 0;
	return wcs_fault_set(fault, -EIO, "%s/" DIRECTORY_MARKER ": %s",
			     directory_name(directory->path),
			     directory_is_place(directory->fd, DIRECTORY_MARKER)
				     ? "it is a directory where a file belongs; fsck.rowfs moves "
				       "it to the quarantine"
				     : "damaged or missing; fsck.rowfs makes it anew");
}
