/* SPDX-License-Identifier: MIT */
/* Open files and directories, and the list of them. */
#include "fs/file/handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control.h"
#include "fs/file/lock.h"
#include "fs/file/lookup.h"
#include "fs/live/live.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"
#include "lib/clock.h"

struct handles {
	pthread_mutex_t lock;
	struct handle *first; /* Lock: lock, as count */
	_Atomic size_t count; /* may be read without it */
	/* The heavy handle that was read last, and when (clock_ns) another one was before it. */
	const struct handle *_Atomic heavy;
	_Atomic int64_t changed;
};

/* A control file or directory is heavy once its reads have taken so long (ns). While several heavy
 * ones are read, within HANDLE_BESIDE (ns), their reads are long reads. */
#define HANDLE_HEAVY  (CLOCK_SECOND / 500)
#define HANDLE_BESIDE CLOCK_SECOND

struct handles *handles_new(void)
{
	struct handles *handles = calloc(1, sizeof(*handles));

	if (handles)
		pthread_mutex_init(&handles->lock, NULL);
	return handles;
}

void handles_free(struct fs *fs, struct handles *handles)
{
	if (!handles)
		return;
	while (handles->first)
		handle_abort(fs, handles->first);
	pthread_mutex_destroy(&handles->lock);
	free(handles);
}

size_t handles_count(const struct handles *handles)
{
	return handles->count;
}

struct handle *handle_new(struct fs *fs)
{
	struct handle *handle = calloc(1, sizeof(*handle));
	struct handles *handles = fs->handles;

	if (!handle)
		return NULL;
	pthread_mutex_lock(&handles->lock);
	handle->next = handles->first;
	handle->link = &handles->first;
	if (handles->first)
		handles->first->link = &handle->next;
	handles->first = handle;
	handles->count++;
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

int64_t handle_read_begin(struct fs *fs, const struct handle *handle)
{
	struct handles *handles = fs->handles;
	int64_t now = clock_ns();

	if (handle->spent <= HANDLE_HEAVY)
		return now;
	if (handles->heavy != handle) {
		if (handles->heavy)
			handles->changed = now;
		handles->heavy = handle;
	}
	return now - handles->changed < HANDLE_BESIDE && loop_put_off() ? 0 : now;
}

void handle_read_end(struct handle *handle, int64_t began)
{
	handle->spent += clock_ns() - began;
}

int handle_commit(struct fs *fs, struct node *session, const pid_t *closing)
{
	int rc;

	writers_share(fs, session);
	rc = writer_commit(fs, session, closing);
	writers_release(fs, session);
	if (rc != 0 && !writer_failed(session)) /* a failed write was already reported */
		report(fs, session, NULL, 0, rc, "the write could not be committed: %s",
		       report_words(rc));
	return rc;
}

void handle_close(struct fs *fs, struct handle *handle)
{
	int rc;

	if (!handle)
		return;
	pthread_mutex_lock(&fs->handles->lock);
	fs->handles->count--;
	if (fs->handles->heavy == handle)
		fs->handles->heavy = NULL;
	*handle->link = handle->next;
	if (handle->next)
		handle->next->link = handle->link;
	pthread_mutex_unlock(&fs->handles->lock);
	value_put(handle->value);
	if (handle->writer) {
		writers_share(fs, handle->writer);
		rc = writer_close(fs, handle->writer);
		writers_release(fs, handle->writer);
		if (rc != 0 && !writer_failed(handle->writer))
			report(fs, handle->writer, NULL, 0, rc,
			       writer_takes_lines(handle->writer)
				       ? "the new time could not be stored: %s"
				       : "the write is lost, it could not be committed: %s",
			       report_words(rc));
		nodes_put(fs->nodes, handle->writer, 1);
	}
	if (handle->control)
		control_close(handle->control);
	if (handle->live)
		live_close(handle->live);
	if (handle->dir)
		handle->dir_free(handle->dir);
	locks_close(fs->locks, handle);
	free(handle);
}

void handle_abort(struct fs *fs, struct handle *handle)
{
	if (handle->writer)
		writer_abort(handle->writer);
	if (handle->control)
		control_abort(handle->control);
	handle->control = NULL;
	handle_close(fs, handle);
}

void handle_reply(fuse_req_t req, fuse_ino_t ino, int rc, struct handle *handle,
		  struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *node;

	if (rc != 0) {
		handle_close(fs, handle);
		fuse_reply_err(req, -rc);
		return;
	}
	fi->fh = (uintptr_t)handle;
	node = lookup_inode(fs, ino);
	node->opens++;
	if (handle->control)
		node_looked(node, fuse_req_ctx(req)->pid, loop_request());
	if (fuse_reply_open(req, fi) != 0) {
		node->opens--;
		handle_abort(fs, handle);
	}
}
