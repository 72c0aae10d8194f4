/* SPDX-License-Identifier: MIT */
/* Files of LevelDB's: what their names mean, and what any kind is opened and written with. */
#ifndef WCS_LEVELDB_FILE_H
#define WCS_LEVELDB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDB_FILE_NAME_MAX 32u /* bytes of a file's name, with its NUL */
/* The highest number of a file, and of a change (its sequence number). LevelDB counts on from the
 * highest that it reads, and ends the process above 2^56 - 1. */
#define LDB_NUMBER_MAX	   (UINT64_C(1) << 55)
#define LDB_FILE_TEMPORARY "000000.dbtmp" /* LevelDB removes one that is left */

/* The engine's own: space.c. */
#define LDB_FILE_DEAD	  "DEAD"
#define LDB_FILE_DEAD_NEW "DEAD.new" /* one being made */

/* The kinds of files, by their names. */
enum ldb_file_kind {
	LDB_FILE_OTHER, /* of no interest: LOCK, LOG and what is no file of LevelDB's */
	LDB_FILE_CURRENT,
	LDB_FILE_MANIFEST,
	LDB_FILE_LOG,
	LDB_FILE_TABLE,
};
enum ldb_file_kind ldb_file_parse(const char *name, uint64_t *number);
/* Is that the name of a file that LevelDB or the engine makes, of whatever kind? */
bool ldb_file_owns(const char *name);
/* Can a log or table have this number? LevelDB ends the process where one has another. */
static inline bool ldb_file_is_number(uint64_t number)
{
	return number > 0 && number <= LDB_NUMBER_MAX;
}
void ldb_file_name(char name[LDB_FILE_NAME_MAX], enum ldb_file_kind kind, uint64_t number);
/* Opens a table, under either of the names that it can have. -1: errno. */
int ldb_file_open_table(int dir, uint64_t number, char name[LDB_FILE_NAME_MAX]);

/* -ENOSPC, or else -EIO, for the errno of what made or wrote a file. */
int ldb_file_errno(void);
/* Writes at *at, which it moves. -ENOSPC, -EIO. */
int ldb_file_write(int fd, const void *data, size_t len, uint64_t *at);

#endif
