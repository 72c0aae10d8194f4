/* SPDX-License-Identifier: MIT */
/* LevelDB's files by their names, and functions that all of their readers use. Any thread. */
#ifndef WCS_LEVELDB_FILE_H
#define WCS_LEVELDB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDB_FILE_NAME_MAX 32u /* bytes of a file's name, with its NUL */
/* The highest file number and the highest sequence number that leave room for more. LevelDB
 * continues from the highest that it reads, and aborts above LDB_SEQUENCE_MAX. */
#define LDB_NUMBER_MAX	 ((UINT64_C(1) << 54) - 1)
#define LDB_SEQUENCE_MAX ((UINT64_C(1) << 56) - 1)

/* The kinds of files, by their names. */
enum ldb_file_kind {
	LDB_FILE_OTHER, /* LOCK, LOG, temporary files, and names that LevelDB does not use */
	LDB_FILE_CURRENT,
	LDB_FILE_MANIFEST,
	LDB_FILE_LOG,
	LDB_FILE_TABLE,
};
/* *number is written for MANIFESTs, logs and tables. */
enum ldb_file_kind ldb_file_parse(const char *name, uint64_t *number);
/* Does LevelDB or the engine create files of that name, of any kind? */
bool ldb_file_owns(const char *name);
/* Does a file of that name never change once LevelDB has made it? */
bool ldb_file_is_fixed(const char *name);
/* The name of a MANIFEST, log or table. */
void ldb_file_name(char name[LDB_FILE_NAME_MAX], enum ldb_file_kind kind, uint64_t number);

/* Reads len bytes at offset; *got: fewer at the end of the file. -EIO. */
int ldb_file_read(int fd, void *to, size_t len, uint64_t offset, size_t *got);

/* The damage of a file, as a reader finds it that goes on behind it. All zero: none. */
struct ldb_damage {
	uint64_t count;
	uint64_t at; /* offset of the first */
	const char *what;
};
static inline void ldb_damage_note(struct ldb_damage *damage, uint64_t at, const char *what)
{
	if (damage->count++ > 0)
		return;
	damage->at = at;
	damage->what = what;
}
/* The words of a fault: where, and what. */
void ldb_damage_say(const struct ldb_damage *damage, char *to, size_t room);

#endif
