/* SPDX-License-Identifier: MIT */
/*
 * The request loop.
 *
 * The last close of a file commits, and the kernel does not wait for RELEASE: so RELEASE is
 * handled before the next request is read, and whatever a process does after its close sees what
 * that committed. To know the order, requests are read by one thread at a time, which leads
 * (lead.c); handled they are side by side.
 *
 * What a request costs is mostly waking the thread that is to read it. So the leader tries for a
 * while before it sleeps: as long as requests come so soon that it would have been woken again
 * anyway, and nobody else needs the processor.
 *
 * A request that waits for the kernel holds up those that the kernel waits for, if they find no
 * thread, and one that waits for the medium holds up all: so there are always THREADS_FREE that do
 * not wait, and more threads where need be.
 *
 * The thread that reads waits for a request and for `stop` at once, so the end of the loop reaches
 * it without a signal, which could hit the others in a call of the store.
 */
#include "fs/serve/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/serve/lead.h"
#include "fs/serve/metrics.h"
#include "lib/clock.h"

/* In nanoseconds. */
enum { SPIN_NS = 100000, SOON_NS = 200000, TAKEN_NS = 20000, LOOK_NS = 20000000 };
enum { SPINS_IN_VAIN = 4, SATURATED = 8 };
enum { THREADS_MIN = 4, THREADS_MAX = 16, THREADS_FREE = 2, THREADS_LIMIT = 64 };

/* Tells the main thread, which takes it with sigwait, that a thread of the loop has ended. */
#define SIGNAL_ENDED SIGUSR1

struct loop {
	struct fuse_session *session;
	struct metrics *metrics;
	pthread_t main_thread;
	struct lead lead;
	/* The leader's */
	int error;	  /* of reading */
	unsigned in_vain; /* tries for a request since one came soon */
	bool crowded;	  /* no tries, since more threads want a processor than there are */
	int64_t looked;	  /* when that was found */
	int loadavg;	  /* a file that tells; -1: nothing does */
	unsigned at_once; /* requests that were there already, one after the other */
	int stop;	  /* an eventfd; can be read from when the loop is to end */
	pthread_mutex_t counting;
	pthread_t threads[THREADS_LIMIT]; /* Lock: counting, as all below */
	unsigned count;
	unsigned waiting; /* of these, for the kernel or the medium */
	bool ends;	  /* there are to be no more */
};

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
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	signals_of_end(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* a limit on file sizes is an error of a write */
}

/* Does this thread handle a RELEASE, while nobody reads requests? */
static _Thread_local bool releases;

bool loop_can_wait(void)
{
	return !releases;
}

static bool is_release(const struct fuse_buf *buf)
{
	struct fuse_in_header header;

	if (buf->size < sizeof(header) || (buf->flags & FUSE_BUF_IS_FD))
		return false;
	memcpy(&header, buf->mem, sizeof(header));
	return header.opcode == FUSE_RELEASE;
}

/* Waits for a request. 1: there may be one; 0: the loop is to end; or an error. */
static int await_request(struct loop *loop)
{
	struct pollfd fds[] = {{.fd = fuse_session_fd(loop->session), .events = POLLIN},
			       {.fd = loop->stop, .events = POLLIN}};
	int64_t from = clock_ns();
	int rc;

	lead_sleep(&loop->lead);
	rc = poll(fds, 2, -1) < 0 ? -errno : 0;
	lead_wake(&loop->lead);
	if (rc < 0)
		return rc;
	if (clock_ns() - from < SOON_NS)
		loop->in_vain = 0;
	return fds[1].revents == 0 && !fuse_session_exited(loop->session);
}

/* Who tries where more threads want a processor than there are is in the way of clients and others,
 * and loses what the scheduler would prefer it for when it is woken. */
static bool is_crowded(struct loop *loop)
{
	int64_t now = clock_ns();
	char text[64];
	ssize_t len;

	if (now - loop->looked < LOOK_NS)
		return loop->crowded;
	loop->looked = now;
	len = pread(loop->loadavg, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = 0;
	loop->crowded = lead_is_crowded(&loop->lead, text);
	return loop->crowded;
}

/* Tries until a request comes, for a while; ends early where another program takes the processor.
 */
static int try_for_request(struct loop *loop, struct fuse_buf *buf)
{
	int64_t from = clock_ns(), last = from, now;
	int rc;

	do {
		rc = fuse_session_receive_buf(loop->session, buf);
		if (rc != -EAGAIN) {
			loop->in_vain = 0;
			return rc;
		}
		now = clock_ns();
		if (now - last > TAKEN_NS)
			loop->in_vain = SPINS_IN_VAIN;
		last = now;
	} while (loop->in_vain < SPINS_IN_VAIN && now - from < SPIN_NS);
	loop->in_vain++;
	return rc;
}

static bool may_try(struct loop *loop)
{
	return loop->lead.cores > 1 && loop->in_vain < SPINS_IN_VAIN && !is_crowded(loop);
}

/* The next request, by the leader. A positive number: buf has one; 0: the loop is to end. */
static int receive_request(struct loop *loop, struct fuse_buf *buf)
{
	int rc = fuse_session_receive_buf(loop->session, buf);

	loop->at_once = rc > 0 ? loop->at_once + 1 : 0;
	if (rc == -EAGAIN && may_try(loop))
		rc = try_for_request(loop, buf);
	if (rc != -EAGAIN)
		return rc;
	rc = await_request(loop);
	return rc > 0 ? fuse_session_receive_buf(loop->session, buf) : rc;
}

/* Reads the next request; those that must be done before another is read, it does. 1: *buf has a
 * request to be done; 0: none has. */
static int next_request(struct loop *loop, struct fuse_buf *buf)
{
	int rc = receive_request(loop, buf);

	if (rc > 0 && !(buf->flags & FUSE_BUF_IS_FD))
		metrics_receive(loop->metrics, buf->mem, buf->size);
	if (rc > 0 && is_release(buf)) {
		releases = true;
		fuse_session_process_buf(loop->session, buf);
		releases = false;
		rc = 0;
	}
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN) {
		loop->error = rc;
		fuse_session_exit(loop->session);
	}
	return rc > 0;
}

/* Leads as long as it can. */
static void handle_requests(struct loop *loop, struct fuse_buf *buf)
{
	bool leads = true;

	while (leads && !fuse_session_exited(loop->session)) {
		if (!next_request(loop, buf))
			continue;
		lead_handle(&loop->lead, loop->at_once >= SATURATED);
		fuse_session_process_buf(loop->session, buf);
		leads = lead_handled(&loop->lead);
	}
}

static void *worker(void *arg)
{
	struct loop *loop = arg;
	struct fuse_buf buf = {0};

	while (!fuse_session_exited(loop->session) && lead_take(&loop->lead))
		handle_requests(loop, &buf);
	free(buf.mem);
	pthread_kill(loop->main_thread, SIGNAL_ENDED);
	return NULL;
}

static unsigned thread_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = cores > 0 ? 2 * (unsigned)cores : THREADS_MIN;

	return count < THREADS_MIN ? THREADS_MIN : count > THREADS_MAX ? THREADS_MAX : count;
}

/* Has that many threads, or as many as there can be, and says how many. */
static unsigned have_threads(struct loop *loop, unsigned wanted)
{
	unsigned count;

	pthread_mutex_lock(&loop->counting);
	while (!loop->ends && loop->count < wanted + loop->waiting && loop->count < THREADS_LIMIT &&
	       pthread_create(&loop->threads[loop->count], NULL, worker, loop) == 0)
		loop->count++;
	count = loop->count;
	pthread_mutex_unlock(&loop->counting);
	return count;
}

void loop_wait_begin(struct fs *fs)
{
	struct loop *loop = fs->loop;

	pthread_mutex_lock(&loop->counting);
	loop->waiting++;
	pthread_mutex_unlock(&loop->counting);
	have_threads(loop, THREADS_FREE);
	lead_give(&loop->lead);
}

void loop_wait_end(struct fs *fs)
{
	struct loop *loop = fs->loop;

	pthread_mutex_lock(&loop->counting);
	loop->waiting--;
	pthread_mutex_unlock(&loop->counting);
}

int loop_sync(struct fs *fs)
{
	int rc;

	loop_wait_begin(fs);
	rc = wcs_store_sync(fs->store);
	loop_wait_end(fs);
	return rc;
}

static void end_threads(struct loop *loop)
{
	fuse_session_exit(loop->session);
	eventfd_write(loop->stop, 1);
	pthread_mutex_lock(&loop->counting);
	loop->ends = true;
	pthread_mutex_unlock(&loop->counting);
	lead_end(&loop->lead);
	for (unsigned i = 0; i < loop->count; i++)
		pthread_join(loop->threads[i], NULL);
}

/* Between poll and read a request may go, as when its sender is killed; read must not wait then. */
static int read_without_waiting(struct fuse_session *session)
{
	int fd = fuse_session_fd(session), flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : -errno;
}

static int loop_serve(struct fs *fs, struct loop *loop, void (*ending)(struct fs *fs))
{
	int rc = read_without_waiting(loop->session), signal;
	unsigned threads;
	sigset_t set;

	if (rc != 0)
		return rc;
	threads = have_threads(loop, thread_count());
	signals_of_end(&set);
	if (threads > 0)
		sigwait(&set, &signal);
	ending(fs);
	wcs_gc_end(fs->store); /* a request may wait for a pass */
	end_threads(loop);
	if (threads == 0)
		return -EAGAIN;
	return loop->error != 0 ? -EIO : 0;
}

static ssize_t receive(int fd, void *buf, size_t len, void *fs)
{
	(void)fs;
	return read(fd, buf, len);
}

/* Counted before it is sent: whoever gets the answer finds it counted. */
static ssize_t send_counted(int fd, struct iovec *iov, int count, void *userdata)
{
	const struct fs *fs = userdata;

	metrics_send(fs->metrics, iov, count);
	return writev(fd, iov, count);
}

/* All that libfuse sends passes here, from whatever thread. */
static int count_answers(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {.read = receive, .writev = send_counted};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

int loop_run(struct fs *fs, void (*ending)(struct fs *fs))
{
	struct loop loop = {
		.session = fs->session, .metrics = fs->metrics, .main_thread = pthread_self()};
	int rc = count_answers(fs->session);

	if (rc != 0)
		return rc;

	loop.stop = eventfd(0, EFD_CLOEXEC);
	if (loop.stop < 0)
		return -errno;
	loop.loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	lead_init(&loop.lead);
	pthread_mutex_init(&loop.counting, NULL);
	fs->loop = &loop;
	rc = loop_serve(fs, &loop, ending);
	fs->loop = NULL;
	pthread_mutex_destroy(&loop.counting);
	lead_destroy(&loop.lead);
	if (loop.loadavg >= 0)
		close(loop.loadavg);
	close(loop.stop);
	return rc;
}
