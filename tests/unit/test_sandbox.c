/* SPDX-License-Identifier: MIT */
/* The files and calls that a process in its own sandbox can still reach. */
#include "lib/system/sandbox.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool sandbox_has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* The errno of opening it; 0: it can be. */
static int sandbox_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : errno;
}

static void *sandbox_in_thread(void *path)
{
	return (void *)(intptr_t)sandbox_open(path, O_RDONLY);
}

static int sandbox_enter_one(const char *path, const char **how)
{
	struct sandbox_place place = {open(path, O_PATH | O_CLOEXEC), SANDBOX_ALL};
	int rc = sandbox_enter(&place, 1, how);

	close(place.fd);
	return rc;
}

static void sandbox_make(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", suite_directory(), name);
	SUITE_OK(mkdir(path, 0700));
}

SUITE_TEST(test_sandbox, 10)
{
	char inside[300], outside[300], path[320], to[320];
	const int denied = sandbox_has_landlock() ? EACCES : 0;
	const char *how = NULL;
	pthread_t thread;
	void *error;

	sandbox_make("inside", inside, sizeof(inside));
	sandbox_make("outside", outside, sizeof(outside));
	snprintf(path, sizeof(path), "%s/old", outside);
	ck_assert_int_eq(sandbox_open(path, O_CREAT | O_WRONLY), 0);
	ck_assert_int_eq(sandbox_enter_one(inside, &how), sandbox_has_landlock());
	ck_assert_ptr_nonnull(strstr(how, denied ? "Landlock allows" : "no Landlock"));

	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	ck_assert_int_eq(sandbox_open(path, O_RDONLY), denied);
	ck_assert_int_eq(sandbox_open(path, O_WRONLY), denied);
	SUITE_OK(pthread_create(&thread, NULL, sandbox_in_thread, path));
	pthread_join(thread, &error);
	ck_assert_int_eq((int)(intptr_t)error, denied);
	snprintf(to, sizeof(to), "%s/new", outside);
	ck_assert_int_eq(sandbox_open(to, O_CREAT | O_WRONLY), denied);
	ck_assert_int_eq(sandbox_open("/etc/passwd", O_RDONLY), denied);
	ck_assert_int_eq(sandbox_open("/proc/self/stat", O_RDONLY), 0);
}

SUITE_TEST(test_store_in_sandbox, 10)
{
	char inside[300], file[320], other[320], part[320];
	const char *how;
	struct stat st;

	sandbox_make("store", inside, sizeof(inside));
	ck_assert_int_eq(sandbox_enter_one(inside, &how), sandbox_has_landlock());
	SUITE_OK(sandbox_harden(inside));
	snprintf(file, sizeof(file), "%s/file", inside);
	snprintf(part, sizeof(part), "%s/part", inside);
	snprintf(other, sizeof(other), "%s/part/other", inside);
	ck_assert_int_eq(sandbox_open(file, O_CREAT | O_RDWR), 0);
	SUITE_OK(truncate(file, 10));
	SUITE_OK(mkdir(part, 0700));
	SUITE_OK(rename(file, other));
	ck_assert_int_eq(sandbox_open(inside, O_TMPFILE | O_RDWR), 0);
	SUITE_OK(stat(other, &st));
	SUITE_OK(unlink(other));
	SUITE_OK(rmdir(part));
	ck_assert_int_eq(sandbox_open(inside, O_RDONLY | O_DIRECTORY), 0);
}

/* The signal 0 only asks whether a process may be signalled. */
SUITE_TEST(test_hardened, 10)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	char inside[300];
	struct rlimit core;

	sandbox_make("hardened", inside, sizeof(inside));
	SUITE_OK(kill(getppid(), 0));
	SUITE_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUITE_OK(sandbox_harden(inside));
	SUITE_OK(syscall(SYS_capget, &header, data));
	ck_assert_uint_eq(data[0].permitted | data[1].permitted, 0);
	SUITE_OK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	SUITE_OK(getrlimit(RLIMIT_CORE, &core));
	ck_assert_uint_eq(core.rlim_max, 0);
	ck_assert_int_eq(chmod(inside, 0755), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(utimensat(AT_FDCWD, inside, NULL, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(setxattr(inside, "user.z", "z", 1, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(chown(inside, getuid(), getgid()), -1);
	ck_assert_int_eq(kill(getppid(), 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(tgkill(getppid(), getppid(), SIGCONT), -1);
	ck_assert_int_eq(errno, EPERM);
	SUITE_OK(pthread_kill(pthread_self(), SIGCONT));
	errno = 0; /* the number that x32 has for a call that is allowed */
	ck_assert_int_eq(syscall((1 << 30) | SYS_getppid), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_ge(socket(AF_UNIX, SOCK_DGRAM, 0), 0);
	ck_assert_int_eq(execl("/bin/true", "true", NULL), -1);
	ck_assert_int_eq(errno, EPERM);
}

int main(void)
{
	setenv("CK_FORK", "yes",
	       1); /* a test that entered the sandbox cannot go on to the next test */
	return suite_main("sandbox", NULL);
}
