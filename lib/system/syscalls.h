/* SPDX-License-Identifier: MIT */
/* The system calls that the process behind a mount may make. SECURITY.md has them as a table. */
#ifndef LIB_SYSCALLS_H
#define LIB_SYSCALLS_H

#include <stdbool.h>

/*
 * From now on this thread, and those that it starts, make only the calls of syscalls.c. Each other
 * number fails with ENOSYS, as on a kernel without it; a listed call whose argument is refused
 * fails with EPERM. connects: it may connect to local sockets and pass descriptors, too. A call
 * through another ABI of the processor kills the process. Needs PR_SET_NO_NEW_PRIVS. 0, also on a
 * kernel without seccomp; or a negative errno.
 */
int syscalls_confine(bool connects);

#endif
