/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's log format, in which its logs and MANIFESTs are: records in blocks of 32 KiB, each
 * record in one piece or in several, each piece with a checksum.
 */
#ifndef WCS_LEVELDB_LOGFILE_H
#define WCS_LEVELDB_LOGFILE_H

#include "store/store.h"

#define LDB_LOGFILE_BLOCK 32768u
#define LDB_LOGFILE_HEAD  7u

enum ldb_logfile_event {
	LDB_LOGFILE_END = 0,	/* of the file, or of what of it was written when all ended */
	LDB_LOGFILE_RECORD = 1, /* the next whole record */
	LDB_LOGFILE_DAMAGE = 2, /* what stands here is no record; reading can go on behind it */
};

struct ldb_logfile {
	int fd;
	uint64_t base;	/* where the block stands in the file */
	size_t len, at; /* of the block; what is read of it */
	uint64_t end;	/* behind the last whole record */
	bool started;	/* a block was read */
	bool zeros;	/* zeros were passed: nothing but zeros may follow */
	bool torn;	/* from within a record on it is zeros, which LevelDB takes for damage, or
			 * there are more of them than LevelDB should read */
	bool skipping;	/* behind damage: pieces of a record without its start are of that */
	bool in_record;
	/* of the last damage */
	uint64_t damaged_at;
	const char *damage;
	/* the record */
	unsigned char *record;
	size_t record_len, record_room;
	unsigned char block[LDB_LOGFILE_BLOCK];
};

void ldb_logfile_init(struct ldb_logfile *log, int fd);
void ldb_logfile_free(struct ldb_logfile *log);
/* An event, or -ENOMEM, -EIO. The record is good until the next call. */
int ldb_logfile_next(struct ldb_logfile *log, struct wcs_slice *record);

/* Is the record of a log a batch as LevelDB writes them, to its end? */
bool ldb_logfile_is_batch(struct wcs_slice record);
/* Are the sequence numbers of a batch at least *next, and none too high? Then *next is the one
 * behind them. LevelDB ends the process where one is too high, or a key has one twice. */
bool ldb_logfile_in_sequence(struct wcs_slice batch, uint64_t *next);

/*
 * Takes all behind the last whole record, which ends at end, off a log that is torn, durably. What
 * stands there up to the last byte that is not zero is before that in a file of its own beside the
 * directory, DIRECTORY_TORN NAME "-" END: of *kept bytes, 0: there is none. -ENOSPC, -EIO.
 */
int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept);
/* Writes a record at *at, the length of the file so far, and moves that. */
int ldb_logfile_append(int fd, uint64_t *at, const void *data, size_t len);

#endif
