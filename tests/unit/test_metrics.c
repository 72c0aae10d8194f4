/* SPDX-License-Identifier: MIT */
/* The numbers of the metrics after requests that were made up. tests/e2e/test_control_streams.sh
 * checks the format of a mount's. */
#include "fs/serve/metrics.h"
#include "tests/unit/suite.h"

#include <linux/fuse.h>

/* ---- Requests ---------------------------------------------------------------------------- */

static void receive(struct metrics *metrics, uint32_t opcode, uint64_t unique)
{
	struct fuse_in_header header = {.opcode = opcode, .unique = unique};

	metrics_receive(metrics, &header);
}

static void answer(struct metrics *metrics, uint64_t unique, int error, const void *data,
		   size_t len)
{
	char copy[256];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + len), .error = error, .unique = unique};
	struct iovec iov[2] = {{&header, sizeof(header)}, {copy, len}};

	if (len > 0)
		memcpy(copy, data, len);
	metrics_send(metrics, iov, len > 0 ? 2 : 1);
}

/* The text has these lines. One that ends in a space is a prefix that no line has.
 * Frees the text. */
static void expect_text(char *text, const char *const *lines)
{
	char line[256];

	for (; *lines != NULL; lines++) {
		bool absent = (*lines)[strlen(*lines) - 1] == ' ';

		snprintf(line, sizeof(line), "\n%s%s", *lines, absent ? "" : "\n");
		ck_assert_msg((strstr(text, line) == NULL) == absent, "%s", line);
	}
	free(text);
}

#define EXPECT_TEXT(text, ...) expect_text(text, (const char *const[]){__VA_ARGS__, NULL})

/* The same of the text of metrics, which are freed. */
static void expect_metrics(struct metrics *metrics, const char *const *lines)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	metrics_print(metrics, to);
	fclose(to);
	expect_text(text, lines);
	metrics_free(metrics);
}
#define EXPECT_METRICS(metrics, ...)                                                               \
	expect_metrics(metrics, (const char *const[]){__VA_ARGS__, NULL})

/* ---- Tests ------------------------------------------------------------------------------- */

SUITE_TEST(test_requests, 10)
{
	struct metrics *metrics = metrics_new(NULL);

	receive(metrics, FUSE_LOOKUP, 2);
	receive(metrics, FUSE_LOOKUP, 4);
	receive(metrics, FUSE_GETATTR, 6);
	receive(metrics, FUSE_FORGET, 8); /* is not answered */
	receive(metrics, 60, 10);	  /* of a later kernel */
	answer(metrics, 4, -ENOENT, NULL, 0);
	answer(metrics, 2, 0, "entry", 5);
	answer(metrics, 6, -EIO, NULL, 0);
	answer(metrics, 10, -ENOSYS, NULL, 0);
	answer(metrics, 0, FUSE_NOTIFY_INVAL_ENTRY, "a notification", 14);
	EXPECT_METRICS(metrics, "rowfs_requests_total{operation=\"lookup\"} 2",
		       "rowfs_requests_total{operation=\"getattr\"} 1",
		       "rowfs_requests_total{operation=\"forget\"} 1",
		       "rowfs_requests_total{operation=\"other\"} 1",
		       "rowfs_request_errors_total{operation=\"lookup\",error=\"ENOENT\"} 1",
		       "rowfs_request_errors_total{operation=\"getattr\",error=\"EIO\"} 1",
		       "rowfs_request_errors_total{operation=\"other\",error=\"ENOSYS\"} 1",
		       "rowfs_request_errors_total{operation=\"getattr\",error=\"ENOENT\"} ",
		       "rowfs_request_duration_seconds_count{operation=\"lookup\"} 2",
		       "rowfs_request_duration_seconds_count{operation=\"forget\"} ");
}

SUITE_TEST(test_durations, 10)
{
#define BUCKET(le) "rowfs_request_duration_seconds_bucket{operation=\"open\",le=\"" le "\"}"
	struct metrics *metrics = metrics_new(NULL);

	metrics_request(metrics, FUSE_OPEN, 0, 0);
	metrics_request(metrics, FUSE_OPEN, 0, 10000);
	metrics_request(metrics, FUSE_OPEN, 0, 10001);
	metrics_request(metrics, FUSE_OPEN, 0, 999999999);
	metrics_request(metrics, FUSE_OPEN, 0, 60000000000);
	EXPECT_METRICS(metrics, BUCKET("0.00001") " 2", BUCKET("0.000025") " 3", BUCKET("0.5") " 3",
		       BUCKET("1") " 4", BUCKET("10") " 4", BUCKET("+Inf") " 5",
		       "rowfs_request_duration_seconds_sum{operation=\"open\"} 61.000020000",
		       "rowfs_request_duration_seconds_count{operation=\"open\"} 5");
}

/* From reading to answering, also when others came between. */
SUITE_TEST(test_time_of_an_answer, 10)
{
	struct metrics *metrics = metrics_new(NULL);

	receive(metrics, FUSE_SETLKW, 2);
	suite_sleep(30);
	receive(metrics, FUSE_LOOKUP, 4);
	answer(metrics, 4, 0, NULL, 0);
	answer(metrics, 2, 0, NULL, 0);
	EXPECT_METRICS(metrics,
		       "rowfs_request_duration_seconds_bucket{operation=\"setlkw\",le=\"0.025\"} 0",
		       "rowfs_request_duration_seconds_bucket{operation=\"setlkw\",le=\"+Inf\"} 1");
}

SUITE_TEST(test_bytes, 10)
{
	struct fuse_write_out written = {.size = 100000};
	struct metrics *metrics = metrics_new(NULL);

	receive(metrics, FUSE_READ, 2);
	receive(metrics, FUSE_READ, 4);
	receive(metrics, FUSE_WRITE, 6);
	receive(metrics, FUSE_WRITE, 8);
	receive(metrics, FUSE_READDIR, 10);
	answer(metrics, 2, 0, "12345", 5);
	answer(metrics, 4, -EIO, NULL, 0);
	answer(metrics, 6, 0, &written, sizeof(written));
	answer(metrics, 8, -ENOSPC, NULL, 0);
	answer(metrics, 10, 0, "a listing", 9);
	EXPECT_METRICS(metrics, "rowfs_read_bytes_total 5", "rowfs_written_bytes_total 100000");
}

struct note {
	struct metrics_note note;
	int answered, given_up;
};

static void count_answer(struct metrics_note *note, const struct iovec *iov, uint64_t bytes,
			 uint64_t nanoseconds)
{
	struct note *counted = (struct note *)note;

	(void)bytes;
	(void)nanoseconds;
	counted->answered += iov != NULL;
	counted->given_up += iov == NULL;
}

/* Notes each READ. */
static struct metrics_note *note_read(void *ctx, const void *request)
{
	const struct fuse_in_header *header = request;
	struct note *notes = ctx;

	return header->opcode == FUSE_READ ? &notes[header->unique / 2].note : NULL;
}

/* Reads that wait keep their notes while many requests pass. */
SUITE_TEST(test_notes_wait, 10)
{
	struct note notes[101] = {0};
	struct metrics *metrics = metrics_new(NULL);

	for (int i = 1; i <= 100; i++)
		notes[i].note.answered = count_answer;
	metrics_note(metrics, note_read, notes);
	for (uint64_t i = 1; i <= 100; i++)
		receive(metrics, FUSE_READ, 2 * i);
	for (uint64_t i = 101; i <= 20000; i++) {
		receive(metrics, FUSE_GETATTR, 2 * i);
		answer(metrics, 2 * i, 0, NULL, 0);
	}
	for (uint64_t i = 1; i < 100; i++)
		answer(metrics, 2 * i, 0, "line", 4);
	metrics_free(metrics);
	for (int i = 1; i < 100; i++)
		ck_assert_int_eq(notes[i].answered, 1);
	ck_assert_int_eq(notes[1].given_up + notes[100].answered, 0);
	ck_assert_int_eq(notes[100].given_up, 1);
}

/* A message that cannot be understood, or comes twice, does no harm. */
SUITE_TEST(test_odd_messages, 10)
{
	struct metrics *metrics = metrics_new(NULL);

	answer(metrics, 77, 0, NULL, 0);
	receive(metrics, UINT32_MAX, 2);
	answer(metrics, 2, -4000, NULL, 0);
	for (uint64_t i = 1; i <= 100000; i++) /* more than are remembered */
		receive(metrics, FUSE_GETATTR, 2 * i);
	for (uint64_t i = 1; i <= 100000; i++)
		answer(metrics, 2 * i, 0, NULL, 0);
	EXPECT_METRICS(metrics, "rowfs_requests_total{operation=\"getattr\"} 100000",
		       "rowfs_request_errors_total{operation=\"other\",error=\"other\"} 1");
}

SUITE_TEST(test_empty, 10)
{
	EXPECT_METRICS(metrics_new(NULL), "rowfs_read_bytes_total 0");
}

SUITE_TEST(test_now, 10)
{
	static const struct metric all[] = {{"rowfs_inodes", 11, "Inodes."},
					    {"rowfs_errors_total", UINT64_MAX, "Errors."}};
	const struct wcs_stats store = {.level_count = 2, .levels = {{1, 2}, {3, 4}}};
	const struct metrics_now now = {.version = "1.2 \"a\\b\"\nc",
					.engine = "leveldb",
					.fuse = "3.14",
					.mounted = 1700000000000042,
					.all = all,
					.count = 2,
					.store = &store};
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	metrics_print_now(&now, to);
	fclose(to);
	EXPECT_TEXT(text,
		    ("rowfs_info{version=\"1.2 "
		     "\\\"a\\\\b\\\"\\nc\",engine=\"leveldb\",libfuse=\"3.14\"} 1"),
		    "rowfs_mounted_timestamp_seconds 1700000000.000042",
		    "# HELP rowfs_inodes Inodes.", "# TYPE rowfs_inodes gauge", "rowfs_inodes 11",
		    "# TYPE rowfs_errors_total counter", "rowfs_errors_total 18446744073709551615",
		    "rowfs_store_files{level=\"1\"} 3", "rowfs_store_bytes{level=\"1\"} 4");
}
