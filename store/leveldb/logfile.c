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
 * LevelDB takes a piece that reaches beyond the end of the file for one that was being written when
 * the machine went down, and a damaged length looks the same. Here the two are told apart: where
 * the checksum is right for fewer bytes, which are there, the piece was whole and its length is
 * wrong.
 *
 * A power cut can leave the length that a file had, and zeros where its last writes should be: the
 * length is in the filesystem's journal before the bytes are on the medium. Of a piece there is
 * then nothing, or what went before a sector's end. LevelDB takes that for damage. So a log that
 * is zeros to its end, from such a place within a record on, ends there. Only writes that no sync
 * had reached can be missing; but a damaged bit in the last record, where that ends in zeros, looks
 * the same. So what is cut is kept.
 */
#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "crc.h"
#include "directory.h"
#include "file.h"

#define LOGFILE_SECTOR	   512u
#define LOGFILE_BATCH_HEAD 12u

enum { LOGFILE_ZERO = 0, LOGFILE_FULL, LOGFILE_FIRST, LOGFILE_MIDDLE, LOGFILE_LAST };

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

/* What follows in the block cannot be told: the length may be what is damaged. */
static int logfile_damaged_block(struct ldb_logfile *log, const char *what)
{
	logfile_damage(log, what);
	log->at = log->len;
	return LDB_LOGFILE_DAMAGE;
}

static bool logfile_all_zero(const unsigned char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Is all of the file behind the block zero? */
static int logfile_zero_behind(const struct ldb_logfile *log, bool *zero)
{
	unsigned char data[4096];
	off_t at = (off_t)(log->base + log->len);
	ssize_t got;

	*zero = true;
	while (*zero && (got = pread(log->fd, data, sizeof(data), at)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		*zero = logfile_all_zero(data, (size_t)got);
		at += got;
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
		return logfile_damaged_block(log, what);
	err = logfile_zero_behind(log, &zero);
	if (err || !zero)
		return err ? err : logfile_damaged_block(log, what);
	log->torn = true;
	log->at = log->len;
	return LDB_LOGFILE_END;
}

/* The checksum over the type and so many bytes. */
static uint32_t logfile_crc(const unsigned char *head, size_t len)
{
	return wcs_crc_mask(wcs_crc_extend(0, head + 6, 1 + len));
}

/* A piece that reaches beyond the file's end: was it written whole, so that its length is wrong? */
static bool logfile_was_whole(const unsigned char *head, size_t len)
{
	uint32_t stored = ldb_get32le(head), crc = wcs_crc_extend(0, head + 6, 1);

	for (size_t i = 0; i < len; i++) {
		if (wcs_crc_mask(crc) == stored)
			return true;
		crc = wcs_crc_extend(crc, head + LDB_LOGFILE_HEAD + i, 1);
	}
	return wcs_crc_mask(crc) == stored;
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
static int logfile_piece(struct ldb_logfile *log, int type, const unsigned char *data, size_t len)
{
	bool starts = type == LOGFILE_FULL || type == LOGFILE_FIRST;
	bool ends = type == LOGFILE_FULL || type == LOGFILE_LAST;
	int err;

	if (type == LOGFILE_ZERO || type > LOGFILE_LAST)
		return logfile_damaged_block(log, "a record of an unknown type");
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
	if (log->in_record || !logfile_all_zero(log->block + log->at, log->len - log->at))
		return logfile_torn(log, LDB_LOGFILE_HEAD, "zeros in place of a record");
	log->zeros = true;
	log->at = log->len;
	return 0;
}

/* The next event of the block, which has room for a header; 0: look further. */
static int logfile_step(struct ldb_logfile *log, bool last)
{
	const unsigned char *head = log->block + log->at;
	size_t left = log->len - log->at - LDB_LOGFILE_HEAD;
	size_t len = (size_t)head[4] | (size_t)head[5] << 8;

	if (head[6] == LOGFILE_ZERO && len == 0)
		return logfile_zeros(log);
	if (log->zeros) {
		log->zeros = false;
		return logfile_damage(log, "zeros in place of records before this");
	}
	if (len > left && last && !logfile_was_whole(head, left)) {
		log->at = log->len; /* it was being written */
		return 0;
	}
	if (len > left)
		return logfile_damaged_block(log, "a record of a wrong length");
	if (logfile_crc(head, len) != ldb_get32le(head))
		return logfile_torn(log, LDB_LOGFILE_HEAD + len,
				    "a record whose checksum is wrong");
	return logfile_piece(log, head[6], head + LDB_LOGFILE_HEAD, len);
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
			return LDB_LOGFILE_END;
		event = logfile_read(log);
		if (!event && log->len == 0)
			return LDB_LOGFILE_END;
	}
	if (event == LDB_LOGFILE_RECORD)
		*record = (struct wcs_slice){log->record, log->record_len};
	return event;
}

/* ---- Batches ----------------------------------------------------------------------------- */

bool ldb_logfile_is_batch(struct wcs_slice record)
{
	const unsigned char *data = record.data;
	struct ldb_rest rest, bytes;
	uint64_t count;

	if (record.len < LOGFILE_BATCH_HEAD)
		return false;
	rest = (struct ldb_rest){data + LOGFILE_BATCH_HEAD, record.len - LOGFILE_BATCH_HEAD};
	for (count = ldb_get32le(data + 8); count > 0 && rest.len > 0; count--) {
		unsigned char type = *rest.data++;

		rest.len--;
		if (type > 1 || !ldb_rest_text(&rest, &bytes) ||
		    (type == 1 && !ldb_rest_text(&rest, &bytes)))
			return false;
	}
	return count == 0 && rest.len == 0;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Where zeros begin that go to the end of the file; at least end. */
static int logfile_zeros_from(int fd, uint64_t end, uint64_t *from)
{
	unsigned char data[4096];
	uint64_t at = end;
	ssize_t got;

	*from = end;
	while ((got = pread(fd, data, sizeof(data), (off_t)at)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != 0)
				*from = at + (uint64_t)i + 1;
		at += (uint64_t)got;
	}
	return 0;
}

static int logfile_copy(int from, int to, uint64_t at, uint64_t end)
{
	unsigned char data[4096];
	uint64_t put = 0;
	int err = 0;

	while (!err && at < end) {
		size_t some = end - at < sizeof(data) ? (size_t)(end - at) : sizeof(data);
		ssize_t got = pread(from, data, some, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO;
		err = ldb_file_write(to, data, (size_t)got, &put);
		at += (uint64_t)got;
	}
	return !err && fsync(to) ? -EIO : err;
}

/* Bytes from at to end of the log, beside its directory, durably. The same bytes once more where a
 * crash came between this and the cut. */
static int logfile_keep(int dir, int log, const char *name, uint64_t at, uint64_t end)
{
	int beside = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char kept[64];
	int fd = -1, err = beside < 0 ? -EIO : 0;

	snprintf(kept, sizeof(kept), DIRECTORY_TORN "%s-%" PRIu64, name, at);
	if (!err)
		fd = openat(beside, kept, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	if (!err && fd < 0)
		err = ldb_file_errno();
	if (!err)
		err = logfile_copy(log, fd, at, end);
	if (!err && fsync(beside))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (beside >= 0)
		close(beside);
	return err;
}

int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	uint64_t zeros = end;
	int err = fd < 0 ? -EIO : logfile_zeros_from(fd, end, &zeros);

	if (!err && zeros > end)
		err = logfile_keep(dir, fd, name, end, zeros);
	if (!err && (ftruncate(fd, (off_t)end) || fsync(fd)))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (!err)
		*kept = zeros - end;
	return err;
}

int ldb_logfile_append(int fd, uint64_t *at, const void *data, size_t len)
{
	static const unsigned char zeros[LDB_LOGFILE_HEAD];
	unsigned char piece[LDB_LOGFILE_BLOCK];
	const unsigned char *from = data;
	bool first = true, last;
	int err = 0;

	do {
		size_t left = LDB_LOGFILE_BLOCK - (size_t)(*at % LDB_LOGFILE_BLOCK), some;

		if (left < LDB_LOGFILE_HEAD) {
			err = ldb_file_write(fd, zeros, left, at);
			left = LDB_LOGFILE_BLOCK;
		}
		some = len < left - LDB_LOGFILE_HEAD ? len : left - LDB_LOGFILE_HEAD;
		last = some == len;
		piece[4] = (unsigned char)some;
		piece[5] = (unsigned char)(some >> 8);
		piece[6] = first ? (last ? LOGFILE_FULL : LOGFILE_FIRST)
				 : (last ? LOGFILE_LAST : LOGFILE_MIDDLE);
		if (some > 0)
			memcpy(piece + LDB_LOGFILE_HEAD, from, some);
		ldb_put32le(piece, logfile_crc(piece, some));
		if (!err)
			err = ldb_file_write(fd, piece, LDB_LOGFILE_HEAD + some, at);
		from += some;
		len -= some;
		first = false;
	} while (!err && !last);
	return err;
}
