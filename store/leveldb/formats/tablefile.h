/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB's tables to the last block, and skips damaged blocks. LevelDB's own interface has
 * neither. One thread for each table.
 */
#ifndef WCS_LEVELDB_TABLEFILE_H
#define WCS_LEVELDB_TABLEFILE_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"

/* See tablefile.c. */
#define LDB_TABLEFILE_MAGIC   0xdb4775248b80fb57u
#define LDB_TABLEFILE_FOOTER  48u
#define LDB_TABLEFILE_TRAILER 5u
enum { LDB_TABLEFILE_PLAIN = 0, LDB_TABLEFILE_SNAPPY = 1 };

/* A table that is read. The caller sets the first members, all others are zero. */
struct ldb_tablefile {
	int fd;			  /* the caller closes it */
	uint64_t size;		  /* of the file */
	struct ldb_damage damage; /* so far: damaged blocks */
	uint64_t bytes;		  /* of the blocks that were read */
	/* Private to tablefile.c. */
	uint64_t behind; /* the end of the last data block of the index */
	bool walking;	 /* the index is damaged: reads the blocks one behind the other */
	bool loaded;	 /* data has entries left */
	struct ldb_buffer stored, plain, index_bytes; /* blocks: as stored; decoded */
	struct ldb_buffer last;			      /* key of the last entry given */
	struct ldb_buffer bound;		      /* key of the block before, in the index */
	struct ldb_block index, data;
};

/* Reads the index. If that is damaged, the blocks are found one behind the other, up to the first
 * damaged one. 0, also if blocks are damaged; -ENOMEM. */
int ldb_tablefile_open(struct ldb_tablefile *table);
/* Reads the next entry of a good block, in order of the internal keys: 1, it is data.key and
 * data.value; 0: there is no more; -ENOMEM. */
int ldb_tablefile_next(struct ldb_tablefile *table);
void ldb_tablefile_close(struct ldb_tablefile *table);

#endif
