/* SPDX-License-Identifier: MIT */
/*
 * LevelDB's files as fsck.rowfs reads them. The input gives their content; their checksums are
 * right, so that the reader goes past them.
 *
 * The input is pieces: a byte for the kind, the length in two bytes, and so many bytes.
 */
#include "tests/fuzz/fuzz.h"

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"
#include "tests/unit/forge_write.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct files_fuzz_piece {
	unsigned int kind;
	struct wcs_slice bytes;
};

static bool files_fuzz_take(const uint8_t **data, size_t *size, struct files_fuzz_piece *piece)
{
	size_t len;

	if (*size == 0)
		return false;
	piece->kind = fuzz_byte(data, size);
	len = fuzz_byte(data, size);
	len |= (size_t)fuzz_byte(data, size) << 8;
	if (len > *size)
		len = *size;
	piece->bytes = (struct wcs_slice){*data, len};
	*data += len;
	*size -= len;
	return true;
}

static int files_fuzz_memory(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	return fd;
}

static void files_fuzz_write(int fd, const void *bytes, size_t len)
{
	FUZZ_CHECK(write(fd, bytes, len) == (ssize_t)len);
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Entries are in order, and end. */
static void files_fuzz_visit(int fd)
{
	static unsigned char bytes[65536];
	struct ldb_tablefile *table = calloc(1, sizeof(*table));
	struct wcs_slice last = {bytes, 0};
	int rc;

	table->fd = fd;
	table->size = (uint64_t)lseek(fd, 0, SEEK_END);
	FUZZ_CHECK(ldb_tablefile_open(table) == 0);
	while ((rc = ldb_tablefile_next(table)) == 1) {
		struct wcs_slice key = table->data.key;

		FUZZ_CHECK(key.len >= 8 && key.len <= sizeof(bytes));
		FUZZ_CHECK(last.len == 0 || ldb_internal_compare(last, key) < 0);
		memcpy(bytes, key.data, key.len);
		last.len = key.len;
	}
	FUZZ_CHECK(rc == 0);
	ldb_tablefile_close(table);
	free(table);
}

/* A block with its checksum. Returns where it stands. */
static uint64_t files_fuzz_block(int fd, const struct files_fuzz_piece *piece)
{
	uint64_t at = (uint64_t)lseek(fd, 0, SEEK_END);
	unsigned char *block = malloc(piece->bytes.len + LDB_TABLEFILE_TRAILER);
	size_t len = piece->bytes.len;

	if (len > 0)
		memcpy(block, piece->bytes.data, len);
	block[len] = (unsigned char)(piece->kind % 3);
	put_le32(block + len + 1, wcs_crc_mask(wcs_crc_extend(0, block, len + 1)));
	files_fuzz_write(fd, block, len + LDB_TABLEFILE_TRAILER);
	free(block);
	return at;
}

/* Blocks, of which the last two are the metaindex and the index. */
static void files_fuzz_blocks(int fd, const uint8_t *data, size_t size)
{
	unsigned char footer[LDB_TABLEFILE_FOOTER] = {0};
	uint64_t at[2] = {0, 0}, len[2] = {0, 0};
	struct files_fuzz_piece piece;
	size_t used = 0;

	while (files_fuzz_take(&data, &size, &piece)) {
		at[0] = at[1];
		len[0] = len[1];
		len[1] = piece.bytes.len;
		at[1] = files_fuzz_block(fd, &piece);
	}
	for (int i = 0; i < 2; i++) {
		used += write_varint(footer + used, at[i]);
		used += write_varint(footer + used, len[i]);
	}
	put_le64(footer + LDB_TABLEFILE_FOOTER - 8, LDB_TABLEFILE_MAGIC);
	files_fuzz_write(fd, footer, sizeof(footer));
}

static void files_fuzz_table(const uint8_t *data, size_t size)
{
	int fd = files_fuzz_memory();

	files_fuzz_blocks(fd, data, size);
	files_fuzz_visit(fd);
	close(fd);
}

/* ---- Logs -------------------------------------------------------------------------------- */

/* Reads to the end, which there is. Returns how many bytes of records there are. */
static uint64_t files_fuzz_read_log(int fd, uint64_t *damages, uint32_t *crc)
{
	struct ldb_logfile *log = malloc(sizeof(*log));
	off_t size = lseek(fd, 0, SEEK_END);
	uint64_t bytes = 0, events = 0;
	struct wcs_slice record;
	int rc;

	ldb_logfile_init(log, fd);
	*crc = 0;
	while ((rc = ldb_logfile_next(log, &record)) == 1) {
		FUZZ_CHECK(++events <= (uint64_t)size + 2);
		bytes += record.len;
		*crc = wcs_crc_extend(*crc, record.data, record.len);
	}
	*damages = log->damage.count;
	FUZZ_CHECK(rc == 0 && log->end <= (uint64_t)size && bytes <= (uint64_t)size);
	FUZZ_CHECK(log->damage.at <= (uint64_t)size);
	free(log->record.data);
	free(log);
	return bytes;
}

/* Pieces as they stand in a log: type, and a checksum that is right but now and then. */
static void files_fuzz_log_pieces(int fd, const uint8_t *data, size_t size)
{
	struct files_fuzz_piece piece;

	while (files_fuzz_take(&data, &size, &piece)) {
		unsigned char *bytes = malloc(LDB_LOGFILE_HEAD + piece.bytes.len);
		size_t len = piece.bytes.len;

		if (len > 0)
			memcpy(bytes + LDB_LOGFILE_HEAD, piece.bytes.data, len);
		bytes[4] = (unsigned char)(len + (piece.kind & 128 ? 300 : 0));
		bytes[5] = (unsigned char)((len + (piece.kind & 128 ? 300 : 0)) >> 8);
		bytes[6] = (unsigned char)(piece.kind % 6);
		put_le32(bytes,
			 wcs_crc_mask(wcs_crc_extend(0, bytes + 6, 1 + len)) ^ (piece.kind & 64));
		files_fuzz_write(fd, bytes, LDB_LOGFILE_HEAD + len);
		free(bytes);
	}
}

static void files_fuzz_log(const uint8_t *data, size_t size)
{
	int fd = files_fuzz_memory();
	uint64_t damages;
	uint32_t crc;

	files_fuzz_log_pieces(fd, data, size);
	files_fuzz_read_log(fd, &damages, &crc);
	close(fd);
}

/* Records that were written; kind: so many times 500 bytes more. */
static void files_fuzz_append(const uint8_t *data, size_t size)
{
	static unsigned char record[256 * 500 + 65536];
	int fd = files_fuzz_memory();
	struct files_fuzz_piece piece;
	uint64_t at = 0, bytes = 0;
	uint32_t expected = 0, crc;
	uint64_t damages;

	while (at < 1000000 && files_fuzz_take(&data, &size, &piece)) {
		size_t len = piece.bytes.len + 500 * (size_t)piece.kind;

		if (piece.bytes.len > 0)
			memcpy(record, piece.bytes.data, piece.bytes.len);
		FUZZ_CHECK(write_record(fd, &at, record, len) == 0);
		expected = wcs_crc_extend(expected, record, len);
		bytes += len;
	}
	FUZZ_CHECK(files_fuzz_read_log(fd, &damages, &crc) == bytes);
	FUZZ_CHECK(damages == 0 && crc == expected);
	close(fd);
}

/* ---- MANIFESTs and directories ----------------------------------------------------------- */

static int files_fuzz_make(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0);
	return fd;
}

/* Tables by number, and level. */
static void files_fuzz_manifest(int dir)
{
	struct ldb_manifest manifest;
	struct wcs_fault fault = {.text = ""};
	int err = ldb_manifest_read(dir, "MANIFEST-000001", &manifest, &fault);

	FUZZ_CHECK(err == 0 || err == -EIO);
	FUZZ_CHECK((err != 0) == (fault.text[0] != '\0'));
	if (err)
		return;
	for (size_t i = 0; i < manifest.count; i++) {
		const struct ldb_manifest_table *table = &manifest.tables[i];

		FUZZ_CHECK(table->level < LDB_MANIFEST_LEVELS);
		FUZZ_CHECK(table->smallest.len >= 8 && table->largest.len >= 8);
		FUZZ_CHECK(i == 0 || table[-1].number < table->number ||
			   (table[-1].number == table->number && table[-1].level <= table->level));
		FUZZ_CHECK(ldb_manifest_find(&manifest, table->number)->number == table->number);
	}
	ldb_manifest_free(&manifest);
}

static void files_fuzz_note(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)level;
	(void)text;
	(*(int *)ctx)++;
}

/* The check at the opening of a store: a part that was cut need not be cut again. */
static void files_fuzz_open(const char *path)
{
	struct wcs_fault fault = {.text = ""};
	int cut = 0;
	const struct wcs_options options = {.log = files_fuzz_note, .log_ctx = &cut};
	int err = ldb_files_check(path, &options, &fault);

	FUZZ_CHECK(err == 0 || (err == -EIO && fault.text[0] != '\0'));
	cut = 0;
	FUZZ_CHECK(ldb_files_check(path, &options, &fault) == err && cut == 0);
}

/* The first piece is CURRENT's, the next a log's and a table's as above, the rest edits. */
static void files_fuzz_directory(const uint8_t *data, size_t size)
{
	struct files_fuzz_piece piece[3] = {0}, edit;
	char path[256];
	uint64_t at = 0;
	int dir, fd;
	struct ldb_files files;
	int err;

	snprintf(path, sizeof(path), "%s/files.XXXXXX", suite_directory());
	FUZZ_CHECK(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		files_fuzz_take(&data, &size, &piece[i]);
	fd = files_fuzz_make(dir, "CURRENT");
	files_fuzz_write(fd, piece[0].kind == 0 ? "MANIFEST-000001\n" : piece[0].bytes.data,
			 piece[0].kind == 0 ? 16 : piece[0].bytes.len);
	close(fd);
	fd = files_fuzz_make(dir, "000003.log");
	files_fuzz_log_pieces(fd, piece[1].bytes.data, piece[1].bytes.len);
	close(fd);
	fd = files_fuzz_make(dir, "000004.ldb");
	files_fuzz_blocks(fd, piece[2].bytes.data, piece[2].bytes.len);
	close(fd);
	fd = files_fuzz_make(dir, "MANIFEST-000001");
	while (files_fuzz_take(&data, &size, &edit))
		FUZZ_CHECK(write_record(fd, &at, edit.bytes.data, edit.bytes.len) == 0);
	close(fd);
	err = ldb_files_open(path, &files, NULL);
	FUZZ_CHECK(err == 0);
	FUZZ_CHECK(ldb_files_logs(&files) == 0 && ldb_files_tables(&files, NULL) == 0);
	FUZZ_CHECK(ldb_files_end(&files) == 0);
	for (size_t i = 0; i < files.fault_count; i++)
		FUZZ_CHECK(files.faults[i].what[0] != '\0');
	ldb_files_close(&files);
	files_fuzz_open(path);
	files_fuzz_manifest(dir);
	close(dir);
	suite_remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const kinds[])(const uint8_t *data, size_t size) = {
		files_fuzz_table, files_fuzz_log, files_fuzz_append, files_fuzz_directory};

	kinds[fuzz_byte(&data, &size) % 4](data, size);
	return 0;
}
