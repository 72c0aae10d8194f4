/* SPDX-License-Identifier: MIT */
/* The privileges that the mounter keeps. tests/unit/test_syscalls.c tries its system calls. */
#include "fs/mount/privilege.h"
#include "tests/unit/suite.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	ck_assert_int_eq(syscall(SYS_kill, 0, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
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

SUITE_TEST(test_privilege_capabilities, 10)
{
	ck_assert_int_eq(suite_apart(privilege_none), 0);
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(suite_apart(privilege_all_but_admin), 0);
	ck_assert_int_eq(suite_apart(privilege_search), 0);
	ck_assert_int_eq(suite_apart(privilege_search_of_the_unit), 0);
}
