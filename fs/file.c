/* SPDX-License-Identifier: MIT */
/* OPEN to RELEASE of files, and CREATE. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "control.h"
#include "draft.h"
#include "handle.h"
#include "lock.h"
#include "lookup.h"
#include "promise.h"
#include "report.h"
#include "value.h"
#include "writer.h"

static bool wants_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
}

/* newest: of a column, whatever the node stands for. */
static int open_value(struct fs *fs, const struct node *node, bool newest, uint32_t *etag,
		      struct value **value)
{
	struct wcs_cell_info info;
	struct pos pos;
	int rc;

	if (node->kind == NODE_DRAFT) {
		rc = draft_get(fs, node_id(node), &info, value);
		*etag = rc == 0 ? info.etag : 0;
		return rc;
	}
	rc = pos_of(node, &pos);
	if (rc == 0 && node->kind == NODE_CELL && !newest)
		pos.ts = node_ts(node);
	if (rc == 0)
		rc = value_open(&pos, value);
	*etag = rc == 0 ? value_etag(*value) : 0;
	return rc;
}

/* A committed value opens only while it is the one that the node stands for. */
static int open_committed(struct fs *fs, const struct node *node, struct handle *handle,
			  struct fuse_file_info *fi)
{
	uint32_t etag;
	int rc = open_value(fs, node, false, &etag, &handle->value);

	if (rc != 0)
		return rc == -ENOENT ? -ESTALE : rc;
	if (etag != node_etag(node) || (node_state(node) & NODE_S_STALE)) {
		value_put(handle->value);
		handle->value = NULL;
		return -ESTALE;
	}
	fi->keep_cache = 1;
	fi->noflush = !locks_need_flush(fs->locks);
	return 0;
}

/* Takes over a reference to the session's node. Lock: its family's. */
static int open_locked(struct fs *fs, struct node *session, struct handle *handle, int flags,
		       pid_t thread)
{
	int rc = writer_open(fs, session, flags, thread);

	if (rc == 0)
		handle->writer = session;
	else
		nodes_put(fs->nodes, session, 1);
	return rc;
}

static int open_session(struct fs *fs, struct node *session, struct handle *handle, int flags,
			pid_t thread)
{
	struct node *dir = node_get(session->parent); /* the session may go */
	bool replaces = true;
	int rc;

	writers_share(fs, dir);
	rc = open_locked(fs, session, handle, flags, thread);
	if (rc == 0)
		replaces = writer_replaces(fs, session);
	writers_release(fs, dir);
	nodes_put(fs->nodes, dir, 1);
	if (!replaces)
		writer_expire(fs, session);
	return rc;
}

/* The kernel will not look the name up again, and keeps a node that is another's: what is read and
 * written goes past that node's page cache. */
static int open_unseen(struct fs *fs, pid_t thread, struct node *node, struct handle *handle,
		       struct fuse_file_info *fi)
{
	struct node *session;
	uint32_t etag;
	int rc;

	fi->direct_io = 1;
	if (!wants_write(fi))
		return open_value(fs, node, true, &etag, &handle->value);
	rc = writers_reopen(fs, thread, node, &session);
	return rc == 0 ? open_session(fs, session, handle, fi->flags, thread) : rc;
}

/* An inode that the kernel has for this name, but not for this thread. */
static int open_other(struct fs *fs, pid_t thread, struct node *inode, struct handle *handle,
		      struct fuse_file_info *fi)
{
	struct node *node = node_now(inode);
	struct promise_names names;

	lookup_names(inode, &names);
	switch (promise_ask(fs->promises, thread, &names, wants_write(fi))) {
	case PROMISE_FIRST:
		return -ESTALE;
	case PROMISE_REOPENED:
		if (node->flags & NODE_F_WRITER)
			return open_session(fs, node_get(node), handle, fi->flags, thread);
		break;
	case PROMISE_AGAIN:
		break;
	}
	return open_unseen(fs, thread, node, handle, fi);
}

static int open_cell(struct fs *fs, pid_t thread, struct node *inode, struct handle *handle,
		     struct fuse_file_info *fi)
{
	struct node *node = node_now(inode);
	bool session = node->flags & NODE_F_WRITER;

	if (!session && !wants_write(fi)) {
		int rc = open_committed(fs, node, handle, fi);

		/* The kernel looks the name up again, but once only. */
		return rc == -ESTALE ? open_other(fs, thread, inode, handle, fi) : rc;
	}
	if (!session || !writer_is_for(node, thread))
		return open_other(fs, thread, inode, handle, fi);
	promise_end(fs->promises, thread, node->plain);
	return open_session(fs, node_get(node), handle, fi->flags, thread);
}

static void open_failed(fuse_req_t req, struct handle *handle, int rc)
{
	if (handle)
		handle_close(fs_of(req), handle);
	fuse_reply_err(req, -rc);
}

void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *node = lookup_inode(fs, ino);
	struct handle *handle = handle_new(fs);
	int rc = -ENOMEM;

	if (handle && node->kind == NODE_CONTROL)
		rc = control_open(fs, node, fuse_req_ctx(req)->pid, &handle->control, fi);
	else if (handle)
		rc = open_cell(fs, fuse_req_ctx(req)->pid, node, handle, fi);
	if (rc != 0) {
		open_failed(req, handle, rc);
		return;
	}
	fi->fh = (uintptr_t)handle;
	lookup_opened(fs, ino, 1);
	if (fuse_reply_open(req, fi) != 0) {
		lookup_opened(fs, ino, -1);
		handle_abort(fs, handle);
	}
}

/* What may be made where, before a session for it is. */
static int check_create(struct fs *fs, struct node *dir, const char *name, struct pos *pos,
			struct spelled *child, bool exclusive)
{
	struct node *base = node_base(dir);
	int rc = lookup_child(dir, name, pos, child);

	if (rc != 0)
		return rc;
	if (child->kind == NODE_PREFIX || child->kind == NODE_FAMILY ||
	    (child->kind == NODE_CHUNK && !pos->family))
		return report_no_family(fs, dir, name, pos->table);
	if (child->kind != NODE_CELL && child->kind != NODE_VERSION && child->kind != NODE_DRAFT)
		return -EPERM;
	if (exclusive &&
	    (writers_reserved(fs, base, child) || lookup_file(fs, base, pos, child, NULL) == 0))
		return -EEXIST;
	return 0;
}

/* Who creates with O_EXCL is alone in the family: the kernel lets one in at a time by each way into
 * it, and there are several. */
static int create(struct fs *fs, pid_t thread, struct node *dir, const char *name,
		  struct handle *handle, const struct fuse_file_info *fi)
{
	bool exclusive = fi->flags & O_EXCL;
	struct spelled child;
	struct node *session;
	struct pos pos;
	int rc;

	if (exclusive)
		writers_exclude(fs, dir);
	else
		writers_share(fs, dir);
	rc = check_create(fs, dir, name, &pos, &child, exclusive);
	if (rc == 0)
		rc = writers_create(fs, thread, node_base(dir), &child, exclusive, &session);
	if (rc == 0)
		rc = open_locked(fs, session, handle, fi->flags, thread);
	writers_release(fs, dir);
	return rc;
}

void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_new(fs);
	struct fuse_entry_param entry;
	int rc = -ENOMEM;

	(void)mode;
	if (handle)
		rc = create(fs, fuse_req_ctx(req)->pid, lookup_ino(fs, parent), name, handle, fi);
	if (rc != 0) {
		open_failed(req, handle, rc);
		return;
	}
	fi->fh = (uintptr_t)handle;
	lookup_entry(fs, node_get(handle->writer), &entry);
	lookup_opened(fs, entry.ino, 1);
	if (fuse_reply_create(req, &entry, fi) == 0)
		return;
	lookup_opened(fs, entry.ino, -1);
	nodes_put(fs->nodes, handle->writer, 1);
	handle_abort(fs, handle);
}

static int report_commit(struct fs *fs, const struct node *session, int rc)
{
	if (rc != 0)
		report(fs, session, NULL, 0, rc, "what was written could not be committed: %s",
		       strerror(-rc));
	return rc;
}

static int commit_session(struct fs *fs, struct node *session)
{
	int rc;

	writers_share(fs, session);
	rc = writer_commit(fs, session);
	writers_release(fs, session);
	return report_commit(fs, session, rc);
}

/* Creates a file and closes it. */
static int make_file(struct fs *fs, pid_t thread, struct node *dir, const char *name,
		     struct fuse_entry_param *entry)
{
	struct fuse_file_info fi = {.flags = O_WRONLY | O_CREAT | O_EXCL};
	struct handle *handle = handle_new(fs);
	struct node *session;
	struct pos pos;
	int rc = -ENOMEM;

	if (handle)
		rc = create(fs, thread, dir, name, handle, &fi);
	if (rc != 0) {
		if (handle)
			handle_close(fs, handle);
		return rc;
	}
	session = node_get(handle->writer);
	rc = commit_session(fs, session);
	if (pos_of(session, &pos) == 0)
		cache_expire_locked(fs, &pos); /* the kernel holds the directory */
	handle_close(fs, handle);
	if (rc == 0)
		lookup_entry(fs, session, entry);
	else
		nodes_put(fs->nodes, session, 1);
	return rc;
}

/* A regular file, as tar makes one to set its attributes before it is opened; nothing else. */
void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;
	int rc = -EPERM;

	(void)rdev;
	if (S_ISREG(mode))
		rc = make_file(fs, fuse_req_ctx(req)->pid, lookup_ino(fs, parent), name, &entry);
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else if (fuse_reply_entry(req, &entry) != 0)
		nodes_put(fs->nodes, lookup_inode(fs, entry.ino), 1);
}

void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	char *buf = malloc(size);
	size_t got = 0;
	int rc = -ENOMEM;

	(void)ino;
	if (buf && handle->control)
		rc = control_read(handle->control, req, buf, size, (uint64_t)off, &got);
	else if (buf && handle->writer)
		rc = writer_read(handle->writer->writer, buf, size, (uint64_t)off, &got);
	else if (buf)
		rc = value_read(handle->value, buf, size, (uint64_t)off, &got);
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_buf(req, buf, got);
	free(buf);
}

void fs_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	      struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct handle *handle = handle_of(fi);
	int rc = -EBADF;

	(void)ino;
	if (handle->control)
		rc = control_write(handle->control, buf, size);
	else if (handle->writer)
		rc = writer_write(fs, handle->writer->writer, buf, size, (uint64_t)off,
				  fi->writepage);
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, size);
}

static int flush_session(struct fs *fs, struct node *session, pid_t thread)
{
	int rc;

	writers_share(fs, session);
	rc = writer_flush(fs, session, thread);
	writers_release(fs, session);
	writer_expire(fs, session);
	return report_commit(fs, session, rc);
}

void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	struct fs *fs = fs_of(req);
	pid_t thread = fuse_req_ctx(req)->pid;
	int rc = 0;

	if (handle->writer)
		rc = flush_session(fs, handle->writer, thread);
	else if (handle->control)
		rc = control_flush(handle->control, thread);
	locks_flush(fs->locks, lookup_ino(fs, ino), handle, fi->lock_owner);
	fuse_reply_err(req, -rc);
}

static int fsync_session(struct fs *fs, struct node *session)
{
	int rc = commit_session(fs, session);

	writer_expire(fs, session);
	return rc;
}

void fs_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct handle *handle = handle_of(fi);
	int rc = 0;

	(void)ino;
	(void)datasync;
	if (handle->writer)
		rc = fsync_session(fs_of(req), handle->writer);
	if (rc == 0)
		rc = wcs_store_sync(fs_of(req)->store);
	fuse_reply_err(req, -rc);
}

void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	handle_close(fs_of(req), handle_of(fi));
	lookup_opened(fs_of(req), ino, -1);
	fuse_reply_err(req, 0);
}
