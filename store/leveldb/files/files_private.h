/* SPDX-License-Identifier: MIT */
/* Private to files*.c. */
#ifndef WCS_LEVELDB_FILES_PRIVATE_H
#define WCS_LEVELDB_FILES_PRIVATE_H

#include "store/leveldb/files/files.h"

/* Adds a fault. -ENOMEM. */
int ldb_files_add(struct ldb_files *files, enum ldb_file_kind kind, uint64_t number,
		  const char *name, bool missing, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Counts bytes that were read. Returns the result of `progress`. */
int ldb_files_progress(struct ldb_files *files, uint64_t bytes);
/* Checks a log. */
int ldb_files_log(struct ldb_files *files, const char *name, uint64_t number);

#endif
