/* SPDX-License-Identifier: MIT */
/*
 * Is a directory a store's? A good marker says yes. Without one the directory is a store's only if
 * it holds the parts of a store and nothing else: a repair must not touch another program's files.
 * The fault of a refusal names the kind of directory.
 */
#include "store/disk/directory.h"

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
	char foreign[256]; /* the first of the names that are no store's; "": none */
	bool engine;	   /* DIRECTORY_DATA has files of the engine's */
};

/* The parts of a store, but for files whose names only begin alike. */
static const struct look_name {
	const char *name;
	bool directory;
	enum directory_part part;
} look_names[] = {
	{DIRECTORY_DATA, true, DIRECTORY_PART_DATA},
	{DIRECTORY_ANEW, true, DIRECTORY_PART_LEFT},
	{LOOK_MEDIUM, true, DIRECTORY_PART_MEDIUM},
	{DIRECTORY_LOCK, false, DIRECTORY_PART_FILE},
	{DIRECTORY_MARKER, false, DIRECTORY_PART_FILE},
	{DIRECTORY_NEW, false, DIRECTORY_PART_FILE},
	{DIRECTORY_TABLES, false, DIRECTORY_PART_LEFT},
	{DIRECTORY_TABLES_NEW, false, DIRECTORY_PART_LEFT},
};

enum directory_part directory_weigh(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return DIRECTORY_PART_NONE;
	for (size_t i = 0; i < sizeof(look_names) / sizeof(look_names[0]); i++)
		if (strcmp(name, look_names[i].name) == 0)
			return S_ISDIR(st.st_mode) == look_names[i].directory ? look_names[i].part
									      : DIRECTORY_PART_NONE;
	return S_ISREG(st.st_mode) && strncmp(name, DIRECTORY_TORN, strlen(DIRECTORY_TORN)) == 0
		       ? DIRECTORY_PART_LEFT
		       : DIRECTORY_PART_NONE;
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

/* Without a marker the store can only be of the default engine. */
static int look_engine(void *ctx, int fd, const char *name)
{
	struct look *look = ctx;

	(void)fd;
	look->engine |= wcs_backend_find(NULL)->owns(name);
	return 0;
}

/* path: as the user gave it. */
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
		return directory_refuse(fault, -EIO, directory->path,
					"has " DIRECTORY_DATA "/, but neither " DIRECTORY_LOCK
					" nor " DIRECTORY_MARKER
					"; if it is a store, touch its " DIRECTORY_LOCK
					" and run fsck.rowfs -y");
	if (directory_has_file(directory->fd))
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_MARKER ": damaged, or not a store's; put it "
				     "back from a copy of the store",
				     name);
	return directory_refuse(fault, -ENOENT, path,
				"not a rowfs store: it has no file " DIRECTORY_MARKER
				"; mkfs.rowfs makes a store");
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
	int data, rc;

	/* Before LOCK is made there: the directory may be another program's. */
	if (marker > 0)
		return 0;
	if (marker < 0)
		return look_fail(directory, "/" DIRECTORY_MARKER, marker, fault);
	rc = directory_each(directory->fd, look_part, &look);
	if (rc == 0) {
		data = openat(directory->fd, DIRECTORY_DATA,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (data >= 0) {
			rc = directory_each(data, look_engine, &look);
			close(data);
		} else if (directory_is_barred(errno)) {
			rc = -errno;
		}
	}
	if (rc != 0)
		return look_fail(directory, "", rc, fault);
	if (look.parts[DIRECTORY_PART_DATA] == 0 || look.parts[DIRECTORY_PART_NONE] > 0 ||
	    look.parts[DIRECTORY_PART_FILE] == 0)
		return look_refuse(directory, path, &look, fault);
	return damaged ? 0
		       : wcs_fault_set(fault, -EIO,
				       "%s/" DIRECTORY_MARKER
				       ": damaged or missing; fsck.rowfs makes it anew",
				       directory_name(directory->path));
}
