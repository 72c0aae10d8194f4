/* SPDX-License-Identifier: MIT */
/*
 * Walks over a store's directory: looking at it, making it durable, and removing it, which enters
 * no other device. No symbolic link is followed.
 */
#include "store/disk/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int directory_tree_step(int parent, const char *name, dev_t dev);

struct directory_tree {
	directory_tree_step *step;
	dev_t dev;
};

static bool directory_tree_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Closes fd, which may be -1, with its reason in errno. */
static int directory_tree_read(int fd, int (*each)(void *ctx, int dir, const char *name), void *ctx)
{
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int rc = 0;

	if (stream == NULL) {
		rc = directory_error(errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(stream)) != NULL)
		if (!directory_tree_is_dots(entry->d_name))
			rc = each(ctx, fd, entry->d_name);
	if (rc == 0 && errno != 0)
		rc = directory_error(errno);
	closedir(stream);
	return rc;
}

int directory_each(int dir, int (*each)(void *ctx, int dir, const char *name), void *ctx)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return directory_tree_read(copy, each, ctx);
}

static int directory_tree_step_in(void *ctx, int dir, const char *name)
{
	const struct directory_tree *tree = ctx;

	return tree->step(dir, name, tree->dev);
}

/* Calls step for each name in the directory of this name. */
static int directory_tree_each(int parent, const char *name, dev_t dev, directory_tree_step *step)
{
	struct directory_tree tree = {.step = step, .dev = dev};
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return directory_tree_read(fd, directory_tree_step_in, &tree);
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

static int directory_tree_check(int parent, const char *name, dev_t dev)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : directory_error(errno);
	if (S_ISDIR(st.st_mode))
		return directory_tree_each(parent, name, dev, directory_tree_check);
	return S_ISREG(st.st_mode) ? 0 : -ELOOP;
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

bool directory_is_left(const char *name)
{
	return strcmp(name, DIRECTORY_ANEW) == 0 || strcmp(name, DIRECTORY_TABLES) == 0 ||
	       strcmp(name, DIRECTORY_TABLES_NEW) == 0 ||
	       strncmp(name, DIRECTORY_TORN, sizeof(DIRECTORY_TORN) - 1) == 0;
}

int directory_check(int parent, const char *name)
{
	return directory_tree_check(parent, name, 0);
}

int directory_sync(int parent, const char *name)
{
	return directory_tree_sync(parent, name, 0);
}

bool directory_is_place(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int directory_remove(int parent, const char *name)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return directory_error(errno);
	return directory_tree_remove(parent, name, st.st_dev);
}
