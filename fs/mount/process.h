/* SPDX-License-Identifier: MIT */
/* What the kernel tells of the process behind a request's thread. Any thread may call these; they
 * take no lock. */
#ifndef FS_PROCESS_H
#define FS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Can threads be told apart at all? Not where /proc is missing, or of another pid namespace. */
bool process_can_tell(void);

/* The process that a thread belongs to; -1: unknown, or no thread of this pid namespace. */
pid_t process_of(pid_t thread);

/* Do two threads belong to one process? False where it cannot be known. */
bool process_same(pid_t a, pid_t b);

/* Is the thread on its way out because a signal killed its process? */
bool process_killed(pid_t thread);

#endif
