/* SPDX-License-Identifier: MIT */
/*
 * Retries, in a hash table of small sets by thread; the oldest entry of a set gives way.
 *
 * One retry may see two lookups: one that finds another node at the name by now, whose answer the
 * kernel discards, and a fresh one. A lookup of the same name by another thread may take the place
 * of the second, and one more lookup then checks it. A name that others keep opening or renaming
 * may therefore take many. After LOOKUPS_MAX the name leads to the stored value.
 *
 * An entry remains if the kernel never repeats the request. It expires after SECONDS_MAX, so that
 * it is not mistaken for the retry of a later request.
 */
#include "fs/write/retry.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/clock.h"

enum { SETS = 256, WAYS = 8, LOOKUPS_MAX = 16, SECONDS_MAX = 5 };

struct retry {
	pid_t thread;
	enum retry_want want;
	bool looked;		  /* a lookup of any name came since */
	bool missed;		  /* a lookup found nothing since */
	unsigned lookups;	  /* of its name since it began */
	struct retry_names names; /* the first is 0: the entry is free */
	uint64_t made;		  /* order among all retries */
	int64_t second;		  /* when it began, or when its last lookup came */
};

struct retries {
	pthread_mutex_t lock;
	uint64_t made;		/* retries so far. Lock: lock */
	_Atomic size_t entries; /* may be read without the lock, as a hint */
	struct retry sets[SETS][WAYS];
};

struct retries *retries_new(void)
{
	struct retries *retries = calloc(1, sizeof(*retries));

	if (retries)
		pthread_mutex_init(&retries->lock, NULL);
	return retries;
}

void retries_free(struct retries *retries)
{
	if (!retries)
		return;
	pthread_mutex_destroy(&retries->lock);
	free(retries);
}

static bool is_free(const struct retry *retry)
{
	return retry->names.all[0] == 0;
}

/* Lock: lock. */
static struct retry *find(struct retries *retries, pid_t thread, uint64_t ino)
{
	struct retry *set = retries->sets[(unsigned)thread % SETS];

	for (size_t i = 0; i < WAYS; i++) {
		const uint64_t *all = set[i].names.all;

		if (set[i].thread == thread && !is_free(&set[i]) &&
		    (all[0] == ino || all[1] == ino || all[2] == ino || all[3] == ino))
			return &set[i];
	}
	return NULL;
}

static int64_t this_second(void)
{
	return clock_ns() / CLOCK_SECOND;
}

static void drop(struct retries *retries, struct retry *retry)
{
	retry->names = (struct retry_names){0};
	retries->entries--;
}

/* An entry is stale if the next request is not the refused one repeated: after a refused OPEN
 * for writing the kernel comes back to write, and creates the file if the lookup misses it. After a
 * refused GETATTR it may come back with the OPEN that the GETATTR was for. */
enum retry_state retry_ask(struct retries *retries, pid_t thread, const struct retry_names *names,
			   enum retry_want want)
{
	struct retry *set = retries->sets[(unsigned)thread % SETS], *retry;
	enum retry_state state = RETRY_FIRST;
	bool left;

	if (thread == 0)
		return RETRY_BELOW;
	pthread_mutex_lock(&retries->lock);
	retry = find(retries, thread, names->all[0]);
	if (retry) {
		left = want == RETRY_WRITE && retry->want == RETRY_WRITE
			       ? retry->missed
			       : retry->want != want && retry->want != RETRY_STAT;
		if (!left && this_second() <= retry->second + SECONDS_MAX)
			state = retry->lookups > 0 ? RETRY_AGAIN
				: retry->looked	   ? RETRY_BELOW
						   : RETRY_REOPENED;
		drop(retries, retry);
	}
	if (state == RETRY_FIRST) {
		retry = &set[0];
		for (size_t i = 1; i < WAYS && !is_free(retry); i++)
			if (is_free(&set[i]) || set[i].made < retry->made)
				retry = &set[i];
		retries->entries += is_free(retry);
		*retry = (struct retry){.thread = thread,
					.names = *names,
					.want = want,
					.made = ++retries->made,
					.second = this_second()};
	}
	pthread_mutex_unlock(&retries->lock);
	return state;
}

/* A lookup of a thread comes. The name of its request may have been another file's when the retry
 * began, so the lookup may belong to each of the thread's retries. Lock: lock. */
static void look(struct retries *retries, pid_t thread, bool missed)
{
	struct retry *set = retries->sets[(unsigned)thread % SETS];

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].thread != thread)
			continue;
		set[i].looked = true;
		set[i].missed |= missed;
	}
}

bool retry_lookup(struct retries *retries, pid_t thread, uint64_t ino)
{
	struct retry *retry;
	bool write = false;

	if (retries->entries == 0)
		return false;
	pthread_mutex_lock(&retries->lock);
	look(retries, thread, false);
	retry = find(retries, thread, ino);
	if (retry && retry->lookups < LOOKUPS_MAX) {
		write = retry->want == RETRY_WRITE;
		retry->lookups++;
		if (retry->want != RETRY_STAT) /* its request is on the way, however slowly */
			retry->second = this_second();
	}
	pthread_mutex_unlock(&retries->lock);
	return write;
}

void retry_missed(struct retries *retries, pid_t thread)
{
	if (retries->entries == 0)
		return;
	pthread_mutex_lock(&retries->lock);
	look(retries, thread, true);
	pthread_mutex_unlock(&retries->lock);
}

void retry_end(struct retries *retries, pid_t thread, uint64_t ino)
{
	struct retry *retry;

	if (retries->entries == 0)
		return;
	pthread_mutex_lock(&retries->lock);
	retry = find(retries, thread, ino);
	if (retry)
		drop(retries, retry);
	pthread_mutex_unlock(&retries->lock);
}
