/* SPDX-License-Identifier: MIT */
/*
 * What the passes over the key spaces share. A pass reads one iterator, so what it changes on its
 * way does not change what it sees. Nothing goes from the store before it is safe in the
 * quarantine: deletes gather in a batch, and before that is written the quarantine is synced.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <stdio.h>
#include <unistd.h>

#include "store/leveldb/formats/file.h"

enum { FSCK_KEY_SHOWN = 40 /* bytes */, FSCK_LOOKS = 1024 };

/* What is put in a place, and what holds it, in one batch. */
#define FSCK_BATCH (1u << 20)

bool ldb_fsck_may(struct ldb_fsck *f)
{
	return wcs_fsck_agreed(f->fsck, WCS_ASK_KEYS,
			       "Something is wrong in the store. Correct it? What has to go from "
			       "it is copied into the quarantine before.");
}

leveldb_iterator_t *ldb_fsck_iterate(struct ldb_fsck *f)
{
	return leveldb_create_iterator(f->db->db, f->read);
}

int ldb_fsck_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int err)
{
	char *text = NULL;

	leveldb_iter_get_error(iter, &text);
	leveldb_iter_destroy(iter);
	if (text && (!err || err == -EIO))
		err = wcs_fault_set(f->fsck->fault, ldb_db_errno(text), "%s", text);
	leveldb_free(text);
	return err;
}

int ldb_fsck_looked(struct ldb_fsck *f, const char *what)
{
	return ++f->looked % FSCK_LOOKS ? 0 : wcs_fsck_progress(f->fsck, what, f->looked, 0);
}

struct wcs_slice ldb_fsck_key(leveldb_iterator_t *iter)
{
	size_t len;
	const char *data = leveldb_iter_key(iter, &len);

	return (struct wcs_slice){data, len};
}

struct wcs_slice ldb_fsck_value(leveldb_iterator_t *iter)
{
	size_t len;
	const char *data = leveldb_iter_value(iter, &len);

	return (struct wcs_slice){data, len};
}

const char *ldb_fsck_key_place(struct ldb_fsck *f, struct wcs_slice key)
{
	size_t shown = key.len < FSCK_KEY_SHOWN ? key.len : FSCK_KEY_SHOWN;
	const unsigned char *data = key.data;
	size_t at = (size_t)snprintf(f->place, sizeof(f->place), "key ");

	for (size_t i = 0; i < shown; i++)
		at += (size_t)snprintf(f->place + at, sizeof(f->place) - at, "%02x", data[i]);
	if (shown < key.len)
		snprintf(f->place + at, sizeof(f->place) - at, "... (%zu bytes)", key.len);
	return f->place;
}

/* ---- Changes ----------------------------------------------------------------------------- */

int ldb_fsck_keep(struct ldb_fsck *f, const char *why, struct wcs_slice key, struct wcs_slice value)
{
	return wcs_quarantine_raw(f->fsck->quarantine, why, key, value);
}

int ldb_fsck_flush(struct ldb_fsck *f)
{
	int err;

	if (f->batched == 0)
		return 0;
	err = wcs_quarantine_sync(f->fsck->quarantine);
	if (err)
		return err;
	/* The next mount compacts these deletes too. */
	unlinkat(f->db->dir, LDB_FILE_DEAD, 0);
	err = ldb_commit(f->db, f->batch, true);
	leveldb_writebatch_clear(f->batch);
	f->batched = 0;
	return err ? wcs_fault_set(f->fsck->fault, err, "data: write: %s", strerror(-err)) : 0;
}

static int fsck_batched(struct ldb_fsck *f, size_t bytes)
{
	f->batched += bytes + 32;
	return f->batched < FSCK_BATCH ? 0 : ldb_fsck_flush(f);
}

int ldb_fsck_delete(struct ldb_fsck *f, struct wcs_slice key)
{
	leveldb_writebatch_delete(f->batch, key.data, key.len);
	return fsck_batched(f, key.len);
}

int ldb_fsck_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	leveldb_writebatch_put(f->batch, key.data, key.len, value.data, value.len);
	return fsck_batched(f, key.len + value.len);
}

int ldb_fsck_take(struct ldb_fsck *f, enum wcs_found kind, const char *what, const char *place,
		  struct wcs_slice key, struct wcs_slice value)
{
	bool may = ldb_fsck_may(f);
	int err = 0;

	if (may) {
		err = ldb_fsck_keep(f, what, key, value);
		if (!err)
			err = ldb_fsck_delete(f, key);
	}
	if (!err)
		wcs_fsck_found(f->fsck, kind, what, may ? LDB_FSCK_RAW : NULL, "%s", place);
	return err;
}

/* ---- Drops ------------------------------------------------------------------------------- */

static int fsck_drop(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	const char *place = ldb_fsck_key_place(f, key);
	struct ldb_drop drop;
	uint64_t id;

	if (!ldb_key_drop_decode(key.data, key.len, &id) ||
	    ldb_record_drop_decode(value.data, value.len, &drop))
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "the record of a drop is damaged", place,
				     key, value);
	if (!ldb_fsck_find(f, drop.table))
		return ldb_fsck_take(f, WCS_FOUND_LEFTOVER,
				     "a drop of rows of a table that is gone", place, key, value);
	f->unfinished = ldb_fsck_may(f);
	wcs_fsck_found(f->fsck, WCS_FOUND_LEFTOVER,
		       "a drop of rows was not finished; a mount finishes it",
		       f->unfinished ? "finished" : NULL, "table %s",
		       ldb_fsck_find(f, drop.table)->schema.name);
	return 0;
}

int ldb_fsck_drops(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(f);
	struct ldb_id_key first;
	int err = 0;

	ldb_key_drop(&first, 0);
	leveldb_iter_seek(iter, (const char *)first.data, 1);
	for (; !err && ldb_iter_in_space(iter, &first); leveldb_iter_next(iter)) {
		err = fsck_drop(f, ldb_fsck_key(iter), ldb_fsck_value(iter));
		if (!err)
			err = ldb_fsck_looked(f, "drops");
	}
	return ldb_fsck_end(f, iter, err);
}

/* ---- Keys of no key space ---------------------------------------------------------------- */

int ldb_fsck_others(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(f);
	int err = 0;

	leveldb_iter_seek_to_first(iter);
	while (!err && leveldb_iter_valid(iter)) {
		struct wcs_slice key = ldb_fsck_key(iter);
		char past;

		if (ldb_key_is_known(key.data, key.len)) {
			past = (char)(*(const char *)key.data + 1);
			leveldb_iter_seek(iter, &past, 1);
			continue;
		}
		err = ldb_fsck_take(f, WCS_FOUND_DAMAGE, "a key of no kind that there is",
				    ldb_fsck_key_place(f, key), key, ldb_fsck_value(iter));
		leveldb_iter_next(iter);
	}
	return ldb_fsck_end(f, iter, err);
}
