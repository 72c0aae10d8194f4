/* SPDX-License-Identifier: MIT */
/*
 * Open live files, and the requests that wait for a line. One thread answers these: it sleeps until
 * a line comes, answers the waiters that want it, and then lets LIVE_PAUSE pass, so that a busy
 * feed wakes a reader once for many lines. The thread begins with the first open.
 *
 * A thread that adds a line wakes this one only while requests wait. A request counts as waiting
 * before it looks for lines a last time, so one of the two sees the other.
 */
#include "fs/live/live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/names/spell.h"
#include "fs/serve/metrics.h"
#include "fs/serve/report.h"
#include "lib/system/threads.h"

#define LIVE_PAUSE 1000000 /* ns */

/* The kernel goes on reading behind a full answer to a large read, and waits there. One byte less
 * tells it that there is no more. */
#define LIVE_FULL 4096u

struct live *live_new(struct fs *fs)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->fs = fs;
	live->watch = (struct wcs_watch){changes_told, live};
	pthread_mutex_init(&live->lock, NULL);
	pthread_cond_init(&live->wake, NULL);
	live->trace = ring_new(LIVE_RING_MAX);
	live->changes = ring_new(LIVE_RING_MAX);
	if (live->trace && live->changes)
		return live;
	live_free(live);
	return NULL;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	ring_free(live->trace);
	ring_free(live->changes);
	pthread_mutex_destroy(&live->lock);
	pthread_cond_destroy(&live->wake);
	free(live);
}

bool live_is(const struct node *node)
{
	return node->kind == NODE_CONTROL &&
	       (node->ts == CONTROL_TRACE || node->ts == CONTROL_CHANGES);
}

void live_push(struct live *live, struct ring *ring, const void *topic, bool subtree,
	       struct wcs_change *change)
{
	ring_push(ring, topic, subtree, change);
	if (atomic_load(&live->waits) == 0)
		return;
	pthread_mutex_lock(&live->lock);
	live->wakes++;
	if (!live->woken)
		pthread_cond_signal(&live->wake);
	live->woken = true;
	pthread_mutex_unlock(&live->lock);
}

/* ---- Waiters ----------------------------------------------------------------------------- */

/* Returns a reference to the file; the last one frees it. */
static void file_put(struct live_file *file)
{
	struct live *live = file->live;
	bool last;

	pthread_mutex_lock(&live->lock);
	last = --file->users == 0;
	pthread_mutex_unlock(&live->lock);
	if (!last)
		return;
	wcs_chain_free(file->chain);
	live_file_clear(file);
	free(file);
}

static void waiter_free(struct live_waiter *waiter)
{
	if (waiter->ph)
		fuse_pollhandle_destroy(waiter->ph);
	atomic_fetch_sub(&waiter->file->live->waits, 1);
	file_put(waiter->file);
	free(waiter);
}

/* Answers the READ, if there are bytes, an error or an end to answer with. */
static bool answer(struct live_file *file, fuse_req_t req, size_t size, uint64_t offset, bool ends)
{
	char *buf;
	size_t got = 0;
	int rc;

	size -= size >= LIVE_FULL;
	buf = malloc(size);
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
	if (!ended && !live_file_ready(file))
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
	const struct timespec pause = {.tv_nsec = LIVE_PAUSE};
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

/* A request is about to look for lines, and may wait. Returns what live_wait needs. */
static uint64_t live_look(struct live *live)
{
	uint64_t wakes;

	pthread_mutex_lock(&live->lock);
	atomic_fetch_add(&live->waits, 1);
	wakes = live->wakes;
	pthread_mutex_unlock(&live->lock);
	return wakes;
}

/* The request found no line: adds a copy of the waiter, and returns 0. 1: the feed has ended; or
 * -ENOMEM. */
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

/* ---- Requests ---------------------------------------------------------------------------- */

void live_read(struct live_file *file, fuse_req_t req, size_t size, uint64_t offset,
	       const struct fuse_file_info *fi)
{
	const struct live_waiter request = {
		.file = file, .req = req, .size = size, .offset = offset};
	struct live *live = file->live;
	bool follows = atomic_load(&file->follows), waits = !(fi->flags & O_NONBLOCK);
	uint64_t looked = live_look(live);
	int rc = 0;

	if (!answer(file, req, size, offset, follows || size == 0)) {
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
	uint64_t looked = live_look(live);
	bool ready = live_file_ready(file);

	if (!ready && ph) {
		ready = live_wait(&request, looked) != 0;
		ph = ready ? ph : NULL;
	}
	if (ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, ready ? POLLIN | POLLRDNORM : 0);
	atomic_fetch_sub(&live->waits, 1);
}

/* ---- Opens and closes -------------------------------------------------------------------- */

/* Is another file of the table open? Lock: the live's. */
static bool live_has_table(const struct live *live, const struct wcs_table *table)
{
	const struct live_file *file = live->files;

	while (file && file->table != table)
		file = file->next;
	return file;
}

void live_removed(struct fs *fs, const char *table)
{
	struct live *live = fs->live;

	pthread_mutex_lock(&live->lock);
	for (struct live_file *file = live->files; file; file = file->next)
		if (file->table && strcmp(wcs_table_name(file->table), table) == 0)
			atomic_store(&file->ended, true);
	live->woken = true;
	pthread_cond_signal(&live->wake);
	pthread_mutex_unlock(&live->lock);
}

/* Registers the file; its feed begins. */
static int live_join(struct live *live, struct live_file *file)
{
	int rc = 0;

	pthread_mutex_lock(&live->lock);
	if (live->file_count == LIVE_FILES_MAX)
		rc = -ENFILE;
	if (rc == 0 && !live->started && !live->ended)
		live->started = threads_start(&live->thread, live_main, live);
	if (rc == 0 && !live->started)
		rc = -EAGAIN;
	if (rc == 0) {
		ring_join(file->ring, &file->reader);
		if (file->table)
			wcs_table_watch(file->table, &live->watch);
		else
			metrics_note(live->fs->metrics, trace_received, live->fs);
		file->next = live->files;
		live->files = file;
		live->file_count++;
	}
	pthread_mutex_unlock(&live->lock);
	return rc;
}

int live_open(struct fs *fs, const struct node *node, struct fuse_file_info *fi,
	      struct live_file **opened)
{
	bool changes = node->ts == CONTROL_CHANGES;
	struct live_file *file;
	int rc;

	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		return report(fs, node, NULL, 0, -EPERM, "it can only be read");
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->live = fs->live;
	file->node = node;
	file->users = 1;
	file->ring = changes ? fs->live->changes : fs->live->trace;
	rc = live_file_init(file);
	if (rc == 0 && changes)
		rc = changes_open(fs, file);
	if (rc == 0)
		rc = live_join(fs->live, file);
	if (rc == -ENFILE)
		report(fs, node, NULL, 0, rc, "at most %d files of trace and changes can be open",
		       LIVE_FILES_MAX);
	if (rc != 0) {
		file_put(file);
		return rc;
	}
	fi->direct_io = 1;
	*opened = file;
	return 0;
}

void live_close(struct live_file *file)
{
	struct live *live = file->live;
	struct live_file **link = &live->files;
	struct live_waiter *polls;

	live_file_end(file);
	pthread_mutex_lock(&live->lock);
	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	live->file_count--;
	if (!live_has_table(live, file->table)) {
		if (file->table)
			wcs_table_watch(file->table, NULL);
		else
			metrics_note(live->fs->metrics, NULL, NULL);
	}
	polls = waiters_poll(live, file);
	pthread_mutex_unlock(&live->lock);
	waiters_free(polls);
	ring_leave(file->ring, &file->reader);
	file_put(file);
}
