/* SPDX-License-Identifier: MIT */
/* Files of LevelDB's: what their names mean, and what any kind is opened and written with. */
#include "store/leveldb/formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	if (file_number(name, ".ldb", number) || file_number(name, ".sst", number))
		return LDB_FILE_TABLE;
	return LDB_FILE_OTHER;
}

bool ldb_file_owns(const char *name)
{
	uint64_t number;

	return ldb_file_parse(name, &number) != LDB_FILE_OTHER || strcmp(name, "LOCK") == 0 ||
	       strcmp(name, "LOG") == 0 || strcmp(name, "LOG.old") == 0 ||
	       strcmp(name, LDB_FILE_DEAD) == 0 || strcmp(name, LDB_FILE_DEAD_NEW) == 0 ||
	       file_number(name, ".dbtmp", &number);
}

void ldb_file_name(char name[LDB_FILE_NAME_MAX], enum ldb_file_kind kind, uint64_t number)
{
	if (kind == LDB_FILE_MANIFEST)
		snprintf(name, LDB_FILE_NAME_MAX, "MANIFEST-%06" PRIu64, number);
	else
		snprintf(name, LDB_FILE_NAME_MAX, "%06" PRIu64 ".%s", number,
			 kind == LDB_FILE_LOG ? "log" : "ldb");
}

int ldb_file_open_table(int dir, uint64_t number, char name[LDB_FILE_NAME_MAX])
{
	char other[LDB_FILE_NAME_MAX];
	int fd;

	ldb_file_name(name, LDB_FILE_TABLE, number);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	snprintf(other, sizeof(other), "%06" PRIu64 ".sst", number); /* of old versions */
	fd = openat(dir, other, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		strcpy(name, other);
	return fd;
}

int ldb_file_errno(void)
{
	return errno == ENOSPC || errno == EDQUOT ? -ENOSPC : -EIO;
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
