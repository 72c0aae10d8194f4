/* SPDX-License-Identifier: MIT */
/*
 * One write session.
 *
 *     base    |......value at open......|           only until the session is whole
 *     spool                             |..tail..|  appending: what came behind base
 *     spool   |............value............|       whole: all of it
 *
 * A session that appends stays in the first form, so that its commit can append to what is newest
 * then; anything else that writes makes it whole.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "report.h"
#include "spool.h"
#include "writer_private.h"

enum { SPACE_RESERVE = 64 << 20 }; /* bytes of the medium that are left to the engine */

struct writer *writer_new(pid_t thread, bool created)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	pthread_mutex_init(&writer->lock, NULL);
	spool_init(&writer->spool);
	writer->thread = thread;
	writer->pending = created;
	atomic_init(&writer->hidden, created);
	writer->committed = WCS_TS_NONE;
	writer->time = fs_now();
	return writer;
}

void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	wcs_value_close(writer->base);
	spool_clear(&writer->spool);
	free(writer->renamed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

/* The position that it writes to; good while its lock is held. */
static int writer_pos(const struct node *node, struct pos *pos)
{
	const struct writer *writer = node->writer;
	int rc = pos_of(node, pos);

	if (rc == 0 && writer->renamed)
		pos->qualifier = (struct wcs_slice){writer->renamed, writer->renamed_len};
	return rc;
}

static int restamp(const struct pos *pos, int64_t stamp)
{
	struct wcs_move move = {.kind = WCS_MOVE_STAMP,
				.family = pos->family,
				.from = pos->qualifier,
				.to_ts = stamp};

	return wcs_cells_move(pos->table, pos_key(pos), &move, NULL);
}

/* Would restamp refuse? The stamp must be later than the column's second newest cell. */
static int check_stamp(const struct pos *pos, int64_t stamp)
{
	struct wcs_cell_info info;
	int rc = pos_older(pos, &info);

	if (rc == 0 && stamp <= info.ts)
		return -EINVAL;
	return rc == -ENOENT ? 0 : rc;
}

static uint64_t base_size(const struct writer *writer)
{
	return writer->base ? wcs_value_info(writer->base)->size : 0;
}

static uint64_t writer_size(const struct writer *writer)
{
	if (writer->handles == 0 && !writer->draft)
		return writer->final_size;
	return base_size(writer) + writer->spool.size;
}

void writer_stat(struct writer *writer, uint64_t *size, int64_t *time)
{
	pthread_mutex_lock(&writer->lock);
	*size = writer_size(writer);
	*time = writer->stamped ? writer->stamp : writer->time;
	pthread_mutex_unlock(&writer->lock);
}

static void drop_base(struct writer *writer)
{
	wcs_value_close(writer->base);
	writer->base = NULL;
}

static int copy_base(struct fs *fs, struct writer *writer, struct spool *to)
{
	char buf[65536];
	size_t got = 1;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && got > 0; at += got) {
		rc = wcs_value_read(writer->base, buf, sizeof(buf), at, &got);
		if (rc == 0)
			rc = spool_write(to, fs->store_path, buf, got, at);
	}
	return rc;
}

/* Copies base in front of the tail. A session that cannot be made whole stays as it is. */
static int make_whole(struct fs *fs, struct writer *writer)
{
	struct wcs_slice tail;
	struct spool whole;
	int rc;

	if (writer->base) {
		spool_init(&whole);
		rc = copy_base(fs, writer, &whole);
		if (rc == 0)
			rc = spool_map(&writer->spool, &tail);
		if (rc == 0)
			rc = spool_write(&whole, fs->store_path, tail.data, tail.len,
					 base_size(writer));
		if (rc != 0) {
			spool_clear(&whole);
			return rc;
		}
		spool_clear(&writer->spool);
		writer->spool = whole;
		drop_base(writer);
	}
	writer->append = false;
	return 0;
}

static int load_base(struct node *node, struct writer *writer)
{
	struct pos pos;
	int rc = writer_pos(node, &pos);

	if (rc == 0)
		rc = wcs_value_open(pos.table, pos_key(&pos), pos.family, pos.qualifier, pos.ts,
				    &writer->base);
	return rc == -ENOENT && writer->hidden ? 0 : rc;
}

static int truncate_all(struct fs *fs, struct writer *writer)
{
	drop_base(writer);
	writer->append = false;
	writer->pending = writer->truncated = true;
	return spool_truncate(&writer->spool, fs->store_path, 0);
}

/* Can this version write the family's cells as files? */
static int check_type(struct fs *fs, const struct node *node)
{
	struct wcs_family family;
	enum wcs_type type;
	struct pos pos;
	int rc = pos_of(node, &pos);

	if (rc == 0)
		rc = wcs_family_get(pos.table, pos.family, &family);
	if (rc != 0)
		return rc;
	type = family.type;
	wcs_family_clear(&family);
	if (type == WCS_BYTES)
		return 0;
	return report(fs, node, NULL, 0, -EOPNOTSUPP,
		      "family %s has the type %s, which this version cannot write as files",
		      pos.family, wcs_type_name(type));
}

/* The first open file: a session that was closed starts anew. Lock: the session's. */
static int first_open(struct fs *fs, struct node *node, struct writer *writer, int flags,
		      pid_t thread)
{
	int rc;

	writer->committed = WCS_TS_NONE;
	writer->appended = 0;
	writer->stamped = false;
	writer->process = process_of(thread);
	rc = check_type(fs, node);
	if (rc == 0 && !(flags & O_TRUNC))
		rc = load_base(node, writer);
	if (rc == 0)
		writer->append =
			(flags & O_APPEND) && !(flags & O_TRUNC) && node->kind == NODE_CELL;
	return rc;
}

int writer_open(struct fs *fs, struct node *node, int flags, pid_t thread)
{
	struct writer *writer = node->writer;
	bool first;
	int rc = 0;

	if ((flags & O_ACCMODE) != O_RDONLY && wcs_store_failed(fs->store))
		return -EROFS;
	pthread_mutex_lock(&writer->lock);
	first = writer->handles == 0 && !writer->draft;
	if (first)
		rc = first_open(fs, node, writer, flags, thread);
	if (rc == 0 && (flags & O_TRUNC))
		rc = truncate_all(fs, writer);
	if (rc == 0 && first)
		writers_remember(fs, writer, node);
	if (rc == 0)
		writer->handles++;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

bool writer_is_for(const struct node *node, pid_t thread)
{
	struct writer *writer = node->writer;
	bool open;

	pthread_mutex_lock(&writer->lock);
	open = writer->handles > 0;
	pthread_mutex_unlock(&writer->lock);
	if (!open)
		return writer->thread == thread;
	return writer_hidden(writer) && writer->process == process_of(thread);
}

int writer_read(struct writer *writer, void *buf, size_t len, uint64_t offset, size_t *got)
{
	size_t first = 0, second = 0;
	uint64_t base;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	base = base_size(writer);
	if (offset < base)
		rc = wcs_value_read(writer->base, buf, len, offset, &first);
	if (rc == 0 && offset + first >= base)
		rc = spool_read(&writer->spool, (char *)buf + first, len - first,
				offset + first - base, &second);
	if (rc == 0)
		*got = first + second;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

/* Is there room to commit a value of that size? The engine writes it to its log and to a table, and
 * a write that fails there ends all writing; so what has no room is refused before. */
static int check_space(struct fs *fs, uint64_t size)
{
	struct wcs_space space;
	uint64_t reserve;
	int rc = wcs_store_space(fs->store, &space);

	if (rc != 0)
		return rc;
	reserve = space.total / 3 < SPACE_RESERVE ? space.total / 3 : SPACE_RESERVE;
	return space.free < reserve + 3 * size ? -ENOSPC : 0;
}

int writer_write(struct fs *fs, struct writer *writer, const void *data, size_t len,
		 uint64_t offset, bool mapped)
{
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if (writer->append && !mapped)
		offset = base_size(writer) + writer->spool.size;
	if (offset > WCS_VALUE_MAX || len > WCS_VALUE_MAX - offset)
		rc = -EFBIG;
	if (rc == 0 && (!writer->append || offset < base_size(writer)))
		rc = make_whole(fs, writer);
	if (rc == 0)
		rc = check_space(fs, offset + len);
	if (rc == 0)
		rc = spool_write(&writer->spool, fs->store_path, data, len,
				 offset - base_size(writer));
	if (rc == 0)
		writer->dirty = true;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

static int writer_cut(struct fs *fs, struct writer *writer, uint64_t size)
{
	int rc = make_whole(fs, writer);

	if (rc == 0)
		rc = spool_truncate(&writer->spool, fs->store_path, size);
	if (rc == 0)
		writer->dirty = true;
	return rc;
}

int writer_resize(struct fs *fs, struct node *node, off_t size)
{
	struct writer *writer = node->writer;
	bool alone;
	int rc = 0;

	if (size > (off_t)WCS_VALUE_MAX)
		return -EFBIG;
	pthread_mutex_lock(&writer->lock);
	alone = writer->handles == 0;
	pthread_mutex_unlock(&writer->lock);
	if (alone)
		rc = writer_open(fs, node, O_WRONLY, writer->thread);
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&writer->lock);
	rc = writer_cut(fs, writer, (uint64_t)size);
	pthread_mutex_unlock(&writer->lock);
	if (alone) {
		int closed = writer_close(fs, node);

		rc = rc != 0 ? rc : closed;
	}
	return rc;
}

/* Lock: the session's. A version that it made already is made once more, with the stamp. */
static int stamp_open(struct writer *writer, const struct pos *pos, int64_t stamp)
{
	bool makes = writer->dirty || writer->pending;
	int rc = 0;

	if (!makes && (writer->committed < 0 || writer->append))
		rc = check_stamp(pos, stamp);
	if (rc != 0)
		return rc;
	writer->stamped = true;
	writer->stamp = stamp;
	if (writer->committed >= 0 && !writer->append)
		writer->dirty = true;
	return 0;
}

int writer_stamp(struct node *node, int64_t stamp)
{
	struct writer *writer = node->writer;
	struct pos pos;
	int rc;

	if (node->kind == NODE_VERSION)
		return 0;
	pthread_mutex_lock(&writer->lock);
	rc = writer_pos(node, &pos);
	if (writer->draft)
		rc = 0;
	else if (rc == 0 && writer->handles > 0)
		rc = stamp_open(writer, &pos, stamp);
	else if (rc == 0)
		rc = restamp(&pos, stamp);
	if (rc == 0)
		writer->time = stamp;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

/* Puts what the session has into a mutation; its slices borrow from the session. */
static int fill_mutation(struct writer *writer, const struct pos *pos,
			 struct wcs_mutation *mutation)
{
	struct wcs_slice value;
	bool again = writer->committed >= 0;
	int rc = spool_map(&writer->spool, &value);

	if (rc != 0)
		return rc;
	if (pos->kind == NODE_VERSION)
		return wcs_mutation_set(mutation, pos->family, pos->qualifier, pos->ts, value);
	if (writer->append) {
		value.data = (const char *)value.data + writer->appended;
		value.len -= writer->appended;
		return wcs_mutation_append(mutation, pos->family, pos->qualifier, value,
					   writer->committed);
	}
	if (!writer->stamped)
		return wcs_mutation_set(mutation, pos->family, pos->qualifier,
					again ? writer->committed : WCS_TS_SERVER, value);
	if (again)
		rc = wcs_mutation_delete_cell(mutation, pos->family, pos->qualifier,
					      writer->committed);
	if (rc == 0)
		rc = wcs_mutation_set_newest(mutation, pos->family, pos->qualifier, writer->stamp,
					     value);
	return rc;
}

static void committed(struct writer *writer, int64_t ts)
{
	writer->committed = ts;
	if (ts != WCS_TS_NONE)
		writer->time = ts;
	writer->appended = writer->spool.size;
	writer->dirty = writer->pending = writer->truncated = false;
	/* An append took no stamp: it is for what is there at the last close. */
	if (!writer->append)
		writer->stamped = false;
	writer->hidden = false;
}

/* Was its file created, and then nothing done with it? That makes a column, but no version. */
static bool only_creates(const struct node *node, const struct writer *writer)
{
	return node->kind == NODE_CELL && writer->hidden && !writer->dirty && !writer->truncated;
}

/* Lock: the session's. */
static int commit(struct node *node, struct writer *writer)
{
	struct wcs_mutation *mutation;
	struct pos pos;
	int64_t ts;
	int rc;

	if (writer->aborted || writer->unlinked || writer->draft)
		return 0;
	rc = writer_pos(node, &pos);
	if (rc != 0)
		return rc;
	mutation = wcs_mutation_new();
	if (!mutation)
		return -ENOMEM;
	rc = fill_mutation(writer, &pos, mutation);
	if (rc == 0 && only_creates(node, writer))
		rc = wcs_mutation_if(mutation, pos.family, pos.qualifier, NULL);
	if (rc == 0)
		rc = wcs_row_mutate(pos.table, pos_key(&pos), mutation, &ts);
	if (rc == -ECANCELED) { /* another made the column meanwhile */
		ts = WCS_TS_NONE;
		rc = 0;
	}
	wcs_mutation_free(mutation);
	if (rc == 0)
		committed(writer, ts);
	return rc;
}

int writer_flush(struct node *node, pid_t thread)
{
	struct writer *writer = node->writer;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if ((writer->dirty || writer->pending) && process_of(thread) == writer->process) {
		if (process_killed(thread))
			writer->aborted = true;
		else if (writer->dirty)
			rc = commit(node, writer);
	}
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

void writer_abort(struct node *node)
{
	node->writer->aborted = true;
}

void writer_unlink(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->unlinked = true;
	pthread_mutex_unlock(&writer->lock);
}

int writer_commit(struct node *node)
{
	struct writer *writer = node->writer;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if (writer->dirty || writer->pending)
		rc = commit(node, writer);
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

/* At the last close: a stamp that no version took goes to the cell that is there. */
static int stamp_stored(const struct node *node, struct writer *writer)
{
	struct pos pos;
	int rc;

	if (!writer->stamped || writer->aborted || writer->unlinked)
		return 0;
	rc = writer_pos(node, &pos);
	return rc == 0 ? restamp(&pos, writer->stamp) : rc;
}

/* What the last close does, of a session that is no draft. Lock: the session's. */
static int last_close(struct fs *fs, struct node *node, struct writer *writer)
{
	int rc = 0;

	if (writer->dirty || writer->pending)
		rc = commit(node, writer);
	if (rc == 0)
		rc = stamp_stored(node, writer);
	writer->final_size = base_size(writer) + writer->spool.size;
	drop_base(writer);
	spool_clear(&writer->spool);
	writer->dirty = writer->pending = false;
	writer->hidden = false;
	writers_forget(fs, writer);
	return rc;
}

int writer_close(struct fs *fs, struct node *node)
{
	struct writer *writer = node->writer;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if (writer->handles == 1 && !writer->draft)
		rc = last_close(fs, node, writer);
	writer->handles--;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

int writer_rename(struct writer *writer, struct wcs_slice name, const struct writer_moved *moved)
{
	char *renamed = malloc(name.len + 1);

	if (!renamed)
		return -ENOMEM;
	if (name.len > 0)
		memcpy(renamed, name.data, name.len);
	pthread_mutex_lock(&writer->lock);
	free(writer->renamed);
	writer->renamed = renamed;
	writer->renamed_len = name.len;
	if (moved && moved->merged && writer->committed != moved->newest)
		writer->committed = WCS_TS_NONE;
	else if (moved && writer->committed == moved->newest)
		writer->committed = moved->now;
	pthread_mutex_unlock(&writer->lock);
	return 0;
}

int writer_publish(struct node *draft, const struct pos *pos)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct writer *writer = draft->writer;
	struct wcs_slice value;
	int rc;

	if (!mutation)
		return -ENOMEM;
	pthread_mutex_lock(&writer->lock);
	rc = spool_map(&writer->spool, &value);
	if (rc == 0)
		rc = wcs_mutation_set(mutation, pos->family, pos->qualifier, pos->ts, value);
	if (rc == 0)
		rc = wcs_row_mutate(pos->table, pos_key(pos), mutation, NULL);
	pthread_mutex_unlock(&writer->lock);
	wcs_mutation_free(mutation);
	return rc;
}

int writer_load(struct fs *fs, struct node *draft, const struct pos *pos)
{
	struct writer *writer = draft->writer;
	int rc;

	pthread_mutex_lock(&writer->lock);
	rc = wcs_value_open(pos->table, pos_key(pos), pos->family, pos->qualifier, pos->ts,
			    &writer->base);
	if (rc == 0)
		rc = make_whole(fs, writer);
	pthread_mutex_unlock(&writer->lock);
	return rc;
}
