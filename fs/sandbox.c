/* SPDX-License-Identifier: MIT */
/*
 * No new privileges, and Landlock (see landlock(7) and the kernel's
 * Documentation/userspace-api/landlock.rst), whose calls the C library does not have.
 *
 * A kernel takes the rights that it knows only: those of its version and the ones before.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SANDBOX_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* The bit behind the newest right of versions 1 to 3. */
#define SANDBOX_V1 (LANDLOCK_ACCESS_FS_MAKE_SYM << 1)
#define SANDBOX_V2 (SANDBOX_V1 << 1) /* to rename between directories */
#define SANDBOX_V3 (SANDBOX_V2 << 1) /* to truncate */

static __u64 sandbox_rights(long version)
{
	return (version == 1 ? SANDBOX_V1 : version == 2 ? SANDBOX_V2 : SANDBOX_V3) - 1;
}

static int sandbox_allow(int rules, const char *path, __u64 rights)
{
	struct landlock_path_beneath_attr below = {.allowed_access = rights};
	int rc = 0;

	below.parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* What is no directory is no store, as opening it will say; /proc may be missing. */
	if (below.parent_fd < 0)
		return errno == ENOTDIR || errno == ENOENT ? 0 : -errno;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) != 0)
		rc = -errno;
	close(below.parent_fd);
	return rc;
}

static int sandbox_restrict(const char *store_path, long version)
{
	struct landlock_ruleset_attr handled = {.handled_access_fs = sandbox_rights(version)};
	int rules, rc;

	rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (rules < 0)
		return -errno;
	rc = sandbox_allow(rules, store_path,
			   handled.handled_access_fs & ~(__u64)LANDLOCK_ACCESS_FS_EXECUTE);
	if (rc == 0)
		rc = sandbox_allow(rules, "/proc", SANDBOX_READ);
	if (rc == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		rc = -errno;
	close(rules);
	return rc;
}

int sandbox_enter(const char *store_path, const char **how)
{
	long version;

	tzset(); /* syslog asks for the time zone, whose file is out of reach afterwards */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 1) {
		*how = "no new privileges; all files are in reach: the kernel has no Landlock";
		return 0;
	}
	*how = "no new privileges; of all files Landlock leaves the store's in reach";
	return sandbox_restrict(store_path, version);
}
