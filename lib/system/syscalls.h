/* SPDX-License-Identifier: MIT */
/* The system calls that the processes of a mount may make. SECURITY.md has them as tables. */
#ifndef LIB_SYSCALLS_H
#define LIB_SYSCALLS_H

/* Is this a build with AddressSanitizer or ThreadSanitizer, which make calls of their own? gcc
 * defines a macro for each, clang has __has_feature. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYSCALLS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SYSCALLS_SANITIZER 1
#endif
#endif
#ifndef SYSCALLS_SANITIZER
#define SYSCALLS_SANITIZER 0
#endif

/* The lists. A call may be in several. */
enum syscalls_list {
	SYSCALLS_SERVER = 1,	/* of the process behind a mount */
	SYSCALLS_CONNECTOR = 2, /* it connects to local sockets and passes descriptors, too */
	SYSCALLS_MOUNTER = 4,	/* until it has mounted */
	SYSCALLS_MOUNTED = 8	/* of the mounter from then on */
};

/*
 * From now on this thread, and those that it starts, make only the calls of that list in
 * syscalls.c, and of each list before. Each other number fails with ENOSYS, as on a kernel without
 * it; a listed call whose argument is refused fails with EPERM. A call through another ABI of the
 * processor kills the process. Needs PR_SET_NO_NEW_PRIVS. 0, also on a kernel without seccomp; or a
 * negative errno.
 */
int syscalls_confine(enum syscalls_list list);

#endif
