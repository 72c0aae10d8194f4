/* SPDX-License-Identifier: MIT */
/*
 * The entries of a table's block (tablefile.c has the form of a table).
 *
 *   contents  entry… restart(4)… count of restarts(4)
 *   entry     shared own size, as varints of at most 5 bytes; own bytes of the key; size bytes of
 *             value
 *
 * A key is the first `shared` bytes of the key before it, and its own ones. A restart is the offset
 * of an entry that shares nothing; the first entry is one. LevelDB reads entries at these offsets,
 * and the last 8 bytes of keys, without a check, and ends the process where keys are out of order.
 */
#include "store/leveldb/formats/block.h"

#include <errno.h>
#include <string.h>

#define BLOCK_TAG 8u /* bytes behind the user's key */

int ldb_internal_compare(struct wcs_slice a, struct wcs_slice b)
{
	size_t a_len = a.len - BLOCK_TAG, b_len = b.len - BLOCK_TAG;
	int order = memcmp(a.data, b.data, a_len < b_len ? a_len : b_len);
	uint64_t a_tag, b_tag;

	if (order == 0)
		order = (a_len > b_len) - (a_len < b_len);
	if (order != 0)
		return order;
	a_tag = ldb_internal_tag(a);
	b_tag = ldb_internal_tag(b);
	return (a_tag < b_tag) - (a_tag > b_tag);
}

int ldb_block_open(struct ldb_block *block, const void *data, size_t len)
{
	uint32_t restarts;
	size_t end;

	if (len < 4 || len > LDB_BLOCK_MAX)
		return -EIO;
	restarts = get_le32((const unsigned char *)data + len - 4);
	if (restarts > (len - 4) / 4)
		return -EIO;
	end = len - 4 - 4 * (size_t)restarts;
	block->data = data;
	block->rest = (struct ldb_rest){data, end};
	block->restarts = (struct ldb_rest){block->data + end, 4 * (size_t)restarts};
	block->key = (struct wcs_slice){NULL, 0};
	block->turn = 0;
	if (end == 0 && restarts == 1 && get_le32(data) == 0)
		block->restarts.len = 0; /* as LevelDB writes an empty block */
	return 0;
}

/* Does LevelDB know the type of the key? An iterator passes over others. The block of a table that
 * leads to the filter has a name as its key. */
static bool block_typed(struct wcs_slice key)
{
	const unsigned char *bytes = key.data;

	return bytes[key.len - BLOCK_TAG] <= 1 || memcmp(bytes, "filter.", 7) == 0;
}

int ldb_block_next(struct ldb_block *block)
{
	struct ldb_rest rest = block->rest, *restarts = &block->restarts;
	unsigned char *to = block->bytes[block->turn];
	struct wcs_slice last = block->key, key = {to, 0};
	uint64_t shared, own, len;
	bool restart;

	if (rest.len == 0)
		return restarts->len == 0 ? 0 : -EIO;
	restart =
		restarts->len > 0 && get_le32(restarts->data) == (size_t)(rest.data - block->data);
	if (restart)
		ldb_rest_take(restarts, 4);
	if (!ldb_rest_varint32(&rest, &shared) || !ldb_rest_varint32(&rest, &own) ||
	    !ldb_rest_varint32(&rest, &len) || own > rest.len || len > rest.len - own ||
	    shared > last.len || shared + own < BLOCK_TAG || shared + own > LDB_BLOCK_KEY ||
	    (restart ? shared > 0 : last.len == 0))
		return -EIO;
	if (shared > 0)
		memcpy(to, last.data, shared);
	memcpy(to + shared, rest.data, own);
	key.len = shared + own;
	if (!block_typed(key) || (last.len > 0 && ldb_internal_compare(last, key) >= 0))
		return -EIO;
	block->key = key;
	block->turn ^= 1;
	block->value = (struct wcs_slice){rest.data + own, len};
	block->rest = (struct ldb_rest){rest.data + own + len, rest.len - own - len};
	return 1;
}

int ldb_block_check(struct ldb_block *block, const void *data, size_t len)
{
	int rc = ldb_block_open(block, data, len);

	while (rc == 0 && (rc = ldb_block_next(block)) == 1)
		rc = 0;
	return rc;
}
