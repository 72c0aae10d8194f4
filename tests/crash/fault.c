/* SPDX-License-Identifier: MIT */
/*
 * The calls that write, with faults: see fault.h. Counted are write, pwrite, fdatasync, fsync,
 * ftruncate, rename, unlink, link, mkdir, and open where it may make a file, also those of them
 * that take a directory.
 *
 * - A write that fails has written half of its bytes, as a disk that becomes full does.
 * - A sync that does not fail is left out: the tests check the files as the process sees them, and
 *   that is fast.
 */
#undef _FORTIFY_SOURCE /* its inline functions have the names of these */

#include "tests/crash/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static struct fault fault_own;
static struct fault *fault_shared;

struct fault *fault_control(void)
{
	return fault_shared ? fault_shared : &fault_own;
}

__attribute__((constructor)) static void fault_begin(void)
{
	const char *path = getenv("ROWFS_FAULT");
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(struct fault), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (map != MAP_FAILED)
		fault_shared = map;
	syscall(SYS_close, fd);
}

static bool fault_is_file_below(int fd);

static bool fault_is_below(const char *path)
{
	const char *below = fault_control()->below;
	size_t len = strlen(below);
	int fd;

	if (sscanf(path, "/proc/self/fd/%d/", &fd) == 1) /* as LevelDB names its files */
		return fault_is_file_below(fd);
	return len > 0 && strncmp(path, below, len) == 0 && (path[len] == '/' || path[len] == 0);
}

static bool fault_is_file_below(int fd)
{
	char link[64], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = 0;
	return fault_is_below(path);
}

/* Counts a call. Does it fail? Then errno says how. */
static bool fault_hits(bool counts)
{
	struct fault *fault = fault_control();
	uint64_t number, at;

	if (!counts)
		return false;
	number = atomic_fetch_add(&fault->count, 1) + 1;
	at = atomic_load(&fault->at);
	if (at == 0 || number < at || (number > at && !atomic_load(&fault->stays)))
		return false;
	atomic_fetch_add(&fault->fired, 1);
	errno = (int)atomic_load(&fault->error);
	if (errno == 0)
		raise(SIGKILL);
	return true;
}

static bool fault_hits_fd(int fd)
{
	int before = errno;
	bool counts = fault_is_file_below(fd);

	errno = before;
	return fault_hits(counts);
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (fault_hits_fd(fd)) {
		int error = errno;

		syscall(SYS_write, fd, data, len / 2);
		errno = error;
		return -1;
	}
	return syscall(SYS_write, fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	return fault_hits_fd(fd) ? -1 : syscall(SYS_pwrite64, fd, data, len, offset);
}

int ftruncate(int fd, off_t len)
{
	return fault_hits_fd(fd) ? -1 : (int)syscall(SYS_ftruncate, fd, len);
}

int fdatasync(int fd)
{
	return fault_hits_fd(fd) ? -1 : 0;
}

int fsync(int fd)
{
	return fault_hits_fd(fd) ? -1 : 0;
}

static bool fault_hits_at(int dir, const char *path)
{
	if (dir == AT_FDCWD || path[0] == '/')
		return fault_hits(fault_is_below(path));
	return fault_hits_fd(dir);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (fault_hits_at(from_dir, from))
		return -1;
	if (flags == 0) /* as the C library, since rowfs may make no other */
		return (int)syscall(SYS_renameat, from_dir, from, to_dir, to);
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return renameat2(from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
	return fault_hits_at(dir, path) ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (fault_hits_at(to_dir, to))
		return -1;
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	return fault_hits_at(dir, path) ? -1 : (int)syscall(SYS_mkdirat, dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

static int fault_open(int dir, const char *path, int flags, va_list args)
{
	mode_t mode = 0;

	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		mode = va_arg(args, mode_t);
		if (fault_hits_at(dir, path))
			return -1;
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = fault_open(AT_FDCWD, path, flags, args);
	va_end(args);
	return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = fault_open(dir, path, flags, args);
	va_end(args);
	return fd;
}
