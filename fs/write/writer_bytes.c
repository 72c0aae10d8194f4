/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a write session.
 *
 *     base    |......value at open......|           only until the session is whole
 *     spool                             |..tail..|  append: the bytes after base
 *     spool   |............value............|       whole: all of it
 *
 * A session that appends stays in the first form, so that its commit can append to the newest value
 * of that moment. Any other write makes it whole. A session that does not append and has a base has
 * written nothing since it took the base.
 */
#include <errno.h>

#include "fs/value/draft.h"
#include "fs/write/writer_private.h"

uint64_t writer_base_size(const struct writer *writer)
{
	return writer->base ? value_size(writer->base) : 0;
}

void writer_drop_base(struct writer *writer)
{
	value_put(writer->base);
	writer->base = NULL;
}

int writer_load_base(struct fs *fs, struct node *node, struct writer *writer)
{
	struct wcs_cell_info info;
	struct pos pos;
	int rc;

	if (writer->target.kind == NODE_DRAFT) {
		rc = draft_get(fs, writer->target.id, &info, &writer->base);
	} else {
		rc = writer_pos(node, &pos);
		if (rc == 0)
			rc = value_open(&pos, &writer->base);
	}
	return rc == -ENOENT && writer->hidden ? 0 : rc;
}

int writer_join(struct fs *fs, struct writer *writer, struct value *value, size_t from,
		struct spool *whole)
{
	struct wcs_slice tail;
	int rc;

	spool_init(whole);
	rc = value ? value_copy(value, fs->store_held, whole) : 0;
	if (rc == 0)
		rc = spool_map(&writer->spool, &tail);
	if (rc == 0 && whole->size + tail.len - from > WCS_VALUE_MAX)
		rc = -EFBIG;
	if (rc == 0 && tail.len > from)
		rc = spool_write(whole, fs->store_held, (const char *)tail.data + from,
				 tail.len - from, whole->size);
	if (rc != 0)
		spool_clear(whole);
	return rc;
}

int writer_make_whole(struct fs *fs, struct writer *writer)
{
	struct spool whole;
	int rc;

	if (writer->base) {
		rc = writer_join(fs, writer, writer->base, 0, &whole);
		if (rc != 0)
			return rc;
		spool_clear(&writer->spool);
		writer->spool = whole;
		writer_drop_base(writer);
	}
	writer->append = false;
	return 0;
}

int writer_truncate_all(struct fs *fs, struct writer *writer)
{
	if (writer->lines.on) {
		writer_lines_truncate(writer);
		return 0;
	}
	writer_drop_base(writer);
	writer->append = false;
	writer->pending = writer->truncated = true;
	return spool_truncate(&writer->spool, fs->store_held, 0);
}

int writer_read(struct node *node, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct writer *writer = node->writer;
	size_t first = 0, second = 0;
	uint64_t base;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	base = writer_base_size(writer);
	if (writer->lines.on) {
		rc = writer_lines_read(node, buf, len, offset, got);
	} else {
		if (offset < base)
			rc = value_read(writer->base, buf, len, offset, &first);
		if (rc == 0 && offset + first >= base)
			rc = spool_read(&writer->spool, (char *)buf + first, len - first,
					offset + first - base, &second);
		if (rc == 0)
			*got = first + second;
	}
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

int writer_write(struct fs *fs, struct writer *writer, const void *data, size_t len,
		 uint64_t offset, bool mapped)
{
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	rc = writer->error;
	if (writer->append && !mapped)
		offset = writer_base_size(writer) + writer->spool.size;
	if (rc == 0 && (offset > WCS_VALUE_MAX || len > WCS_VALUE_MAX - offset))
		rc = -EFBIG;
	if (rc == 0 && (!writer->append || offset < writer_base_size(writer)))
		rc = writer_make_whole(fs, writer);
	if (rc == 0)
		rc = wcs_store_room(fs->store, offset + len);
	if (rc == 0)
		rc = spool_write(&writer->spool, fs->store_held, data, len,
				 offset - writer_base_size(writer));
	if (rc == 0)
		writer->dirty = true;
	writer->error = rc;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

void writer_fail(struct node *node, int error)
{
	struct writer *writer = node->writer;

	pthread_mutex_lock(&writer->lock);
	if (writer->error == 0)
		writer->error = error;
	pthread_mutex_unlock(&writer->lock);
}

bool writer_failed(const struct node *node)
{
	return node->writer->error != 0;
}
