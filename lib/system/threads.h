/* SPDX-License-Identifier: MIT */
/* Threads that take no signal: those are for the program's first one. */
#ifndef LIB_SYSTEM_THREADS_H
#define LIB_SYSTEM_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Below the stack of a thread; more than the largest frame, of 49 KiB, which could step over one
 * page. */
#define THREADS_GUARD (64u << 10)

/* The threads that are made later have this guard. */
static inline void threads_guard(void)
{
	pthread_attr_t attributes;

	if (pthread_getattr_default_np(&attributes) != 0)
		return;
	pthread_attr_setguardsize(&attributes, THREADS_GUARD);
	pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

/* False: none can be made. */
static inline bool threads_start(pthread_t *thread, void *(*start)(void *ctx), void *ctx)
{
	sigset_t all, old;
	bool made;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	made = pthread_create(thread, NULL, start, ctx) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return made;
}

#endif
