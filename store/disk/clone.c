/* SPDX-License-Identifier: MIT */
/*
 * Clones a directory. Links stand for files that never change; where the filesystem or the kernel
 * refuses a link, and for all other files, there are copies. Holes stay holes. Symbolic
 * links are neither followed nor copied.
 */
#include "store/disk/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/disk/directory.h"

enum { CLONE_PIECE = 1 << 16, CLONE_PAGE = 4096 };

struct clone {
	const struct directory_clone *request;
	int to;	       /* the present directory of the clone */
	uint64_t done; /* bytes that were copied */
	char buffer[CLONE_PIECE];
};

static int clone_fail(struct clone *clone, const char *name)
{
	int error = errno ? errno : EIO;

	return wcs_fault_set(clone->request->fault, directory_error(error), "%s%s%s: %s",
			     directory_name(clone->request->path), *name ? "/" : "", name,
			     strerror(error));
}

/* Bytes that a failing disk cannot read become zeros. */
static int clone_bytes(struct clone *clone, const char *name, int from, int to, off_t size)
{
	const struct directory_clone *request = clone->request;
	ssize_t got = 0;

	for (off_t at = 0;; at += got) {
		at = (off_t)directory_data(from, (uint64_t)at);
		if (at >= size)
			break;
		got = pread(from, clone->buffer, CLONE_PIECE, at);
		if (got < 0 && errno == EIO) {
			memset(clone->buffer, 0, CLONE_PAGE);
			got = CLONE_PAGE;
		}
		if (got >= 0) /* of a short write, or of a file that became shorter */
			errno = got > 0 ? ENOSPC : EIO;
		if (got <= 0 || pwrite(to, clone->buffer, (size_t)got, at) != got)
			return clone_fail(clone, name);
		clone->done += (uint64_t)got;
		if (request->go_on && !request->go_on(request->ctx, clone->done))
			return -ECANCELED;
	}
	return ftruncate(to, size) == 0 && fsync(to) == 0 ? 0 : clone_fail(clone, name);
}

/* Makes a link for a file that never changes. False: it must be copied. */
static bool clone_link(const struct clone *clone, int from, const char *name)
{
	const struct directory_clone *request = clone->request;
	char path[PATH_MAX];

	if (!request->fixed || !request->fixed(name))
		return false;
	if (!request->links)
		return linkat(from, name, clone->to, name, 0) == 0;
	return snprintf(path, sizeof(path), "%s/%s", request->links, name) < PATH_MAX &&
	       symlinkat(path, clone->to, name) == 0;
}

static int clone_entry(void *ctx, int from, const char *name);

/* Copies all that is in the directory that from is open on to a new one. */
static int clone_directory(struct clone *clone, int from, const char *name)
{
	struct wcs_fault *fault = clone->request->fault;
	int outer = clone->to, rc;

	if (mkdirat(outer, name, 0700) != 0)
		return clone_fail(clone, name);
	clone->to = openat(outer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (clone->to < 0) {
		rc = clone_fail(clone, name);
	} else {
		fault->text[0] = '\0';
		rc = directory_each(from, clone_entry, clone);
		errno = -rc;
		if ((rc != 0 && fault->text[0] == '\0') || (rc == 0 && fsync(clone->to) != 0))
			rc = clone_fail(clone, name);
		close(clone->to);
	}
	clone->to = outer;
	return rc;
}

static int clone_entry(void *ctx, int from, const char *name)
{
	struct clone *clone = ctx;
	int source, made, rc;
	struct stat st;

	if (strcmp(name, DIRECTORY_ANEW) == 0)
		return 0;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISDIR(st.st_mode))
		return 0;
	source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (source < 0 || fstat(source, &st) != 0) {
		rc = clone_fail(clone, name);
	} else if (S_ISDIR(st.st_mode)) {
		rc = clone_directory(clone, source, name);
	} else if (clone_link(clone, from, name)) {
		rc = 0;
	} else {
		made = openat(clone->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			      0600);
		rc = made < 0 ? clone_fail(clone, name)
			      : clone_bytes(clone, name, source, made, st.st_size);
		if (made >= 0)
			close(made);
	}
	if (source >= 0)
		close(source);
	return rc;
}

int directory_clone(const struct directory_clone *request, int from, const char *name)
{
	struct clone clone = {.request = request, .to = -1};
	int parent = -1, rc;

	if (mkdir(request->path, 0700) == 0 || errno == EEXIST)
		clone.to = open(request->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (clone.to < 0)
		return clone_fail(&clone, "");
	rc = clone_directory(&clone, from, name);
	if (rc == 0) {
		parent = openat(clone.to, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fsync(clone.to) != 0 || (parent >= 0 && fsync(parent) != 0))
			rc = clone_fail(&clone, "");
	}
	if (rc != 0 && rc != -EEXIST)
		directory_remove(clone.to, name);
	if (parent >= 0)
		close(parent);
	close(clone.to);
	return rc;
}
