/* SPDX-License-Identifier: MIT */
/* Which of LevelDB's files are in use: what CURRENT and the MANIFEST that it names say. */
#ifndef WCS_LEVELDB_MANIFEST_H
#define WCS_LEVELDB_MANIFEST_H

#include "store/leveldb/formats/file.h"
#include "store/store.h"

#define LDB_MANIFEST_LEVELS 7u

/* A table that is in use. */
struct ldb_manifest_table {
	uint64_t number;
	uint64_t size;
	unsigned int level;
	struct wcs_slice smallest, largest; /* internal keys; freed with the manifest */
};

struct ldb_manifest {
	char name[LDB_FILE_NAME_MAX];
	uint64_t end;	     /* of its last whole record */
	bool torn;	     /* behind that it is what LevelDB takes for damage (logfile.h) */
	uint64_t log_number; /* logs from this one on are in use; 0: of a repaired store */
	uint64_t previous_log;
	uint64_t next_file;
	uint64_t sequence; /* the last one */
	size_t count, room;
	struct ldb_manifest_table *tables; /* by number */
	size_t gone_count, gone_room;
	uint64_t *gone; /* numbers of tables that edits took out */
};

/* dir: of LevelDB's files. -EIO: what CURRENT says has not its form. */
int ldb_manifest_current(int dir, char name[LDB_FILE_NAME_MAX], struct wcs_fault *fault);
/* Reads the MANIFEST of that name. -EIO: it is damaged or missing, or its tables overlap where they
 * must not; fault says what is wrong. */
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

/* What an item of an edit is. */
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
#define LDB_MANIFEST_COMPARATOR "leveldb.BytewiseComparator"

/* Adds a table, of which it copies the keys. -ENOMEM. */
int ldb_manifest_add(struct ldb_manifest *manifest, const struct ldb_manifest_table *table);
/* Was a table of that number in use, ever since the MANIFEST was begun? LevelDB takes both for in
 * use if it becomes another's. */
bool ldb_manifest_named(const struct ldb_manifest *manifest, uint64_t number);
/* Takes it out, if it is there on that level. -ENOMEM. */
int ldb_manifest_delete(struct ldb_manifest *manifest, uint64_t number, unsigned int level);

/* Can LevelDB work with these numbers, and with these keys of tables (see manifest.c)? -EIO: fault
 * says why not. -ENOMEM. */
int ldb_manifest_check(const struct ldb_manifest *manifest, struct wcs_fault *fault);
/* Would a table with these keys overlap another than `number` on that level, as above? */
bool ldb_manifest_overlaps(const struct ldb_manifest *manifest, unsigned int level, uint64_t number,
			   const struct ldb_manifest_table *table);

/* ---- manifest_write.c ---- */
/* Puts the table `by` in the place of another, durably; NULL: just takes the other out. The file of
 * `by` is there already, with a number that no other has; its keys are not the manifest's. -EIO,
 * too, where it would overlap. */
int ldb_manifest_replace(int dir, struct ldb_manifest *manifest, uint64_t number,
			 const struct ldb_manifest_table *by);
/* Makes the file of its name, which must not exist, durable but for that name. -EIO, too, where
 * its tables overlap. */
int ldb_manifest_write(int dir, const struct ldb_manifest *manifest);
/* Makes CURRENT name that MANIFEST, durably. */
int ldb_manifest_set_current(int dir, const char *name);

#endif
