/* SPDX-License-Identifier: MIT */
/*
 * Walks over a store's directory: checks it, makes it durable, removes it without entering another
 * device. No walk follows a symbolic link.
 */
#include "store/disk/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"

/* directory_each in the directory of this name in parent. */
static int directory_tree_each(int parent, const char *name,
			       int (*each)(void *ctx, int dir, const char *name), void *ctx)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (stream == NULL) {
		rc = directory_error(errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(stream)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = each(ctx, fd, entry->d_name);
	if (rc == 0 && errno != 0)
		rc = directory_error(errno);
	closedir(stream);
	return rc;
}

int directory_each(int dir, int (*each)(void *ctx, int dir, const char *name), void *ctx)
{
	return directory_tree_each(dir, ".", each, ctx);
}

/* ctx: the device of the directory around it; NULL: any device. */
static int directory_tree_remove(void *ctx, int parent, const char *name)
{
	const dev_t *dev = ctx;
	struct stat st;
	int rc;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return directory_error(errno);
	if (!S_ISDIR(st.st_mode))
		return unlinkat(parent, name, 0) == 0 ? 0 : directory_error(errno);
	if (dev != NULL && st.st_dev != *dev)
		return -EBUSY;
	rc = directory_tree_each(parent, name, directory_tree_remove, &st.st_dev);
	if (rc == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0)
		rc = directory_error(errno);
	return rc;
}

static int directory_tree_sync(void *ctx, int parent, const char *name)
{
	struct stat st;
	int rc = 0;
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return directory_error(errno);
	if (fstat(fd, &st) != 0)
		rc = directory_error(errno);
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = directory_tree_each(parent, name, directory_tree_sync, ctx);
	if (rc == 0 && (fchmod(fd, S_ISDIR(st.st_mode) ? 0700 : 0600) != 0 || fsync(fd) != 0))
		rc = directory_error(errno);
	close(fd);
	return rc;
}

/* The files of a store, as they are checked. */
struct tree_check {
	const struct directory *directory;
	struct wcs_fault *fault;
};

/* May this process use the file of the store, or the directory, as an engine does? It makes and
 * removes files in a directory, reads files, and locks LOCK. -EACCES: fault has the words. */
static int tree_check_access(const struct tree_check *check, const char *path, int want)
{
	const struct directory *directory = check->directory;

	if (directory->look)
		want &= ~W_OK;
	if (faccessat(directory->fd, path, want, AT_EACCESS) == 0 ||
	    (errno != EACCES && errno != EPERM))
		return 0;
	return directory_fail_at(check->fault, EACCES, directory, path);
}

/* -ELOOP: it is a symbolic link or a special file. */
static int tree_check_file(void *ctx, int dir, const char *name)
{
	char path[sizeof(DIRECTORY_DATA "/") + 256];
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : directory_error(errno);
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? 0 : -ELOOP;
	snprintf(path, sizeof(path), DIRECTORY_DATA "/%s", name);
	return tree_check_access(ctx, path, strcmp(name, "LOCK") == 0 ? R_OK | W_OK : R_OK);
}

int directory_check_data(const struct directory *directory, struct wcs_fault *fault)
{
	const char *name = directory_name(directory->path);
	struct tree_check check = {.directory = directory, .fault = fault};
	struct stat st;
	bool there = fstatat(directory->fd, DIRECTORY_DATA, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int rc;

	if (there ? S_ISREG(st.st_mode) : errno == ENOENT)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_DATA ": missing, and with it all that the "
				     "store held; restore a copy of it, or a dump (mkfs.rowfs "
				     "--force, rowfs-load)",
				     name);
	rc = tree_check_access(&check, DIRECTORY_MARKER, R_OK);
	if (rc == 0)
		rc = tree_check_access(&check, DIRECTORY_TABLES, R_OK);
	if (rc == 0 && there && !S_ISDIR(st.st_mode))
		rc = -ELOOP;
	if (rc == 0)
		rc = tree_check_access(&check, DIRECTORY_DATA, R_OK | W_OK | X_OK);
	if (rc == 0)
		rc = directory_tree_each(directory->fd, DIRECTORY_DATA, tree_check_file, &check);
	if (rc == -ELOOP)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_DATA ": there is a symbolic link or a special "
				     "file in it, which no store has; there, find . ! -type f ! "
				     "-type d shows it; move it away",
				     name);
	if (rc != 0 && rc != -EACCES)
		return wcs_fault_set(fault, rc, "%s/" DIRECTORY_DATA ": %s", name, strerror(-rc));
	return rc;
}

int directory_load(int dir, const char *name, size_t most, char **data, size_t *len)
{
	int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = -EIO;
	char *made = NULL;
	struct stat st;

	if (file < 0)
		return -errno;
	if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size <= most) {
		made = malloc((size_t)st.st_size + 1);
		rc = made == NULL					  ? -ENOMEM
		     : read(file, made, (size_t)st.st_size) == st.st_size ? 0
									  : -EIO;
	}
	close(file);
	if (rc != 0) {
		free(made);
		return rc;
	}
	made[st.st_size] = '\0';
	*data = made;
	*len = (size_t)st.st_size;
	return 0;
}

int directory_replace(int dir, const char *temporary, const char *name, const void *data,
		      size_t len)
{
	ssize_t put;
	int file, rc = 0;

	if (unlinkat(dir, temporary, 0) != 0 && errno != ENOENT)
		return directory_error(errno);
	file = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return directory_error(errno);
	put = write(file, data, len);
	if (put >= 0 && put < (ssize_t)len) /* a full medium cut it off */
		errno = ENOSPC;
	if (put < (ssize_t)len || fsync(file) != 0 || renameat(dir, temporary, dir, name) != 0 ||
	    fsync(dir) != 0)
		rc = directory_error(errno);
	close(file);
	if (rc != 0)
		unlinkat(dir, temporary, 0);
	return rc;
}

uint64_t directory_data(int file, uint64_t at)
{
	off_t data = lseek(file, (off_t)at, SEEK_DATA);
	struct stat st;

	if (data >= 0)
		return (uint64_t)data;
	if (errno != ENXIO || fstat(file, &st) != 0 || (uint64_t)st.st_size < at)
		return at;
	return (uint64_t)st.st_size;
}

int directory_sync(int parent, const char *name)
{
	return directory_tree_sync(NULL, parent, name);
}

bool directory_is_place(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int directory_remove(int parent, const char *name)
{
	return directory_tree_remove(NULL, parent, name);
}
