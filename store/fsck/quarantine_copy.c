/* SPDX-License-Identifier: MIT */
/* Copies a store's files to its quarantine. Follows no symbolic link, and copies none. */
#include "store/fsck/quarantine_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/disk/directory.h"

#define COPY_PIECE ((size_t)1 << 20)
#define COPY_SPARE (4u << 20) /* bytes that are left behind a copy */

struct copy {
	struct wcs_quarantine *quarantine;
	uint64_t done, total; /* bytes, without those of holes */
	char *buffer;	      /* where the kernel does not copy itself */
	int to;		      /* the present directory; -1: counts only */
};

static int copy_fail(struct copy *copy, const char *name)
{
	return quarantine_fail(copy->quarantine, name, errno);
}

/* Copies up to len bytes by read and write. Bytes that a failing disk cannot read become zeros. */
static ssize_t copy_by_hand(struct copy *copy, int from, int to, size_t len, off_t at)
{
	ssize_t got, made = 0;

	if (copy->buffer == NULL)
		copy->buffer = malloc(COPY_PIECE);
	if (copy->buffer == NULL)
		return -1;
	got = pread(from, copy->buffer, len, at);
	if (got < 0 && errno == EIO) {
		got = len < 4096 ? (ssize_t)len : 4096;
		memset(copy->buffer, 0, 4096);
	}
	while (made < got) {
		ssize_t put = pwrite(to, copy->buffer + made, (size_t)(got - made), at + made);

		if (put < 0)
			return -1;
		made += put;
	}
	return got;
}

static int copy_bytes(struct copy *copy, const char *name, int from, int to, off_t size)
{
	const struct wcs_quarantine *quarantine = copy->quarantine;
	bool by_hand = false;
	ssize_t got = 1;

	for (off_t at = 0; got != 0; at += got) {
		off_t hole, read_at, write_at;
		size_t len = COPY_PIECE;

		read_at = write_at = at = (off_t)directory_data(from, (uint64_t)at);
		if (at >= size)
			break;
		hole = lseek(from, at, SEEK_HOLE);
		if (hole > at && hole - at < (off_t)len)
			len = (size_t)(hole - at);
		if (!by_hand) {
			got = copy_file_range(from, &read_at, to, &write_at, len, 0);
			by_hand = got < 0 && errno != ENOSPC && errno != EDQUOT;
		}
		if (by_hand)
			got = copy_by_hand(copy, from, to, len, at);
		if (got < 0)
			return copy_fail(copy, name);
		copy->done += (uint64_t)got;
		if (quarantine->go_on &&
		    !quarantine->go_on(quarantine->ctx, copy->done, copy->total))
			return -ECANCELED;
	}
	return ftruncate(to, size) == 0 && fsync(to) == 0 ? 0 : copy_fail(copy, name);
}

/* Bytes that a file takes on the medium; holes take none. */
static uint64_t copy_size(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, taken = (uint64_t)st->st_blocks * 512;

	return size < taken ? size : taken;
}

static int copy_check_room(struct copy *copy, const char *what, uint64_t needed)
{
	struct statvfs space;

	if (fstatvfs(copy->quarantine->dir, &space) != 0)
		return copy_fail(copy, "");
	if ((uint64_t)space.f_bavail * space.f_frsize > needed)
		return 0;
	return wcs_fault_set(copy->quarantine->fault, -ENOSPC,
			     "%s: a copy of %s takes %" PRIu64
			     " MiB, which that medium has no room for; make room and repair again",
			     directory_name(copy->quarantine->path), what, (needed >> 20) + 1);
}

static int copy_file(void *ctx, int dir, const char *name)
{
	struct copy *copy = ctx;
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int to, rc;

	if (from < 0)
		return copy_fail(copy, name);
	rc = fstat(from, &st) != 0 ? copy_fail(copy, name)
				   : copy_check_room(copy, name, copy_size(&st) + COPY_SPARE);
	if (rc != 0) {
		close(from);
		return rc;
	}
	to = openat(copy->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = to < 0 ? copy_fail(copy, name) : copy_bytes(copy, name, from, to, st.st_size);
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

/* Makes a directory, or takes one that is there, and opens it. */
static int copy_directory(struct copy *copy, int parent, const char *name, int *made)
{
	int fd = -1;

	if (mkdirat(parent, name, 0700) == 0 || errno == EEXIST)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return copy_fail(copy, name);
	*made = fd;
	return 0;
}

static int copy_tree(struct copy *copy, int from, int to);

static int copy_entry(void *ctx, int from, const char *name)
{
	struct copy *copy = ctx;
	int below, made = -1, rc = 0;
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : copy_fail(copy, name);
	if (S_ISREG(st.st_mode) && copy->to < 0)
		copy->total += copy_size(&st);
	if (S_ISREG(st.st_mode))
		return copy->to < 0 ? 0 : copy_file(copy, from, name);
	if (!S_ISDIR(st.st_mode))
		return 0;
	below = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return copy_fail(copy, name);
	if (copy->to >= 0)
		rc = copy_directory(copy, copy->to, name, &made);
	if (rc == 0)
		rc = copy_tree(copy, below, made);
	if (made >= 0)
		close(made);
	close(below);
	return rc;
}

/* All that is in the directory that from is open on. to -1: counts only. */
static int copy_tree(struct copy *copy, int from, int to)
{
	struct wcs_fault *fault = copy->quarantine->fault;
	int outer = copy->to, rc;

	fault->text[0] = '\0';
	copy->to = to;
	rc = directory_each(from, copy_entry, copy);
	copy->to = outer;
	if (rc != 0 && fault->text[0] == '\0')
		return quarantine_fail(copy->quarantine, "", -rc);
	if (rc == 0 && to >= 0 && fsync(to) != 0)
		rc = copy_fail(copy, "");
	return rc;
}

static int copy_to_files(struct wcs_quarantine *quarantine, int dir, const char *name,
			 int (*entry)(void *ctx, int dir, const char *name))
{
	struct copy copy = {.quarantine = quarantine};
	int rc = quarantine_make(quarantine);

	if (rc == 0)
		rc = copy_directory(&copy, quarantine->dir, QUARANTINE_FILES, &copy.to);
	if (rc == 0) {
		rc = entry(&copy, dir, name);
		if (rc == 0 && fsync(copy.to) != 0)
			rc = copy_fail(&copy, QUARANTINE_FILES);
		close(copy.to);
	}
	free(copy.buffer);
	return rc == 0 ? quarantine_sync_place(quarantine) : rc;
}

int wcs_quarantine_file(struct wcs_quarantine *quarantine, int dir, const char *name)
{
	return copy_to_files(quarantine, dir, name, copy_file);
}

int wcs_quarantine_directory(struct wcs_quarantine *quarantine, int dir, const char *name)
{
	return copy_to_files(quarantine, dir, name, copy_entry);
}

int wcs_quarantine_store(struct wcs_quarantine *quarantine, const char *store, uint64_t more)
{
	struct copy copy = {.quarantine = quarantine};
	int from = -1, to = -1, rc = quarantine_make(quarantine);

	if (rc != 0)
		return rc;
	from = open(store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = from < 0 ? copy_fail(&copy, "") : copy_tree(&copy, from, -1);
	if (rc == 0)
		rc = copy_check_room(&copy, "the store and what is made of it", copy.total + more);
	if (rc == 0)
		rc = copy_directory(&copy, quarantine->dir, QUARANTINE_STORE, &to);
	if (rc == 0)
		rc = copy_tree(&copy, from, to);
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	free(copy.buffer);
	return rc == 0 ? quarantine_sync_place(quarantine) : rc;
}
