/* SPDX-License-Identifier: MIT */
/* The clocks: the monotonic one, which never jumps and which no one can set, and the system's. Any
 * thread. */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND INT64_C(1000000000) /* nanoseconds */

/* Nanoseconds since an unspecified moment (CLOCK_MONOTONIC). */
int64_t clock_ns(void);

/* The present: microseconds since 1970 (CLOCK_REALTIME). */
int64_t clock_now(void);

/* The moment ns nanoseconds from now, for pthread_cond_timedwait on a condition of
 * clock_cond_init. */
struct timespec clock_deadline(int64_t ns);

/* Initializes a condition variable whose timed waits use this clock. */
void clock_cond_init(pthread_cond_t *cond);

#endif
