/* SPDX-License-Identifier: MIT */
/*
 * A check of a LevelDB store, private to fsck*.c. One thread.
 *
 * Unless it says otherwise, a function returns 0 or an errno of store.h, for which the fault of the
 * check has the text, but for -ENOMEM. LDB_FSCK_REPAIR ends a check whose first finding was agreed
 * to be repaired. Findings are no errors.
 */
#ifndef WCS_LEVELDB_FSCK_KEYS_H
#define WCS_LEVELDB_FSCK_KEYS_H

#include "store/fsck.h"
#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/files/copy.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/tablefile.h"

enum { LDB_FSCK_REPAIR = 1 };

enum ldb_fsck_mode {
	LDB_FSCK_LOOK,	 /* reports */
	LDB_FSCK_BUILD,	 /* reports, and writes what stays to a new database */
	LDB_FSCK_VERIFY, /* looks at the new database; a finding is an error */
};

struct ldb_fsck_table {
	uint32_t id, to; /* as it was read; as it is written, 0: not decided */
	struct wcs_table_schema schema;
	struct ldb_buffer record; /* as it was read; empty: to be encoded anew */
};

/* A table of LevelDB's that is read. */
struct ldb_fsck_source {
	uint64_t number, size;
	bool good;
	struct ldb_buffer smallest, largest; /* internal keys */
};

/* A range of keys of which a damaged file may have lost some. An empty key: it is open there. */
struct ldb_fsck_lost {
	struct ldb_buffer from, to;
	uint64_t number; /* of the table */
};

struct ldb_fsck_scratch; /* fsck_scratch.c */

struct ldb_fsck {
	struct wcs_fsck *fsck;
	enum ldb_fsck_mode mode;
	int dir;    /* the store's directory, open */
	char *data; /* path of LevelDB's files */
	struct ldb_files files;
	size_t source_count, source_room;
	struct ldb_fsck_source *sources; /* by their smallest keys once all are known */
	uint64_t live;			 /* bytes of the files that are read */
	struct ldb_fsck_scratch *scratch;
	struct ldb *to; /* the new database, while it is built */
	leveldb_writebatch_t *batch;
	size_t batched;	  /* bytes of it, about */
	uint64_t looked;  /* keys read */
	uint64_t refs;	  /* cells of large values */
	uint64_t pending; /* deleted values whose space a mount reclaims */
	size_t table_count, table_room;
	struct ldb_fsck_table *tables;	 /* by id */
	uint32_t next_table, last_table; /* the counter, 0: none; the largest id */
	uint32_t described;		 /* the largest one of a description */
	uint64_t next_value, last_value; /* the same of values */
	struct ldb_copy copy;		 /* of the descriptions */
	bool copy_damaged;
	size_t copy_at; /* behind those that were compared */
	bool copy_wins; /* the damage may have taken newer descriptions */
	size_t lost_count, lost_room;
	struct ldb_fsck_lost *lost;
	struct ldb_fsck_cells *cells; /* fsck_cells.c */
	bool quiet;		      /* findings are not reported */
	char place[1024];
};

/* ---- fsck_scratch.c: a temporary database ---- */
int ldb_fsck_scratch_open(struct ldb_fsck *f);
void ldb_fsck_scratch_close(struct ldb_fsck *f);
/* Adds a change of a log; f is the first argument. */
int ldb_fsck_scratch_change(void *f, uint64_t tag, struct wcs_slice key, struct wcs_slice value);
/* A cell with a large value. */
struct ldb_fsck_ref {
	uint64_t id, size;
	bool gone;	       /* the cell does not stay */
	enum wcs_type type;    /* of its family */
	struct wcs_slice cell; /* its key */
};
int ldb_fsck_scratch_refer(struct ldb_fsck *f, const struct ldb_fsck_ref *ref);
/* An iterator over changes of logs in the order of internal keys, from the first key >= from on, or
 * over cells by value and in the order in which they were added (from NULL). NULL: no memory. */
leveldb_iterator_t *ldb_fsck_scratch_iterate(struct ldb_fsck *f, const struct wcs_slice *from);
/* The internal key under the iterator; empty: there is no more change. -ENOMEM. */
int ldb_fsck_scratch_key(leveldb_iterator_t *iter, struct ldb_buffer *key);
/* The cell under the iterator, valid until that moves. False: there is none. */
bool ldb_fsck_scratch_ref(const struct ldb_fsck *f, leveldb_iterator_t *iter,
			  struct ldb_fsck_ref *ref);
/* Moves it to the first cell of that value. */
void ldb_fsck_scratch_seek(const struct ldb_fsck *f, leveldb_iterator_t *iter, uint64_t id);
/* Destroys the iterator. Returns rc, or if that is 0 the error that the iterator met, or -ENOMEM
 * for NULL. */
int ldb_fsck_scratch_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int rc);

/* ---- fsck_files.c ---- */
/* Checks the files and finds those that are to be read. Faults are in f->files. */
int ldb_fsck_files(struct ldb_fsck *f);
/* Reports the faults of the files, and in a check files that no MANIFEST lists. */
int ldb_fsck_files_tell(struct ldb_fsck *f);
void ldb_fsck_files_free(struct ldb_fsck *f);

/* ---- fsck_merge.c: the newest value of each key, in order ---- */
struct ldb_merge {
	struct ldb_fsck *f;
	struct wcs_slice key, value; /* of the present one, valid until the next call */
	/* Private. */
	struct ldb_buffer last, from;
	size_t next, count, room; /* the next source; tables that are open */
	struct ldb_tablefile **inputs;
	leveldb_iterator_t *logs;
	struct ldb_buffer logged; /* the present internal key of logs; empty: none is left */
};
/* Starts at the first key that is not before from. */
int ldb_merge_open(struct ldb_merge *merge, struct ldb_fsck *f, struct wcs_slice from);
/* 1: key and value are the next ones; 0: there is no more; else an error. */
int ldb_merge_next(struct ldb_merge *merge);
/* Returns rc, or the error of closing. */
int ldb_merge_close(struct ldb_merge *merge, int rc);

/* ---- fsck_lost.c ---- */
/* Notes that keys between these two internal ones may be lost. -ENOMEM. */
int ldb_fsck_lose(struct ldb_fsck *f, uint64_t number, struct wcs_slice from, struct wcs_slice to);
/* Forgets all but the first `count` ones. */
void ldb_fsck_lost_clear(struct ldb_fsck *f, size_t count);
/* Reports the rows in these ranges, once the tables are known. */
void ldb_fsck_lost_tell(struct ldb_fsck *f);

/* ---- fsck_report.c ---- */
/* Reports a finding. done: how it is corrected. */
int ldb_fsck_found(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *done,
		   const char *place);
/* Counts a key, and reports the progress now and then. */
int ldb_fsck_looked(struct ldb_fsck *f, const char *what);
/* A key in hexadecimal, in f->place. */
const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key);
/* Writes to the new database; without one they do nothing. */
int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value);
int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key);
int ldb_fsck_flush(struct ldb_fsck *f);
/* Writes bytes as text, and cuts long ones. */
void ldb_fsck_print(char *to, size_t room, const struct wcs_keys *keys, struct wcs_slice bytes);

/* ---- fsck_judge.c: the entries of each key space ---- */
/* The judgement of an entry. All zero: it stays, or is written anew at the end. */
struct ldb_verdict {
	enum wcs_found kind;
	const char *what;  /* the finding; NULL: there is none */
	const char *place; /* of the finding */
	bool drop;
	struct wcs_slice key; /* with which it is written; no data: its own */
};
/* Judges all entries, tables first, since all others depend on them. In LDB_FSCK_BUILD writes those
 * that stay. */
int ldb_fsck_judge(struct ldb_fsck *f);
/* -EPROTO: a table was described by a newer program. Reports nothing. */
int ldb_fsck_newer(struct ldb_fsck *f);
/* ---- fsck_tables.c ---- */
int ldb_fsck_tables_start(struct ldb_fsck *f);
/* Judges a description, counter or note. */
int ldb_fsck_tables_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
			struct ldb_verdict *verdict);
/* Judges the tables that only the copy of the descriptions has; called behind all descriptions. */
int ldb_fsck_tables_end(struct ldb_fsck *f);
/* Checks the counters, and writes them and the descriptions; called behind all entries. */
int ldb_fsck_tables_write(struct ldb_fsck *f);
void ldb_fsck_tables_free(struct ldb_fsck *f);
/* The id with which it is written: another one, where its own leaves no room. Called once all
 * tables with lower ids are known, also those without a description. */
uint32_t ldb_fsck_table_id(struct ldb_fsck *f, struct ldb_fsck_table *table);
/* NULL: no description has that id. */
struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id);
/* NULL: the table has no family of that name. */
const struct wcs_family *ldb_fsck_family(const struct ldb_fsck_table *table, const char *name);
/* Adds a table without a description, with a name that no other has. */
int ldb_fsck_add_table(struct ldb_fsck *f, uint32_t id);
/* Adds a family of the type bytes and the policy "never". */
int ldb_fsck_add_family(struct ldb_fsck_table *table, const char *name);
/* The table's name; if it lost its own, one that no other has. */
void ldb_fsck_table_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1]);

/* ---- fsck_cells.c ---- */
int ldb_fsck_cells_start(struct ldb_fsck *f);
int ldb_fsck_cells_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
		       struct ldb_verdict *verdict);
int ldb_fsck_cells_end(struct ldb_fsck *f);
void ldb_fsck_cells_free(struct ldb_fsck *f);
/* Replaces the key of a cell, whose table is known, by the one with which it is written, which is
 * valid until the next call. -ENOMEM. */
int ldb_fsck_cell_key(struct ldb_fsck *f, struct wcs_slice *key);
/* The place of a cell as text, in f->place. */
const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key);

/* ---- fsck_values.c ---- */
/* Checks the large values, after the cells. */
int ldb_fsck_values(struct ldb_fsck *f);

#define LDB_FSCK_REBUILT "rebuilt from all tables and logs"
#define LDB_FSCK_TAKEN	 "taken out; it is in the quarantine's store"

#endif
