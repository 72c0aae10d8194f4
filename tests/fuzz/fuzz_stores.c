/* SPDX-License-Identifier: MIT */
/*
 * Whole stores with forged bytes and right checksums. No check and no repair ends the process; a
 * check after the repair finds no fault; and a store without faults can be read.
 *
 * The input is changes of a small store, of 6 bytes each: file, kind, place (2), argument (2).
 */
#include "tests/fuzz/fuzz.h"

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/manifest.h"
#include "store/leveldb/formats/tablefile.h"
#include "tests/unit/forge.h"
#include "tests/unit/forge_write.h"
#include "tests/unit/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 12, FILE_MAX = 1 << 15, PARTS_MAX = 128, CHANGES_MAX = 8, ROWS = 24 };

struct stores_fuzz_file {
	char name[64]; /* relative to the store */
	size_t len;
	unsigned char bytes[FILE_MAX];
};

/* The bytes that a checksum covers. */
struct stores_fuzz_part {
	size_t file, at, len;
	bool block; /* of a table; else a piece of a log */
};

static struct stores_fuzz_file base[FILES_MAX], files[FILES_MAX];
static struct stores_fuzz_part parts[PARTS_MAX];
static size_t file_count, part_count;
/* Number of the first table that is plain. A compaction that the end of a session stopped may have
 * left others, which are out of use. */
static uint64_t plain;
static char store[256], data[300], quarantine[300];

/* ---- The store --------------------------------------------------------------------------- */

/* Writes all tables anew, whose blocks are plain then, under numbers above all others. */
static void stores_fuzz_plain(void)
{
	int dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ldb_manifest manifest;
	char name[LDB_FILE_NAME_MAX], command[64];

	FUZZ_CHECK(ldb_manifest_current(dir, name, NULL) == 0);
	FUZZ_CHECK(ldb_manifest_read(dir, name, &manifest, NULL) == 0);
	plain = manifest.next_file + 100;
	for (size_t i = 0; i < manifest.count; i++) {
		snprintf(command, sizeof(command), "table %llu plain %llu",
			 (unsigned long long)manifest.tables[i].number,
			 (unsigned long long)plain + i);
		forge(store, command);
	}
	ldb_manifest_free(&manifest);
	close(dir);
}

static void stores_fuzz_read(const char *below)
{
	char path[600];
	const struct dirent *entry;
	DIR *stream;

	snprintf(path, sizeof(path), "%s/%s", store, below);
	stream = opendir(path);
	FUZZ_CHECK(stream);
	while ((entry = readdir(stream))) {
		struct stores_fuzz_file *file = &base[file_count];
		int fd;

		if (entry->d_type != DT_REG || strstr(entry->d_name, "LO") ||
		    (strstr(entry->d_name, ".ldb") && strtoull(entry->d_name, NULL, 10) < plain))
			continue;
		FUZZ_CHECK(file_count++ < FILES_MAX);
		snprintf(file->name, sizeof(file->name), "%s%.40s", below, entry->d_name);
		fd = openat(dirfd(stream), entry->d_name, O_RDONLY | O_CLOEXEC);
		file->len = (size_t)read(fd, file->bytes, FILE_MAX);
		FUZZ_CHECK(file->len < FILE_MAX);
		close(fd);
	}
	closedir(stream);
}

static void stores_fuzz_part(size_t file, size_t at, size_t len, bool block)
{
	FUZZ_CHECK(part_count < PARTS_MAX);
	parts[part_count++] = (struct stores_fuzz_part){file, at, len, block};
}

static size_t stores_fuzz_number(struct ldb_rest *rest)
{
	uint64_t n = 0;

	FUZZ_CHECK(ldb_rest_varint(rest, &n));
	return (size_t)n;
}

/* Blocks stand one behind the other, as the index says; then the metaindex, and the index. */
static void stores_fuzz_table(size_t i)
{
	struct stores_fuzz_file *file = &base[i];
	struct ldb_rest rest = {file->bytes + file->len - LDB_TABLEFILE_FOOTER, 40};
	size_t at[2], len[2];

	for (int k = 0; k < 2; k++) {
		at[k] = stores_fuzz_number(&rest);
		len[k] = stores_fuzz_number(&rest);
		stores_fuzz_part(i, at[k], len[k], true);
	}
	rest = (struct ldb_rest){file->bytes + at[1], len[1] - 4};
	rest.len -= 4 * get_le32(rest.data + rest.len);
	while (rest.len > 0) {
		size_t own;

		stores_fuzz_number(&rest);
		own = stores_fuzz_number(&rest);
		stores_fuzz_number(&rest);
		rest.data += own;
		rest.len -= own;
		own = stores_fuzz_number(&rest);
		stores_fuzz_part(i, own, stores_fuzz_number(&rest), true);
	}
}

static void stores_fuzz_log(size_t i)
{
	for (size_t at = 0; at + LDB_LOGFILE_HEAD < base[i].len;) {
		size_t len = base[i].bytes[at + 4] | (size_t)base[i].bytes[at + 5] << 8;

		stores_fuzz_part(i, at, len, false);
		at += LDB_LOGFILE_HEAD + len;
	}
}

static void stores_fuzz_make(void)
{
	static const char text[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	struct wcs_schema *schema;

	snprintf(store, sizeof(store), "%s/store", suite_directory());
	snprintf(data, sizeof(data), "%s/data", store);
	snprintf(quarantine, sizeof(quarantine), "%s/quarantine", suite_directory());
	FUZZ_CHECK(wcs_schema_parse(text, strlen(text), &schema, NULL) == 0);
	FUZZ_CHECK(wcs_store_create(store, schema, false, NULL, NULL) == 0);
	wcs_schema_free(schema);
	for (int session = 0; session < 3; session++) {
		struct wcs_store *opened;
		struct wcs_table *table;
		char row[16], value[6000];

		FUZZ_CHECK(wcs_store_open(store, NULL, &opened, NULL) == 0);
		FUZZ_CHECK(wcs_table_open(opened, "t", &table) == 0);
		for (int i = session; i < ROWS; i += session + 1) {
			size_t len = i == 5 ? sizeof(value) : (size_t)(40 * i);

			snprintf(row, sizeof(row), "r%02d", i);
			memset(value, 'a' + session, sizeof(value));
			suite_put(table, suite_text(row), "f", suite_text("q"), session + 1,
				  (struct wcs_slice){value, len});
		}
		wcs_table_close(table);
		wcs_store_close(opened);
	}
	stores_fuzz_plain();
	stores_fuzz_read("");
	stores_fuzz_read("data/");
	for (size_t i = 0; i < file_count; i++)
		if (strstr(base[i].name, ".ldb"))
			stores_fuzz_table(i);
		else if (strstr(base[i].name, ".log") || strstr(base[i].name, "MANIFEST"))
			stores_fuzz_log(i);
}

/* ---- Changes ----------------------------------------------------------------------------- */

static const uint64_t numbers[] = {0,
				   1,
				   127,
				   128,
				   (UINT64_C(1) << 31) - 1,
				   UINT32_MAX,
				   UINT64_C(1) << 35,
				   UINT64_C(1) << 55,
				   (UINT64_C(1) << 56) - 1,
				   UINT64_C(1) << 56,
				   UINT64_C(1) << 63,
				   UINT64_MAX - 4,
				   UINT64_MAX};

/* Writes the bytes that fit into the file. */
static void stores_fuzz_put(struct stores_fuzz_file *file, size_t at, const void *bytes, size_t len)
{
	if (at < file->len)
		memmove(file->bytes + at, bytes, len < file->len - at ? len : file->len - at);
}

static void stores_fuzz_change(const uint8_t *change)
{
	struct stores_fuzz_file *file = &files[change[0] % file_count];
	size_t at = (change[2] | (size_t)change[3] << 8) % (file->len + 1), len = 8;
	uint64_t number = numbers[change[4] % (sizeof(numbers) / sizeof(numbers[0]))];
	unsigned char bytes[16];

	switch (change[1] % 8) {
	case 0:
		stores_fuzz_put(file, at, change + 4, 1);
		break;
	case 1:
		stores_fuzz_put(file, at, change + 4, 2);
		break;
	case 2:
		put_le64(bytes, number);
		stores_fuzz_put(file, at, bytes, change[5] % 2 ? 8 : 4);
		break;
	case 3:
		len = write_varint(bytes, number);
		stores_fuzz_put(file, at, bytes, len);
		break;
	case 4: /* bytes of another place */
		at %= file->len / 2 + 1;
		stores_fuzz_put(file, at, file->bytes + file->len / 2, change[4] % 64);
		break;
	case 5: /* from the end, where numbers of blocks stand */
		stores_fuzz_put(file, file->len - at % 300 % (file->len + 1), change + 4, 1);
		break;
	case 6:
		file->len = change[5] % 8 ? file->len : at;
		break;
	default:
		if (change[5] % 8 == 0) {
			static struct stores_fuzz_file other;

			other = files[change[4] % file_count];
			memcpy(files[change[4] % file_count].bytes, file->bytes, FILE_MAX);
			files[change[4] % file_count].len = file->len;
			memcpy(file->bytes, other.bytes, FILE_MAX);
			file->len = other.len;
		}
		break;
	}
}

static void stores_fuzz_write(void)
{
	suite_remove(store);
	FUZZ_CHECK(mkdir(store, 0700) == 0 && mkdir(data, 0700) == 0);
	for (size_t i = 0; i <= file_count; i++) {
		const struct stores_fuzz_file *file = &files[i];
		char path[400];
		int fd;

		snprintf(path, sizeof(path), "%s/%.60s", store,
			 i < file_count ? file->name : "LOCK");
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		FUZZ_CHECK(i == file_count ||
			   write(fd, file->bytes, file->len) == (ssize_t)file->len);
		close(fd);
	}
}

/* ---- Effects ----------------------------------------------------------------------------- */

static int stores_fuzz_check(bool repair, struct wcs_check_result *result)
{
	const struct wcs_check_options options = {.repair = repair, .quarantine = quarantine};
	struct wcs_fault fault = {.text = ""};
	int err;

	memset(result, 0, sizeof(*result));
	err = wcs_store_check(store, &options, result, &fault);
	FUZZ_CHECK(err == 0 || fault.text[0] != '\0');
	return err;
}

static int stores_fuzz_scan(struct wcs_table *table)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char bytes[8192];
	size_t got, cells = 0;
	int rc = wcs_scan_open(table, &range, 1, &filter, &scan);

	if (rc)
		return rc;
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		FUZZ_CHECK(++cells < 10000);
		wcs_scan_read(scan, bytes, sizeof(bytes), 0, &got);
	}
	wcs_scan_close(scan);
	return rc;
}

static int stores_fuzz_open(void)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_store *opened;
	struct wcs_table *table;
	int rc = wcs_store_open(store, NULL, &opened, &fault);

	FUZZ_CHECK(rc == 0 || fault.text[0] != '\0');
	if (rc)
		return rc;
	if (wcs_table_open(opened, "t", &table) == 0) {
		rc = stores_fuzz_scan(table);
		wcs_table_close(table);
	}
	wcs_store_close(opened);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct wcs_check_result result;
	bool clean;

	if (file_count == 0)
		stores_fuzz_make();
	memcpy(files, base, sizeof(files));
	for (int i = 0; i < CHANGES_MAX && size >= 6; i++, input += 6, size -= 6)
		stores_fuzz_change(input);
	for (size_t i = 0; i < part_count; i++) {
		const struct stores_fuzz_part *part = &parts[i];
		unsigned char *at = files[part->file].bytes + part->at;

		if (part->block)
			put_le32(at + part->len + 1,
				 wcs_crc_mask(wcs_crc_extend(0, at, part->len + 1)));
		else
			put_le32(at, wcs_crc_mask(wcs_crc_extend(0, at + 6, part->len + 1)));
	}
	stores_fuzz_write();
	clean = stores_fuzz_check(false, &result) == 0 && result.found == 0;
	/* One with faults may make LevelDB end the process, with a line. */
	if (clean || getenv("FUZZ_OPEN")) {
		int rc = stores_fuzz_open();

		FUZZ_CHECK(rc == 0 || !clean);
		stores_fuzz_write();
	}
	if (!clean && stores_fuzz_check(true, &result) == 0 && result.found == result.corrected) {
		FUZZ_CHECK(stores_fuzz_check(false, &result) == 0 && result.found == 0);
		FUZZ_CHECK(stores_fuzz_open() == 0);
	}
	suite_remove(store);
	suite_remove(quarantine);
	return 0;
}
