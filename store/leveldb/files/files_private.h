/* SPDX-License-Identifier: MIT */
/* What those who look at LevelDB's files share; one thread at a time. */
#ifndef WCS_LEVELDB_FILES_PRIVATE_H
#define WCS_LEVELDB_FILES_PRIVATE_H

#include "store/leveldb/files/files.h"

/* Adds what is wrong with a file. 0 or -ENOMEM. */
int ldb_files_add(struct ldb_files *files, enum ldb_file_kind kind, uint64_t number,
		  const char *name, bool missing, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* So many bytes more were read. What the caller's `progress` returns. */
int ldb_files_progress(struct ldb_files *files, uint64_t bytes);

/* Looks at a table. known: as the MANIFEST has it; NULL: it does not. 0, also where it is damaged,
 * or an error that ends the look. */
int ldb_files_table(struct ldb_files *files, uint64_t number,
		    const struct ldb_manifest_table *known);
/* Looks at one that the MANIFEST does not name. Is it good, it may be one that stands under a wrong
 * name; it is no fault that it is there, nor that it is damaged: a merge may have been writing it.
 */
int ldb_files_unnamed(struct ldb_files *files, uint64_t number);
/* Frees what is known of such. */
void ldb_files_forget(struct ldb_files *files);

/* ---- files_names.c ---- */
/* Is it another than the one that the MANIFEST means by that number? */
bool ldb_files_is_another(const struct ldb_files *files, const struct ldb_files_table *found,
			  const struct ldb_manifest_table *known);

#endif
