/* SPDX-License-Identifier: MIT */
/*
 * Notices to the kernel that entries it keeps are not what they were. The kernel takes the lock of
 * the directory for one, so it waits for requests under way there; whoever handles a request may
 * hold others of the kernel's locks. So a thread of its own sends them, which holds no lock, and
 * who waits for it does so for a limited time.
 *
 * Any thread may call these, without a lock of the inode table.
 */
#ifndef FS_NOTICE_H
#define FS_NOTICE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct notices;
struct notices *notices_new(void); /* NULL: no memory */
/* The thread has ended. */
void notices_free(struct fs *fs, struct notices *notices);

/* Starts the thread; 0 or -EAGAIN. The end waits for the notice that is under way, so requests must
 * still be served; from then on none is sent, and nobody waits. */
int notices_start(struct fs *fs);
void notices_end(struct fs *fs);

/* Notices that are sent together. */
struct notice_batch;
struct notice_batch *notice_batch_new(void); /* NULL: no memory */

/* Adds one: that the entry `name` in the directory dir, which leads or led to node, is not to be
 * kept. Takes a reference to both. 0 or -ENOMEM. */
int notice_add(struct notice_batch *batch, struct node *dir, const char *name, struct node *node);

/* How to send them. */
enum notice_how {
	NOTICE_WAIT, /* return when the kernel has taken them; in a RELEASE the next */
	NOTICE_NOW,  /* withdraw what their nodes say at once */
	NOTICE_SOON, /* neither */
};

/*
 * Sends them and frees the batch; NULL is none. Where the kernel does not take one in time, or
 * nobody can wait, what its node says is withdrawn, so that the kernel asks, is told that it is
 * stale, and looks the name up again.
 */
void notices_send(struct fs *fs, struct notice_batch *batch, enum notice_how how);

/* Waits until all are sent, for as long. */
void notices_await(struct fs *fs);

#endif
