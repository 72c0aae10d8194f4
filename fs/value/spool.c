/* SPDX-License-Identifier: MIT */
/*
 * A value under construction.
 *
 * Invariants: bytes of memory beyond size are zero, and a file ends at size, also after a write
 * that failed half way. Growing therefore needs no filling.
 */
#include "fs/value/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/grow.h"

/* LevelDB keeps up to 990 tables open, at most a fifth of the limit. */
enum { FILES_RESERVED = 1280 };

static _Atomic size_t spools_memory; /* bytes of all spools */

void spool_init(struct spool *spool)
{
	*spool = (struct spool){.fd = -1};
}

static void spool_unmap(struct spool *spool)
{
	if (spool->map)
		munmap(spool->map, spool->size);
	spool->map = NULL;
}

void spool_clear(struct spool *spool)
{
	spool_unmap(spool);
	spools_memory -= spool->room;
	free(spool->memory);
	if (spool->fd >= 0)
		close(spool->fd);
	spool_init(spool);
}

static int file_write(int fd, const char *data, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t done = pwrite(fd, data, len, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		len -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

/* A file in the directory, without a name: its descriptor, or an error. -EMFILE: the engine needs
 * the remaining descriptors, because it takes no more writes once it has none for a log. The kernel
 * gives the lowest free number, which tells how many remain. */
static int file_make(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), rc = fd < 0 ? -errno : 0;
	struct rlimit files;
	rlim_t reserve;
	char *path;

	/* A filesystem may have no files without a name; then the name is removed at once. */
	if (rc == -EOPNOTSUPP || rc == -EISDIR || rc == -ENOENT) {
		if (asprintf(&path, "%s/spool.XXXXXX", directory) < 0)
			return -ENOMEM;
		fd = mkostemp(path, O_CLOEXEC);
		rc = fd < 0 ? -errno : 0;
		if (rc == 0)
			unlink(path);
		free(path);
	}
	if (rc != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
		return rc != 0 ? rc : fd;
	reserve = files.rlim_cur / 2 < FILES_RESERVED ? files.rlim_cur / 2 : FILES_RESERVED;
	if ((rlim_t)fd < files.rlim_cur - reserve)
		return fd;
	close(fd);
	return -EMFILE;
}

int spool_unload(struct spool *spool, const char *directory)
{
	int fd = file_make(directory), rc;

	if (fd < 0)
		return fd;
	rc = file_write(fd, spool->memory, spool->size, 0);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	spools_memory -= spool->room;
	free(spool->memory);
	spool->memory = NULL;
	spool->room = 0;
	spool->fd = fd;
	return 0;
}

/* Makes room for a spool of that size, in memory or in a file. */
static int spool_reserve(struct spool *spool, const char *directory, uint64_t size)
{
	size_t room = spool->room;

	spool_unmap(spool);
	if (spool->fd >= 0 || size <= spool->room)
		return 0;
	if (size > SPOOL_MEMORY || (size > SPOOL_SMALL && spools_memory + size > SPOOLS_MEMORY))
		return spool_unload(spool, directory);
	if (grow(&spool->memory, &spool->room, (size_t)size, 256, 1) != 0)
		return -ENOMEM;
	memset(spool->memory + room, 0, spool->room - room);
	spools_memory += spool->room - room;
	return 0;
}

int spool_write(struct spool *spool, const char *directory, const void *data, size_t len,
		uint64_t offset)
{
	uint64_t end = offset + len;
	int rc = spool_reserve(spool, directory, end);

	if (rc != 0 || len == 0)
		return rc;
	if (spool->fd < 0)
		memcpy(spool->memory + offset, data, len);
	else
		rc = file_write(spool->fd, data, len, offset);
	if (rc != 0 && end > spool->size && ftruncate(spool->fd, (off_t)spool->size) != 0)
		return -errno;
	if (rc == 0 && end > spool->size)
		spool->size = (size_t)end;
	return rc;
}

int spool_truncate(struct spool *spool, const char *directory, uint64_t size)
{
	int rc = spool_reserve(spool, directory, size);

	if (rc != 0)
		return rc;
	if (spool->fd >= 0) {
		if (ftruncate(spool->fd, (off_t)size) != 0)
			return -errno;
	} else if (size < spool->size) {
		memset(spool->memory + size, 0, spool->size - size);
	}
	spool->size = (size_t)size;
	return 0;
}

int spool_read(const struct spool *spool, void *buf, size_t len, uint64_t offset, size_t *got)
{
	size_t left = offset < spool->size ? spool->size - (size_t)offset : 0;
	size_t want = len < left ? len : left;

	if (want > 0 && spool->fd < 0)
		memcpy(buf, spool->memory + offset, want);
	for (size_t done = 0; spool->fd >= 0 && done < want;) {
		ssize_t count =
			pread(spool->fd, (char *)buf + done, want - done, (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -EIO;
		done += (size_t)count;
	}
	*got = want;
	return 0;
}

int spool_map(struct spool *spool, struct wcs_slice *slice)
{
	spool_unmap(spool);
	if (spool->fd < 0 || spool->size == 0) {
		*slice = (struct wcs_slice){spool->memory, spool->size};
		return 0;
	}
	spool->map = mmap(NULL, spool->size, PROT_READ, MAP_SHARED, spool->fd, 0);
	if (spool->map == MAP_FAILED) {
		spool->map = NULL;
		return -errno;
	}
	*slice = (struct wcs_slice){spool->map, spool->size};
	return 0;
}
