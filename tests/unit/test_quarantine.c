/* SPDX-License-Identifier: MIT */
/* A quarantine's rows when a value that could be read cannot be read a second time, or a write
 * fails. */
#include "tests/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/fsck/quarantine.h"

enum { SIZE = 200000 };

static int reads_left;

static int read_value(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got)
{
	(void)ctx;
	if (reads_left-- == 0)
		return -EIO;
	*got = offset + len > SIZE ? (size_t)(SIZE - offset) : len;
	memset(buf, 'x', *got);
	return 0;
}

static int put(struct wcs_quarantine *quarantine, const char *row, int reads)
{
	const struct wcs_quarantine_value value = {.read = read_value};
	struct wcs_cell cell = {.row = suite_text(row),
				.family = suite_text("f"),
				.qualifier = suite_text("q"),
				.info = {.ts = 1, .size = SIZE}};

	reads_left = reads;
	return wcs_quarantine_cell(quarantine, "t", NULL, WCS_BYTES, &cell, &value);
}

/* Every line is one, and those of rows are of good cells only. */
static int good_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int rows = 0;

	ck_assert_ptr_nonnull(file);
	while ((len = getline(&text, &room, file)) > 0) {
		struct wcs_fault fault = {.text = ""};
		struct wcs_line *line = NULL;
		int rc = wcs_line_parse(text, (size_t)len - 1, NULL, &line, &fault);

		ck_assert_msg(rc == 0, "%s", fault.text);
		if (line->kind == WCS_LINE_ROW) {
			ck_assert(memcmp(line->key.data, "good", 4) == 0);
			rows++;
		}
		wcs_line_free(line);
	}
	free(text);
	fclose(file);
	return rows;
}

SUITE_TEST(test_second_read_fails, 60)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_quarantine *quarantine;
	char path[256], rows[300];
	int pieces = (SIZE + 65535) / 65536;

	snprintf(path, sizeof(path), "%s/quarantine", suite_directory());
	snprintf(rows, sizeof(rows), "%s/rows.json", path);
	quarantine = wcs_quarantine_new(path, NULL, NULL, &fault);
	SUITE_OK(put(quarantine, "good1", -1));
	for (int reads = 0; reads < 2 * pieces; reads++)
		ck_assert_int_eq(put(quarantine, "bad", reads), 1);
	SUITE_OK(put(quarantine, "good2", -1));
	ck_assert_int_eq(put(quarantine, "bad", pieces + 1), 1);
	SUITE_OK(wcs_quarantine_sync(quarantine));
	wcs_quarantine_free(quarantine);
	ck_assert_int_eq(good_lines(rows), 2);
	suite_remove(path);
}

/* 1 would mean that the value cannot be read. */
SUITE_TEST(test_failed_write_is_no_unreadable_value, 60)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_quarantine *quarantine;
	char path[256], rows[300];
	struct stat made, found;
	int fd = 3;

	snprintf(path, sizeof(path), "%s/quarantine", suite_directory());
	snprintf(rows, sizeof(rows), "%s/rows.json", path);
	quarantine = wcs_quarantine_new(path, NULL, NULL, &fault);
	SUITE_OK(put(quarantine, "good1", -1));
	ck_assert_int_eq(stat(rows, &made), 0);
	while (fstat(fd, &found) != 0 || found.st_ino != made.st_ino)
		fd++;
	ck_assert_int_eq(dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), fd), fd);
	ck_assert_int_eq(put(quarantine, "good2", -1), -EIO);
	wcs_quarantine_free(quarantine);
	suite_remove(path);
}
