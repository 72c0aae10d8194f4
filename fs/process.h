/* SPDX-License-Identifier: MIT */
/* What /proc tells of the process behind a request. */
#ifndef FS_PROCESS_H
#define FS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Do two threads belong to one process? False where it cannot be known. */
bool process_same(pid_t a, pid_t b);

/* Is the thread on its way out because a signal killed its process? */
bool process_killed(pid_t thread);

#endif
