/* SPDX-License-Identifier: MIT */
/*
 * Entries of cells that their age will hide, when the clock is set: the kernel keeps them for as
 * long as was right by the clock before. A thread notices that the clock was set, or that the
 * machine slept, and sends the notices: at once where the system tells it, else within a second.
 */
#ifndef FS_CACHE_CLOCK_H
#define FS_CACHE_CLOCK_H

#include "fs/fs.h"

struct cache_clock;
struct cache_clock *cache_clock_new(void); /* NULL: no memory, or no file descriptor */
void cache_clock_free(struct cache_clock *clock);

/* Starts the thread, when the request loop runs; 0 or a negative errno, as -EAGAIN. The end comes
 * behind notices_end, and while the loop can still wait. */
int cache_clock_start(struct fs *fs);
void cache_clock_end(struct fs *fs);

/* An entry is about to be kept for so many seconds, by the clock as it is now. Any thread. */
void cache_clock_keeps(struct cache_clock *clock, double seconds);

#endif
