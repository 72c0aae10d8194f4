/* SPDX-License-Identifier: MIT */
/* Appends records to logs and MANIFESTs, and cuts torn ones. */
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

int ldb_logfile_zeros(int fd, uint64_t at, bool first, uint64_t *from)
{
	unsigned char data[4096];
	uint64_t start = at, end = at;
	size_t got = 1;

	while (got > 0 && (!first || end == start)) {
		int rc;

		at = directory_data(fd, at);
		rc = ldb_file_read(fd, data, sizeof(data), at, &got);
		if (rc)
			return rc;
		for (size_t i = 0; i < got; i++)
			if (data[i] != 0)
				end = at + i + 1;
		at += got;
	}
	*from = end;
	return 0;
}

int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC), beside = -1, to = -1;
	char torn[64];
	uint64_t zeros = end;
	int rc = fd < 0 ? -EIO : ldb_logfile_zeros(fd, end, false, &zeros);

	if (!rc && zeros > end) { /* after a crash before the cut, once more */
		snprintf(torn, sizeof(torn), DIRECTORY_TORN "%s-%" PRIu64, name, end);
		beside = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (beside >= 0)
			to = openat(beside, torn,
				    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		rc = to < 0 ? ldb_file_errno() : ldb_file_copy(fd, end, zeros, to);
		if (!rc && (fsync(to) || fsync(beside)))
			rc = -EIO;
	}
	if (!rc && (ftruncate(fd, (off_t)end) || fsync(fd)))
		rc = -EIO;
	if (to >= 0)
		close(to);
	if (beside >= 0)
		close(beside);
	if (fd >= 0)
		close(fd);
	if (!rc)
		*kept = zeros - end;
	return rc;
}

int ldb_logfile_append(int fd, uint64_t *at, const void *data, size_t len)
{
	static const unsigned char zeros[LDB_LOGFILE_HEAD];
	unsigned char piece[LDB_LOGFILE_BLOCK];
	const unsigned char *from = data;
	bool first = true, last;
	int rc = 0;

	do {
		size_t left = LDB_LOGFILE_BLOCK - (size_t)(*at % LDB_LOGFILE_BLOCK), some;

		if (left < LDB_LOGFILE_HEAD) {
			rc = ldb_file_write(fd, zeros, left, at);
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
		if (!rc)
			rc = ldb_file_write(fd, piece, LDB_LOGFILE_HEAD + some, at);
		from += some;
		len -= some;
		first = false;
	} while (!rc && !last);
	return rc;
}
