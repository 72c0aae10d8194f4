/* SPDX-License-Identifier: MIT */
/*
 * The check's temporary database, in $TMPDIR, else /var/tmp. It sorts two kinds of entries, of
 * which a byte at the begin of the key tells which:
 *
 *   'l' esc(key) 00 01 ~tag(8) -> value            a change of a log, in the order of internal
 * keys; esc writes the byte 00 as 00 FF 'r', 's' value-id(8) number(8) -> size(8) gone(1) type(1)
 * key-of-the-cell a cell with a large value, by value; 's' while the new database is built
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"

struct ldb_fsck_scratch {
	char *path;
	leveldb_t *db;
	leveldb_options_t *options;
	leveldb_readoptions_t *read;
	leveldb_writeoptions_t *write;
	struct ldb_buffer key, value; /* being put */
};

static int scratch_fail(struct ldb_fsck *f, char *text)
{
	int rc = ldb_db_errno(text);

	wcs_fault_set(f->fsck->fault, rc, "%s: %s", directory_name(f->scratch->path), text);
	leveldb_free(text);
	return rc;
}

int ldb_fsck_scratch_open(struct ldb_fsck *f)
{
	struct ldb_fsck_scratch *scratch = calloc(1, sizeof(*scratch));
	const char *below = getenv("TMPDIR");
	char *text = NULL;

	f->scratch = scratch;
	if (!below || *below != '/')
		below = "/var/tmp";
	if (!scratch || asprintf(&scratch->path, "%s/fsck.rowfs.XXXXXX", below) < 0)
		return -ENOMEM;
	if (!mkdtemp(scratch->path)) {
		int error = errno;

		free(scratch->path);
		scratch->path = NULL;
		return wcs_fault_set(f->fsck->fault, directory_error(error), "%s: %s",
				     directory_name(below), strerror(error));
	}
	scratch->options = leveldb_options_create();
	scratch->read = leveldb_readoptions_create();
	scratch->write = leveldb_writeoptions_create();
	leveldb_options_set_create_if_missing(scratch->options, 1);
	scratch->db = leveldb_open(scratch->options, scratch->path, &text);
	return text ? scratch_fail(f, text) : 0;
}

void ldb_fsck_scratch_close(struct ldb_fsck *f)
{
	struct ldb_fsck_scratch *scratch = f->scratch;

	if (!scratch)
		return;
	if (scratch->db)
		leveldb_close(scratch->db);
	if (scratch->options) {
		leveldb_options_destroy(scratch->options);
		leveldb_readoptions_destroy(scratch->read);
		leveldb_writeoptions_destroy(scratch->write);
	}
	if (scratch->path)
		directory_remove(AT_FDCWD, scratch->path);
	free(scratch->path);
	free(scratch->key.data);
	free(scratch->value.data);
	free(scratch);
	f->scratch = NULL;
}

static int scratch_put(struct ldb_fsck *f, struct wcs_slice value)
{
	struct ldb_fsck_scratch *scratch = f->scratch;
	char *text = NULL;

	leveldb_put(scratch->db, scratch->write, (char *)scratch->key.data, scratch->key.len,
		    value.data ? value.data : "", value.len, &text);
	return text ? scratch_fail(f, text) : 0;
}

static int scratch_escape(struct ldb_buffer *to, struct wcs_slice key)
{
	const char *from = key.data, *end = from + key.len;
	int rc = ldb_buffer_room(to, to->len + 2 * key.len + 10);

	while (!rc && from < end) {
		to->data[to->len++] = (unsigned char)*from;
		if (*from++ == 0)
			to->data[to->len++] = 0xff;
	}
	return rc;
}

int ldb_fsck_scratch_change(void *ctx, uint64_t tag, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck *f = ctx;
	struct ldb_buffer *to = &f->scratch->key;
	int rc;

	to->len = 0;
	rc = ldb_buffer_append(to, "l", 1);
	if (!rc)
		rc = scratch_escape(to, key);
	if (rc)
		return rc;
	to->data[to->len++] = 0;
	to->data[to->len++] = 1;
	put_be64(to->data + to->len, ~tag);
	to->len += 8;
	return scratch_put(f, value);
}

static unsigned char scratch_space(const struct ldb_fsck *f)
{
	return f->mode == LDB_FSCK_BUILD ? 's' : 'r';
}

int ldb_fsck_scratch_refer(struct ldb_fsck *f, const struct ldb_fsck_ref *ref)
{
	unsigned char key[17] = {scratch_space(f)}, head[10];
	struct ldb_buffer *value = &f->scratch->value;
	int rc;

	put_be64(key + 1, ref->id);
	put_be64(key + 9, f->refs++);
	put_be64(head, ref->size);
	head[8] = ref->gone;
	head[9] = (unsigned char)ref->type;
	rc = ldb_buffer_set(&f->scratch->key, (struct wcs_slice){key, sizeof(key)});
	if (!rc)
		rc = ldb_buffer_set(value, (struct wcs_slice){head, sizeof(head)});
	if (!rc)
		rc = ldb_buffer_append(value, ref->cell.data, ref->cell.len);
	return rc ? rc : scratch_put(f, ldb_buffer_slice(value));
}

leveldb_iterator_t *ldb_fsck_scratch_iterate(struct ldb_fsck *f, const struct wcs_slice *from)
{
	struct ldb_fsck_scratch *scratch = f->scratch;
	struct ldb_buffer *key = &scratch->key;
	unsigned char space = from ? 'l' : scratch_space(f);
	leveldb_iterator_t *iter;

	key->len = 0;
	if (ldb_buffer_append(key, &space, 1) || (from && scratch_escape(key, *from)))
		return NULL;
	iter = leveldb_create_iterator(scratch->db, scratch->read);
	leveldb_iter_seek(iter, (char *)key->data, key->len);
	return iter;
}

int ldb_fsck_scratch_key(leveldb_iterator_t *iter, struct ldb_buffer *key)
{
	const unsigned char *from;
	size_t len;
	int rc;

	key->len = 0;
	if (!leveldb_iter_valid(iter) || (from = ldb_iter_key(iter, &len))[0] != 'l')
		return 0;
	rc = ldb_buffer_room(key, len);
	if (rc)
		return rc;
	for (size_t at = 1; at < len - 10; at += from[at] == 0 ? 2 : 1)
		key->data[key->len++] = from[at];
	put_le64(key->data + key->len, ~get_be64(from + len - 8));
	key->len += 8;
	return 0;
}

bool ldb_fsck_scratch_ref(const struct ldb_fsck *f, leveldb_iterator_t *iter,
			  struct ldb_fsck_ref *ref)
{
	const unsigned char *data;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	data = ldb_iter_key(iter, &len);
	if (data[0] != scratch_space(f))
		return false;
	ref->id = get_be64(data + 1);
	data = (const unsigned char *)leveldb_iter_value(iter, &len);
	ref->size = get_be64(data);
	ref->gone = data[8];
	ref->type = (enum wcs_type)data[9];
	ref->cell = (struct wcs_slice){data + 10, len - 10};
	return true;
}

void ldb_fsck_scratch_seek(const struct ldb_fsck *f, leveldb_iterator_t *iter, uint64_t id)
{
	unsigned char key[9] = {scratch_space(f)};

	put_be64(key + 1, id);
	leveldb_iter_seek(iter, (const char *)key, 9);
}

int ldb_fsck_scratch_end(struct ldb_fsck *f, leveldb_iterator_t *iter, int rc)
{
	char *text = NULL;

	if (!iter)
		return rc ? rc : -ENOMEM;
	leveldb_iter_get_error(iter, &text);
	leveldb_iter_destroy(iter);
	if (text && rc == 0)
		return scratch_fail(f, text);
	leveldb_free(text);
	return rc;
}
