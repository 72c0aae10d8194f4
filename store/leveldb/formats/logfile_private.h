/* SPDX-License-Identifier: MIT */
/* Pieces of logs, private to logfile*.c. */
#ifndef WCS_LEVELDB_LOGFILE_PRIVATE_H
#define WCS_LEVELDB_LOGFILE_PRIVATE_H

#include <string.h>

#include "store/disk/crc.h"
#include "store/leveldb/formats/logfile.h"

enum ldb_logfile_type {
	LDB_LOGFILE_ZERO = 0,
	LDB_LOGFILE_FULL = 1,
	LDB_LOGFILE_FIRST = 2,
	LDB_LOGFILE_MIDDLE = 3,
	LDB_LOGFILE_LAST = 4,
};

static inline bool ldb_logfile_is_type(unsigned int type)
{
	return type >= LDB_LOGFILE_FULL && type <= LDB_LOGFILE_LAST;
}

/* The length of a piece, from its header. */
static inline size_t ldb_logfile_len(const unsigned char *head)
{
	return (size_t)head[4] | (size_t)head[5] << 8;
}

/* The checksum of a piece's type and len bytes. */
static inline uint32_t ldb_logfile_crc(const unsigned char *head, size_t len)
{
	return wcs_crc_mask(wcs_crc_extend(0, head + 6, 1 + len));
}

static inline bool ldb_logfile_all_zero(const unsigned char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Was the piece at log->at, whose bytes the block has up to `have`, being written at the crash?
 * Else its header is damaged. */
bool ldb_logfile_is_cut(const struct ldb_logfile *log, size_t have);
/* The offset in the block where reading can go on behind the damaged piece at log->at. */
size_t ldb_logfile_behind(const struct ldb_logfile *log);

#endif
