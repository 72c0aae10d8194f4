/* SPDX-License-Identifier: MIT */
/* The operations table, and the negotiation of INIT. */
#include "fs/fs.h"

#include <errno.h>
#include <time.h>

#include "fs/mount/process.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"

enum { BACKGROUND_MAX = 1024 }; /* background requests (read-ahead, RELEASE) under way at once */

/* The kernel tells of each signal, also of one that has a handler and ends nothing, and a program
 * may take EINTR for the end of a directory. Signals other than those of process_ends therefore end
 * only a request as long as this (ns). */
#define OPS_PATIENCE CLOCK_SECOND

/* A request that has read for so long (ns) is slow: it may go on for minutes. */
#define OPS_SLOW (CLOCK_SECOND / 50)

/* The time of a user whose places for long reads are taken. Else forty processes that begin reads
 * again and again would take OPS_SLOW of a processor for each of them. */
#define OPS_SLOW_AGAIN (CLOCK_SECOND / 500)

/* A slow read that needs more than this of a processor (ns) is long. */
#define OPS_LONG (CLOCK_SECOND / 200)

/*
 * ATOMIC_O_TRUNC: truncation is part of the write session that an open starts, not a version of its
 * own. The kernel sends RELEASE in the background. If it held RELEASEs back, a later request would
 * overtake the commit of a last close; hence BACKGROUND_MAX.
 */
static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	conn->want |= conn->capable & (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS |
				       FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO);
	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE);
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_MAX;
	conn->max_read = fs->options.max_read;
	conn->time_gran = 1000;
	if (fs->ready)
		fs->ready(fs);
}

static _Thread_local fuse_req_t ops_interruptible;
static _Thread_local int64_t ops_began;
static _Thread_local int64_t ops_used; /* of a processor, when it became slow (ns) */
static _Thread_local bool ops_slow;    /* loop_read_slow was called */
static _Thread_local bool ops_long;    /* and loop_read_long */
static _Thread_local int ops_ending;   /* the error with which it ends; 0: it goes on */

void fs_interruptible(fuse_req_t req)
{
	if (ops_slow)
		loop_read_end(fs_of(ops_interruptible));
	ops_slow = false;
	if (req)
		ops_ending = 0;
	ops_interruptible = req;
	ops_began = req ? clock_ns() : 0;
}

/* Is this thread's request to end? */
static bool ops_ends(void)
{
	fuse_req_t req = ops_interruptible;
	int64_t took = clock_ns() - ops_began;

	if (fuse_session_exited(fs_of(req)->session))
		return true;
	return took > OPS_SLOW && fuse_req_interrupted(req) &&
	       (took > OPS_PATIENCE || process_ends(fuse_req_ctx(req)->pid));
}

static int64_t ops_processor(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
}

/* Counts the read if it has become slow. */
static void ops_slow_down(fuse_req_t req)
{
	int64_t took = clock_ns() - ops_began;

	if (took <= OPS_SLOW_AGAIN || (took <= OPS_SLOW && !loop_read_waits(fs_of(req))))
		return;
	ops_slow = loop_read_slow(fs_of(req));
	ops_long = false;
	ops_used = ops_processor();
	if (!ops_slow && took > OPS_SLOW)
		ops_ending = -EAGAIN;
}

bool fs_waits(void)
{
	fuse_req_t req = ops_interruptible;

	if (!req)
		return false;
	if (!ops_slow && ops_ending == 0 && fs_of(req)->loop)
		ops_slow_down(req);
	return ops_ending != 0 || ops_ends();
}

/* A slow read may only be waiting for a processor. It becomes long after OPS_LONG of processor time
 * or OPS_PATIENCE, or at once if its user's places are taken. */
static bool ops_is_long(struct fs *fs)
{
	return ops_long || ops_processor() - ops_used > OPS_LONG ||
	       clock_ns() - ops_began > OPS_PATIENCE || loop_read_waits(fs);
}

bool fs_interrupted(void)
{
	bool ends = fs_waits();

	if (ends || !ops_slow || !ops_is_long(fs_of(ops_interruptible)))
		return ends;
	ops_long = true;
	ops_ending = loop_read_long(fs_of(ops_interruptible), ops_ends);
	return ops_ending != 0;
}

bool fs_refused(void)
{
	return ops_ending == -EAGAIN;
}

int64_t fs_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* An open directory is a handle, as an open file is. */
#define OPERATION(name) .name = fs_##name,
const struct fuse_lowlevel_ops fs_operations = {
	.init = ops_init, .releasedir = fs_release, .fsyncdir = fs_fsync, FS_OPERATIONS(OPERATION)};
