/* SPDX-License-Identifier: MIT */
/* Drafts, in an array: they are few. */
#include "fs/value/draft.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/names/pos.h"

struct draft {
	struct file_id id;
	struct node *dir; /* holds a reference */
	struct value *value;
	int64_t ts;
	uint32_t etag; /* differs after each change; never 0 */
	/* Its path among the directories in memory; empty: MEMDIRS_MAX was reached, so its
	 * directory may go before it. */
	struct memdir_path path;
};

struct drafts {
	pthread_mutex_t lock;
	_Atomic size_t count; /* Lock: lock, as all below; may be read without it */
	size_t reserved;
	_Atomic size_t memory; /* bytes that the values take; may be read without the lock */
	uint32_t etag;	       /* given last */
	struct draft all[DRAFTS_MAX];
};

struct drafts *drafts_new(void)
{
	struct drafts *drafts = calloc(1, sizeof(*drafts));

	if (drafts)
		pthread_mutex_init(&drafts->lock, NULL);
	return drafts;
}

size_t drafts_count(const struct drafts *drafts)
{
	return drafts->count;
}

void drafts_free(struct drafts *drafts)
{
	if (!drafts)
		return;
	for (size_t i = 0; i < drafts->count; i++) {
		value_put(drafts->all[i].value);
		memdir_path_clear(&drafts->all[i].path);
	}
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

/* Adds the path of a draft in dir to the directories in memory. Lock: the drafts'. */
static int hold(struct fs *fs, const struct node *dir, struct file_id id, struct memdir_path *path)
{
	struct wcs_slice bytes = {(const char *)&id.file, sizeof(id.file)};
	struct pos pos;
	int rc = pos_of(dir, &pos);

	*path = (struct memdir_path){0};
	if (rc == 0)
		rc = pos_memdir_path(&pos, path);
	if (rc == 0)
		rc = memdir_path_add(path, MEMDIR_DRAFT, bytes);
	if (rc == 0)
		rc = memdirs_add(fs->memdirs, path);
	if (rc != 0)
		memdir_path_clear(path);
	return rc == -ENOSPC ? 0 : rc;
}

/* Lock: the drafts'. */
static void let_go(struct fs *fs, struct memdir_path *path)
{
	if (path->len > 0)
		memdirs_remove(fs->memdirs, path);
	memdir_path_clear(path);
}

/* Removes one from the array; the caller releases it. Lock: the drafts'. */
static struct draft take(struct fs *fs, struct draft *draft)
{
	struct drafts *drafts = fs->drafts;
	struct draft taken = *draft;

	let_go(fs, &taken.path);
	drafts->memory -= value_memory(taken.value);
	*draft = drafts->all[--drafts->count];
	return taken;
}

/* Lock: none, since freeing a value may take long. */
static void release(struct fs *fs, struct draft *taken)
{
	value_put(taken->value);
	nodes_put(fs->nodes, taken->dir, 1);
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

/* Lock: the drafts'. */
static int put(struct fs *fs, struct node *dir, struct file_id id, struct value *value, int64_t ts,
	       const uint32_t *before, bool reserved, struct value **old)
{
	struct drafts *drafts = fs->drafts;
	struct draft *draft = find(drafts, id);
	struct memdir_path path;
	int rc;

	if (before && *before != (draft ? draft->etag : 0))
		return -EAGAIN;
	if (!draft) {
		if (!reserved && drafts->count + drafts->reserved >= DRAFTS_MAX)
			return -ENOSPC;
		rc = hold(fs, dir, id, &path);
		if (rc != 0)
			return rc;
		draft = &drafts->all[drafts->count++];
		*draft = (struct draft){.id = id, .dir = node_get(dir), .path = path};
	}
	*old = draft->value;
	drafts->memory -= *old ? value_memory(*old) : 0;
	drafts->memory += value_memory(value);
	draft->value = value_get(value);
	renew(drafts, draft, ts);
	if (reserved)
		drafts->reserved--;
	return 0;
}

int draft_put(struct fs *fs, struct node *dir, struct file_id id, struct value *value, int64_t ts,
	      const uint32_t *before, bool reserved)
{
	struct drafts *drafts = fs->drafts;
	struct value *old = NULL;
	int rc = 0;

	if (drafts->memory + value_memory(value) > DRAFTS_MEMORY)
		rc = value_unload(value, fs->store_held);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&drafts->lock);
	rc = put(fs, dir, id, value, ts, before, reserved, &old);
	pthread_mutex_unlock(&drafts->lock);
	value_put(old);
	return rc;
}

int draft_of_version(struct fs *fs, struct node *dir, struct file_id id, const struct pos *version,
		     int64_t ts)
{
	struct value *stored, *value = NULL;
	struct spool spool;
	int rc = value_open(version, &stored);

	if (rc != 0)
		return rc;
	spool_init(&spool);
	rc = value_copy(stored, fs->store_held, &spool);
	value_put(stored);
	if (rc == 0)
		value = value_new(&spool);
	spool_clear(&spool);
	if (rc == 0)
		rc = value ? draft_put(fs, dir, id, value, ts, NULL, false) : -ENOMEM;
	value_put(value);
	if (rc != 0)
		return rc;
	rc = pos_delete(version);
	if (rc != 0)
		draft_remove(fs, id);
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
	struct draft *draft, taken;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, id);
	if (draft)
		taken = take(fs, draft);
	pthread_mutex_unlock(&fs->drafts->lock);
	if (!draft)
		return -ENOENT;
	release(fs, &taken);
	return 0;
}

int draft_rename(struct fs *fs, struct file_id from, struct file_id to)
{
	struct draft *draft, *other, old;
	struct memdir_path path;
	int rc;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, from);
	other = find(fs->drafts, to);
	if (other)
		path = other->path;
	rc = !draft ? -ENOENT : other ? 0 : hold(fs, draft->dir, to, &path);
	if (rc == 0) {
		/* It takes over the path of a draft that it replaces. */
		if (other)
			other->path = draft->path;
		else
			let_go(fs, &draft->path);
		draft->path = path;
		draft->id = to;
		if (other)
			old = take(fs, other);
	}
	pthread_mutex_unlock(&fs->drafts->lock);
	if (rc == 0 && other)
		release(fs, &old);
	return rc;
}

void drafts_remove(struct fs *fs, uint64_t plain, const char *family)
{
	struct drafts *drafts = fs->drafts;
	struct draft taken;
	size_t i = 0;

	pthread_mutex_lock(&drafts->lock);
	while (i < drafts->count) {
		struct draft *draft = &drafts->all[i++];

		if (!node_is_below(draft->dir, plain) ||
		    (family && !node_is_in_family(draft->dir, family)))
			continue;
		taken = take(fs, draft);
		pthread_mutex_unlock(&drafts->lock);
		release(fs, &taken);
		pthread_mutex_lock(&drafts->lock);
		i = 0;
	}
	pthread_mutex_unlock(&drafts->lock);
}
