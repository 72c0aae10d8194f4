/* SPDX-License-Identifier: MIT */
/* Writes tables in the form that tablefile.c reads, uncompressed and without a filter; LevelDB's
 * next compaction adds both. */
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/manifest.h"
#include "store/leveldb/formats/tablefile.h"

#define WRITER_BLOCK 4096u

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

	ldb_put32le(restarts + 4, 1);
	rc = ldb_buffer_append(block, restarts, sizeof(restarts));
	if (rc)
		return rc;
	ldb_put32le(trailer + 1, wcs_crc_mask(wcs_crc_extend(
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
	ldb_put64le(footer + LDB_TABLEFILE_FOOTER - 8, LDB_TABLEFILE_MAGIC);
	rc = ldb_file_write(writer->fd, footer, sizeof(footer), &writer->at);
	if (!rc && fsync(writer->fd))
		rc = -EIO;
	*size = writer->at;
	*smallest = ldb_buffer_slice(&writer->smallest);
	*largest = ldb_buffer_slice(&writer->largest);
	return rc;
}
