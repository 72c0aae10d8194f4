/* SPDX-License-Identifier: MIT */
/* Which of LevelDB's files are in use: CURRENT, and the MANIFEST that it names. One thread for each
 * struct. */
#ifndef WCS_LEVELDB_MANIFEST_H
#define WCS_LEVELDB_MANIFEST_H

#include "store/leveldb/formats/file.h"
#include "store/store.h"

#define LDB_MANIFEST_LEVELS	7u
#define LDB_MANIFEST_COMPARATOR "leveldb.BytewiseComparator"

/* A table in use. */
struct ldb_manifest_table {
	uint64_t number;
	uint64_t size; /* bytes of the file */
	unsigned int level;
	struct wcs_slice smallest, largest; /* internal keys; freed with the manifest */
};

/* The state of the database: all edits of a MANIFEST together. */
struct ldb_manifest {
	char name[LDB_FILE_NAME_MAX];
	uint64_t end;	     /* of its last whole record */
	bool torn;	     /* behind that are zeros that LevelDB takes for damage (logfile.h) */
	uint64_t zeros_at;   /* where they start */
	uint64_t log_number; /* logs from this one on are in use; 0: LevelDB repaired the store */
	uint64_t previous_log;
	uint64_t next_file;
	uint64_t sequence; /* the last one */
	size_t count, room;
	struct ldb_manifest_table *tables; /* by number */
};

/* The tags of an edit's items. */
enum ldb_manifest_tag {
	LDB_EDIT_COMPARATOR = 1,
	LDB_EDIT_LOG = 2,
	LDB_EDIT_NEXT_FILE = 3,
	LDB_EDIT_SEQUENCE = 4,
	LDB_EDIT_POINTER = 5,
	LDB_EDIT_DELETED = 6,
	LDB_EDIT_NEW = 7,
	LDB_EDIT_PREVIOUS_LOG = 9,
};

/* Reads CURRENT. dir: of LevelDB's files. -EIO: it is missing, or names no MANIFEST that exists;
 * fault says which. */
int ldb_manifest_current(int dir, char name[LDB_FILE_NAME_MAX], struct wcs_fault *fault);
/* Reads the MANIFEST of that name. -EIO: it is missing or damaged, or LevelDB would abort on it,
 * since tables overlap on a level above 0 or a number is too high; fault says which. -ENOMEM. The
 * caller frees what is in *manifest. */
int ldb_manifest_read(int dir, const char *name, struct ldb_manifest *manifest,
		      struct wcs_fault *fault);
void ldb_manifest_free(struct ldb_manifest *manifest);

/* NULL: that table is not in use. */
const struct ldb_manifest_table *ldb_manifest_find(const struct ldb_manifest *manifest,
						   uint64_t number);

#endif
