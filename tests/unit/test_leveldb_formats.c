/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's formats without a store.
 *
 * A log that was cut anywhere, or has zeros from the start of a sector on, was being written when
 * the machine went down. That is no damage.
 */
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "tests/unit/forge_write.h"
#include "tests/unit/suite.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- Logs -------------------------------------------------------------------------------- */

/* Batches, each of one change: "k" gets a value of that length. */
static int make_log(size_t len, size_t batches)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	unsigned char *batch = malloc(len + 64);
	uint64_t at = 0;
	size_t head;

	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < batches; i++) {
		put_le64(batch, i + 1);
		put_le32(batch + 8, 1);
		memcpy(batch + 12, "\1\1k", 3);
		head = 15 + write_varint(batch + 15, len);
		for (size_t k = 0; k < len; k++)
			batch[head + k] = (unsigned char)('a' + (k + i) % 7);
		SUITE_OK(write_record(fd, &at, batch, head + len));
	}
	free(batch);
	return fd;
}

/* Its whole records, if it is cut there; damage is none. */
static int records_of(int fd, off_t size)
{
	static struct ldb_logfile log;
	struct wcs_slice record;
	int records = 0;

	SUITE_OK(ftruncate(fd, size));
	ldb_logfile_init(&log, fd);
	while (ldb_logfile_next(&log, &record) == 1)
		records++;
	ck_assert_msg(log.damage.count == 0, "cut at %lld: %s at %llu", (long long)size,
		      log.damage.what, (unsigned long long)log.damage.at);
	free(log.record.data);
	return records;
}

SUITE_TEST(test_cut_logs, 60)
{
	static const size_t lens[] = {20, 1000, 9000, 40000};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		int fd = make_log(lens[i], 80000 / lens[i] % 1000);
		off_t size = lseek(fd, 0, SEEK_END);
		int records = records_of(fd, size), before;

		for (off_t at = size - 1; at >= 0; at -= at % 1024 < 40 ? 1 : 7) {
			before = records;
			records = records_of(fd, at);
			ck_assert_int_le(records, before);
			if (at % 512 == 0) /* zeros behind a sector's end */
				ck_assert_int_eq(records_of(fd, at + 700), records);
		}
		ck_assert_int_eq(records, 0);
		close(fd);
	}
}

/* ---- Blocks ------------------------------------------------------------------------------ */

/* From there LevelDB would find no entry, so a scan backwards would find none of the block. */
SUITE_TEST(test_restart_behind_the_entries, 20)
{
	unsigned char block[] = {0, 9, 1, 'k', 1, 1, 0, 0, 0, 0, 0, 0, 'v', /* an entry */
				 0, 0, 0, 0,   1, 0, 0, 0, 0, 0, 0, 0};
	static struct ldb_block reader;

	SUITE_OK(ldb_block_check(&reader, block, sizeof(block) - 4));
	ck_assert_int_eq(ldb_block_check(&reader, block, 3), -EIO); /* too short for a count */
	block[17] = 13;
	block[21] = 2;
	ck_assert_int_eq(ldb_block_check(&reader, block, sizeof(block)), -EIO);
}
