/* SPDX-License-Identifier: MIT */
/*
 * The serving process sends one byte for each command. The answer to a mount is one byte, and the
 * descriptor of /dev/fuse with it. The mounter closes its own copy: the kernel ends a mount
 * when its last descriptor is closed, so the mount of a killed server becomes dead.
 *
 * libfuse's helper for auto_unmount (3.14) does not clear the mount of an ordinary user, because it
 * may not access that mount. The mounter therefore clears it itself.
 */
#include "fs/mount/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/mount/mountpoint.h"
#include "lib/system/descriptors.h"

enum {
	MOUNTER_MOUNT = 'm',
	MOUNTER_UNMOUNT = 'u', /* without an answer: the mounter ends with it */
	MOUNTER_END = 'e',     /* without an answer */
	MOUNTER_DONE = 'd',
	MOUNTER_FAILED = 'f'
};
enum { DYING_TRIES = 1000, DYING_PAUSE_US = 10000 };

/* Sends a byte, and a descriptor unless fd is -1. */
static int mounter_send(int to, char what, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec byte = {&what, 1};
	struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(int));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* Receives a byte and its descriptor, or -1 without one. -EIO: the other end is closed. */
static int mounter_receive(int from, char *what, int *fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec byte = {what, 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};
	struct cmsghdr *header;
	ssize_t got;

	do
		got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		return -EIO;
	*fd = -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(int));
	return 0;
}

/* ---- The mounter's process --------------------------------------------------------------- */

/* Replaces a descriptor by one that can be neither read nor written. The number stays in use, so a
 * later close of it hits no other file. */
static void mounter_replace(int none, int fd)
{
	if (none >= 0)
		dup2(none, fd);
	else
		close(fd);
}

/* Unmounts as fuse_session_unmount does, but without a fork, for which an ordinary user may have no
 * process left. */
static _Noreturn void mounter_detach(const char *mountpoint)
{
	if (umount2(mountpoint, MNT_DETACH) == 0)
		_exit(0);
	mountpoint_become_fusermount(mountpoint, true);
}

/* false: the server ended without MOUNTER_END. */
static bool mounter_serve(int fd, struct fuse_session *session, const char *mountpoint, bool quiet)
{
	char what;
	int none, rc;

	while (mounter_receive(fd, &what, &none) == 0) {
		if (what == MOUNTER_UNMOUNT)
			mounter_detach(mountpoint);
		if (what != MOUNTER_MOUNT)
			return true;
		if (fuse_session_mount(session, mountpoint) != 0) {
			mounter_send(fd, MOUNTER_FAILED, -1);
			return true;
		}
		rc = mounter_send(fd, MOUNTER_DONE, fuse_session_fd(session));
		none = descriptors_open_none();
		mounter_replace(none, fuse_session_fd(session));
		for (int i = STDIN_FILENO; quiet && i <= STDERR_FILENO; i++)
			mounter_replace(none, i);
		if (none >= 0)
			close(none);
		if (rc != 0)
			return true;
	}
	return false;
}

/* ---- The serving process ----------------------------------------------------------------- */

int mounter_start(struct mounter *mounter, struct fuse_session *session, const char *mountpoint,
		  int leave, bool quiet)
{
	pid_t child, server = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	child = fork();
	if (child < 0) {
		int rc = -errno;

		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	close(fds[child == 0 ? 0 : 1]);
	if (child > 0) {
		mounter->fd = fds[0];
		mounter->process = child;
		return 0;
	}
	if (leave >= 0)
		close(leave);
	prctl(PR_SET_NAME, "rowfs-mounter");
	if (!mounter_serve(fds[1], session, mountpoint, quiet) && mounter->clears) {
		/* The mount is dead once the server is gone. */
		for (int i = 0; i < DYING_TRIES && getppid() == server; i++)
			usleep(DYING_PAUSE_US);
		mountpoint_clear(mountpoint);
	}
	_exit(0);
}

int mounter_mount(const struct mounter *mounter, struct fuse_session *session)
{
	char answer = MOUNTER_FAILED, path[32];
	int fd = -1, rc = mounter_send(mounter->fd, MOUNTER_MOUNT, -1);

	if (rc == 0)
		rc = mounter_receive(mounter->fd, &answer, &fd);
	if (rc != 0 || answer != MOUNTER_DONE || fd < 0)
		return -EIO;
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (fuse_session_mount(session, path) != 0) {
		close(fd);
		mounter_send(mounter->fd, MOUNTER_UNMOUNT, -1);
		return -EIO;
	}
	return 0;
}

/* Sends the last command and waits for the end of the mounter. -EIO: the mounter or fusermount3 is
 * missing. A failure of fusermount3 is none: another process may have unmounted before. */
static int mounter_finish(struct mounter *mounter, char what)
{
	int rc, status = 0;

	if (mounter->fd < 0)
		return 0;
	rc = mounter_send(mounter->fd, what, -1);
	close(mounter->fd);
	mounter->fd = -1;
	if (waitpid(mounter->process, &status, 0) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == MOUNTPOINT_NO_FUSERMOUNT)
		rc = -EIO;
	return rc == 0 ? 0 : -EIO;
}

int mounter_unmount(struct mounter *mounter, struct fuse_session *session)
{
	struct pollfd kernel = {.fd = fuse_session_fd(session)};

	if (poll(&kernel, 1, 0) == 1 && kernel.revents & POLLERR)
		return 0;
	return mounter_finish(mounter, MOUNTER_UNMOUNT);
}

void mounter_end(struct mounter *mounter)
{
	mounter_finish(mounter, MOUNTER_END);
}
