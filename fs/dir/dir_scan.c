/* SPDX-License-Identifier: MIT */
/*
 * The list of kept scans. Who holds a directory's lock may take the list's; the expiry has the
 * list's first, so it only tries the directory's: a directory in use takes its scan itself.
 */
#include "fs/dir/dir_scan.h"

#include <stdlib.h>

#include "fs/cache/cache_clock.h"
#include "lib/clock.h"

struct dir_scans {
	pthread_mutex_t lock;
	struct dir_scan *first; /* Lock: lock, as count */
	_Atomic size_t count;	/* may be read without it */
};

struct dir_scans *dir_scans_new(void)
{
	struct dir_scans *scans = calloc(1, sizeof(*scans));

	if (scans)
		pthread_mutex_init(&scans->lock, NULL);
	return scans;
}

void dir_scans_free(struct dir_scans *scans)
{
	if (scans)
		pthread_mutex_destroy(&scans->lock);
	free(scans);
}

size_t dir_scans_count(struct dir_scans *scans)
{
	return scans->count;
}

static void unlist(struct dir_scans *scans, struct dir_scan *scan)
{
	*scan->link = scan->next;
	if (scan->next)
		scan->next->link = scan->link;
	scan->link = NULL;
	scans->count--;
}

static bool is_old(const struct dir_scan *scan)
{
	return clock_ns() / 1000 - scan->opened >= DIR_SCAN_US;
}

void dir_scan_take(struct fs *fs, struct dir_scan *scan, off_t offset)
{
	pthread_mutex_lock(&fs->scans->lock);
	if (scan->link)
		unlist(fs->scans, scan);
	pthread_mutex_unlock(&fs->scans->lock);
	if (children_scan_is_open(&scan->scan) && scan->offset == offset && !is_old(scan))
		return;
	children_scan_close(&scan->scan);
	scan->opened = clock_ns() / 1000;
	cache_mark(fs, &scan->mark);
}

void dir_scan_keep(struct fs *fs, struct dir_scan *scan, off_t offset)
{
	struct dir_scans *scans = fs->scans;

	pthread_mutex_lock(&scans->lock);
	if (scans->count < DIR_SCANS) {
		scan->offset = offset;
		scan->next = scans->first;
		scan->link = &scans->first;
		if (scan->next)
			scan->next->link = &scan->next;
		scans->first = scan;
		scans->count++;
	}
	pthread_mutex_unlock(&scans->lock);
	if (scan->link)
		cache_clock_keeps(fs->clock, DIR_SCAN_US / 1e6);
	else
		children_scan_close(&scan->scan);
}

void dir_scans_expire(struct fs *fs)
{
	struct dir_scan *scan, *next;

	pthread_mutex_lock(&fs->scans->lock);
	for (scan = fs->scans->first; scan; scan = next) {
		next = scan->next;
		if (pthread_mutex_trylock(scan->lock) != 0)
			continue;
		if (is_old(scan)) {
			unlist(fs->scans, scan);
			children_scan_close(&scan->scan);
		}
		pthread_mutex_unlock(scan->lock);
	}
	pthread_mutex_unlock(&fs->scans->lock);
}
