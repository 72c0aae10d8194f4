/* SPDX-License-Identifier: MIT */
/* A request is one byte. The answer is one byte, and the descriptor with it. */
#include "lib/system/connector.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "lib/system/descriptors.h"
#include "lib/system/sandbox.h"

enum {
	CONNECTOR_SYSLOG = 's',
	CONNECTOR_DATAGRAMS = 'd',
	CONNECTOR_STREAM = 't',
	CONNECTOR_FAILED = 'f'
};

/* The end of the process that asks; -1: there is no connector. Set while there is one thread. */
static int connector_fd = -1;
static pid_t connector_process;
static pthread_mutex_t connector_lock = PTHREAD_MUTEX_INITIALIZER; /* one request at a time */

/* A socket of that type that is connected to syslog's, or -1. */
static int connector_open(int type)
{
	const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&log, sizeof(log)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The whole life of the connector. */
static _Noreturn void connector_run(int asked)
{
	int none = descriptors_open_none(), ignored, fd;
	char what;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (none < 0 || dup2(none, i) < 0)
			close(i);
	descriptors_close_inherited(asked);
	prctl(PR_SET_NAME, "rowfs-connector");
	if (sandbox_harden(SYSCALLS_CONNECTOR) != 0)
		_exit(1);
	while (descriptors_receive(asked, &what, &ignored) == 0 && what == CONNECTOR_SYSLOG) {
		what = CONNECTOR_DATAGRAMS;
		fd = connector_open(SOCK_DGRAM);
		if (fd < 0) {
			what = CONNECTOR_STREAM;
			fd = connector_open(SOCK_STREAM);
		}
		if (descriptors_send(asked, fd < 0 ? CONNECTOR_FAILED : what, fd) != 0)
			break;
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

int connector_start(void)
{
	int fds[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	connector_process = fork();
	rc = -errno;
	if (connector_process == 0)
		connector_run(fds[1]);
	close(fds[1]);
	if (connector_process < 0) {
		close(fds[0]);
		return rc;
	}
	connector_fd = fds[0];
	return 0;
}

int connector_syslog(bool *stream)
{
	char answer = CONNECTOR_FAILED;
	int fd = -1, rc;

	if (connector_fd < 0)
		return -ENOTCONN;
	pthread_mutex_lock(&connector_lock);
	rc = descriptors_send(connector_fd, CONNECTOR_SYSLOG, -1);
	if (rc == 0)
		rc = descriptors_receive(connector_fd, &answer, &fd);
	pthread_mutex_unlock(&connector_lock);
	if (rc != 0 || fd < 0)
		return rc != 0 ? rc : -ECONNREFUSED;
	*stream = answer == CONNECTOR_STREAM;
	return fd;
}

void connector_end(void)
{
	if (connector_fd < 0)
		return;
	close(connector_fd);
	connector_fd = -1;
	while (waitpid(connector_process, NULL, 0) < 0 && errno == EINTR)
		;
}
