/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB's log format, and truncates a torn file. A record is written in pieces:
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
 * its header is damaged; logfile_damage.c tells which. LevelDB assumes the first.
 *
 * After a power cut a file may have its last length, and zeros in place of its last writes, since
 * the filesystem journals the length before the bytes reach the medium. A piece is then missing, or
 * ends where a sector does. LevelDB takes that for damage. A log that is zeros from such a place
 * within a record to its end therefore ends before that record, and is torn. It lost only writes
 * that no sync had covered; but a damaged bit in a last record that ends in zeros looks the same,
 * so the bytes that a mount cuts off are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/logfile_private.h"

#define LOGFILE_SECTOR 512u
#define LOGFILE_ZEROS  (1u << 20) /* more bytes than that are cut off */

void ldb_logfile_init(struct ldb_logfile *log, int fd)
{
	memset(log, 0, offsetof(struct ldb_logfile, block));
	log->fd = fd;
}

static int logfile_damage(struct ldb_logfile *log, const char *what)
{
	log->damaged_at = log->base + log->at;
	log->damage = what;
	log->in_record = false;
	log->skipping = true;
	return LDB_LOGFILE_DAMAGE;
}

/* Searches the next piece, since the length may be damaged. */
static int logfile_damaged_piece(struct ldb_logfile *log, const char *what)
{
	size_t behind = ldb_logfile_behind(log);

	logfile_damage(log, what);
	log->at = behind;
	return LDB_LOGFILE_DAMAGE;
}

/* *from: the offset, at least `at`, from which on the file is zeros. first: stops behind the first
 * byte that is not zero. -EIO. */
static int logfile_zeros(int fd, uint64_t at, bool first, uint64_t *from)
{
	unsigned char data[4096];
	uint64_t start = at, end = at;
	size_t got = 1;

	while (got > 0 && (!first || end == start)) {
		int rc;

		at = directory_data(fd, at);
		rc = ldb_file_read(fd, data, sizeof(data), at, &got);
		if (rc)
			return rc;
		for (size_t i = 0; i < got; i++)
			if (data[i] != 0)
				end = at + i + 1;
		at += got;
	}
	*from = end;
	return 0;
}

/* A piece of that length is not valid: damage; or the end, if it turns into zeros where a write
 * that never reached the medium would begin, and the file is zeros from there on. */
static int logfile_torn(struct ldb_logfile *log, size_t len, const char *what)
{
	size_t data = log->len, zeros;
	uint64_t behind = log->base + log->len, from;
	int rc;

	while (data > log->at && log->block[data - 1] == 0)
		data--;
	zeros = data == log->at ? data
				: (data + LOGFILE_SECTOR - 1) / LOGFILE_SECTOR * LOGFILE_SECTOR;
	if (zeros >= log->len || zeros >= log->at + len ||
	    (zeros >= log->at + LDB_LOGFILE_HEAD && !ldb_logfile_is_cut(log, zeros)))
		return logfile_damaged_piece(log, what);
	rc = logfile_zeros(log->fd, behind, true, &from);
	if (rc || from > behind)
		return rc ? rc : logfile_damaged_piece(log, what);
	log->torn = true;
	log->at = log->len;
	return LDB_LOGFILE_END;
}

/* Takes a piece whose checksum is right. 0: the record goes on. */
static int logfile_piece(struct ldb_logfile *log, unsigned int type, const unsigned char *data,
			 size_t len)
{
	bool starts = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_FIRST;
	bool ends = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_LAST;
	int rc;

	if (!ldb_logfile_is_type(type))
		return logfile_damaged_piece(log, "a record of an unknown type");
	if (starts && log->in_record && log->record.len > 0)
		return logfile_damage(log, "a record without its end"); /* reads this one again */
	if (!starts && !log->in_record) {
		bool reported = log->skipping;

		if (!reported)
			logfile_damage(log, "a record without its start");
		log->at += LDB_LOGFILE_HEAD + len;
		return reported ? 0 : LDB_LOGFILE_DAMAGE;
	}
	if (starts)
		log->record.len = 0;
	log->skipping = false;
	log->in_record = !ends;
	rc = ldb_buffer_append(&log->record, data, len);
	log->at += LDB_LOGFILE_HEAD + len;
	if (!rc && ends)
		log->end = log->base + log->at;
	return rc ? rc : ends;
}

/* The next event of the block, which has room for a header; 0: none yet. last: the file ends in it.
 */
static int logfile_step(struct ldb_logfile *log, bool last)
{
	const unsigned char *head = log->block + log->at;
	size_t left = log->len - log->at - LDB_LOGFILE_HEAD;
	size_t len = ldb_logfile_len(head);

	/* between records, zeros are space that the filesystem allocated first */
	if (head[6] == LDB_LOGFILE_ZERO && len == 0) {
		if (log->in_record || !ldb_logfile_all_zero(head, log->len - log->at))
			return logfile_torn(log, LDB_LOGFILE_HEAD, "zeros in place of a record");
		log->zeros = true;
		log->at = log->len;
		return 0;
	}
	if (log->zeros) {
		log->zeros = false;
		return logfile_damage(log, "zeros in place of records before this");
	}
	if (len > left && !last)
		return logfile_damaged_piece(log, "a record of a wrong length");
	if (len > left && ldb_logfile_is_cut(log, log->len)) {
		log->at = log->len; /* it was being written */
		return 0;
	}
	if (len > left)
		return logfile_torn(log, LDB_LOGFILE_HEAD + len,
				    ldb_logfile_is_type(head[6]) ? "a record of a wrong length"
								 : "a record of an unknown type");
	if (ldb_logfile_crc(head, len) != get_le32(head))
		return logfile_torn(log, LDB_LOGFILE_HEAD + len,
				    "a record whose checksum is wrong");
	return logfile_piece(log, head[6], head + LDB_LOGFILE_HEAD, len);
}

/* The end. LevelDB would read all zeros behind it, so many of them are cut off. */
static int logfile_end(struct ldb_logfile *log)
{
	log->torn |= log->zeros && log->base + log->len - log->end > LOGFILE_ZEROS;
	return LDB_LOGFILE_END;
}

int ldb_logfile_next(struct ldb_logfile *log, struct wcs_slice *record)
{
	int event = 0;

	while (event == 0 && !log->torn) {
		bool last = log->started && log->len < LDB_LOGFILE_BLOCK;

		if (log->len - log->at >= LDB_LOGFILE_HEAD) {
			event = logfile_step(log, last);
			continue;
		}
		if (last)
			return logfile_end(log);
		log->base += log->started ? LDB_LOGFILE_BLOCK : 0;
		if (log->zeros) /* skips holes, which are more zeros */
			log->base = directory_data(log->fd, log->base) / LDB_LOGFILE_BLOCK *
				    LDB_LOGFILE_BLOCK;
		log->at = 0;
		log->started = true;
		event = ldb_file_read(log->fd, log->block, LDB_LOGFILE_BLOCK, log->base, &log->len);
		if (!event && log->len == 0)
			return logfile_end(log);
	}
	if (event == LDB_LOGFILE_RECORD)
		*record = ldb_buffer_slice(&log->record);
	return event;
}

/* ---- Torn files -------------------------------------------------------------------------- */

int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC), beside = -1, to = -1;
	char torn[64];
	uint64_t zeros = end;
	int rc = fd < 0 ? -EIO : logfile_zeros(fd, end, false, &zeros);

	if (!rc && zeros > end) { /* after a crash before the cut, once more */
		snprintf(torn, sizeof(torn), DIRECTORY_TORN "%s-%" PRIu64, name, end);
		beside = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (beside >= 0)
			to = openat(beside, torn,
				    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		rc = to < 0 ? ldb_file_errno() : ldb_file_copy(fd, end, zeros, to);
		if (!rc && (fsync(to) || fsync(beside)))
			rc = -EIO;
	}
	if (!rc && (ftruncate(fd, (off_t)end) || fsync(fd)))
		rc = -EIO;
	if (to >= 0)
		close(to);
	if (beside >= 0)
		close(beside);
	if (fd >= 0)
		close(fd);
	if (!rc)
		*kept = zeros - end;
	return rc;
}
