/* SPDX-License-Identifier: MIT */
/* The entries of a table's block, verified as they are read. One thread for each reader. */
#ifndef WCS_LEVELDB_BLOCK_H
#define WCS_LEVELDB_BLOCK_H

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/encoding/key.h"

#define LDB_BLOCK_MAX (1u << 30) /* bytes; LevelDB writes no block as large */

#define LDB_BLOCK_KEY (LDB_KEY_MAX + 8u) /* bytes of a key at most */

/* A reader of a block, whose bytes it borrows. */
struct ldb_block {
	const unsigned char *data;
	struct ldb_rest rest, restarts;
	struct wcs_slice key, value; /* of the last entry; key.len 0: none yet */
	unsigned int turn;	     /* where the next key goes */
	unsigned char bytes[2][LDB_BLOCK_KEY];
};

/* Starts to read a block, of which data has the contents. -EIO: it has not the form of one. */
int ldb_block_open(struct ldb_block *block, const void *data, size_t len);
/* 1: key and value are the next entry's; 0: there is no more. -EIO: an entry or a restart is wrong,
 * or a key is no internal key behind the last one, of a type that LevelDB knows. */
int ldb_block_next(struct ldb_block *block);
/* Reads a whole block up to its end or -EIO; key is the last one then. */
int ldb_block_check(struct ldb_block *block, const void *data, size_t len);

/* The order of internal keys: a key with 8 bytes behind it, a sequence number and a type, the
 * newest first. */
int ldb_internal_compare(struct wcs_slice a, struct wcs_slice b);
static inline uint64_t ldb_internal_tag(struct wcs_slice key)
{
	return get_le64((const unsigned char *)key.data + key.len - 8);
}

#endif
