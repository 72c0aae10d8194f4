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
/* Reads the MANIFEST of that name. -EIO: it is missing or damaged, or LevelDB would abort on it, as
 * ldb_manifest_check says; fault says which. -ENOMEM. The caller frees what is in *manifest. */
int ldb_manifest_read(int dir, const char *name, struct ldb_manifest *manifest,
		      struct wcs_fault *fault);
void ldb_manifest_free(struct ldb_manifest *manifest);

/* NULL: that table is not in use. */
const struct ldb_manifest_table *ldb_manifest_find(const struct ldb_manifest *manifest,
						   uint64_t number);
static inline bool ldb_manifest_log_used(const struct ldb_manifest *manifest, uint64_t number)
{
	return number >= manifest->log_number || number == manifest->previous_log;
}

/* Adds a table, of which it copies the keys. -ENOMEM. */
int ldb_manifest_add(struct ldb_manifest *manifest, const struct ldb_manifest_table *table);
/* Removes the table, if it is on that level. */
void ldb_manifest_delete(struct ldb_manifest *manifest, uint64_t number, unsigned int level);
/* -EIO: LevelDB would abort, since a number is too high, or tables overlap on a level above 0;
 * fault says which. -ENOMEM. */
int ldb_manifest_check(const struct ldb_manifest *manifest, struct wcs_fault *fault);

/* Writes a MANIFEST of the manifest's name durably; CURRENT does not name it yet. -EIO, also where
 * ldb_manifest_check fails; nothing is written then. -ENOSPC, -ENOMEM. */
int ldb_manifest_write(int dir, const struct ldb_manifest *manifest);
/* Makes CURRENT name that MANIFEST, durably. -ENOSPC, -EIO. */
int ldb_manifest_set_current(int dir, const char *name);
/* Puts the table `by` on the level of table `number`, in its place, or removes that one (NULL), and
 * writes a new MANIFEST, which CURRENT names then. `by` may have the same number; its keys are not
 * the manifest's. Errors as of ldb_manifest_write; the files are as they were, the manifest is not.
 */
int ldb_manifest_replace(int dir, struct ldb_manifest *manifest, uint64_t number,
			 const struct ldb_manifest_table *by);

#endif
