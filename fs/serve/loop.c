/* SPDX-License-Identifier: MIT */
/*
 * The request loop.
 *
 * The last close of a file commits, and the kernel does not wait for RELEASE. RELEASE is therefore
 * handled before the next request is read, and a process sees the commit of its own close. To know
 * the order, one thread at a time reads requests, the leader (lead.c); requests are handled side by
 * side.
 *
 * Most of a request's cost is waking the thread that reads it. The leader therefore polls for a
 * while before it sleeps: as long as requests come so soon that it would be woken again anyway, and
 * no other thread needs the processor.
 *
 * A request that waits for the kernel would hold up the requests that the kernel waits for, and one
 * that waits for the medium all others. The loop therefore makes threads until THREADS_FREE do not
 * wait. A thread whose request becomes a long read (reads.c) gets a low priority, so it serves only
 * such reads from then on, and another thread takes its place.
 *
 * The leader polls for a request and for `stop` at once, so the end of the loop reaches it without
 * a signal, which could interrupt other threads in a call of the store.
 *
 * A request for a nodeid that no node has is answered with ESTALE before libfuse sees it.
 */
#include "fs/serve/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/inode/node.h"
#include "fs/serve/lead.h"
#include "fs/serve/metrics.h"
#include "fs/serve/reads.h"
#include "lib/clock.h"

/* In nanoseconds. */
enum { SPIN_NS = 100000, SOON_NS = 200000, TAKEN_NS = 20000, LOOK_NS = 20000000 };
enum { SPINS_IN_VAIN = 4, SATURATED = 8 };
enum { THREADS_MIN = 4, THREADS_MAX = 16, THREADS_FREE = 2, THREADS_LIMIT = 256 };
enum { PLACES_MIN = 2, PLACES_MAX = 16 }; /* of each user's long reads */

/* Sent to the main thread, which waits for it with sigwait, when a thread of the loop ends. */
#define SIGNAL_ENDED SIGUSR1

enum thread_state { THREAD_NONE, THREAD_RUNS, THREAD_ENDED /* to be joined */ };

struct thread {
	struct loop *loop;
	pthread_t id;
	_Atomic enum thread_state state; /* may be read without the lock once no more are made */
};

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	pthread_t main_thread;
	struct lead lead;
	struct reads *reads;
	unsigned wanted;  /* threads that do not wait, from the start and after long reads */
	int error;	  /* of reading. The leader's, as those down to at_once */
	unsigned in_vain; /* polls without a request since one came soon */
	bool crowded;	  /* more threads want a processor than there are: no polls */
	int64_t looked;	  /* when that was found */
	int loadavg;	  /* /proc/loadavg; -1: it cannot be read */
	unsigned at_once; /* requests in a row that did not have to be waited for */
	int stop;	  /* an eventfd, readable when the loop is to end */
	pthread_mutex_t counting;
	struct thread threads[THREADS_LIMIT]; /* Lock: counting, as all below */
	unsigned count;			      /* of those that run */
	unsigned waiting; /* of these, for the kernel or the medium, or of low priority */
	bool ends;	  /* no more threads are made */
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

/* Does this thread handle a RELEASE, while no thread reads requests? */
static _Thread_local bool releases;
static _Thread_local uint64_t loop_unique;	      /* the number of this thread's request */
static _Thread_local uid_t loop_uid;		      /* its user */
static _Thread_local const struct fuse_buf *loop_buf; /* itself; NULL: it cannot be put off */
static _Thread_local bool loop_later;		      /* it is put off */
static _Thread_local unsigned loop_waits; /* calls of loop_wait_begin without their end */
static _Thread_local bool loop_low;	  /* this thread has a low priority, and waits for ever */

uint64_t loop_request(void)
{
	return loop_unique;
}

uid_t loop_user(void)
{
	return loop_uid;
}

bool loop_can_wait(void)
{
	return !releases;
}

/* Sleeps until a request comes. 1: there may be one; 0: the loop is to end; or an error. */
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

/* If more threads want a processor than there are, a leader that polls would take it from clients,
 * and would lose the scheduler's preference for a thread that was just woken. */
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

/* Polls for a request for SPIN_NS; ends early if another program takes the processor. */
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

/* Counts an answer before it is sent: the client that gets it finds it counted. */
static ssize_t send_counted(int fd, struct iovec *iov, int count, void *userdata)
{
	const struct fs *fs = userdata;

	metrics_send(fs->metrics, iov, count);
	return writev(fd, iov, count);
}

static struct fuse_in_header note_request(const void *request)
{
	struct fuse_in_header in;

	memcpy(&in, request, sizeof(in));
	loop_unique = in.unique;
	loop_uid = in.opcode == FUSE_RELEASE ? (uid_t)-1 : in.uid;
	return in;
}

/* Notes the request. Answers one for a nodeid that no node has. False: it is none. FORGET has no
 * answer. */
static bool refuse_stale(struct loop *loop, const void *request)
{
	struct fuse_in_header in = note_request(request);
	struct fuse_out_header out = {.len = sizeof(out), .error = -ESTALE};
	struct iovec iov = {&out, sizeof(out)};

	if (in.nodeid == 0 || in.opcode == FUSE_FORGET || nodes_at(loop->fs->nodes, in.nodeid))
		return false;
	out.unique = in.unique;
	send_counted(fuse_session_fd(loop->session), &iov, 1, loop->fs);
	return true;
}

/* Reads the next request, and handles it if it is a RELEASE, or stale. True: *buf has another
 * request. */
static bool next_request(struct loop *loop, struct fuse_buf *buf)
{
	int rc = fuse_session_receive_buf(loop->session, buf);

	loop->at_once = rc > 0 ? loop->at_once + 1 : 0;
	if (rc == -EAGAIN && loop->lead.cores > 1 && loop->in_vain < SPINS_IN_VAIN &&
	    !is_crowded(loop))
		rc = try_for_request(loop, buf);
	if (rc == -EAGAIN) {
		rc = await_request(loop);
		rc = rc > 0 ? fuse_session_receive_buf(loop->session, buf) : rc;
	}
	if (rc > 0) {
		uint32_t opcode = metrics_receive(loop->fs->metrics, buf->mem);
		bool stale = refuse_stale(loop, buf->mem);

		releases = !stale && opcode == FUSE_RELEASE;
		if (releases)
			fuse_session_process_buf(loop->session, buf);
		if (stale || releases)
			rc = 0;
		releases = false;
	}
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN) {
		loop->error = rc;
		fuse_session_exit(loop->session);
	}
	return rc > 0;
}

static void handle_put_off(void *ctx, void *request, size_t len)
{
	struct loop *loop = ctx;
	struct fuse_buf buf = {.mem = request, .size = len};

	note_request(request);
	fuse_session_process_buf(loop->session, &buf);
}

/* Serves long reads until the thread ends; another one joins it. */
static void serve_long(struct thread *thread, bool made)
{
	struct loop *loop = thread->loop;

	reads_serve(loop->reads, made, handle_put_off, loop);
	pthread_mutex_lock(&loop->counting);
	thread->state = THREAD_ENDED;
	loop->count--;
	loop->waiting--;
	pthread_mutex_unlock(&loop->counting);
}

static void *low_worker(void *arg)
{
	loop_low = true;
	serve_long(arg, true);
	return NULL;
}

/* Handles a request, or puts it off if its operation says so. */
static void handle(struct loop *loop, struct fuse_buf *buf)
{
	loop_buf = buf;
	loop_later = false;
	fuse_session_process_buf(loop->session, buf);
	loop_buf = NULL;
	if (loop_later && !reads_put_off(loop->reads, loop_uid, buf->mem, buf->size))
		fuse_session_process_buf(loop->session, buf);
}

static void *worker(void *arg)
{
	struct loop *loop = ((struct thread *)arg)->loop;
	struct fuse_buf buf = {0};

	while (!loop_low && !fuse_session_exited(loop->session) && lead_take(&loop->lead)) {
		bool leads = true;

		while (leads && !fuse_session_exited(loop->session)) {
			if (!next_request(loop, &buf))
				continue;
			lead_handle(&loop->lead, loop->at_once >= SATURATED);
			handle(loop, &buf);
			if (loop_low)
				lead_leave(&loop->lead);
			leads = !loop_low && lead_handled(&loop->lead);
		}
	}
	free(buf.mem);
	if (loop_low)
		serve_long(arg, false);
	else
		pthread_kill(loop->main_thread, SIGNAL_ENDED);
	return NULL;
}

/* False: no more can be made. Lock: counting. */
static bool make_thread(struct loop *loop, void *(*run)(void *))
{
	struct thread *thread = loop->threads;

	if (loop->ends || loop->count >= THREADS_LIMIT)
		return false;
	while (thread->state == THREAD_RUNS)
		thread++;
	if (thread->state == THREAD_ENDED)
		pthread_join(thread->id, NULL);
	thread->loop = loop;
	thread->state = THREAD_NONE;
	if (pthread_create(&thread->id, NULL, run, thread) != 0)
		return false;
	thread->state = THREAD_RUNS;
	loop->count++;
	return true;
}

/* Makes threads until `wanted` do not wait. False: no more can be made. A thread has the priority
 * of the one that made it, so one of low priority makes none. Lock: counting. */
static bool have_threads(struct loop *loop, unsigned wanted)
{
	while (!loop_low && loop->count < wanted + loop->waiting && make_thread(loop, worker))
		;
	return loop->count >= wanted + loop->waiting;
}

/* Makes a thread of low priority, as struct reads asks for. */
static bool make_low(void *ctx)
{
	struct loop *loop = ctx;
	bool made;

	pthread_mutex_lock(&loop->counting);
	made = make_thread(loop, low_worker);
	loop->waiting += made;
	pthread_mutex_unlock(&loop->counting);
	return made;
}

/* False: too few threads are left to other requests. */
static bool wait_begin(struct loop *loop)
{
	bool enough;

	if (loop_waits++ > 0 || loop_low)
		return true;
	pthread_mutex_lock(&loop->counting);
	loop->waiting++;
	enough = have_threads(loop, THREADS_FREE);
	pthread_mutex_unlock(&loop->counting);
	lead_give(&loop->lead);
	return enough;
}

void loop_wait_begin(struct fs *fs)
{
	wait_begin(fs->loop);
}

void loop_share(struct fs *fs)
{
	lead_give(&fs->loop->lead);
}

void loop_wait_end(struct fs *fs)
{
	struct loop *loop = fs->loop;

	if (--loop_waits > 0 || loop_low)
		return;
	pthread_mutex_lock(&loop->counting);
	loop->waiting--;
	pthread_mutex_unlock(&loop->counting);
}

bool loop_read_slow(struct fs *fs)
{
	if (!reads_count_in(fs->loop->reads, loop_uid))
		return false;
	if (wait_begin(fs->loop))
		return true;
	loop_wait_end(fs);
	reads_count_out(fs->loop->reads, loop_uid);
	return false;
}

bool loop_read_waits(struct fs *fs)
{
	return reads_full(fs->loop->reads, loop_uid);
}

int loop_read_long(struct fs *fs, bool (*ends)(void))
{
	struct loop *loop = fs->loop;

	if (reads_has_place())
		return reads_rest(loop->reads, ends);
	/* A thread that cannot be replaced keeps its priority, to serve other requests again. */
	pthread_mutex_lock(&loop->counting);
	loop_low = have_threads(loop, loop->wanted) || loop_low;
	pthread_mutex_unlock(&loop->counting);
	if (loop_low)
		reads_lower();
	return reads_begin(loop->reads, loop_uid, ends);
}

void loop_read_leave(struct fs *fs)
{
	reads_end(fs->loop->reads);
}

void loop_read_end(struct fs *fs)
{
	reads_end(fs->loop->reads);
	loop_wait_end(fs);
	reads_count_out(fs->loop->reads, loop_uid);
}

bool loop_put_off(void)
{
	loop_later = loop_buf && loop_buf->size <= READS_REQUEST_MAX;
	return loop_later;
}

int loop_sync(struct fs *fs)
{
	int rc;

	loop_wait_begin(fs);
	rc = wcs_store_sync(fs->store);
	loop_wait_end(fs);
	return rc;
}

static unsigned between(unsigned min, unsigned value, unsigned max)
{
	return value < min ? min : value > max ? max : value;
}

static int loop_serve(struct fs *fs, struct loop *loop, void (*ending)(struct fs *fs))
{
	unsigned threads;
	sigset_t set;
	int signal;

	loop->wanted = between(THREADS_MIN, 2 * loop->lead.cores, THREADS_MAX);
	pthread_mutex_lock(&loop->counting);
	have_threads(loop, loop->wanted);
	threads = loop->count;
	pthread_mutex_unlock(&loop->counting);
	signals_of_end(&set);
	if (threads > 0)
		sigwait(&set, &signal);
	ending(fs);
	wcs_gc_end(fs->store); /* a request may wait for a pass */
	fuse_session_exit(loop->session);
	eventfd_write(loop->stop, 1);
	pthread_mutex_lock(&loop->counting);
	loop->ends = true;
	pthread_mutex_unlock(&loop->counting);
	lead_end(&loop->lead);
	reads_stop(loop->reads);
	for (unsigned i = 0; i < THREADS_LIMIT; i++)
		if (loop->threads[i].state != THREAD_NONE)
			pthread_join(loop->threads[i].id, NULL);
	if (threads == 0)
		return -EAGAIN;
	return loop->error != 0 ? -EIO : 0;
}

static ssize_t receive(int fd, void *buf, size_t len, void *fs)
{
	(void)fs;
	return read(fd, buf, len);
}

int loop_run(struct fs *fs, void (*ending)(struct fs *fs))
{
	static const struct fuse_custom_io io = {.read = receive, .writev = send_counted};
	struct loop loop = {.fs = fs, .session = fs->session, .main_thread = pthread_self()};
	int fd = fuse_session_fd(fs->session), flags = fcntl(fd, F_GETFL);
	int rc = fuse_session_custom_io(fs->session, &io, fd);

	if (rc != 0)
		return rc;
	/* A request may go between poll and read, if its sender is killed; read must not wait. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	loop.stop = eventfd(0, EFD_CLOEXEC);
	if (loop.stop < 0)
		return -errno;
	loop.loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	lead_init(&loop.lead);
	pthread_mutex_init(&loop.counting, NULL);
	loop.reads =
		reads_new(fs, between(PLACES_MIN, loop.lead.cores, PLACES_MAX), make_low, &loop);
	fs->loop = &loop;
	rc = loop.reads ? loop_serve(fs, &loop, ending) : -ENOMEM;
	fs->loop = NULL;
	reads_free(loop.reads);
	pthread_mutex_destroy(&loop.counting);
	lead_destroy(&loop.lead);
	if (loop.loadavg >= 0)
		close(loop.loadavg);
	close(loop.stop);
	return rc;
}
