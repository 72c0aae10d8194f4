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

#define SYSCALLS_SERVES (SYSCALLS_SERVER | SYSCALLS_CONNECTOR)
#define SYSCALLS_MOUNTS (SYSCALLS_MOUNTER | SYSCALLS_MOUNTED)
#define SYSCALLS_ALL	(SYSCALLS_SERVES | SYSCALLS_MOUNTS)

enum syscalls_test { SYSCALLS_ANY, SYSCALLS_IS, SYSCALLS_IS_SELF, SYSCALLS_LACKS /* the bits */ };

/* A call is allowed if all conditions of one of its entries hold. */
struct syscalls_entry {
	unsigned lists; /* that have this entry */
	unsigned number;
	struct {
		enum syscalls_test test;
		size_t offset; /* of half an argument, in struct seccomp_data */
		unsigned value;
	} of[3];
	unsigned error; /* that the call gives; 0: it is allowed */
};

/* The halves of an argument, on processors that store the lower one first. */
#define SYSCALLS_LOW(n)	 offsetof(struct seccomp_data, args[n])
#define SYSCALLS_HIGH(n) (SYSCALLS_LOW(n) + sizeof(__u32))

#define SYSCALLS_SUID (S_ISUID | S_ISGID)
/* open's flags that make or empty a file. */
#define SYSCALLS_MAKES (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
/* pthread_create's flags: a thread of this process, in its namespaces. */
#define SYSCALLS_THREAD                                                                            \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* clang-format off */
#define CALL(l, name)       {.lists = SYSCALLS_##l, .number = SYS_##name}
#define CALL_IF(l, name, ...) {.lists = SYSCALLS_##l, .number = SYS_##name, .of = {__VA_ARGS__}}
#define FAIL(l, name, code) {.lists = SYSCALLS_##l, .number = SYS_##name, .error = (code)}
#define IS(n, value)        {SYSCALLS_IS, SYSCALLS_LOW(n), value}
#define IS_SELF(n)          {SYSCALLS_IS_SELF, SYSCALLS_LOW(n), 0}
#define IS_NULL(n)          IS(n, 0), {SYSCALLS_IS, SYSCALLS_HIGH(n), 0}
#define LACKS(n, bits)      {SYSCALLS_LACKS, SYSCALLS_LOW(n), bits}
/* clang-format on */

static const struct syscalls_entry syscalls_entries[] = {
	/* files */
	CALL(ALL, read),
	CALL(ALL, write),
	CALL(ALL, lseek),
	CALL(ALL, close),
	CALL(ALL, dup3),
	CALL(ALL, fstat),
	CALL(ALL, newfstatat),
	CALL(ALL, fstatfs),
	CALL(ALL, readlinkat),
	CALL_IF(ALL, fcntl, IS(1, F_GETFD)),
	CALL_IF(ALL, fcntl, IS(1, F_SETFD)),
	CALL_IF(ALL, fcntl, IS(1, F_GETFL)),
	CALL_IF(ALL, fcntl, IS(1, F_SETFL), LACKS(2, O_ASYNC)),
	CALL(SERVES, writev),
	CALL(SERVES, pread64),
	CALL(SERVES, pwrite64),
	CALL(SERVES, statfs),
	CALL(SERVES, faccessat2),
	CALL(SERVES, getdents64),
	CALL(SERVES, inotify_init1),
	CALL(SERVES, inotify_add_watch),
	CALL(SERVES, ftruncate),
	CALL(SERVES, fsync),
	CALL(SERVES, fdatasync),
	CALL(SERVES, unlinkat),
	CALL(SERVES, renameat),
	CALL_IF(SERVES, fcntl, IS(1, F_GETLK)),
	CALL_IF(SERVES, fcntl, IS(1, F_SETLK)),
	CALL_IF(SERVES, ioctl, IS(1, TCGETS)),
	CALL_IF(SERVES, openat, LACKS(3, SYSCALLS_SUID)),
	CALL_IF(SERVES, mkdirat, LACKS(2, SYSCALLS_SUID)),
	CALL(SERVES, faccessat),
	CALL_IF(MOUNTER, openat, LACKS(2, SYSCALLS_MAKES)),
	CALL_IF(MOUNTED, openat, LACKS(2, SYSCALLS_MAKES | O_WRONLY | O_RDWR)),
	CALL(MOUNTS, statx),
	/* memory */
	CALL(ALL, brk),
	CALL(ALL, munmap),
	CALL(ALL, mremap),
	CALL(ALL, madvise),
	CALL_IF(ALL, mmap, LACKS(2, PROT_EXEC)),
	CALL_IF(ALL, mprotect, LACKS(2, PROT_EXEC)),
	CALL_IF(SERVES, mmap, IS(4, UINT32_MAX)), /* no file: PCRE2's compiled patterns */
	/* threads and time */
	CALL(ALL, futex),
	CALL(ALL, set_robust_list),
	CALL(ALL, rseq),
	CALL(ALL, clock_nanosleep),
	CALL(ALL, restart_syscall),
	CALL_IF(ALL, clone, IS(0, SYSCALLS_THREAD)),
	CALL(SERVES, sched_yield),
	CALL(SERVES, sched_getaffinity),
	CALL(SERVES, clock_gettime),
	CALL(SERVES, gettimeofday),
	CALL(SERVES, timerfd_create),
	CALL(SERVES, timerfd_settime),
	CALL(SERVES, eventfd2),
	CALL(SERVES, ppoll),
	CALL_IF(SERVES, setpriority, IS(0, PRIO_PROCESS), IS(1, 0)),
	/* signals and ends */
	CALL(ALL, rt_sigprocmask),
	CALL(ALL, exit),
	CALL(ALL, exit_group),
	CALL(SERVES, rt_sigaction),
	CALL(SERVES, rt_sigreturn),
	CALL(SERVES, rt_sigtimedwait),
	CALL(SERVES, wait4),
	CALL_IF(SERVES, tgkill, IS_SELF(0)),
	CALL_IF(SERVES, tgkill, IS(2, 0)), /* only asks whether there is such a thread */
	/* this process */
	CALL(ALL, getpid),
	CALL(ALL, gettid),
	CALL(ALL, getuid),
	CALL(ALL, geteuid),
	CALL(ALL, getgid),
	CALL(ALL, getegid),
	CALL(ALL, getrandom),
	CALL(SERVES, sysinfo), /* qsort: memory */
	CALL_IF(SERVES, prlimit64, IS(0, 0), IS_NULL(2)),
	CALL(MOUNTS, getppid),
	CALL(MOUNTS, capget),
	/* between the processes */
	CALL(ALL, recvmsg),
	CALL_IF(ALL, sendto, IS_NULL(4)), /* to the other end, not to an address */
	CALL(CONNECTOR, sendmsg),
	CALL(CONNECTOR, connect),
	CALL_IF(CONNECTOR, socket, IS(0, AF_UNIX)),
	CALL(MOUNTS, sendmsg),
	/* mounts, and the filter behind one */
	CALL(MOUNTER, mount),
	CALL_IF(MOUNTER, prctl, IS(0, PR_SET_SECCOMP)),
	CALL(MOUNTS, umount2),
#ifdef SYS_access /* x86-64, which has older forms of these */
	/* libfuse asks whether /etc/mtab, where that is a file, can be written, and would start
	 * mount(8) for it. */
	FAIL(MOUNTS, access, EROFS),
	CALL(SERVES, access),
	CALL(ALL, dup2),
	CALL(ALL, readlink),
	CALL(SERVES, poll),
	CALL(SERVES, rename),
	CALL(SERVES, time),
	CALL(SERVES, unlink),
	CALL_IF(SERVES, mkdir, LACKS(1, SYSCALLS_SUID)),
#else
	FAIL(MOUNTS, faccessat, EROFS), /* as access */
#endif
#if SYSCALLS_SANITIZER
	/* A sanitizer's reports and its search for leaks, which traces the process from a copy. */
	CALL(ALL, clone),
	CALL(ALL, getppid),
	CALL(ALL, prctl),
	CALL(ALL, prlimit64),
	CALL(ALL, ptrace),
	CALL(ALL, sigaltstack),
#ifdef SYS_access
	CALL(ALL, getdents),
	CALL(ALL, lstat),
	CALL(ALL, open),
	CALL(ALL, stat),
#endif
#endif
};

enum {
	SYSCALLS_ENTRIES = sizeof(syscalls_entries) / sizeof(syscalls_entries[0]),
	SYSCALLS_INSTRUCTIONS = 11 * SYSCALLS_ENTRIES + 7 /* at most; the first and last ones */
};

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

/* A condition that fails jumps over the rest of its entry. The number is loaded before and behind
 * it. */
static void syscalls_put_entry(struct syscalls_code *code, const struct syscalls_entry *entry)
{
	size_t count = 0, rest;
	unsigned value;

	while (count < sizeof(entry->of) / sizeof(entry->of[0]) &&
	       entry->of[count].test != SYSCALLS_ANY)
		count++;
	syscalls_put(code, BPF_JMP | BPF_JEQ | BPF_K, entry->number, 0, 2 * count + 1);
	for (size_t i = 0; i < count; i++) {
		rest = 2 * (count - i) - 1;
		value = entry->of[i].test == SYSCALLS_IS_SELF ? (unsigned)getpid()
							      : entry->of[i].value;
		syscalls_load(code, entry->of[i].offset);
		if (entry->of[i].test == SYSCALLS_LACKS)
			syscalls_put(code, BPF_JMP | BPF_JSET | BPF_K, value, rest, 0);
		else
			syscalls_put(code, BPF_JMP | BPF_JEQ | BPF_K, value, 0, rest);
	}
	syscalls_return(code, entry->error ? SECCOMP_RET_ERRNO | entry->error : SECCOMP_RET_ALLOW);
	if (count > 0)
		syscalls_load(code, offsetof(struct seccomp_data, nr));
}

int syscalls_confine(enum syscalls_list list)
{
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
	for (size_t i = 0; i < SYSCALLS_ENTRIES; i++)
		if (syscalls_entries[i].lists & list)
			syscalls_put_entry(&code, &syscalls_entries[i]);
	for (size_t i = 0; i < SYSCALLS_ENTRIES; i++) {
		const struct syscalls_entry refused = {.number = syscalls_entries[i].number,
						       .error = EPERM};

		if (syscalls_entries[i].lists & list && syscalls_entries[i].of[0].test)
			syscalls_put_entry(&code, &refused);
	}
	syscalls_return(&code, SECCOMP_RET_ERRNO | ENOSYS);
	program.len = code.count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}
