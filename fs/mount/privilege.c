/* SPDX-License-Identifier: MIT */
/* capabilities(7) and seccomp(2). A process with two filters makes the calls that both allow. */
#include "fs/mount/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PRIVILEGE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PRIVILEGE_ARCH AUDIT_ARCH_AARCH64
#endif

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

static int privilege_keep(bool search)
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
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

/* A sanitizer makes calls of its own, which change with its version: no filter there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PRIVILEGE_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PRIVILEGE_SANITIZER true
#endif
#endif
#ifndef PRIVILEGE_SANITIZER
#define PRIVILEGE_SANITIZER false
#endif

/* The calls of the mounter, of libfuse's mount and of the C library below them. */
static const unsigned privilege_calls[] = {
	SYS_mount,
	SYS_seccomp, /* privilege_mounted leaves out these two */
	SYS_umount2,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_sendto,
	SYS_close,
	SYS_dup3,
	SYS_fcntl,
	SYS_read,
	SYS_write,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_fstatfs,
	SYS_readlinkat,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_capget,
	SYS_brk,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_rseq,
	SYS_set_robust_list,
	SYS_rt_sigprocmask,
	SYS_getrandom,
	SYS_clock_nanosleep,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_readlink
	SYS_dup2,
	SYS_readlink,
#endif
};
enum {
	PRIVILEGE_FOR_MOUNT = 2,
	PRIVILEGE_CALLS = sizeof(privilege_calls) / sizeof(privilege_calls[0])
};

#ifdef SYS_access
#define PRIVILEGE_ACCESS SYS_access
#else
#define PRIVILEGE_ACCESS SYS_faccessat
#endif

#define PRIVILEGE_LOAD(field)                                                                      \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Skips `equal` instructions if the loaded value is `value`, else `other` instructions. */
#define PRIVILEGE_IF(value, equal, other) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, equal, other)
/* Skips `some` instructions if the loaded value has some of the bits, else `none` instructions. */
#define PRIVILEGE_ANY(bits, some, none) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, some, none)
#define PRIVILEGE_RETURN(action)	BPF_STMT(BPF_RET | BPF_K, action)

/* barred: the bits of open's flags that are refused. */
static int privilege_filter(size_t skipped, unsigned barred)
{
	/* The processor's other ABIs have other numbers for the calls; those of x32 have bit 30. */
	const struct sock_filter first[] = {
#ifdef PRIVILEGE_ARCH
		PRIVILEGE_LOAD(arch),
		PRIVILEGE_IF(PRIVILEGE_ARCH, 1, 0),
		PRIVILEGE_RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
		PRIVILEGE_LOAD(nr),
		PRIVILEGE_ANY(1u << 30, 0, 1),
		PRIVILEGE_RETURN(SECCOMP_RET_KILL_PROCESS),
	};
	/* Threads, but no processes; clone3 has its flags in memory, and the C library uses clone
	 * without it. libfuse asks whether /etc/mtab can be written, where that is a file, and
	 * would start mount(8) for it. */
	const struct sock_filter last[] = {
		PRIVILEGE_IF(SYS_clone, 0, 2),
		PRIVILEGE_LOAD(args[0]),
		PRIVILEGE_ANY(CLONE_THREAD, 5, 6),
		PRIVILEGE_IF(PRIVILEGE_ACCESS, 0, 1),
		PRIVILEGE_RETURN(SECCOMP_RET_ERRNO | EROFS),
		PRIVILEGE_IF(SYS_openat, 0, 3),
		PRIVILEGE_LOAD(args[2]),
		PRIVILEGE_ANY(barred, 1, 0),
		PRIVILEGE_RETURN(SECCOMP_RET_ALLOW),
		PRIVILEGE_RETURN(SECCOMP_RET_ERRNO | ENOSYS),
	};
	enum { FIRST = sizeof(first) / sizeof(*first), LAST = sizeof(last) / sizeof(*last) };
	struct sock_filter code[FIRST + 2 * PRIVILEGE_CALLS + LAST];
	struct sock_fprog program = {.filter = code};
	size_t len = FIRST;

	if (PRIVILEGE_SANITIZER)
		return 0;
	memcpy(code, first, sizeof(first));
	for (size_t i = skipped; i < PRIVILEGE_CALLS; i++) {
		code[len++] = (struct sock_filter)PRIVILEGE_IF(privilege_calls[i], 0, 1);
		code[len++] = (struct sock_filter)PRIVILEGE_RETURN(SECCOMP_RET_ALLOW);
	}
	memcpy(code + len, last, sizeof(last));
	program.len = (unsigned short)(len + LAST);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 || errno == ENOSYS ||
	    errno == EINVAL)
		return 0; /* ENOSYS, EINVAL: a kernel without seccomp, or without filters */
	return -errno;
}

int privilege_confine(bool search)
{
	int rc = privilege_keep(search);

	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		rc = -errno;
	return rc == 0 ? privilege_filter(0, O_CREAT | O_TRUNC) : rc;
}

int privilege_mounted(void)
{
	return privilege_filter(PRIVILEGE_FOR_MOUNT, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
}
