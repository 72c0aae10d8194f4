/* SPDX-License-Identifier: MIT */
/* The request loop: threads that read requests from the kernel and answer them. */
#ifndef FS_LOOP_H
#define FS_LOOP_H

#include "fs/fs.h"

/* Blocks the signals that end a mount, in this thread and in those that it makes, and ignores
 * SIGPIPE and SIGXFSZ. The main thread calls it before it makes the first thread. */
void loop_block_signals(void);

/*
 * Serves until the filesystem is unmounted or SIGTERM, SIGINT or SIGHUP comes. The main thread
 * calls it. ending is called once at the end, while requests are still served. 0; -EIO: the
 * connection to the kernel broke; -EAGAIN: no thread could be made; or another error, if it could
 * not begin.
 */
int loop_run(struct fs *fs, void (*ending)(struct fs *fs));

/* The number of this thread's request, which the kernel counts up. */
uint64_t loop_request(void);

/* The user of this thread's request; 0 in a thread outside of the loop; (uid_t)-1 in a RELEASE,
 * whose user the kernel does not name. */
uid_t loop_user(void);

/* May the request of this thread wait for the kernel? A RELEASE may not: no thread reads meanwhile.
 */
bool loop_can_wait(void);

/* Call before a long computation while others of its kind wait: another thread reads the next
 * request. */
void loop_share(struct fs *fs);

/* Around a long wait of a request, or a wait for the kernel, which may need other requests to be
 * served first. A thread outside of the loop may call them, too; the loop then makes a thread that
 * it would not need. */
void loop_wait_begin(struct fs *fs);
void loop_wait_end(struct fs *fs);

/* This thread's request has become a slow read: another thread reads requests in its place. False:
 * there are too many, so it must end. */
bool loop_read_slow(struct fs *fs);
/* Would it wait as a long read? */
bool loop_read_waits(struct fs *fs);
/* A slow read has become a long one, which calls this now and then: waits for a place among its
 * user's long reads (reads.h). `ends` is asked meanwhile. The thread has a low priority from now
 * on, if another one could be made in its place. 0; -EINTR: `ends` gave true; -EAGAIN: no memory.
 */
int loop_read_long(struct fs *fs, bool (*ends)(void));
/* A read that has to wait for another one of its file leaves its place to that one. */
void loop_read_leave(struct fs *fs);
/* The slow or long read is over. */
void loop_read_end(struct fs *fs);

/* Leaves this thread's request to a thread of low priority, in the queue of its user's long reads.
 * True: the caller only calls fuse_reply_none; the operation is called again. False: the caller
 * goes on. The request is queued behind fuse_reply_none, since libfuse gives an interrupt to the
 * first request that it knows of that number. */
bool loop_put_off(void);

/* wcs_store_sync between these two. Callers that wait for the medium together share the work. */
int loop_sync(struct fs *fs);

#endif
