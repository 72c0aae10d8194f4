/* SPDX-License-Identifier: MIT */
/* The mounts of rowfs: the kernel's list, and the lock of each store. */
#include "lib/system/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <string.h>
#include <unistd.h>

FILE *mounts_open(void)
{
	return setmntent("/proc/self/mounts", "re");
}

bool mounts_next(FILE *mounts, const char **store, const char **mountpoint)
{
	const struct mntent *mount;

	do {
		mount = getmntent(mounts);
		if (!mount)
			return false;
	} while (strcmp(mount->mnt_type, "fuse.rowfs") != 0);
	*store = mount->mnt_fsname;
	*mountpoint = mount->mnt_dir;
	return true;
}

/* The process that has the store open; 0: none; -1: unknown, because the store is unreadable. */
static pid_t mounts_pid(const char *store)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int dir = *store == '/' ? open(store, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = dir < 0 ? -1 : openat(dir, "LOCK", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	bool known = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0;

	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	if (!known || (lock.l_type != F_UNLCK && lock.l_pid <= 0))
		return -1;
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/* A path, with its control bytes and backslashes as \OOO, as /proc/self/mounts spells them. */
static void mounts_put(const char *path, FILE *to)
{
	for (; *path; path++) {
		unsigned char byte = (unsigned char)*path;

		fprintf(to, byte < 0x20 || byte == 0x7f || byte == '\\' ? "\\%03o" : "%c", byte);
	}
	fputc('\t', to);
}

int mounts_print(FILE *to)
{
	FILE *mounts = mounts_open();
	const char *store, *mountpoint;

	if (!mounts)
		return -errno;
	while (mounts_next(mounts, &store, &mountpoint)) {
		pid_t pid = mounts_pid(store);

		mounts_put(store, to);
		mounts_put(mountpoint, to);
		if (pid > 0)
			fprintf(to, "%ld\n", (long)pid);
		else
			fputs(pid == 0 ? "dead\n" : "?\n", to);
	}
	endmntent(mounts);
	return 0;
}
