/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's log format, that of its logs and MANIFESTs: records in blocks of 32 KiB, each record in
 * one piece or several, each piece with a checksum. One thread for each reader.
 */
#ifndef WCS_LEVELDB_LOGFILE_H
#define WCS_LEVELDB_LOGFILE_H

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/formats/file.h"

#define LDB_LOGFILE_BLOCK 32768u
#define LDB_LOGFILE_HEAD  7u

enum ldb_logfile_type {
	LDB_LOGFILE_ZERO = 0,
	LDB_LOGFILE_FULL = 1,
	LDB_LOGFILE_FIRST = 2,
	LDB_LOGFILE_MIDDLE = 3,
	LDB_LOGFILE_LAST = 4,
};

struct ldb_logfile {
	int fd;
	uint64_t base;	/* offset of the block in the file */
	size_t len, at; /* bytes of the block; offset of the next piece */
	uint64_t end;	/* offset behind the last whole record */
	bool ended;
	bool zeros; /* zeros were read: only zeros may follow */
	bool torn;  /* at the end: from within a record on there are zeros, which LevelDB takes
		     * for damage, or more of them than LevelDB should read */
	uint64_t zeros_at; /* of a torn file: behind the last byte that is not zero */
	bool skipping;	   /* behind damage: pieces of the damaged record may follow */
	bool in_record;
	struct ldb_damage damage; /* so far; the reader goes on behind it */
	struct ldb_buffer record;
	unsigned char block[LDB_LOGFILE_BLOCK];
};

/* The caller frees record.data at the end. */
void ldb_logfile_init(struct ldb_logfile *log, int fd);
/* Reads the next whole record, which is valid until the next call: 1; 0: the file ends, or what was
 * written of it before a crash. -ENOMEM. */
int ldb_logfile_next(struct ldb_logfile *log, struct wcs_slice *record);

/* Calls each for the changes of a log's record, until one returns another number than 0; returns
 * that. each NULL: calls nothing. -EIO: the record is not exactly a batch. */
int ldb_logfile_changes(struct wcs_slice batch,
			int (*each)(void *ctx, uint64_t tag, struct wcs_slice key,
				    struct wcs_slice value),
			void *ctx);

#endif
