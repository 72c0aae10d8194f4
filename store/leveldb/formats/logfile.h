/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's log format, that of its logs and MANIFESTs: records in blocks of 32 KiB, each record in
 * one piece or several, each piece with a checksum. One thread for each reader.
 */
#ifndef WCS_LEVELDB_LOGFILE_H
#define WCS_LEVELDB_LOGFILE_H

#include "store/leveldb/encoding/buffer.h"

#define LDB_LOGFILE_BLOCK 32768u
#define LDB_LOGFILE_HEAD  7u

enum ldb_logfile_event {
	LDB_LOGFILE_END = 0,	/* the file ends, or what was written of it before a crash */
	LDB_LOGFILE_RECORD = 1, /* the next whole record */
	LDB_LOGFILE_DAMAGE = 2, /* a damaged record, behind which the reader can go on */
};

struct ldb_logfile {
	int fd;
	uint64_t base;	/* offset of the block in the file */
	size_t len, at; /* bytes of the block; offset of the next piece */
	uint64_t end;	/* offset behind the last whole record */
	bool started;	/* a block was read */
	bool zeros;	/* zeros were read: only zeros may follow */
	bool torn;	/* at the end: from within a record on there are zeros, which LevelDB takes
			 * for damage, or more of them than LevelDB should read */
	bool skipping;	/* behind damage: pieces of the damaged record may follow */
	bool in_record;
	/* of the last damage */
	uint64_t damaged_at;
	const char *damage;
	struct ldb_buffer record;
	unsigned char block[LDB_LOGFILE_BLOCK];
};

/* The caller frees record.data at the end. */
void ldb_logfile_init(struct ldb_logfile *log, int fd);
/* Reads the next event; -ENOMEM, -EIO. The record is valid until the next call. */
int ldb_logfile_next(struct ldb_logfile *log, struct wcs_slice *record);

/* Is a log's record exactly a batch? */
bool ldb_logfile_is_batch(struct wcs_slice record);
/* Are a batch's sequence numbers at least *next, and such as LevelDB can have? Then *next becomes
 * the one behind them. LevelDB aborts if a key has the same one twice. */
bool ldb_logfile_in_sequence(struct wcs_slice batch, uint64_t *next);
/* Calls each for the changes of a batch, until one returns another number than 0; returns that. */
int ldb_logfile_changes(struct wcs_slice batch,
			int (*each)(void *ctx, uint64_t tag, struct wcs_slice key,
				    struct wcs_slice value),
			void *ctx);

/* Truncates a torn file at end, behind its last whole record, durably. First it copies the bytes
 * there up to the last one that is not zero to the file DIRECTORY_TORN NAME "-" END beside the
 * directory: *kept bytes; 0: there is no such file. -ENOSPC, -EIO. */
int ldb_logfile_cut(int dir, const char *name, uint64_t end, uint64_t *kept);

#endif
