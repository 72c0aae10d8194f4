/* SPDX-License-Identifier: MIT */
/*
 * The scan of an open directory between two READDIRs. At most DIR_SCANS are kept, each for
 * DIR_SCAN_US from its opening, because a scan pins the engine's files of its moment. A listing
 * whose scan is gone resumes by key.
 */
#ifndef FS_DIR_SCAN_H
#define FS_DIR_SCAN_H

#include <pthread.h>

#include "fs/cache/cache.h"
#include "fs/names/children.h"

#define DIR_SCANS   64
#define DIR_SCAN_US 1000000

/* Starts zeroed but for the lock, which protects all of it but the last two. */
struct dir_scan {
	pthread_mutex_t *lock; /* the directory's */
	struct children_scan scan;
	off_t offset;		       /* at which it goes on */
	int64_t opened;		       /* microseconds of the steady clock */
	struct cache_mark mark;	       /* taken before it was opened */
	struct dir_scan *next, **link; /* link NULL: not kept. Lock: the list's */
};

struct dir_scans;
struct dir_scans *dir_scans_new(void); /* NULL: no memory */
void dir_scans_free(struct dir_scans *scans);
size_t dir_scans_count(struct dir_scans *scans);

/* Takes the kept scan. If it goes on at that offset and is not too old, it is open; else it is
 * closed, and its time and mark are of now. The caller holds the directory's lock. */
void dir_scan_take(struct fs *fs, struct dir_scan *scan, off_t offset);

/* Keeps an open scan, or closes it if too many are kept. Lock: as above. */
void dir_scan_keep(struct fs *fs, struct dir_scan *scan, off_t offset);

/* Closes those that are too old. Any thread that holds no lock. */
void dir_scans_expire(struct fs *fs);

#endif
