/* SPDX-License-Identifier: MIT */
/* The ring of a feed: places of readers, the bound, lost lines, and threads on both sides. */
#include "fs/live/ring.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WRITERS = 4, READERS = 8, LINES = 20000 };

/* A reader of one topic; of NULL: of all. */
struct reader {
	struct ring_reader place;
	const void *topic;
};

static bool wants(const struct ring_reader *place, const struct ring_line *line)
{
	const struct reader *reader = (const struct reader *)place;

	return !reader->topic || line->topic == reader->topic;
}

static struct reader *join(struct ring *ring, struct reader *reader, const void *topic)
{
	*reader = (struct reader){.place.wants = wants, .topic = topic};
	ring_join(ring, &reader->place);
	return reader;
}

/* A line with that text, of about 1 KiB with padding. */
static void push(struct ring *ring, const void *topic, const char *text, size_t padding)
{
	char *line = malloc(strlen(text) + padding + 1);

	memset(line, '.', strlen(text) + padding);
	memcpy(line, text, strlen(text));
	line[strlen(text) + padding] = '\n';
	ring_push(ring,
		  (struct ring_line){.change = wcs_change_text((struct wcs_slice){NULL, 0}, line,
							       strlen(text) + padding + 1),
				     .topic = topic});
	free(line);
}

/* What the reader gets next: the first n bytes of a line, "lost N", or "-". */
static const char *take(struct ring *ring, struct reader *reader, size_t n)
{
	static char text[64];
	struct wcs_change_reader *lines = wcs_change_reader_new();
	struct wcs_change *change;
	uint64_t lost;
	size_t got;

	change = ring_take(ring, &reader->place, &lost);
	snprintf(text, sizeof(text), lost > 0 ? "lost %llu" : "-", (unsigned long long)lost);
	if (change) {
		ck_assert_uint_eq(lost, 0);
		wcs_change_begin(lines, change);
		SUITE_OK(wcs_change_read(lines, text, n, &got));
		text[got] = 0;
	}
	wcs_change_reader_free(lines);
	return text;
}

#define EXPECT(ring, reader, n, expected) ck_assert_str_eq(take(ring, reader, n), expected)

/* A reader begins with the next line, and each has its own place. */
SUITE_TEST(test_places, 10)
{
	struct ring *ring = ring_new(1 << 20);
	struct reader a, b;

	push(ring, NULL, "0", 0); /* nobody reads */
	join(ring, &a, NULL);
	EXPECT(ring, &a, 1, "-");
	push(ring, NULL, "1", 0);
	join(ring, &b, NULL);
	push(ring, NULL, "2", 0);
	ck_assert_uint_gt(ring_pending(ring, &a.place), ring_pending(ring, &b.place));
	EXPECT(ring, &b, 1, "2");
	EXPECT(ring, &b, 1, "-");
	EXPECT(ring, &a, 1, "1");
	EXPECT(ring, &a, 1, "2");
	EXPECT(ring, &a, 1, "-");
	ck_assert_uint_eq(ring_pending(ring, &a.place), 0);
	push(ring, NULL, "3", 0);
	ring_leave(ring, &a.place);
	EXPECT(ring, &b, 1, "3");
	ring_leave(ring, &b.place);
	ring_free(ring);
}

/* The oldest lines go; a reader that wanted them learns their number, at their place. */
SUITE_TEST(test_lost, 10)
{
	static const char one, two;
	struct ring *ring = ring_new(16 << 10);
	struct reader all, ones, late;
	char text[8];

	join(ring, &all, NULL);
	join(ring, &ones, &one);
	push(ring, &one, "first", 1000);
	EXPECT(ring, &all, 5, "first");
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%03d", i);
		push(ring, i % 4 == 0 ? &one : &two, text, 1000);
		if (i == 89)
			join(ring, &late, NULL);
	}
	ck_assert_uint_le(ring_pending(ring, &all.place), (16 << 10) + 1200);
	ck_assert_str_eq(strncmp(take(ring, &all, 3), "lost ", 5) == 0 ? "lost" : "none", "lost");
	EXPECT(ring, &late, 3, "090");
	/* A line has 1,000 bytes and some, so 14 fit behind one; of 26 lines on `one` 3 are there.
	 */
	take(ring, &all, 3);
	EXPECT(ring, &ones, 3, "lost 23");
	EXPECT(ring, &ones, 3, "088");
	EXPECT(ring, &ones, 3, "092");
	EXPECT(ring, &ones, 3, "096");
	EXPECT(ring, &ones, 3, "-");
	ring_push(ring, (struct ring_line){.topic = &two}); /* it could not be made */
	EXPECT(ring, &ones, 3, "-");
	push(ring, &one, "before", 0);
	ring_push(ring, (struct ring_line){.topic = &one});
	push(ring, &one, "behind", 0);
	EXPECT(ring, &ones, 6, "before");
	EXPECT(ring, &ones, 6, "lost 1");
	EXPECT(ring, &ones, 6, "behind");
	/* A line that is larger than the ring stays until as much is behind it. */
	push(ring, &one, "large", 40 << 10);
	push(ring, &one, "next", 0);
	EXPECT(ring, &ones, 5, "large");
	EXPECT(ring, &ones, 4, "next");
	push(ring, &one, "large", 40 << 10);
	push(ring, &one, "other", 40 << 10);
	EXPECT(ring, &ones, 5, "lost 1");
	EXPECT(ring, &ones, 5, "other");
	ring_leave(ring, &all.place);
	ring_leave(ring, &ones.place);
	ring_leave(ring, &late.place);
	ring_free(ring);
}

/* Lines that nobody wants do not crowd out those that somebody waits for. */
SUITE_TEST(test_unwanted, 10)
{
	static const char one, two;
	struct ring *ring = ring_new(16 << 10);
	struct reader ones;

	join(ring, &ones, &one);
	push(ring, &one, "first", 0);
	for (int i = 0; i < 100; i++)
		push(ring, &two, "other", 1000);
	EXPECT(ring, &ones, 5, "first");
	EXPECT(ring, &ones, 5, "-");
	ring_leave(ring, &ones.place);
	ring_free(ring);
}

/* ---- Threads ----------------------------------------------------------------------------- */

static struct {
	struct ring *ring;
	atomic_bool done;
	atomic_uint joined;
} run;

static void *write_lines(void *topic)
{
	char text[32];

	while (atomic_load(&run.joined) < READERS)
		suite_sleep(1);
	for (int i = 0; i < LINES; i++) {
		snprintf(text, sizeof(text), "%07d", i);
		push(run.ring, topic, text, 100);
	}
	return NULL;
}

/* Each writer's lines come in order, and those that are lost are counted. */
static void *read_lines(void *arg)
{
	struct reader reader;
	uint64_t count = 0, lost = 0, writers = arg ? 1 : WRITERS;
	int last[WRITERS] = {0};
	bool ended = false;

	join(run.ring, &reader, arg);
	atomic_fetch_add(&run.joined, 1);
	for (;;) {
		const struct wcs_change *change;
		uint64_t some;
		char text[8] = {0};
		size_t got;
		struct wcs_change_reader *lines;

		change = ring_take(run.ring, &reader.place, &some);
		lost += some;
		if (!change && some == 0) {
			if (ended)
				break;
			ended = atomic_load(&run.done);
			suite_sleep(1);
			continue;
		}
		if (!change)
			continue;
		lines = wcs_change_reader_new();
		wcs_change_begin(lines, (struct wcs_change *)change);
		SUITE_OK(wcs_change_read(lines, text, 7, &got));
		wcs_change_reader_free(lines);
		count++;
		if (writers == 1) {
			ck_assert_int_ge(atoi(text), last[0]);
			last[0] = atoi(text) + 1;
		}
	}
	ck_assert_uint_eq(count + lost, writers * LINES);
	ring_leave(run.ring, &reader.place);
	return NULL;
}

/* Runs twice: the ring has room for all lines, then for few. */
SUITE_LOOP(test_threads, 2, 120)
{
	static char topics[WRITERS];
	pthread_t writers[WRITERS], readers[READERS];

	memset(&run, 0, sizeof(run));
	run.ring = ring_new(_i == 0 ? (uint64_t)1 << 30 : 1 << 16);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&readers[i], NULL, read_lines,
						i < WRITERS ? &topics[i] : NULL),
				 0);
	for (int i = 0; i < WRITERS; i++)
		ck_assert_int_eq(pthread_create(&writers[i], NULL, write_lines, &topics[i]), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	atomic_store(&run.done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	ring_free(run.ring);
}
