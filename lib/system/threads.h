/* SPDX-License-Identifier: MIT */
/* Threads that take no signal: those are for the program's first one. */
#ifndef LIB_SYSTEM_THREADS_H
#define LIB_SYSTEM_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

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
