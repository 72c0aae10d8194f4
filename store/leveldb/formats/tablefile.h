/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB's tables to the last block, skips damaged blocks, and writes tables. LevelDB's own
 * interface has none of these. One thread for each table.
 */
#ifndef WCS_LEVELDB_TABLEFILE_H
#define WCS_LEVELDB_TABLEFILE_H

#include "store/leveldb/encoding/buffer.h"

/* See tablefile.c. */
#define LDB_TABLEFILE_MAGIC   0xdb4775248b80fb57u
#define LDB_TABLEFILE_FOOTER  48u
#define LDB_TABLEFILE_TRAILER 5u
enum { LDB_TABLEFILE_PLAIN = 0, LDB_TABLEFILE_SNAPPY = 1 };

/* The callbacks of a visit; each may be NULL. */
struct ldb_tablefile_visit {
	/* A block, at that offset, is damaged. */
	void (*damaged)(void *ctx, uint64_t offset, const char *what);
	/* An entry of a good block, in order of the internal keys. 1 ends the visit, which then
	 * returns 1. */
	int (*entry)(void *ctx, struct wcs_slice key, struct wcs_slice value);
	/* Behind each block: its bytes in the file. 1 as above. */
	int (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

/* Reads the table. If its index is damaged, it finds the blocks one behind the other, up to the
 * first that is damaged. size: of the file. 0, also if blocks are damaged; 1 from a callback;
 * -ENOMEM. */
int ldb_tablefile_visit(int fd, uint64_t size, const struct ldb_tablefile_visit *visit);

/* A table being written to the empty file fd, which the caller closes. All zero but for that. */
struct ldb_tablefile_writer {
	int fd;
	uint64_t at;
	struct ldb_buffer block, index; /* not written yet */
	struct ldb_buffer smallest, largest;
};
/* Frees what is in it. */
void ldb_tablefile_writer_free(struct ldb_tablefile_writer *writer);
/* Adds an entry, which must be behind the last one. -ENOMEM, -ENOSPC, -EIO. */
int ldb_tablefile_add(struct ldb_tablefile_writer *writer, struct wcs_slice key,
		      struct wcs_slice value);
/* Writes the rest of the table durably. *size: of the file; 0: it has no entry, and the keys are
 * not written. They are those of the first and the last entry, valid until the writer is freed.
 * Errors as above. */
int ldb_tablefile_finish(struct ldb_tablefile_writer *writer, uint64_t *size,
			 struct wcs_slice *smallest, struct wcs_slice *largest);

#endif
