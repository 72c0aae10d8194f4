/* SPDX-License-Identifier: MIT */
/*
 * Open control files, as far as all kinds are alike.
 *
 * The lock of one open file is held during a read and while written lines are applied in the store,
 * which keeps them in order. No other lock is taken under it here. A write may wait for another one
 * (a drop, a large line), so the request loop is told. A read may wait for a slow read of a view,
 * and can be interrupted as that one can.
 */
#include "fs/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/control/control_kind.h"
#include "fs/mount/process.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"

/* ns between two tries of a read that waits for another one: the first, and the longest */
enum { LOCK_PAUSE = 200000, LOCK_PAUSE_MAX = 50000000 };

struct control_file {
	struct fs *fs;
	struct node *node; /* the kernel holds it while the file is open */
	const struct control_kind *kind;
	pid_t opener;
	uid_t user;

	pthread_mutex_t lock;
	const struct control_reader *from; /* Lock: lock, as for all below */
	void *reader;			   /* state of from; NULL: not open */
	uint64_t start; /* the offset at which the present text begins: 0 before the first write */
	bool written;
	bool given;	      /* the reader gave bytes */
	bool lost;	      /* and was interrupted: the rest of its text is gone */
	void *writer;	      /* of kind->writer; NULL or not since the open */
	int error;	      /* of the first bad write, after which nothing is applied; 0: none */
	char why[REPORT_MAX]; /* its reason, which is the text of the file from then on */
};

static void close_reader(struct control_file *file)
{
	if (file->reader)
		file->from->close(file->reader);
	file->reader = NULL;
	file->from = file->kind->reader;
	file->given = file->lost = false;
}

void control_abort(struct control_file *file)
{
	close_reader(file);
	if (file->writer)
		file->kind->writer->close(file->writer);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

int control_open(struct fs *fs, struct node *node, const struct fuse_ctx *caller,
		 enum control_which which, struct control_file **file, struct fuse_file_info *fi)
{
	struct control_file *opened = calloc(1, sizeof(*opened));
	int access = fi->flags & O_ACCMODE, rc = 0;

	if (!opened)
		return -ENOMEM;
	pthread_mutex_init(&opened->lock, NULL);
	opened->fs = fs;
	opened->node = node;
	opened->kind = control_kind(node);
	opened->from = opened->kind->reader;
	opened->opener = caller->pid;
	opened->user = caller->uid;
	if (access != O_WRONLY && node_etag(node) != 0)
		rc = control_text_take(fs, node, caller->uid, which, &opened->reader);
	if (rc == 0 && opened->reader)
		opened->from = &control_text_reader;
	if (rc == 0 && access != O_RDONLY && opened->kind->writer)
		rc = opened->kind->writer->open(fs, node, &opened->writer);
	if (rc != 0) {
		control_abort(opened);
		return rc;
	}
	/* The kernel sets the inode's size to 0 behind the reply, too, when another process may
	 * have got it. */
	if ((fi->flags & O_TRUNC) && node->size > 0)
		node_state_set(node, NODE_S_PASSED);
	fi->direct_io = 1;
	*file = opened;
	return 0;
}

/* 0: it is locked; -EINTR. */
static int lock_to_read(struct control_file *file)
{
	struct timespec pause = {.tv_nsec = LOCK_PAUSE};

	while (pthread_mutex_trylock(&file->lock) != 0) {
		loop_read_leave(file->fs);
		if (fs_waits())
			return -EINTR;
		nanosleep(&pause, NULL);
		pause.tv_nsec *= pause.tv_nsec < LOCK_PAUSE_MAX ? 2 : 1;
	}
	return 0;
}

/* Programs repeat a read that was interrupted. The rest of another moment would not fit to the
 * bytes that the reader gave. */
static int read_locked(struct control_file *file, fuse_req_t req, void *buf, size_t len,
		       uint64_t offset, size_t *got)
{
	int rc;

	if (file->lost)
		return report(file->fs, file->node, NULL, 0, -ESTALE,
			      "an earlier read was interrupted; read it again from its start");
	rc = file->from->read(file->reader, req, buf, len, offset, got);
	if (rc == 0 && *got > 0 && !file->given && file->kind->text == &control_row &&
	    file->from == &control_text_reader)
		control_row_was_read(file->node);
	if (rc == 0)
		file->given |= *got > 0;
	if (rc != -ESTALE)
		return rc;
	if (file->given)
		file->lost = true;
	else
		close_reader(file); /* the next read begins again */
	return -EINTR;
}

int control_read(struct control_file *file, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		 size_t *got)
{
	int rc;

	fs_interruptible(req);
	rc = lock_to_read(file);
	if (rc != 0) {
		fs_interruptible(NULL);
		return rc;
	}
	if (file->why[0]) {
		size_t left = strlen(file->why);

		left -= offset < left ? (size_t)offset : left;
		*got = len < left ? len : left;
		memcpy(buf, file->why + strlen(file->why) - left, *got);
		fs_interruptible(NULL);
		pthread_mutex_unlock(&file->lock);
		return 0;
	}
	if (!file->reader || offset < file->start || (file->lost && offset == file->start)) {
		close_reader(file);
		rc = file->from->open(file->fs, file->node, file->user, &file->reader);
		if (rc == 0 && control_grows(file->node))
			file->node->size = control_text_size(file->reader);
		file->start = file->written ? offset : 0;
	}
	if (rc == 0)
		rc = read_locked(file, req, buf, len, offset - file->start, got);
	fs_interruptible(NULL);
	pthread_mutex_unlock(&file->lock);
	return rc;
}

/* Applies written bytes; data NULL: the incomplete line. */
static int apply(struct control_file *file, const char *data, size_t len)
{
	const struct control_writer *writer = file->kind->writer;
	int rc;

	if (!file->writer)
		return 0;
	loop_wait_begin(file->fs);
	pthread_mutex_lock(&file->lock);
	if (file->error == 0) {
		report_keep(file->why);
		file->error = data ? writer->write(file->writer, data, len)
				   : writer->end(file->writer, true);
		report_keep(NULL);
		if (file->error == 0)
			file->why[0] = 0;
	}
	if (data)
		close_reader(file);
	file->written |= data != NULL;
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	loop_wait_end(file->fs);
	return rc;
}

int control_write(struct control_file *file, const char *data, size_t len)
{
	return file->writer ? apply(file, data, len)
			    : report(file->fs, file->node, NULL, 0, -EPERM, "it can only be read");
}

int control_flush(struct control_file *file, pid_t thread)
{
	bool own = process_same(thread, file->opener);
	int rc;

	if (!file->writer)
		return 0;
	if (own && !process_killed(thread))
		return apply(file, NULL, 0);
	loop_wait_begin(file->fs);
	pthread_mutex_lock(&file->lock);
	if (own)
		file->kind->writer->end(file->writer, false);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	loop_wait_end(file->fs);
	return rc;
}

void control_close(struct control_file *file)
{
	apply(file, NULL, 0);
	control_abort(file);
}
