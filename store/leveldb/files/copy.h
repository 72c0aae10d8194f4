/* SPDX-License-Identifier: MIT */
/*
 * The copy of the tables' descriptions beside LevelDB's files, STORE/TABLES. fsck.rowfs restores a
 * lost description from it. docs/format.md has its bytes.
 *
 * A copy is never older than LevelDB's descriptions: before a description changes the copy is
 * removed durably, and after that it is written again. A crash in between leaves no copy, and the
 * next open writes one.
 */
#ifndef WCS_LEVELDB_COPY_H
#define WCS_LEVELDB_COPY_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/engine.h"

/* A copy in memory. All zero: there is none. */
struct ldb_copy {
	struct ldb_buffer bytes;
	uint32_t next; /* the counter of tables; 0: there is no copy */
};

/* Reads the copy. store: the store's directory. -ENOENT: there is none; -EIO: it is damaged;
 * -ENOMEM; another: this process cannot open it now. The caller frees what is in *copy. */
int ldb_copy_read(int store, struct ldb_copy *copy);
void ldb_copy_free(struct ldb_copy *copy);
/* The next description, in order of the tables' ids; *at is 0 for the first. False: there is none.
 */
bool ldb_copy_next(const struct ldb_copy *copy, size_t *at, uint32_t *id, struct wcs_slice *record);

/* Before a description changes, with admin_lock held: removes the copy. An error means that an old
 * copy may remain; it ends writing, as a failed write does. */
int ldb_copy_remove(struct ldb *db);
/* After the change, with admin_lock held: writes the copy unless it equals LevelDB's descriptions.
 * Logs a failure, which leaves no copy. */
void ldb_copy_write(struct ldb *db);
/* When the store is opened: writes the copy if there is none, or an older program changed the
 * descriptions. -EIO: damage, which fsck.rowfs repairs: a table with cells has its description in
 * the copy alone, or the counter is missing, lower than the copy's or not above all numbers. */
int ldb_copy_open(struct ldb *db);
/* *has: the table of that id has cells. */
int ldb_copy_has_cells(struct ldb *db, uint32_t id, bool *has);

#endif
