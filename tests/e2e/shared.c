/* SPDX-License-Identifier: MIT */
/*
 * shared MOUNTPOINT MOUNTPOINT: mounts one store twice, in one process: two handles on the engine
 * in memory, which tell the layers above that other clients change it. Each mount has a store,
 * caches and threads of its own. The engine does not answer for the row "late", and bars changes of
 * the row "barred". Ends when both are unmounted.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache_clock.h"
#include "fs/cache/notice.h"
#include "fs/dir/dir_scan.h"
#include "fs/file/lock.h"
#include "fs/serve/loop.h"
#include "lib/clock.h"
#include "tests/unit/memory_engine.h"

#define FRESH 1000000 /* microseconds */

static struct wcs_backend shared;

static bool is_row(struct wcs_slice row, const char *name)
{
	return row.len == strlen(name) && memcmp(row.data, name, row.len) == 0;
}

static int shared_scan(void *db, const struct wcs_view *view, uint32_t table,
		       const struct wcs_range *ranges, size_t range_count,
		       const struct wcs_filter *filter, struct wcs_scan **scan)
{
	if (is_row(ranges->start, "late"))
		return -ETIMEDOUT;
	return wcs_backend_memory.scan_open(db, view, table, ranges, range_count, filter, scan);
}

static int shared_change(void *db, uint32_t table, const struct wcs_edit *edits, size_t count,
			 struct wcs_rows **rows)
{
	if (is_row(edits->row, "barred"))
		return -EACCES;
	return wcs_backend_memory.rows_open(db, table, edits, count, rows);
}

static void end_notices(struct fs *fs)
{
	notices_end(fs);
	cache_clock_end(fs);
}

static void *serve(void *arg)
{
	struct fs *fs = arg;
	int rc = notices_start(fs);

	if (rc == 0)
		rc = cache_clock_start(fs, dir_scans_expire);
	if (rc == 0)
		rc = loop_run(fs, end_notices);
	locks_end(fs->locks);
	fuse_session_unmount(fs->session);
	return rc == 0 ? NULL : fs;
}

static int fail(const char *what)
{
	fprintf(stderr, "shared: %s failed\n", what);
	return EXIT_FAILURE;
}

static int start(struct fs *fs, const char *mountpoint, pthread_t *thread)
{
	struct wcs_options options = {.log = fs_log, .interrupted = fs_interrupted};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct wcs_table *table;

	*fs = (struct fs){.store_path = "/", .store_held = "/", .mounted = clock_now()};
	if (wcs_store_open_backend(&shared, "shared", &options, &fs->store, NULL) != 0)
		return fail("opening");
	if (wcs_table_open(fs->store, "t", &table) == 0)
		wcs_table_close(table);
	else if (wcs_table_create(fs->store, "t") != 0 ||
		 wcs_table_open(fs->store, "t", &table) != 0 || wcs_family_create(table, "f") != 0)
		return fail("making the table");
	else
		wcs_table_close(table);
	if (!fs_rooms_new(fs, NULL))
		return fail("memory");
	if (fuse_opt_add_arg(&args, "shared") == 0)
		fs->session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), fs);
	fuse_opt_free_args(&args);
	if (!fs->session || fuse_session_mount(fs->session, mountpoint) != 0)
		return fail("mounting");
	return pthread_create(thread, NULL, serve, fs) == 0 ? EXIT_SUCCESS : fail("a thread");
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;
	pthread_t threads[2];
	struct fs mounts[2];
	void *failed;

	if (argc != 3)
		return fail("reading the arguments");
	shared = wcs_backend_memory;
	shared.can = (struct wcs_capabilities){
		.shared = true, .fresh = FRESH, .collects = true, .reverse = true};
	shared.local = NULL;
	shared.scan_open = shared_scan;
	shared.rows_open = shared_change;
	loop_block_signals();
	for (int i = 0; i < 2; i++)
		if (start(&mounts[i], argv[i + 1], &threads[i]) != EXIT_SUCCESS)
			return EXIT_FAILURE;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		if (failed)
			status = fail("serving");
		fs_rooms_free(&mounts[i]);
		wcs_store_close(mounts[i].store);
	}
	return status;
}
