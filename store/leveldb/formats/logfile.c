/* SPDX-License-Identifier: MIT */
/*
 *   crc(4) length(2) type(1) bytes        a piece; little-endian; type 1: a whole record, 2: its
 *                                         first piece, 3: one between, 4: its last piece
 *
 * No piece crosses the end of a block; where fewer than 7 bytes are left in one they are zeros. A
 * record of a log is a batch:
 *
 *   sequence(8) count(4)                  and so many of
 *   type(1) key [value]                   type 0: a key that goes; 1: one with its value, each
 *                                         behind its length, a varint
 *
 * A piece that reaches beyond the end of the file was being written when the machine went down, or
 * its header is damaged: logfile_damage.c tells the two apart. LevelDB takes both for the first.
 *
 * A power cut can leave the length that a file had, and zeros where its last writes should be: the
 * length is in the filesystem's journal before the bytes are on the medium. Of a piece there is
 * then nothing, or what went before a sector's end. LevelDB takes that for damage. So a log that
 * is zeros to its end, from such a place within a record on, ends there. Only writes that no sync
 * had reached can be missing; but a damaged bit in the last record, where that ends in zeros, looks
 * the same. So what is cut is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile_private.h"

#define LOGFILE_SECTOR 512u
#define LOGFILE_ZEROS  (1u << 20) /* bytes at the end that nothing gives but damage */

void ldb_logfile_init(struct ldb_logfile *log, int fd)
{
	memset(log, 0, offsetof(struct ldb_logfile, block));
	log->fd = fd;
}

void ldb_logfile_free(struct ldb_logfile *log)
{
	free(log->record);
}

/* The next block; an empty one at the end. */
static int logfile_read(struct ldb_logfile *log)
{
	uint64_t base = log->started ? log->base + LDB_LOGFILE_BLOCK : 0;
	size_t made = 0;

	if (log->zeros) /* as more of them in a hole are */
		base = directory_data(log->fd, base) / LDB_LOGFILE_BLOCK * LDB_LOGFILE_BLOCK;
	while (made < LDB_LOGFILE_BLOCK) {
		ssize_t got = pread(log->fd, log->block + made, LDB_LOGFILE_BLOCK - made,
				    (off_t)(base + made));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		if (got == 0)
			break;
		made += (size_t)got;
	}
	log->base = base;
	log->len = made;
	log->at = 0;
	log->started = true;
	return 0;
}

static int logfile_damage(struct ldb_logfile *log, const char *what)
{
	log->damaged_at = log->base + log->at;
	log->damage = what;
	log->in_record = false;
	log->skipping = true;
	return LDB_LOGFILE_DAMAGE;
}

/* Where the next piece starts must be looked for: the length may be what is damaged. */
static int logfile_damaged_piece(struct ldb_logfile *log, const char *what)
{
	size_t behind = ldb_logfile_behind(log);

	logfile_damage(log, what);
	log->at = behind;
	return LDB_LOGFILE_DAMAGE;
}

/* Is all of the file behind the block zero? */
static int logfile_zero_behind(const struct ldb_logfile *log, bool *zero)
{
	unsigned char data[4096];
	uint64_t at = directory_data(log->fd, log->base + log->len);
	ssize_t got;

	*zero = true;
	while (*zero && (got = pread(log->fd, data, sizeof(data), (off_t)at)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		*zero = ldb_logfile_all_zero(data, (size_t)got);
		at = directory_data(log->fd, at + (uint64_t)got);
	}
	return 0;
}

/* A piece of so many bytes that is none: damage, or, if it turns into zeros where a write that
 * never reached the medium would begin, and the file is zeros from there on, the end. */
static int logfile_torn(struct ldb_logfile *log, size_t len, const char *what)
{
	size_t data = log->len, zeros;
	bool zero;
	int err;

	while (data > log->at && log->block[data - 1] == 0)
		data--;
	zeros = data == log->at ? data
				: (data + LOGFILE_SECTOR - 1) / LOGFILE_SECTOR * LOGFILE_SECTOR;
	if (zeros >= log->len || zeros >= log->at + len)
		return logfile_damaged_piece(log, what);
	if (zeros >= log->at + LDB_LOGFILE_HEAD && !ldb_logfile_is_cut(log, zeros))
		return logfile_damaged_piece(log, what);
	err = logfile_zero_behind(log, &zero);
	if (err || !zero)
		return err ? err : logfile_damaged_piece(log, what);
	log->torn = true;
	log->at = log->len;
	return LDB_LOGFILE_END;
}

static int logfile_add(struct ldb_logfile *log, const unsigned char *data, size_t len)
{
	if (len > log->record_room - log->record_len) {
		size_t room = 2 * (log->record_len + len) + 4096;
		unsigned char *record = realloc(log->record, room);

		if (!record)
			return -ENOMEM;
		log->record = record;
		log->record_room = room;
	}
	if (len > 0)
		memcpy(log->record + log->record_len, data, len);
	log->record_len += len;
	return 0;
}

/* A piece with a right checksum. 0: the record goes on. */
static int logfile_piece(struct ldb_logfile *log, unsigned int type, const unsigned char *data,
			 size_t len)
{
	bool starts = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_FIRST;
	bool ends = type == LDB_LOGFILE_FULL || type == LDB_LOGFILE_LAST;
	int err;

	if (!ldb_logfile_is_type(type))
		return logfile_damaged_piece(log, "a record of an unknown type");
	if (starts && log->in_record && log->record_len > 0)
		return logfile_damage(log, "a record without its end"); /* this one comes again */
	if (!starts && !log->in_record) {
		bool told = log->skipping;

		if (!told)
			logfile_damage(log, "a record without its start");
		log->at += LDB_LOGFILE_HEAD + len;
		return told ? 0 : LDB_LOGFILE_DAMAGE;
	}
	if (starts)
		log->record_len = 0;
	log->skipping = false;
	log->in_record = !ends;
	err = logfile_add(log, data, len);
	log->at += LDB_LOGFILE_HEAD + len;
	if (!err && ends)
		log->end = log->base + log->at;
	return err ? err : ends;
}

/* Zeros where a record should start: space that the filesystem gave before what was to be in it. */
static int logfile_zeros(struct ldb_logfile *log)
{
	if (log->in_record || !ldb_logfile_all_zero(log->block + log->at, log->len - log->at))
		return logfile_torn(log, LDB_LOGFILE_HEAD, "zeros in place of a record");
	log->zeros = true;
	log->at = log->len;
	return 0;
}

/* A piece of so many bytes that reaches beyond what there is of the block. */
static int logfile_beyond(struct ldb_logfile *log, size_t len, bool last)
{
	if (!last)
		return logfile_damaged_piece(log, "a record of a wrong length");
	if (!ldb_logfile_is_cut(log, log->len))
		return logfile_torn(log, LDB_LOGFILE_HEAD + len,
				    ldb_logfile_is_type(log->block[log->at + 6])
					    ? "a record of a wrong length"
					    : "a record of an unknown type");
	log->at = log->len; /* it was being written */
	return 0;
}

/* The next event of the block, which has room for a header; 0: look further. */
static int logfile_step(struct ldb_logfile *log, bool last)
{
	const unsigned char *head = log->block + log->at;
	size_t left = log->len - log->at - LDB_LOGFILE_HEAD;
	size_t len = ldb_logfile_len(head);

	if (head[6] == LDB_LOGFILE_ZERO && len == 0)
		return logfile_zeros(log);
	if (log->zeros) {
		log->zeros = false;
		return logfile_damage(log, "zeros in place of records before this");
	}
	if (len > left)
		return logfile_beyond(log, len, last);
	if (ldb_logfile_crc(head, len) != ldb_get32le(head))
		return logfile_torn(log, LDB_LOGFILE_HEAD + len,
				    "a record whose checksum is wrong");
	return logfile_piece(log, head[6], head + LDB_LOGFILE_HEAD, len);
}

/* The end; behind so many zeros LevelDB would not find it in good time. */
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
		event = logfile_read(log);
		if (!event && log->len == 0)
			return logfile_end(log);
	}
	if (event == LDB_LOGFILE_RECORD)
		*record = (struct wcs_slice){log->record, log->record_len};
	return event;
}
