/* SPDX-License-Identifier: MIT */
/*
 * The check's temporary directory, in $TMPDIR, else /var/tmp, and a database in it. Of two kinds of
 * entries a byte at the begin of the key tells which:
 *
 *   'l' esc(key) 00 01 ~tag(8) -> value      an entry of a log or table: those of a key stand one
 *                                            behind the other, the newest first; esc writes the
 *                                            byte 00 as 00 FF
 *   'r', 's' value-id(8) -> count(4) gone(1) the extents that a value may have; 's' in a repair
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"

enum { SCRATCH_TAG = 8, SCRATCH_END = 2 + SCRATCH_TAG };

int ldb_fsck_scratch_open(struct ldb_fsck *f)
{
	const char *below = getenv("TMPDIR");
	char *path;
	int rc;

	if (!below || *below != '/')
		below = "/var/tmp";
	if (asprintf(&f->scratch, "%s/fsck.rowfs.XXXXXX", below) < 0) {
		f->scratch = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(f->scratch)) {
		int error = errno;

		free(f->scratch);
		f->scratch = NULL;
		return wcs_fault_set(f->fsck->fault, directory_error(error), "%s: %s",
				     directory_name(below), strerror(error));
	}
	if (asprintf(&path, "%s/sort", f->scratch) < 0)
		return -ENOMEM;
	rc = ldb_engine_open_raw(path, true, &f->options, &f->sort, f->fsck->fault);
	free(path);
	return rc;
}

void ldb_fsck_scratch_close(struct ldb_fsck *f)
{
	ldb_engine_close_raw(f->sort);
	if (f->scratch)
		directory_remove(AT_FDCWD, f->scratch);
	free(f->scratch);
}

/* ---- Entries ----------------------------------------------------------------------------- */

int ldb_fsck_scratch_add(void *ctx, uint64_t tag, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck *f = ctx;
	const unsigned char *from = key.data;
	struct ldb_buffer *to = &f->key;

	if (ldb_buffer_room(to, 1 + 2 * key.len + SCRATCH_END))
		return -ENOMEM;
	to->data[0] = 'l';
	to->len = 1;
	for (size_t i = 0; i < key.len; i++) {
		to->data[to->len++] = from[i];
		if (from[i] == 0)
			to->data[to->len++] = 0xff;
	}
	to->data[to->len++] = 0;
	to->data[to->len++] = 1;
	put_be64(to->data + to->len, ~tag);
	to->len += SCRATCH_TAG;
	return ldb_fsck_put(f, ldb_buffer_slice(to), value);
}

int ldb_fsck_scratch_lost(void *ctx, uint64_t tag, struct wcs_slice key, struct wcs_slice value)
{
	return ldb_fsck_is_lost(ctx, key) ? ldb_fsck_scratch_add(ctx, tag, key, value) : 0;
}

int ldb_fsck_scratch_pass(void *ctx, uint64_t tag, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck *f = ctx;
	bool again = f->tag != 0 && wcs_slice_compare(ldb_buffer_slice(&f->key), key) == 0;

	if (again && tag < f->tag) /* an older one behind it in its level */
		return 0;
	f->tag = tag;
	if (!again && ldb_buffer_set(&f->key, key))
		return -ENOMEM;
	return (tag & 0xff) == 0 ? ldb_fsck_delete(f, key) : ldb_fsck_put(f, key, value);
}

/* Writes an entry of that key, without its tag, to the new database. */
static int scratch_put(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	const unsigned char *from = key.data;

	if (ldb_buffer_room(&f->key, key.len))
		return -ENOMEM;
	f->key.len = 0;
	for (size_t at = 1; at < key.len - 2; at += from[at] == 0 ? 2 : 1)
		f->key.data[f->key.len++] = from[at];
	return ldb_fsck_put(f, ldb_buffer_slice(&f->key), value);
}

int ldb_fsck_scratch_copy(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_db_iterate(f->sort);
	struct ldb_buffer last = {0};
	int rc = 0;

	leveldb_iter_seek(iter, "l", 1);
	for (; !rc && leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		struct wcs_slice key, value;
		bool deleted;

		key.data = ldb_iter_key(iter, &key.len);
		if (*(const char *)key.data != 'l')
			break;
		deleted = ((const unsigned char *)key.data)[key.len - 1] == 0xff;
		key.len -= SCRATCH_TAG;
		if (wcs_slice_compare(key, ldb_buffer_slice(&last)) == 0)
			continue;
		rc = ldb_buffer_set(&last, key);
		value.data = leveldb_iter_value(iter, &value.len);
		if (!rc && !deleted)
			rc = scratch_put(f, key, value);
		if (!rc)
			rc = ldb_fsck_looked(f, "copied keys");
	}
	free(last.data);
	rc = ldb_db_iter_end(f->sort, iter, rc);
	return rc ? rc : ldb_fsck_flush(f);
}

/* ---- Claims ------------------------------------------------------------------------------ */

static void scratch_key(const struct ldb_fsck *f, char key[9], uint64_t id)
{
	key[0] = f->repairs ? 's' : 'r';
	put_be64((unsigned char *)key + 1, id);
}

int ldb_fsck_claim(struct ldb_fsck *f, uint64_t id, const struct ldb_fsck_claim *claim)
{
	unsigned char record[5];
	char key[9], *text = NULL;

	scratch_key(f, key, id);
	put_be32(record, claim->count);
	record[4] = claim->gone;
	leveldb_put(f->sort->db, f->sort->write, key, sizeof(key), (char *)record, sizeof(record),
		    &text);
	return text ? ldb_db_tell(f->sort, text, f->fsck->fault) : 0;
}

int ldb_fsck_claimed(struct ldb_fsck *f, uint64_t id, struct ldb_fsck_claim *claim, bool *known)
{
	char key[9], *text = NULL, *record;
	size_t len;

	scratch_key(f, key, id);
	record = leveldb_get(f->sort->db, f->sort->read, key, sizeof(key), &len, &text);
	*known = record != NULL;
	*claim = (struct ldb_fsck_claim){.count = 0};
	if (record)
		*claim = (struct ldb_fsck_claim){get_be32((unsigned char *)record), record[4]};
	leveldb_free(record);
	return text ? ldb_db_tell(f->sort, text, f->fsck->fault) : 0;
}
