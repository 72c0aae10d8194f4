/* SPDX-License-Identifier: MIT */
/* The monotonic clock. */
#include "lib/clock.h"

int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
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
