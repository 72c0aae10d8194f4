/* SPDX-License-Identifier: MIT */
/* When the request of a thread becomes a slow read, when a long one, and when it is to end. */
#include <errno.h>
#include <time.h>

#include "fs/mount/process.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"

/* The kernel tells of each signal, also of one that has a handler and ends nothing, and a program
 * may take EINTR for the end of a directory. Signals other than those of process_ends therefore end
 * only a request as long as this (ns). */
#define SLOW_PATIENCE CLOCK_SECOND

/* A request that has read for so long (ns) is slow: it may go on for minutes. */
#define SLOW_TIME (CLOCK_SECOND / 50)

/* The time of a user whose places for long reads are taken. Else forty processes that begin reads
 * again and again would take SLOW_TIME of a processor for each of them. */
#define SLOW_AGAIN (CLOCK_SECOND / 500)

/* A slow read that needs more than this of a processor (ns) is long. */
#define SLOW_LONG (CLOCK_SECOND / 200)

static _Thread_local fuse_req_t slow_interruptible;
static _Thread_local int64_t slow_began;
static _Thread_local int64_t slow_used; /* of a processor, when it became slow (ns) */
static _Thread_local bool slow_counted; /* loop_read_slow was called */
static _Thread_local bool slow_long;	/* and loop_read_long */
static _Thread_local int slow_ending;	/* the error with which it ends; 0: it goes on */

void fs_interruptible(fuse_req_t req)
{
	if (slow_counted)
		loop_read_end(fs_of(slow_interruptible));
	slow_counted = false;
	if (req)
		slow_ending = 0;
	slow_interruptible = req;
	slow_began = req ? clock_ns() : 0;
}

/* Is this thread's request to end? */
static bool slow_ends(void)
{
	fuse_req_t req = slow_interruptible;
	int64_t took = clock_ns() - slow_began;

	if (fuse_session_exited(fs_of(req)->session))
		return true;
	return took > SLOW_TIME && fuse_req_interrupted(req) &&
	       (took > SLOW_PATIENCE || process_ends(fuse_req_ctx(req)->pid));
}

static int64_t slow_processor(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

/* Counts the read if it has become slow. */
static void slow_begin(fuse_req_t req)
{
	int64_t took = clock_ns() - slow_began;

	if (took <= SLOW_AGAIN || (took <= SLOW_TIME && !loop_read_waits(fs_of(req))))
		return;
	slow_counted = loop_read_slow(fs_of(req));
	slow_long = false;
	slow_used = slow_processor();
	if (!slow_counted && took > SLOW_TIME)
		slow_ending = -EAGAIN;
}

bool fs_waits(void)
{
	fuse_req_t req = slow_interruptible;

	if (!req)
		return false;
	if (!slow_counted && slow_ending == 0 && fs_of(req)->loop)
		slow_begin(req);
	return slow_ending != 0 || slow_ends();
}

/* A slow read may only be waiting for a processor. It becomes long after SLOW_LONG of processor
 * time or SLOW_PATIENCE, or at once if its user's places are taken. */
static bool slow_is_long(struct fs *fs)
{
	return slow_long || slow_processor() - slow_used > SLOW_LONG ||
	       clock_ns() - slow_began > SLOW_PATIENCE || loop_read_waits(fs);
}

bool fs_interrupted(void)
{
	bool ends = fs_waits();

	if (ends || !slow_counted || !slow_is_long(fs_of(slow_interruptible)))
		return ends;
	slow_long = true;
	slow_ending = loop_read_long(fs_of(slow_interruptible), slow_ends);
	return slow_ending != 0;
}

bool fs_refused(void)
{
	return slow_ending == -EAGAIN;
}
