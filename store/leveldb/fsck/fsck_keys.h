/* SPDX-License-Identifier: MIT */
/* A check of a LevelDB store under way: shared by the fsck*.c of the engine only. One thread. */
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

/* Keys between two others, which a damaged file has lost. An empty key: from the first one on, to
 * the last. */
struct ldb_fsck_lost {
	struct ldb_buffer from, to;
	char name[LDB_FILE_NAME_MAX];
};

/* Why the chunks of a value are there; on disk in the index only. */
enum ldb_fsck_ref {
	LDB_REF_CELL = 0, /* a cell leads to them */
	LDB_REF_ROW = 1,  /* it went into the quarantine with its value */
	LDB_REF_RAW = 2,  /* it went there without */
};

struct ldb_fsck {
	struct wcs_fsck *fsck;
	const char *store; /* path of its directory */
	char *data;	   /* path of LevelDB's files */
	bool unreadable;   /* files are damaged and not mended: nothing more can be said */
	char *scratch;	   /* path of a directory of our own; NULL: none */
	struct ldb *db;	   /* the store, or a view of it in scratch that can be opened */
	struct ldb *index; /* the cells by the id of their value, in scratch */
	leveldb_readoptions_t *read;
	leveldb_writebatch_t *batch, *index_batch;
	size_t batched, index_batched; /* bytes, about */
	uint64_t looked;	       /* keys */
	uint64_t refs;		       /* in the index */
	uint64_t pending;	       /* values whose space a mount will reclaim */
	bool unfinished;	       /* there are drops to be finished */
	size_t table_count, table_room;
	struct ldb_fsck_table *tables;	 /* by id */
	uint32_t next_table, last_table; /* the counter, 0: none; the largest id there is */
	uint64_t next_value, last_value; /* the same of values */
	struct ldb_copy copy;		 /* of the descriptions */
	size_t copy_at;			 /* behind those that were compared */
	bool copy_wins; /* what was damaged may have had newer ones than are there now */
	size_t lost_count, lost_room;
	struct ldb_fsck_lost *lost;
	char place[1024];
};

/* For LevelDB, which tells nothing then: what is wrong is told as a finding, with its place. */
extern const struct wcs_options ldb_fsck_options;

/* ---- fsck_scratch.c ---- */
/* Makes the directory; view: with a view of the store's files in it. */
int ldb_fsck_scratch(struct ldb_fsck *f, bool view);
/* The path of LevelDB's files in it: of the view. The caller frees it. */
char *ldb_fsck_scratch_path(const struct ldb_fsck *f, const char *name);
void ldb_fsck_scratch_remove(struct ldb_fsck *f);
/* Adds a value to the index. */
int ldb_fsck_refer(struct ldb_fsck *f, uint64_t id, enum ldb_fsck_ref ref, uint64_t size,
		   struct wcs_slice cell);
/* Ends the index; an iterator on it, by id. */
int ldb_fsck_refs(struct ldb_fsck *f, leveldb_iterator_t **iter);
/* An entry of it. */
struct ldb_fsck_entry {
	uint64_t id;
	enum ldb_fsck_ref ref;
	uint64_t size;
	struct wcs_slice cell; /* its key */
};
bool ldb_fsck_ref_get(leveldb_iterator_t *iter, struct ldb_fsck_entry *entry);

/* ---- fsck_files.c ---- */
/* Checks the files, and mends them where that is agreed to. */
int ldb_fsck_files(struct ldb_fsck *f);
/* May the store be made anew? Asks where it was not asked yet. */
bool ldb_fsck_may_anew(struct ldb_fsck *f);

/* ---- fsck_mend.c ---- */
/* What could be read in a file, as text. all: as much as it had when it was written. Else nobody
 * knows how much was in the rest, which may be nothing. */
void ldb_fsck_say_read(char *done, size_t room, uint64_t count, const char *what, bool all,
		       const char *name);
/* Gives tables that stand under others' names their own; first of all, since what stands in their
 * place changes its name, too. */
int ldb_fsck_mend_names(struct ldb_fsck *f, struct ldb_files *files);
/* Mends what is wrong with a table; done: how. -EAGAIN: another took the last number. */
int ldb_fsck_mend_table(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			size_t room);
/* Is it to be replaced on level 0, with no number free beside it? */
bool ldb_fsck_has_no_place(const struct ldb_files *files, const struct ldb_files_fault *fault);

/* ---- fsck_places.c ---- */
/* Tells of directories where files belong, and moves them to the quarantine where it may. *left:
 * some are still there. */
int ldb_fsck_places(struct ldb_fsck *f, bool *left);

/* ---- fsck_salvage.c ---- */
/* What can be read of a table. What comes behind by: all zero before; the writer has by's keys. */
struct ldb_fsck_salvage {
	struct ldb_fsck *f;			/* is told which keys are lost */
	const struct ldb_manifest_table *known; /* the damaged one; NULL: not known */
	int dir;				/* of the new table */
	struct ldb_manifest_table *by; /* that one; its number is given, its size 0 if it is none */
	struct ldb_tablefile_writer *writer;
	uint64_t entries;
	uint64_t damages; /* places that cannot be read */
	bool damaged;	  /* since the last entry */
	bool lost;	  /* some entries */
	struct ldb_buffer last;
	int err;
};
int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size);
/* Writes the good records of a log to another, durably, and adds their number. A sequence number
 * that cannot be where it stands gives way to the next one; in the first record, to the one behind
 * `sequence`, the last one in tables. So does one above half of LDB_NUMBER_MAX, which leaves too
 * few for the records behind it. */
int ldb_fsck_salvage_log(int from, int to, uint64_t sequence, uint64_t *records);

/* ---- fsck_lost.c ---- */
/* Keeps in mind that keys between these two internal ones are lost, or from or to an empty one. */
int ldb_fsck_lose(struct ldb_fsck *f, const char *name, struct wcs_slice from, struct wcs_slice to);
/* Tells which rows that can be, behind ldb_fsck_tables. */
void ldb_fsck_tell_lost(struct ldb_fsck *f);
void ldb_fsck_lost_free(struct ldb_fsck *f);

/* ---- fsck_anew.c ---- */
/* Copies the store to the quarantine, and makes it anew of all its tables and logs. */
int ldb_fsck_anew(struct ldb_fsck *f);

/* ---- fsck_left.c ---- */
/* Tells of what is left of that, and removes it where it may. */
int ldb_fsck_left(struct ldb_fsck *f);
/* Tells of what was cut from logs, and moves it to the quarantine where it may. */
int ldb_fsck_torn(struct ldb_fsck *f);
/* Reads the copy of the tables' descriptions into f->copy; tells of a damaged one, and takes it to
 * the quarantine where it may. */
int ldb_fsck_read_copy(struct ldb_fsck *f);

/* ---- fsck_tables.c, fsck_cells.c, fsck_values.c: one key space after the other ---- */
int ldb_fsck_tables(struct ldb_fsck *f);
/* The counters, when all that is counted was seen. */
int ldb_fsck_counters(struct ldb_fsck *f);
const struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id);
/* A name that no table has, for one that lost its own. */
void ldb_fsck_lost_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1]);
/* NULL: the table has none of that name. */
const struct wcs_family *ldb_fsck_family(const struct ldb_fsck_table *table, const char *name);
int ldb_fsck_cells(struct ldb_fsck *f);
int ldb_fsck_values(struct ldb_fsck *f);
/* Bytes as text; long ones are cut. */
void ldb_fsck_print(char *to, size_t room, struct wcs_slice bytes);
/* The place of a cell as text, in f->place. */
const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key,
				const struct ldb_key_parts *parts);
/* Puts a cell into the quarantine as a row. -EIO: its value cannot be read. */
int ldb_fsck_keep_cell(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_key_parts *parts,
		       const struct ldb_cell *cell);

/* ---- fsck_keys.c: what they share ---- */
/* May keys be repaired? Asks where it was not asked yet. */
bool ldb_fsck_may(struct ldb_fsck *f);
leveldb_iterator_t *ldb_fsck_iterate(struct ldb_fsck *f);
/* The error that the iterator met, after err, which wins; ends it. */
int ldb_fsck_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int err);
/* Counts a key for the progress. */
int ldb_fsck_looked(struct ldb_fsck *f, const char *what);
struct wcs_slice ldb_fsck_key(leveldb_iterator_t *iter);
struct wcs_slice ldb_fsck_value(leveldb_iterator_t *iter);
/* A key in hexadecimal, in f->place. */
const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key);
/* Tells of a key, and where it may takes it out, with its value, into the quarantine. */
int ldb_fsck_take(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *place,
		  struct wcs_slice key, struct wcs_slice value);
/* Changes of the store, which go to it in batches, behind what went into the quarantine. */
int ldb_fsck_keep(struct ldb_fsck *f, const char *why, struct wcs_slice key,
		  struct wcs_slice value);
int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key);
int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value);
int ldb_fsck_flush(struct ldb_fsck *f);
/* Unfinished drops, and keys of no key space. */
int ldb_fsck_drops(struct ldb_fsck *f);
int ldb_fsck_others(struct ldb_fsck *f);

#define LDB_FSCK_ANEW "made anew of all tables and logs"
#define LDB_FSCK_RAW  "taken to the quarantine, raw.json"
#define LDB_FSCK_ROWS "taken to the quarantine, rows.json"

#endif
