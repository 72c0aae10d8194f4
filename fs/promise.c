/* SPDX-License-Identifier: MIT */
/*
 * Promises, in a table of a few for each hash of a thread; the oldest gives way.
 *
 * Two lookups may come for one promise: one that finds that the name leads elsewhere by now, of
 * which the kernel forgets the answer, and a fresh one. Another thread's lookup of the same name
 * may stand in for the second. A promise that is not taken up by then is dropped.
 */
#include "promise.h"

#include <pthread.h>
#include <stdlib.h>

enum { SETS = 256, WAYS = 4, LOOKUPS_MAX = 3 };

struct promise {
	pid_t thread; /* 0: of a process outside of this pid namespace */
	bool write;
	unsigned lookups; /* since it was made */
	uint64_t ino;	  /* 0: none is here */
	uint64_t made;	  /* counts promises */
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

static struct promise *find(struct promises *promises, pid_t thread, uint64_t ino)
{
	struct promise *set = promises->sets[(unsigned)thread % SETS];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].thread == thread && set[i].ino == ino)
			return &set[i];
	return NULL;
}

static void drop(struct promises *promises, struct promise *promise)
{
	promise->ino = 0;
	count_add(promises, -1);
}

static void make(struct promises *promises, pid_t thread, uint64_t ino, bool write)
{
	struct promise *set = promises->sets[(unsigned)thread % SETS], *place = &set[0];

	for (size_t i = 1; i < WAYS && place->ino != 0; i++)
		if (set[i].ino == 0 || set[i].made < place->made)
			place = &set[i];
	if (place->ino == 0)
		count_add(promises, 1);
	*place = (struct promise){
		.thread = thread, .ino = ino, .write = write, .made = ++promises->made};
}

enum promise_state promise_ask(struct promises *promises, pid_t thread, uint64_t ino, bool write)
{
	enum promise_state state = PROMISE_FIRST;
	struct promise *promise;

	pthread_mutex_lock(&promises->lock);
	promise = find(promises, thread, ino);
	if (promise) {
		state = promise->lookups == 0 ? PROMISE_REOPENED : PROMISE_AGAIN;
		drop(promises, promise);
	} else {
		make(promises, thread, ino, write);
	}
	pthread_mutex_unlock(&promises->lock);
	return state;
}

bool promise_lookup(struct promises *promises, pid_t thread, uint64_t ino)
{
	struct promise *promise;
	bool write = false;

	if (none(promises))
		return false;
	pthread_mutex_lock(&promises->lock);
	promise = find(promises, thread, ino);
	if (promise) {
		write = promise->write;
		if (++promise->lookups == LOOKUPS_MAX)
			drop(promises, promise);
	}
	pthread_mutex_unlock(&promises->lock);
	return write;
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
