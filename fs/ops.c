/* SPDX-License-Identifier: MIT */
/* The operations table, and the negotiation of INIT. */
#include "fs/fs.h"

enum { BACKGROUND_MAX = 1024 }; /* background requests (read-ahead, RELEASE) under way at once */

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

/* An open directory is a handle, as an open file is. */
#define OPERATION(name) .name = fs_##name,
const struct fuse_lowlevel_ops fs_operations = {
	.init = ops_init, .releasedir = fs_release, .fsyncdir = fs_fsync, FS_OPERATIONS(OPERATION)};
