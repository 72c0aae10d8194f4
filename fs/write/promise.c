/* SPDX-License-Identifier: MIT */
/*
 * Promises, in a table of a few for each hash of a thread; the oldest gives way.
 *
 * Two lookups may come for one promise: one that finds that the name leads elsewhere by now, of
 * which the kernel forgets the answer, and a fresh one. Another thread's lookup of the same name
 * may stand in for the second, which is then checked by one more; so a name that others open or
 * rename all the time takes many. Behind the last of them the name leads to what is stored.
 *
 * A promise whose request came to nothing, or needed no more than the lookup, is left. It must not
 * be taken for that of a later request, so it is not for long.
 */
#include "fs/write/promise.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SETS = 256, WAYS = 8, LOOKUPS_MAX = 16, SECONDS_MAX = 5 };

struct promise {
	pid_t thread;
	enum promise_want want;
	bool looked;		    /* a lookup of any name came since */
	bool missed;		    /* a lookup found nothing since */
	unsigned lookups;	    /* since it was made */
	struct promise_names names; /* the first is 0: none is here */
	uint64_t made;		    /* counts promises */
	time_t second;		    /* when it was made, of a clock that does not jump */
};

struct promises {
	pthread_mutex_t lock;
	uint64_t made; /* so far. Lock: lock, as all below */
	size_t count;  /* read without the lock as a hint: atomic */
	struct promise sets[SETS][WAYS];
};

struct promises *promises_new(void)
{
	struct promises *promises = calloc(1, sizeof(*promises));

	if (promises)
		pthread_mutex_init(&promises->lock, NULL);
	return promises;
}

void promises_free(struct promises *promises)
{
	if (!promises)
		return;
	pthread_mutex_destroy(&promises->lock);
	free(promises);
}

static void count_add(struct promises *promises, int by)
{
	__atomic_fetch_add(&promises->count, (size_t)by, __ATOMIC_RELAXED);
}

static bool none(const struct promises *promises)
{
	return __atomic_load_n(&promises->count, __ATOMIC_RELAXED) == 0;
}

static bool has(const struct promise_names *names, uint64_t ino)
{
	for (size_t i = 0; i < sizeof(names->all) / sizeof(names->all[0]); i++)
		if (names->all[i] == ino)
			return true;
	return false;
}

static bool is_none(const struct promise *promise)
{
	return promise->names.all[0] == 0;
}

static struct promise *find(struct promises *promises, pid_t thread, uint64_t ino)
{
	struct promise *set = promises->sets[(unsigned)thread % SETS];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].thread == thread && !is_none(&set[i]) && has(&set[i].names, ino))
			return &set[i];
	return NULL;
}

static time_t this_second(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

static void drop(struct promises *promises, struct promise *promise)
{
	promise->names = (struct promise_names){0};
	count_add(promises, -1);
}

static void make(struct promises *promises, pid_t thread, const struct promise_names *names,
		 enum promise_want want)
{
	struct promise *set = promises->sets[(unsigned)thread % SETS], *place = &set[0];

	for (size_t i = 1; i < WAYS && !is_none(place); i++)
		if (is_none(&set[i]) || set[i].made < place->made)
			place = &set[i];
	if (is_none(place))
		count_add(promises, 1);
	*place = (struct promise){.thread = thread,
				  .names = *names,
				  .want = want,
				  .made = ++promises->made,
				  .second = this_second()};
}

/* Is it left of another request? Who was refused to write comes back to write, and makes the name
 * if it is gone. Whoever comes back may have been refused the attributes, on the way to his open.
 */
static bool is_left(const struct promise *promise, enum promise_want want)
{
	bool left = promise->want != want && promise->want != PROMISE_STAT;

	if (want == PROMISE_WRITE && promise->want == PROMISE_WRITE)
		left = promise->missed;
	return left || this_second() > promise->second + SECONDS_MAX;
}

enum promise_state promise_ask(struct promises *promises, pid_t thread,
			       const struct promise_names *names, enum promise_want want)
{
	enum promise_state state = PROMISE_FIRST;
	struct promise *promise;

	if (thread == 0)
		return PROMISE_AGAIN;
	pthread_mutex_lock(&promises->lock);
	promise = find(promises, thread, names->all[0]);
	if (promise && is_left(promise, want)) {
		drop(promises, promise);
		promise = NULL;
	}
	if (promise) {
		state = promise->looked ? PROMISE_AGAIN : PROMISE_REOPENED;
		drop(promises, promise);
	} else {
		make(promises, thread, names, want);
	}
	pthread_mutex_unlock(&promises->lock);
	return state;
}

/* A lookup of a thread comes. The name that its request is for may have been another file's when
 * the promise was made, so each may be for any of its promises. Lock: lock. */
static void look(struct promises *promises, pid_t thread, bool missed)
{
	struct promise *set = promises->sets[(unsigned)thread % SETS];

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].thread != thread)
			continue;
		set[i].looked = true;
		set[i].missed |= missed;
	}
}

bool promise_lookup(struct promises *promises, pid_t thread, uint64_t ino)
{
	struct promise *promise;
	bool write = false;

	if (none(promises))
		return false;
	pthread_mutex_lock(&promises->lock);
	look(promises, thread, false);
	promise = find(promises, thread, ino);
	if (promise && promise->lookups < LOOKUPS_MAX) {
		write = promise->want == PROMISE_WRITE;
		promise->lookups++;
		if (promise->want != PROMISE_STAT) /* its request is under way, however slowly */
			promise->second = this_second();
	}
	pthread_mutex_unlock(&promises->lock);
	return write;
}

void promise_missed(struct promises *promises, pid_t thread)
{
	if (none(promises))
		return;
	pthread_mutex_lock(&promises->lock);
	look(promises, thread, true);
	pthread_mutex_unlock(&promises->lock);
}

void promise_end(struct promises *promises, pid_t thread, uint64_t ino)
{
	struct promise *promise;

	if (none(promises))
		return;
	pthread_mutex_lock(&promises->lock);
	promise = find(promises, thread, ino);
	if (promise)
		drop(promises, promise);
	pthread_mutex_unlock(&promises->lock);
}
