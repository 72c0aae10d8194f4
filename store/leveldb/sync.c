/* SPDX-License-Identifier: MIT */
/*
 * Making what was written durable.
 *
 * - LevelDB does not sync a log that it closes when it starts the next, so a sync write of its own
 *   may outlive a power cut that an earlier write does not. A sync here is of every log there is,
 *   and of the directory. It writes nothing: LevelDB keeps no acknowledged write in the process,
 *   and on a full disk a write would fail and close the store to writing though all was safe.
 * - Which logs there are is looked up, or, of a store with many tables, told by the system: to look
 *   through their directory would take longer the more there are.
 * - One sync runs at a time. Who comes meanwhile waits for the next, which one of them runs for
 *   all: it begins after they came, so it holds what they wrote.
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

/* Of notify, where it is no descriptor: nobody asked yet; it was asked for in vain. */
enum { SYNC_UNWATCHED = -1, SYNC_UNWATCHABLE = -2 };

/* ---- Which logs there are ---------------------------------------------------------------- */

static int sync_note(void *ctx, int dir, const char *name)
{
	struct ldb_sync *sync = ctx;
	uint64_t number;

	(void)dir;
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

static void sync_hear_event(struct ldb_sync *sync, const struct inotify_event *event)
{
	if (!(event->mask & IN_CREATE) || sync_note(sync, -1, event->name) != 0)
		sync->known = false; /* as when there were too many to keep */
}

/* What was made since. A file is told of before who makes it can write to it. */
static void sync_hear(struct ldb_sync *sync)
{
	char events[SYNC_EVENTS] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	ssize_t len;

	while ((len = read(sync->notify, events, sizeof(events))) > 0)
		for (const char *at = events; at < events + len;
		     at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)(const void *)at;
			sync_hear_event(sync, event);
		}
	if (len == 0 || errno != EAGAIN)
		sync->known = false;
}

static int sync_list_name(void *ctx, int dir, const char *name)
{
	struct ldb_sync *sync = ctx;

	sync->names++;
	return sync_note(sync, dir, name);
}

static int sync_list(struct ldb_sync *sync, int dir)
{
	sync->count = sync->names = 0;
	return directory_each(dir, sync_list_name, sync);
}

static bool sync_watch(struct ldb_sync *sync, int dir)
{
	int notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[64];

	sync->notify = SYNC_UNWATCHABLE;
	if (notify < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (inotify_add_watch(notify, path, IN_CREATE | IN_ONLYDIR) >= 0)
		sync->notify = notify;
	else
		close(notify);
	return sync->notify >= 0;
}

/* To stop watching takes a while: a directory that is soon looked through is not watched. */
static int sync_look(struct ldb_sync *sync, int dir)
{
	int err = sync_list(sync, dir);

	if (!err && sync->notify == SYNC_UNWATCHED && sync->names >= SYNC_MANY &&
	    sync_watch(sync, dir))
		err = sync_list(sync, dir); /* one may have been made before */
	sync->known = !err && sync->notify >= 0;
	return err;
}

/* ---- Syncing them ------------------------------------------------------------------------ */

/* -ENOENT: it is gone, since LevelDB deletes it once a synced table holds what it held. */
static int sync_log(int dir, uint64_t number, bool *lost)
{
	char name[LDB_FILE_NAME_MAX];
	int fd, err;

	ldb_file_name(name, LDB_FILE_LOG, number);
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fdatasync(fd) ? -errno : 0;
	*lost = err != 0;
	close(fd);
	return err;
}

/* All logs. Those that are gone are forgotten. */
static int sync_logs(struct ldb_sync *sync, int dir, bool *lost)
{
	int err = 0;

	if (sync->known)
		sync_hear(sync);
	if (!sync->known)
		err = sync_look(sync, dir);
	for (size_t i = 0; i < sync->count && !err;) {
		err = sync_log(dir, sync->logs[i], lost);
		if (err == -ENOENT) {
			sync->logs[i] = sync->logs[--sync->count];
			err = 0;
		} else {
			i++;
		}
	}
	return err;
}

/* *lost: a sync failed, so that the system may have dropped what it should have written. There
 * always is a log, though the only one that was known may have just given way to another; where
 * there is none, somebody removed it. */
static int sync_files(struct ldb_sync *sync, int dir, bool *lost)
{
	int err = 0;

	for (int tries = 0; tries < SYNC_TRIES && !err; tries++) {
		err = sync_logs(sync, dir, lost);
		if (sync->count > 0)
			break;
		sync->known = false;
	}
	if (err)
		return err;
	if (sync->count == 0)
		err = -ENOENT;
	else if (fsync(dir))
		err = -errno;
	*lost = err != 0;
	return err;
}

/* Syncs what is there now. Not behind a sync that failed: the system forgets what it could not
 * write, and lets the next one succeed. */
static int sync_run(struct ldb *db)
{
	bool lost = false;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	err = sync_files(&db->sync, db->dir, &lost);
	if (!err)
		return 0;
	if (!lost) { /* as when there are too many open files */
		ldb_db_log(db, WCS_LOG_ERROR, "sync: %s", strerror(-err));
		return -EIO;
	}
	return ldb_db_fail(db, err == -ENOSPC ? err : -EIO, strerror(-err));
}

int ldb_sync_logs(struct ldb *db)
{
	struct ldb_sync *sync = &db->sync;
	uint64_t mine;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	pthread_mutex_lock(&sync->lock);
	mine = sync->begun + 1;
	while (sync->done < sync->begun && sync->done < mine)
		pthread_cond_wait(&sync->ended, &sync->lock);
	if (sync->done < mine) {
		sync->begun = mine;
		pthread_mutex_unlock(&sync->lock);
		err = sync_run(db);
		pthread_mutex_lock(&sync->lock);
		sync->done = mine;
		sync->error = err;
		pthread_cond_broadcast(&sync->ended);
	}
	/* Of mine, or of one that began later and so holds as much, or failed because mine did. */
	err = sync->error;
	pthread_mutex_unlock(&sync->lock);
	return err;
}

int ldb_sync_store(void *engine)
{
	return ldb_sync_logs(engine);
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
