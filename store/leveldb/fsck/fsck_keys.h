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

enum { LDB_FSCK_REPAIR = 1 };

/* Opening refuses a store whose numbers leave no room for one change, and the check if they leave
 * none for a million: a store that is clean can be used. */
#define LDB_FSCK_CHANGES    (1u << 20)
#define LDB_FSCK_TABLE_MAX  (LDB_TABLE_ID_MAX - LDB_FSCK_CHANGES)
#define LDB_FSCK_VALUE_MAX  (LDB_VALUE_ID_MAX - LDB_FSCK_CHANGES)
#define LDB_FSCK_NUMBER_MAX (LDB_NUMBER_MAX - LDB_FSCK_CHANGES)

struct ldb_fsck_table {
	uint32_t id, to; /* as it was read; as it is written, 0: not decided */
	bool changed;	 /* its description is written anew */
	struct wcs_table_schema schema;
};

/* A range of keys of which a damaged file may have lost some. An empty key: it is open there. */
struct ldb_fsck_lost {
	struct ldb_buffer from, to;
	uint64_t number; /* of the table */
};

/* The extents that a value may have. */
struct ldb_fsck_claim {
	uint32_t count;
	bool gone; /* no cell has the value, or the cell does not stay */
};

struct ldb_fsck {
	struct wcs_fsck *fsck;
	struct wcs_options options; /* for LevelDB */
	bool repairs;		    /* db is the new database, in which findings are corrected */
	int dir;		    /* the store's directory, open */
	char *data;		    /* path of LevelDB's files */
	struct ldb_files files;
	char *scratch;	  /* path of the temporary directory */
	struct ldb *sort; /* in it, see fsck_scratch.c */
	struct ldb *db;	  /* a clone of the store's LevelDB, or what could be read of it */
	struct ldb *to;	  /* what ldb_fsck_put writes to; NULL: nothing */
	leveldb_writebatch_t *batch;
	size_t batched;	       /* bytes of it, about */
	struct ldb_buffer key; /* of fsck_scratch.c and fsck_cells.c */
	uint64_t tag;	       /* of the last entry that was passed */
	uint64_t looked;       /* keys read */
	uint64_t pending;      /* deleted values whose space a mount reclaims */
	size_t table_count, table_room;
	struct ldb_fsck_table *tables;
	uint32_t next_table, last_table; /* the counter, 0: none; the largest id */
	uint32_t described;		 /* the largest one of a description */
	uint64_t next_value, last_value; /* the same of values that cells have */
	uint64_t copied_value;		 /* the last id of a copy of a value */
	struct ldb_copy copy;		 /* of the descriptions */
	size_t copy_at;			 /* behind those that were compared */
	size_t lost_count, lost_room;
	struct ldb_fsck_lost *lost;
	struct ldb_fsck_cells *cells; /* fsck_cells.c */
	leveldb_iterator_t *extents;  /* of the values of cells */
	struct {
		uint64_t id;
		struct ldb_fsck_claim claim;
		bool told;	/* it has extents that no cell has */
	} value;		/* of the extents that are judged */
	struct ldb_id_key skip; /* the walk goes on there; empty: at the next key */
	char place[1024], what[128];
};

/* ---- fsck_scratch.c: a temporary database ---- */
int ldb_fsck_scratch_open(struct ldb_fsck *f);
void ldb_fsck_scratch_close(struct ldb_fsck *f);
/* Adds an entry of a log or table; f is the first argument. tag: of the internal key. */
int ldb_fsck_scratch_add(void *f, uint64_t tag, struct wcs_slice key, struct wcs_slice value);
/* Adds an entry if ldb_fsck_is_lost: an old table can have entries that were deleted since. */
int ldb_fsck_scratch_lost(void *f, uint64_t tag, struct wcs_slice key, struct wcs_slice value);
/* Writes entries, which come in the order of ldb_files_entries, as they are. */
int ldb_fsck_scratch_pass(void *f, uint64_t tag, struct wcs_slice key, struct wcs_slice value);
/* Writes the newest value of each key that was added. */
int ldb_fsck_scratch_copy(struct ldb_fsck *f);
int ldb_fsck_claim(struct ldb_fsck *f, uint64_t id, const struct ldb_fsck_claim *claim);
/* The last claim of that value, if there is one; else none of its extents belongs to it. *known:
 * there is one. */
int ldb_fsck_claimed(struct ldb_fsck *f, uint64_t id, struct ldb_fsck_claim *claim, bool *known);

/* ---- fsck_files.c ---- */
/* Checks the files. Faults are in f->files. */
int ldb_fsck_files(struct ldb_fsck *f);
/* Reports these faults, and in a check files that no MANIFEST lists. */
int ldb_fsck_files_tell(struct ldb_fsck *f);
/* Reads the files once more, and notes what is lost. each: takes the entries, but for those of
 * tables that the MANIFEST does not list, which ldb_fsck_scratch_lost takes. */
int ldb_fsck_files_read(struct ldb_fsck *f, int (*each)(void *f, uint64_t tag, struct wcs_slice key,
							struct wcs_slice value));
/* Checks the files of the new database, of that path: a fault is an error. */
int ldb_fsck_files_verify(struct ldb_fsck *f, const char *path);

/* ---- fsck_places.c ---- */
/* The place of a cell as text, in f->place. */
const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key);
/* Notes that keys between these two internal ones may be lost; f is the first argument. -ENOMEM. */
int ldb_fsck_lose(void *f, uint64_t number, struct wcs_slice from, struct wcs_slice to);
/* May that key have been lost? */
bool ldb_fsck_is_lost(const struct ldb_fsck *f, struct wcs_slice key);
void ldb_fsck_lost_free(struct ldb_fsck *f);
/* Reports the rows in these ranges, once the tables are known, and files with which cells may be
 * lost of which nothing is known. */
void ldb_fsck_lost_tell(struct ldb_fsck *f);

/* ---- fsck_report.c ---- */
/* Reports a finding. done: how it is corrected. */
int ldb_fsck_found(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *done,
		   const char *place);
/* Counts a key, and reports the progress now and then. */
int ldb_fsck_looked(struct ldb_fsck *f, const char *what);
/* A key in hexadecimal, in f->place. */
const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key);
/* Writes bytes as text, and cuts long ones. */
void ldb_fsck_print(char *to, size_t room, const struct wcs_keys *keys, struct wcs_slice bytes);
int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value);
int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key);
int ldb_fsck_flush(struct ldb_fsck *f);

/*
 * Judges of entries. *what becomes the finding, if there is one: the entry is then taken out.
 * f->place becomes its place; left empty, that is the key.
 */

/* ---- fsck_judge.c ---- */
/* Judges all entries but the tables' descriptions, which were read before. */
int ldb_fsck_judge(struct ldb_fsck *f);

/* ---- fsck_tables.c ---- */
/* Reads and judges the descriptions, and the counters. -EPROTO: a newer program's. */
int ldb_fsck_tables_read(struct ldb_fsck *f);
/* Checks the counters, and writes them and changed descriptions; called behind all entries. */
int ldb_fsck_tables_write(struct ldb_fsck *f);
void ldb_fsck_tables_free(struct ldb_fsck *f);
/* Whether fsck_tables.c judges it: it is a counter or the key of a description. */
bool ldb_fsck_tables_has(struct wcs_slice key);
/* The id with which it is written: another one, where its own leaves no room. Called once all
 * tables with lower ids are known, also those without a description. */
uint32_t ldb_fsck_table_id(struct ldb_fsck *f, struct ldb_fsck_table *table);
/* NULL: no description has that id. */
struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id);
/* Adds a table without a description, with a name that no other has. */
int ldb_fsck_add_table(struct ldb_fsck *f, uint32_t id);
/* Adds a family of the type bytes and the policy "never". */
int ldb_fsck_add_family(struct ldb_fsck_table *table, const char *name);
/* The table's name; if it lost its own, one that no other has. */
void ldb_fsck_table_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1]);

/* ---- fsck_cells.c ---- */
int ldb_fsck_cells_start(struct ldb_fsck *f);
int ldb_fsck_cells_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
		       const char **what);
void ldb_fsck_cells_free(struct ldb_fsck *f);

/* ---- fsck_values.c ---- */
/* Judges the large value of a cell of that key. *record becomes another one, if the cell gets its
 * own copy of the value. */
int ldb_fsck_value(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_cell *cell,
		   enum wcs_type type, struct ldb_buffer *record, const char **what);
/* Called behind all cells, in the order of the keys. */
int ldb_fsck_garbage_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
			 const char **what);
int ldb_fsck_extents_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
			 const char **what);

#define LDB_FSCK_REBUILT "rebuilt from all tables and logs"
#define LDB_FSCK_TAKEN	 "taken out; it is in the quarantine's store"

#endif
