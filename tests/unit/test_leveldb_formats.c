/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's formats without a store.
 *
 * A log that was cut anywhere, or has zeros from the start of a sector on, was being written when
 * the machine went down. That is no damage, even if its values hold parts of logs. No MANIFEST is
 * written whose tables overlap, on which LevelDB would abort.
 */
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/manifest.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Logs -------------------------------------------------------------------------------- */

/* Batches with values of a length, which are `value` over and over, moved a byte by each. */
static int make_log(const unsigned char *value, size_t value_len, size_t len, size_t batches)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	unsigned char *batch = malloc(len + 64);
	uint64_t at = 0;
	size_t head;

	ck_assert_int_ge(fd, 0);
	for (size_t i = 0; i < batches; i++) {
		/* One change: "k" gets the bytes. */
		put_le64(batch, i + 1);
		put_le32(batch + 8, 1);
		memcpy(batch + 12, "\1\1k", 3);
		head = 15 + ldb_put_varint(batch + 15, len);
		for (size_t k = 0; k < len; k++)
			batch[head + k] = value[(k + i) % value_len];
		SUITE_OK(ldb_logfile_append(fd, &at, batch, head + len));
	}
	free(batch);
	return fd;
}

/* Its whole records, if it is cut there; damage is none. */
static int records_of(int fd, off_t size)
{
	static struct ldb_logfile log;
	struct wcs_slice record;
	int records = 0, event;

	SUITE_OK(ftruncate(fd, size));
	ldb_logfile_init(&log, fd);
	while ((event = ldb_logfile_next(&log, &record)) == LDB_LOGFILE_RECORD)
		records++;
	ck_assert_msg(event == LDB_LOGFILE_END, "cut at %lld: %s at %llu", (long long)size,
		      log.damage, (unsigned long long)log.damaged_at);
	free(log.record.data);
	return records;
}

SUITE_TEST(test_cut_logs, 60)
{
	static unsigned char value[1 << 17];
	static const size_t lens[] = {20, 1000, 9000, 40000};
	int inner = make_log((const unsigned char *)"abc", 3, 20, 60);
	size_t len = (size_t)pread(inner, value, sizeof(value), 0);

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		int fd = make_log(value, len, lens[i], 80000 / lens[i] % 1000);
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
	close(inner);
}

/* ---- Blocks ------------------------------------------------------------------------------ */

/* From there LevelDB would find no entry, so a scan backwards would find none of the block. */
SUITE_TEST(test_restart_behind_the_entries, 20)
{
	unsigned char block[] = {0, 9, 1, 'k', 1, 1, 0, 0, 0, 0, 0, 0, 'v', /* an entry */
				 0, 0, 0, 0,   1, 0, 0, 0, 0, 0, 0, 0};

	SUITE_OK(ldb_block_check(block, sizeof(block) - 4));
	ck_assert_int_eq(ldb_block_check(block, 3), -EIO); /* too short for a count */
	block[17] = 13;
	block[21] = 2;
	ck_assert_int_eq(ldb_block_check(block, sizeof(block)), -EIO);
}

/* ---- MANIFESTs --------------------------------------------------------------------------- */

#define KEY(letter) SUITE_BYTES(letter "\1\2\0\0\0\0\0\0")

SUITE_TEST(test_overlap_is_not_written, 20)
{
	const struct ldb_manifest_table tables[] = {{.number = 11,
						     .level = 1,
						     .size = 100,
						     .smallest = KEY("a0"),
						     .largest = KEY("a9")},
						    {.number = 12,
						     .level = 1,
						     .size = 100,
						     .smallest = KEY("b0"),
						     .largest = KEY("b9")},
						    {.number = 13,
						     .level = 1,
						     .size = 100,
						     .smallest = KEY("c0"),
						     .largest = KEY("c9")}};
	struct ldb_manifest_table by = {
		.number = 40, .level = 1, .size = 100, .smallest = KEY("b3"), .largest = KEY("c1")};
	struct ldb_manifest manifest = {.next_file = 15, .name = "MANIFEST-000014"};
	struct wcs_fault fault = {.text = ""};
	char name[LDB_FILE_NAME_MAX], path[300];
	int dir;

	snprintf(path, sizeof(path), "%s/files", suite_directory());
	SUITE_OK(mkdir(path, 0700));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		SUITE_OK(ldb_manifest_add(&manifest, &tables[i]));
	SUITE_OK(ldb_manifest_write(dir, &manifest));
	SUITE_OK(ldb_manifest_set_current(dir, manifest.name));
	ck_assert_int_eq(ldb_manifest_replace(dir, &manifest, 12, &by), -EIO);
	ldb_manifest_free(&manifest);
	SUITE_OK(ldb_manifest_read(dir, "MANIFEST-000014", &manifest, NULL));
	by.largest = KEY("b7");
	SUITE_OK(ldb_manifest_replace(dir, &manifest, 12, &by));
	ldb_manifest_free(&manifest);
	ck_assert_int_ne(faccessat(dir, "MANIFEST-000014", F_OK, 0), 0);
	SUITE_OK(ldb_manifest_current(dir, name, NULL));
	SUITE_OK(ldb_manifest_read(dir, name, &manifest, NULL));
	ck_assert_ptr_null(ldb_manifest_find(&manifest, 12));
	by.number = 41;
	manifest.next_file = 42;
	SUITE_OK(ldb_manifest_add(&manifest, &by));
	ck_assert_int_eq(ldb_manifest_check(&manifest, &fault), -EIO);
	ck_assert_str_eq(fault.text, "tables 000040.ldb and 000041.ldb of level 1 overlap");
	snprintf(manifest.name, sizeof(manifest.name), "MANIFEST-000050");
	ck_assert_int_eq(ldb_manifest_write(dir, &manifest), -EIO);
	ck_assert_int_ne(faccessat(dir, "MANIFEST-000050", F_OK, 0), 0);
	ldb_manifest_free(&manifest);
	close(dir);
	suite_remove(path);
}
