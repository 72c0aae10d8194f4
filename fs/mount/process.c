/* SPDX-License-Identifier: MIT */
/* Finds the process of a thread in /proc (see proc(5)). The pid in a request's header is a thread
 * id. */
#include "fs/mount/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The flags field of /proc/PID/stat, from the kernel's include/linux/sched.h. */
enum { FLAG_EXITING = 0x4, FLAG_SIGNALED = 0x400 };

#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1)) /* in /proc/PID/status */

static bool read_proc(pid_t thread, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)thread, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	text[len > 0 ? len : 0] = 0;
	return len > 0;
}

bool process_can_tell(void)
{
	char self[32] = "";

	return readlink("/proc/self", self, sizeof(self) - 1) > 0 && atoi(self) == getpid();
}

pid_t process_of(pid_t thread)
{
	char text[1024];
	const char *tgid;

	if (thread <= 0)
		return -1;
	/* Signal 0 to thread T of process T finds a target only if T is the first thread of its
	 * process. It costs far less than reading /proc. */
	if (syscall(SYS_tgkill, thread, thread, 0) == 0 || errno == EPERM)
		return thread;
	if (!read_proc(thread, "status", text, sizeof(text)))
		return -1;
	tgid = strstr(text, "\nTgid:");
	return tgid ? (pid_t)strtol(tgid + 6, NULL, 10) : -1;
}

void process_name(pid_t thread, char name[PROCESS_NAME_MAX])
{
	if (thread <= 0 || !read_proc(thread, "comm", name, PROCESS_NAME_MAX))
		name[0] = 0;
	name[strcspn(name, "\n")] = 0;
}

bool process_same(pid_t a, pid_t b)
{
	pid_t process;

	if (a == b)
		return a > 0;
	process = process_of(a);
	return process > 0 && (process == b || process == process_of(b));
}

bool process_ends(pid_t thread)
{
	const uint64_t ends = SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT) |
			      SIGNAL_BIT(SIGABRT) | SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGTERM);
	unsigned long long own, shared, blocked;
	char text[4096];
	const char *at;

	if (thread <= 0 || !read_proc(thread, "status", text, sizeof(text)))
		return false;
	at = strstr(text, "\nSigPnd:");
	if (!at ||
	    sscanf(at, " SigPnd: %llx ShdPnd: %llx SigBlk: %llx", &own, &shared, &blocked) != 3)
		return false;
	return ((own | shared) & ~blocked & ends) != 0;
}

bool process_killed(pid_t thread)
{
	char text[1024];
	unsigned long flags;
	const char *at;

	if (thread <= 0 || !read_proc(thread, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')'); /* the command's name may hold anything */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return false;
	return (flags & FLAG_EXITING) && (flags & FLAG_SIGNALED);
}
