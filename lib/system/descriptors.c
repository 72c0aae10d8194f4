/* SPDX-License-Identifier: MIT */
/* Inherited and missing descriptors, and passed ones. */
#include "lib/system/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int descriptors_open_none(void)
{
	return open("/", O_PATH | O_CLOEXEC);
}

/* open returns the lowest number that is free. */
void descriptors_open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    (descriptors_open_none() != fd || fcntl(fd, F_SETFD, 0) != 0))
			_exit(1); /* standard error may not exist */
}

void descriptors_close_inherited(int but)
{
	unsigned kept = but > STDERR_FILENO ? (unsigned)but : STDERR_FILENO;

	if (kept > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, kept - 1, 0);
	close_range(kept + 1, ~0U, 0);
}

int descriptors_send(int to, char what, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec byte = {&what, 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};
	struct cmsghdr *header;

	if (fd < 0) /* a call that the sandbox allows */
		return send(to, &what, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int descriptors_receive(int from, char *what, int *fd)
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
