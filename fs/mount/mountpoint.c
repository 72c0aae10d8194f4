/* SPDX-License-Identifier: MIT */
/*
 * Checks mountpoints, finds their mounts again, and clears dead mounts (mounts whose server is
 * gone).
 *
 * umount2 on /proc/self/fd/N of an open root is exact: no name is looked up in between. The open
 * root keeps the mount busy, which MNT_DETACH ignores.
 */
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

#include "fs/mount/privilege.h"
#include "lib/system/connection.h"
#include "lib/system/message.h"

#define OPEN_FILES "/dev/fd/"
enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 };
enum { LINKS = 40 }; /* in a path, as in the kernel */

static int refuse(const char *path, int error, const char *why)
{
	message("rowfs", "%s: %s", path, why);
	return error;
}

/* The present path of an open file; the caller frees it. NULL: too long, with errno. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path));
	if (len == sizeof(path))
		errno = ENAMETOOLONG;
	return len > 0 && (size_t)len < sizeof(path) ? strndup(path, (size_t)len) : NULL;
}

/* ECONNABORTED: the mount died during the request. */
static bool is_dead(int error)
{
	return error == ENOTCONN || error == ECONNABORTED;
}

/* statvfs reaches the server even where the kernel has cached attributes of a dead mount. */
static int look(int fd, struct stat *st)
{
	struct statvfs space;

	return fstat(fd, st) != 0 || fstatvfs(fd, &space) != 0 ? -1 : 0;
}

static bool lies_dead(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	bool dead = (fd < 0 || look(fd, &st) != 0) && is_dead(errno);

	if (fd >= 0)
		close(fd);
	return dead;
}

static _Noreturn void become_fusermount(const char *path, bool quiet)
{
	char *const argv[] = {"fusermount3", "-u",	   "-z", quiet ? "-q" : "-z",
			      "--",	     (char *)path, NULL};

	execv("/usr/bin/fusermount3", argv);
	execvp(argv[0], argv);
	_exit(MOUNTPOINT_LEFT);
}

static int detach(int root)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	return umount2(link, MNT_DETACH) == 0 ? 0 : -errno;
}

/* Unmounts the dead mount whose root is open: directly with the privilege to, else through
 * libfuse's helper by its path. */
static int unmount(int root, const char *path)
{
	struct statvfs space;
	int status;
	pid_t pid;

	if (fstatvfs(root, &space) == 0 || !is_dead(errno))
		return -EBUSY;
	if (privilege_mounts())
		return detach(root);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_fusermount(path, false);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

/* Checks the directory open at fd. 1: a dead mount was there, and what is below it is to be
 * checked. Dead mounts may be stacked. */
static int check(int fd, const char *path)
{
	struct mounts_around around = {.store = ""};
	const char *what = around.store;
	bool ours = mounts_around(path, &around) && strcmp(around.place, path) == 0;
	char why[PATH_MAX + CONNECTION_WHY];
	struct stat st;

	/* A look at a mount whose server hangs would hang. */
	if (ours && connection_release(what, why) != 0)
		return refuse(path, -EBUSY, why);
	if (look(fd, &st) != 0) {
		int error = errno;

		/* Only the user who mounted may access a mount, also a dead one. */
		if (error == EACCES && ours) {
			snprintf(why, sizeof(why),
				 "is a mount of %s by another user; umount unmounts it, as root",
				 what);
			return refuse(path, -error, why);
		}
		if (!is_dead(error))
			return refuse(path, -error, strerror(error));
		if (ours && unmount(fd, path) == 0)
			message("rowfs", "%s: cleared a dead mount of %s", path, what);
		else if (lies_dead(path)) /* else auto_unmount or another start cleared it */
			return ours ? refuse(path, -EBUSY,
					     "is a dead mount and could not be cleared; unmount it")
				    : refuse(path, -ENOTCONN,
					     "is a dead mount of another filesystem, or lies "
					     "in a dead mount; unmount that");
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return refuse(path, -ENOTDIR, "is not a directory");
	if (!ours)
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

/* Whoever owns the root directory could exchange every path anyway; in a user namespace that is not
 * always the namespace's root. */
static bool is_foreign(int link)
{
	struct stat st, top;

	return fstat(link, &st) != 0 || stat("/", &top) != 0 ||
	       (st.st_uid != geteuid() && st.st_uid != top.st_uid);
}

/* Puts the target of the link `name` in front of *rest. 1: done; 0: it is no link; -ELOOP: it is
 * another user's; -ENAMETOOLONG. */
static int expand(int at, const char *name, char **rest, char path[2 * PATH_MAX])
{
	int rc = 0, fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX], *tail = NULL;
	ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target));

	if (len > 0)
		tail = strdup(*rest ? *rest : "");
	if (len > 0 && is_foreign(fd))
		rc = -ELOOP;
	else if (len > 0 && (!tail || (size_t)len + strlen(tail) + 2 > 2 * PATH_MAX))
		rc = -ENAMETOOLONG;
	else if (len > 0) {
		snprintf(path, 2 * PATH_MAX, "%.*s/%s", (int)len, target, tail);
		*rest = path;
		rc = 1;
	}
	free(tail);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Opens a directory as the kernel does, part by part, and stops with ELOOP at a symbolic link of
 * another user: its owner can exchange it, and directories for it, at any time. O_DIRECTORY also
 * has autofs mount. */
static int open_trusted(const char *given)
{
	char path[2 * PATH_MAX], *name, *rest = path;
	int at, links = 0;

	if (!*given || strlen(given) >= PATH_MAX) {
		errno = *given ? ENAMETOOLONG : ENOENT;
		return -1;
	}
	strcpy(path, given);
	at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (at >= 0 && (name = strsep(&rest, "/"))) {
		int fd, rc = 0;

		if (!*name)
			continue;
		fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			rc = errno == ENOTDIR ? expand(at, name, &rest, path) : -errno;
		if (rc > 0 && ++links > LINKS)
			rc = -ELOOP;
		if (rc > 0 && *path != '/')
			continue;
		if (rc > 0)
			fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = fd;
		if (fd < 0)
			errno = rc < 0 ? -rc : ENOTDIR;
	}
	return at;
}

/* Opens and checks the directory. 1: look again. */
static int prepare(const char *given, struct mountpoint *mountpoint)
{
	int rc, fd = privilege_mounts() ? open_trusted(given) : open(given, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return refuse(given, -errno,
			      errno == ENOENT
				      ? "No such file or directory; mkdir makes a mountpoint"
			      : errno == ELOOP ? "has a symbolic link of another user, or too many"
			      : is_dead(errno) ? "lies in a dead mount; unmount that"
					       : strerror(errno));
	mountpoint->directory = fd;
	mountpoint->path = path_of(fd);
	rc = mountpoint->path ? check(fd, mountpoint->path)
			      : refuse(given, -errno, strerror(errno));
	if (rc != 0)
		return rc;
	mountpoint->parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return mountpoint->parent >= 0 ? 0 : refuse(given, -errno, strerror(errno));
}

int mountpoint_prepare(const char *given, struct mountpoint *mountpoint)
{
	struct stat st;
	int rc;

	*mountpoint = (struct mountpoint){.directory = -1, .parent = -1};
	if (mountpoint_fd(given) >= 0) { /* only a mount that waits for its server */
		if (stat(given, &st) != 0)
			return refuse(given, -errno, strerror(errno));
		if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR))
			return refuse(given, -ENODEV, "is not an open mount");
		mountpoint->path = strdup(given);
		return mountpoint->path ? 0 : refuse(given, -ENOMEM, strerror(ENOMEM));
	}
	for (;;) {
		rc = prepare(given, mountpoint);
		if (rc == 0)
			return 0;
		mountpoint_close(mountpoint);
		free(mountpoint->path);
		mountpoint->path = NULL;
		if (rc < 0)
			return rc;
	}
}

void mountpoint_close(struct mountpoint *mountpoint)
{
	if (mountpoint->directory >= 0)
		close(mountpoint->directory);
	if (mountpoint->parent >= 0)
		close(mountpoint->parent);
	mountpoint->directory = mountpoint->parent = -1;
}

/* Opens the name of the mountpoint in its parent: the root of the mount, if there is one. */
static int open_name(const struct mountpoint *mountpoint)
{
	const char *name = strrchr(mountpoint->path, '/');

	if (!name)
		return -1;
	return openat(mountpoint->parent, name + 1, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool mountpoint_stays(const struct mountpoint *mountpoint)
{
	struct stat checked, now;
	int fd = open_name(mountpoint);
	bool stays = fd >= 0 && fstat(fd, &now) == 0 &&
		     fstat(mountpoint->directory, &checked) == 0 && now.st_dev == checked.st_dev &&
		     now.st_ino == checked.st_ino;

	if (fd >= 0)
		close(fd);
	if (!stays)
		refuse(mountpoint->path, 0, "was moved or replaced since it was checked");
	return stays;
}

/* Is the root of the mount with this id open at fd? Otherwise closes fd. */
static bool is_root(int fd, const struct mounts_id *mount)
{
	struct mounts_id id;

	if (fd < 0)
		return false;
	if (mounts_identify(fd, &id) == 0 && id.mount == mount->mount && id.device == mount->device)
		return true;
	close(fd);
	return false;
}

int mountpoint_open_root(const struct mountpoint *mountpoint)
{
	struct mounts_entry entry;
	int fd = open_name(mountpoint), rc = -ENOENT;
	FILE *mounts;

	if (is_root(fd, &mountpoint->mount))
		return fd;
	mounts = mounts_open();
	while (mounts && rc < 0 && mounts_next(mounts, &entry)) {
		if (makedev(0, entry.number) != mountpoint->mount.device)
			continue;
		fd = open(entry.where, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rc = is_root(fd, &mountpoint->mount) ? fd : -EBUSY;
	}
	if (mounts)
		fclose(mounts);
	return rc;
}

bool mountpoint_mounted(struct mountpoint *mountpoint, int fd)
{
	unsigned number = connection_number(fd);
	struct mounts_id below, mount;
	int root = open_name(mountpoint);
	bool found = root >= 0 && mounts_identify(mountpoint->directory, &below) == 0 &&
		     mounts_identify(root, &mount) == 0 && mount.mount != below.mount &&
		     (number == 0 || mount.device == makedev(0, number));

	if (root >= 0)
		close(root);
	if (found)
		mountpoint->mount = mount;
	return found;
}

void mountpoint_unmount(const struct mountpoint *mountpoint)
{
	int root = mountpoint_open_root(mountpoint);
	char *path;

	if (root == -ENOENT)
		_exit(0);
	if (privilege_mounts())
		_exit(root >= 0 && detach(root) == 0 ? 0 : MOUNTPOINT_LEFT);
	path = root >= 0 ? path_of(root) : NULL;
	become_fusermount(path ? path : mountpoint->path, true);
}

void mountpoint_clear(const struct mountpoint *mountpoint)
{
	int root = mountpoint_open_root(mountpoint);
	char *path = root >= 0 ? path_of(root) : NULL;

	if (path)
		unmount(root, path);
	free(path);
	if (root >= 0)
		close(root);
}
