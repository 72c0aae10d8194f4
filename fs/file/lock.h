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

/* Locks held and waited for in a mount: of all users, of all but root and the owner together, and
 * of each of these. */
enum { LOCKS_MAX = 65536, LOCKS_OTHERS = 49152, LOCKS_USER = 16384 };

struct handle;
struct locks;
struct locks *locks_new(const struct fs *fs); /* NULL: no memory */
void locks_free(struct locks *locks);

/* The mount ends: waiting requests get ENOTCONN. No request is under way or follows. */
void locks_end(struct locks *locks);

/* Has any process requested an fcntl lock yet? Any close by its owner releases such a lock, and
 * only FLUSH reports a close. */
bool locks_need_flush(const struct locks *locks);

/* A process closes a descriptor of the node's open file: releases the owner's fcntl locks of the
 * file. */
void locks_flush(struct locks *locks, const struct node *node, const struct handle *handle,
		 uint64_t owner);

/* The open file is closed: releases the locks taken through it. */
void locks_close(struct locks *locks, struct handle *handle);

/* A file was renamed: its locks move along, unless `to` has locks itself. */
void locks_rename(struct locks *locks, const struct node *from_dir, const struct spelled *from,
		  const struct node *to_dir, const struct spelled *to);

#endif
