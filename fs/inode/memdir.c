/* SPDX-License-Identifier: MIT */
/*
 * Directories in memory, as a sorted array of encoded paths.
 *
 *     component   part's letter | its bytes, with 00 FF for each 00 | 00 01
 *
 * The bytes of a path are therefore a prefix of the bytes of each path below it, paths below one
 * directory are neighbours, and components sort by their bytes.
 */
#include "fs/inode/memdir.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum { PATH_FIRST = 64, PATHS_FIRST = 64 }; /* bytes; paths */

struct memdirs {
	pthread_rwlock_t lock;
	struct memdir_path *paths; /* sorted. Lock: lock, as all below */
	_Atomic size_t count;	   /* may be read without the lock */
	size_t room;
};

int memdir_path_add(struct memdir_path *path, enum memdir_part part, struct wcs_slice bytes)
{
	const unsigned char *from = bytes.data;

	if (grow(&path->data, &path->room, path->len + 2 * bytes.len + 3, PATH_FIRST, 1) != 0)
		return -ENOMEM;
	path->data[path->len++] = (unsigned char)part;
	for (size_t i = 0; i < bytes.len; i++) {
		path->data[path->len++] = from[i];
		if (from[i] == 0)
			path->data[path->len++] = 0xFF;
	}
	path->data[path->len++] = 0;
	path->data[path->len++] = 1;
	return 0;
}

void memdir_path_clear(struct memdir_path *path)
{
	free(path->data);
	*path = (struct memdir_path){0};
}

static int path_compare(const struct memdir_path *a, const struct memdir_path *b)
{
	return wcs_slice_compare((struct wcs_slice){a->data, a->len},
				 (struct wcs_slice){b->data, b->len});
}

static bool path_below(const struct memdir_path *path, const struct memdir_path *top)
{
	return path->len >= top->len && memcmp(path->data, top->data, top->len) == 0;
}

struct memdirs *memdirs_new(void)
{
	struct memdirs *dirs = calloc(1, sizeof(*dirs));

	if (dirs)
		pthread_rwlock_init(&dirs->lock, NULL);
	return dirs;
}

size_t memdirs_count(struct memdirs *dirs)
{
	return dirs->count;
}

void memdirs_free(struct memdirs *dirs)
{
	if (!dirs)
		return;
	for (size_t i = 0; i < dirs->count; i++)
		memdir_path_clear(&dirs->paths[i]);
	free(dirs->paths);
	pthread_rwlock_destroy(&dirs->lock);
	free(dirs);
}

/* The index of the first path that is not less than this one. */
static size_t lower_bound(const struct memdirs *dirs, const struct memdir_path *path)
{
	size_t low = 0, high = dirs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_compare(&dirs->paths[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool path_at(const struct memdirs *dirs, size_t index, const struct memdir_path *path)
{
	return index < dirs->count && path_compare(&dirs->paths[index], path) == 0;
}

static int memdirs_insert(struct memdirs *dirs, size_t index, const struct memdir_path *path)
{
	struct memdir_path copy = {.len = path->len, .room = path->len};

	if (dirs->count == MEMDIRS_MAX)
		return -ENOSPC;
	if (grow(&dirs->paths, &dirs->room, dirs->count + 1, PATHS_FIRST, sizeof(copy)) == 0)
		copy.data = malloc(path->len);
	if (!copy.data)
		return -ENOMEM;
	memcpy(copy.data, path->data, path->len);
	memmove(&dirs->paths[index + 1], &dirs->paths[index], (dirs->count - index) * sizeof(copy));
	dirs->paths[index] = copy;
	dirs->count++;
	return 0;
}

int memdirs_add(struct memdirs *dirs, const struct memdir_path *path)
{
	size_t index;
	int rc = 0;

	pthread_rwlock_wrlock(&dirs->lock);
	index = lower_bound(dirs, path);
	if (!path_at(dirs, index, path))
		rc = memdirs_insert(dirs, index, path);
	pthread_rwlock_unlock(&dirs->lock);
	return rc;
}

void memdirs_remove(struct memdirs *dirs, const struct memdir_path *path)
{
	size_t from, to;

	pthread_rwlock_wrlock(&dirs->lock);
	from = lower_bound(dirs, path);
	for (to = from; to < dirs->count && path_below(&dirs->paths[to], path); to++)
		memdir_path_clear(&dirs->paths[to]);
	if (to > from)
		memmove(&dirs->paths[from], &dirs->paths[to], (dirs->count - to) * sizeof(*path));
	dirs->count -= to - from;
	pthread_rwlock_unlock(&dirs->lock);
}

/* The offset of that family's component in a path; 0: there is none. */
static size_t family_at(const struct memdir_path *path, const struct memdir_path *family)
{
	size_t at = 0;

	while (at < path->len) {
		if (path->data[at] == MEMDIR_FAMILY)
			break;
		while (!(path->data[at] == 0 && path->data[at + 1] == 1))
			at += path->data[at] == 0 ? 2 : 1;
		at += 2;
	}
	if (path->len - at < family->len || memcmp(path->data + at, family->data, family->len) != 0)
		return 0;
	return at;
}

void memdirs_remove_family(struct memdirs *dirs, const struct memdir_path *table,
			   const struct memdir_path *family)
{
	size_t kept;

	pthread_rwlock_wrlock(&dirs->lock);
	kept = lower_bound(dirs, table);
	/* Drop a shortened path if the one before it is the same or below it. Otherwise the list
	 * stays sorted. */
	for (size_t i = kept; i < dirs->count; i++) {
		struct memdir_path path = dirs->paths[i];
		size_t len = path_below(&path, table) ? family_at(&path, family) : 0;

		path.len = len > 0 ? len : path.len;
		if (len > 0 && kept > 0 && path_below(&dirs->paths[kept - 1], &path))
			memdir_path_clear(&path);
		else
			dirs->paths[kept++] = path;
	}
	dirs->count = kept;
	pthread_rwlock_unlock(&dirs->lock);
}

bool memdirs_has(struct memdirs *dirs, const struct memdir_path *path, bool itself)
{
	size_t index;
	bool found;

	pthread_rwlock_rdlock(&dirs->lock);
	index = lower_bound(dirs, path);
	if (!itself && path_at(dirs, index, path))
		index++;
	found = index < dirs->count && path_below(&dirs->paths[index], path);
	pthread_rwlock_unlock(&dirs->lock);
	return found;
}

/* Decodes the component behind `path` in `found`, if that is a child of that part. */
static int child_decode(const struct memdir_path *found, const struct memdir_path *path,
			enum memdir_part part, struct wcs_slice *child)
{
	const unsigned char *data;
	size_t len, count = 0;
	char *bytes;

	if (!path_below(found, path) || found->len == path->len ||
	    found->data[path->len] != (unsigned char)part)
		return -ENOENT;
	data = found->data + path->len;
	len = found->len - path->len;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 1; i + 1 < len && !(data[i] == 0 && data[i + 1] == 1); i++) {
		bytes[count++] = (char)data[i];
		if (data[i] == 0)
			i++;
	}
	*child = (struct wcs_slice){bytes, count};
	return 0;
}

int memdirs_next(struct memdirs *dirs, const struct memdir_path *path, enum memdir_part part,
		 const struct wcs_slice *after, struct wcs_slice *child)
{
	struct memdir_path start = {0};
	size_t index;
	int rc = grow(&start.data, &start.room, path->len, PATH_FIRST, 1);

	if (rc != 0)
		return rc;
	memcpy(start.data, path->data, path->len);
	start.len = path->len;
	rc = memdir_path_add(&start, part, after ? *after : (struct wcs_slice){0});
	if (rc != 0)
		goto out;
	free((void *)child->data);
	*child = (struct wcs_slice){0};
	/* The least path behind all below that child, or before all children of that part. */
	if (after)
		start.data[start.len - 1] = 2; /* in place of 01, which ends the component */
	else
		start.len -= 2;
	pthread_rwlock_rdlock(&dirs->lock);
	index = lower_bound(dirs, &start);
	rc = index < dirs->count ? child_decode(&dirs->paths[index], path, part, child) : -ENOENT;
	pthread_rwlock_unlock(&dirs->lock);
out:
	memdir_path_clear(&start);
	return rc;
}
