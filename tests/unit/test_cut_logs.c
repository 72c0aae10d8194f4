/* SPDX-License-Identifier: MIT */
/*
 * A log that was cut anywhere, or has zeros from the start of a sector on, was being written when
 * the machine went down. That is no damage, even if its values hold parts of logs.
 */
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"
#include "tests/unit/suite.h"

#include <sys/mman.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 17 };

/* Batches with values of a length, which are `value` over and over, moved a byte by each. */
static int make_log(const unsigned char *value, size_t value_len, size_t len, int batches)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	unsigned char *batch = malloc(len + 64), *bytes = malloc(len);
	uint64_t at = 0;
	size_t head;

	ck_assert_int_ge(fd, 0);
	for (int i = 0; i < batches; i++) {
		for (size_t k = 0; k < len; k++)
			bytes[k] = value[(k + (size_t)i) % value_len];
		/* One change: "k" gets the bytes. */
		put_le64(batch, (uint64_t)i + 1);
		put_le32(batch + 8, 1);
		memcpy(batch + 12, "\1\1k", 3);
		head = 15 + ldb_put_varint(batch + 15, len);
		memcpy(batch + head, bytes, len);
		SUITE_OK(ldb_logfile_append(fd, &at, batch, head + len));
	}
	free(batch);
	free(bytes);
	return fd;
}

/* Its whole records; damage is none. */
static int records_of(int fd, const char *what, off_t size)
{
	static struct ldb_logfile log;
	struct wcs_slice record;
	int records = 0, event;

	ldb_logfile_init(&log, fd);
	while ((event = ldb_logfile_next(&log, &record)) == LDB_LOGFILE_RECORD)
		records++;
	ck_assert_msg(event == LDB_LOGFILE_END, "%s, cut at %lld: %s at %llu", what,
		      (long long)size, log.damage, (unsigned long long)log.damaged_at);
	free(log.record.data);
	return records;
}

SUITE_TEST(test_cut, 60)
{
	static unsigned char value[FILE_MAX];
	static const size_t lens[] = {20, 1000, 9000, 40000};
	int inner = make_log((const unsigned char *)"abc", 3, 20, 60), fd;
	ssize_t len = pread(inner, value, sizeof(value), 0);

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		off_t size;
		int records, before;

		fd = make_log(value, (size_t)len, lens[i], (int)(80000 / lens[i] % 1000));
		/* Cut anywhere, and with zeros behind a sector's end. */
		size = lseek(fd, 0, SEEK_END);
		records = records_of(fd, "a log of logs", size);
		for (off_t at = size - 1; at >= 0; at -= at % 1024 < 40 ? 1 : 7) {
			SUITE_OK(ftruncate(fd, at));
			before = records;
			records = records_of(fd, "a log of logs", at);
			ck_assert_int_le(records, before);
			if (at % 512 != 0)
				continue;
			SUITE_OK(ftruncate(fd, at + 700));
			ck_assert_int_eq(records_of(fd, "a log of logs", at), records);
		}
		ck_assert_int_eq(records, 0);
		close(fd);
	}
	close(inner);
}
