/* SPDX-License-Identifier: MIT */
/*
 * Reads tables, and writes them uncompressed and without a filter; LevelDB's next compaction adds
 * both.
 *
 *   data block… filter block  metaindex block  index block  footer(48)
 *
 *   block     contents type(1) crc(4)    type 0: plain, 1: Snappy; the crc is that of the bytes
 *                                        before it
 *   contents  of a filter; of any other block see block.c
 *   footer    handles of metaindex and index (offset and size, varints), zeros, magic(8)
 *
 * For each data block the index has its handle and a key that stands between the block's last key
 * and the first of the next block. Keys are internal ones, see ldb_internal_compare. Numbers are
 * little-endian.
 */
#include "store/leveldb/formats/tablefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <snappy-c.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"

#define TABLEFILE_SEARCH (1u << 20) /* bytes in which the end of a block is searched */
#define WRITER_BLOCK	 4096u	    /* bytes of a block that is written, about */
#define TABLEFILE_RATIO	 64u	    /* Snappy decodes 3 bytes to 64 at most */

enum { TABLEFILE_DELETE = 0, TABLEFILE_VALUE = 1 }; /* types of internal keys */

struct tablefile_handle {
	uint64_t offset, size;
};

struct tablefile {
	int fd;
	uint64_t size;
	const struct ldb_tablefile_visit *visit;
	uint64_t behind;		 /* the end of the last data block of the index */
	struct ldb_buffer stored, plain; /* a block as it is stored; decoded */
	struct ldb_buffer index;
	struct ldb_block block;	 /* iterates over plain */
	struct ldb_buffer last;	 /* key of the last entry given */
	struct ldb_buffer bound; /* key of the block before, in the index */
	bool passed;		 /* the block starts before bound */
};

/* ---- Blocks ------------------------------------------------------------------------------ */

static int tablefile_damaged(struct tablefile *table, uint64_t offset, const char *what)
{
	if (table->visit->damaged)
		table->visit->damaged(table->visit->ctx, offset, what);
	return -EIO;
}

/* -EIO: the file ends before that. */
static int tablefile_pread(struct tablefile *table, void *to, size_t len, uint64_t offset)
{
	size_t got;
	int rc = ldb_file_read(table->fd, to, len, offset, &got);

	return rc || got == len ? rc : -EIO;
}

/* Decodes the block in stored: len bytes and the type. The length that Snappy claims is checked
 * before memory is allocated for it. */
static int tablefile_decode(struct tablefile *table, size_t len, struct ldb_buffer *to)
{
	const char *stored = (const char *)table->stored.data;
	bool coded = stored[len] == LDB_TABLEFILE_SNAPPY;
	size_t size = len;
	int rc;

	if ((!coded && stored[len] != LDB_TABLEFILE_PLAIN) ||
	    (coded && snappy_uncompressed_length(stored, len, &size) != SNAPPY_OK) ||
	    size > LDB_BLOCK_MAX || size / TABLEFILE_RATIO > len)
		return -EIO;
	rc = ldb_buffer_room(to, size + 1);
	if (rc)
		return rc;
	to->len = size;
	if (coded)
		return snappy_uncompress(stored, len, (char *)to->data, &size) == SNAPPY_OK ? 0
											    : -EIO;
	memcpy(to->data, stored, len);
	return 0;
}

/* Reads a block into `to`. -EIO: it is damaged, which the visit was told. */
static int tablefile_read(struct tablefile *table, const struct tablefile_handle *handle,
			  struct ldb_buffer *to)
{
	size_t len = (size_t)handle->size;
	int rc;

	if (handle->offset > table->size || table->size - handle->offset < LDB_TABLEFILE_TRAILER ||
	    handle->size > table->size - handle->offset - LDB_TABLEFILE_TRAILER)
		return tablefile_damaged(table, handle->offset,
					 "a block that reaches beyond the end");
	if (handle->size > LDB_BLOCK_MAX)
		return tablefile_damaged(table, handle->offset, "a block that is too large");
	rc = ldb_buffer_room(&table->stored, len + LDB_TABLEFILE_TRAILER);
	if (rc)
		return rc;
	if (tablefile_pread(table, table->stored.data, len + LDB_TABLEFILE_TRAILER, handle->offset))
		return tablefile_damaged(table, handle->offset, "a block that cannot be read");
	if (wcs_crc_mask(wcs_crc_extend(0, table->stored.data, len + 1)) !=
	    get_le32(table->stored.data + len + 1))
		return tablefile_damaged(table, handle->offset, "a block whose checksum is wrong");
	rc = tablefile_decode(table, len, to);
	return rc == -EIO ? tablefile_damaged(table, handle->offset, "a block that does not decode")
			  : rc;
}

/* ---- Entries ----------------------------------------------------------------------------- */

/* Is there a key in last, and this one not behind it? */
static bool tablefile_precedes(struct wcs_slice key, const struct ldb_buffer *last)
{
	return last->len > 0 && ldb_internal_compare(ldb_buffer_slice(last), key) >= 0;
}

/* -EIO: the entries in plain are not in order, or not behind those of the block before. */
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

/* Gives the visit the entries in plain, which tablefile_check_block accepted. */
static int tablefile_give(struct tablefile *table)
{
	const struct ldb_tablefile_visit *visit = table->visit;
	struct ldb_block *block = &table->block;
	int rc = ldb_block_open(block, table->plain.data, table->plain.len);

	while (!rc && ldb_block_next(block) == 1)
		if (visit->entry)
			rc = visit->entry(visit->ctx, block->key, block->value);
	if (rc || block->key.len == 0) /* a block may have no entry */
		return rc;
	return ldb_buffer_set(&table->last, block->key);
}

static int tablefile_progress(struct tablefile *table, uint64_t bytes)
{
	const struct ldb_tablefile_visit *visit = table->visit;

	return visit->progress ? visit->progress(visit->ctx, bytes) : 0;
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
	if (get_le64(footer + LDB_TABLEFILE_FOOTER - 8) != LDB_TABLEFILE_MAGIC ||
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

/* Checks a filter's checksum. */
static int tablefile_filter(struct tablefile *table, const struct tablefile_handle *handle,
			    struct wcs_slice name)
{
	(void)name;
	tablefile_read(table, handle, &table->plain);
	return 0;
}

/* Reads a data block, or skips a damaged one. bound: its key in the index. */
static int tablefile_data(struct tablefile *table, const struct tablefile_handle *handle,
			  struct wcs_slice bound)
{
	bool twice = handle->offset < table->behind;
	int rc = twice ? tablefile_damaged(table, handle->offset, "a block that is named twice")
		       : tablefile_read(table, handle, &table->plain);

	if (!rc) {
		rc = tablefile_check_block(table);
		if (!rc && table->block.key.len > 0 &&
		    ldb_internal_compare(table->block.key, bound) > 0)
			rc = -EIO;
		if (rc == -EIO)
			tablefile_damaged(table, handle->offset,
					  "a block whose keys are not in order");
	}
	if (!rc && table->passed)
		tablefile_damaged(table, handle->offset, "a block that its index passes");
	if (!rc)
		rc = tablefile_give(table);
	if (!rc)
		rc = ldb_buffer_set(&table->bound, bound);
	if (handle->size < table->size && handle->offset < table->size - handle->size &&
	    table->behind < handle->offset + handle->size + LDB_TABLEFILE_TRAILER)
		table->behind = handle->offset + handle->size + LDB_TABLEFILE_TRAILER;
	return rc && rc != -EIO ? rc
				: tablefile_progress(table, handle->size + LDB_TABLEFILE_TRAILER);
}

/* Reads the metaindex or the index, and calls each for its handles. what: the damage if it is
 * none. */
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

/* ---- Without the index --------------------------------------------------------------------------
 */

/* Finds the length of the block at offset: its checksum stands behind it. */
static int tablefile_find_end(struct tablefile *table, uint64_t offset, size_t *len)
{
	uint64_t left = table->size - offset;
	size_t room = left < TABLEFILE_SEARCH ? (size_t)left : TABLEFILE_SEARCH;
	int rc = ldb_buffer_room(&table->stored, room);
	uint32_t crc = 0;

	if (!rc)
		rc = tablefile_pread(table, table->stored.data, room, offset);
	for (size_t i = 0; !rc && i + LDB_TABLEFILE_TRAILER <= room; i++) {
		const unsigned char *at = table->stored.data + i;

		crc = wcs_crc_extend(crc, at, 1);
		if (at[0] <= LDB_TABLEFILE_SNAPPY && wcs_crc_mask(crc) == get_le32(at + 1)) {
			*len = i;
			return 0;
		}
	}
	return rc ? rc : -EIO;
}

/* Reads the data blocks, one behind the other, from where the index ended, until one is damaged or
 * of another form. */
static int tablefile_walk(struct tablefile *table)
{
	struct tablefile_handle handle = {table->behind, 0};
	int rc = 0;

	while (!rc && handle.offset < table->size) {
		size_t len = 0;

		rc = tablefile_find_end(table, handle.offset, &len);
		handle.size = len;
		if (!rc)
			rc = tablefile_read(table, &handle, &table->plain);
		if (!rc)
			rc = tablefile_check_block(table);
		if (!rc)
			rc = tablefile_give(table);
		handle.offset += len + LDB_TABLEFILE_TRAILER;
		if (!rc)
			rc = tablefile_progress(table, len + LDB_TABLEFILE_TRAILER);
	}
	return rc == -EIO ? 0 : rc;
}

int ldb_tablefile_visit(int fd, uint64_t size, const struct ldb_tablefile_visit *visit)
{
	struct tablefile table = {.fd = fd, .size = size, .visit = visit};
	struct tablefile_handle meta, index;
	int rc = tablefile_footer(&table, &meta, &index);

	if (!rc) {
		rc = tablefile_handles(&table, &meta, "a block that is no metaindex",
				       tablefile_filter);
		if (!rc || rc == -EIO) /* entries can be read without it */
			rc = tablefile_handles(&table, &index, "a block that is no index",
					       tablefile_data);
	}
	if (rc == -EIO)
		rc = tablefile_walk(&table);
	free(table.stored.data);
	free(table.plain.data);
	free(table.index.data);
	free(table.last.data);
	free(table.bound.data);
	return rc;
}

/* ---- Writing ------------------------------------------------------------------------------- */

void ldb_tablefile_writer_free(struct ldb_tablefile_writer *writer)
{
	free(writer->block.data);
	free(writer->index.data);
	free(writer->smallest.data);
	free(writer->largest.data);
}

/* Shares no prefix, for which one restart, at the start, suffices. */
static int writer_entry(struct ldb_buffer *block, struct wcs_slice key, struct wcs_slice value)
{
	unsigned char head[30];
	size_t len = ldb_put_varint(head, 0);
	int rc;

	len += ldb_put_varint(head + len, key.len);
	len += ldb_put_varint(head + len, value.len);
	rc = ldb_buffer_append(block, head, len);
	if (!rc)
		rc = ldb_buffer_append(block, key.data, key.len);
	return rc ? rc : ldb_buffer_append(block, value.data, value.len);
}

/* Writes the block. *handle: for the index, of *len bytes. */
static int writer_block(struct ldb_tablefile_writer *writer, struct ldb_buffer *block,
			unsigned char handle[20], size_t *len)
{
	unsigned char restarts[8] = {0}, trailer[LDB_TABLEFILE_TRAILER] = {LDB_TABLEFILE_PLAIN};
	int rc;

	put_le32(restarts + 4, 1);
	rc = ldb_buffer_append(block, restarts, sizeof(restarts));
	if (rc)
		return rc;
	put_le32(trailer + 1, wcs_crc_mask(wcs_crc_extend(
				      wcs_crc_extend(0, block->data, block->len), trailer, 1)));
	*len = ldb_put_varint(handle, writer->at);
	*len += ldb_put_varint(handle + *len, block->len);
	rc = ldb_file_write(writer->fd, block->data, block->len, &writer->at);
	if (!rc)
		rc = ldb_file_write(writer->fd, trailer, sizeof(trailer), &writer->at);
	block->len = 0;
	return rc;
}

static int writer_flush(struct ldb_tablefile_writer *writer)
{
	unsigned char handle[20];
	size_t len;
	int rc;

	if (writer->block.len == 0)
		return 0;
	rc = writer_block(writer, &writer->block, handle, &len);
	return rc ? rc
		  : writer_entry(&writer->index, ldb_buffer_slice(&writer->largest),
				 (struct wcs_slice){handle, len});
}

int ldb_tablefile_add(struct ldb_tablefile_writer *writer, struct wcs_slice key,
		      struct wcs_slice value)
{
	int rc = 0;

	if (writer->smallest.len == 0)
		rc = ldb_buffer_set(&writer->smallest, key);
	if (!rc)
		rc = ldb_buffer_set(&writer->largest, key);
	if (!rc)
		rc = writer_entry(&writer->block, key, value);
	return rc || writer->block.len < WRITER_BLOCK ? rc : writer_flush(writer);
}

int ldb_tablefile_finish(struct ldb_tablefile_writer *writer, uint64_t *size,
			 struct wcs_slice *smallest, struct wcs_slice *largest)
{
	unsigned char footer[LDB_TABLEFILE_FOOTER] = {0}, handle[20];
	struct ldb_buffer meta = {0};
	size_t len, at;
	int rc = writer_flush(writer);

	*size = 0;
	if (rc || writer->smallest.len == 0)
		return rc;
	rc = writer_block(writer, &meta, handle, &len);
	free(meta.data);
	if (rc)
		return rc;
	memcpy(footer, handle, len);
	at = len;
	rc = writer_block(writer, &writer->index, handle, &len);
	if (rc)
		return rc;
	memcpy(footer + at, handle, len);
	put_le64(footer + LDB_TABLEFILE_FOOTER - 8, LDB_TABLEFILE_MAGIC);
	rc = ldb_file_write(writer->fd, footer, sizeof(footer), &writer->at);
	if (!rc && fsync(writer->fd))
		rc = -EIO;
	*size = writer->at;
	*smallest = ldb_buffer_slice(&writer->smallest);
	*largest = ldb_buffer_slice(&writer->largest);
	return rc;
}
