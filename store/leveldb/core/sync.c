/* SPDX-License-Identifier: MIT */
/*
 * Makes writes durable.
 *
 * - LevelDB does not sync a log that it closes when it starts the next, so a power cut could keep
 *   LevelDB's own sync write and lose an earlier write. A sync here is of every log, and of the
 *   directory. It writes nothing: LevelDB keeps no acknowledged write in the process, and on a full
 *   disk a write would fail and make the store read-only although everything is safe.
 * - The logs are listed, or, in a directory with many tables, reported by inotify: a listing takes
 *   longer the more tables there are.
 * - One sync runs at a time. Callers that come meanwhile share the next one, which one of them
 *   runs: it begins after they came, so it includes their writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/file.h"

enum { SYNC_TRIES = 10, SYNC_EVENTS = 4096, SYNC_MANY = 500 /* files in the directory */ };

/* Values of notify: inotify is not in use yet; it is not available. */
enum { SYNC_UNWATCHED = -1, SYNC_UNWATCHABLE = -2 };

/* ---- The list of logs --------------------------------------------------------------------- */

/* Adds a log to the list. Another file is none. */
static int sync_note(struct ldb_sync *sync, const char *name)
{
	uint64_t number;

	if (ldb_file_parse(name, &number) != LDB_FILE_LOG)
		return 0;
	for (size_t i = 0; i < sync->count; i++)
		if (sync->logs[i] == number)
			return 0;
	if (sync->count == LDB_SYNC_LOGS)
		return -EOVERFLOW;
	sync->logs[sync->count++] = number;
	return 0;
}

/* Adds the logs made since. An event comes before the file's maker can write to it. */
static void sync_hear(struct ldb_sync *sync)
{
	char events[SYNC_EVENTS] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	ssize_t len;

	while ((len = read(sync->notify, events, sizeof(events))) > 0)
		for (const char *at = events; at < events + len;
		     at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(const void *)at;
			if (!(event->mask & IN_CREATE) || sync_note(sync, event->name) != 0)
				sync->known = false; /* as when events overflowed */
		}
	if (len == 0 || errno != EAGAIN)
		sync->known = false;
}

static int sync_list_name(void *ctx, int dir, const char *name)
{
	struct ldb_sync *sync = ctx;

	(void)dir;
	sync->names++;
	return sync_note(sync, name);
}

static int sync_list(struct ldb_sync *sync, int dir)
{
	sync->count = sync->names = 0;
	return directory_each(dir, sync_list_name, sync);
}

/* Lists the logs, and has inotify report later ones. inotify takes long to close, so a small
 * directory is listed each time. */
static int sync_look(struct ldb_sync *sync, int dir)
{
	int notify, rc = sync_list(sync, dir);
	char path[64];

	if (!rc && sync->notify == SYNC_UNWATCHED && sync->names >= SYNC_MANY) {
		sync->notify = SYNC_UNWATCHABLE;
		notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
		if (notify >= 0 && inotify_add_watch(notify, path, IN_CREATE | IN_ONLYDIR) >= 0) {
			sync->notify = notify;
			rc = sync_list(sync, dir); /* a log may have come before */
		} else if (notify >= 0) {
			close(notify);
		}
	}
	sync->known = !rc && sync->notify >= 0;
	return rc;
}

/* ---- Syncing them ------------------------------------------------------------------------ */

/* Syncs all logs, and forgets those that LevelDB deleted after their writes were in a synced
 * table. *lost: a sync failed, so the kernel may have dropped dirty pages. */
static int sync_logs(struct ldb_sync *sync, int dir, bool *lost)
{
	char name[LDB_FILE_NAME_MAX];
	int fd, rc = 0;

	if (sync->known)
		sync_hear(sync);
	if (!sync->known)
		rc = sync_look(sync, dir);
	for (size_t i = 0; i < sync->count && !rc;) {
		ldb_file_name(name, LDB_FILE_LOG, sync->logs[i]);
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT) {
			sync->logs[i] = sync->logs[--sync->count];
			continue;
		}
		if (fd < 0)
			return -errno;
		rc = fdatasync(fd) ? -errno : 0;
		*lost = rc != 0;
		close(fd);
		i++;
	}
	return rc;
}

/* There always is a log, though the only one known may just have been replaced; if there is none,
 * somebody removed it. Not called after a sync that failed: the kernel forgets the pages that it
 * could not write, and lets the next sync succeed. */
static int sync_run(struct ldb *db)
{
	struct ldb_sync *sync = &db->sync;
	bool lost = false;
	int rc = 0;

	if (ldb_db_failed(db))
		return -EROFS;
	for (int tries = 0; tries < SYNC_TRIES && !rc; tries++) {
		rc = sync_logs(sync, db->dir, &lost);
		if (sync->count > 0)
			break;
		sync->known = false;
	}
	if (!rc) {
		rc = sync->count == 0 ? -ENOENT : fsync(db->dir) ? -errno : 0;
		lost = rc != 0;
	}
	if (rc && !lost) { /* for example too many open files */
		ldb_db_log(db, WCS_LOG_ERROR, "sync: %s", strerror(-rc));
		return -EIO;
	}
	return rc ? ldb_db_fail(db, rc == -ENOSPC ? rc : -EIO, strerror(-rc)) : 0;
}

int ldb_sync_logs(void *engine)
{
	struct ldb *db = engine;
	struct ldb_sync *sync = &db->sync;
	uint64_t mine;
	int rc;

	if (ldb_db_failed(db))
		return -EROFS;
	pthread_mutex_lock(&sync->lock);
	mine = sync->begun + 1;
	while (sync->done < sync->begun && sync->done < mine)
		pthread_cond_wait(&sync->ended, &sync->lock);
	if (sync->done < mine) {
		sync->begun = mine;
		pthread_mutex_unlock(&sync->lock);
		rc = sync_run(db);
		pthread_mutex_lock(&sync->lock);
		sync->done = mine;
		sync->error = rc;
		pthread_cond_broadcast(&sync->ended);
	}
	/* The error is that of my sync, or of a later one, which includes as much, or failed
	 * because mine did. */
	rc = sync->error;
	pthread_mutex_unlock(&sync->lock);
	return rc;
}

void ldb_sync_init(struct ldb_sync *sync)
{
	sync->notify = SYNC_UNWATCHED;
	pthread_mutex_init(&sync->lock, NULL);
	pthread_cond_init(&sync->ended, NULL);
}

void ldb_sync_clear(struct ldb_sync *sync)
{
	if (sync->notify >= 0)
		close(sync->notify);
	pthread_cond_destroy(&sync->ended);
	pthread_mutex_destroy(&sync->lock);
}
