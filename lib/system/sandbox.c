/* SPDX-License-Identifier: MIT */
/*
 * No new privileges, Landlock (see landlock(7) and the kernel's
 * Documentation/userspace-api/landlock.rst), whose calls the C library does not have, and
 * capabilities(7).
 *
 * A kernel accepts only the rights of its own version and of earlier ones.
 */
#include "lib/system/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The newest right of version 1. The bits behind it are those of version 2, to rename between
 * directories, and 3, to truncate. */
#define SANDBOX_V1 LANDLOCK_ACCESS_FS_MAKE_SYM

/* struct landlock_ruleset_attr as of version 6; a kernel ignores zeros that it does not know. */
struct sandbox_ruleset {
	__u64 files, network, scopes;
};

enum { SANDBOX_TCP = 3 /* bind, connect */, SANDBOX_SIGNALS = 2 };

static int sandbox_allow(int rules, struct sandbox_place place, __u64 handled)
{
	struct landlock_path_beneath_attr below = {.parent_fd = place.fd};

	if (place.rights == SANDBOX_ALL)
		below.allowed_access = handled & ~(__u64)LANDLOCK_ACCESS_FS_EXECUTE;
	else if (place.rights == SANDBOX_ENTRIES)
		below.allowed_access = LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_DIR |
				       LANDLOCK_ACCESS_FS_REMOVE_DIR;
	else
		below.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	if (place.fd < 0 ||
	    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0)
		return 0;
	return -errno;
}

int sandbox_enter(const struct sandbox_place *places, size_t count, const char **how)
{
	struct sandbox_ruleset handled;
	int proc, rules, rc;
	long version;

	tzset(); /* the log asks for the time zone, whose file is out of reach afterwards */
	json_object_seed(0); /* jansson asks for /dev/urandom */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version <= 0) {
		*how = "no new privileges; the kernel has no Landlock";
		return 0;
	}
	*how = "no new privileges; Landlock allows access to the store's files only";
	handled = (struct sandbox_ruleset){.files = (SANDBOX_V1 << (version < 3 ? version : 3)) - 1,
					   .network = version >= 4 ? SANDBOX_TCP : 0,
					   .scopes = version >= 6 ? SANDBOX_SIGNALS : 0};
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	rc = rules < 0 ? -errno : 0;
	if (rc == 0)
		rc = sandbox_allow(rules, (struct sandbox_place){proc, SANDBOX_READ},
				   handled.files);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = sandbox_allow(rules, places[i], handled.files);
	if (rc == 0)
		rc = syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 1 : -errno;
	if (rules >= 0)
		close(rules);
	if (proc >= 0)
		close(proc);
	return rc;
}

struct sandbox_place sandbox_store(const char *path)
{
	static const char *const parts[] = {"ROWFS", "LOCK", "data/CURRENT"}; /* docs/format.md */
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	struct sandbox_place place = {.fd = -1, .rights = SANDBOX_READ};
	char *real = realpath(path, NULL);
	struct stat st;

	if (real)
		place.fd = (int)syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof(how));
	if (real && place.fd < 0 && errno == ENOSYS) /* a kernel that has no Landlock either */
		place.fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; place.fd >= 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (fstatat(place.fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			place.rights = SANDBOX_ALL;
	free(real);
	return place;
}

/* Is this process root, and does another user own the directory? */
static int sandbox_is_foreign(int fd, struct stat *st)
{
	if (fstat(fd, st) != 0)
		return -errno;
	return geteuid() == 0 && st->st_uid != 0;
}

/* The kernel takes capabilities from a process whose user for files is not root any more. */
int sandbox_own(int fd)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	struct stat st;
	int foreign = sandbox_is_foreign(fd, &st);

	if (foreign <= 0)
		return foreign;
	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

int sandbox_become(int fd)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	struct stat st;
	int foreign = sandbox_is_foreign(fd, &st);

	if (foreign <= 0)
		return foreign;
	setrlimit(RLIMIT_NPROC, &all); /* counts the other processes of that user, too */
	if (setgroups(0, NULL) != 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) != 0 ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid) != 0)
		return -errno;
	return 1;
}

int sandbox_harden(enum syscalls_list list)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const struct rlimit core = {0};

	if (setrlimit(RLIMIT_CORE, &core) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0 ? syscalls_confine(list) : -errno;
}
