/* SPDX-License-Identifier: MIT */
/*
 * The privileges and system calls that the mounter keeps: each number is tried.
 *
 * No call is really made. An older filter of the test gives PRIVILEGE_REACHED to all calls with a
 * mark in their sixth argument; the kernel prefers the refusals of the newer filters.
 */
#include "fs/mount/privilege.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRIVILEGE_REACHED = 4000 }; /* an errno that no call has */
enum { PRIVILEGE_MARK = 0x726f7766, PRIVILEGE_LAST = 600 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PRIVILEGE_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PRIVILEGE_SANITIZER true
#endif
#endif
#ifndef PRIVILEGE_SANITIZER
#define PRIVILEGE_SANITIZER false /* there the mounter has no filter */
#endif

/* Each call that the mounter needs, for all arguments, but the end of a thread. */
static const long privilege_allowed[] = {
	/* mounts */
	SYS_umount2,
	/* the server, and the files of its mount */
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_sendto,
	SYS_read,
	SYS_write,
	SYS_lseek,
	SYS_close,
	SYS_fcntl,
	SYS_dup3,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_fstatfs,
	SYS_readlinkat,
	/* itself */
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_capget,
	/* memory, threads, pauses, the end */
	SYS_brk,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_rseq,
	SYS_set_robust_list,
	SYS_rt_sigprocmask,
	SYS_getrandom,
	SYS_clock_nanosleep,
	SYS_restart_syscall,
	SYS_exit_group,
#ifdef SYS_readlink
	SYS_readlink,
	SYS_dup2,
#endif
};

static bool privilege_is_allowed(long number, bool mounted)
{
	for (size_t i = 0; i < sizeof(privilege_allowed) / sizeof(privilege_allowed[0]); i++)
		if (privilege_allowed[i] == number)
			return true;
	return !mounted && (number == SYS_mount || number == SYS_seccomp);
}

/* The errno of a marked call. */
static int privilege_try(long number, long first, long third)
{
	errno = 0;
	return syscall(number, first, 0L, third, 0L, 0L, (long)PRIVILEGE_MARK) < 0 ? errno : 0;
}

static void privilege_mark_calls(void)
{
	/* A thread ends with whatever its register of the sixth argument has. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 3, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PRIVILEGE_MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | PRIVILEGE_REACHED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	SUITE_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUITE_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void privilege_check_calls(bool mounted)
{
	const int opened = mounted ? ENOSYS : PRIVILEGE_REACHED;

	for (long number = 0; number <= PRIVILEGE_LAST; number++) {
		int expected = privilege_is_allowed(number, mounted) ? PRIVILEGE_REACHED : ENOSYS;

#ifdef __x86_64__
		/* No filter sees uretprobe and uprobe, which do nothing outside of a probe. */
		if (number == 335 || number == 336)
			continue;
#endif
#ifdef SYS_access
		if (number == SYS_access)
#else
		if (number == SYS_faccessat)
#endif
			expected = EROFS; /* so that libfuse leaves /etc/mtab alone */
		if (number != SYS_clone && number != SYS_openat && number != SYS_exit)
			ck_assert_msg(privilege_try(number, 0, 0) == expected, "call %ld: %s",
				      number, strerror(errno));
	}
	ck_assert_int_eq(privilege_try(SYS_clone, SIGCHLD, 0), ENOSYS);
	ck_assert_int_eq(privilege_try(SYS_clone, CLONE_VM | CLONE_THREAD, 0), PRIVILEGE_REACHED);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_RDONLY), PRIVILEGE_REACHED);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_PATH | O_DIRECTORY), PRIVILEGE_REACHED);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_WRONLY), opened);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_RDWR), opened);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_RDWR | O_CREAT), ENOSYS);
	ck_assert_int_eq(privilege_try(SYS_openat, 0, O_WRONLY | O_TRUNC), ENOSYS);
}

static void *privilege_in_thread(void *ctx)
{
	(void)ctx;
	return (void *)(intptr_t)privilege_try(SYS_mount, 0, 0);
}

static void privilege_calls_are_listed(void)
{
	pthread_t thread;
	void *error;

	privilege_mark_calls();
	SUITE_OK(privilege_confine(false));
	privilege_check_calls(false);
	SUITE_OK(privilege_mounted());
	privilege_check_calls(true);
	SUITE_OK(pthread_create(&thread, NULL, privilege_in_thread, NULL));
	pthread_join(thread, &error);
	ck_assert_int_eq((int)(intptr_t)error, ENOSYS);
}

static void privilege_x32_call(void)
{
	SUITE_OK(privilege_confine(false));
	syscall(SYS_getpid | 1L << 30);
}

/* The effective capabilities of 32 that are left in a process that may have those of mask. */
static __u32 privilege_left(__u32 mask, bool search)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	SUITE_OK(syscall(SYS_capget, &header, data));
	data[0].effective = data[0].permitted &= mask;
	SUITE_OK(syscall(SYS_capset, &header, data));
	ck_assert_int_eq(privilege_mounts(), (data[0].effective & 1u << CAP_SYS_ADMIN) != 0);
	SUITE_OK(privilege_confine(search));
	SUITE_OK(syscall(SYS_capget, &header, data));
	ck_assert_uint_eq(data[0].permitted, data[0].effective);
	ck_assert_uint_eq(data[1].permitted | data[0].inheritable, 0);
	return data[0].effective;
}

static void privilege_all_but_admin(void)
{
	ck_assert_uint_eq(privilege_left(~0u, false), 1u << CAP_SYS_ADMIN);
}

static void privilege_search(void)
{
	ck_assert_uint_eq(privilege_left(~0u, true),
			  1u << CAP_SYS_ADMIN | 1u << CAP_DAC_READ_SEARCH);
}

static void privilege_search_of_the_unit(void)
{
	const __u32 unit = 1u << CAP_SYS_ADMIN | 1u << CAP_DAC_OVERRIDE;

	ck_assert_uint_eq(privilege_left(unit, true), unit);
}

static void privilege_none(void)
{
	ck_assert_uint_eq(privilege_left(0, true), 0);
}

SUITE_TEST(test_privilege_calls, 10)
{
	if (PRIVILEGE_SANITIZER)
		return;
	ck_assert_int_eq(suite_apart(privilege_calls_are_listed), 0);
#ifdef __x86_64__
	ck_assert_int_eq(WTERMSIG(suite_apart(privilege_x32_call)), SIGSYS);
#endif
}

SUITE_TEST(test_privilege_capabilities, 10)
{
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(suite_apart(privilege_all_but_admin), 0);
	ck_assert_int_eq(suite_apart(privilege_search), 0);
	ck_assert_int_eq(suite_apart(privilege_search_of_the_unit), 0);
	ck_assert_int_eq(suite_apart(privilege_none), 0);
}
