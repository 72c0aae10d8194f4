/* SPDX-License-Identifier: MIT */
/*
 * Long reads.
 *
 * A queue of a user holds turns, each of a thread that waits or of a request that was put off. A
 * place that is free goes to the first turn of the user who got none for the longest time: its
 * thread goes on, or its request becomes ready for the next thread in reads_serve. If others wait
 * for its place, a read leaves it after READS_SLICE and joins the end of its user's queue.
 */
#include "fs/serve/reads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fs/serve/share.h"
#include "lib/clock.h"

enum {
	READS_MAX = 160,      /* threads in slow reads */
	READS_OTHERS = 120,   /* of all users but root and the owner together */
	READS_USER = 40,      /* of one of them */
	READS_OTHERS_RUN = 2, /* times the places of one user: those of all of them together */
	READS_NICE = 10,      /* the priority of their threads, as in nice(1) */
};

#define READS_SLICE  (CLOCK_SECOND / 10) /* ns that a read keeps its place while others wait */
#define READS_ASK    (CLOCK_SECOND / 10) /* ns between two questions whether to go on waiting */
#define READS_LINGER (CLOCK_SECOND / 10) /* ns that a thread waits for a ready request */

struct turn {
	struct turn *next;
	bool waits;	      /* a thread; it frees the turn. Else a request */
	bool granted;	      /* a thread's */
	pthread_cond_t grant; /* a thread's */
	size_t len;
	unsigned char request[READS_REQUEST_MAX];
	struct reader *reader;
};

struct queue {
	struct turn *first, **last;
};

/* A user who has long reads. */
struct reader {
	struct reader *next;
	uid_t user;
	bool other;	  /* neither root nor the owner */
	unsigned running; /* places taken */
	struct queue turns;
};

struct reads {
	struct fs *fs;
	unsigned places;
	reads_make *make;
	void *ctx;
	struct share share; /* of threads in slow reads */
	pthread_mutex_t lock;
	pthread_cond_t wake; /* of threads that wait for a ready request */
	struct reader
		*readers;   /* that got no place for the longest time first. Lock: lock, as below */
	unsigned others;    /* places taken by users other than root and the owner */
	struct queue ready; /* requests that have a place */
	unsigned ready_count;
	unsigned free; /* threads that wait for a ready request, or are about to */
	bool ends;
};

static _Thread_local struct reader *reads_mine; /* whose place this thread has; NULL: none */
static _Thread_local int64_t reads_since;	/* when it got the place, by clock_ns */

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_add(struct queue *queue, struct turn *turn)
{
	turn->next = NULL;
	*queue->last = turn;
	queue->last = &turn->next;
}

static void queue_remove(struct queue *queue, struct turn *turn)
{
	struct turn **link = &queue->first;

	while (*link != turn)
		link = &(*link)->next;
	*link = turn->next;
	if (!*link)
		queue->last = link;
}

static void queue_free(struct queue *queue)
{
	struct turn *next;

	for (struct turn *turn = queue->first; turn; turn = next) {
		next = turn->next;
		free(turn);
	}
}

struct reads *reads_new(struct fs *fs, unsigned places, reads_make *make, void *ctx)
{
	struct reads *reads = calloc(1, sizeof(*reads));

	if (!reads)
		return NULL;
	reads->fs = fs;
	reads->places = places;
	reads->make = make;
	reads->ctx = ctx;
	share_init(&reads->share, (struct share_limits){READS_MAX, READS_OTHERS, READS_USER});
	pthread_mutex_init(&reads->lock, NULL);
	clock_cond_init(&reads->wake);
	queue_init(&reads->ready);
	return reads;
}

void reads_free(struct reads *reads)
{
	struct reader *next;

	if (!reads)
		return;
	for (struct reader *reader = reads->readers; reader; reader = next) {
		next = reader->next;
		queue_free(&reader->turns);
		free(reader);
	}
	queue_free(&reads->ready);
	share_destroy(&reads->share);
	pthread_cond_destroy(&reads->wake);
	pthread_mutex_destroy(&reads->lock);
	free(reads);
}

void reads_stop(struct reads *reads)
{
	pthread_mutex_lock(&reads->lock);
	reads->ends = true;
	pthread_cond_broadcast(&reads->wake);
	pthread_mutex_unlock(&reads->lock);
}

/* ---- Places, under the lock of the reads ------------------------------------------------- */

static struct reader *reader_find(const struct reads *reads, uid_t user)
{
	struct reader *reader = reads->readers;

	while (reader && reader->user != user)
		reader = reader->next;
	return reader;
}

/* NULL: no memory. */
static struct reader *reader_get(struct reads *reads, uid_t user)
{
	struct reader *reader = reader_find(reads, user);

	if (reader)
		return reader;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return NULL;
	reader->user = user;
	reader->other = share_is_other(reads->fs, user);
	queue_init(&reader->turns);
	reader->next = reads->readers;
	reads->readers = reader;
	return reader;
}

/* Frees the reader if nothing of it runs or waits. */
static void reader_put(struct reads *reads, struct reader *reader)
{
	struct reader **link = &reads->readers;

	if (reader->running > 0 || reader->turns.first)
		return;
	while (*link != reader)
		link = &(*link)->next;
	*link = reader->next;
	free(reader);
}

static bool has_place(const struct reads *reads, const struct reader *reader)
{
	return reader->running < reads->places &&
	       (!reader->other || reads->others < READS_OTHERS_RUN * reads->places);
}

/* Is a thread there for one more ready request? Makes one if need be. */
static bool has_thread(struct reads *reads)
{
	if (reads->free > reads->ready_count)
		return true;
	if (!reads->make(reads->ctx))
		return false;
	reads->free++;
	return true;
}

/* Gives a place to the user's first turn. False: it has no thread; the next one in reads_serve asks
 * again. */
static bool grant_first(struct reads *reads, struct reader *reader)
{
	struct turn *turn = reader->turns.first;

	if (!turn->waits && !has_thread(reads))
		return false;
	queue_remove(&reader->turns, turn);
	reader->running++;
	reads->others += reader->other;
	if (turn->waits) {
		turn->granted = true;
		pthread_cond_signal(&turn->grant);
	} else {
		queue_add(&reads->ready, turn);
		reads->ready_count++;
		pthread_cond_signal(&reads->wake);
	}
	return true;
}

/* Gives the free places to first turns. A user who got one goes to the end of the list. */
static void grant(struct reads *reads)
{
	struct reader **link = &reads->readers, **last, *reader;

	while ((reader = *link) != NULL) {
		if (!reader->turns.first || !has_place(reads, reader) ||
		    !grant_first(reads, reader)) {
			link = &reader->next;
			continue;
		}
		*link = reader->next;
		for (last = link; *last;)
			last = &(*last)->next;
		*last = reader;
		reader->next = NULL;
	}
}

/* Could another turn have the place of that user's read? */
static bool is_awaited(const struct reads *reads, const struct reader *mine)
{
	const struct reader *reader = reads->readers;

	while (reader &&
	       (!reader->turns.first || (reader != mine && (!reader->other || !mine->other ||
							    reader->running >= reads->places))))
		reader = reader->next;
	return reader != NULL;
}

static void leave(struct reads *reads, struct reader *reader)
{
	reader->running--;
	reads->others -= reader->other;
	reads_mine = NULL;
}

/* Takes a place for this thread. 0 or -EINTR. */
static int await_place(struct reads *reads, struct reader *reader, bool (*ends)(void))
{
	struct turn turn = {.waits = true, .reader = reader};
	bool interrupted = false;

	clock_cond_init(&turn.grant);
	queue_add(&reader->turns, &turn);
	grant(reads);
	while (!turn.granted && !interrupted) {
		struct timespec until = clock_deadline(READS_ASK);

		pthread_cond_timedwait(&turn.grant, &reads->lock, &until);
		if (turn.granted)
			break;
		pthread_mutex_unlock(&reads->lock);
		interrupted = ends();
		pthread_mutex_lock(&reads->lock);
	}
	pthread_cond_destroy(&turn.grant);
	if (turn.granted) {
		reads_mine = reader;
		reads_since = clock_ns();
		return 0;
	}
	queue_remove(&reader->turns, &turn);
	reader_put(reads, reader);
	return -EINTR;
}

/* ---- Reads that a thread handles --------------------------------------------------------- */

bool reads_has_place(void)
{
	return reads_mine != NULL;
}

bool reads_full(struct reads *reads, uid_t user)
{
	const struct reader *reader;
	bool full;

	pthread_mutex_lock(&reads->lock);
	reader = reader_find(reads, user);
	full = reader ? reader->turns.first || !has_place(reads, reader)
		      : reads->others >= READS_OTHERS_RUN * reads->places &&
				share_is_other(reads->fs, user);
	pthread_mutex_unlock(&reads->lock);
	return full;
}

bool reads_count_in(struct reads *reads, uid_t user)
{
	return share_take(&reads->share, reads->fs, user, 1);
}

void reads_count_out(struct reads *reads, uid_t user)
{
	share_give(&reads->share, user, 1);
}

void reads_lower(void)
{
	setpriority(PRIO_PROCESS, 0, READS_NICE);
}

int reads_begin(struct reads *reads, uid_t user, bool (*ends)(void))
{
	struct reader *reader;
	int rc = -EAGAIN;

	pthread_mutex_lock(&reads->lock);
	reader = reader_get(reads, user);
	if (reader)
		rc = await_place(reads, reader, ends);
	pthread_mutex_unlock(&reads->lock);
	return rc;
}

int reads_rest(struct reads *reads, bool (*ends)(void))
{
	struct reader *reader = reads_mine;
	int rc = 0;

	if (clock_ns() - reads_since < READS_SLICE)
		return 0;
	pthread_mutex_lock(&reads->lock);
	if (is_awaited(reads, reader)) {
		leave(reads, reader);
		rc = await_place(reads, reader, ends);
	} else {
		reads_since = clock_ns();
	}
	pthread_mutex_unlock(&reads->lock);
	return rc;
}

void reads_end(struct reads *reads)
{
	struct reader *reader = reads_mine;

	if (!reader)
		return;
	pthread_mutex_lock(&reads->lock);
	leave(reads, reader);
	grant(reads);
	reader_put(reads, reader);
	pthread_mutex_unlock(&reads->lock);
}

/* ---- Requests that are put off ----------------------------------------------------------- */

bool reads_put_off(struct reads *reads, uid_t user, const void *request, size_t len)
{
	struct turn *turn = calloc(1, sizeof(*turn));
	struct reader *reader = NULL;
	bool taken = false;

	if (!turn)
		return false;
	turn->len = len;
	memcpy(turn->request, request, len);
	pthread_mutex_lock(&reads->lock);
	if (has_thread(reads))
		reader = reader_get(reads, user);
	if (reader) {
		turn->reader = reader;
		queue_add(&reader->turns, turn);
		grant(reads);
		taken = true;
	}
	pthread_mutex_unlock(&reads->lock);
	if (!taken)
		free(turn);
	return taken;
}

/* Waits for a ready request; the thread counts among the free ones. NULL: it is to end. */
static struct turn *take(struct reads *reads)
{
	struct timespec until = clock_deadline(READS_LINGER);
	struct turn *turn = NULL;
	int rc = 0;

	pthread_mutex_lock(&reads->lock);
	while (!reads->ends && reads->ready_count == 0 && rc == 0)
		rc = pthread_cond_timedwait(&reads->wake, &reads->lock, &until);
	if (!reads->ends && reads->ready_count > 0) {
		turn = reads->ready.first;
		queue_remove(&reads->ready, turn);
		reads->ready_count--;
		reads_mine = turn->reader;
		reads_since = clock_ns();
	}
	reads->free--;
	pthread_mutex_unlock(&reads->lock);
	return turn;
}

void reads_serve(struct reads *reads, bool made, reads_handle *handle, void *ctx)
{
	struct turn *turn;

	reads_lower();
	do {
		if (!made) {
			pthread_mutex_lock(&reads->lock);
			reads->free++;
			grant(reads);
			pthread_mutex_unlock(&reads->lock);
		}
		made = false;
		turn = take(reads);
		if (turn)
			handle(ctx, turn->request, turn->len);
		reads_end(reads);
		free(turn);
	} while (turn);
}
