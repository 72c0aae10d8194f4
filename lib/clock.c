/* SPDX-License-Identifier: MIT */
/* The clocks. */
#include "lib/clock.h"

int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct timespec clock_deadline(int64_t ns)
{
	int64_t at = clock_ns() + ns;

	return (struct timespec){.tv_sec = at / CLOCK_SECOND, .tv_nsec = at % CLOCK_SECOND};
}

void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
