/* SPDX-License-Identifier: MIT */
/*
 * Files of LevelDB's whose checksums are right and whose contents LevelDB cannot survive: numbers
 * above its limits, blocks whose structure is wrong, keys in the wrong order. No program ends by a
 * signal: fsck.rowfs names the file, a repair mends it, and reading is an error.
 */
#include "tests/unit/damage.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/manifest.h"
#include "store/leveldb/formats/tablefile.h"
#include "store/leveldb/fsck/fsck_keys.h"

enum { FILE_MAX = 1 << 20, ROWS = 40, INDEX_MAX = 1000 };

static int read_manifest(struct ldb_manifest *manifest)
{
	char name[LDB_FILE_NAME_MAX], path[300];
	int dir;

	snprintf(path, sizeof(path), "%s/data", damage_copy);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	SUITE_OK(ldb_manifest_current(dir, name, NULL));
	SUITE_OK(ldb_manifest_read(dir, name, manifest, NULL));
	return dir;
}

#define HUGE_BLOCK (UINT64_C(1) << 35) /* bytes */

/* ---- A table ----------------------------------------------------------------------------- */

static unsigned char file[FILE_MAX]; /* all blocks are plain */
static size_t file_len;
static size_t index_at, index_len, data_at, data_len; /* its index, its first block of data */

static size_t take(struct ldb_rest *rest)
{
	uint64_t n = 0;

	ck_assert(ldb_rest_varint(rest, &n));
	return (size_t)n;
}

/* Writes a table anew, the newest or the first, plain and with the number behind its own, and reads
 * it. */
static void read_table_of(bool newest, char path[512])
{
	struct ldb_manifest manifest;
	struct ldb_manifest_table by = {0}, old;
	int dir = read_manifest(&manifest), fd;
	char name[LDB_FILE_NAME_MAX], made[LDB_FILE_NAME_MAX];
	struct ldb_fsck_salvage salvage = {.dir = dir, .name = made, .by = &by};
	struct ldb_rest rest;

	ck_assert_uint_gt(manifest.count, 0);
	old = manifest.tables[newest ? manifest.count - 1 : 0];
	by.number = old.number + 1;
	ldb_file_name(name, LDB_FILE_TABLE, old.number);
	ldb_file_name(made, LDB_FILE_TABLE, by.number);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	SUITE_OK(unlinkat(dir, name, 0));
	SUITE_OK(ldb_fsck_salvage_table(&salvage, fd, old.size));
	SUITE_OK(ldb_manifest_replace(dir, &manifest, old.number, &by));
	close(fd);
	ldb_tablefile_writer_free(&salvage.writer);
	ldb_manifest_free(&manifest);
	fd = openat(dir, made, O_RDONLY | O_CLOEXEC);
	snprintf(path, 512, "%s/data/%s", damage_copy, made);
	file_len = (size_t)read(fd, file, sizeof(file));
	ck_assert_uint_eq(file_len, by.size);
	close(fd);
	close(dir);
	rest = (struct ldb_rest){file + file_len - LDB_TABLEFILE_FOOTER, 40};
	take(&rest);
	take(&rest);
	index_at = take(&rest);
	index_len = take(&rest);
	data_len = file[index_at + 2]; /* of the handle behind the first key */
	rest = (struct ldb_rest){file + index_at + 3 + file[index_at + 1], data_len};
	data_at = take(&rest);
	data_len = take(&rest);
}

static void write_table(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ck_assert_int_eq(write(fd, file, file_len), (ssize_t)file_len);
	close(fd);
}

static void seal(size_t at, size_t len)
{
	put_le32(file + at + len + 1, wcs_crc_mask(wcs_crc_extend(0, file + at, len + 1)));
}

static void restart_outside(size_t at, size_t len)
{
	put_le32(file + at + len - 8, 0x7fffff00);
}

static void restart_between(size_t at, size_t len)
{
	put_le32(file + at + len - 8, 3);
}

static void no_restart(size_t at, size_t len)
{
	put_le32(file + at + len - 4, 0);
}

static void many_restarts(size_t at, size_t len)
{
	put_le32(file + at + len - 4, 0x10000000);
}

/* The first key's last bytes become the value's. */
static void short_key(size_t at, size_t len)
{
	(void)len;
	file[at + 2] = (unsigned char)(file[at + 2] + file[at + 1] - 7);
	file[at + 1] = 7;
}

static void later_key(size_t at, size_t len)
{
	(void)len;
	memset(file + at + 3, 0xff, 3);
}

/* Its own bytes and its value are 2^32 or more, which LevelDB adds with 32 bits. */
static void long_entry(size_t at, size_t len)
{
	(void)len;
	memset(file + at + 1, 0xff, 4);
	file[at + 5] = 0xf;
}

/* Index keys that are not smaller than the keys of the blocks behind: a search passes these blocks,
 * and reading on from there reaches keys before the sought one, again and again. */
static void wide_bounds(void)
{
	struct ldb_rest rest = {file + index_at, index_len - 8};
	unsigned char *keys[INDEX_MAX];
	size_t count = 0, own = 0, last = 0;

	while (rest.len > 0) {
		size_t size;

		take(&rest);
		last = own;
		own = take(&rest);
		size = take(&rest);
		if (own != last)
			count = 0; /* those from here on have the last one's length */
		ck_assert_uint_lt(count, INDEX_MAX);
		keys[count++] = file + (rest.data - file);
		rest.data += own + size;
		rest.len -= own + size;
	}
	for (size_t i = 0; i + 1 < count; i++) {
		memcpy(keys[i], keys[count - 1], own);
		/* its sequence number, so that it is before the next */
		put_le64(keys[i] + own - 8, get_le64(keys[i] + own - 8) + ((count - i) << 8));
	}
}

/* Each block of data in the place of the next, where their handles are of one length. */
static void swapped_blocks(void)
{
	struct ldb_rest rest = {file + index_at, index_len - 8};
	unsigned char *last = NULL;
	size_t last_size = 0;

	while (rest.len > 0) {
		size_t own, size;

		take(&rest);
		own = take(&rest);
		size = take(&rest);
		if (last && size == last_size) {
			unsigned char handle[20];

			memcpy(handle, last, size);
			memcpy(last, rest.data + own, size);
			memcpy(file + (rest.data + own - file), handle, size);
			last = NULL;
		} else {
			last = file + (rest.data + own - file);
			last_size = size;
		}
		rest.data += own + size;
		rest.len -= own + size;
	}
}

/* The footer's handle of the index. */
static void index_size(uint64_t size)
{
	unsigned char *footer = file + file_len - LDB_TABLEFILE_FOOTER;
	struct ldb_rest rest = {footer, 40};
	size_t at;

	take(&rest);
	take(&rest);
	at = (size_t)(rest.data - footer);
	memset(footer + at, 0, 40 - at);
	at += ldb_put_varint(footer + at, index_at);
	ldb_put_varint(footer + at, size);
}

static const struct {
	const char *name;
	void (*forge)(size_t at, size_t len);
	uint64_t size; /* of the index, without forge */
} tables[] = {
	{"a restart outside of the block", restart_outside, 0},
	{"a restart between entries", restart_between, 0},
	{"no restart", no_restart, 0},
	{"restarts that do not fit", many_restarts, 0},
	{"an internal key under 8 bytes", short_key, 0},
	{"keys out of order", later_key, 0},
	{"an entry that is too long", long_entry, 0},
	{"a block of 32 GiB", NULL, HUGE_BLOCK},
	{"a block of 2^63 bytes", NULL, UINT64_C(1) << 63},
	{"a block of 2^64 - 5 bytes", NULL, UINT64_MAX - 4},
	{"a block of 2^64 - 1 bytes", NULL, UINT64_MAX},
};

/* ---- Effects ----------------------------------------------------------------------------- */

/* Reads cells, all or one of each row. */
static int look_at_cells(struct wcs_table *table, enum wcs_each each)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = each};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_scan_open(table, &range, &filter, &scan);

	while (rc == 0 && (rc = wcs_scan_next(scan, &cell)) == 1)
		rc = 0;
	return rc;
}

static int look_at_rows(struct wcs_table *table)
{
	struct wcs_slice segment;
	struct wcs_list *list;
	int rc = wcs_list_open(table, (struct wcs_slice){NULL, 0}, NULL, &list);

	while (rc == 0 && (rc = wcs_list_next(list, &segment)) == 1)
		rc = 0;
	return rc;
}

/* A program that reads a store. */
static _Noreturn void look(const char *path)
{
	struct wcs_store *store;
	struct wcs_table *table;

	alarm(60);
	if (wcs_store_open(path, NULL, &store, NULL) != 0 ||
	    wcs_table_open(store, "t", &table) != 0)
		_exit(1);
	_exit(look_at_cells(table, WCS_EACH_CELL) != 0 || look_at_cells(table, WCS_EACH_ROW) != 0 ||
	      look_at_rows(table) != 0);
}

/* least: rows that are there after the repair. other: a second exit status that reading may have
 * besides 1; 0 where LevelDB may read it. LevelDB may end the process that reads. */
static void expect(int least, int other, const char *what)
{
	pid_t pid = fork();
	int status, rows = 0;

	if (pid == 0) {
		execl("/proc/self/exe", "test_forged_files", damage_copy, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "%s: signal %d", what, WTERMSIG(status));
	status = WEXITSTATUS(status);
	ck_assert_msg(status == 1 || status == other, "%s: read, exit %d", what, status);
	ck_assert_int_gt(damage_check(false, what), 0);
	ck_assert_int_gt(damage_mend(what), 0);
	for (const char *at = damage_seen.cells; (at = strstr(at, "/f/q@")); at++)
		rows++;
	ck_assert_msg(rows >= least, "%s: %d rows", what, rows);
	damage_remove();
}

static void forge_table(int table, bool index)
{
	void (*forge)(size_t at, size_t len) = tables[table].forge;
	char path[512];

	damage_make(&damage_usual);
	read_table_of(false, path);
	if (!forge)
		index_size(tables[table].size);
	else if (index)
		forge(index_at, index_len);
	else
		forge(data_at, data_len);
	seal(data_at, data_len);
	seal(index_at, index_len);
	write_table(path);
}

static const struct {
	const char *name;
	void (*forge)(void);
	int least;   /* rows that are there after the repair */
	bool is_met; /* by a reader that skips */
} indexes[] = {
	{"bounds that are too wide", wide_bounds, ROWS, true},
	{"blocks that changed places", swapped_blocks, ROWS - 30, false},
};

/* Rows of more blocks and cells than a reader steps over before it seeks. */
static const struct damage_shape deep = {
	.sessions = 3, .rows = ROWS, .size = 300, .big = true, .deep = 30, .changes = 2};

static void forge_index(void (*forge)(void), bool skips)
{
	char path[512];

	damage_make(skips ? &deep : &damage_usual);
	read_table_of(skips, path);
	forge();
	seal(index_at, index_len);
	write_table(path);
}

SUITE_LOOP(test_indexes, sizeof(indexes) / sizeof(indexes[0]), 240)
{
	forge_index(indexes[_i].forge, false);
	expect(indexes[_i].least, 0, indexes[_i].name);
	forge_index(indexes[_i].forge, true);
	expect(ROWS, indexes[_i].is_met, indexes[_i].name);
}

SUITE_LOOP(test_tables, sizeof(tables) / sizeof(tables[0]), 240)
{
	/* AddressSanitizer ends the process where new finds no memory. */
	int other = tables[_i].size == HUGE_BLOCK ? 99 : 1;

	if (tables[_i].forge) {
		forge_table(_i, false);
		expect(ROWS - 16, other, tables[_i].name);
	}
	forge_table(_i, true);
	expect(ROWS, other, tables[_i].name);
}

/* From there LevelDB would find no entry, so a scan backwards would find none of the block. */
SUITE_TEST(test_restart_behind_the_entries, 20)
{
	unsigned char block[] = {0, 9, 1, 'k', 1, 1, 0, 0, 0, 0, 0, 0, 'v', /* an entry */
				 0, 0, 0, 0,   1, 0, 0, 0, 0, 0, 0, 0};

	SUITE_OK(ldb_block_check(block, sizeof(block) - 4));
	block[17] = 13;
	block[21] = 2;
	ck_assert_int_eq(ldb_block_check(block, sizeof(block)), -EIO);
}

/* ---- Numbers ----------------------------------------------------------------------------- */

/* A log of two batches with these sequence numbers, each of one change. */
static void write_log(uint64_t first, uint64_t second)
{
	unsigned char batch[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 'k'};
	uint64_t at = 0;
	char path[512];
	int fd;

	damage_file(".log", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	at = (uint64_t)lseek(fd, 0, SEEK_END);
	put_le64(batch, first);
	SUITE_OK(ldb_logfile_append(fd, &at, batch, sizeof(batch)));
	put_le64(batch, second);
	SUITE_OK(ldb_logfile_append(fd, &at, batch, sizeof(batch)));
	close(fd);
}

/* The same behind a damaged record, which is all that the log had. */
static void write_damaged_log(uint64_t first, uint64_t second)
{
	write_log(first, second);
	damage_flip(".log", 8);
}

static size_t put_key(unsigned char *to, struct wcs_slice key)
{
	size_t len = ldb_put_varint(to, key.len);

	memcpy(to + len, key.data, key.len);
	return len + key.len;
}

static size_t put_table(unsigned char *to, uint64_t level, const struct ldb_manifest_table *table)
{
	size_t len = ldb_put_varint(to, level);

	ck_assert_uint_lt(table->smallest.len + table->largest.len, 400);
	len += ldb_put_varint(to + len, table->number);
	len += ldb_put_varint(to + len, table->size);
	len += put_key(to + len, table->smallest);
	return len + put_key(to + len, table->largest);
}

static void append_edit(int dir, struct ldb_manifest *manifest, const void *edit, size_t len)
{
	int fd = openat(dir, manifest->name, O_RDWR | O_CLOEXEC);

	SUITE_OK(ldb_logfile_append(fd, &manifest->end, edit, len));
	ldb_manifest_free(manifest);
	close(fd);
	close(dir);
}

/* An edit more: a number, or the first table on another level, too. */
static void write_edit(uint64_t tag, uint64_t number)
{
	struct ldb_manifest manifest;
	unsigned char edit[500];
	int dir = read_manifest(&manifest);
	size_t len = ldb_put_varint(edit, tag);

	if (tag == LDB_EDIT_NEW)
		len += put_table(edit + len, number, &manifest.tables[0]);
	else
		len += ldb_put_varint(edit + len, number);
	append_edit(dir, &manifest, edit, len);
}

/* Of the first table: the number 0, or its keys exchanged. */
static void write_table_edit(uint64_t zero, uint64_t exchange)
{
	struct ldb_manifest manifest;
	unsigned char edit[500];
	int dir = read_manifest(&manifest);
	size_t len = ldb_put_varint(edit, LDB_EDIT_DELETED);
	struct ldb_manifest_table by = manifest.tables[0];

	len += ldb_put_varint(edit + len, by.level);
	len += ldb_put_varint(edit + len, by.number);
	if (zero)
		by.number = 0;
	if (exchange) {
		by.smallest = manifest.tables[0].largest;
		by.largest = manifest.tables[0].smallest;
	}
	len += ldb_put_varint(edit + len, LDB_EDIT_NEW);
	len += put_table(edit + len, by.level, &by);
	append_edit(dir, &manifest, edit, len);
}

static void write_named_log(uint64_t number, uint64_t unused)
{
	char name[LDB_FILE_NAME_MAX], path[512];
	int fd;

	(void)unused;
	ldb_file_name(name, LDB_FILE_LOG, number);
	snprintf(path, sizeof(path), "%s/data/%s", damage_copy, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static const struct {
	const char *name;
	void (*forge)(uint64_t one, uint64_t other);
	uint64_t one, other;
} numbers[] = {
	{"2^56 - 1 and 2^56 in a log", write_log, (UINT64_C(1) << 56) - 1, UINT64_C(1) << 56},
	{"2^56 and one more in a log", write_log, UINT64_C(1) << 56, (UINT64_C(1) << 56) + 1},
	{"2^64 - 1 in a log", write_log, UINT64_MAX, UINT64_MAX},
	{"one twice in a log", write_log, 5000, 5000},
	{"2^55 - 1 twice in a log", write_log, (UINT64_C(1) << 55) - 1, (UINT64_C(1) << 55) - 1},
	{"2^55 - 1 and 2^55 in a log", write_log, (UINT64_C(1) << 55) - 1, UINT64_C(1) << 55},
	{"2^64 - 1 behind damage in a log", write_damaged_log, 5000, UINT64_MAX},
	{"the last one 2^56 - 1", write_edit, LDB_EDIT_SEQUENCE, (UINT64_C(1) << 56) - 1},
	{"the last one 2^64 - 1", write_edit, LDB_EDIT_SEQUENCE, UINT64_MAX},
	{"the next file", write_edit, LDB_EDIT_NEXT_FILE, UINT64_MAX},
	{"the log before", write_edit, LDB_EDIT_PREVIOUS_LOG, UINT64_MAX},
	{"a table with the number 0", write_table_edit, true, false},
	{"a table whose last key is before its first", write_table_edit, false, true},
	{"a table on two levels", write_edit, LDB_EDIT_NEW, 5},
	{"a log with the number 0", write_named_log, 0, 0},
	{"a log with the number 2^64 - 1", write_named_log, UINT64_MAX, 0},
};

SUITE_LOOP(test_numbers, sizeof(numbers) / sizeof(numbers[0]), 240)
{
	damage_make(&damage_usual);
	numbers[_i].forge(numbers[_i].one, numbers[_i].other);
	expect(ROWS, 1, numbers[_i].name);
}

/* The first table twice more on level 1, under other numbers. */
static void write_overlap(void)
{
	char from[LDB_FILE_NAME_MAX], to[LDB_FILE_NAME_MAX];
	struct ldb_manifest manifest;
	unsigned char edit[1000];
	int dir = read_manifest(&manifest);
	struct ldb_manifest_table again = manifest.tables[0];
	size_t len = ldb_put_varint(edit, LDB_EDIT_NEXT_FILE);

	ldb_file_name(from, LDB_FILE_TABLE, again.number);
	len += ldb_put_varint(edit + len, 93);
	for (again.number = 91; again.number <= 92; again.number++) {
		ldb_file_name(to, LDB_FILE_TABLE, again.number);
		SUITE_OK(linkat(dir, from, dir, to, 0));
		len += ldb_put_varint(edit + len, LDB_EDIT_NEW);
		len += put_table(edit + len, 1, &again);
	}
	append_edit(dir, &manifest, edit, len);
}

/* LevelDB would abort on tables of one level that overlap. */
SUITE_TEST(test_overlap, 60)
{
	damage_make(&damage_usual);
	write_overlap();
	damage_expect_refused("MANIFEST-", "tables that overlap");
	ck_assert_ptr_nonnull(strstr(damage_seen.fault.text, " overlap; fsck.rowfs"));
	damage_mend("tables that overlap");
	damage_expect(damage_all, "tables that overlap");
	damage_remove();
}

int main(int argc, char **argv)
{
	if (argc == 2)
		look(argv[1]);
	return suite_main("leveldb: forged files", NULL);
}
