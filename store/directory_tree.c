/* SPDX-License-Identifier: MIT */
/*
 * Walks over a store's directory: making it durable, and removing it. No symbolic link is followed
 * and no other device is entered.
 */
#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int directory_tree_step(int parent, const char *name, dev_t dev);

static bool directory_tree_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Calls step for each name in the directory of this name. */
static int directory_tree_each(int parent, const char *name, dev_t dev, directory_tree_step *step)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL) {
		rc = directory_error(errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0) {
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL) {
			rc = errno != 0 ? directory_error(errno) : 0;
			break;
		}
		if (!directory_tree_is_dots(entry->d_name))
			rc = step(dirfd(dir), entry->d_name, dev);
	}
	closedir(dir);
	return rc;
}

static int directory_tree_remove(int parent, const char *name, dev_t dev)
{
	struct stat st;
	int rc;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return directory_error(errno);
	if (!S_ISDIR(st.st_mode))
		return unlinkat(parent, name, 0) == 0 ? 0 : directory_error(errno);
	if (st.st_dev != dev)
		return -EBUSY;
	rc = directory_tree_each(parent, name, dev, directory_tree_remove);
	if (rc != 0)
		return rc;
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : directory_error(errno);
}

static int directory_tree_sync(int parent, const char *name, dev_t dev)
{
	struct stat st;
	int rc = 0;
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return directory_error(errno);
	if (fstat(fd, &st) != 0)
		rc = directory_error(errno);
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = directory_tree_each(parent, name, dev, directory_tree_sync);
	if (rc == 0 && (fchmod(fd, S_ISDIR(st.st_mode) ? 0700 : 0600) != 0 || fsync(fd) != 0))
		rc = directory_error(errno);
	close(fd);
	return rc;
}

int directory_sync(int parent, const char *name)
{
	return directory_tree_sync(parent, name, 0);
}

int directory_remove(int parent, const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return directory_error(errno);
	return directory_tree_remove(parent, name, st.st_dev);
}
