/* SPDX-License-Identifier: MIT */
/* What those who read, judge and write pieces of logs share. */
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

/* The bytes of a piece, as its header has them. */
static inline size_t ldb_logfile_len(const unsigned char *head)
{
	return (size_t)head[4] | (size_t)head[5] << 8;
}

/* The checksum over a piece's type and so many bytes. */
static inline uint32_t ldb_logfile_crc(const unsigned char *head, size_t len)
{
	return wcs_crc_mask(wcs_crc_extend(0, head + 6, 1 + len));
}

static inline bool ldb_logfile_all_zero(const unsigned char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Is the piece at log->at, of which the block has what stands before `have`, one that was being
 * written? Else its header is damaged. */
bool ldb_logfile_is_cut(const struct ldb_logfile *log, size_t have);
/* The place in the block where reading can go on behind the damaged piece at log->at. */
size_t ldb_logfile_behind(const struct ldb_logfile *log);

#endif
