/* SPDX-License-Identifier: MIT */
/*
 * Lines are numbered. Line n is at n modulo the room of an array that grows; those from `first` to
 * `end` are there. A line goes once all its readers have passed it, if it is the first.
 */
#include "fs/live/ring.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	RING_ROOM = 256, /* lines, at first */
	RING_SKIP = 256, /* lines that a reader passes over before others get the lock */
};

struct ring {
	uint64_t max;
	pthread_mutex_t lock;
	struct ring_reader *readers; /* Lock: lock, as for all below */
	size_t reader_count;
	struct ring_line *lines;
	size_t room; /* a power of two */
	uint64_t first, end;
	uint64_t started, ended; /* bytes of all lines before first, before end */
};

struct ring *ring_new(uint64_t max)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->max = max;
	pthread_mutex_init(&ring->lock, NULL);
	return ring;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	for (; ring->first < ring->end; ring->first++)
		wcs_change_free(ring->lines[ring->first & (ring->room - 1)].change);
	pthread_mutex_destroy(&ring->lock);
	free(ring->lines);
	free(ring);
}

static struct ring_line *ring_at(const struct ring *ring, uint64_t number)
{
	return &ring->lines[number & (ring->room - 1)];
}

static bool ring_wants(const struct ring_reader *reader, const struct ring_line *line)
{
	return !reader->wants || reader->wants(reader, line);
}

/* ---- The oldest lines -------------------------------------------------------------------- */

/* Takes out the first line if nobody waits for it, or if the bound is exceeded behind it. False:
 * neither. The caller frees *change. */
static bool ring_pop(struct ring *ring, struct wcs_change **change)
{
	struct ring_line *line;
	bool goes;

	pthread_mutex_lock(&ring->lock);
	line = ring->first < ring->end ? ring_at(ring, ring->first) : NULL;
	goes = line && (line->readers == 0 || ring->ended - line->end > ring->max);
	if (goes) {
		for (struct ring_reader *reader = ring->readers; reader && line->readers > 0;
		     reader = reader->next) {
			if (reader->at > ring->first)
				continue;
			reader->lost += ring_wants(reader, line);
			reader->at = ring->first + 1;
			line->readers--;
		}
		*change = line->change;
		ring->started = line->end;
		ring->first++;
	}
	if (ring->first == ring->end && ring->reader_count == 0) {
		free(ring->lines);
		ring->lines = NULL;
		ring->room = 0;
	}
	pthread_mutex_unlock(&ring->lock);
	return goes;
}

/* Frees the lines that need not stay. */
static void ring_trim(struct ring *ring)
{
	struct wcs_change *change;

	while (ring_pop(ring, &change))
		wcs_change_free(change);
}

/* ---- Readers ----------------------------------------------------------------------------- */

void ring_join(struct ring *ring, struct ring_reader *reader)
{
	pthread_mutex_lock(&ring->lock);
	reader->at = ring->end;
	reader->lost = 0;
	reader->next = ring->readers;
	ring->readers = reader;
	ring->reader_count++;
	pthread_mutex_unlock(&ring->lock);
}

void ring_leave(struct ring *ring, struct ring_reader *reader)
{
	struct ring_reader **link = &ring->readers;

	pthread_mutex_lock(&ring->lock);
	while (*link != reader)
		link = &(*link)->next;
	*link = reader->next;
	ring->reader_count--;
	for (; reader->at < ring->end; reader->at++)
		ring_at(ring, reader->at)->readers--;
	pthread_mutex_unlock(&ring->lock);
	ring_trim(ring);
}

struct wcs_change *ring_take(struct ring *ring, struct ring_reader *reader, uint64_t *lost)
{
	struct wcs_change *change = NULL;
	bool passes, more = true;
	size_t passed;

	*lost = 0;
	while (more) {
		pthread_mutex_lock(&ring->lock);
		*lost = reader->lost;
		reader->lost = 0;
		more = *lost == 0 && reader->at < ring->end;
		passes = false;
		for (passed = 0; more && passed < RING_SKIP && reader->at < ring->end; passed++) {
			struct ring_line *line = ring_at(ring, reader->at++);

			passes |= --line->readers == 0;
			if (!ring_wants(reader, line))
				continue;
			if (line->change)
				change = wcs_change_hold(line->change);
			else
				*lost = 1;
			more = false;
		}
		pthread_mutex_unlock(&ring->lock);
		if (passes)
			ring_trim(ring);
	}
	return change;
}

uint64_t ring_pending(struct ring *ring, const struct ring_reader *reader)
{
	uint64_t pending;

	pthread_mutex_lock(&ring->lock);
	pending = ring->ended -
		  (reader->at > ring->first ? ring_at(ring, reader->at - 1)->end : ring->started);
	pthread_mutex_unlock(&ring->lock);
	return pending;
}

/* ---- Lines ------------------------------------------------------------------------------- */

/* Makes room for one more line. False: no memory. Lock: lock. */
static bool ring_grow(struct ring *ring)
{
	size_t room = ring->room > 0 ? 2 * ring->room : RING_ROOM;
	struct ring_line *lines;

	if (ring->end - ring->first < ring->room)
		return true;
	lines = malloc(room * sizeof(*lines));
	if (!lines)
		return false;
	for (uint64_t n = ring->first; n < ring->end; n++)
		lines[n & (room - 1)] = *ring_at(ring, n);
	free(ring->lines);
	ring->lines = lines;
	ring->room = room;
	return true;
}

bool ring_push(struct ring *ring, struct ring_line line)
{
	bool wanted = false, added, full;

	pthread_mutex_lock(&ring->lock);
	for (struct ring_reader *reader = ring->readers; !wanted && reader; reader = reader->next)
		wanted = ring_wants(reader, &line);
	added = wanted && ring_grow(ring);
	if (added) {
		ring->ended += sizeof(line) + (line.change ? wcs_change_size(line.change) : 0);
		line.end = ring->ended;
		line.readers = ring->reader_count;
		*ring_at(ring, ring->end++) = line;
	}
	for (struct ring_reader *reader = ring->readers; wanted && !added && reader;
	     reader = reader->next)
		reader->lost += ring_wants(reader, &line);
	full = ring->ended - ring->started > ring->max;
	pthread_mutex_unlock(&ring->lock);
	if (!added)
		wcs_change_free(line.change);
	else if (full)
		ring_trim(ring);
	return wanted;
}
