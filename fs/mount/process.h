/* SPDX-License-Identifier: MIT */
/* The process of a request's thread. Any thread may call these; they take no lock. */
#ifndef FS_PROCESS_H
#define FS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Does /proc show this pid namespace? Otherwise writers cannot be distinguished. */
bool process_can_tell(void);

/* The process of a thread; -1: unknown, or outside of this pid namespace. */
pid_t process_of(pid_t thread);

enum { PROCESS_NAME_MAX = 64 };
/* The name of the thread's command, as ps shows it: any bytes, and a NUL. "": unknown. */
void process_name(pid_t thread, char name[PROCESS_NAME_MAX]);

/* Do two threads belong to one process? False if that is unknown. */
bool process_same(pid_t a, pid_t b);

/* Does a signal wait for the thread that ends programs, unless they catch it? The kernel adds
 * SIGKILL to a signal that ends the process for sure. */
bool process_ends(pid_t thread);

/* Is the thread exiting because a signal killed its process? */
bool process_killed(pid_t thread);

#endif
