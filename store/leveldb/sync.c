/* SPDX-License-Identifier: MIT */
/*
 * Making what was written durable.
 *
 * - LevelDB does not sync a log that it closes when it starts the next, so a sync write of its own
 *   may outlive a power cut that an earlier write does not. A sync here is of every log there is,
 *   and of the directory. It writes nothing: LevelDB keeps no acknowledged write in the process,
 *   and on a full disk a write would fail and close the store to writing though all was safe.
 * - One sync runs at a time. Who comes meanwhile waits for the next, which one of them runs for
 *   all: it begins after they came, so it holds what they wrote.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

enum { SYNC_TRIES = 10 };

/* A log may be gone by now: LevelDB deletes it once a synced table holds what it held. */
static int sync_log(int dir, const char *name, bool *lost, unsigned int *logs)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = fdatasync(fd) ? -errno : 0;
	*lost = err != 0;
	(*logs)++;
	close(fd);
	return err;
}

/* All logs that the directory names; *logs: how many there were. */
static int sync_logs(int dir, bool *lost, unsigned int *logs)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!stream) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(stream))) {
		size_t len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".log") == 0)
			err = sync_log(dir, entry->d_name, lost, logs);
	}
	if (!err && errno)
		err = -errno;
	closedir(stream);
	return err;
}

/* *lost: a sync failed, so that the system may have dropped what it should have written. There
 * always is a log, though the only one that was listed may have just given way to another; where
 * there is none, somebody removed it. */
static int sync_files(int dir, bool *lost)
{
	unsigned int logs = 0;
	int err = 0;

	for (int tries = 0; !err && logs == 0 && tries < SYNC_TRIES; tries++)
		err = sync_logs(dir, lost, &logs);
	if (err)
		return err;
	if (logs == 0)
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
	err = sync_files(db->dir, &lost);
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
	pthread_mutex_init(&sync->lock, NULL);
	pthread_cond_init(&sync->ended, NULL);
}

void ldb_sync_clear(struct ldb_sync *sync)
{
	pthread_cond_destroy(&sync->ended);
	pthread_mutex_destroy(&sync->lock);
}
