/* SPDX-License-Identifier: MIT */
/*
 * A check of a LevelDB store, private to fsck*.c. One thread.
 *
 * Unless it says otherwise, a function returns 0 or an errno of store.h, for which the fault of the
 * check has the text, but for -ENOMEM. Findings are no errors.
 */
#ifndef WCS_LEVELDB_FSCK_KEYS_H
#define WCS_LEVELDB_FSCK_KEYS_H

#include "store/fsck/fsck.h"
#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/files/copy.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/manifest.h"
#include "store/leveldb/formats/tablefile.h"

struct ldb_fsck_table {
	uint32_t id;
	struct wcs_table_schema schema;
};

/* A range of keys of which a damaged file may have lost some. An empty key: it is open there. */
struct ldb_fsck_lost {
	struct ldb_buffer from, to;
	char name[LDB_FILE_NAME_MAX];
};

/* Where the cell of a large value is. Stored in the index only. */
enum ldb_fsck_ref {
	LDB_REF_CELL = 0, /* in the store */
	LDB_REF_LOST = 1, /* the same, of a lost family: it goes to the quarantine */
	LDB_REF_RAW = 2,  /* in the quarantine, without its value */
};

struct ldb_fsck {
	struct wcs_fsck *fsck;
	const char *store; /* path of its directory */
	int dir;	   /* that, open */
	char *data;	   /* path of LevelDB's files */
	bool unreadable;   /* files are damaged and not repaired: keys are not checked */
	char *scratch;	   /* path of the temporary directory; NULL: none */
	int view;	   /* a directory in it, while it is filled */
	struct ldb *db;	   /* the store, or the view of it in scratch */
	struct ldb *index; /* the large values by id, in scratch */
	leveldb_readoptions_t *read;
	leveldb_writebatch_t *batch;
	size_t batched;	  /* bytes of it, about */
	uint64_t looked;  /* keys read */
	uint64_t refs;	  /* entries of the index */
	uint64_t pending; /* deleted values whose space a mount reclaims */
	bool unfinished;  /* there are drops to finish */
	size_t table_count, table_room;
	struct ldb_fsck_table *tables;	 /* by id */
	uint32_t next_table, last_table; /* the counter, 0: none; the largest id */
	uint64_t next_value, last_value; /* the same of values */
	struct ldb_copy copy;		 /* of the descriptions */
	size_t copy_at;			 /* behind those that were compared */
	bool copy_wins;			 /* the damage may have taken newer descriptions */
	size_t lost_count, lost_room;
	struct ldb_fsck_lost *lost;
	char place[1024];
};

/* Discards LevelDB's log messages. */
extern const struct wcs_options ldb_fsck_options;

/* ---- fsck_scratch.c ---- */
/* Makes the temporary directory; view: with a view of the store's files. */
int ldb_fsck_scratch(struct ldb_fsck *f, bool view);
/* The path of a name in it. The caller frees it; NULL: no memory. */
char *ldb_fsck_scratch_path(const struct ldb_fsck *f, const char *name);
void ldb_fsck_scratch_remove(struct ldb_fsck *f);
/* Makes the index in it. */
int ldb_fsck_index(struct ldb_fsck *f);
/* Adds a value to the index. cell: the key of its cell. */
int ldb_fsck_refer(struct ldb_fsck *f, uint64_t id, enum ldb_fsck_ref ref, uint64_t size,
		   struct wcs_slice cell);
struct ldb_fsck_entry {
	uint64_t id;
	enum ldb_fsck_ref ref;
	uint64_t size;
	struct wcs_slice cell; /* its key; valid until the iterator moves */
};
/* Reads the entry under the iterator. False: there is none. */
bool ldb_fsck_ref_get(leveldb_iterator_t *iter, struct ldb_fsck_entry *entry);

/* ---- fsck_files.c ---- */
/* Checks the files, and repairs them where that is agreed to. */
int ldb_fsck_files(struct ldb_fsck *f);
/* May the store be rebuilt? Asks once. */
bool ldb_fsck_may_rebuild(struct ldb_fsck *f);

/* ---- fsck_salvage.c ---- */
/* The readable part of a table, as another one. All zero but for the first members. The writer
 * holds the keys of `by`; the caller frees it. */
struct ldb_fsck_salvage {
	struct ldb_fsck *f;			/* is told of lost ranges */
	const struct ldb_manifest_table *known; /* the damaged one; NULL: not known */
	int dir;				/* of the new table */
	const char *name;			/* of the new table, which must not exist */
	struct ldb_manifest_table *by; /* the new table: its number is given; size 0: it is empty */
	struct ldb_tablefile_writer writer;
	uint64_t entries;
	uint64_t damages; /* blocks that cannot be read */
	bool damaged;	  /* since the last entry */
	bool lost;	  /* some entries */
	int rc;
};
int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size);
/* Writes the good records of a log to another, durably, and adds their number. Skips those whose
 * sequence number cannot be where it stands, or is above half of LDB_NUMBER_MAX, which leaves too
 * few for later ones. */
int ldb_fsck_salvage_log(int from, int to, uint64_t *records);

/* ---- fsck_lost.c ---- */
/* Notes that keys between these two internal ones may be lost. -ENOMEM. */
int ldb_fsck_lose(struct ldb_fsck *f, const char *name, struct wcs_slice from, struct wcs_slice to);
/* After ldb_fsck_tables: reports the rows in these ranges. */
void ldb_fsck_tell_lost(struct ldb_fsck *f);
void ldb_fsck_lost_free(struct ldb_fsck *f);

/* ---- fsck_rebuild.c ---- */
/* Copies the store to the quarantine, and rebuilds it from all its tables and logs. */
int ldb_fsck_rebuild(struct ldb_fsck *f);

/* ---- fsck_tables.c, fsck_cells.c, fsck_values.c: a key space each ---- */
int ldb_fsck_tables(struct ldb_fsck *f);
/* Checks the counters, after all that they count. */
int ldb_fsck_counters(struct ldb_fsck *f);
int ldb_fsck_cells(struct ldb_fsck *f);
int ldb_fsck_values(struct ldb_fsck *f);
/* Writes bytes as text, and cuts long ones. */
void ldb_fsck_print(char *to, size_t room, const struct wcs_keys *keys, struct wcs_slice bytes);
/* The place of a cell as text, in f->place. */
const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key,
				const struct ldb_key_parts *parts);
/* Copies a cell to the quarantine as a row. 1: its value cannot be read. */
int ldb_fsck_keep_cell(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_key_parts *parts,
		       const struct ldb_cell *cell);

/* ---- fsck_keys.c: shared by the passes ---- */
/* Calls each, with the check, for all names in the directory; fills the fault if each did not. */
int ldb_fsck_each_name(struct ldb_fsck *f, int dir, const char *path,
		       int (*each)(void *ctx, int dir, const char *name));
/* May keys be corrected? Asks once. */
bool ldb_fsck_may(struct ldb_fsck *f);
leveldb_iterator_t *ldb_fsck_iterate(struct ldb_fsck *f);
/* Destroys the iterator. Returns rc, or if that is 0 the error that the iterator met. */
int ldb_fsck_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int rc);
/* Counts a key, and reports the progress now and then. */
int ldb_fsck_looked(struct ldb_fsck *f, const char *what);
struct wcs_slice ldb_fsck_key(leveldb_iterator_t *iter);
struct wcs_slice ldb_fsck_value(leveldb_iterator_t *iter);
/* Calls each for all keys that start with the byte space. what: for the progress. */
typedef int ldb_fsck_each(void *ctx, struct wcs_slice key, struct wcs_slice value);
int ldb_fsck_pass(struct ldb_fsck *f, char space, const char *what, ldb_fsck_each *each, void *ctx);
/* A key in hexadecimal, in f->place. */
const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key);
/* NULL: no description has that id. */
const struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id);
bool ldb_fsck_has_name(const struct ldb_fsck *f, const char *name);
/* The table's name; if it lost its own, one that no other has. */
void ldb_fsck_table_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1]);
/* NULL: the table has no family of that name. */
const struct wcs_family *ldb_fsck_family(const struct ldb_fsck_table *table, const char *name);
/* Reports a key, and moves it to the quarantine where that is agreed to. */
int ldb_fsck_take(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *place,
		  struct wcs_slice key, struct wcs_slice value);
/* Changes of the store. They are written in batches, after the quarantine was synced. */
int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key);
/* Copies the key to the quarantine, and deletes it. */
int ldb_fsck_move(struct ldb_fsck *f, const char *why, struct wcs_slice key,
		  struct wcs_slice value);
int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value);
int ldb_fsck_flush(struct ldb_fsck *f);
/* Checks unfinished drops, and keys of no key space. */
int ldb_fsck_drops(struct ldb_fsck *f);
int ldb_fsck_others(struct ldb_fsck *f);

#define LDB_FSCK_REBUILT "rebuilt from all tables and logs"
#define LDB_FSCK_RAW	 "taken to the quarantine, raw.json"
#define LDB_FSCK_ROWS	 "taken to the quarantine, rows.json"

#endif
