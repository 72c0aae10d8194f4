/* SPDX-License-Identifier: MIT */
/* The state of all rooms of a mount, and its metrics. */
#include <errno.h>

#include "fs/cache/cache.h"
#include "fs/cache/cache_clock.h"
#include "fs/control/control.h"
#include "fs/dir/dir_scan.h"
#include "fs/file/handle.h"
#include "fs/file/lock.h"
#include "fs/inode/memdir.h"
#include "fs/inode/node.h"
#include "fs/live/live.h"
#include "fs/report/errors.h"
#include "fs/serve/metrics.h"
#include "fs/value/draft.h"
#include "fs/write/retry.h"
#include "fs/write/writer.h"

/* The gauges of this moment: 0, or -ENOMEM. */
static int fs_measure(struct fs *fs, struct metrics_now *now)
{
	*now = (struct metrics_now){.version = ROWFS_VERSION,
				    .engine = wcs_store_engine(fs->store),
				    .fuse = fuse_pkgversion(),
				    .mounted = fs->mounted,
				    .inodes = nodes_count(fs->nodes),
				    .open_files = handles_count(fs->handles),
				    .write_sessions = writers_count(fs->writers),
				    .drafts = drafts_count(fs->drafts),
				    .memory_directories = memdirs_count(fs->memdirs),
				    .scans = dir_scans_count(fs->scans),
				    .errors = errors_count(fs->errors)};

	wcs_gc_status(fs->store, &now->gc);
	return wcs_store_stats(fs->store, &now->store) == 0 ? 0 : -ENOMEM;
}

bool fs_rooms_new(struct fs *fs, struct wcs_table *table)
{
	fs->nodes = nodes_new(table, writer_free);
	if (!fs->nodes)
		wcs_table_close(table);
	fs->memdirs = memdirs_new();
	fs->caches = caches_new();
	fs->clock = cache_clock_new();
	fs->notices = notices_new();
	fs->writers = writers_new(fs->caches);
	fs->retries = retries_new();
	fs->drafts = drafts_new();
	fs->handles = handles_new();
	fs->locks = locks_new(fs);
	fs->errors = errors_new();
	fs->metrics = metrics_new(fs_measure);
	fs->streams = streams_new();
	fs->texts = texts_new();
	fs->live = live_new(fs);
	fs->scans = dir_scans_new();
	return fs->nodes && fs->memdirs && fs->caches && fs->clock && fs->notices && fs->writers &&
	       fs->retries && fs->drafts && fs->handles && fs->locks && fs->errors && fs->metrics &&
	       fs->streams && fs->texts && fs->live && fs->scans;
}

void fs_rooms_free(struct fs *fs)
{
	fuse_session_destroy(fs->session);
	handles_free(fs, fs->handles);
	locks_free(fs->locks);
	notices_free(fs, fs->notices);
	nodes_free(fs->nodes);
	memdirs_free(fs->memdirs);
	writers_free(fs->writers);
	retries_free(fs->retries);
	drafts_free(fs->drafts);
	errors_free(fs->errors);
	metrics_free(fs->metrics);
	live_free(fs->live);
	streams_free(fs->streams);
	texts_free(fs->texts);
	dir_scans_free(fs->scans);
	cache_clock_free(fs->clock);
	caches_free(fs->caches);
}
