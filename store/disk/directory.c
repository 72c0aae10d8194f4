/* SPDX-License-Identifier: MIT */
/*
 * Opens and locks the directory of a store:
 *
 *   ROWFS   the marker, see directory_marker.c
 *   LOCK    empty; a process that has the store open holds a write lock (fcntl) on it, one that
 *           only checks the store a read lock. A store without LOCK is open nowhere
 *   data/   the engine's files; beside it a repair may leave others
 *
 * A good marker says that a directory is a store's. Without one the directory is a store's only if
 * it holds LOCK and files of the engine: a repair must not touch another program's files. The fault
 * of a refusal names the kind of directory.
 *
 * fcntl locks exclude processes only, and closing any descriptor of the file drops them. This
 * process therefore lists the directories that it has locked, and looks there before it opens
 * LOCK. A child of fork inherits the list but no lock: an entry counts in the process that made it.
 */
#include "store/disk/directory.h"

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

#include "lib/system/mounts.h"

#define DIRECTORY_PATIENCE 1000 /* ms, for the process that has the lock */
#define DIRECTORY_TRIES	   50	/* in that time */

static pthread_mutex_t directory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct directory *directory_list; /* those that are locked; guarded by directory_mutex */

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

/* ---- Is it a store? ---------------------------------------------------------------------- */

/* Without a marker the store can only be of the default engine. */
static int look_engine(void *ctx, int fd, const char *name)
{
	bool *engine = ctx;

	(void)fd;
	*engine |= wcs_backend_find(NULL)->local->owns(name);
	return 0;
}

/* Is the directory, which has no good marker, a store that has lost it? 1; 0: no; a negative errno.
 */
static int look_unmarked(int fd)
{
	bool engine = false;
	struct stat st;
	int data = openat(fd, DIRECTORY_DATA, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = data < 0 && directory_is_barred(errno) ? -errno : 0;

	if (data >= 0) {
		rc = directory_each(data, look_engine, &engine);
		close(data);
	}
	return rc ? rc : engine && fstatat(fd, DIRECTORY_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is the directory a store's? 0: it has a marker, or, with damaged, it is a store although its
 * marker is damaged or missing. path: as the user gave it. */
static int directory_look(const struct directory *directory, const char *path, bool damaged,
			  struct wcs_fault *fault)
{
	int rc = directory_find_marker(directory->fd);

	/* Before LOCK is made there: the directory may be another program's. */
	if (rc > 0)
		return 0;
	if (rc < 0)
		return directory_fail_at(fault, -rc, directory, DIRECTORY_MARKER);
	rc = look_unmarked(directory->fd);
	if (rc < 0)
		return directory_fail_at(fault, -rc, directory, "");
	if (rc == 0)
		return directory_refuse(fault, -ENOENT, path,
					"not a rowfs store: it has no marker " DIRECTORY_MARKER
					"; mkfs.rowfs makes a store");
	return damaged ? 0
		       : wcs_fault_set(fault, -EIO,
				       "%s/" DIRECTORY_MARKER
				       ": damaged or missing; fsck.rowfs rebuilds it",
				       directory_name(directory->path));
}

/* ---- Opening and locking ----------------------------------------------------------------- */

static int directory_find(const char *path, struct directory *directory, bool damaged,
			  struct wcs_fault *fault)
{
	struct stat st;

	directory->path = realpath(path, NULL);
	if (directory->path == NULL && (errno == ENOENT || errno == ENOTDIR))
		return directory_refuse(fault, -ENOENT, path,
					"there is no such directory; mkfs.rowfs makes a store");
	if (directory->path == NULL)
		return directory_fail(fault, errno, path, "cannot be found");
	directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory->fd < 0 && errno == ENOTDIR)
		return directory_refuse(fault, -ENOENT, path,
					"not a rowfs store: a store is a directory");
	if (directory->fd < 0 || fstat(directory->fd, &st) != 0)
		return directory_fail_at(fault, errno, directory, "");
	directory->dev = st.st_dev;
	directory->ino = st.st_ino;
	return directory_look(directory, path, damaged, fault);
}

/* pid 0: not known. If the process is another program, a mount of the store is a dead one. */
static int directory_busy(const struct directory *directory, pid_t pid, struct wcs_fault *fault)
{
	char *place = mounts_serves(pid) ? mounts_place(directory->path, NULL) : NULL;

	if (place) {
		wcs_fault_set(
			fault, -EBUSY,
			"%s: in use by process %ld, mounted at %.150s; fusermount3 -u unmounts it",
			directory_name(directory->path), (long)pid, place);
		free(place);
		return -EBUSY;
	}
	if (pid > 0)
		return wcs_fault_set(fault, -EBUSY,
				     "%s: in use by process %ld; unmount it or end that program",
				     directory_name(directory->path), (long)pid);
	return directory_refuse(fault, -EBUSY, directory->path,
				"in use by another process; unmount it or end that program");
}

/* Opens and locks LOCK. -EAGAIN: another process has the lock, which fault names. */
static int directory_take(struct directory *directory, enum directory_for what,
			  struct wcs_fault *fault)
{
	bool look = what == DIRECTORY_LOOK;
	int flags = look ? O_RDONLY : O_RDWR | O_CREAT;
	struct flock lock = {.l_type = look ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET};

	directory->lock_fd = openat(directory->fd, DIRECTORY_LOCK,
				    flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (directory->lock_fd < 0 && look && errno == ENOENT)
		return 0;
	if (directory->lock_fd < 0 && errno == EROFS)
		return wcs_fault_set(fault, -EROFS,
				     "%s: its LOCK cannot be opened: %s; copy the store (cp -a) to "
				     "a medium that can be written, and use the copy",
				     directory_name(directory->path), strerror(EROFS));
	if (directory->lock_fd < 0)
		return directory_fail_at(fault, errno, directory,
					 faccessat(directory->fd, DIRECTORY_LOCK, F_OK, 0) == 0
						 ? DIRECTORY_LOCK
						 : "");
	if (fcntl(directory->lock_fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return directory_fail(fault, errno, directory->path, "its LOCK cannot be taken");
	if (fcntl(directory->lock_fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	directory_busy(directory, lock.l_pid, fault);
	return -EAGAIN;
}

/* -EAGAIN: as directory_take. The caller holds directory_mutex. */
static int directory_try(struct directory *directory, enum directory_for what,
			 struct wcs_fault *fault)
{
	int rc;

	for (const struct directory *other = directory_list; other != NULL; other = other->next)
		if (other->dev == directory->dev && other->ino == directory->ino &&
		    other->pid == directory->pid)
			return directory_busy(directory, other->pid, fault);
	rc = directory_take(directory, what, fault);
	/* Another store may have taken the place of the one that was found. */
	if (rc == 0 && !directory_is(directory, AT_FDCWD, directory->path))
		rc = directory_refuse(fault, -EBUSY, directory->path,
				      "it was just replaced; try again");
	if (rc == 0) {
		directory->next = directory_list;
		directory_list = directory;
	} else if (directory->lock_fd >= 0) {
		/* Closed later, it would drop the lock of another open of this process. */
		close(directory->lock_fd);
		directory->lock_fd = -1;
	}
	return rc;
}

/* Waits for another process to close the store: umount returns before the process that served has
 * ended. An open store of this process is not waited for. */
static int directory_lock(struct directory *directory, enum directory_for what,
			  struct wcs_fault *fault)
{
	const struct timespec nap = {.tv_nsec = DIRECTORY_PATIENCE / DIRECTORY_TRIES * 1000000L};
	struct wcs_fault said = {0};
	int rc = -EAGAIN;

	for (int tries = 0; rc == -EAGAIN && tries <= DIRECTORY_TRIES; tries++) {
		if (tries > 0)
			nanosleep(&nap, NULL);
		pthread_mutex_lock(&directory_mutex);
		rc = directory_try(directory, what, &said);
		pthread_mutex_unlock(&directory_mutex);
	}
	if (rc != 0 && fault != NULL)
		*fault = said;
	return rc == -EAGAIN ? -EBUSY : rc;
}

int directory_open(const char *path, enum directory_for what, struct directory **directory,
		   struct wcs_fault *fault)
{
	struct directory *made = calloc(1, sizeof(*made));
	int rc;

	if (made == NULL)
		return directory_refuse(fault, -ENOMEM, path, "no memory");
	made->fd = -1;
	made->lock_fd = -1;
	made->pid = getpid();
	made->look = what == DIRECTORY_LOOK;
	rc = directory_find(path, made, what != DIRECTORY_USE, fault);
	if (rc == 0)
		rc = directory_lock(made, what, fault);
	if (rc == 0)
		*directory = made;
	else
		directory_close(made);
	return rc;
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
	if (directory->lock_fd >= 0)
		close(directory->lock_fd);
	pthread_mutex_unlock(&directory_mutex);
	if (directory->fd >= 0)
		close(directory->fd);
	free(directory->path);
	free(directory);
}
