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
	block->key = (struct wcs_slice){block->bytes, 0};
	if (end == 0 && restarts == 1 && get_le32(data) == 0)
		block->restarts.len = 0; /* as LevelDB writes an empty block */
	return 0;
}

/* A varint as LevelDB reads one of 32 bits; mostly it is one byte. */
static inline bool block_varint(struct ldb_rest *rest, uint64_t *to)
{
	const unsigned char *from = rest->data;

	if (rest->len > 0 && *from < 0x80) {
		*to = *from;
		rest->data++;
		rest->len--;
		return true;
	}
	return ldb_rest_varint(rest, to) && rest->data - from <= 5;
}

/* Is the last key before one of len bytes that shares its begin, and has these bytes of its own? */
static inline bool block_ordered(const struct ldb_block *block, const unsigned char *own,
				 size_t shared, size_t len)
{
	size_t last = block->key.len - BLOCK_TAG, user = len - BLOCK_TAG;
	size_t least = last < user ? last : user;
	unsigned char tag[BLOCK_TAG];
	int order = 0;

	if (shared < least && block->bytes[shared] != own[0]) /* so it mostly is */
		return block->bytes[shared] < own[0];
	if (shared < least)
		order = memcmp(block->bytes + shared, own, least - shared);
	if (order != 0 || last != user)
		return order < 0 || (order == 0 && last < user);
	for (size_t i = 0; i < BLOCK_TAG; i++)
		tag[i] = user + i < shared ? block->bytes[user + i] : own[user + i - shared];
	return get_le64(tag) < ldb_internal_tag(block->key);
}

int ldb_block_next(struct ldb_block *block)
{
	struct ldb_rest rest = block->rest, *restarts = &block->restarts;
	struct wcs_slice *key = &block->key;
	uint64_t shared, own, len;
	bool restart;

	if (rest.len == 0)
		return restarts->len == 0 ? 0 : -EIO;
	restart =
		restarts->len > 0 && get_le32(restarts->data) == (size_t)(rest.data - block->data);
	if (restart)
		ldb_rest_take(restarts, 4);
	if (!block_varint(&rest, &shared) || !block_varint(&rest, &own) ||
	    !block_varint(&rest, &len) || own > rest.len || len > rest.len - own ||
	    shared > key->len || shared + own < BLOCK_TAG || shared + own > LDB_BLOCK_KEY ||
	    (restart ? shared > 0 : key->len == 0) ||
	    (key->len > 0 && !block_ordered(block, rest.data, shared, shared + own)))
		return -EIO;
	memcpy(block->bytes + shared, rest.data, own);
	key->len = shared + own;
	block->value = (struct wcs_slice){rest.data + own, len};
	block->rest = (struct ldb_rest){rest.data + own + len, rest.len - own - len};
	return 1;
}

/* Does LevelDB know the type of the last key? An iterator passes over others. The block of a table
 * that leads to the filter has a name as its key. */
static bool block_typed(const struct ldb_block *block)
{
	return block->bytes[block->key.len - BLOCK_TAG] <= 1 ||
	       memcmp(block->bytes, "filter.", 7) == 0;
}

int ldb_block_check(const void *data, size_t len)
{
	struct ldb_block block;
	int rc = ldb_block_open(&block, data, len);

	if (rc == 0)
		while ((rc = ldb_block_next(&block)) > 0)
			if (!block_typed(&block))
				return -EIO;
	return rc;
}
