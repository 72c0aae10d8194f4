/* SPDX-License-Identifier: MIT */
/* Drafts, in a table: there are few. */
#include "draft.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct draft {
	struct file_id id;
	struct value *value;
	int64_t ts;
	uint32_t etag; /* tells what it was from what it is; never 0 */
};

struct drafts {
	pthread_mutex_t lock;
	size_t count; /* Lock: lock, as all below */
	size_t reserved;
	size_t memory; /* bytes that the values take */
	uint32_t etag; /* given last */
	struct draft all[DRAFTS_MAX];
};

struct drafts *drafts_new(void)
{
	struct drafts *drafts = calloc(1, sizeof(*drafts));

	if (drafts)
		pthread_mutex_init(&drafts->lock, NULL);
	return drafts;
}

size_t drafts_count(struct drafts *drafts)
{
	size_t count;

	pthread_mutex_lock(&drafts->lock);
	count = drafts->count;
	pthread_mutex_unlock(&drafts->lock);
	return count;
}

void drafts_free(struct drafts *drafts)
{
	if (!drafts)
		return;
	for (size_t i = 0; i < drafts->count; i++)
		value_put(drafts->all[i].value);
	pthread_mutex_destroy(&drafts->lock);
	free(drafts);
}

/* Lock: the drafts'. */
static struct draft *find(struct drafts *drafts, struct file_id id)
{
	for (size_t i = 0; i < drafts->count; i++)
		if (drafts->all[i].id.file == id.file)
			return &drafts->all[i];
	return NULL;
}

/* Takes one out, and hands its reference over. Lock: the drafts'. */
static struct value *take(struct drafts *drafts, struct draft *draft)
{
	struct value *value = draft->value;

	drafts->memory -= value_memory(value);
	*draft = drafts->all[--drafts->count];
	return value;
}

/* Lock: the drafts'. */
static void renew(struct drafts *drafts, struct draft *draft, int64_t ts)
{
	if (++drafts->etag == 0)
		drafts->etag = 1;
	draft->etag = drafts->etag;
	draft->ts = ts;
}

int draft_get(struct fs *fs, struct file_id id, struct wcs_cell_info *info, struct value **value)
{
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, id);
	if (draft) {
		*info = (struct wcs_cell_info){draft->ts, value_size(draft->value), draft->etag,
					       WCS_TS_MAX};
		if (value)
			*value = value_get(draft->value);
	}
	pthread_mutex_unlock(&fs->drafts->lock);
	return draft ? 0 : -ENOENT;
}

int drafts_reserve(struct fs *fs)
{
	struct drafts *drafts = fs->drafts;
	int rc = -ENOSPC;

	pthread_mutex_lock(&drafts->lock);
	if (drafts->count + drafts->reserved < DRAFTS_MAX) {
		drafts->reserved++;
		rc = 0;
	}
	pthread_mutex_unlock(&drafts->lock);
	return rc;
}

void drafts_unreserve(struct fs *fs)
{
	pthread_mutex_lock(&fs->drafts->lock);
	fs->drafts->reserved--;
	pthread_mutex_unlock(&fs->drafts->lock);
}

/* A place for a new one. NULL: there is none. Lock: the drafts'. */
static struct draft *add(struct drafts *drafts, struct file_id id, bool reserved)
{
	struct draft *draft;

	if (!reserved && drafts->count + drafts->reserved >= DRAFTS_MAX)
		return NULL;
	draft = &drafts->all[drafts->count++];
	*draft = (struct draft){.id = id};
	return draft;
}

static int put(struct drafts *drafts, struct file_id id, struct value *value, int64_t ts,
	       const struct draft_before *before, bool reserved, struct value **old)
{
	struct draft *draft = find(drafts, id);

	if (!before->any && before->etag != (draft ? draft->etag : 0))
		return -EAGAIN;
	if (!draft)
		draft = add(drafts, id, reserved);
	if (!draft)
		return -ENOSPC;
	*old = draft->value;
	drafts->memory -= *old ? value_memory(*old) : 0;
	drafts->memory += value_memory(value);
	draft->value = value_get(value);
	renew(drafts, draft, ts);
	if (reserved)
		drafts->reserved--;
	return 0;
}

int draft_put(struct fs *fs, struct file_id id, struct value *value, int64_t ts,
	      const struct draft_before *before, bool reserved)
{
	struct drafts *drafts = fs->drafts;
	struct value *old = NULL;
	bool full;
	int rc = 0;

	pthread_mutex_lock(&drafts->lock);
	full = drafts->memory + value_memory(value) > DRAFTS_MEMORY;
	pthread_mutex_unlock(&drafts->lock);
	if (full)
		rc = value_unload(value, fs->store_path);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&drafts->lock);
	rc = put(drafts, id, value, ts, before, reserved, &old);
	pthread_mutex_unlock(&drafts->lock);
	value_put(old);
	return rc;
}

int draft_stamp(struct fs *fs, struct file_id id, int64_t ts)
{
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, id);
	if (draft)
		renew(fs->drafts, draft, ts);
	pthread_mutex_unlock(&fs->drafts->lock);
	return draft ? 0 : -ENOENT;
}

int draft_remove(struct fs *fs, struct file_id id)
{
	struct value *value = NULL;
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, id);
	if (draft)
		value = take(fs->drafts, draft);
	pthread_mutex_unlock(&fs->drafts->lock);
	value_put(value);
	return draft ? 0 : -ENOENT;
}

int draft_rename(struct fs *fs, struct file_id from, struct file_id to)
{
	struct value *old = NULL;
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, from);
	if (draft && from.file != to.file) {
		struct draft *other = find(fs->drafts, to);

		if (other)
			old = take(fs->drafts, other);
		find(fs->drafts, from)->id = to;
	}
	pthread_mutex_unlock(&fs->drafts->lock);
	value_put(old);
	return draft ? 0 : -ENOENT;
}

void drafts_remove_all(struct fs *fs, uint64_t column)
{
	struct drafts *drafts = fs->drafts;
	size_t i = 0;

	pthread_mutex_lock(&drafts->lock);
	while (i < drafts->count) {
		if (drafts->all[i].id.column == column)
			value_put(take(drafts, &drafts->all[i]));
		else
			i++;
	}
	pthread_mutex_unlock(&drafts->lock);
}
