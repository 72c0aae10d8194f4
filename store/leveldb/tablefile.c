/* SPDX-License-Identifier: MIT */
/*
 *   data block… filter block  metaindex block  index block  footer(48)
 *
 *   block     contents type(1) crc(4)    type 0: plain, 1: Snappy; the crc is of what stands
 *                                        before it
 *   contents  entry… restart(4)… count of restarts(4)
 *   entry     shared own size, as varints; own bytes of the key; size bytes of value
 *   footer    handles of metaindex and index (offset and size, varints), zeros, magic(8)
 *
 * The index has for each data block a key that is not below its last, and its handle. Keys are
 * internal ones, see ldb_internal_compare. Numbers are little-endian.
 */
#include "tablefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "bytes.h"
#include "crc.h"
#include "snappy.h"

#define TABLEFILE_SEARCH (1u << 20) /* bytes in which the end of a block is looked for */

enum { TABLEFILE_DELETE = 0, TABLEFILE_VALUE = 1 };

struct tablefile_handle {
	uint64_t offset, size;
};

struct tablefile {
	int fd;
	uint64_t size;
	const struct ldb_tablefile_visit *visit;
	uint64_t damages;
	uint64_t behind;		 /* the last block that the index led to */
	struct ldb_buffer stored, plain; /* a block as it is stored; decoded */
	struct ldb_buffer index;
	struct ldb_buffer key;	  /* of the last entry of a block */
	struct ldb_buffer last;	  /* key of the last entry given */
	struct ldb_buffer before; /* key before the one that is looked at */
};

int ldb_internal_compare(struct wcs_slice a, struct wcs_slice b)
{
	size_t a_len = a.len - 8, b_len = b.len - 8;
	int order = memcmp(a.data, b.data, a_len < b_len ? a_len : b_len);
	uint64_t a_tag, b_tag;

	if (order == 0)
		order = (a_len > b_len) - (a_len < b_len);
	if (order != 0)
		return order;
	a_tag = ldb_get64le((const unsigned char *)a.data + a_len);
	b_tag = ldb_get64le((const unsigned char *)b.data + b_len);
	return (a_tag < b_tag) - (a_tag > b_tag);
}

/* ---- Blocks ------------------------------------------------------------------------------ */

static int tablefile_damaged(struct tablefile *table, uint64_t offset, const char *what)
{
	table->damages++;
	if (table->visit->damaged)
		table->visit->damaged(table->visit->ctx, offset, what);
	return -EIO;
}

/* -EIO: not all of it is there. */
static int tablefile_pread(struct tablefile *table, void *to, size_t len, uint64_t offset)
{
	size_t made = 0;

	while (made < len) {
		ssize_t got =
			pread(table->fd, (char *)to + made, len - made, (off_t)(offset + made));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		made += (size_t)got;
	}
	return 0;
}

/* The contents of what is in stored: len bytes and the type behind them. */
static int tablefile_decode(struct tablefile *table, size_t len, struct ldb_buffer *to)
{
	unsigned char type = table->stored.data[len];
	size_t size = len;
	int err;

	if (type > LDB_TABLEFILE_SNAPPY ||
	    (type == LDB_TABLEFILE_SNAPPY && ldb_snappy_size(table->stored.data, len, &size)))
		return -EIO;
	err = ldb_buffer_room(to, size);
	if (err)
		return err;
	if (type == LDB_TABLEFILE_SNAPPY)
		err = ldb_snappy_decode(table->stored.data, len, to->data, size);
	else if (len > 0)
		memcpy(to->data, table->stored.data, len);
	to->len = size;
	return err;
}

static int tablefile_read(struct tablefile *table, const struct tablefile_handle *handle,
			  struct ldb_buffer *to)
{
	size_t len = (size_t)handle->size;
	int err;

	if (handle->offset > table->size || table->size - handle->offset < LDB_TABLEFILE_TRAILER ||
	    handle->size > table->size - handle->offset - LDB_TABLEFILE_TRAILER)
		return tablefile_damaged(table, handle->offset,
					 "a block that reaches beyond the end");
	err = ldb_buffer_room(&table->stored, len + LDB_TABLEFILE_TRAILER);
	if (err)
		return err;
	if (tablefile_pread(table, table->stored.data, len + LDB_TABLEFILE_TRAILER, handle->offset))
		return tablefile_damaged(table, handle->offset, "a block that cannot be read");
	if (wcs_crc_mask(wcs_crc_extend(0, table->stored.data, len + 1)) !=
	    ldb_get32le(table->stored.data + len + 1))
		return tablefile_damaged(table, handle->offset, "a block whose checksum is wrong");
	err = tablefile_decode(table, len, to);
	return err == -EIO
		       ? tablefile_damaged(table, handle->offset, "a block that does not decode")
		       : err;
}

/* ---- Entries ----------------------------------------------------------------------------- */

/* The entries of a block. False: it has not the form of one. */
static bool tablefile_entries(const struct ldb_buffer *block, struct ldb_rest *rest)
{
	uint32_t restarts;

	if (block->len < 4)
		return false;
	restarts = ldb_get32le(block->data + block->len - 4);
	if (restarts > (block->len - 4) / 4)
		return false;
	*rest = (struct ldb_rest){block->data, block->len - 4 - 4 * (size_t)restarts};
	return true;
}

/* The next entry; its key goes to key. -EIO: there is none of the right form. */
static int tablefile_entry(struct ldb_rest *rest, struct ldb_buffer *key, struct wcs_slice *value)
{
	uint64_t shared, own, len;
	int err;

	if (!ldb_rest_varint(rest, &shared) || !ldb_rest_varint(rest, &own) ||
	    !ldb_rest_varint(rest, &len) || shared > key->len || own > rest->len ||
	    len > rest->len - own)
		return -EIO;
	key->len = (size_t)shared;
	err = ldb_buffer_append(key, rest->data, (size_t)own);
	*value = (struct wcs_slice){rest->data + own, (size_t)len};
	rest->data += own + len;
	rest->len -= (size_t)(own + len);
	return err;
}

/* Is it an internal key, behind the last one of the block before (len 0: none)? */
static bool tablefile_key_fits(struct wcs_slice key, struct wcs_slice last)
{
	if (key.len < 8 || ((const unsigned char *)key.data)[key.len - 8] > TABLEFILE_VALUE)
		return false;
	return last.len == 0 || ldb_internal_compare(last, key) < 0;
}

/* Are these all entries of data, in order and behind those of the block before? */
static int tablefile_check_block(struct tablefile *table)
{
	struct wcs_slice value;
	struct ldb_rest rest;
	int err;

	if (!tablefile_entries(&table->plain, &rest))
		return -EIO;
	table->key.len = 0;
	err = ldb_buffer_set(&table->before, ldb_buffer_slice(&table->last));
	while (!err && rest.len > 0) {
		err = tablefile_entry(&rest, &table->key, &value);
		if (!err && !tablefile_key_fits(ldb_buffer_slice(&table->key),
						ldb_buffer_slice(&table->before)))
			err = -EIO;
		if (!err)
			err = ldb_buffer_set(&table->before, ldb_buffer_slice(&table->key));
	}
	return err;
}

/* Gives the entries of the block in plain, which was checked. */
static int tablefile_give(struct tablefile *table)
{
	const struct ldb_tablefile_visit *visit = table->visit;
	struct wcs_slice value;
	struct ldb_rest rest;
	int err = 0;

	if (!tablefile_entries(&table->plain, &rest))
		return 0;
	table->key.len = 0;
	while (!err && rest.len > 0) {
		err = tablefile_entry(&rest, &table->key, &value);
		if (!err && visit->entry)
			err = visit->entry(visit->ctx, ldb_buffer_slice(&table->key), value);
	}
	if (err || table->key.len == 0) /* a block may have no entry */
		return err;
	return ldb_buffer_set(&table->last, ldb_buffer_slice(&table->key));
}

static int tablefile_progress(struct tablefile *table, uint64_t bytes)
{
	const struct ldb_tablefile_visit *visit = table->visit;

	return visit->progress ? visit->progress(visit->ctx, bytes) : 0;
}

/* One data block. bound: a key that is not below its last; len 0: not known. */
static int tablefile_block(struct tablefile *table, const struct tablefile_handle *handle,
			   struct wcs_slice bound)
{
	int err = tablefile_read(table, handle, &table->plain);

	if (err)
		return err;
	err = tablefile_check_block(table);
	if (!err && bound.len >= 8 && table->key.len >= 8 &&
	    ldb_internal_compare(ldb_buffer_slice(&table->key), bound) > 0)
		err = -EIO;
	if (err == -EIO)
		return tablefile_damaged(table, handle->offset,
					 "a block whose keys are not in order");
	return err ? err : tablefile_give(table);
}

/* ---- By the index ------------------------------------------------------------------------ */

static bool tablefile_handle(struct ldb_rest *rest, struct tablefile_handle *handle)
{
	return ldb_rest_varint(rest, &handle->offset) && ldb_rest_varint(rest, &handle->size);
}

/* The footer's handles. */
static int tablefile_footer(struct tablefile *table, struct tablefile_handle *meta,
			    struct tablefile_handle *index)
{
	unsigned char footer[LDB_TABLEFILE_FOOTER];
	struct ldb_rest rest = {footer, LDB_TABLEFILE_FOOTER - 8};
	uint64_t offset = table->size - LDB_TABLEFILE_FOOTER;

	if (table->size < LDB_TABLEFILE_FOOTER ||
	    tablefile_pread(table, footer, sizeof(footer), offset))
		return tablefile_damaged(table, 0, "the end of the table is missing");
	if (ldb_get64le(footer + LDB_TABLEFILE_FOOTER - 8) != LDB_TABLEFILE_MAGIC ||
	    !tablefile_handle(&rest, meta) || !tablefile_handle(&rest, index))
		return tablefile_damaged(table, offset, "the end of the table is no footer");
	while (rest.len > 0 && rest.data[0] == 0) {
		rest.data++;
		rest.len--;
	}
	return rest.len == 0
		       ? 0
		       : tablefile_damaged(table, offset, "the end of the table is no footer");
}

/* The blocks that the metaindex names: filters, whose checksums are all that there is to check. */
static int tablefile_meta(struct tablefile *table, const struct tablefile_handle *meta)
{
	struct ldb_buffer filter = {0};
	struct wcs_slice value;
	struct ldb_rest rest;
	int err = tablefile_read(table, meta, &table->plain);

	table->key.len = 0;
	if (!err && !tablefile_entries(&table->plain, &rest))
		err = tablefile_damaged(table, meta->offset, "a block that is no metaindex");
	while (!err && rest.len > 0) {
		struct tablefile_handle handle;

		err = tablefile_entry(&rest, &table->key, &value);
		if (!err) {
			struct ldb_rest text = {value.data, value.len};

			err = tablefile_handle(&text, &handle) ? 0 : -EIO;
		}
		if (err == -EIO)
			err = tablefile_damaged(table, meta->offset,
						"a block that is no metaindex");
		else if (!err)
			err = tablefile_read(table, &handle, &filter);
	}
	free(filter.data);
	return err == -EIO ? 0 : err; /* entries can be read without it */
}

/* All blocks that the index names; a damaged one is passed over. */
static int tablefile_indexed(struct tablefile *table, uint64_t index_at)
{
	struct ldb_buffer bound = {0};
	struct wcs_slice value;
	struct ldb_rest rest;
	int err = 0;

	if (!tablefile_entries(&table->index, &rest))
		return tablefile_damaged(table, index_at, "a block that is no index");
	while (!err && rest.len > 0) {
		struct tablefile_handle handle;
		struct ldb_rest text;

		err = tablefile_entry(&rest, &bound, &value);
		text = (struct ldb_rest){value.data, value.len};
		if (!err && !tablefile_handle(&text, &handle))
			err = -EIO;
		if (err == -EIO)
			tablefile_damaged(table, index_at, "a block that is no index");
		if (err)
			break;
		err = tablefile_block(table, &handle, ldb_buffer_slice(&bound));
		if (err == -EIO)
			err = 0; /* told */
		else
			table->behind = handle.offset + handle.size + LDB_TABLEFILE_TRAILER;
		if (!err)
			err = tablefile_progress(table, handle.size + LDB_TABLEFILE_TRAILER);
	}
	free(bound.data);
	return err;
}

/* ---- Without it -------------------------------------------------------------------------- */

/* Finds where the block that starts at offset ends, by the checksum that stands there. */
static int tablefile_find_end(struct tablefile *table, uint64_t offset, size_t *len)
{
	uint64_t left = table->size - offset;
	size_t room = left < TABLEFILE_SEARCH ? (size_t)left : TABLEFILE_SEARCH;
	int err = ldb_buffer_room(&table->stored, room);
	uint32_t crc = 0;

	if (!err)
		err = tablefile_pread(table, table->stored.data, room, offset);
	for (size_t i = 0; !err && i + LDB_TABLEFILE_TRAILER <= room; i++) {
		const unsigned char *at = table->stored.data + i;

		crc = wcs_crc_extend(crc, at, 1);
		if (at[0] <= LDB_TABLEFILE_SNAPPY && wcs_crc_mask(crc) == ldb_get32le(at + 1)) {
			*len = i;
			return 0;
		}
	}
	return err ? err : -EIO;
}

/* Data blocks stand at the start, one behind the other; behind them is a block of another form.
 * What the index led to is not given again. */
static int tablefile_walk(struct tablefile *table)
{
	struct tablefile_handle handle = {table->behind, 0};
	int err = 0;

	while (!err && handle.offset < table->size) {
		size_t len = 0;

		err = tablefile_find_end(table, handle.offset, &len);
		handle.size = len;
		if (!err)
			err = tablefile_read(table, &handle, &table->plain);
		if (!err)
			err = tablefile_check_block(table);
		if (!err)
			err = tablefile_give(table);
		handle.offset += len + LDB_TABLEFILE_TRAILER;
		if (!err)
			err = tablefile_progress(table, len + LDB_TABLEFILE_TRAILER);
	}
	return err == -EIO ? 0 : err;
}

int ldb_tablefile_visit(int fd, uint64_t size, const struct ldb_tablefile_visit *visit)
{
	struct tablefile table = {.fd = fd, .size = size, .visit = visit};
	struct tablefile_handle meta, index;
	int err = tablefile_footer(&table, &meta, &index);

	if (!err) {
		err = tablefile_read(&table, &index, &table.index);
		if (!err)
			err = tablefile_meta(&table, &meta);
		if (!err)
			err = tablefile_indexed(&table, index.offset);
	}
	if (err == -EIO)
		err = tablefile_walk(&table);
	free(table.stored.data);
	free(table.plain.data);
	free(table.index.data);
	free(table.key.data);
	free(table.last.data);
	free(table.before.data);
	return err;
}
