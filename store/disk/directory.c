/* SPDX-License-Identifier: MIT */
/*
 * The directory of a store:
 *
 *   ROWFS   the marker: what this is, see directory_marker.c
 *   LOCK    empty; who has the store open holds a write lock (fcntl) on it, who only looks at it
 *           a read lock, see directory_lock.c
 *   data/   the engine's own; beside it what repairs may leave, see directory_is_left
 *
 * fcntl locks exclude processes only, and closing any descriptor of the file drops them. So this
 * process keeps a list of the directories that it has open, and looks there before it opens LOCK.
 * A child of fork inherits the list but no lock: an entry counts in the process that made it.
 */
#include "store/disk/directory_private.h"

#include "store/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY_PATIENCE 1000 /* ms, for who has the lock */
#define DIRECTORY_TRIES	   50	/* in that time */

static pthread_mutex_t directory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct directory *directory_list; /* those that are locked; guarded by directory_mutex */

int directory_check_data(const struct directory *directory, struct wcs_fault *fault)
{
	struct stat st;
	bool there = fstatat(directory->fd, DIRECTORY_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int rc;

	if (there ? S_ISREG(st.st_mode) : errno == ENOENT)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_DATA ": missing, and with it all that the "
				     "store held; restore a copy of it, or a dump (mkfs.rowfs "
				     "--force, rowfs-load)",
				     directory_name(directory->path));
	rc = directory_check(directory->fd, DIRECTORY_DATA);
	if (rc == -ELOOP)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_DATA ": there is a symbolic link or a special "
				     "file in it, which no store has; there, find . ! -type f ! "
				     "-type d shows it; move it away",
				     directory_name(directory->path));
	if (rc != 0)
		return wcs_fault_set(fault, rc, "%s/" DIRECTORY_DATA ": %s",
				     directory_name(directory->path), strerror(-rc));
	return 0;
}

const char *directory_path(const struct directory *directory)
{
	return directory->path;
}

bool directory_is(const struct directory *directory, int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == directory->dev && st.st_ino == directory->ino;
}

int directory_space(const struct directory *directory, struct wcs_space *space)
{
	struct statvfs found;

	if (fstatvfs(directory->fd, &found) != 0)
		return directory_error(errno);
	space->total = (uint64_t)found.f_blocks * found.f_frsize;
	space->free = (uint64_t)found.f_bavail * found.f_frsize;
	space->files = found.f_files;
	space->files_free = found.f_favail;
	return 0;
}

/* ---- Opening and locking ----------------------------------------------------------------- */

static int directory_find(const char *path, struct directory *directory, bool damaged,
			  struct wcs_fault *fault)
{
	struct stat st;
	int rc;

	directory->path = realpath(path, NULL);
	if (directory->path == NULL && (errno == ENOENT || errno == ENOTDIR))
		return wcs_fault_set(fault, -ENOENT,
				     "%s: there is no such directory; mkfs.rowfs makes a store",
				     directory_name(path));
	if (directory->path == NULL)
		return directory_fail(fault, path, "cannot be found");
	directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory->fd < 0 && errno == ENOTDIR)
		return wcs_fault_set(fault, -ENOENT,
				     "%s: not a rowfs store: a store is a directory",
				     directory_name(path));
	if (directory->fd < 0 || fstat(directory->fd, &st) != 0)
		return directory_fail(fault, path, "cannot be opened");
	rc = directory_look(directory, path, damaged, fault);
	directory->dev = st.st_dev;
	directory->ino = st.st_ino;
	return rc;
}

/* Before another of this process opens the store: to close that later would drop its lock. */
static void directory_close_lock(struct directory *directory)
{
	if (directory->lock_fd >= 0)
		close(directory->lock_fd);
	directory->lock_fd = -1;
}

/* -EAGAIN: another process has it. The caller holds directory_mutex. */
static int directory_try(struct directory *directory, enum directory_for what,
			 struct wcs_fault *fault)
{
	struct stat st;
	int rc;

	for (const struct directory *other = directory_list; other != NULL; other = other->next)
		if (other->dev == directory->dev && other->ino == directory->ino &&
		    other->pid == directory->pid)
			return directory_lock_busy(directory, other->pid, fault);
	rc = directory_lock_take(directory, what, fault);
	if (rc != 0)
		return rc;
	/* Another store may have taken the place of the one that was found. */
	if (stat(directory->path, &st) != 0 || st.st_dev != directory->dev ||
	    st.st_ino != directory->ino)
		return wcs_fault_set(fault, -EBUSY, "%s: it was just replaced; try again",
				     directory_name(directory->path));
	directory->next = directory_list;
	directory_list = directory;
	return 0;
}

/* Another process that has the store open may be about to close it: umount returns before the
 * process that served has ended. Others of this process do not wait for that. */
static int directory_lock(struct directory *directory, enum directory_for what,
			  struct wcs_fault *fault)
{
	const struct timespec nap = {.tv_nsec = DIRECTORY_PATIENCE / DIRECTORY_TRIES * 1000000L};
	struct wcs_fault said = {0};
	int rc;

	for (int tries = 0;; tries++) {
		pthread_mutex_lock(&directory_mutex);
		rc = directory_try(directory, what, &said);
		if (rc != 0)
			directory_close_lock(directory);
		pthread_mutex_unlock(&directory_mutex);
		if (rc != -EAGAIN || tries == DIRECTORY_TRIES)
			break;
		nanosleep(&nap, NULL);
	}
	if (rc != 0 && fault != NULL)
		*fault = said;
	return rc == -EAGAIN ? -EBUSY : rc;
}

static void directory_free(struct directory *directory)
{
	directory_close_lock(directory);
	if (directory->fd >= 0)
		close(directory->fd);
	free(directory->path);
	free(directory);
}

int directory_open(const char *path, enum directory_for what, struct directory **directory,
		   struct wcs_fault *fault)
{
	struct directory *made = calloc(1, sizeof(*made));
	int rc;

	if (made == NULL)
		return wcs_fault_set(fault, -ENOMEM, "%s: no memory", directory_name(path));
	made->fd = -1;
	made->lock_fd = -1;
	made->pid = getpid();
	rc = directory_find(path, made, what != DIRECTORY_USE, fault);
	if (rc == 0)
		rc = directory_lock(made, what, fault);
	if (rc == 0)
		*directory = made;
	else
		directory_free(made);
	return rc;
}

int directory_fd(const struct directory *directory)
{
	return directory->fd;
}

void directory_close(struct directory *directory)
{
	struct directory **link = &directory_list;

	if (directory == NULL)
		return;
	pthread_mutex_lock(&directory_mutex);
	while (*link != NULL && *link != directory)
		link = &(*link)->next;
	if (*link == directory)
		*link = directory->next;
	directory_lock_end(directory);
	directory_free(directory);
	pthread_mutex_unlock(&directory_mutex);
}
