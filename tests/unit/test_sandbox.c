/* SPDX-License-Identifier: MIT */
/* The files and calls that a process in its own sandbox can still reach. */
#include "lib/system/sandbox.h"
#include "tests/unit/suite.h"

#include <fcntl.h>
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

static void sandbox_check_store_in_sandbox(void)
{
	char inside[300], file[320], other[320], part[320];
	const char *how;
	struct stat st;
	int fd;

	sandbox_make("store", inside, sizeof(inside));
	ck_assert_int_eq(sandbox_enter_one(inside, &how), sandbox_has_landlock());
	SUITE_OK(sandbox_harden(SYSCALLS_SERVER));
	snprintf(file, sizeof(file), "%s/file", inside);
	snprintf(part, sizeof(part), "%s/part", inside);
	snprintf(other, sizeof(other), "%s/part/other", inside);
	ck_assert_int_eq(sandbox_open(file, O_CREAT | O_RDWR), 0);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	SUITE_OK(ftruncate(fd, 10));
	close(fd);
	SUITE_OK(mkdir(part, 0700));
	SUITE_OK(rename(file, other));
	ck_assert_int_eq(sandbox_open(inside, O_TMPFILE | O_RDWR), 0);
	SUITE_OK(stat(other, &st));
	SUITE_OK(unlink(other));
	SUITE_OK(unlinkat(AT_FDCWD, part, AT_REMOVEDIR));
	ck_assert_int_eq(sandbox_open(inside, O_RDONLY | O_DIRECTORY), 0);
}

SUITE_TEST(test_store_in_sandbox, 10)
{
	ck_assert_int_eq(suite_apart(sandbox_check_store_in_sandbox), 0);
}

/* The capabilities that this process may use. */
static unsigned long long sandbox_permitted(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long set = ~0ULL;
	char line[256];

	ck_assert_ptr_nonnull(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "CapPrm: %llx", &set);
	fclose(status);
	return set;
}

/* A thread that is older than the sandbox's filter, and has none. It asks behind the barrier. */
static void *sandbox_is_dumpable(void *barrier)
{
	pthread_barrier_wait(barrier);
	return (void *)(intptr_t)prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

/* The signal 0 only asks whether a process may be signalled. test_syscalls.c has all calls. */
static void sandbox_check_hardened(void)
{
	char inside[300], path[320];
	const pid_t parent = getppid();
	pthread_barrier_t barrier;
	struct rlimit core;
	pthread_t thread;
	void *dumpable, *error;

	sandbox_make("hardened", inside, sizeof(inside));
	snprintf(path, sizeof(path), "%s/file", inside);
	SUITE_OK(kill(parent, 0));
	SUITE_OK(pthread_barrier_init(&barrier, NULL, 2));
	SUITE_OK(pthread_create(&thread, NULL, sandbox_is_dumpable, &barrier));
	SUITE_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUITE_OK(sandbox_harden(SYSCALLS_SERVER));
	pthread_barrier_wait(&barrier);
	SUITE_OK(pthread_join(thread, &dumpable));
	ck_assert_ptr_null(dumpable);
	ck_assert_uint_eq(sandbox_permitted(), 0);
	SUITE_OK(getrlimit(RLIMIT_CORE, &core));
	ck_assert_uint_eq(core.rlim_max, 0);
	ck_assert_int_eq(chmod(inside, 0755), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(utimensat(AT_FDCWD, inside, NULL, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(setxattr(inside, "user.z", "z", 1, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(chown(inside, getuid(), getgid()), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, S_ISUID | 0755), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(kill(parent, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(tgkill(parent, parent, SIGCONT), -1);
	ck_assert_int_eq(errno, EPERM);
	SUITE_OK(pthread_kill(pthread_self(), SIGCONT));
	ck_assert_int_eq(socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(socket(AF_UNIX, SOCK_DGRAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(execl("/bin/true", "true", NULL), -1);
	ck_assert_int_eq(errno, ENOSYS);
	SUITE_OK(pthread_create(&thread, NULL, sandbox_in_thread, inside));
	SUITE_OK(pthread_join(thread, &error));
	ck_assert_ptr_null(error);
}

SUITE_TEST(test_hardened, 10)
{
	ck_assert_int_eq(suite_apart(sandbox_check_hardened), 0);
}

int main(void)
{
	setenv("CK_FORK", "yes",
	       1); /* a test that entered the sandbox cannot go on to the next test */
	return suite_main("sandbox", NULL);
}
