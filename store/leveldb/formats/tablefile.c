/* SPDX-License-Identifier: MIT */
/*
 * Reads tables, block by block.
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

#include <snappy-c.h>

#include "store/disk/crc.h"

#define TABLEFILE_SEARCH (1u << 20) /* bytes in which the end of a block is searched */
#define TABLEFILE_RATIO	 64u	    /* Snappy decodes 3 bytes to 64 at most */

struct tablefile_handle {
	uint64_t offset, size;
};

/* ---- Blocks ------------------------------------------------------------------------------ */

static int tablefile_damaged(struct ldb_tablefile *table, uint64_t offset, const char *what)
{
	ldb_damage_note(&table->damage, offset, what);
	return -EIO;
}

/* -EIO: the file ends before that. */
static int tablefile_pread(struct ldb_tablefile *table, void *to, size_t len, uint64_t offset)
{
	size_t got;
	int rc = ldb_file_read(table->fd, to, len, offset, &got);

	return rc || got == len ? rc : -EIO;
}

/* Decodes the block in stored: len bytes and the type. The length that Snappy claims is checked
 * before memory is allocated for it. */
static int tablefile_decode(struct ldb_tablefile *table, size_t len, struct ldb_buffer *to)
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

/* Reads a block into `to`. -EIO: it is damaged, which is noted. */
static int tablefile_read(struct ldb_tablefile *table, const struct tablefile_handle *handle,
			  struct ldb_buffer *to)
{
	size_t len = (size_t)handle->size, whole = len + LDB_TABLEFILE_TRAILER;
	const char *what = NULL;
	int rc;

	if (handle->offset > table->size || table->size - handle->offset < LDB_TABLEFILE_TRAILER ||
	    handle->size > table->size - handle->offset - LDB_TABLEFILE_TRAILER)
		return tablefile_damaged(table, handle->offset,
					 "a block that reaches beyond the end");
	if (handle->size > LDB_BLOCK_MAX)
		return tablefile_damaged(table, handle->offset, "a block that is too large");
	table->bytes += whole;
	rc = ldb_buffer_room(&table->stored, whole);
	if (rc)
		return rc;
	if (tablefile_pread(table, table->stored.data, whole, handle->offset))
		what = "a block that cannot be read";
	else if (wcs_crc_mask(wcs_crc_extend(0, table->stored.data, len + 1)) !=
		 get_le32(table->stored.data + len + 1))
		what = "a block whose checksum is wrong";
	else if ((rc = tablefile_decode(table, len, to)) == -EIO)
		what = "a block that does not decode";
	return what ? tablefile_damaged(table, handle->offset, what) : rc;
}

/* Is there a key in last, and this one not behind it? */
static bool tablefile_precedes(struct wcs_slice key, const struct ldb_buffer *last)
{
	return last->len > 0 && ldb_internal_compare(ldb_buffer_slice(last), key) >= 0;
}

/* Makes the entries in plain, of the block at offset, the next ones. bound: the last key is not
 * behind it; empty: not known. -EIO: they are not in order, or not behind those of the block
 * before. */
static int tablefile_load(struct ldb_tablefile *table, uint64_t offset, struct wcs_slice bound)
{
	struct ldb_block *block = &table->data;
	int rc = ldb_block_open(block, table->plain.data, table->plain.len);
	bool passes = false;

	if (!rc && (rc = ldb_block_next(block)) == 1) {
		rc = tablefile_precedes(block->key, &table->last) ? -EIO : 0;
		passes = tablefile_precedes(block->key, &table->bound);
	}
	if (!rc) {
		rc = ldb_block_check(block, table->plain.data, table->plain.len);
		if (bound.len > 0 && block->key.len > 0 &&
		    ldb_internal_compare(block->key, bound) > 0)
			rc = -EIO;
	}
	if (bound.len > 0 && (rc || passes))
		tablefile_damaged(table, offset,
				  rc ? "a block whose keys are not in order"
				     : "a block that its index passes");
	table->loaded = rc == 0;
	return rc ? rc : ldb_block_open(block, table->plain.data, table->plain.len);
}

/* ---- By the index ------------------------------------------------------------------------ */

static bool tablefile_handle(struct ldb_rest *rest, struct tablefile_handle *handle)
{
	return ldb_rest_varint(rest, &handle->offset) && ldb_rest_varint(rest, &handle->size);
}

/* The footer's handles. */
static int tablefile_footer(struct ldb_tablefile *table, struct tablefile_handle *meta,
			    struct tablefile_handle *index)
{
	unsigned char footer[LDB_TABLEFILE_FOOTER];
	struct ldb_rest rest = {footer, LDB_TABLEFILE_FOOTER - 8};
	uint64_t offset = table->size - LDB_TABLEFILE_FOOTER;
	bool good;

	if (table->size < LDB_TABLEFILE_FOOTER ||
	    tablefile_pread(table, footer, sizeof(footer), offset))
		return tablefile_damaged(table, 0, "the end of the table is missing");
	good = get_le64(footer + LDB_TABLEFILE_FOOTER - 8) == LDB_TABLEFILE_MAGIC &&
	       tablefile_handle(&rest, meta) && tablefile_handle(&rest, index);
	for (; good && rest.len > 0; rest.data++, rest.len--)
		good = rest.data[0] == 0;
	return good ? 0 : tablefile_damaged(table, offset, "the end of the table is no footer");
}

/* Reads a block of handles, the metaindex or the index. what: the damage if it is none. */
static int tablefile_handles(struct ldb_tablefile *table, const struct tablefile_handle *at,
			     const char *what)
{
	struct ldb_buffer *to = &table->index_bytes;
	int rc = tablefile_read(table, at, to);

	if (rc)
		return rc;
	rc = ldb_block_check(&table->index, to->data, to->len);
	if (!rc)
		rc = ldb_block_open(&table->index, to->data, to->len);
	return rc ? tablefile_damaged(table, at->offset, what) : 0;
}

/* The next handle of that block. 1; 0: there is no more; -EIO. */
static int tablefile_next_handle(struct ldb_tablefile *table, struct tablefile_handle *handle)
{
	int rc = ldb_block_next(&table->index);
	struct ldb_rest text = {table->index.value.data, table->index.value.len};

	return rc != 1 || tablefile_handle(&text, handle) ? rc : -EIO;
}

/* Checks the filters' checksums. */
static int tablefile_filters(struct ldb_tablefile *table, const struct tablefile_handle *meta)
{
	static const char what[] = "a block that is no metaindex";
	struct tablefile_handle handle;
	int rc = tablefile_handles(table, meta, what);

	if (rc)
		return rc;
	while ((rc = tablefile_next_handle(table, &handle)) == 1)
		tablefile_read(table, &handle, &table->plain);
	return rc ? tablefile_damaged(table, meta->offset, what) : 0;
}

/* Reads the next data block; a damaged one is passed over. 1: there is no more. */
static int tablefile_step(struct ldb_tablefile *table)
{
	struct tablefile_handle handle;
	struct wcs_slice bound;
	int rc = tablefile_next_handle(table, &handle);

	if (rc == 0)
		return 1;
	table->walking = rc != 1;
	if (table->walking) {
		tablefile_damaged(table, table->behind, "a block that is no index");
		return 0;
	}
	bound = table->index.key;
	if (handle.offset < table->behind)
		rc = tablefile_damaged(table, handle.offset, "a block that is named twice");
	else
		rc = tablefile_read(table, &handle, &table->plain);
	if (!rc)
		rc = tablefile_load(table, handle.offset, bound);
	if (!rc)
		rc = ldb_buffer_set(&table->bound, bound);
	if (handle.size < table->size && handle.offset < table->size - handle.size &&
	    table->behind < handle.offset + handle.size + LDB_TABLEFILE_TRAILER)
		table->behind = handle.offset + handle.size + LDB_TABLEFILE_TRAILER;
	return rc == -EIO ? 0 : rc;
}

/* ---- Without the index --------------------------------------------------------------------- */

/* Finds the length of the block at offset: its checksum stands behind it. */
static int tablefile_find_end(struct ldb_tablefile *table, uint64_t offset, size_t *len)
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

/* Reads the data block behind the last one. 1: it is damaged or of another form, so the entries
 * end. */
static int tablefile_walk(struct ldb_tablefile *table)
{
	struct tablefile_handle handle = {table->behind, 0};
	size_t len = 0;
	int rc;

	if (handle.offset >= table->size)
		return 1;
	rc = tablefile_find_end(table, handle.offset, &len);
	handle.size = len;
	if (!rc)
		rc = tablefile_read(table, &handle, &table->plain);
	if (!rc)
		rc = tablefile_load(table, handle.offset, (struct wcs_slice){NULL, 0});
	table->behind += len + LDB_TABLEFILE_TRAILER;
	return rc == -EIO ? 1 : rc;
}

/* ---- A table ------------------------------------------------------------------------------- */

int ldb_tablefile_open(struct ldb_tablefile *table)
{
	struct tablefile_handle meta, index;
	int rc = tablefile_footer(table, &meta, &index);

	if (!rc) {
		rc = tablefile_filters(table, &meta);
		rc = rc == -EIO ? 0 : rc; /* entries can be read without them */
	}
	if (!rc)
		rc = tablefile_handles(table, &index, "a block that is no index");
	table->walking = rc == -EIO;
	return rc == -EIO ? 0 : rc;
}

int ldb_tablefile_next(struct ldb_tablefile *table)
{
	struct ldb_block *block = &table->data;
	int rc = 0;

	while (!rc) {
		if (table->loaded && ldb_block_next(block) == 1)
			return 1;
		if (table->loaded && block->key.len > 0) /* a block may have no entry */
			rc = ldb_buffer_set(&table->last, block->key);
		table->loaded = false;
		if (!rc)
			rc = table->walking ? tablefile_walk(table) : tablefile_step(table);
	}
	return rc == 1 ? 0 : rc;
}

void ldb_tablefile_close(struct ldb_tablefile *table)
{
	free(table->stored.data);
	free(table->plain.data);
	free(table->index_bytes.data);
	free(table->last.data);
	free(table->bound.data);
}
