/* SPDX-License-Identifier: MIT */
/*
 * A limited thing of a mount, such as open streams or bytes of texts, which users share.
 *
 * Root and the owner (the user that owns the shown files, and the mounter) have no limit but that
 * of all users together. The other users together leave a part to them, and each of the others
 * leaves a part to the rest. Amounts are counts or bytes.
 *
 * Any thread may call these, also with locks held: they wait for no other lock.
 */
#ifndef FS_SHARE_H
#define FS_SHARE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/fs.h"

struct share_limits {
	uint64_t all;	 /* of all users together */
	uint64_t others; /* of all users but root and the owner together */
	uint64_t user;	 /* of each of these; a user who holds nothing may exceed it in one take */
};

struct share_user;

struct share {
	struct share_limits limits;
	pthread_mutex_t lock;
	_Atomic uint64_t all;	  /* held now; changes under lock */
	uint64_t others;	  /* held by others. Lock: lock */
	struct share_user *users; /* others that hold something. Lock: lock */
};

void share_init(struct share *share, struct share_limits limits);
/* Nobody holds anything any more. */
void share_destroy(struct share *share);

/* Is the user neither root nor the owner? */
bool share_is_other(const struct fs *fs, uid_t user);

/* Takes the amount for the user. False: a limit is reached, or there is no memory. Of 0: true. */
bool share_take(struct share *share, const struct fs *fs, uid_t user, uint64_t amount);

/* Gives back an amount, or a part of one, that was taken for that user. */
void share_give(struct share *share, uid_t user, uint64_t amount);

/* The amount that all users hold. */
static inline uint64_t share_held(const struct share *share)
{
	return atomic_load_explicit(&share->all, memory_order_relaxed);
}

#endif
