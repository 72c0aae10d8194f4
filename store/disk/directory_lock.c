/* SPDX-License-Identifier: MIT */
/*
 * The lock of a store's directory, which is on its file LOCK. Where that is missing nobody has the
 * store open, and who looks needs no lock.
 *
 * Where a directory stands in its place nobody can open the store, either: who would use it is
 * refused, who looks needs no lock, and who mends locks another file, LOCK.new, which then changes
 * places with the directory. So there is no moment at which somebody else could make a LOCK.
 * Whether the store was opened before LOCK went, its engine knows (backend.h).
 */
#include "store/disk/directory_private.h"

#include "store/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int directory_lock_busy(const struct directory *directory, pid_t pid, struct wcs_fault *fault)
{
	if (pid > 0)
		return wcs_fault_set(fault, -EBUSY,
				     "%s: in use by process %ld; unmount it or end that program",
				     directory_name(directory->path), (long)pid);
	return wcs_fault_set(fault, -EBUSY,
			     "%s: in use by another process; unmount it or end that program",
			     directory_name(directory->path));
}

/* -EAGAIN: another process has it, which fault tells. */
static int directory_lock_set(const struct directory *directory, enum directory_for what,
			      struct wcs_fault *fault)
{
	struct flock lock = {.l_type = what == DIRECTORY_LOOK ? F_RDLCK : F_WRLCK,
			     .l_whence = SEEK_SET};

	if (fcntl(directory->lock_fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return directory_fail(fault, directory->path, "its LOCK cannot be taken");
	if (fcntl(directory->lock_fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	directory_lock_busy(directory, lock.l_pid, fault);
	return -EAGAIN;
}

static int directory_lock_file(struct directory *directory, enum directory_for what,
			       const char *name, struct wcs_fault *fault)
{
	int flags = what == DIRECTORY_LOOK ? O_RDONLY : O_RDWR | O_CREAT;

	directory->lock_fd =
		openat(directory->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (directory->lock_fd >= 0)
		return directory_lock_set(directory, what, fault);
	if (what == DIRECTORY_LOOK && errno == ENOENT)
		return 0;
	if (errno == EROFS)
		return wcs_fault_set(fault, -EROFS,
				     "%s: its LOCK cannot be opened: %s; copy the store (cp -a) to "
				     "a medium that can be written, and use the copy",
				     directory_name(directory->path), strerror(EROFS));
	return directory_fail(fault, directory->path, "its LOCK cannot be opened");
}

/* -EAGAIN: who had it has put it into LOCK's place, or removed it. */
static int directory_lock_new(struct directory *directory, struct wcs_fault *fault)
{
	int rc = directory_lock_file(directory, DIRECTORY_MEND, DIRECTORY_LOCK_NEW, fault);
	struct stat named, locked;

	if (rc != 0)
		return rc;
	if (fstatat(directory->fd, DIRECTORY_LOCK_NEW, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(directory->lock_fd, &locked) == 0 && named.st_ino == locked.st_ino)
		return 0;
	directory_lock_busy(directory, 0, fault);
	return -EAGAIN;
}

int directory_lock_take(struct directory *directory, enum directory_for what,
			struct wcs_fault *fault)
{
	directory->misplaced = directory_is_place(directory->fd, DIRECTORY_LOCK);
	if (!directory->misplaced)
		return directory_lock_file(directory, what, DIRECTORY_LOCK, fault);
	switch (what) {
	case DIRECTORY_LOOK:
		return 0;
	case DIRECTORY_MEND:
		return directory_lock_new(directory, fault);
	case DIRECTORY_USE:
		break;
	}
	return wcs_fault_set(fault, -EIO,
			     "%s/" DIRECTORY_LOCK ": it is a directory where a file belongs; "
			     "fsck.rowfs moves it to the quarantine",
			     directory_name(directory->path));
}

bool directory_lock_misplaced(const struct directory *directory)
{
	return directory->misplaced;
}

int directory_mend_lock(struct directory *directory, struct wcs_fault *fault)
{
	int rc;

	if (renameat2(directory->fd, DIRECTORY_LOCK_NEW, directory->fd, DIRECTORY_LOCK,
		      RENAME_EXCHANGE) != 0)
		return directory_fail(fault, directory->path,
				      "its LOCK is a directory; move it away by hand");
	directory->misplaced = false;
	rc = directory_remove(directory->fd, DIRECTORY_LOCK_NEW);
	if (rc == 0 && fsync(directory->fd) != 0)
		rc = directory_error(errno);
	if (rc != 0)
		wcs_fault_set(fault, rc,
			      "%s/" DIRECTORY_LOCK_NEW ": what stood where LOCK belongs, and is in "
			      "the quarantine; remove it by hand: %s",
			      directory_name(directory->path), strerror(-rc));
	return rc;
}

void directory_lock_end(const struct directory *directory)
{
	if (directory->misplaced && directory->lock_fd >= 0)
		unlinkat(directory->fd, DIRECTORY_LOCK_NEW, 0);
}
