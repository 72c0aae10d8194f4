/* SPDX-License-Identifier: MIT */
/*
 * Amounts of a limited thing, by user. Only users other than root and the owner have an entry,
 * while they hold something, so there are at most as many entries as takes under way.
 */
#include "fs/serve/share.h"

#include <stdlib.h>

struct share_user {
	struct share_user *next;
	uid_t user;
	uint64_t held; /* not 0 */
};

void share_init(struct share *share, struct share_limits limits)
{
	*share = (struct share){.limits = limits};
	pthread_mutex_init(&share->lock, NULL);
}

void share_destroy(struct share *share)
{
	struct share_user *next;

	for (struct share_user *user = share->users; user; user = next) {
		next = user->next;
		free(user);
	}
	pthread_mutex_destroy(&share->lock);
}

bool share_is_other(const struct fs *fs, uid_t user)
{
	return user != 0 && user != fs->options.uid && user != fs->mounter;
}

/* The link to the user's entry, or to NULL. Lock: the share's. */
static struct share_user **share_find(struct share *share, uid_t user)
{
	struct share_user **link = &share->users;

	while (*link && (*link)->user != user)
		link = &(*link)->next;
	return link;
}

/* Takes the amount from the limits of a user who is no owner. Lock: the share's. */
static bool share_take_other(struct share *share, uid_t user, uint64_t amount)
{
	struct share_user **link = share_find(share, user);
	uint64_t held = *link ? (*link)->held : 0;

	if (amount > share->limits.others - share->others ||
	    (held > 0 && (held > share->limits.user || amount > share->limits.user - held)))
		return false;
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			return false;
		(*link)->user = user;
	}
	(*link)->held += amount;
	share->others += amount;
	return true;
}

bool share_take(struct share *share, const struct fs *fs, uid_t user, uint64_t amount)
{
	bool fits;

	if (amount == 0)
		return true;
	pthread_mutex_lock(&share->lock);
	fits = amount <= share->limits.all - share->all &&
	       (!share_is_other(fs, user) || share_take_other(share, user, amount));
	if (fits)
		share->all += amount;
	pthread_mutex_unlock(&share->lock);
	return fits;
}

void share_give(struct share *share, uid_t user, uint64_t amount)
{
	struct share_user **link, *gone = NULL;

	pthread_mutex_lock(&share->lock);
	share->all -= amount;
	link = share_find(share, user);
	if (*link) {
		share->others -= amount;
		(*link)->held -= amount;
		if ((*link)->held == 0) {
			gone = *link;
			*link = gone->next;
		}
	}
	pthread_mutex_unlock(&share->lock);
	free(gone);
}
