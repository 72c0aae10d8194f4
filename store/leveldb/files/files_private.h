/* SPDX-License-Identifier: MIT */
/* Private to files*.c. */
#ifndef WCS_LEVELDB_FILES_PRIVATE_H
#define WCS_LEVELDB_FILES_PRIVATE_H

#include "store/leveldb/files/files.h"

/* ---- files.c ---- */
/* Adds a fault. -ENOMEM. */
int ldb_files_add(struct ldb_files *files, enum ldb_file_kind kind, uint64_t number,
		  const char *name, bool missing, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Counts bytes that were read. Returns the result of `progress`. */
int ldb_files_progress(struct ldb_files *files, uint64_t bytes);
/* Checks a log. */
int ldb_files_log(struct ldb_files *files, const char *name, uint64_t number);

/* ---- files_tables.c ---- */
/* Checks a table. known: as the MANIFEST describes it; NULL: it does not. */
int ldb_files_table(struct ldb_files *files, uint64_t number,
		    const struct ldb_manifest_table *known);
/* Reads a table that the MANIFEST does not list, and notes it as misnamed if it is whole. A damaged
 * one is no fault: a compaction may have been writing it. */
int ldb_files_unnamed(struct ldb_files *files, uint64_t number);
/* Is it whole, and the table that the MANIFEST describes? */
bool ldb_files_is(const struct ldb_files_table *found, const struct ldb_manifest_table *known);

#endif
