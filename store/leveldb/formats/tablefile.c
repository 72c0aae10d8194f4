/* SPDX-License-Identifier: MIT */
/*
 *   data block… filter block  metaindex block  index block  footer(48)
 *
 *   block     contents type(1) crc(4)    type 0: plain, 1: Snappy; the crc is of what stands
 *                                        before it
 *   contents  as block.c has them, but of a filter
 *   footer    handles of metaindex and index (offset and size, varints), zeros, magic(8)
 *
 * The index has for each data block a key that is not below its last, and its handle. Keys are
 * internal ones, see ldb_internal_compare. Numbers are little-endian.
 */
#include "store/leveldb/formats/tablefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/snappy.h"

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
	struct ldb_block block;	 /* reads entries of data */
	struct ldb_buffer last;	 /* key of the last entry given */
	struct ldb_buffer bound; /* of the block before, in the index */
	bool passed;		 /* the block starts before that */
};

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
	    (type == LDB_TABLEFILE_SNAPPY && ldb_snappy_size(table->stored.data, len, &size)) ||
	    size > LDB_BLOCK_MAX)
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
	if (handle->size > LDB_BLOCK_MAX)
		return tablefile_damaged(table, handle->offset, "a block that is too large");
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

/* Is the key at most that one, if there is one? */
static bool tablefile_precedes(struct wcs_slice key, const struct ldb_buffer *last)
{
	return last->len > 0 && ldb_internal_compare(ldb_buffer_slice(last), key) >= 0;
}

/* Are these all entries of data, in order and behind those of the block before? */
static int tablefile_check_block(struct tablefile *table)
{
	struct ldb_block *block = &table->block;
	int rc = ldb_block_open(block, table->plain.data, table->plain.len);
	bool first = true;

	table->passed = false;
	while (rc == 0 && (rc = ldb_block_next(block)) == 1) {
		uint64_t tag = ldb_internal_tag(block->key);

		rc = (tag & 0xff) > TABLEFILE_VALUE || tag >> 8 > LDB_NUMBER_MAX ||
				     (first && tablefile_precedes(block->key, &table->last))
			     ? -EIO
			     : 0;
		if (first)
			table->passed = tablefile_precedes(block->key, &table->bound);
		first = false;
	}
	return rc;
}

/* Gives the entries of the block in plain, which was checked. */
static int tablefile_give(struct tablefile *table)
{
	const struct ldb_tablefile_visit *visit = table->visit;
	struct ldb_block *block = &table->block;
	int err = ldb_block_open(block, table->plain.data, table->plain.len);

	while (!err && ldb_block_next(block) == 1)
		if (visit->entry)
			err = visit->entry(visit->ctx, block->key, block->value);
	if (err || block->key.len == 0) /* a block may have no entry */
		return err;
	return ldb_buffer_set(&table->last, block->key);
}

static int tablefile_progress(struct tablefile *table, uint64_t bytes)
{
	const struct ldb_tablefile_visit *visit = table->visit;

	return visit->progress ? visit->progress(visit->ctx, bytes) : 0;
}

/* One data block. bound: its key in the index, not before its last one, and before all behind it.
 */
static int tablefile_block(struct tablefile *table, const struct tablefile_handle *handle,
			   struct wcs_slice bound)
{
	int err = tablefile_read(table, handle, &table->plain);

	if (err)
		return err;
	err = tablefile_check_block(table);
	if (!err && table->block.key.len > 0 && ldb_internal_compare(table->block.key, bound) > 0)
		err = -EIO;
	if (err == -EIO)
		return tablefile_damaged(table, handle->offset,
					 "a block whose keys are not in order");
	if (!err && table->passed)
		tablefile_damaged(table, handle->offset, "a block that its index passes");
	if (!err)
		err = tablefile_give(table);
	return err ? err : ldb_buffer_set(&table->bound, bound);
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

/* A filter, whose checksum is all that there is to check. */
static int tablefile_filter(struct tablefile *table, const struct tablefile_handle *handle,
			    struct wcs_slice name)
{
	(void)name;
	tablefile_read(table, handle, &table->plain);
	return 0;
}

/* A data block. A damaged one is passed over. */
static int tablefile_data(struct tablefile *table, const struct tablefile_handle *handle,
			  struct wcs_slice bound)
{
	int err;

	if (handle->offset < table->behind)
		err = tablefile_damaged(table, handle->offset, "a block that is named twice");
	else
		err = tablefile_block(table, handle, bound);
	if (handle->size < table->size && handle->offset < table->size - handle->size &&
	    table->behind < handle->offset + handle->size + LDB_TABLEFILE_TRAILER)
		table->behind = handle->offset + handle->size + LDB_TABLEFILE_TRAILER;
	if (err == -EIO)
		err = 0; /* told */
	return err ? err : tablefile_progress(table, handle->size + LDB_TABLEFILE_TRAILER);
}

/* All blocks that the metaindex or the index at a place names. */
static int
tablefile_handles(struct tablefile *table, const struct tablefile_handle *at, const char *what,
		  int (*each)(struct tablefile *table, const struct tablefile_handle *handle,
			      struct wcs_slice key))
{
	struct tablefile_handle handle;
	struct ldb_block block;
	int rc = tablefile_read(table, at, &table->index);

	if (rc)
		return rc;
	rc = ldb_block_check(table->index.data, table->index.len);
	if (rc == 0)
		rc = ldb_block_open(&block, table->index.data, table->index.len);
	while (rc == 0 && (rc = ldb_block_next(&block)) == 1) {
		struct ldb_rest text = {block.value.data, block.value.len};

		rc = tablefile_handle(&text, &handle) ? each(table, &handle, block.key) : -EIO;
	}
	return rc == -EIO ? tablefile_damaged(table, at->offset, what) : rc;
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
		err = tablefile_handles(&table, &meta, "a block that is no metaindex",
					tablefile_filter);
		if (!err || err == -EIO) /* entries can be read without it */
			err = tablefile_handles(&table, &index, "a block that is no index",
						tablefile_data);
	}
	if (err == -EIO)
		err = tablefile_walk(&table);
	free(table.stored.data);
	free(table.plain.data);
	free(table.index.data);
	free(table.last.data);
	free(table.bound.data);
	return err;
}
