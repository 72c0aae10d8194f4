/* SPDX-License-Identifier: MIT */
/* A write session from its first open to its last close. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/mount/process.h"
#include "fs/report/report.h"
#include "fs/value/draft.h"
#include "fs/write/writer_private.h"

bool writer_is_unlinked(const struct writer *writer)
{
	return writer->unlinked;
}

static uint64_t size_of(const struct writer *writer)
{
	return writer->lines.on ? writer->lines.end : writer_base_size(writer) + writer->spool.size;
}

void writer_stat(struct writer *writer, uint64_t *size, int64_t *time)
{
	pthread_mutex_lock(&writer->lock);
	*size = writer->handles == 0 ? writer->final_size : size_of(writer);
	*time = writer->stamped ? writer->stamp : writer->time;
	pthread_mutex_unlock(&writer->lock);
}

static void unreserve(struct fs *fs, struct writer *writer)
{
	if (writer->reserved)
		drafts_unreserve(fs);
	writer->reserved = false;
}

/* The first open; a session that was closed starts anew. One that no lookup registered must find
 * its cell: the name may be another file's by now, or gone, and must not be made anew. One whose
 * file was removed after the lookup writes to nowhere. Lock: the session's. */
static int first_open(struct fs *fs, struct node *node, struct writer *writer, int flags,
		      pid_t thread)
{
	bool needed =
		!writer->unlinked && (!(flags & O_TRUNC) || (!writer->registry && !writer->hidden));
	enum wcs_type type;
	struct pos pos;
	int rc = writer_pos(node, &pos);

	writer->committed = WCS_TS_NONE;
	writer->appended = 0;
	writer->stamped = false;
	writer->error = 0;
	writer->lines = (struct writer_lines){0};
	if (rc == 0)
		rc = pos_type(&pos, &type);
	if (rc == 0 && wcs_type_aggregates(type) && pos.kind != NODE_DRAFT)
		rc = writer_lines_open(fs, node, writer, type, flags, needed);
	else if (rc == 0 && needed)
		rc = writer_load_base(fs, node, writer);
	/* O_TRUNC and O_CREAT are changes of their own, and a failing close reaches no program. */
	if (rc == 0 && (flags & (O_TRUNC | O_CREAT)) && (flags & O_ACCMODE) != O_RDONLY)
		rc = report_no_room(fs, node, wcs_store_room(fs->store, 1));
	if (rc == 0)
		writer->append = (flags & O_APPEND) && !(flags & O_TRUNC) &&
				 writer->target.kind != NODE_VERSION;
	if (rc == 0 && writer->target.kind == NODE_DRAFT && writer->hidden) {
		writer->reserved = drafts_reserve(fs) == 0;
		if (!writer->reserved)
			rc = report(fs, node, NULL, 0, -ENOSPC,
				    "%u drafts are in memory, the most that can be", DRAFTS_MAX);
	}
	if (rc == 0) {
		writer->direct = (flags & O_ACCMODE) == O_WRONLY && !(flags & O_DSYNC);
		writer->process = process_of(thread);
	}
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
	first = writer->handles == 0;
	if (first)
		rc = first_open(fs, node, writer, flags, thread);
	if (rc == 0 && (flags & O_TRUNC))
		rc = writer_truncate_all(fs, writer);
	if (rc == 0 && first)
		writers_remember(fs, writer, node);
	if (rc == 0)
		writer->handles++;
	else if (first)
		unreserve(fs, writer);
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

bool writer_is_direct(const struct node *node)
{
	return node->writer->direct || node->writer->lines.on;
}

bool writer_is_for(const struct node *node, pid_t thread, bool write)
{
	struct writer *writer = node->writer;
	bool open;

	pthread_mutex_lock(&writer->lock);
	open = writer->handles > 0;
	pthread_mutex_unlock(&writer->lock);
	if (!open)
		return writer->thread == thread && (write || !writer->unlinked);
	return writer_hidden(writer) && writer->process == process_of(thread);
}

void writer_abort(struct node *node)
{
	node->writer->aborted = true;
}

int writer_commit(struct fs *fs, struct node *node, const pid_t *closing)
{
	struct writer *writer = node->writer;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if ((writer->dirty || writer->pending) &&
	    (!closing || process_of(*closing) == writer->process)) {
		if (closing && process_killed(*closing))
			writer->aborted = true;
		else if (writer->dirty || !closing)
			rc = writer_commit_all(fs, node, writer);
	}
	if (rc == 0 && (!closing || !writer->aborted))
		rc = writer->error;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

void writer_found(struct node *node, const struct cache_mark *mark)
{
	node->writer->mark = *mark;
	node->writer->found = true;
}

bool writer_replaces(struct fs *fs, struct node *node)
{
	struct writer *writer = node->writer;
	bool known;

	pthread_mutex_lock(&writer->lock);
	known = writer->found && !writer->target.qualifier.data &&
		cache_replaced(fs, &writer->mark, node->parent, node_name(node));
	writer->found = false;
	pthread_mutex_unlock(&writer->lock);
	return known;
}

void writer_expire(struct fs *fs, struct node *node)
{
	struct writer *writer = node->writer;
	char renamed[WCS_QUALIFIER_MAX];
	struct wcs_slice qualifier = {0};
	bool draft;

	pthread_mutex_lock(&writer->lock);
	draft = writer->target.kind == NODE_DRAFT;
	if (writer->target.qualifier.data) {
		qualifier = (struct wcs_slice){renamed, writer->target.qualifier.len};
		memcpy(renamed, writer->target.qualifier.data, qualifier.len);
	}
	pthread_mutex_unlock(&writer->lock);
	if (!draft)
		cache_expire_session(fs, node, qualifier.data ? &qualifier : NULL);
}

int writer_close(struct fs *fs, struct node *node)
{
	struct writer *writer = node->writer;
	int rc = 0;

	pthread_mutex_lock(&writer->lock);
	if (writer->handles == 1) {
		if (writer->dirty || writer->pending)
			rc = writer_commit_all(fs, node, writer);
		if (writer->lines.on)
			rc = 0; /* its errors are reported */
		if (rc == 0)
			rc = writer_stamp_stored(fs, node, writer);
		writer->final_size = size_of(writer);
		if (writer->lines.on)
			writer_lines_close(fs, node, writer);
		writer_drop_base(writer);
		spool_clear(&writer->spool);
		unreserve(fs, writer);
		writer->dirty = writer->pending = false;
		writer->hidden = false;
		writers_forget(writer);
	}
	writer->handles--;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

int writer_resize(struct fs *fs, struct node *node, off_t size)
{
	struct writer *writer = node->writer;
	bool alone;
	int rc = size > (off_t)WCS_VALUE_MAX ? -EFBIG : 0;

	pthread_mutex_lock(&writer->lock);
	alone = writer->handles == 0;
	pthread_mutex_unlock(&writer->lock);
	if (alone && rc == 0)
		rc = writer_open(fs, node, O_WRONLY, writer->thread);
	if (alone && rc != 0)
		return rc;
	pthread_mutex_lock(&writer->lock);
	if (rc == 0 && writer->lines.on && (uint64_t)size != writer->lines.end) {
		if (size == 0 && !alone) /* else no line could follow */
			writer_lines_truncate(writer);
		else
			rc = report(fs, node, NULL, 0, -EINVAL,
				    "an aggregate has no other length than its number's");
	} else if (rc == 0 && !writer->lines.on) {
		rc = writer_make_whole(fs, writer);
		if (rc == 0 && (!writer->dirty || (uint64_t)size > writer->spool.size))
			rc = wcs_store_room(fs->store, (uint64_t)size);
		if (rc == 0)
			rc = spool_truncate(&writer->spool, fs->store_held, (uint64_t)size);
		writer->dirty = writer->dirty || rc == 0;
	}
	if (writer->error == 0 && !writer->lines.on)
		writer->error = rc;
	pthread_mutex_unlock(&writer->lock);
	if (alone) {
		int closed = writer_close(fs, node);

		rc = rc != 0 ? rc : closed;
	}
	return rc;
}
