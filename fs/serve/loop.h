/* SPDX-License-Identifier: MIT */
/* The request loop: threads that read requests from the kernel and answer them. */
#ifndef FS_LOOP_H
#define FS_LOOP_H

#include "fs/fs.h"

/* Blocks the signals that end a mount in this thread and those that it makes, and ignores SIGPIPE;
 * the main thread calls it before it makes the first thread. */
void loop_block_signals(void);

/*
 * Serves until the filesystem is unmounted or SIGTERM, SIGINT or SIGHUP comes. 0, or -EIO where
 * the connection to the kernel broke, -EAGAIN where no thread could be made, or another error
 * where it could not begin. The main thread calls it. It calls ending, if any request was served,
 * when the mount is to end, while requests are still served.
 */
int loop_run(struct fs *fs, void (*ending)(struct fs *fs));

/* Does the thread handle a request that may wait for the kernel? Not a RELEASE. */
bool loop_can_wait(void);

/* Around what a request waits for long, or which the kernel answers only when others are served.
 * For threads of the loop; another may have it make a thread more than need be. */
void loop_wait_begin(struct fs *fs);
void loop_wait_end(struct fs *fs);

/* wcs_store_sync, in a thread of the loop: the medium is slow, and the more callers wait for it
 * together, the less each of them does. */
int loop_sync(struct fs *fs);

#endif
