/* SPDX-License-Identifier: MIT */
/* The operations table, and the negotiation of INIT. */
#include "fs/fs.h"

#include <time.h>

#include "fs/mount/process.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"

enum { BACKGROUND_MAX = 1024 }; /* background requests (read-ahead, RELEASE) under way at once */

/* The kernel tells of each signal, also of one that has a handler and ends nothing, and a program
 * may take EINTR for the end of a directory. Signals other than those of process_ends therefore end
 * only a request as long as this (ns). */
#define OPS_PATIENCE CLOCK_SECOND

/* A request that has read for so long (ns) may go on for minutes, so the loop gets another thread
 * in its place, or ends it. */
#define OPS_LONG (CLOCK_SECOND / 50)

/* A read of a stream outside of views takes less of a processor (ns). */
#define OPS_SHORT (CLOCK_SECOND / 200)

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
static _Thread_local bool ops_reads; /* loop_read_begin was called */
static _Thread_local bool ops_refused;
static _Thread_local int64_t
	ops_used; /* of a processor, when it was to be refused; 0: it was not */

void fs_interruptible(fuse_req_t req)
{
	if (ops_reads)
		loop_read_end(fs_of(ops_interruptible));
	ops_reads = false;
	if (req) {
		ops_refused = false;
		ops_used = 0;
	}
	ops_interruptible = req;
	ops_began = req ? clock_ns() : 0;
}

/* Ends a read that finds too many others. A short one only looks long if it waits for a processor,
 * so it may still use OPS_SHORT of one. */
static void ops_refuse(int64_t took)
{
	struct timespec now;
	int64_t used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	used = (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec;
	if (ops_used == 0)
		ops_used = used;
	ops_refused = used - ops_used > OPS_SHORT || took > OPS_PATIENCE;
}

bool fs_interrupted(void)
{
	fuse_req_t req = ops_interruptible;
	int64_t took;

	if (!req)
		return false;
	took = clock_ns() - ops_began;
	if (took > OPS_LONG && !ops_reads && fs_of(req)->loop) {
		ops_reads = loop_read_begin(fs_of(req));
		if (!ops_reads)
			ops_refuse(took);
	}
	if (ops_refused || fuse_session_exited(fs_of(req)->session))
		return true;
	return took > OPS_LONG && fuse_req_interrupted(req) &&
	       (took > OPS_PATIENCE || process_ends(fuse_req_ctx(req)->pid));
}

bool fs_refused(void)
{
	return ops_refused;
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
