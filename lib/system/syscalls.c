/* SPDX-License-Identifier: MIT */
/*
 * A filter of seccomp(2), which is a list of the calls allowed: numbers that are newer than this
 * file are refused, too. Libraries fall back to an older call after ENOSYS, as the C library does
 * from clone3, whose flags a filter cannot read, to clone.
 *
 * The filter sees arguments, but not the memory to which they point. An argument has 64 bits, which
 * the filter reads in two halves.
 */
#include "lib/system/syscalls.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SYSCALLS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SYSCALLS_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYSCALLS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SYSCALLS_SANITIZER 1
#endif
#endif

/* All arguments. */
static const unsigned syscalls_allowed[] = {
	/* files */
	SYS_read,
	SYS_write,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_dup3,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_inotify_init1,
	SYS_inotify_add_watch,
	SYS_ftruncate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_unlinkat,
	SYS_renameat,
	/* memory */
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	/* threads and time */
	SYS_futex,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_eventfd2,
	SYS_ppoll,
	SYS_restart_syscall,
	/* signals and ends */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_wait4,
	SYS_exit,
	SYS_exit_group,
	/* this process */
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_sysinfo, /* qsort: memory */
	/* the mounter, and the connector */
	SYS_recvmsg,
#ifdef SYS_access /* x86-64, which has older forms of these */
	SYS_access,
	SYS_dup2,
	SYS_poll,
	SYS_readlink,
	SYS_rename,
	SYS_time,
	SYS_unlink,
#endif
#ifdef SYSCALLS_SANITIZER
	/* Its reports and its search for leaks, which traces the process from a copy of it. */
	SYS_clone,
	SYS_getppid,
	SYS_prctl,
	SYS_prlimit64,
	SYS_ptrace,
	SYS_sigaltstack,
#ifdef SYS_access
	SYS_getdents,
	SYS_lstat,
	SYS_open,
	SYS_stat,
#endif
#endif
};

enum syscalls_test { SYSCALLS_NONE, SYSCALLS_IS, SYSCALLS_LACKS /* none of the bits */ };

/* A call is allowed if all conditions of one of its entries hold. */
struct syscalls_entry {
	unsigned number;
	struct {
		enum syscalls_test test;
		size_t offset; /* of half an argument, in struct seccomp_data */
		unsigned value;
	} of[3];
};

/* The halves of an argument, on processors that store the lower one first. */
#define SYSCALLS_LOW(n)	 offsetof(struct seccomp_data, args[n])
#define SYSCALLS_HIGH(n) (SYSCALLS_LOW(n) + sizeof(__u32))
#define SYSCALLS_IF(n, value)                                                                      \
	{                                                                                          \
		SYSCALLS_IS, SYSCALLS_LOW(n), value                                                \
	}
#define SYSCALLS_UNLESS(n, bits)                                                                   \
	{                                                                                          \
		SYSCALLS_LACKS, SYSCALLS_LOW(n), bits                                              \
	}

#define SYSCALLS_SUID (S_ISUID | S_ISGID)
/* pthread_create's flags: a thread of this process, in its namespaces. */
#define SYSCALLS_THREAD                                                                            \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

enum { SYSCALLS_INSTRUCTIONS = 512 };

/* A program that is being written. */
struct syscalls_code {
	struct sock_filter at[SYSCALLS_INSTRUCTIONS];
	unsigned short count;
};

static void syscalls_put(struct syscalls_code *code, unsigned op, unsigned value, size_t yes,
			 size_t no)
{
	code->at[code->count++] = (struct sock_filter)BPF_JUMP(
		(unsigned short)op, value, (unsigned char)yes, (unsigned char)no);
}

static void syscalls_load(struct syscalls_code *code, size_t offset)
{
	syscalls_put(code, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void syscalls_return(struct syscalls_code *code, unsigned action)
{
	syscalls_put(code, BPF_RET | BPF_K, action, 0, 0);
}

/* Returns the action for that number. */
static void syscalls_answer(struct syscalls_code *code, unsigned number, unsigned action)
{
	syscalls_put(code, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	syscalls_return(code, action);
}

/* A condition that fails jumps over the rest of its entry. The number is loaded before and behind
 * it. */
static void syscalls_put_entry(struct syscalls_code *code, const struct syscalls_entry *entry)
{
	size_t count = 0, rest;

	while (count < sizeof(entry->of) / sizeof(entry->of[0]) &&
	       entry->of[count].test != SYSCALLS_NONE)
		count++;
	syscalls_put(code, BPF_JMP | BPF_JEQ | BPF_K, entry->number, 0, 2 * count + 1);
	for (size_t i = 0; i < count; i++) {
		rest = 2 * (count - i) - 1;
		syscalls_load(code, entry->of[i].offset);
		if (entry->of[i].test == SYSCALLS_IS)
			syscalls_put(code, BPF_JMP | BPF_JEQ | BPF_K, entry->of[i].value, 0, rest);
		else
			syscalls_put(code, BPF_JMP | BPF_JSET | BPF_K, entry->of[i].value, rest, 0);
	}
	syscalls_return(code, SECCOMP_RET_ALLOW);
	syscalls_load(code, offsetof(struct seccomp_data, nr));
}

int syscalls_confine(bool connects)
{
	const struct syscalls_entry entries[] = {
		{SYS_openat, {SYSCALLS_UNLESS(3, SYSCALLS_SUID)}},
		{SYS_mkdirat, {SYSCALLS_UNLESS(2, SYSCALLS_SUID)}},
#ifdef SYS_mkdir
		{SYS_mkdir, {SYSCALLS_UNLESS(1, SYSCALLS_SUID)}},
#endif
		{SYS_mmap, {SYSCALLS_UNLESS(2, PROT_EXEC)}},
		{SYS_mmap, {SYSCALLS_IF(4, UINT32_MAX)}}, /* no file: PCRE2's compiled patterns */
		{SYS_mprotect, {SYSCALLS_UNLESS(2, PROT_EXEC)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_GETFD)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_SETFD)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_GETFL)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_SETFL), SYSCALLS_UNLESS(2, O_ASYNC)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_GETLK)}},
		{SYS_fcntl, {SYSCALLS_IF(1, F_SETLK)}},
		{SYS_ioctl, {SYSCALLS_IF(1, TCGETS)}},
		{SYS_prlimit64,
		 {SYSCALLS_IF(0, 0), SYSCALLS_IF(2, 0), {SYSCALLS_IS, SYSCALLS_HIGH(2), 0}}},
		{SYS_setpriority, {SYSCALLS_IF(0, PRIO_PROCESS), SYSCALLS_IF(1, 0)}},
		{SYS_clone, {SYSCALLS_IF(0, SYSCALLS_THREAD)}},
		/* To the other end, not to an address. */
		{SYS_sendto, {SYSCALLS_IF(4, 0), {SYSCALLS_IS, SYSCALLS_HIGH(4), 0}}},
		{SYS_tgkill, {SYSCALLS_IF(0, (unsigned)getpid())}},
		{SYS_tgkill, {SYSCALLS_IF(2, 0)}}, /* only asks whether there is such a thread */
	};
	struct syscalls_code code = {.count = 0};
	struct sock_fprog program = {.filter = code.at};

	/* EFAULT on a kernel that has filters. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EINVAL)
		return 0;
#ifdef SYSCALLS_ARCH
	syscalls_load(&code, offsetof(struct seccomp_data, arch));
	syscalls_put(&code, BPF_JMP | BPF_JEQ | BPF_K, SYSCALLS_ARCH, 1, 0);
	syscalls_return(&code, SECCOMP_RET_KILL_PROCESS);
#endif
	syscalls_load(&code, offsetof(struct seccomp_data, nr));
#ifdef __X32_SYSCALL_BIT
	syscalls_put(&code, BPF_JMP | BPF_JSET | BPF_K, __X32_SYSCALL_BIT, 0, 1);
	syscalls_return(&code, SECCOMP_RET_KILL_PROCESS);
#endif
	for (size_t i = 0; i < sizeof(syscalls_allowed) / sizeof(syscalls_allowed[0]); i++)
		syscalls_answer(&code, syscalls_allowed[i], SECCOMP_RET_ALLOW);
	if (connects) {
		syscalls_put_entry(&code, &(const struct syscalls_entry){
						  SYS_socket, {SYSCALLS_IF(0, AF_UNIX)}});
		syscalls_answer(&code, SYS_socket, SECCOMP_RET_ERRNO | EPERM);
		syscalls_answer(&code, SYS_connect, SECCOMP_RET_ALLOW);
		syscalls_answer(&code, SYS_sendmsg, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		syscalls_put_entry(&code, &entries[i]);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		syscalls_answer(&code, entries[i].number, SECCOMP_RET_ERRNO | EPERM);
	syscalls_return(&code, SECCOMP_RET_ERRNO | ENOSYS);
	program.len = code.count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}
