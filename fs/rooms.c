/* SPDX-License-Identifier: MIT */
/* The state of all rooms of a mount. */
#include "fs/cache/cache.h"
#include "fs/cache/cache_clock.h"
#include "fs/cache/notice.h"
#include "fs/control/control.h"
#include "fs/file/handle.h"
#include "fs/file/lock.h"
#include "fs/fs.h"
#include "fs/inode/memdir.h"
#include "fs/inode/node.h"
#include "fs/serve/errors.h"
#include "fs/serve/metrics.h"
#include "fs/value/draft.h"
#include "fs/write/retry.h"
#include "fs/write/writer.h"

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
	fs->locks = locks_new();
	fs->errors = errors_new();
	fs->metrics = metrics_new();
	fs->streams = streams_new();
	return fs->nodes && fs->memdirs && fs->caches && fs->clock && fs->notices && fs->writers &&
	       fs->retries && fs->drafts && fs->handles && fs->locks && fs->errors && fs->metrics &&
	       fs->streams;
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
	streams_free(fs->streams);
	cache_clock_free(fs->clock);
	caches_free(fs->caches);
}
