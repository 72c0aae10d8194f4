/* SPDX-License-Identifier: MIT */
/* Checks mountpoints, and clears dead mounts (mounts whose server is gone). */
#include "fs/mount/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/connection.h"
#include "lib/system/mounts.h"

#define OPEN_FILES "/dev/fd/"
enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 };

static int refuse(const char *path, int error, const char *why)
{
	fprintf(stderr, "rowfs: %s: %s\n", path, why);
	return error;
}

/* Resolves a dead mount, where realpath fails. The caller frees it. */
static char *resolve_dead(const char *given)
{
	int fd = open(given, O_PATH | O_CLOEXEC);
	char link[32], path[PATH_MAX];
	ssize_t len = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0) {
		len = readlink(link, path, sizeof(path));
		close(fd);
	}
	return len > 0 && (size_t)len < sizeof(path) ? strndup(path, (size_t)len) : NULL;
}

/* ECONNABORTED: the mount died during the request. */
static bool is_dead(int error)
{
	return error == ENOTCONN || error == ECONNABORTED;
}

/* Is a rowfs mounted at path? Its store goes to *what. */
static bool find_mount(const char *path, char *what, size_t size)
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;
	bool found = false;

	if (!mounts)
		return false;
	while (mounts_next(mounts, &entry)) {
		if (strcmp(entry.where, path) != 0)
			continue;
		found = entry.rowfs;
		snprintf(what, size, "%s", entry.what);
	}
	fclose(mounts);
	return found;
}

/* statvfs reaches the server even where the kernel has cached attributes of a dead mount. */
static int look(const char *path, struct stat *st)
{
	struct statvfs space;

	return stat(path, st) != 0 || statvfs(path, &space) != 0 ? -1 : 0;
}

static bool lies_dead(const char *path)
{
	struct stat st;

	return look(path, &st) != 0 && is_dead(errno);
}

void mountpoint_become_fusermount(const char *path, bool quiet)
{
	char *const argv[] = {"fusermount3", "-u",	   "-z", quiet ? "-q" : "-z",
			      "--",	     (char *)path, NULL};

	execv("/usr/bin/fusermount3", argv);
	execvp(argv[0], argv);
	_exit(MOUNTPOINT_NO_FUSERMOUNT);
}

/* Unmounts a dead mount: directly as root, else through libfuse's helper. */
static int unmount(const char *path)
{
	/* Through a descriptor, so that exactly the checked mount goes even if another one covers
	 * it. */
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = -1, status;
	struct statvfs space;
	char link[32];
	pid_t pid;

	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (fstatvfs(fd, &space) != 0 && is_dead(errno))
			rc = umount2(link, MNT_DETACH);
		close(fd);
	}
	if (rc == 0)
		return 0;
	if (!lies_dead(path))
		return -EBUSY;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		mountpoint_become_fusermount(path, false);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

void mountpoint_clear(const char *path)
{
	char what[256];

	if (lies_dead(path) && find_mount(path, what, sizeof(what)))
		unmount(path);
}

/* Dead mounts may be stacked, so this repeats until the path is alive. */
static int check(const char *path)
{
	char what[PATH_MAX] = "", why[PATH_MAX + CONNECTION_WHY];
	struct stat st;

	/* A look at a mount whose server hangs would hang. */
	if (find_mount(path, what, sizeof(what)) && connection_release(what, why) != 0)
		return refuse(path, -EBUSY, why);
	while (look(path, &st) != 0) {
		int error = errno;
		bool ours = find_mount(path, what, sizeof(what));

		/* Only the user who mounted may access a mount, also a dead one. */
		if (error == EACCES && ours) {
			snprintf(why, sizeof(why),
				 "is a mount of %s by another user; umount unmounts it, as root",
				 what);
			return refuse(path, -error, why);
		}
		if (!is_dead(error))
			return refuse(path, -error, strerror(error));
		if (ours && unmount(path) == 0)
			fprintf(stderr, "rowfs: %s: cleared a dead mount of %s\n", path, what);
		else if (lies_dead(path)) /* else auto_unmount or another start cleared it */
			return ours ? refuse(path, -EBUSY,
					     "is a dead mount and could not be cleared; unmount it")
				    : refuse(path, -ENOTCONN,
					     "is a dead mount of another filesystem, or lies "
					     "in a dead mount; unmount that");
	}
	if (!S_ISDIR(st.st_mode))
		return refuse(path, -ENOTDIR, "is not a directory");
	if (!find_mount(path, what, sizeof(what)))
		return 0;
	snprintf(why, sizeof(why), "is busy: %s is mounted there; fusermount3 -u unmounts it",
		 what);
	return refuse(path, -EBUSY, why);
}

int mountpoint_fd(const char *path)
{
	size_t len = strlen(OPEN_FILES);

	return strncmp(path, OPEN_FILES, len) == 0 ? atoi(path + len) : -1;
}

int mountpoint_prepare(const char *given, char **path)
{
	char *resolved;
	struct stat st;
	int rc;

	if (mountpoint_fd(given) >= 0) { /* only a mount that waits for its server */
		if (stat(given, &st) != 0)
			return refuse(given, -errno, strerror(errno));
		if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR))
			return refuse(given, -ENODEV, "is not an open mount");
		*path = strdup(given);
		return *path ? 0 : refuse(given, -ENOMEM, strerror(ENOMEM));
	}
	resolved = realpath(given, NULL);
	if (!resolved && is_dead(errno))
		resolved = resolve_dead(given);
	if (!resolved)
		return refuse(given, -errno,
			      errno == ENOENT
				      ? "No such file or directory; mkdir makes a mountpoint"
			      : is_dead(errno) ? "lies in a dead mount; unmount that"
					       : strerror(errno));
	rc = check(resolved);
	if (rc == 0)
		*path = resolved;
	else
		free(resolved);
	return rc;
}

int mountpoint_covers(const char *directory, const char *path)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return 1;
	return strncmp(path, directory, len) == 0 && (path[len] == 0 || path[len] == '/');
}
