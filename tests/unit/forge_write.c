/* SPDX-License-Identifier: MIT */
/* Writes files in LevelDB's formats: records of logs, and tables without compression or filter. */
#include "tests/unit/forge_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"

enum { WRITE_BLOCK = 4096 /* bytes of a block of a table, about */ };

static int write_bytes(int fd, const void *data, size_t len, uint64_t *at)
{
	ssize_t put = pwrite(fd, data, len, (off_t)*at);

	*at += len;
	return put == (ssize_t)len ? 0 : -EIO;
}

int write_record(int fd, uint64_t *at, const void *data, size_t len)
{
	static const unsigned char zeros[LDB_LOGFILE_HEAD];
	unsigned char piece[LDB_LOGFILE_BLOCK];
	const unsigned char *from = data;
	bool first = true, last;
	int rc = 0;

	do {
		size_t left = LDB_LOGFILE_BLOCK - (size_t)(*at % LDB_LOGFILE_BLOCK), some;

		if (left < LDB_LOGFILE_HEAD) {
			rc = write_bytes(fd, zeros, left, at);
			left = LDB_LOGFILE_BLOCK;
		}
		some = len < left - LDB_LOGFILE_HEAD ? len : left - LDB_LOGFILE_HEAD;
		last = some == len;
		piece[4] = (unsigned char)some;
		piece[5] = (unsigned char)(some >> 8);
		piece[6] = first ? (last ? LDB_LOGFILE_FULL : LDB_LOGFILE_FIRST)
				 : (last ? LDB_LOGFILE_LAST : LDB_LOGFILE_MIDDLE);
		if (some > 0)
			memcpy(piece + LDB_LOGFILE_HEAD, from, some);
		put_le32(piece, wcs_crc_mask(wcs_crc_extend(0, piece + 6, 1 + some)));
		if (!rc)
			rc = write_bytes(fd, piece, LDB_LOGFILE_HEAD + some, at);
		from += some;
		len -= some;
		first = false;
	} while (!rc && !last);
	return rc;
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* A table that is written: the bytes that are not yet in the file, and its last key. */
struct table_writer {
	int fd;
	uint64_t at;
	struct ldb_buffer block, index, largest;
};

/* Shares no prefix, for which one restart, at the start, suffices. */
static int writer_entry(struct ldb_buffer *block, struct wcs_slice key, struct wcs_slice value)
{
	unsigned char head[30];
	size_t len = write_varint(head, 0);
	int rc;

	len += write_varint(head + len, key.len);
	len += write_varint(head + len, value.len);
	rc = ldb_buffer_append(block, head, len);
	if (!rc)
		rc = ldb_buffer_append(block, key.data, key.len);
	return rc ? rc : ldb_buffer_append(block, value.data, value.len);
}

/* Writes the block. *handle: for the index, of *len bytes. */
static int writer_block(struct table_writer *writer, struct ldb_buffer *block,
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
	*len = write_varint(handle, writer->at);
	*len += write_varint(handle + *len, block->len);
	rc = write_bytes(writer->fd, block->data, block->len, &writer->at);
	if (!rc)
		rc = write_bytes(writer->fd, trailer, sizeof(trailer), &writer->at);
	block->len = 0;
	return rc;
}

static int writer_flush(struct table_writer *writer)
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

static int writer_finish(struct table_writer *writer)
{
	unsigned char footer[LDB_TABLEFILE_FOOTER] = {0}, handle[20];
	struct ldb_buffer meta = {0};
	size_t len, at;
	int rc = writer_flush(writer);

	if (!rc)
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
	return write_bytes(writer->fd, footer, sizeof(footer), &writer->at);
}

int write_table(int dir, const char *from, const char *to, uint64_t *size)
{
	struct table_writer writer = {.fd = openat(dir, to, O_WRONLY | O_CREAT | O_EXCL, 0600)};
	struct ldb_tablefile *table = calloc(1, sizeof(*table));
	int rc;

	table->fd = openat(dir, from, O_RDONLY);
	table->size = (uint64_t)lseek(table->fd, 0, SEEK_END);
	rc = ldb_tablefile_open(table);
	while (!rc && ldb_tablefile_next(table) == 1) {
		rc = ldb_buffer_set(&writer.largest, table->data.key);
		if (!rc)
			rc = writer_entry(&writer.block, table->data.key, table->data.value);
		if (!rc && writer.block.len >= WRITE_BLOCK)
			rc = writer_flush(&writer);
	}
	if (!rc)
		rc = writer_finish(&writer);
	*size = writer.at;
	ldb_tablefile_close(table);
	close(table->fd);
	close(writer.fd);
	free(table);
	free(writer.block.data);
	free(writer.index.data);
	free(writer.largest.data);
	return rc;
}
