/* SPDX-License-Identifier: MIT */
/* See capabilities(7). */
#include "fs/mount/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/system/syscalls.h"

#define PRIVILEGE_BIT(capability) (1u << (capability))

static int privilege_get(struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, data) == 0 ? 0 : -errno;
}

bool privilege_mounts(void)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return privilege_get(data) == 0 && (data[0].effective & PRIVILEGE_BIT(CAP_SYS_ADMIN)) != 0;
}

int privilege_confine(bool search)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	__u32 kept = PRIVILEGE_BIT(CAP_SYS_ADMIN);
	int rc = privilege_get(data);

	if (rc != 0)
		return rc;
	if (search)
		kept |= data[0].permitted & PRIVILEGE_BIT(CAP_DAC_READ_SEARCH)
				? PRIVILEGE_BIT(CAP_DAC_READ_SEARCH)
				: PRIVILEGE_BIT(CAP_DAC_OVERRIDE);
	kept &= data[0].permitted;
	data[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
	data[1] = (struct __user_cap_data_struct){0};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, data) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return syscalls_confine(SYSCALLS_MOUNTER);
}
