/* SPDX-License-Identifier: MIT */
/*
 * Open control files: what is the same for all kinds of them.
 *
 * The lock of one open file is held while it is read and while what was written is applied, which
 * calls the store: so that is in order. No other lock is taken under it here.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "control_kind.h"
#include "process.h"

struct control_file {
	const struct control_kind *kind;
	pid_t opener;

	pthread_mutex_t lock;
	void *reader; /* state of kind->reader; NULL: not open. Lock: lock, as all below */
	void *writer; /* of kind->writer */
	int error;    /* of the first bad write, behind which nothing is applied; 0: none was */
};

static int open_states(struct fs *fs, struct control_file *file, const struct node *node, int flags)
{
	const struct control_kind *kind = file->kind;
	int rc = 0;

	if ((flags & O_ACCMODE) != O_WRONLY)
		rc = kind->reader->open(fs, node, &file->reader);
	if (rc == 0 && (flags & O_ACCMODE) != O_RDONLY && kind->writer)
		rc = kind->writer->open(fs, node, &file->writer);
	return rc;
}

static void file_free(struct control_file *file)
{
	if (file->reader)
		file->kind->reader->close(file->reader);
	if (file->writer)
		file->kind->writer->close(file->writer);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

int control_open(struct fs *fs, struct node *node, pid_t thread, struct control_file **file,
		 struct fuse_file_info *fi)
{
	struct control_file *opened = calloc(1, sizeof(*opened));
	int rc;

	if (!opened)
		return -ENOMEM;
	pthread_mutex_init(&opened->lock, NULL);
	opened->kind = control_kind(node);
	opened->opener = thread;
	rc = open_states(fs, opened, node, fi->flags);
	if (rc != 0) {
		file_free(opened);
		return rc;
	}
	fi->direct_io = 1;
	*file = opened;
	return 0;
}

int control_read(struct control_file *file, void *buf, size_t len, uint64_t offset, size_t *got)
{
	int rc;

	pthread_mutex_lock(&file->lock);
	rc = file->kind->reader->read(file->reader, buf, len, offset, got);
	pthread_mutex_unlock(&file->lock);
	return rc;
}

int control_write(struct control_file *file, const char *data, size_t len)
{
	int rc;

	if (!file->writer)
		return -EPERM;
	pthread_mutex_lock(&file->lock);
	if (file->error == 0)
		file->error = file->kind->writer->write(file->writer, data, len);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

static int apply_rest(struct control_file *file)
{
	int rc;

	pthread_mutex_lock(&file->lock);
	if (file->error == 0 && file->writer)
		file->error = file->kind->writer->finish(file->writer);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

static int drop_rest(struct control_file *file)
{
	int rc;

	pthread_mutex_lock(&file->lock);
	if (file->writer)
		file->kind->writer->cancel(file->writer);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

int control_flush(struct control_file *file, pid_t thread)
{
	int rc;

	if (process_same(thread, file->opener))
		return process_killed(thread) ? drop_rest(file) : apply_rest(file);
	pthread_mutex_lock(&file->lock);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

void control_close(struct control_file *file)
{
	apply_rest(file);
	file_free(file);
}

void control_abort(struct control_file *file)
{
	file_free(file);
}
