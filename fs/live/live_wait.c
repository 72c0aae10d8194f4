/* SPDX-License-Identifier: MIT */
/*
 * Requests that wait for a line. One thread answers these: it sleeps until a line comes, answers
 * the waiters that want it, and then lets WAIT_PAUSE pass, so that a busy feed wakes a reader once
 * for many lines. The thread begins with the first open.
 *
 * A request counts as waiting before it looks for lines a last time, and live_push counts its
 * wakes, so that no line comes unseen between that look and the queue.
 */
#include "fs/live/live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "fs/report/report.h"
#include "lib/system/threads.h"

#define WAIT_PAUSE 1000000 /* ns */

/* The kernel goes on reading behind a full answer to a large read, and waits there. One byte less
 * tells it that there is no more. */
#define WAIT_FULL 4096u

/* ---- Waiters ----------------------------------------------------------------------------- */

static void waiter_free(struct live_waiter *waiter)
{
	if (waiter->ph)
		fuse_pollhandle_destroy(waiter->ph);
	atomic_fetch_sub(&waiter->file->live->waits, 1);
	live_put(waiter->file);
	free(waiter);
}

/* Answers the READ, if there are bytes, an error or an end to answer with. */
static bool answer(struct live_file *file, fuse_req_t req, size_t size, uint64_t offset, bool ends)
{
	char *buf;
	size_t got = 0;
	int rc;

	if (!ends && !live_file_ready(file, offset))
		return false;
	size -= size >= WAIT_FULL;
	buf = malloc(size + 1); /* a READ may want none */
	rc = buf ? live_file_read(file, buf, size, offset, &got) : -ENOMEM;
	if (rc == 0 && got == 0 && !ends) {
		free(buf);
		return false;
	}
	if (rc == 0)
		fuse_reply_buf(req, buf, got);
	else
		fuse_reply_err(req, -report_unreadable(file->live->fs, file->node, NULL, rc));
	free(buf);
	return true;
}

/* Answers the waiter, if there is an answer. ended: the mount ends. */
static bool waiter_answer(struct live_waiter *waiter, bool ended)
{
	struct live_file *file = waiter->file;

	if (waiter->interrupted) {
		fuse_reply_err(waiter->req, EINTR);
		return true;
	}
	ended |= atomic_load(&file->ended);
	if (waiter->req)
		return answer(file, waiter->req, waiter->size, waiter->offset, ended);
	if (!ended && !live_file_ready(file, UINT64_MAX))
		return false;
	fuse_lowlevel_notify_poll(waiter->ph);
	return true;
}

/* Called on a signal to the requesting process. The thread answers the request. */
static void interrupted(fuse_req_t req, void *data)
{
	struct live *live = data;

	pthread_mutex_lock(&live->lock);
	for (struct live_waiter *waiter = live->waiting; waiter; waiter = waiter->next)
		waiter->interrupted |= waiter->req == req;
	live->woken = true;
	pthread_cond_signal(&live->wake);
	pthread_mutex_unlock(&live->lock);
}

/* Puts the waiter (back) into the queue. The signal of a request that came before this point found
 * no waiter. Lock: the live's. */
static void waiter_queue(struct live *live, struct live_waiter *waiter)
{
	waiter->interrupted = waiter->req && fuse_req_interrupted(waiter->req);
	waiter->next = live->waiting;
	live->waiting = waiter;
	live->woken |= waiter->interrupted;
}

/* Takes the waiters for a POLL of the file out of the queue, and returns them. Lock: the live's. */
static struct live_waiter *waiters_poll(struct live *live, const struct live_file *file)
{
	struct live_waiter **link = &live->waiting, *waiter, *taken = NULL;

	while ((waiter = *link) != NULL) {
		if (waiter->file != file || !waiter->ph) {
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		waiter->next = taken;
		taken = waiter;
	}
	return taken;
}

static void waiters_free(struct live_waiter *waiter)
{
	struct live_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter_free(waiter);
	}
}

static void waiters_answer(struct live *live, struct live_waiter *waiter, bool ended)
{
	struct live_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		if (waiter_answer(waiter, ended)) {
			waiter_free(waiter);
			continue;
		}
		pthread_mutex_lock(&live->lock);
		waiter_queue(live, waiter);
		pthread_mutex_unlock(&live->lock);
	}
}

static void *live_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = WAIT_PAUSE};
	struct live *live = arg;
	struct live_waiter *waiting;
	bool ended = false;

	while (!ended) {
		pthread_mutex_lock(&live->lock);
		while (!live->woken && !live->ended)
			pthread_cond_wait(&live->wake, &live->lock);
		live->woken = false;
		ended = live->ended;
		waiting = live->waiting;
		live->waiting = NULL;
		pthread_mutex_unlock(&live->lock);
		waiters_answer(live, waiting, ended);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* A request is about to look for lines, and may wait. Returns what live_wait needs. *ends: no
 * further lines come. */
static uint64_t live_look(struct live_file *file, bool *ends)
{
	struct live *live = file->live;
	uint64_t wakes;

	pthread_mutex_lock(&live->lock);
	atomic_fetch_add(&live->waits, 1);
	wakes = live->wakes;
	*ends = live->ended || atomic_load(&file->ended);
	pthread_mutex_unlock(&live->lock);
	return wakes;
}

/* The READ found no line, or it is a POLL: adds a copy of the waiter, and returns 0. 1: the feed
 * has ended; or -ENOMEM. */
static int live_wait(const struct live_waiter *request, uint64_t looked)
{
	struct live_file *file = request->file;
	struct live *live = file->live;
	struct live_waiter *waiter = malloc(sizeof(*waiter)), *old = NULL;
	bool ended;

	if (!waiter)
		return -ENOMEM;
	*waiter = *request;
	pthread_mutex_lock(&live->lock);
	ended = live->ended || file->ended;
	if (!ended) {
		file->users++;
		atomic_fetch_add(&live->waits, 1);
		if (waiter->ph)
			old = waiters_poll(live, file); /* the kernel wants the last one alone */
		waiter_queue(live, waiter);
		live->woken |= live->wakes != looked;
		if (live->woken)
			pthread_cond_signal(&live->wake);
	}
	pthread_mutex_unlock(&live->lock);
	waiters_free(old);
	if (ended)
		free(waiter);
	return ended;
}

void live_end(struct live *live)
{
	bool started;

	pthread_mutex_lock(&live->lock);
	started = live->started && !live->ended;
	live->ended = true;
	pthread_cond_signal(&live->wake);
	pthread_mutex_unlock(&live->lock);
	if (started)
		pthread_join(live->thread, NULL);
}

bool live_start(struct live *live)
{
	if (!live->started && !live->ended)
		live->started = threads_start(&live->thread, live_main, live);
	return live->started;
}

void live_forget(struct live_file *file)
{
	struct live_waiter *polls;

	pthread_mutex_lock(&file->live->lock);
	polls = waiters_poll(file->live, file);
	file->live->woken |= atomic_load(&file->live->waits) > 0; /* the thread may look at one */
	pthread_cond_signal(&file->live->wake);
	pthread_mutex_unlock(&file->live->lock);
	waiters_free(polls);
}

/* ---- Requests ---------------------------------------------------------------------------- */

void live_read(struct live_file *file, fuse_req_t req, size_t size, uint64_t offset,
	       const struct fuse_file_info *fi)
{
	const struct live_waiter request = {
		.file = file, .req = req, .size = size, .offset = offset};
	struct live *live = file->live;
	bool ends, waits = !(fi->flags & O_NONBLOCK);
	uint64_t looked = live_look(file, &ends);
	int rc = 0;

	ends = ends || atomic_load(&file->follows) || size == 0;
	if (!answer(file, req, size, offset, ends)) {
		if (waits)
			fuse_req_interrupt_func(req, interrupted, live);
		rc = waits ? live_wait(&request, looked) : -EAGAIN;
		if (rc < 0)
			fuse_reply_err(req, -rc);
		else if (rc > 0)
			fuse_reply_buf(req, NULL, 0);
	}
	atomic_fetch_sub(&live->waits, 1);
}

void live_poll(struct live_file *file, fuse_req_t req, struct fuse_pollhandle *ph)
{
	const struct live_waiter request = {.file = file, .ph = ph};
	struct live *live = file->live;
	bool ends;
	uint64_t looked = live_look(file, &ends);
	bool ready = ends || live_file_ready(file, UINT64_MAX);

	/* The handle waits also where there are lines: EPOLLET wants to hear of further ones. */
	if (ph && live_wait(&request, looked) != 0) {
		fuse_pollhandle_destroy(ph);
		ready = true;
	}
	fuse_reply_poll(req, ready ? POLLIN | POLLRDNORM : 0);
	atomic_fetch_sub(&live->waits, 1);
}
