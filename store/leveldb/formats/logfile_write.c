/* SPDX-License-Identifier: MIT */
/* Logs and MANIFESTs written: see logfile.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/logfile_private.h"

/* Where zeros begin that go to the end of the file; at least end. */
static int logfile_write_zeros_from(int fd, uint64_t end, uint64_t *from)
{
	unsigned char data[4096];
	uint64_t at = directory_data(fd, end);
	ssize_t got;

	*from = end;
	while ((got = pread(fd, data, sizeof(data), (off_t)at)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != 0)
				*from = at + (uint64_t)i + 1;
		at = directory_data(fd, at + (uint64_t)got);
	}
	return 0;
}

static int logfile_write_copy(int from, int to, uint64_t start, uint64_t end)
{
	unsigned char data[4096];
	int err = 0;

	for (uint64_t at = directory_data(from, start); !err && at < end;) {
		size_t some = end - at < sizeof(data) ? (size_t)(end - at) : sizeof(data);
		ssize_t got = pread(from, data, some, (off_t)at);
		uint64_t put = at - start;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		err = ldb_file_write(to, data, (size_t)got, &put);
		at = directory_data(from, at + (uint64_t)got);
	}
	return !err && (ftruncate(to, (off_t)(end - start)) || fsync(to)) ? -EIO : err;
}

/* Bytes from at to end of the log, beside its directory, durably. The same bytes once more where a
 * crash came between this and the cut. */
static int logfile_write_keep(int dir, int log, const char *name, uint64_t at, uint64_t end)
{
	int beside = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char kept[64];
	int fd = -1, err = beside < 0 ? -EIO : 0;

	snprintf(kept, sizeof(kept), DIRECTORY_TORN "%s-%" PRIu64, name, at);
	if (!err)
		fd = openat(beside, kept, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	if (!err && fd < 0)
		err = ldb_file_errno();
	if (!err)
		err = logfile_write_copy(log, fd, at, end);
	if (!err && fsync(beside))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (beside >= 0)
		close(beside);
	return err;
}

int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	uint64_t zeros = end;
	int err = fd < 0 ? -EIO : logfile_write_zeros_from(fd, end, &zeros);

	if (!err && zeros > end)
		err = logfile_write_keep(dir, fd, name, end, zeros);
	if (!err && (ftruncate(fd, (off_t)end) || fsync(fd)))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (!err)
		*kept = zeros - end;
	return err;
}

int ldb_logfile_append(int fd, uint64_t *at, const void *data, size_t len)
{
	static const unsigned char zeros[LDB_LOGFILE_HEAD];
	unsigned char piece[LDB_LOGFILE_BLOCK];
	const unsigned char *from = data;
	bool first = true, last;
	int err = 0;

	do {
		size_t left = LDB_LOGFILE_BLOCK - (size_t)(*at % LDB_LOGFILE_BLOCK), some;

		if (left < LDB_LOGFILE_HEAD) {
			err = ldb_file_write(fd, zeros, left, at);
			left = LDB_LOGFILE_BLOCK;
		}
		some = len < left - LDB_LOGFILE_HEAD ? len : left - LDB_LOGFILE_HEAD;
		last = some == len;
		piece[4] = (unsigned char)some;
		piece[5] = (unsigned char)(some >> 8);
		piece[6] = first ? (last ? LDB_LOGFILE_FULL : LDB_LOGFILE_FIRST)
				 : (last ? LDB_LOGFILE_LAST : LDB_LOGFILE_MIDDLE);
		if (some > 0)
			memcpy(piece + LDB_LOGFILE_HEAD, from, some);
		ldb_put32le(piece, ldb_logfile_crc(piece, some));
		if (!err)
			err = ldb_file_write(fd, piece, LDB_LOGFILE_HEAD + some, at);
		from += some;
		len -= some;
		first = false;
	} while (!err && !last);
	return err;
}
