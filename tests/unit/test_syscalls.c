/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the process behind a mount can make: each number is tried in the sandbox
 * and compared with the tables below, and those with SECURITY.md.
 *
 * No call is really made. An older filter of the test gives SYSCALLS_REACHED to all calls with a
 * mark in their sixth argument; the kernel prefers the refusals of the sandbox's newer filter.
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
enum { SYSCALLS_LAST = 600, SYSCALLS_NAME = 24 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYSCALLS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SYSCALLS_SANITIZER true
#endif
#endif
#ifndef SYSCALLS_SANITIZER
#define SYSCALLS_SANITIZER false /* a sanitizer needs more calls */
#endif

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

/* Refused calls that SECURITY.md names. */
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

/* Calls of probes, of which Linux 6.13 and 6.18 tell no filter; they do nothing elsewhere. */
#ifdef __x86_64__
enum { SYSCALLS_URETPROBE = 335, SYSCALLS_UPROBE = 336 };
#else
enum { SYSCALLS_URETPROBE = -1, SYSCALLS_UPROBE = -1 };
#endif

static int syscalls_expected(long number)
{
	for (size_t i = 0; i < COUNT(syscalls_allowed); i++)
		if (syscalls_allowed[i].number == number)
			return syscalls_allowed[i].condition ? EPERM : SYSCALLS_REACHED;
	return ENOSYS;
}

/* ---- A process in the sandbox ------------------------------------------------------------ */

static int syscalls_try(long number, long a, long b, long c, long d, long e)
{
	int error;

	errno = 0;
	error = syscall(number, a, b, c, d, e, (long)SYSCALLS_MARK) == -1 ? errno : 0;
	/* The mark stays in a register, which calls of fewer arguments leave as it is. */
	syscall(SYS_getpid, 0L, 0L, 0L, 0L, 0L, 0L);
	return error;
}

static void syscalls_enter(enum sandbox_connections connections)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYSCALLS_MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | SYSCALLS_REACHED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {COUNT(code), code};

	SUITE_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUITE_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
	SUITE_OK(sandbox_harden(connections));
}

/* The numbers of today's kernels, those of the next years, and odd ones. */
static void syscalls_check_numbers(enum sandbox_connections connections)
{
	static const long odd[] = {601, 1000, 1023, 1024, 4096, 65535, 0x3fffffff};
	int got;

	syscalls_enter(connections);
	for (long number = 0; number <= SYSCALLS_LAST; number++) {
		if (number == SYSCALLS_URETPROBE || number == SYSCALLS_UPROBE)
			continue;
		if (connections == SANDBOX_CONNECTS &&
		    (number == SYS_socket || number == SYS_connect || number == SYS_sendmsg))
			continue;
		got = syscalls_try(number, -1, -1, -1, -1, 1);
		ck_assert_msg(got == syscalls_expected(number), "call %ld gives %d, not %d", number,
			      got, syscalls_expected(number));
	}
	for (size_t i = 0; i < COUNT(odd); i++)
		ck_assert_int_eq(syscalls_try(odd[i], -1, -1, -1, -1, 1), ENOSYS);
}

static void syscalls_check_server(void)
{
	syscalls_check_numbers(SANDBOX_CONNECTS_NOWHERE);
}

SUITE_TEST(test_each_number, 10)
{
	if (!SYSCALLS_SANITIZER)
		ck_assert_int_eq(suite_apart(syscalls_check_server), 0);
}

/* The connector may connect to local sockets, and is confined like the server otherwise. */
static void syscalls_check_connector(void)
{
	syscalls_check_numbers(SANDBOX_CONNECTS);
	ck_assert_int_eq(syscalls_try(SYS_connect, 3, 0, 0, 0, 0), SYSCALLS_REACHED);
	ck_assert_int_eq(syscalls_try(SYS_sendmsg, 3, 0, 0, 0, 0), SYSCALLS_REACHED);
	for (long family = 0; family < 100; family++)
		ck_assert_int_eq(syscalls_try(SYS_socket, family, SOCK_STREAM, 0, 0, 0),
				 family == AF_UNIX ? SYSCALLS_REACHED : EPERM);
}

SUITE_TEST(test_connector, 10)
{
	if (!SYSCALLS_SANITIZER)
		ck_assert_int_eq(suite_apart(syscalls_check_connector), 0);
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
		bool allowed;
	} cases[] = {
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, 0600, 0, true},
		{SYS_openat, AT_FDCWD, 0, O_RDONLY, 0, 0, true},
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, S_ISUID | 0755, 0, false},
		{SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, S_ISGID | 0755, 0, false},
		{SYS_openat, AT_FDCWD, 0, O_TMPFILE | O_RDWR, S_ISUID | S_ISGID, 0, false},
		{SYS_mkdirat, AT_FDCWD, 0, 0755, 0, 0, true},
		{SYS_mkdirat, AT_FDCWD, 0, S_ISGID | 0755, 0, 0, false},
#ifdef SYS_mkdir
		{SYS_mkdir, 0, 0755, 0, 0, 0, true},
		{SYS_mkdir, 0, S_ISUID | 0755, 0, 0, 0, false},
#endif
		{SYS_mmap, 0, 4096, rw, MAP_PRIVATE, 0, true},
		{SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, 0, true},
		{SYS_mmap, 0, 4096, PROT_EXEC, MAP_PRIVATE, 0, false},
		{SYS_mmap, 0, 4096, rw | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, true},
		{SYS_mmap, 0, 4096, rw | PROT_EXEC, MAP_PRIVATE, 0, false},
		{SYS_mprotect, 0, 4096, rw, 0, 0, true},
		{SYS_mprotect, 0, 4096, PROT_NONE, 0, 0, true},
		{SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC, 0, 0, false},
		{SYS_fcntl, 3, F_SETFL, O_NONBLOCK, 0, 0, true},
		{SYS_fcntl, 3, F_SETFL, O_ASYNC, 0, 0, false},
		{SYS_ioctl, 3, TCGETS, 0, 0, 0, true},
		{SYS_ioctl, 3, TIOCSTI, 0, 0, 0, false},
		{SYS_ioctl, 3, TIOCSETD, 0, 0, 0, false},
		{SYS_ioctl, 3, FIOASYNC, 0, 0, 0, false},
		{SYS_ioctl, 3, 0x40086602 /* FS_IOC_SETFLAGS */, 0, 0, 0, false},
		{SYS_ioctl, 3, 0x401c5820 /* FS_IOC_FSSETXATTR */, 0, 0, 0, false},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, 0, 1, 0, true},
		{SYS_prlimit64, self, RLIMIT_NOFILE, 0, 1, 0, false},
		{SYS_prlimit64, 1, RLIMIT_NOFILE, 0, 1, 0, false},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, 1, 0, 0, false},
		{SYS_prlimit64, 0, RLIMIT_NOFILE, high, 0, 0, false},
		{SYS_setpriority, PRIO_PROCESS, 0, 19, 0, 0, true},
		{SYS_setpriority, PRIO_PROCESS, self, 19, 0, 0, false},
		{SYS_setpriority, PRIO_PROCESS, 1, 19, 0, 0, false},
		{SYS_setpriority, PRIO_PGRP, 0, 19, 0, 0, false},
		{SYS_setpriority, PRIO_USER, 0, 19, 0, 0, false},
		{SYS_clone, thread, 0, 0, 0, 0, true},
		{SYS_clone, SIGCHLD, 0, 0, 0, 0, false},
		{SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, false},
		{SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0, false},
		{SYS_clone, thread | CLONE_NEWNET, 0, 0, 0, 0, false},
		{SYS_clone, thread | CLONE_PTRACE, 0, 0, 0, 0, false},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, 0, true},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, 1, false},
		{SYS_sendto, 3, 0, 10, MSG_NOSIGNAL, high, false},
		{SYS_tgkill, self, 1, SIGKILL, 0, 0, true},
		{SYS_tgkill, 1, 1, 0, 0, 0, true},
		{SYS_tgkill, 1, 1, SIGCONT, 0, 0, false},
		{SYS_tgkill, self - 1, self - 1, SIGKILL, 0, 0, false},
	};

	syscalls_enter(SANDBOX_CONNECTS_NOWHERE);
	for (size_t i = 0; i < COUNT(cases); i++)
		ck_assert_msg(syscalls_try(cases[i].number, cases[i].a, cases[i].b, cases[i].c,
					   cases[i].d, cases[i].e) ==
				      (cases[i].allowed ? SYSCALLS_REACHED : EPERM),
			      "case %zu of call %ld gives %d", i, cases[i].number, errno);
	for (long command = 0; command < 2000; command++)
		if (command != F_SETFL)
			ck_assert_int_eq(syscalls_try(SYS_fcntl, 3, command, 0, 0, 0),
					 command == F_GETFD || command == F_SETFD ||
							 command == F_GETFL || command == F_GETLK ||
							 command == F_SETLK
						 ? SYSCALLS_REACHED
						 : EPERM);
}

SUITE_TEST(test_arguments, 10)
{
	if (!SYSCALLS_SANITIZER)
		ck_assert_int_eq(suite_apart(syscalls_check_arguments), 0);
}

/* The process that makes such a call ends. number -1: getpid of 32 bits. */
static int syscalls_kills(long number)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		syscalls_enter(SANDBOX_CONNECTS_NOWHERE);
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
SUITE_TEST(test_other_abi, 10)
{
	int killed = syscalls_kills(-1);

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
static void syscalls_find(const struct syscalls_name *table, size_t count, bool *seen,
			  const char *name, const char *condition)
{
	size_t i = 0;

	while (i < count && strcmp(table[i].name, name) != 0)
		i++;
	ck_assert_msg(i < count, "SECURITY.md has %s", name);
	ck_assert_msg(!seen[i], "SECURITY.md has %s twice", name);
	ck_assert_str_eq(table[i].condition ? table[i].condition : "", condition);
	seen[i] = true;
}

SUITE_TEST(test_security_page, 10)
{
	bool allowed[COUNT(syscalls_allowed)] = {false}, refused[COUNT(syscalls_refused)] = {false};
	enum { OTHER, REFUSED, ALLOWED } table = OTHER;
	char line[1024], *fields[5], *at;
	FILE *page = fopen("SECURITY.md", "re");
	const char *word;

	ck_assert_ptr_nonnull(page);
	while (fgets(line, sizeof(line), page)) {
		if (line[0] != '|') {
			table = OTHER;
			continue;
		}
		at = line;
		for (size_t i = 0; i < COUNT(fields); i++)
			fields[i] = strsep(&at, "|");
		if (strcmp(fields[1], " refused ") == 0)
			table = REFUSED;
		else if (strcmp(fields[1], " allowed ") == 0)
			table = ALLOWED;
		at = fields[table == REFUSED ? 2 : 1];
		while (table != OTHER && (word = syscalls_word(&at))) {
			if (table == REFUSED)
				syscalls_find(syscalls_refused, COUNT(refused), refused, word, "");
			else
				syscalls_find(syscalls_allowed, COUNT(allowed), allowed, word,
					      syscalls_trim(fields[2]));
		}
	}
	fclose(page);
	for (size_t i = 0; i < COUNT(allowed); i++)
		ck_assert_msg(allowed[i], "SECURITY.md lacks %s", syscalls_allowed[i].name);
	for (size_t i = 0; i < COUNT(refused); i++) {
		ck_assert_msg(refused[i], "SECURITY.md lacks %s", syscalls_refused[i].name);
		ck_assert_msg(syscalls_refused[i].number < 0 ||
				      syscalls_expected(syscalls_refused[i].number) == ENOSYS,
			      "%s is allowed", syscalls_refused[i].name);
	}
}

int main(void)
{
	setenv("CK_FORK", "yes", 1); /* a test that entered the sandbox ends with it */
	return suite_main("syscalls", NULL);
}
