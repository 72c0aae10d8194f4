/* SPDX-License-Identifier: MIT */
/* LevelDB's files by their names, and reading and writing any of them. Any thread. */
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

/* Files of the engine's own: compaction/space.c. */
#define LDB_FILE_DEAD	  "DEAD"
#define LDB_FILE_DEAD_NEW "DEAD.new" /* being written */

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
/* Can a log or table have this number? LevelDB aborts at any other. */
static inline bool ldb_file_is_number(uint64_t number)
{
	return number > 0 && number <= LDB_NUMBER_MAX;
}
/* The name of a MANIFEST, log or table. */
void ldb_file_name(char name[LDB_FILE_NAME_MAX], enum ldb_file_kind kind, uint64_t number);

/* The errno of a call that created or wrote a file: -ENOSPC, a limit (-EFBIG, -EMFILE, -ENFILE),
 * -EROFS, else -EIO. Below, "-ENOSPC, -EIO" stands for these. */
int ldb_file_errno(void);
/* Reads len bytes at offset; *got: fewer at the end of the file. -EIO. */
int ldb_file_read(int fd, void *to, size_t len, uint64_t offset, size_t *got);
/* Writes at *at and advances it. -ENOSPC, -EIO. */
int ldb_file_write(int fd, const void *data, size_t len, uint64_t *at);
/* Copies the bytes from start to end to an empty file; holes stay holes. -ENOSPC, -EIO: the source
 * ends before `end`, too. */
int ldb_file_copy(int from, uint64_t start, uint64_t end, int to);
/* Replaces a file's contents durably in one step, by renaming `temporary`, which may be left by a
 * crash. -ENOSPC, -EIO: the old file is still there. */
int ldb_file_replace(int dir, const char *temporary, const char *name, const void *data,
		     size_t len);

#endif
