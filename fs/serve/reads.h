/* SPDX-License-Identifier: MIT */
/*
 * Slow and long reads: how many there are, which of them run, and which wait.
 *
 * A slow read has taken a while, perhaps since it waits; each of them takes a thread, so they are
 * limited. A long read computes. Each user has a number of places, and all users but root and the
 * owner together have twice as many. A long read needs one, and waits in the queue of its user
 * until one is free; the users take turns. Long reads run in threads of low priority, which serve
 * nothing else: a thread cannot raise its priority again. A read becomes long while a thread
 * handles it (reads_begin), or its request is put off before a thread handles it (reads_put_off).
 */
#ifndef FS_READS_H
#define FS_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "fs/fs.h"

struct reads;

/* Makes a thread of low priority, which calls reads_serve. False: none can be made. */
typedef bool reads_make(void *ctx);

/* places: of each user. NULL: no memory. */
struct reads *reads_new(struct fs *fs, unsigned places, reads_make *make, void *ctx);
/* No thread uses it any more. Requests that wait are dropped. */
void reads_free(struct reads *reads);
/* Ends reads_serve in all threads. */
void reads_stop(struct reads *reads);

/* A read has become slow: counts its thread. False: there are as many of that user, or of all, as
 * may be. Any thread. */
bool reads_count_in(struct reads *reads, uid_t user);
void reads_count_out(struct reads *reads, uid_t user);

/* Would a long read of that user wait? Any thread. */
bool reads_full(struct reads *reads, uid_t user);

/* Lowers this thread's priority, for ever. */
void reads_lower(void);

/* The slow read that this thread handles has become long: waits for a place. 0: reads_end gives it
 * back; -EINTR: `ends`, which is asked while it waits, gave true; -EAGAIN: no memory. */
int reads_begin(struct reads *reads, uid_t user, bool (*ends)(void));
/* A long read calls it now and then. Gives the place to the next in the queue and waits for another
 * one, if it has had it for a while. 0; or -EINTR, and there is no place to give back. */
int reads_rest(struct reads *reads, bool (*ends)(void));
/* Gives back the place of this thread, if it has one. */
void reads_end(struct reads *reads);
/* Has this thread a place? */
bool reads_has_place(void);

enum { READS_REQUEST_MAX = 128 };

/* Puts a request into the user's queue, for a thread of low priority. False: it must be handled at
 * once. len: at most READS_REQUEST_MAX bytes, which are copied. */
bool reads_put_off(struct reads *reads, uid_t user, const void *request, size_t len);

/* Handles a request that was put off. */
typedef void reads_handle(void *ctx, void *request, size_t len);

/* Lowers the thread's priority for ever, and handles requests that were put off, until the thread
 * is to end: reads_stop was called, or there was none for a while. made: the thread was made by
 * reads_make. */
void reads_serve(struct reads *reads, bool made, reads_handle *handle, void *ctx);

#endif
