/* SPDX-License-Identifier: MIT */
/*
 * Functions that the passes over the key spaces share. A pass reads one iterator, so it does not
 * see its own changes. Deletes are collected in a batch, and the quarantine is synced before the
 * batch is written: no key leaves the store before its copy is durable.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/formats/file.h"

enum { FSCK_KEY_SHOWN = 40 /* bytes */, FSCK_LOOKS = 1024 /* keys between reports */ };

#define FSCK_BATCH (1u << 20) /* bytes */

int ldb_fsck_each_name(struct ldb_fsck *f, int dir, const char *path,
		       int (*each)(void *ctx, int dir, const char *name))
{
	int rc;

	f->fsck->fault->text[0] = '\0';
	rc = directory_each(dir, each, f);
	if (rc && f->fsck->fault->text[0] == '\0')
		wcs_fault_set(f->fsck->fault, rc, "%s: %s", directory_name(path), strerror(-rc));
	return rc;
}

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

int ldb_fsck_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int rc)
{
	char *text = NULL;

	leveldb_iter_get_error(iter, &text);
	leveldb_iter_destroy(iter);
	if (text && (!rc || rc == -EIO))
		return ldb_db_tell(f->db, text, f->fsck->fault);
	leveldb_free(text);
	return rc;
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

int ldb_fsck_pass(struct ldb_fsck *f, char space, const char *what, ldb_fsck_each *each, void *ctx)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(f);
	int rc = 0;

	leveldb_iter_seek(iter, &space, 1);
	for (; !rc && leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		struct wcs_slice key = ldb_fsck_key(iter);

		if (*(const char *)key.data != space)
			break;
		rc = each(ctx, key, ldb_fsck_value(iter));
		if (!rc)
			rc = ldb_fsck_looked(f, what);
	}
	return ldb_fsck_end(f, iter, rc);
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

/* ---- Tables ------------------------------------------------------------------------------ */

static int fsck_compare_table(const void *id, const void *table)
{
	uint32_t a = *(const uint32_t *)id, b = ((const struct ldb_fsck_table *)table)->id;

	return (a > b) - (a < b);
}

const struct ldb_fsck_table *ldb_fsck_find(const struct ldb_fsck *f, uint32_t id)
{
	return f->tables ? bsearch(&id, f->tables, f->table_count, sizeof(*f->tables),
				   fsck_compare_table)
			 : NULL;
}

static int fsck_compare_family(const void *name, const void *family)
{
	return strcmp(name, ((const struct wcs_family *)family)->name);
}

const struct wcs_family *ldb_fsck_family(const struct ldb_fsck_table *table, const char *name)
{
	return bsearch(name, table->schema.families, table->schema.family_count,
		       sizeof(*table->schema.families), fsck_compare_family);
}

bool ldb_fsck_has_name(const struct ldb_fsck *f, const char *name)
{
	for (size_t i = 0; i < f->table_count; i++)
		if (strcmp(f->tables[i].schema.name, name) == 0)
			return true;
	return false;
}

void ldb_fsck_table_name(const struct ldb_fsck *f, uint32_t id, char name[WCS_TABLE_NAME_MAX + 1])
{
	const struct ldb_fsck_table *table = ldb_fsck_find(f, id);
	int len = table ? snprintf(name, WCS_TABLE_NAME_MAX + 1, "%s", table->schema.name)
			: snprintf(name, WCS_TABLE_NAME_MAX + 1, "lost-%" PRIu32, id);

	while (!table && ldb_fsck_has_name(f, name) && len < (int)WCS_TABLE_NAME_MAX) {
		name[len++] = '_';
		name[len] = '\0';
	}
}

/* ---- Changes ----------------------------------------------------------------------------- */

int ldb_fsck_flush(struct ldb_fsck *f)
{
	int rc;

	if (f->batched == 0)
		return 0;
	rc = wcs_quarantine_sync(f->fsck->quarantine);
	if (rc)
		return rc;
	/* Without this file the next mount compacts everything, these deletes as well. */
	unlinkat(f->db->dir, LDB_FILE_DEAD, 0);
	rc = ldb_commit(f->db, f->batch, true);
	leveldb_writebatch_clear(f->batch);
	f->batched = 0;
	return rc ? wcs_fault_set(f->fsck->fault, rc, "data: write: %s", strerror(-rc)) : 0;
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

int ldb_fsck_move(struct ldb_fsck *f, const char *why, struct wcs_slice key, struct wcs_slice value)
{
	int rc = wcs_quarantine_raw(f->fsck->quarantine, why, key, value);

	return rc ? rc : ldb_fsck_delete(f, key);
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
	int rc = may ? ldb_fsck_move(f, what, key, value) : 0;

	if (!rc)
		wcs_fsck_found(f->fsck, kind, what, may ? LDB_FSCK_RAW : NULL, "%s", place);
	return rc;
}

/* ---- Drops ------------------------------------------------------------------------------- */

static int fsck_drop(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck *f = ctx;
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
	return ldb_fsck_pass(f, 'x', "drops", fsck_drop, f);
}

/* ---- Keys of no key space ---------------------------------------------------------------- */

int ldb_fsck_others(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(f);
	int rc = 0;

	leveldb_iter_seek_to_first(iter);
	while (!rc && leveldb_iter_valid(iter)) {
		struct wcs_slice key = ldb_fsck_key(iter);
		char past;

		if (ldb_key_is_known(key.data, key.len)) {
			past = (char)(*(const char *)key.data + 1);
			leveldb_iter_seek(iter, &past, 1);
			continue;
		}
		rc = ldb_fsck_take(f, WCS_FOUND_DAMAGE, "a key of no kind that there is",
				   ldb_fsck_key_place(f, key), key, ldb_fsck_value(iter));
		leveldb_iter_next(iter);
	}
	return ldb_fsck_end(f, iter, rc);
}
