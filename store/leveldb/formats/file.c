/* SPDX-License-Identifier: MIT */
/* LevelDB's files by their names, and functions that all of their readers use. */
#include "store/leveldb/formats/file.h"

#include <errno.h>
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
	return file_number(name, ".ldb", number) ? LDB_FILE_TABLE : LDB_FILE_OTHER;
}

bool ldb_file_owns(const char *name)
{
	static const char *const names[] = {"LOCK", "LOG", "LOG.old", "DEAD", "DEAD.new"};
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

void ldb_damage_say(const struct ldb_damage *damage, char *to, size_t room)
{
	snprintf(to, room, "at %" PRIu64 ": %s%s", damage->at, damage->what,
		 damage->count > 1 ? ", and more behind it" : "");
}
