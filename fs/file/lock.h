/* SPDX-License-Identifier: MIT */
/*
 * Locks between processes: those of flock(2), and of fcntl(2) with F_SETLK and F_OFD_SETLK. The
 * kernel keeps locks by inode, and a column has many of those, so all of its locks are kept here.
 * Its versions are locked with it, in both trees. Locks of directories stay in the kernel.
 *
 * Locks go with the column when it is renamed, and stay with the name when it is removed.
 *
 * Any thread may call these; the one lock of the table is never held while a request is answered.
 */
#ifndef FS_LOCK_H
#define FS_LOCK_H

#include "fs/fs.h"
#include "fs/names/spell.h"

enum { LOCKS_MAX = 65536 }; /* held and waited for, in a mount */

struct handle;
struct locks;
struct locks *locks_new(void); /* NULL: no memory */
void locks_free(struct locks *locks);

/* The mount ends: those who wait get ENOTCONN. No request is under way, and none comes. */
void locks_end(struct locks *locks);

/* Has anybody asked for an fcntl lock yet? Such locks go with any close by their process, of which
 * only FLUSH tells. */
bool locks_need_flush(const struct locks *locks);

/* A process closes a descriptor of that open file of the node: what owner has locked there with
 * fcntl goes. */
void locks_flush(struct locks *locks, const struct node *node, const struct handle *handle,
		 uint64_t owner);

/* The open file is closed: what was locked through it goes. */
void locks_close(struct locks *locks, struct handle *handle);

/* One name has become another, both of files. Where `to` is locked itself, locks stay where they
 * are. */
void locks_rename(struct locks *locks, const struct node *from_dir, const struct spelled *from,
		  const struct node *to_dir, const struct spelled *to);

#endif
