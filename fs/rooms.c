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

/* A new metric without labels is a row here. */
static int fs_measure(struct fs *fs, FILE *to)
{
	struct wcs_gc_status gc;
	struct wcs_stats store;

	wcs_gc_status(fs->store, &gc);
	if (wcs_store_stats(fs->store, &store) != 0)
		return -ENOMEM;

	const struct metric all[] = {
		{"rowfs_inodes", nodes_count(fs->nodes), "Inodes that the kernel holds."},
		{"rowfs_open_files", handles_count(fs->handles), "Open files and directories."},
		{"rowfs_write_sessions", writers_count(fs->writers),
		 "Files being written that make a version."},
		{"rowfs_drafts", drafts_count(fs->drafts), "Drafts in histories."},
		{"rowfs_memory_directories", memdirs_count(fs->memdirs),
		 "Empty directories that are kept in memory, and drafts, which keep theirs."},
		{"rowfs_listing_scans", dir_scans_count(fs->scans),
		 "Scans that open directories keep for their next READDIR."},
		{"rowfs_errors_total", errors_count(fs->errors),
		 "Refused requests with a reason in /.rowfs/errors."},
		{"rowfs_store_written_cells_total", store.cells_written,
		 "Cells written to the store."},
		{"rowfs_store_old_cells_total", store.cells_old,
		 "Cells written with timestamps before 1973 that may be seconds or milliseconds."},
		{"rowfs_store_deleted_cells_total", store.cells_deleted,
		 "Cells deleted from the store, also by drops."},
		{"rowfs_store_written_bytes_total", store.bytes_written,
		 "Bytes given to the engine, keys and its own records included."},
		{"rowfs_store_read_value_bytes_total", store.value_bytes_read,
		 "Bytes of values read from the store."},
		{"rowfs_store_reclaimed_values_total", store.values_reclaimed,
		 "Large values that were deleted and whose space was freed."},
		{"rowfs_store_compactions_total", store.compactions,
		 "Compactions of ranges that were emptied."},
		{"rowfs_rows_wrong_salt_total", store.rows_wrong_salt,
		 "Rows that reads met under keys without their salt; only .raw shows them."},
		{"rowfs_gc_passes_total", gc.passes,
		 "Passes of garbage collection that went through."},
		{"rowfs_gc_cells_total", gc.cells, "Cells that it deleted."},
		{"rowfs_gc_bytes_total", gc.bytes, "Their keys and values, bytes."},
		{"rowfs_gc_looked_cells_total", gc.looked, "Cells that it looked at."},
		{"rowfs_gc_families_in_grace", gc.left,
		 "Families whose hidden cells the last pass left alone."},
		{"rowfs_gc_running", gc.running, "1 while a pass is under way."},
		{"rowfs_gc_paused", gc.paused, "1 while passes are paused."},
		{"rowfs_store_pending_values", store.values_pending,
		 "Large values that were deleted and still take space."},
		{"rowfs_store_drops", store.drops, "Drops of rows under way."},
		{"rowfs_store_pending_compactions", store.compactions_pending,
		 "Emptied ranges that wait for compaction."},
		{"rowfs_store_pending_bytes", store.bytes_pending,
		 "Bytes that deletes left in files of the engine, about."},
		{"rowfs_store_cache_bytes", store.cache_bytes, "Room in the block cache."},
		{"rowfs_store_memory_bytes", store.memory_bytes,
		 "Memory that the engine has filled, the block cache included."},
		{"rowfs_store_read_only", store.failed,
		 "1 after a failed write: the store takes no more until it is mounted again."},
	};
	const struct metrics_now now = {.version = ROWFS_VERSION,
					.engine = wcs_store_engine(fs->store),
					.fuse = fuse_pkgversion(),
					.mounted = fs->mounted,
					.all = all,
					.count = sizeof(all) / sizeof(*all),
					.store = &store};

	metrics_print_now(&now, to);
	return 0;
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
