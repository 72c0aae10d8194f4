/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB's log format. A record is written in pieces:
 *
 *   crc(4) length(2) type(1) bytes        little-endian; type 1: a whole record, 2: its first
 * piece, 3: one between, 4: its last piece
 *
 * No piece crosses the end of a block; if fewer than 7 bytes remain in one they are zeros. A record
 * of a log is a batch:
 *
 *   sequence(8) count(4)                  and that many of
 *   type(1) key [value]                   type 0: a delete; 1: a put; key and value follow their
 *                                         length, a varint
 *
 * A piece that reaches beyond the end of the file was being written when the machine went down, or
 * its length is damaged. LevelDB assumes the first, and ignores the piece and all behind it. The
 * length is damaged if LevelDB writes no such header there, if the checksum is right for fewer
 * bytes, or if a whole piece stands behind the header. A value that has such a piece, as a log has,
 * makes a log that was cut within the value look damaged; a repair then loses no more than the cut.
 *
 * After a power cut a file may have its last length, and zeros in place of its last writes, since
 * the filesystem journals the length before the bytes reach the medium. A piece is then missing, or
 * ends where a sector does. LevelDB takes that for damage. A log that is zeros from such a place
 * within a record to its end therefore ends before that record, and is torn. It lost only writes
 * that no sync had covered; but a damaged bit in a last record that ends in zeros looks the same,
 * so the bytes that a mount cuts off are kept.
 */
#include "store/leveldb/formats/logfile.h"

#include <errno.h>
#include <string.h>

#include "store/disk/crc.h"
#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"

#define LOGFILE_SECTOR 512u
#define LOGFILE_ZEROS  (1u << 20) /* more bytes than that are cut off */
#define LOGFILE_BATCH  12u	  /* bytes of a batch before its changes */

void ldb_logfile_init(struct ldb_logfile *log, int fd)
{
	memset(log, 0, offsetof(struct ldb_logfile, block));
	log->fd = fd;
	log->base = -(uint64_t)LDB_LOGFILE_BLOCK; /* before the first block */
	log->len = log->at = LDB_LOGFILE_BLOCK;
}

/* ---- Pieces ------------------------------------------------------------------------------ */

static bool logfile_is_zero(const unsigned char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Is the file zeros from there on? */
static bool logfile_ends_in_zeros(int fd, uint64_t at)
{
	unsigned char data[4096];
	size_t got;

	for (;; at += got) {
		at = directory_data(fd, at);
		if (ldb_file_read(fd, data, sizeof(data), at, &got) || !logfile_is_zero(data, got))
			return false;
		if (got == 0)
			return true;
	}
}

/* The length of the piece at that offset of the block, from its header. */
static size_t logfile_len(const struct ldb_logfile *log, size_t at)
{
	return (size_t)log->block[at + 4] | (size_t)log->block[at + 5] << 8;
}

static bool logfile_is_type(unsigned int type)
{
	return type >= LDB_LOGFILE_FULL && type <= LDB_LOGFILE_LAST;
}

/* Would LevelDB write such a header there? */
static bool logfile_is_head(const struct ldb_logfile *log, size_t at)
{
	unsigned int type = log->block[at + 6];
	size_t end = at + LDB_LOGFILE_HEAD + logfile_len(log, at);

	if (type == LDB_LOGFILE_FIRST || type == LDB_LOGFILE_MIDDLE)
		return end == LDB_LOGFILE_BLOCK;
	return logfile_is_type(type) && end <= LDB_LOGFILE_BLOCK;
}

/* Is the checksum right of the piece there, which the block has to its end? */
static bool logfile_is_right(const struct ldb_logfile *log, size_t at)
{
	const unsigned char *head = log->block + at;

	return wcs_crc_mask(wcs_crc_extend(0, head + 6, 1 + logfile_len(log, at))) ==
	       get_le32(head);
}

/* Does a whole piece stand there? */
static bool logfile_is_whole(const struct ldb_logfile *log, size_t at)
{
	return log->len - at >= LDB_LOGFILE_HEAD && logfile_is_head(log, at) &&
	       logfile_len(log, at) <= log->len - at - LDB_LOGFILE_HEAD &&
	       logfile_is_right(log, at);
}

/* Was the next piece being written at the crash? Else its header is damaged. */
static bool logfile_is_cut(const struct ldb_logfile *log)
{
	const unsigned char *head = log->block + log->at;
	bool starts = head[6] == LDB_LOGFILE_FULL || head[6] == LDB_LOGFILE_FIRST;
	bool follows =
		starts ? !log->in_record || log->record.len == 0 : log->in_record || log->skipping;
	uint32_t crc = wcs_crc_extend(0, head + 6, 1);
	size_t at = log->at + LDB_LOGFILE_HEAD;

	if (!follows || !logfile_is_head(log, log->at))
		return false;
	while (wcs_crc_mask(crc) != get_le32(head) && !logfile_is_whole(log, at)) {
		if (at == log->len)
			return true;
		crc = wcs_crc_extend(crc, log->block + at++, 1);
	}
	return false;
}

/* ---- Damage ------------------------------------------------------------------------------ */

static void logfile_damage(struct ldb_logfile *log, const char *what)
{
	ldb_damage_note(&log->damage, log->base + log->at, what);
	log->in_record = false;
	log->skipping = true;
}

/* Passes over a damaged piece: by its length, if a whole one follows, else to the next whole one.
 * One that is found in a value has sequence numbers by which files.c rejects it. */
static int logfile_pass(struct ldb_logfile *log, const char *what)
{
	size_t at = log->at + LDB_LOGFILE_HEAD + logfile_len(log, log->at);

	logfile_damage(log, what);
	if (at > log->len || (log->len - at >= LDB_LOGFILE_HEAD && !logfile_is_whole(log, at)))
		for (at = log->at + 1; at < log->len && !logfile_is_whole(log, at);)
			at++;
	log->at = at;
	return 0;
}

/* A piece of that length is not valid: damage; or the end, if it turns into zeros where a write
 * that never reached the medium would begin, and the file is zeros from there on. */
static int logfile_tear(struct ldb_logfile *log, size_t len, const char *what)
{
	size_t data = log->len, zeros;

	while (data > log->at && log->block[data - 1] == 0)
		data--;
	zeros = data == log->at ? data
				: (data + LOGFILE_SECTOR - 1) / LOGFILE_SECTOR * LOGFILE_SECTOR;
	if (zeros >= log->len || zeros >= log->at + len ||
	    (zeros >= log->at + LDB_LOGFILE_HEAD && !logfile_is_cut(log)) ||
	    !logfile_ends_in_zeros(log->fd, log->base + log->len))
		return logfile_pass(log, what);
	log->torn = log->ended = true;
	log->zeros_at = log->base + data;
	return 0;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* Takes a piece whose checksum is right. 1: it ends a record. */
static int logfile_take(struct ldb_logfile *log, unsigned int type, size_t len)
{
	bool starts = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_FIRST;
	bool ends = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_LAST;
	int rc;

	if (!logfile_is_type(type))
		return logfile_pass(log, "a record of an unknown type");
	if (starts && log->in_record && log->record.len > 0)
		logfile_damage(log, "a record without its end");
	if (!starts && !log->in_record) {
		if (!log->skipping)
			logfile_damage(log, "a record without its start");
		log->at += LDB_LOGFILE_HEAD + len;
		return 0;
	}
	if (starts)
		log->record.len = 0;
	log->skipping = false;
	log->in_record = !ends;
	rc = ldb_buffer_append(&log->record, log->block + log->at + LDB_LOGFILE_HEAD, len);
	log->at += LDB_LOGFILE_HEAD + len;
	if (!rc && ends)
		log->end = log->base + log->at;
	return rc ? rc : ends;
}

/* Reads the next piece of the block, which has room for a header. */
static int logfile_piece(struct ldb_logfile *log)
{
	const unsigned char *head = log->block + log->at;
	size_t left = log->len - log->at - LDB_LOGFILE_HEAD, len = logfile_len(log, log->at);

	/* between records, zeros are space that the filesystem allocated first */
	if (head[6] == LDB_LOGFILE_ZERO && len == 0) {
		if (log->in_record || !logfile_is_zero(head, log->len - log->at))
			return logfile_tear(log, LDB_LOGFILE_HEAD, "zeros in place of a record");
		log->zeros = true;
		log->at = log->len;
		return 0;
	}
	if (log->zeros)
		logfile_damage(log, "zeros in place of records before this");
	log->zeros = false;
	if (len > left && log->len == LDB_LOGFILE_BLOCK)
		return logfile_pass(log, "a record of a wrong length");
	if (len > left && logfile_is_cut(log)) {
		log->ended = true;
		return 0;
	}
	if (len > left || !logfile_is_right(log, log->at))
		return logfile_tear(log, LDB_LOGFILE_HEAD + len,
				    len <= left		       ? "a record whose checksum is wrong"
				    : logfile_is_type(head[6]) ? "a record of a wrong length"
							       : "a record of an unknown type");
	return logfile_take(log, head[6], len);
}

/* Reads the next block. LevelDB would read all zeros behind the end, so many of them are cut off.
 */
static void logfile_block(struct ldb_logfile *log)
{
	log->base += log->len;
	log->ended = log->len < LDB_LOGFILE_BLOCK;
	if (log->zeros && !log->ended) /* skips holes, which are more zeros */
		log->base =
			directory_data(log->fd, log->base) / LDB_LOGFILE_BLOCK * LDB_LOGFILE_BLOCK;
	log->at = log->len = 0;
	if (!log->ended &&
	    ldb_file_read(log->fd, log->block, LDB_LOGFILE_BLOCK, log->base, &log->len)) {
		logfile_damage(log, "bytes that cannot be read");
		log->ended = true;
	}
	if (log->len == 0 && log->zeros && log->base - log->end > LOGFILE_ZEROS) {
		log->torn = true;
		log->zeros_at = log->end;
	}
}

int ldb_logfile_next(struct ldb_logfile *log, struct wcs_slice *record)
{
	int rc = 0;

	while (rc == 0 && !log->ended)
		if (log->len - log->at >= LDB_LOGFILE_HEAD)
			rc = logfile_piece(log);
		else
			logfile_block(log);
	if (rc == 1)
		*record = ldb_buffer_slice(&log->record);
	return rc;
}

/* ---- Batches ----------------------------------------------------------------------------- */

int ldb_logfile_changes(struct wcs_slice batch,
			int (*each)(void *ctx, uint64_t tag, struct wcs_slice key,
				    struct wcs_slice value),
			void *ctx)
{
	struct ldb_rest rest = {batch.data, batch.len}, key, value = {NULL, 0};
	const unsigned char *head = ldb_rest_take(&rest, LOGFILE_BATCH), *type;
	uint64_t sequence = head ? get_le64(head) : 0;
	uint32_t count = head ? get_le32(head + 8) : 0;
	int rc = 0;

	for (; !rc && count > 0; count--, sequence++) {
		type = ldb_rest_take(&rest, 1);
		if (!type || *type > 1 || !ldb_rest_text(&rest, &key) ||
		    (*type == 1 && !ldb_rest_text(&rest, &value)))
			return -EIO;
		if (each)
			rc = each(ctx, sequence << 8 | *type, (struct wcs_slice){key.data, key.len},
				  (struct wcs_slice){value.data, *type == 1 ? value.len : 0});
	}
	return rc || (head && rest.len == 0) ? rc : -EIO;
}
