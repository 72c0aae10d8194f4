/* SPDX-License-Identifier: MIT */
/*
 * Clones a directory. Hard links stand for files that never change; where the filesystem or the
 * kernel refuses a link, and for all other files, there are copies. Holes stay holes. Symbolic
 * links are neither followed nor copied.
 */
#include "store/disk/clone.h"

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

#define CLONE_PIECE ((size_t)1 << 20)
#define CLONE_SPARE (4u << 20) /* bytes that are left behind a copy */

struct clone {
	const struct directory_clone *request;
	uint64_t done, total; /* bytes, without those of holes */
	char *buffer;	      /* where the kernel does not copy itself */
	int dir;	      /* the directory around the clone */
	int to;		      /* the present directory; -1: counts only */
};

static int clone_fail(struct clone *clone, const char *name)
{
	int error = errno ? errno : EIO;

	return wcs_fault_set(clone->request->fault,
			     error == ENOMEM ? -ENOMEM : directory_error(error), "%s%s%s: %s",
			     directory_name(clone->request->path), *name ? "/" : "", name,
			     strerror(error));
}

/* Copies up to len bytes by read and write. Bytes that a failing disk cannot read become zeros. */
static ssize_t clone_by_hand(struct clone *clone, int from, int to, size_t len, off_t at)
{
	ssize_t got, made = 0;

	if (clone->buffer == NULL)
		clone->buffer = malloc(CLONE_PIECE);
	if (clone->buffer == NULL)
		return -1;
	got = pread(from, clone->buffer, len, at);
	if (got < 0 && errno == EIO) {
		got = len < 4096 ? (ssize_t)len : 4096;
		memset(clone->buffer, 0, 4096);
	}
	while (made < got) {
		ssize_t put = pwrite(to, clone->buffer + made, (size_t)(got - made), at + made);

		if (put < 0)
			return -1;
		made += put;
	}
	return got;
}

static int clone_bytes(struct clone *clone, const char *name, int from, int to, off_t size)
{
	const struct directory_clone *request = clone->request;
	bool by_hand = false;
	ssize_t got = 1;

	for (off_t at = 0; got != 0; at += got) {
		off_t hole, read_at, write_at;
		size_t len = CLONE_PIECE;

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
			got = clone_by_hand(clone, from, to, len, at);
		if (got < 0)
			return clone_fail(clone, name);
		clone->done += (uint64_t)got;
		if (request->go_on && !request->go_on(request->ctx, clone->done, clone->total))
			return -ECANCELED;
	}
	return ftruncate(to, size) == 0 && fsync(to) == 0 ? 0 : clone_fail(clone, name);
}

/* Bytes that a file takes on the medium; holes take none. */
static uint64_t clone_size(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, taken = (uint64_t)st->st_blocks * 512;

	return size < taken ? size : taken;
}

static int clone_check_room(struct clone *clone, const char *what, uint64_t needed)
{
	struct statvfs space;

	if (fstatvfs(clone->dir, &space) != 0)
		return clone_fail(clone, "");
	if ((uint64_t)space.f_bavail * space.f_frsize > needed)
		return 0;
	return wcs_fault_set(clone->request->fault, -ENOSPC,
			     "%s: a copy of %s takes %" PRIu64
			     " MiB, which that medium has no room for; make room and repair again",
			     directory_name(clone->request->path), what, (needed >> 20) + 1);
}

static int clone_file(void *ctx, int dir, const char *name)
{
	struct clone *clone = ctx;
	int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool (*fixed)(const char *name) = clone->request->fixed;
	struct stat st;
	int to, rc;

	if (from < 0)
		return clone_fail(clone, name);
	if (fixed && fixed(name) && linkat(dir, name, clone->to, name, 0) == 0)
		return close(from);
	rc = fstat(from, &st) != 0 ? clone_fail(clone, name)
				   : clone_check_room(clone, name, clone_size(&st) + CLONE_SPARE);
	if (rc != 0) {
		close(from);
		return rc;
	}
	to = openat(clone->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = to < 0 ? clone_fail(clone, name) : clone_bytes(clone, name, from, to, st.st_size);
	if (to >= 0)
		close(to);
	close(from);
	return rc;
}

/* Makes a directory, or takes one that is there, and opens it. */
static int clone_directory(struct clone *clone, int parent, const char *name, int *made)
{
	int fd = -1;

	if (mkdirat(parent, name, 0700) == 0 || errno == EEXIST)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return clone_fail(clone, name);
	*made = fd;
	return 0;
}

static int clone_tree(struct clone *clone, int from, int to);

static int clone_entry(void *ctx, int from, const char *name)
{
	struct clone *clone = ctx;
	int below, made = -1, rc = 0;
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : clone_fail(clone, name);
	if (S_ISREG(st.st_mode) && clone->to < 0)
		clone->total += clone_size(&st);
	if (S_ISREG(st.st_mode))
		return clone->to < 0 ? 0 : clone_file(clone, from, name);
	if (!S_ISDIR(st.st_mode))
		return 0;
	below = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return clone_fail(clone, name);
	if (clone->to >= 0)
		rc = clone_directory(clone, clone->to, name, &made);
	if (rc == 0)
		rc = clone_tree(clone, below, made);
	if (made >= 0)
		close(made);
	close(below);
	return rc;
}

/* All that is in the directory that from is open on. to -1: counts only. */
static int clone_tree(struct clone *clone, int from, int to)
{
	struct wcs_fault *fault = clone->request->fault;
	int outer = clone->to, rc;

	fault->text[0] = '\0';
	clone->to = to;
	rc = directory_each(from, clone_entry, clone);
	clone->to = outer;
	if (rc != 0 && fault->text[0] == '\0') {
		errno = -rc;
		return clone_fail(clone, "");
	}
	if (rc == 0 && to >= 0 && fsync(to) != 0)
		rc = clone_fail(clone, "");
	return rc;
}

static int clone_sync_place(struct clone *clone)
{
	int parent = openat(clone->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (fsync(clone->dir) != 0 || (parent >= 0 && fsync(parent) != 0))
		rc = clone_fail(clone, "");
	if (parent >= 0)
		close(parent);
	return rc;
}

int directory_clone(const struct directory_clone *request, int from, const char *name)
{
	struct clone clone = {.request = request, .to = -1};
	int to = -1, rc;

	if (mkdir(request->path, 0700) != 0 && errno != EEXIST)
		return clone_fail(&clone, "");
	clone.dir = open(request->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (clone.dir < 0)
		return clone_fail(&clone, "");
	rc = clone_tree(&clone, from, -1);
	if (rc == 0)
		rc = clone_directory(&clone, clone.dir, name, &to);
	if (rc == 0)
		rc = clone_tree(&clone, from, to);
	if (rc == 0)
		rc = clone_sync_place(&clone);
	if (to >= 0)
		close(to);
	if (rc != 0 && to >= 0)
		directory_remove(clone.dir, name);
	close(clone.dir);
	free(clone.buffer);
	return rc;
}
