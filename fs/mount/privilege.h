/* SPDX-License-Identifier: MIT */
/*
 * The privileges of the mounter (fs/mount/mounter.h). Where it has CAP_SYS_ADMIN it mounts and
 * unmounts by itself, keeps nothing else, and is confined to the system calls for that. Otherwise
 * it starts fusermount3, which needs no_new_privs and the filter to be off.
 */
#ifndef FS_PRIVILEGE_H
#define FS_PRIVILEGE_H

#include <stdbool.h>

/* May this process mount without fusermount3? */
bool privilege_mounts(void);

/*
 * Keeps CAP_SYS_ADMIN, if the process has it, and no other capability; with search also
 * CAP_DAC_READ_SEARCH, or else CAP_DAC_OVERRIDE, for a mountpoint in a directory whose owner can
 * close it to a root without them. Then confines the process to the calls of SYSCALLS_MOUNTER
 * (lib/system/syscalls.h). For the main thread, before others start. 0 or a negative errno.
 */
int privilege_confine(bool search);

#endif
