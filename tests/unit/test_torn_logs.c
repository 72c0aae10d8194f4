/* SPDX-License-Identifier: MIT */
/*
 * What a power cut leaves of a log, when the filesystem has its length but not its last bytes:
 * zeros from some write, or from some sector of one, on. The log here has a record for each row,
 * r000 and so on, in order, small ones and some that span blocks of LevelDB's. So after zeros from
 * a place on just the rows whose records end before it must be there. The places come from the log
 * format as LevelDB's documents have it, read here once more.
 */
#include "store/leveldb/formats/logfile.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ROWS = 60,
	CELLS_MAX = 25,
	CELL = 3000,
	BLOCK = 32768,
	HEAD = 7,
	SECTOR = 512,
	PIECES_MAX = 200
};

static char base[256], copy[256];
static char log_name[64], manifest_name[64]; /* relative to the store */
static struct {
	off_t at, end;
	bool ends; /* a record */
} pieces[PIECES_MAX];
static int piece_count;
static off_t log_size;
static int warnings;
static char warning[512];

static void note(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	if (level != WCS_LOG_WARNING)
		return;
	warnings++;
	snprintf(warning, sizeof(warning), "%s", text);
}

static const struct wcs_options options = {.log = note};

/* ---- The store --------------------------------------------------------------------------- */

/* Some have more than a block of the log. */
static int cells_of(int row)
{
	return row % 7 == 3 ? CELLS_MAX : 1;
}

/* One record. */
static void put_row(struct wcs_table *table, int row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	size_t size = cells_of(row) > 1 ? CELL : (size_t)(37 * row % 900 + 1);
	char *value = suite_pattern(size, (unsigned int)row + 1);
	char name[16], qualifiers[CELLS_MAX][16];

	for (int i = 0; i < cells_of(row); i++) {
		snprintf(qualifiers[i], sizeof(qualifiers[i]), "q%02d", i);
		ck_assert_int_eq(wcs_mutation_set(mutation, "f", suite_text(qualifiers[i]), 1,
						  (struct wcs_slice){value, size}),
				 0);
	}
	snprintf(name, sizeof(name), "r%03d", row);
	ck_assert_int_eq(suite_mutate(table, name, mutation, NULL), 0);
	free(value);
}

static unsigned char *read_file(const char *name, off_t *size)
{
	char path[400];
	struct stat st;
	unsigned char *data;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", base, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &st), 0);
	data = malloc((size_t)st.st_size + 1);
	ck_assert_int_eq(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*size = st.st_size;
	return data;
}

static void find_pieces(void)
{
	unsigned char *data = read_file(log_name, &log_size);
	int records = 0;

	piece_count = 0;
	for (off_t at = 0; at + HEAD <= log_size;) {
		if (BLOCK - at % BLOCK < HEAD) {
			at += BLOCK - at % BLOCK;
			continue;
		}
		ck_assert_int_lt(piece_count, PIECES_MAX);
		pieces[piece_count].at = at;
		pieces[piece_count].ends = data[at + 6] == 1 || data[at + 6] == 4;
		records += pieces[piece_count].ends;
		at += HEAD + (data[at + 4] | data[at + 5] << 8);
		pieces[piece_count++].end = at;
	}
	free(data);
	ck_assert_int_eq(pieces[piece_count - 1].end, log_size);
	ck_assert_int_eq(records, ROWS);
}

static void make_base(void)
{
	static const char text[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	struct wcs_fault fault;
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;

	snprintf(base, sizeof(base), "%s/base", suite_directory());
	snprintf(copy, sizeof(copy), "%s/copy", suite_directory());
	suite_remove(base);
	suite_remove(copy);
	ck_assert_int_eq(wcs_schema_parse(text, strlen(text), &schema, &fault), 0);
	ck_assert_int_eq(wcs_store_create(base, schema, false, NULL, &fault), 0);
	wcs_schema_free(schema);
	ck_assert_int_eq(wcs_store_open(base, &options, &store, &fault), 0);
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	for (int row = 0; row < ROWS; row++)
		put_row(table, row);
	wcs_table_close(table);
	wcs_store_close(store);
	suite_store_file(base, ".log", log_name);
	suite_store_file(base, "MANIFEST-", manifest_name);
	find_pieces();
}

static void copy_base(void)
{
	char command[1200];

	suite_remove(copy);
	snprintf(command, sizeof(command), "cp -a -- '%s' '%s'", base, copy);
	ck_assert_int_eq(system(command), 0);
}

/* Zeros from one place of a file to another. */
static void zero(const char *name, off_t from, off_t to)
{
	char path[400], *zeros = calloc(1, (size_t)(to - from) + 1);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", copy, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, zeros, (size_t)(to - from), from), to - from);
	close(fd);
	free(zeros);
}

/* ---- What is there then ------------------------------------------------------------------ */

/* The rows that are there, each whole: all below some number, which it returns. */
static int rows_there(struct wcs_table *table)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rows = 0, cells = 0, rc;
	char name[5] = "";

	ck_assert_int_eq(wcs_scan_open(table, &range, &filter, &scan), 0);
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		ck_assert_uint_eq(cell.row.len, 4);
		memcpy(name, cell.row.data, 4);
		ck_assert_int_eq(atoi(name + 1), rows);
		if (++cells < cells_of(rows))
			continue;
		rows++;
		cells = 0;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(cells, 0);
	wcs_scan_close(scan);
	return rows;
}

/* Opens the copy; the rows that are there, or the error. */
static int open_copy(struct wcs_fault *fault)
{
	struct wcs_store *store;
	struct wcs_table *table;
	int rc;

	warnings = 0;
	rc = wcs_store_open(copy, &options, &store, fault);
	if (rc != 0)
		return rc;
	ck_assert_int_eq(wcs_table_open(store, "t", &table), 0);
	rc = rows_there(table);
	wcs_table_close(table);
	wcs_store_close(store);
	return rc;
}

static int rows_before(off_t place)
{
	int rows = 0;

	for (int i = 0; i < piece_count && pieces[i].end <= place; i++)
		rows += pieces[i].ends;
	return rows;
}

/* Where nothing is lost but what follows. */
static bool may_tear(off_t place)
{
	bool starts = false;

	for (int i = 0; i < piece_count; i++)
		starts |= pieces[i].at == place;
	return starts || place % SECTOR == 0;
}

/* In the middle of a record LevelDB would call it damage: it is cut, and said. */
static bool is_cut(off_t place)
{
	for (int i = 0; i < piece_count; i++)
		if (place > pieces[i].at && place < pieces[i].end)
			return true;
		else if (place == pieces[i].at)
			return i > 0 && !pieces[i - 1].ends;
	return false;
}

static void tear(off_t place)
{
	struct wcs_fault fault = {.text = ""};
	int rows;

	copy_base();
	zero(log_name, place, log_size);
	rows = open_copy(&fault);
	if (may_tear(place)) {
		ck_assert_msg(rows == rows_before(place), "zeros from %lld: %d of %d rows: %s",
			      (long long)place, rows, rows_before(place), fault.text);
		ck_assert_msg(warnings == is_cut(place), "zeros from %lld: %d warnings",
			      (long long)place, warnings);
		ck_assert(!warnings || strstr(warning, log_name));
		ck_assert_int_eq(open_copy(&fault), rows);
		ck_assert_int_eq(warnings, 0);
	} else {
		ck_assert_msg(rows == -EIO || rows == rows_before(place),
			      "zeros from %lld: %d of %d rows", (long long)place, rows,
			      rows_before(place));
	}
}

START_TEST(test_zeros_to_the_end)
{
	make_base();
	for (int i = 0; i < piece_count; i++)
		tear(pieces[i].at);
	for (off_t place = SECTOR; place < log_size; place += 9 * SECTOR)
		tear(place);
	for (off_t place = log_size / SECTOR * SECTOR; place > log_size - 4096; place -= SECTOR)
		tear(place);
	for (off_t place = 100; place < log_size; place += 10007)
		tear(place);
	suite_remove(copy);
	suite_remove(base);
}
END_TEST

START_TEST(test_data_behind)
{
	struct wcs_fault fault = {.text = ""};

	make_base();
	for (int i = 1; i < piece_count - 1; i += 5) {
		copy_base();
		zero(log_name, pieces[i].at, pieces[i].end);
		ck_assert_int_eq(open_copy(&fault), -EIO);
		ck_assert_ptr_nonnull(strstr(fault.text, log_name));
		ck_assert_ptr_nonnull(strstr(fault.text, "fsck.rowfs"));
		copy_base();
		zero(log_name, pieces[i].at, log_size - 1);
		ck_assert_int_eq(open_copy(&fault), -EIO);
	}
	suite_remove(copy);
	suite_remove(base);
}
END_TEST

/* The file `name` has the log's bytes behind its last whole record, up to the zeros. */
static void expect_kept(const char *directory, off_t place)
{
	char path[600];
	unsigned char *data = read_file(log_name, &log_size), kept[1 << 17];
	off_t start = 0, end = place;
	size_t got;
	FILE *file;

	for (int i = 0; i < piece_count && pieces[i].end <= place; i++)
		if (pieces[i].ends)
			start = pieces[i].end;
	while (data[end - 1] == 0)
		end--;
	snprintf(path, sizeof(path), "%s/torn-%s-%lld", directory, log_name + strlen("data/"),
		 (long long)start);
	file = fopen(path, "r");
	ck_assert_msg(file, "%s is missing", path);
	got = fread(kept, 1, sizeof(kept), file);
	fclose(file);
	ck_assert_int_eq((off_t)got, end - start);
	ck_assert_int_eq(memcmp(kept, data + start, got), 0);
	free(data);
}

/* A place of zeros in the middle of a record that has several pieces. */
static off_t place_in_record(void)
{
	off_t place = 0;

	for (int i = 0; i < piece_count; i++)
		if (pieces[i].end - pieces[i].at > 4 * SECTOR)
			place = (pieces[i].at / SECTOR + 2) * SECTOR;
	return place;
}

/* The base, the place in its log, and where the files of a quarantine are. */
static off_t make_torn(struct wcs_check_options *checks, char path[300], char files[320])
{
	make_base();
	snprintf(path, 300, "%s.quarantine", copy);
	snprintf(files, 320, "%s/files", path);
	checks->quarantine = path;
	return place_in_record();
}

/* A copy of the base whose log is zeros from that place on. */
static void copy_torn(off_t place)
{
	copy_base();
	zero(log_name, place, log_size);
}

/* What a mount cuts stays in the store, which is a store all the same, until a check takes it. */
START_TEST(test_kept)
{
	struct wcs_check_options checks = {.repair = true};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	char path[300], files[320];
	off_t place = make_torn(&checks, path, files);

	copy_torn(place);
	ck_assert_int_eq(open_copy(&fault), rows_before(place));
	ck_assert_ptr_nonnull(strstr(warning, "torn-"));
	expect_kept(copy, place);
	ck_assert_int_eq(wcs_store_check(copy, &checks, &result, &fault), 0);
	ck_assert_int_eq((int)result.found, 0);
	expect_kept(files, place);
	suite_remove(path);

	copy_torn(place);
	ck_assert_int_eq(open_copy(&fault), rows_before(place));
	snprintf(files, sizeof(files), "%s/ROWFS", copy);
	ck_assert_int_eq(unlink(files), 0);
	checks.repair = false;
	ck_assert_msg(wcs_store_check(copy, &checks, &result, &fault) == 0, "%s", fault.text);
	ck_assert_int_eq((int)result.found, 1);

	copy_torn(place);
	ck_assert_int_eq(open_copy(&fault), rows_before(place));
	ck_assert_int_eq(wcs_store_create(copy, NULL, true, NULL, &fault), 0);
	suite_remove(copy);
	suite_remove(base);
}
END_TEST

/* Neither finds anything, and only a repair cuts, and takes what it cuts. */
START_TEST(test_check)
{
	struct wcs_check_options checks = {.repair = false};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	char path[300], files[320];
	off_t place = make_torn(&checks, path, files);

	for (int repair = 0; repair < 2; repair++) {
		copy_torn(place);
		checks.repair = repair;
		ck_assert_int_eq(wcs_store_check(copy, &checks, &result, &fault), 0);
		ck_assert_int_eq((int)result.found, 0);
		ck_assert_int_eq(open_copy(&fault), rows_before(place));
		ck_assert_int_eq(warnings, !repair);
	}
	expect_kept(files, place);
	suite_remove(path);
	suite_remove(copy);
	suite_remove(base);
}
END_TEST

/* ---- The MANIFEST ------------------------------------------------------------------------ */

/* Appends edits to the MANIFEST of the copy, which say that files are numbered from 1,000 on, until
 * one crosses a sector's end; from there on it is zeros. */
static void tear_manifest(void)
{
	static const unsigned char edit[] = {3, 0xE8, 0x07};
	char path[400];
	struct stat st;
	uint64_t end;
	int fd;

	copy_base();
	snprintf(path, sizeof(path), "%s/%s", copy, manifest_name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(fstat(fd, &st), 0);
	end = (uint64_t)st.st_size;
	do
		ck_assert_int_eq(ldb_logfile_append(fd, &end, edit, sizeof(edit)), 0);
	while (end % SECTOR == 0 || end % SECTOR >= HEAD + sizeof(edit));
	close(fd);
	zero(manifest_name, (off_t)(end / SECTOR * SECTOR), (off_t)end);
}

START_TEST(test_manifest)
{
	struct wcs_fault fault = {.text = ""};

	make_base();
	tear_manifest();
	ck_assert_msg(open_copy(&fault) == ROWS, "%s", fault.text);
	ck_assert_int_eq(warnings, 1);
	ck_assert_ptr_nonnull(strstr(warning, manifest_name));
	suite_remove(copy);
	suite_remove(base);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "zeros to the end", test_zeros_to_the_end, 120);
	suite_add_once(suite, "data behind zeros", test_data_behind, 60);
	suite_add_once(suite, "a check", test_check, 60);
	suite_add_once(suite, "what is kept", test_kept, 60);
	suite_add_once(suite, "the MANIFEST", test_manifest, 60);
}

int main(void)
{
	return suite_main("leveldb: torn logs", make);
}
