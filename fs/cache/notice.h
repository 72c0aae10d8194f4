/* SPDX-License-Identifier: MIT */
/*
 * Notices: messages to the kernel that invalidate a dentry. For one the kernel takes the
 * directory's lock, and so waits for requests in that directory; the handler of a request may
 * depend on further locks of the kernel. A thread of its own therefore sends notices without
 * holding a lock, and a request waits for that thread only for a limited time.
 *
 * Any thread that holds no lock of the inode table may call these functions.
 */
#ifndef FS_NOTICE_H
#define FS_NOTICE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct notices *notices_new(void); /* NULL: no memory */
/* The thread has ended. */
void notices_free(struct fs *fs, struct notices *notices);

/* Starts the thread; 0 or -EAGAIN. notices_end waits for the notice that is being sent, so requests
 * must still be served; afterwards none is sent, and no call waits. */
int notices_start(struct fs *fs);
void notices_end(struct fs *fs);

/* Notices that are sent together. */
struct notice_batch;

/* Adds a notice for the dentry `name` in dir, which leads or led to node, to *batch (NULL: a new
 * one). Takes a reference to both nodes. 0 or -ENOMEM. */
int notice_add(struct notice_batch **batch, struct node *dir, const char *name, struct node *node);

/* How to send them. */
enum notice_how {
	NOTICE_WAIT, /* return when the kernel has taken them; in a RELEASE as NOTICE_NOW */
	NOTICE_NOW,  /* mark their nodes NODE_S_STALE at once */
	NOTICE_SOON, /* neither */
};

/*
 * Sends the notices and frees the batch; NULL is none. If the kernel does not take a notice in
 * time, or the request cannot wait, its node becomes stale: the kernel asks for its attributes,
 * gets ESTALE, and looks the name up again.
 */
void notices_send(struct fs *fs, struct notice_batch *batch, enum notice_how how);

/* Has the kernel ask for the attributes of a node's inode anew; it discards a reply under way that
 * has older ones. The kernel takes no lock of a directory for this, so any request may call it. */
void notice_attributes(struct fs *fs, const struct node *node);

/* Waits until all queued notices are sent, with the same limit. */
void notices_await(struct fs *fs);

#endif
