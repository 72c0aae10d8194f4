/* SPDX-License-Identifier: MIT */
/* READ, WRITE, POLL, FLUSH, FSYNC and RELEASE; of a directory, too. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control.h"
#include "fs/file/attr.h"
#include "fs/file/handle.h"
#include "fs/file/lock.h"
#include "fs/file/lookup.h"
#include "fs/live/live.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"

/* Does a READ fill a page of an inode that stands for another value than the file? That page may
 * belong to a reader of the inode's value. With direct_io only a private mapping fills pages. Its
 * READ has no lock owner; that of read(2) has one. */
static bool fills_page(fuse_ino_t ino, const struct handle *handle, const struct fuse_file_info *fi)
{
	return handle->direct && fi->lock_owner == 0 &&
	       (handle->value || (handle->writer && handle->writer->nodeid != ino));
}

void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	struct fs *fs = fs_of(req);
	size_t got = 0;
	int64_t began = 0;
	int rc = -ENOMEM;
	char *buf;

	if (handle->live) {
		live_read(handle->live, req, size, (uint64_t)off, fi);
		return;
	}
	if (handle->control) {
		began = handle_read_begin(fs, handle);
		if (began == 0) {
			fuse_reply_none(req);
			return;
		}
	}
	buf = malloc(size);
	if (buf && fills_page(ino, handle, fi))
		rc = report(
			fs, lookup_ino(fs, ino), NULL, 0, -ENODEV,
			"the file was written since it was bound here, or opened first: it cannot "
			"be mapped");
	else if (buf && handle->control)
		rc = control_read(handle->control, req, buf, size, (uint64_t)off, &got);
	else if (buf && handle->writer)
		rc = writer_read(handle->writer, buf, size, (uint64_t)off, &got);
	else if (buf)
		rc = value_read(handle->value, buf, size, (uint64_t)off, &got);
	if (handle->control)
		handle_read_end(handle, began);
	if (rc != 0)
		fuse_reply_err(req, -report_unreadable(fs, lookup_ino(fs, ino), NULL, rc));
	else
		fuse_reply_buf(req, buf, got);
	free(buf);
}

/* *taken: bytes consumed; fewer than size if a later line is refused. */
static int write_session(struct fs *fs, struct node *session, const char *buf, size_t size,
			 off_t off, const struct fuse_file_info *fi, size_t *taken)
{
	bool failed = writer_failed(session), merged;
	int rc;

	if (writer_takes_lines(session)) {
		writers_share(fs, session);
		rc = writer_write_lines(fs, session, buf, size, (uint64_t)off, fi->flags & O_APPEND,
					taken, &merged);
		writers_release(fs, session);
		if (merged) /* without a merge the kernel's attributes stay right */
			writer_expire(fs, session);
		return rc;
	}
	rc = writer_write(fs, session->writer, buf, size, (uint64_t)off, fi->writepage);
	if (rc == 0 || failed)
		return rc;
	if (rc == -EFBIG || rc == -ENOSPC)
		return report_no_room(fs, session, rc);
	return report(fs, session, NULL, 0, rc, "the write could not be stored: %s",
		      report_words(rc));
}

/* As handle_commit; then the kernel looks the name and the attributes up again. */
static int commit_shown(struct fs *fs, struct node *session, const pid_t *closing)
{
	int rc = handle_commit(fs, session, closing);

	writer_expire(fs, session);
	attr_changed(fs, session);
	return rc;
}

static int fsync_file(struct fs *fs, const struct handle *handle)
{
	int rc = handle->writer ? commit_shown(fs, handle->writer, NULL) : 0;

	return rc == 0 ? loop_sync(fs) : rc;
}

void fs_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	      struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_of(fi);
	struct node *session = handle->writer;
	bool bytes = session && !writer_takes_lines(session);
	size_t taken = size;
	int rc = -EBADF;

	(void)ino;
	if (handle->control)
		rc = control_write(handle->control, buf, size);
	else if (session)
		rc = write_session(fs, session, buf, size, off, fi, &taken);
	/* The kernel sends no FSYNC after an O_DSYNC write that bypasses its pages. An incomplete
	 * line of an aggregate waits for its rest. */
	if (rc == 0 && handle->direct && (fi->flags & O_DSYNC)) {
		rc = bytes ? fsync_file(fs, handle) : loop_sync(fs);
		if (rc != 0 && bytes)
			writer_fail(session, rc);
	}
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, taken);
}

/* Every file answers POLL: if one did not, the kernel would ask no other, live files included. */
void fs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct handle *handle = handle_of(fi);

	(void)ino;
	if (handle->live) {
		live_poll(handle->live, req, ph);
		return;
	}
	if (ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM);
}

/* The kernel copies between other files itself. From a live file it would copy what the size tells,
 * and take the present end of the lines for that of the file: EINVAL has cat and cp read it
 * instead. */
void fs_copy_file_range(fuse_req_t req, fuse_ino_t from_ino, off_t from_off,
			struct fuse_file_info *from, fuse_ino_t to_ino, off_t to_off,
			struct fuse_file_info *to, size_t len, int flags)
{
	(void)from_ino, (void)from_off, (void)to_ino, (void)to_off, (void)to, (void)len,
		(void)flags;
	fuse_reply_err(req, handle_of(from)->live ? EINVAL : EOPNOTSUPP);
}

void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	struct fs *fs = fs_of(req);
	pid_t thread = fuse_req_ctx(req)->pid;
	int rc = 0;

	if (handle->writer)
		rc = commit_shown(fs, handle->writer, &thread);
	else if (handle->control)
		rc = control_flush(handle->control, thread);
	locks_flush(fs->locks, lookup_ino(fs, ino), handle, fi->lock_owner);
	fuse_reply_err(req, -rc);
}

void fs_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	fuse_reply_err(req, -fsync_file(fs_of(req), handle_of(fi)));
}

void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	handle_close(fs_of(req), handle_of(fi));
	lookup_inode(fs_of(req), ino)->opens--;
	fuse_reply_err(req, 0);
}
