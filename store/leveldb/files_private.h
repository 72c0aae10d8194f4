/* SPDX-License-Identifier: MIT */
/* What those who look at LevelDB's files share; one thread at a time. */
#ifndef WCS_LEVELDB_FILES_PRIVATE_H
#define WCS_LEVELDB_FILES_PRIVATE_H

#include "files.h"

/* Adds what is wrong with a file. 0 or -ENOMEM. */
int ldb_files_add(struct ldb_files *files, enum ldb_file_kind kind, uint64_t number,
		  const char *name, bool missing, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* So many bytes more were read. What the caller's `progress` returns. */
int ldb_files_progress(struct ldb_files *files, uint64_t bytes);

/* Looks at a table. expected: its size as the MANIFEST has it; 0: not known. 0, also where it is
 * damaged, or an error that ends the look. */
int ldb_files_table(struct ldb_files *files, uint64_t number, uint64_t expected);

#endif
