/* SPDX-License-Identifier: MIT */
/*
 * The request loop.
 *
 * The last close of a file commits, and the kernel does not wait for RELEASE: so RELEASE is
 * handled before the next request is read, and whatever a process does after its close sees what
 * that committed. To know the order, requests are read one at a time, under a lock; handled they
 * are side by side.
 */
#include "loop.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MIN = 4, THREADS_MAX = 16, WAKE_EVERY_US = 2000 };

/* Wakes a thread that waits for a request; tells the main thread that the loop has ended. */
#define SIGNAL_WAKE  SIGUSR1
#define SIGNAL_ENDED SIGUSR2

struct loop {
	struct fuse_session *session;
	pthread_t main_thread;
	pthread_mutex_t reading;
	int error;   /* of reading. Lock: reading */
	int running; /* threads. Atomic */
};

static void wake(int signal)
{
	(void)signal;
}

static void signals_of_end(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGNAL_ENDED);
}

void loop_block_signals(void)
{
	struct sigaction action = {.sa_handler = wake}; /* no SA_RESTART: read must return */
	sigset_t set;

	signals_of_end(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGNAL_WAKE, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

static bool is_release(const struct fuse_buf *buf)
{
	struct fuse_in_header header;

	if (buf->size < sizeof(header) || (buf->flags & FUSE_BUF_IS_FD))
		return false;
	memcpy(&header, buf->mem, sizeof(header));
	return header.opcode == FUSE_RELEASE;
}

/* Reads the next request; those that must be done before another is read, it does. 1: *buf has a
 * request to be done; 0: none has. */
static int next_request(struct loop *loop, struct fuse_buf *buf)
{
	int rc;

	pthread_mutex_lock(&loop->reading);
	rc = fuse_session_exited(loop->session) ? 0 : fuse_session_receive_buf(loop->session, buf);
	if (rc > 0 && is_release(buf)) {
		fuse_session_process_buf(loop->session, buf);
		rc = 0;
	}
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN) {
		loop->error = rc;
		fuse_session_exit(loop->session);
	}
	pthread_mutex_unlock(&loop->reading);
	return rc > 0;
}

static void *worker(void *arg)
{
	struct loop *loop = arg;
	struct fuse_buf buf = {0};

	while (!fuse_session_exited(loop->session))
		if (next_request(loop, &buf))
			fuse_session_process_buf(loop->session, &buf);
	free(buf.mem);
	__atomic_sub_fetch(&loop->running, 1, __ATOMIC_ACQ_REL);
	pthread_kill(loop->main_thread, SIGNAL_ENDED);
	return NULL;
}

static unsigned thread_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = cores > 0 ? 2 * (unsigned)cores : THREADS_MIN;

	return count < THREADS_MIN ? THREADS_MIN : count > THREADS_MAX ? THREADS_MAX : count;
}

/* A thread may be about to read when the first signal comes, so they are sent until all ended. */
static void end_threads(struct loop *loop, const pthread_t *threads, unsigned count)
{
	while (__atomic_load_n(&loop->running, __ATOMIC_ACQUIRE) > 0) {
		for (unsigned i = 0; i < count; i++)
			pthread_kill(threads[i], SIGNAL_WAKE);
		usleep(WAKE_EVERY_US);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int loop_run(struct fs *fs)
{
	struct loop loop = {.session = fs->session, .main_thread = pthread_self()};
	pthread_t threads[THREADS_MAX];
	unsigned wanted = thread_count(), count = 0;
	sigset_t set;
	int signal;

	pthread_mutex_init(&loop.reading, NULL);
	signals_of_end(&set);
	while (count < wanted) {
		__atomic_add_fetch(&loop.running, 1, __ATOMIC_ACQ_REL);
		if (pthread_create(&threads[count], NULL, worker, &loop) != 0) {
			__atomic_sub_fetch(&loop.running, 1, __ATOMIC_ACQ_REL);
			break;
		}
		count++;
	}
	if (count > 0)
		sigwait(&set, &signal);
	fuse_session_exit(fs->session);
	end_threads(&loop, threads, count);
	pthread_mutex_destroy(&loop.reading);
	if (count == 0)
		return -EAGAIN;
	return loop.error != 0 ? -EIO : 0;
}
