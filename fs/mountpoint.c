/* SPDX-License-Identifier: MIT */
/* Mountpoints: what is there, and the remains of a mount whose process has gone. */
#include "mountpoint.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as many as the kernel follows */

static int refuse(const char *path, int error, const char *why)
{
	fprintf(stderr, "rowfs: %s: %s\n", path, why);
	return error;
}

/* A path beside or below another one's directory; an absolute path as it is. */
static char *path_join(const char *directory, const char *path)
{
	char *joined;

	if (*path == '/' || asprintf(&joined, "%s/%s", directory, path) < 0)
		return *path == '/' ? strdup(path) : NULL;
	return joined;
}

/*
 * The resolved path of a dead mount, which cannot be looked into: its name in its resolved
 * directory. links: how many symbolic links may be followed to it.
 */
static char *resolve_dead(const char *given, int links)
{
	char *copy = strdup(given), *copy2 = strdup(given), *directory = NULL, *path = NULL;
	const char *last = copy2 ? basename(copy2) : ".";
	char target[PATH_MAX], *next;
	ssize_t len;

	if (copy && strcmp(last, ".") != 0 && strcmp(last, "..") != 0)
		directory = realpath(dirname(copy), NULL);
	if (directory)
		path = path_join(strcmp(directory, "/") == 0 ? "" : directory, last);
	len = path ? readlink(path, target, sizeof(target) - 1) : -1;
	if (len > 0 && links > 0) {
		target[len] = 0;
		next = path_join(directory, target);
		free(path);
		path = next ? resolve_dead(next, links - 1) : NULL;
		free(next);
	}
	free(copy);
	free(copy2);
	free(directory);
	return path;
}

/* ECONNABORTED is what a request gets that was under way when the mount died. */
static bool is_dead(int error)
{
	return error == ENOTCONN || error == ECONNABORTED;
}

/* The path without symbolic links; also that of a dead mount. */
static char *resolve(const char *given)
{
	char *path = realpath(given, NULL);

	return path || !is_dead(errno) ? path : resolve_dead(given, LINKS_MAX);
}

/* Is a rowfs mounted there? what: its store. */
static int find_mount(const char *path, char *what, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	int found = 0;

	if (!mounts)
		return 0;
	while ((mount = getmntent(mounts)) != NULL) {
		if (strcmp(mount->mnt_dir, path) != 0)
			continue;
		found = strcmp(mount->mnt_type, "fuse.rowfs") == 0;
		snprintf(what, size, "%s", mount->mnt_fsname);
	}
	endmntent(mounts);
	return found;
}

bool mountpoint_serves(const char *store)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *mount;
	bool found = false;

	while (mounts && !found && (mount = getmntent(mounts)) != NULL)
		found = strcmp(mount->mnt_type, "fuse.rowfs") == 0 &&
			strcmp(mount->mnt_fsname, store) == 0;
	if (mounts)
		endmntent(mounts);
	return found;
}

/* As root directly, else through libfuse's helper. */
static int unmount(const char *path)
{
	int status;
	pid_t pid;

	if (umount2(path, MNT_DETACH) == 0)
		return 0;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "--", path, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

static int clear_dead(const char *path)
{
	char what[256];

	if (!find_mount(path, what, sizeof(what)))
		return refuse(path, -ENOTCONN, "is a dead mount of another filesystem; unmount it");
	if (unmount(path) != 0)
		return refuse(path, -EBUSY, "is a dead mount and could not be cleared; unmount it");
	fprintf(stderr, "rowfs: %s: cleared a dead mount of %s\n", path, what);
	return 0;
}

/* The kernel may still know a dead mount's attributes, but has to ask for its size. */
static int look(const char *path, struct stat *st)
{
	struct statvfs space;

	return stat(path, st) != 0 || statvfs(path, &space) != 0 ? -1 : 0;
}

/* A dead mount may lie on another, so what is there is looked at until it is alive. */
static int check(const char *path)
{
	char what[256], why[512];
	struct stat st;
	int rc;

	while (look(path, &st) != 0) {
		if (!is_dead(errno))
			return refuse(path, -errno, strerror(errno));
		rc = clear_dead(path);
		if (rc != 0)
			return rc;
	}
	if (!S_ISDIR(st.st_mode))
		return refuse(path, -ENOTDIR, "is not a directory");
	if (!find_mount(path, what, sizeof(what)))
		return 0;
	snprintf(why, sizeof(why), "is busy: %s is mounted there; fusermount3 -u unmounts it",
		 what);
	return refuse(path, -EBUSY, why);
}

int mountpoint_prepare(const char *given, char **path)
{
	char *resolved = resolve(given);
	char *whole;
	int rc;

	if (!resolved)
		return refuse(given, -errno, strerror(errno));
	rc = check(resolved);
	whole = rc == 0 ? realpath(resolved, NULL) : NULL;
	free(resolved);
	if (rc == 0 && !whole)
		return refuse(given, -errno, strerror(errno));
	if (rc == 0)
		*path = whole;
	return rc;
}

int mountpoint_covers(const char *directory, const char *path)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return 1;
	return strncmp(path, directory, len) == 0 && (path[len] == 0 || path[len] == '/');
}
