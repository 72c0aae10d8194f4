/* SPDX-License-Identifier: MIT */
/*
 * The clock watch. If the clock is set, or the machine slept, a dentry of a cell with an age limit
 * may outlive its cell, because its timeout was right by the clock before. A thread notices that,
 * at once if the system tells it, else within a second, and invalidates such dentries.
 */
#ifndef FS_CACHE_CLOCK_H
#define FS_CACHE_CLOCK_H

#include "fs/fs.h"

struct cache_clock *cache_clock_new(void); /* NULL: no memory, or no file descriptor */
void cache_clock_free(struct cache_clock *clock);

/* Starts the thread; 0 or -EAGAIN. End it after notices_end. The thread calls `each` (NULL: none)
 * at each look. */
int cache_clock_start(struct fs *fs, void (*each)(struct fs *fs));
void cache_clock_end(struct fs *fs);

/* A dentry is about to get that timeout, by the clock as it is now, or something else needs a look
 * within a second of that time. Any thread. */
void cache_clock_keeps(struct cache_clock *clock, double seconds);

#endif
