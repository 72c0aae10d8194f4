/* SPDX-License-Identifier: MIT */
/*
 * Renames that make a dentry in a locked directory wrong, or whose inode has had too many names to
 * stand for one more. The kernel holds the lock that the notice needs, so such a rename cannot wait
 * for it. The first time it answers ESTALE. The kernel then drops its locks, looks the path up
 * again, which waits for the notice, and retries. Until then the dentry gets timeout 0.
 */
#include "fs/cache/cache_private.h"
#include "lib/clock.h"

enum { FORGOTTEN_US = 10000000 };

/* Lock: the deferrals'. */
static void drop(struct fs *fs, struct deferred *deferred)
{
	cache_release(fs->caches, deferred->column);
	deferred->column = 0;
	fs->caches->deferrals.count--;
}

/* Also drops entries whose thread has not retried in time. Lock: the deferrals'. */
static struct deferred *find(struct fs *fs, pid_t thread, uint64_t column)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < DEFERRED_MAX; i++) {
		struct deferred *deferred = &fs->caches->deferrals.all[i];

		if (deferred->column != 0 &&
		    (deferred->since > now || now - deferred->since > FORGOTTEN_US))
			drop(fs, deferred);
		if (deferred->column == column && (column == 0 || deferred->thread == thread))
			return deferred;
	}
	return NULL;
}

bool cache_defer(struct fs *fs, pid_t thread, const struct pos *pos, bool renamed)
{
	struct cache_deferrals *deferrals = &fs->caches->deferrals;
	struct deferred *place = NULL;
	uint64_t column;

	if (!cache_is_kept(fs, pos, renamed ? NODE_HOPS_MAX : 0, &column))
		return false;
	pthread_mutex_lock(&deferrals->lock);
	if (!find(fs, thread, column))
		place = find(fs, 0, 0);
	if (place) {
		*place = (struct deferred){thread, column, clock_now()};
		deferrals->count++;
		cache_hold(fs->caches, column);
	}
	pthread_mutex_unlock(&deferrals->lock);
	if (place)
		cache_expire_pos(fs, pos, false, NOTICE_SOON);
	if (place && renamed)
		cache_renew(fs, pos);
	return place != NULL;
}

void cache_deferred_wait(struct fs *fs, pid_t thread)
{
	struct cache_deferrals *deferrals = &fs->caches->deferrals;
	bool found = false;

	if (deferrals->count == 0)
		return;
	pthread_mutex_lock(&deferrals->lock);
	for (size_t i = 0; i < DEFERRED_MAX; i++)
		found |= deferrals->all[i].column != 0 && deferrals->all[i].thread == thread;
	pthread_mutex_unlock(&deferrals->lock);
	if (found)
		notices_await(fs);
}

void cache_deferred_end(struct fs *fs, pid_t thread)
{
	struct cache_deferrals *deferrals = &fs->caches->deferrals;

	if (deferrals->count == 0)
		return;
	pthread_mutex_lock(&deferrals->lock);
	for (size_t i = 0; i < DEFERRED_MAX; i++)
		if (deferrals->all[i].column != 0 && deferrals->all[i].thread == thread)
			drop(fs, &deferrals->all[i]);
	pthread_mutex_unlock(&deferrals->lock);
}
