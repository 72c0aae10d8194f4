/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's tables, file by file: checking them to the last block, reading what is good in a
 * damaged one, and writing one of that. LevelDB's own interface gives none of these.
 */
#ifndef WCS_LEVELDB_TABLEFILE_H
#define WCS_LEVELDB_TABLEFILE_H

#include "store/store.h"

/* Of the format, see tablefile.c. */
#define LDB_TABLEFILE_MAGIC   0xdb4775248b80fb57u
#define LDB_TABLEFILE_FOOTER  48u
#define LDB_TABLEFILE_TRAILER 5u
enum { LDB_TABLEFILE_PLAIN = 0, LDB_TABLEFILE_SNAPPY = 1 };

/* What a visit of a table tells; NULL members are not wanted. */
struct ldb_tablefile_visit {
	/* The block at offset cannot be used. */
	void (*damaged)(void *ctx, uint64_t offset, const char *what);
	/* An entry of a good block, in order. 1 ends the visit, which returns it. */
	int (*entry)(void *ctx, struct wcs_slice key, struct wcs_slice value);
	/* Behind each block: so many bytes of the file more were read. 1 as above. */
	int (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

/* Reads all of the table. Where its index cannot be used, the blocks are found one behind the
 * other, up to the first that is damaged. size: of the file. 0, -ENOMEM, or as above. */
int ldb_tablefile_visit(int fd, uint64_t size, const struct ldb_tablefile_visit *visit);

/* A table being written. */
struct ldb_tablefile_writer;
struct ldb_tablefile_writer *ldb_tablefile_writer_new(int fd);
void ldb_tablefile_writer_free(struct ldb_tablefile_writer *writer);
/* An entry behind the last one. -ENOMEM, -ENOSPC, -EIO. */
int ldb_tablefile_add(struct ldb_tablefile_writer *writer, struct wcs_slice key,
		      struct wcs_slice value);
/* Writes what is left, durably. *size: of the file, 0 where it has no entry. The keys are those of
 * the first and last entry, good until the writer is freed. */
int ldb_tablefile_finish(struct ldb_tablefile_writer *writer, uint64_t *size,
			 struct wcs_slice *smallest, struct wcs_slice *largest);

#endif
