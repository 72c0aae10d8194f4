/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the processes of a mount can make: each number is tried under each list
 * and compared with the tables below, and those with SECURITY.md.
 *
 * No call is really made. An older filter of the test gives SYSCALLS_REACHED to all calls with a
 * mark in their sixth argument; the kernel prefers the refusals of newer filters.
 */
#include "lib/system/sandbox.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SYSCALLS_REACHED = 4000 }; /* an errno that no call has */
enum { SYSCALLS_MARK = 0x726f7766 };
enum { SYSCALLS_LAST = 600 };

struct syscalls_name {
	const char *name;
	int number;	       /* -1: this processor has no such call */
	const char *condition; /* NULL: allowed with all arguments; else not if the first four have
				  all bits set */
};

#define IF(name, condition)                                                                        \
	{                                                                                          \
#name, SYS_##name, condition                                                       \
	}
#define CALL(name) IF(name, NULL)
/* Calls that arm64 has in a newer form only. */
#ifdef SYS_access
#define OLD_IF(name, condition) IF(name, condition)
#else
#define OLD_IF(name, condition)                                                                    \
	{                                                                                          \
#name, -1, condition                                                               \
	}
#endif
#define OLD(name) OLD_IF(name, NULL)
/* A call that is newer than the headers of Debian 12: its number on all processors. */
#define NEW(name, number)                                                                          \
	{                                                                                          \
#name, number, NULL                                                                \
	}

static const struct syscalls_name syscalls_allowed[] = {
	CALL(read),
	CALL(write),
	CALL(writev),
	CALL(pread64),
	CALL(pwrite64),
	CALL(lseek),
	CALL(close),
	CALL(fsync),
	CALL(fdatasync),
	CALL(ftruncate),
	OLD(unlink),
	CALL(unlinkat),
	OLD(rename),
	CALL(renameat),
	OLD(access),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(fstat),
	CALL(newfstatat),
	OLD(readlink),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(inotify_init1),
	CALL(inotify_add_watch),
	CALL(statfs),
	CALL(fstatfs),
	OLD(dup2),
	CALL(dup3),
	OLD(poll),
	CALL(ppoll),
	CALL(eventfd2),
	CALL(timerfd_create),
	CALL(timerfd_settime),
	CALL(brk),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(futex),
	CALL(set_robust_list),
	CALL(rseq),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(sysinfo),
	CALL(clock_gettime),
	CALL(gettimeofday),
	OLD(time),
	CALL(clock_nanosleep),
	CALL(restart_syscall),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(rt_sigtimedwait),
	CALL(getpid),
	CALL(gettid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(getrandom),
	CALL(recvmsg),
	CALL(wait4),
	CALL(exit),
	CALL(exit_group),
	IF(openat, "the mode has no S_ISUID, S_ISGID"),
	OLD_IF(mkdir, "the mode has no S_ISUID, S_ISGID"),
	IF(mkdirat, "the mode has no S_ISUID, S_ISGID"),
	IF(mmap, "without PROT_EXEC, or of no file"),
	IF(mprotect, "without PROT_EXEC"),
	IF(fcntl, "F_GETFD, F_SETFD, F_GETFL, F_SETFL without O_ASYNC, F_GETLK, F_SETLK"),
	IF(ioctl, "TCGETS"),
	IF(clone, "the flags are those of pthread_create"),
	IF(prlimit64, "of itself, and sets nothing"),
	IF(setpriority, "PRIO_PROCESS of the calling thread"),
	IF(sendto, "to the other end, without an address"),
	IF(tgkill, "to itself, or signal 0"),
};

/* The mounter's. */
static const struct syscalls_name syscalls_mounter[] = {
	CALL(umount2),
	CALL(mount),
	CALL(statx),
	CALL(read),
	CALL(write),
	CALL(lseek),
	CALL(close),
	CALL(dup3),
	CALL(fstat),
	CALL(newfstatat),
	CALL(fstatfs),
	CALL(readlinkat),
	OLD(readlink),
	OLD(dup2),
	CALL(recvmsg),
	CALL(sendmsg),
	CALL(brk),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(futex),
	CALL(set_robust_list),
	CALL(rseq),
	CALL(clock_nanosleep),
	CALL(restart_syscall),
	CALL(rt_sigprocmask),
	CALL(getrandom),
	CALL(getpid),
	CALL(getppid),
	CALL(gettid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(capget),
	CALL(exit),
	CALL(exit_group),
	IF(openat, "without O_CREAT, O_TRUNC, O_TMPFILE; once it has mounted to read only"),
	IF(prctl, "PR_SET_SECCOMP"),
	IF(fcntl, "F_GETFD, F_SETFD, F_GETFL, F_SETFL without O_ASYNC"),
	IF(mmap, "without PROT_EXEC"),
	IF(mprotect, "without PROT_EXEC"),
	IF(clone, "the flags are those of pthread_create"),
	IF(sendto, "to the other end, without an address"),
	OLD_IF(access, "never: EROFS"),
};

/* Calls refused to the server that SECURITY.md names. */
static const struct syscalls_name syscalls_refused[] = {
	CALL(execve),
	CALL(execveat),
	OLD(fork),
	OLD(vfork),
	CALL(clone3),
	OLD(chmod),
	CALL(fchmod),
	CALL(fchmodat),
	NEW(fchmodat2, 452),
	OLD(chown),
	OLD(lchown),
	CALL(fchown),
	CALL(fchownat),
	CALL(umask),
	NEW(file_setattr, 469),
	OLD(utime),
	OLD(utimes),
	OLD(futimesat),
	CALL(utimensat),
	CALL(setxattr),
	CALL(lsetxattr),
	CALL(fsetxattr),
	NEW(setxattrat, 463),
	CALL(removexattr),
	CALL(lremovexattr),
	CALL(fremovexattr),
	NEW(removexattrat, 466),
	OLD(open),
	CALL(openat2),
	OLD(creat),
	CALL(truncate),
	OLD(link),
	CALL(linkat),
	OLD(symlink),
	CALL(symlinkat),
	OLD(mknod),
	CALL(mknodat),
	CALL(open_by_handle_at),
	CALL(io_uring_setup),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(kill),
	CALL(tkill),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
	CALL(pidfd_open),
	CALL(pidfd_send_signal),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(prctl),
	CALL(setrlimit),
	CALL(sched_setscheduler),
	CALL(sched_setattr),
	CALL(ioprio_set),
	CALL(setuid),
	CALL(setresuid),
	CALL(setfsuid),
	CALL(setgroups),
	CALL(capset),
	CALL(unshare),
	CALL(setns),
	CALL(mount),
	CALL(umount2),
	CALL(fsopen),
	CALL(move_mount),
	CALL(chroot),
	CALL(pivot_root),
	CALL(keyctl),
	CALL(bpf),
	CALL(userfaultfd),
	CALL(perf_event_open),
	CALL(socket),
	CALL(connect),
	CALL(sendmsg),
	CALL(bind),
	CALL(listen),
	CALL(accept),
	CALL(accept4),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* The tables of SECURITY.md, by the first cell of their headings. */
enum { SYSCALLS_REFUSED, SYSCALLS_ALLOWED, SYSCALLS_TO_MOUNTER, SYSCALLS_TABLES };
static const struct syscalls_table {
	const char *heading;
	const struct syscalls_name *names;
	size_t count;
} syscalls_tables[] = {
	{"refused", syscalls_refused, COUNT(syscalls_refused)},
	{"allowed", syscalls_allowed, COUNT(syscalls_allowed)},
	{"allowed to the mounter", syscalls_mounter, COUNT(syscalls_mounter)},
};

/* Calls of probes, of which Linux 6.13 and 6.18 tell no filter; they do nothing elsewhere. */
#ifdef __x86_64__
enum { SYSCALLS_URETPROBE = 335, SYSCALLS_UPROBE = 336 };
#else
enum { SYSCALLS_URETPROBE = -1, SYSCALLS_UPROBE = -1 };
#endif

enum {
	SYSCALLS_SERVES = SYSCALLS_SERVER | SYSCALLS_CONNECTOR,
	SYSCALLS_MOUNTS = SYSCALLS_MOUNTER | SYSCALLS_MOUNTED,
	SYSCALLS_ALL = SYSCALLS_SERVES | SYSCALLS_MOUNTS,
	SYSCALLS_LISTS = 4
};
/* That of the test: enum syscalls_list. */
static unsigned syscalls_list;

/* The errno of a call with bad arguments. */
static int syscalls_expected(long number)
{
	const struct syscalls_table *table =
		&syscalls_tables[syscalls_list & SYSCALLS_SERVES ? SYSCALLS_ALLOWED
								 : SYSCALLS_TO_MOUNTER];

	if (syscalls_list == SYSCALLS_CONNECTOR && (number == SYS_connect || number == SYS_sendmsg))
		return SYSCALLS_REACHED;
	if (syscalls_list == SYSCALLS_CONNECTOR && number == SYS_socket)
		return EPERM;
	if (syscalls_list == SYSCALLS_MOUNTED && (number == SYS_mount || number == SYS_prctl))
		return ENOSYS;
#ifdef SYS_access
	if (syscalls_list & SYSCALLS_MOUNTS && number == SYS_access)
#else
	if (syscalls_list & SYSCALLS_MOUNTS && number == SYS_faccessat)
#endif
		return EROFS; /* so that libfuse leaves /etc/mtab alone */
	for (size_t i = 0; i < table->count; i++)
		if (table->names[i].number == number)
			return table->names[i].condition ? EPERM : SYSCALLS_REACHED;
	return ENOSYS;
}

/* ---- A confined process ------------------------------------------------------------------ */

static int syscalls_try(long number, long a, long b, long c, long d, long e)
{
	int error;

	errno = 0;
	error = syscall(number, a, b, c, d, e, (long)SYSCALLS_MARK) == -1 ? errno : 0;
	/* The mark stays in a register, which calls of fewer arguments leave as it is. */
	syscall(SYS_getpid, 0L, 0L, 0L, 0L, 0L, 0L);
	return error;
}

static void syscalls_enter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYSCALLS_MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | SYSCALLS_REACHED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {COUNT(code), code};

	SUITE_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUITE_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
	if (syscalls_list & SYSCALLS_SERVES)
		SUITE_OK(sandbox_harden(syscalls_list));
	else
		SUITE_OK(syscalls_confine(SYSCALLS_MOUNTER));
	if (syscalls_list == SYSCALLS_MOUNTED)
		SUITE_OK(syscalls_confine(SYSCALLS_MOUNTED));
}

/* The numbers of today's kernels, those of the next years, and odd ones. */
static void syscalls_check_numbers(void)
{
	static const long odd[] = {601, 1000, 1023, 1024, 4096, 65535, 0x3fffffff};
	int got;

	syscalls_enter();
	for (long number = 0; number <= SYSCALLS_LAST; number++) {
		if (number == SYSCALLS_URETPROBE || number == SYSCALLS_UPROBE)
			continue;
		got = syscalls_try(number, -1, -1, -1, -1, 1);
		ck_assert_msg(got == syscalls_expected(number), "call %ld gives %d, not %d", number,
			      got, syscalls_expected(number));
	}
	for (size_t i = 0; i < COUNT(odd); i++)
		ck_assert_int_eq(syscalls_try(odd[i], -1, -1, -1, -1, 1), ENOSYS);
}

/* The checks in a process under the list. A sanitizer needs more calls. */
static void syscalls_apart(int list, void (*checks)(void))
{
	syscalls_list = 1u << list;
	if (!SYSCALLS_SANITIZER)
		ck_assert_int_eq(suite_apart(checks), 0);
}

SUITE_LOOP(test_each_number, SYSCALLS_LISTS, 10)
{
	syscalls_apart(_i, syscalls_check_numbers);
}

/* With arguments that a listed call takes, and with others. */
static void syscalls_check_arguments(void)
{
	const long thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
			    CLONE_CHILD_CLEARTID;
	const long self = getpid(), high = (long)(UINT64_C(1) << 32);
	const long rw = PROT_READ | PROT_WRITE;
	const struct {
		long number, a, b, c, d, e;
		unsigned allowed; /* the lists */
	} cases[] = {
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, 0600, 0, SYSCALLS_SERVES},
		{SYS_openat, AT_FDCWD, 0, O_RDONLY, 0, 0, SYSCALLS_ALL},
		{SYS_openat, AT_FDCWD, 0, O_PATH | O_DIRECTORY, 0, 0, SYSCALLS_ALL},
		{SYS_openat, AT_FDCWD, 0, O_WRONLY, 0, 0, SYSCALLS_SERVES | SYSCALLS_MOUNTER},
		{SYS_openat, AT_FDCWD, 0, O_RDWR, 0, 0, SYSCALLS_SERVES | SYSCALLS_MOUNTER},
		{SYS_openat, AT_FDCWD, 0, O_WRONLY | O_TRUNC, 0, 0, SYSCALLS_SERVES},
		{SYS_openat, AT_FDCWD, 0, O_TMPFILE | O_RDWR, 0600, 0, SYSCALLS_SERVES},
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, S_ISUID | 0755, 0, 0},
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, S_ISGID | 0755, 0, 0},
		{SYS_openat, AT_FDCWD, 0, O_TMPFILE | O_RDWR, S_ISUID | S_ISGID, 0, 0},
		{SYS_mkdirat, AT_FDCWD, 0, 0755, 0, 0, SYSCALLS_SERVES},
		{SYS_mkdirat, AT_FDCWD, 0, S_ISGID | 0755, 0, 0, 0},
#ifdef SYS_mkdir
		{SYS_mkdir, 0, 0755, 0, 0, 0, SYSCALLS_SERVES},
		{SYS_mkdir, 0, S_ISUID | 0755, 0, 0, 0, 0},
#endif
		{SYS_mmap, 0, 4096, rw, MAP_PRIVATE, 0, SYSCALLS_ALL},
		{SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, 0, SYSCALLS_ALL},
		{SYS_mmap, 0, 4096, PROT_EXEC, MAP_PRIVATE, 0, 0},
		{SYS_mmap, 0, 4096, rw | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 SYSCALLS_SERVES},
		{SYS_mmap, 0, 4096, rw | PROT_EXEC, MAP_PRIVATE, 0, 0},
		{SYS_mprotect, 0, 4096, rw, 0, 0, SYSCALLS_ALL},
		{SYS_mprotect, 0, 4096, PROT_NONE, 0, 0, SYSCALLS_ALL},
		{SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC, 0, 0, 0},
		{SYS_fcntl, 3, F_SETFL, O_NONBLOCK, 0, 0, SYSCALLS_ALL},
		{SYS_fcntl, 3, F_SETFL, O_ASYNC, 0, 0, 0},
		{SYS_ioctl, 3, TCGETS, 0, 0, 0, SYSCALLS_SERVES},
		{SYS_ioctl, 3, TIOCSTI, 0, 0, 0, 0},
		{SYS_ioctl, 3, TIOCSETD, 0, 0, 0, 0},
		{SYS_ioctl, 3, FIOASYNC, 0, 0, 0, 0},
		{SYS_ioctl, 3, 0x40086602 /* FS_IOC_SETFLAGS */, 0, 0, 0, 0},
		{SYS_ioctl, 3, 0x401c5820 /* FS_IOC_FSSETXATTR */, 0, 0, 0, 0},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, 0, 1, 0, SYSCALLS_SERVES},
		{SYS_prlimit64, self, RLIMIT_NOFILE, 0, 1, 0, 0},
		{SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 1, 0, 0},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, 1, 0, 0, 0},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, high, 0, 0, 0},
		{SYS_setpriority, PRIO_PROCESS, 0, 19, 0, 0, SYSCALLS_SERVES},
		{SYS_setpriority, PRIO_PROCESS, self, 19, 0, 0, 0},
		{SYS_setpriority, PRIO_PROCESS, 1, 19, 0, 0, 0},
		{SYS_setpriority, PRIO_PGRP, 0, 19, 0, 0, 0},
		{SYS_setpriority, PRIO_USER, 0, 19, 0, 0, 0},
		{SYS_clone, thread, 0, 0, 0, 0, SYSCALLS_ALL},
		{SYS_clone, SIGCHLD, 0, 0, 0, 0, 0},
		{SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0},
		{SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0, 0},
		{SYS_clone, thread | CLONE_NEWNET, 0, 0, 0, 0, 0},
		{SYS_clone, thread | CLONE_PTRACE, 0, 0, 0, 0, 0},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, 0, SYSCALLS_ALL},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, 1, 0},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, high, 0},
		{SYS_tgkill, self, 1, SIGKILL, 0, 0, SYSCALLS_SERVES},
		{SYS_tgkill, 1, 1, 0, 0, 0, SYSCALLS_SERVES},
		{SYS_tgkill, 1, 1, SIGCONT, 0, 0, 0},
		{SYS_tgkill, self - 1, self - 1, SIGKILL, 0, 0, 0},
		{SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0, 0, 0, SYSCALLS_MOUNTER},
		{SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0, 0},
		{SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0, 0},
		{SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, 0, SYSCALLS_CONNECTOR},
	};

	syscalls_enter();
	for (size_t i = 0; i < COUNT(cases); i++) {
		int got = syscalls_try(cases[i].number, cases[i].a, cases[i].b, cases[i].c,
				       cases[i].d, cases[i].e);

		ck_assert_msg(got == (cases[i].allowed & syscalls_list
					      ? SYSCALLS_REACHED
					      : syscalls_expected(cases[i].number)),
			      "case %zu of call %ld gives %d", i, cases[i].number, got);
	}
	for (long command = 0; command < 2000; command++)
		if (command != F_SETFL)
			ck_assert_int_eq(
				syscalls_try(SYS_fcntl, 3, command, 0, 0, 0),
				command == F_GETFD || command == F_SETFD || command == F_GETFL ||
						(syscalls_list & SYSCALLS_SERVES &&
						 (command == F_GETLK || command == F_SETLK))
					? SYSCALLS_REACHED
					: EPERM);
	for (long family = 0; family < 100; family++)
		if (family != AF_UNIX)
			ck_assert_int_eq(syscalls_try(SYS_socket, family, SOCK_STREAM, 0, 0, 0),
					 syscalls_expected(SYS_socket));
}

SUITE_LOOP(test_arguments, SYSCALLS_LISTS, 10)
{
	syscalls_apart(_i, syscalls_check_arguments);
}

/* The process that makes such a call ends. number -1: getpid of 32 bits. */
static int syscalls_kills(long number)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		syscalls_enter();
#ifdef __x86_64__
		if (number < 0)
			__asm__ volatile("int $0x80" : "=a"(number) : "a"(20L));
		else
#endif
			syscalls_try(number, 0, 0, 0, 0, 0);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#ifdef __x86_64__
SUITE_LOOP(test_other_abi, SYSCALLS_LISTS, 10)
{
	int killed;

	syscalls_list = 1u << _i;
	killed = syscalls_kills(-1);
	/* A kernel without that ABI gives SIGSEGV. */
	ck_assert_msg(killed == SIGSYS || killed == SIGSEGV, "signal %d", killed);
	ck_assert_int_eq(syscalls_kills(1L << 30 | SYS_getpid), SIGSYS);
	ck_assert_int_eq(syscalls_kills(1L << 30 | 520 /* execve of x32 */), SIGSYS);
	ck_assert_int_eq(syscalls_kills(1L << 30 | SYSCALLS_LAST), SIGSYS);
	ck_assert_int_eq(syscalls_kills(SYS_kill), 0);
	killed = syscalls_kills(SYSCALLS_URETPROBE);
	ck_assert_msg(killed == SIGILL || killed == 0, "signal %d", killed);
	killed = syscalls_kills(SYSCALLS_UPROBE);
	ck_assert_msg(killed == SIGILL || killed == 0, "signal %d", killed);
}
#endif

/* ---- SECURITY.md ------------------------------------------------------------------------- */

/* The text without the spaces around it. */
static const char *syscalls_trim(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == ' ')
		text[--len] = '\0';
	return text + strspn(text, " ");
}

/* The next name in backquotes; *text is behind it. NULL: none is left. */
static const char *syscalls_word(char **text)
{
	char *start = strchr(*text, '`'), *end = start ? strchr(start + 1, '`') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return start + 1;
}

/* The page names each call of the table once, beside its condition. */
static void syscalls_find(const struct syscalls_table *table, bool *seen, const char *name,
			  const char *condition)
{
	size_t i = 0;

	while (i < table->count && strcmp(table->names[i].name, name) != 0)
		i++;
	ck_assert_msg(i < table->count, "SECURITY.md has %s", name);
	ck_assert_msg(!seen[i], "SECURITY.md has %s twice", name);
	ck_assert_str_eq(table->names[i].condition ? table->names[i].condition : "", condition);
	seen[i] = true;
}

SUITE_TEST(test_security_page, 10)
{
	bool seen[SYSCALLS_TABLES][COUNT(syscalls_refused) + COUNT(syscalls_allowed)] = {{false}};
	char line[1024], *fields[5], *at;
	FILE *page = fopen("SECURITY.md", "re");
	int table = -1;
	const char *word;

	ck_assert_ptr_nonnull(page);
	while (fgets(line, sizeof(line), page)) {
		if (line[0] != '|') {
			table = -1;
			continue;
		}
		at = line;
		for (size_t i = 0; i < COUNT(fields); i++)
			fields[i] = strsep(&at, "|");
		for (int i = 0; i < SYSCALLS_TABLES; i++)
			if (strcmp(syscalls_trim(fields[1]), syscalls_tables[i].heading) == 0)
				table = i;
		at = fields[table == SYSCALLS_REFUSED ? 2 : 1];
		while (table >= 0 && (word = syscalls_word(&at)))
			syscalls_find(&syscalls_tables[table], seen[table], word,
				      table == SYSCALLS_REFUSED ? "" : syscalls_trim(fields[2]));
	}
	fclose(page);
	for (int t = 0; t < SYSCALLS_TABLES; t++)
		for (size_t i = 0; i < syscalls_tables[t].count; i++)
			ck_assert_msg(seen[t][i], "SECURITY.md lacks %s",
				      syscalls_tables[t].names[i].name);
	syscalls_list = SYSCALLS_SERVER;
	for (size_t i = 0; i < COUNT(syscalls_refused); i++)
		ck_assert_msg(syscalls_refused[i].number < 0 ||
				      syscalls_expected(syscalls_refused[i].number) == ENOSYS,
			      "%s is allowed", syscalls_refused[i].name);
}

int main(void)
{
	setenv("CK_FORK", "yes", 1); /* a test that entered the sandbox ends with it */
	return suite_main("syscalls", NULL);
}
