/* SPDX-License-Identifier: MIT */
/* LevelDB's files by their names, and reading and writing any of them. */
#include "store/leveldb/formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/directory.h"

static bool file_number(const char *text, const char *suffix, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && strcmp(end, suffix) == 0;
}

enum ldb_file_kind ldb_file_parse(const char *name, uint64_t *number)
{
	if (strcmp(name, "CURRENT") == 0)
		return LDB_FILE_CURRENT;
	if (strncmp(name, "MANIFEST-", 9) == 0)
		return file_number(name + 9, "", number) ? LDB_FILE_MANIFEST : LDB_FILE_OTHER;
	if (file_number(name, ".log", number))
		return LDB_FILE_LOG;
	return file_number(name, ".ldb", number) ? LDB_FILE_TABLE : LDB_FILE_OTHER;
}

bool ldb_file_owns(const char *name)
{
	static const char *const names[] = {"LOCK", "LOG", "LOG.old", LDB_FILE_DEAD,
					    LDB_FILE_DEAD_NEW};
	uint64_t number;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return ldb_file_parse(name, &number) != LDB_FILE_OTHER ||
	       file_number(name, ".sst", &number) || file_number(name, ".dbtmp", &number);
}

bool ldb_file_is_fixed(const char *name)
{
	uint64_t number;

	return ldb_file_parse(name, &number) == LDB_FILE_TABLE;
}

void ldb_file_name(char name[LDB_FILE_NAME_MAX], enum ldb_file_kind kind, uint64_t number)
{
	if (kind == LDB_FILE_MANIFEST)
		snprintf(name, LDB_FILE_NAME_MAX, "MANIFEST-%06" PRIu64, number);
	else
		snprintf(name, LDB_FILE_NAME_MAX, "%06" PRIu64 ".%s", number,
			 kind == LDB_FILE_LOG ? "log" : "ldb");
}

int ldb_file_errno(void)
{
	switch (errno) {
	case EFBIG:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EROFS:
		return -errno;
	case EDQUOT:
		return -ENOSPC;
	case EACCES:
	case EPERM:
		return -EACCES;
	default:
		return -EIO;
	}
}

int ldb_file_read(int fd, void *to, size_t len, uint64_t offset, size_t *got)
{
	size_t done = 0;

	while (done < len) {
		ssize_t some = pread(fd, (char *)to + done, len - done, (off_t)(offset + done));

		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			return -EIO;
		if (some == 0)
			break;
		done += (size_t)some;
	}
	*got = done;
	return 0;
}

int ldb_file_write(int fd, const void *data, size_t len, uint64_t *at)
{
	const unsigned char *from = data;

	while (len > 0) {
		ssize_t put = pwrite(fd, from, len, (off_t)*at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return ldb_file_errno();
		from += put;
		len -= (size_t)put;
		*at += (uint64_t)put;
	}
	return 0;
}

int ldb_file_copy(int from, uint64_t start, uint64_t end, int to)
{
	unsigned char data[1 << 16];
	size_t got;
	int rc;

	for (uint64_t at = directory_data(from, start); at < end; at = directory_data(from, at)) {
		size_t len = end - at < sizeof(data) ? (size_t)(end - at) : sizeof(data);
		uint64_t put = at - start;

		rc = ldb_file_read(from, data, len, at, &got);
		if (!rc && got < len)
			rc = -EIO;
		if (!rc)
			rc = ldb_file_write(to, data, len, &put);
		if (rc)
			return rc;
		at += len;
	}
	return ftruncate(to, (off_t)(end - start)) ? ldb_file_errno() : 0;
}

int ldb_file_replace(int dir, const char *temporary, const char *name, const void *data, size_t len)
{
	uint64_t at = 0;
	int fd, rc;

	if (unlinkat(dir, temporary, 0) && errno != ENOENT)
		return ldb_file_errno();
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return ldb_file_errno();
	rc = ldb_file_write(fd, data, len, &at);
	if (!rc && fsync(fd))
		rc = ldb_file_errno();
	close(fd);
	if (!rc && (renameat(dir, temporary, dir, name) || fsync(dir)))
		rc = ldb_file_errno();
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}
