/* SPDX-License-Identifier: MIT */
/*
 * The copy of the tables' descriptions beside LevelDB's files, STORE/TABLES, from which
 * fsck.rowfs puts back a description that damage took. docs/format.md has its bytes.
 *
 * A copy is never older than LevelDB's descriptions: it is removed, durably, before one of them
 * changes, and written anew behind that. A crash in between leaves no copy, and the next opening
 * makes one.
 */
#ifndef WCS_LEVELDB_COPY_H
#define WCS_LEVELDB_COPY_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/engine.h"

/* A copy in memory. All zero: there is none, and nothing is in it. */
struct ldb_copy {
	struct ldb_buffer bytes;
	uint32_t next; /* the counter of tables; 0: there is no copy */
};

/* Reads that of the store's directory. -ENOENT: there is none; -EIO: damaged; -ENOMEM; another:
 * this process cannot open it now. The caller frees what is in it. */
int ldb_copy_read(int store, struct ldb_copy *copy);
void ldb_copy_free(struct ldb_copy *copy);
/* The next description, by the ids of the tables; *at is 0 for the first. False: there are no more.
 */
bool ldb_copy_next(const struct ldb_copy *copy, size_t *at, uint32_t *id, struct wcs_slice *record);

/* Before a description changes, with admin_lock held. An error means that an old copy can still be
 * there, and ends writing, as a failed write does. */
int ldb_copy_remove(struct ldb *db);
/* Behind a change, with admin_lock held: writes the copy where it is not as LevelDB's descriptions
 * are. A failure is logged, and leaves none. */
void ldb_copy_write(struct ldb *db);
/* When the store is opened: makes the copy where there is none, or an older program changed the
 * descriptions. -EIO: a table whose description is in the copy alone has cells, or the counter was
 * set back. Damage did that, and fsck.rowfs mends it. */
int ldb_copy_open(struct ldb *db);
/* Has a table of that id cells? */
int ldb_copy_has_cells(struct ldb *db, uint32_t id, bool *has);

#endif
