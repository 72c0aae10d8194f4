/* SPDX-License-Identifier: MIT */
/*
 * The clock watch. The clock was set if CLOCK_REALTIME - CLOCK_MONOTONIC changed since the last
 * look. A timer that the kernel cancels when the clock is set wakes the thread. While dentries with
 * an age limit, or scans of listings, are kept, it also looks once a second.
 */
#include "fs/cache/cache_clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fs/cache/cache.h"
#include "lib/clock.h"

enum {
	LOOK_MS = 1000,
	SET_US = 5000,	 /* less may be a slow look */
	LOOK_US = 200,	 /* a look that took longer is repeated */
	LOOKS = 10,	 /* but not more often */
	FAR_S = 1 << 28, /* until the timer ends by itself */
};

struct cache_clock {
	int timer;	       /* -1: none */
	int wake;	       /* an eventfd: to be looked at */
	_Atomic int64_t until; /* entries are kept up to then, by the steady clock */
	atomic_bool asleep;    /* nothing was kept when the thread looked */
	atomic_bool ends;
	int64_t offset; /* at the last look. The thread's */
	void (*each)(struct fs *fs);
	pthread_t thread;
	bool started; /* the main thread's */
};

struct cache_clock *cache_clock_new(void)
{
	struct cache_clock *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return NULL;
	clock->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (clock->wake < 0) {
		free(clock);
		return NULL;
	}
	clock->timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return clock;
}

void cache_clock_free(struct cache_clock *clock)
{
	if (!clock)
		return;
	if (clock->timer >= 0)
		close(clock->timer);
	close(clock->wake);
	free(clock);
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC in microseconds, the latter as the mean of two readings. */
static int64_t offset_now(void)
{
	int64_t before = 0, now = 0, after = clock_ns() / 1000;

	for (int i = 0; i < LOOKS && (i == 0 || after - before > LOOK_US); i++) {
		before = clock_ns() / 1000;
		now = clock_now();
		after = clock_ns() / 1000;
	}
	return now - before - (after - before) / 2;
}

/* The kernel cancels the timer when the clock is set. */
static void timer_start(const struct cache_clock *clock)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(clock_now() / 1000000) + FAR_S}};

	if (clock->timer >= 0)
		timerfd_settime(clock->timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at,
				NULL);
}

static void *watch(void *arg)
{
	struct fs *fs = arg;
	struct cache_clock *clock = fs->clock;
	struct pollfd fds[] = {{.fd = clock->wake, .events = POLLIN},
			       {.fd = clock->timer, .events = POLLIN}};

	while (!clock->ends) {
		int64_t offset, by;
		uint64_t count;
		bool idle;

		/* In this order: cache_clock_keeps finds asleep set, or this thread finds its
		 * `until`. */
		clock->asleep = true;
		idle = clock->until < clock_ns() / 1000;
		clock->asleep = idle;
		poll(fds, 2, idle ? -1 : LOOK_MS);
		if (fds[1].revents && read(clock->timer, &count, sizeof(count)) < 0 &&
		    errno == ECANCELED)
			timer_start(clock);
		if (fds[0].revents)
			(void)!read(clock->wake, &count, sizeof(count));
		if (clock->each)
			clock->each(fs);
		offset = offset_now();
		by = offset - clock->offset;
		if (by > SET_US || by < -SET_US) {
			clock->offset = offset;
			cache_expire_ages(fs);
		}
	}
	return NULL;
}

int cache_clock_start(struct fs *fs, void (*each)(struct fs *fs))
{
	struct cache_clock *clock = fs->clock;
	int rc;

	clock->each = each;
	clock->offset = offset_now();
	timer_start(clock);
	rc = pthread_create(&clock->thread, NULL, watch, fs);
	clock->started = rc == 0;
	return -rc;
}

void cache_clock_end(struct fs *fs)
{
	struct cache_clock *clock = fs->clock;

	clock->ends = true;
	eventfd_write(clock->wake, 1);
	if (clock->started)
		pthread_join(clock->thread, NULL);
	clock->started = false;
}

void cache_clock_keeps(struct cache_clock *clock, double seconds)
{
	int64_t end = clock_ns() / 1000 + (int64_t)(seconds * 1e6) + 1000000;
	int64_t until = clock->until;

	while (until < end && !atomic_compare_exchange_weak(&clock->until, &until, end))
		;
	if (atomic_exchange(&clock->asleep, false))
		eventfd_write(clock->wake, 1);
}
