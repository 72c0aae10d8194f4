/* SPDX-License-Identifier: MIT */
/* OPEN, CREATE and MKNOD: an open file gets a committed value to read or a write session. */
#include <errno.h>
#include <fcntl.h>

#include "fs/cache/cache.h"
#include "fs/control/control.h"
#include "fs/file/attr.h"
#include "fs/file/handle.h"
#include "fs/file/lock.h"
#include "fs/file/lookup.h"
#include "fs/live/live.h"
#include "fs/report/report.h"
#include "fs/value/draft.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"
#include "store/heat/heat.h"

static bool wants_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
}

/* newest: opens the value that the node's name has now instead of the node's. */
static int open_value(struct fs *fs, const struct node *node, bool newest,
		      struct wcs_cell_info *info, struct value **value)
{
	struct pos pos;
	int rc;

	if (node->kind == NODE_DRAFT)
		return draft_get(fs, node_id(node), info, value);
	rc = pos_of(node, &pos);
	wcs_heat_look(true); /* the file counts once */
	if (rc == 0 && newest && pos.view)
		rc = attr_newest(fs, node, info);
	wcs_heat_look(false);
	if (rc != 0)
		return rc;
	if (!newest || pos.view)
		pos.ts = newest ? info->ts : node_ts(node);
	rc = value_open(&pos, value);
	if (rc == 0)
		*info = *value_info(*value);
	return rc;
}

/* Opens the node's value for reading, with the pages that the kernel has of it. newest: if its name
 * still has that value. -ENOENT: it has not, or the value is gone. */
static int open_own(struct fs *fs, const struct node *node, bool newest, struct handle *handle,
		    struct fuse_file_info *fi)
{
	struct wcs_cell_info info;
	int rc = open_value(fs, node, newest, &info, &handle->value);

	if (rc == 0 && (!node_is_of(node, &info) || (node_state(node) & NODE_S_STALE))) {
		value_put(handle->value);
		handle->value = NULL;
		rc = -ENOENT;
	}
	fi->keep_cache = rc == 0;
	return rc;
}

/* Consumes a reference to the session's node. The caller holds its family's lock. */
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
	struct node *dir = node_get(session->parent); /* writer_open may free the session */
	bool replaces = true;
	int rc;

	writers_share(fs, dir);
	rc = open_locked(fs, session, handle, flags, thread);
	if (rc == 0)
		replaces = writer_replaces(fs, session);
	writers_release(fs, dir);
	nodes_put(fs->nodes, dir, 1);
	if (rc == 0)
		attr_changed(fs, session); /* the kernel truncates twice, see open_unseen */
	if (!replaces)
		writer_expire(fs, session);
	return rc;
}

/* The kernel did not repeat the lookup, so it opens an inode that stands for another value. Reads
 * and writes bypass that inode's page cache (fs_read refuses those of a mapping). A write beyond
 * the inode's end extends it. With O_TRUNC the kernel sets the inode's size to 0 after the reply,
 * and again after it asked for security.capability. If another process requested attributes in
 * between, the kernel would cache them with size 0; NODE_S_PASSED gives attributes timeout 0. */
static int open_unseen(struct fs *fs, pid_t thread, struct node *inode, struct handle *handle,
		       struct fuse_file_info *fi)
{
	struct node *node = node_now(inode), *session;
	struct wcs_cell_info info;
	int rc;

	fi->direct_io = 1;
	attr_pass(fs, inode);
	if (!wants_write(fi))
		return open_value(fs, node, true, &info, &handle->value);
	rc = writers_reopen(fs, thread, node, &session);
	return rc == 0 ? open_session(fs, session, handle, fi->flags, thread) : rc;
}

/* The kernel's inode is not for this thread, or its value is not the newest. The first time the
 * answer is ESTALE. After that, a session's inode that is reopened through /proc opens that
 * session; an inode that the kernel has found anew, but whose value was replaced since, opens its
 * own value, which was the newest during this open(2). Any other open gets the newest value to
 * read, or a new session whose node the kernel does not know. ESTALE: the file was removed. */
static int open_other(struct fs *fs, pid_t thread, struct node *inode, struct handle *handle,
		      struct fuse_file_info *fi)
{
	struct node *node = node_now(inode);
	enum retry_want want = wants_write(fi) ? RETRY_WRITE : RETRY_READ;
	enum retry_state state = lookup_retry(fs, inode, thread, want);
	int rc;

	if (state == RETRY_FIRST)
		return -ESTALE;
	if (state == RETRY_REOPENED && (node->flags & NODE_F_WRITER))
		return open_session(fs, node_get(node), handle, fi->flags, thread);
	if (state == RETRY_AGAIN && want == RETRY_READ && !(node->flags & NODE_F_WRITER) &&
	    open_own(fs, node, false, handle, fi) == 0)
		return 0;
	rc = open_unseen(fs, thread, inode, handle, fi);
	return rc == -ENOENT && state != RETRY_AGAIN ? -ESTALE : rc;
}

/* Can the name have another value than the node, by a change that was answered or by another
 * client? As long as the kernel may keep the node's dentry it cannot (cache.c), unless a rename put
 * another dentry in its place. */
static bool may_be_old(const struct fs *fs, const struct node *node)
{
	return (node_state(node) & (NODE_S_KEPT | NODE_S_UNLINKED)) != NODE_S_KEPT ||
	       wcs_store_fresh(fs->store) != INT64_MAX;
}

static int open_cell(struct fs *fs, pid_t thread, struct node *inode, struct handle *handle,
		     struct fuse_file_info *fi)
{
	struct node *node = node_now(inode);
	bool session = node->flags & NODE_F_WRITER;
	int rc;

	if (session || wants_write(fi)) {
		if (wants_write(fi) && report_thread(fs, node, NULL, thread) != 0)
			return -EPERM;
		if (!session || !writer_is_for(node, thread, wants_write(fi)))
			return open_other(fs, thread, inode, handle, fi);
		retry_end(fs->retries, thread, node->plain);
		return open_session(fs, node_get(node), handle, fi->flags, thread);
	}
	fi->noflush = !locks_need_flush(fs->locks);
	rc = open_own(fs, node, may_be_old(fs, node), handle, fi);
	/* After ESTALE the kernel repeats the lookup, once. */
	if (rc == -ENOENT)
		return open_other(fs, thread, inode, handle, fi);
	retry_end(fs->retries, thread, node->plain);
	return rc;
}

/* The kernel looks a name up again whose file has another text now, once; where the file changes
 * all the time, the open then gets the text of its lookup. An inode that is opened without a lookup
 * (a bound file, /proc/self/fd) shows the newest text. */
static int open_control(struct fs *fs, const struct fuse_ctx *caller, struct node *node,
			struct handle *handle, struct fuse_file_info *fi)
{
	int rc = control_open(fs, node, caller, CONTROL_PRESENT, &handle->control, fi);
	enum retry_state state;

	if (rc == 0)
		retry_end(fs->retries, caller->pid, node->plain);
	if (rc != -ESTALE)
		return rc;
	state = lookup_retry(fs, node, caller->pid, RETRY_READ);
	if (state == RETRY_AGAIN)
		rc = control_open(fs, node, caller, CONTROL_LOOKED, &handle->control, fi);
	if (rc != -ESTALE || state == RETRY_FIRST)
		return rc;
	node_state_set(node, NODE_S_PASSED);
	rc = control_open(fs, node, caller, CONTROL_NEWEST, &handle->control, fi);
	fuse_lowlevel_notify_inval_inode(fs->session, node->nodeid, -1, 0);
	return rc;
}

static void set_direct(struct handle *handle, struct fuse_file_info *fi)
{
	if (handle->writer && writer_is_direct(handle->writer))
		fi->direct_io = 1;
	handle->direct = fi->direct_io;
}

void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *node = lookup_inode(fs, ino);
	struct handle *handle;
	int rc = -ENOMEM;

	if (wants_write(fi) && lookup_refuses(req, ino))
		return;
	handle = handle_new(fs);
	if (handle && live_is(node)) {
		rc = live_open(fs, node, fi, &handle->live);
		fi->noflush = !locks_need_flush(fs->locks); /* a close works without the mount */
	} else if (handle && node->kind == NODE_CONTROL) {
		fs_interruptible(req);
		rc = open_control(fs, fuse_req_ctx(req), node, handle, fi);
		fs_interruptible(NULL);
	} else if (handle) {
		if (node->flags & NODE_F_VIEW) /* which may read long to find the newest value */
			fs_interruptible(req);
		rc = open_cell(fs, fuse_req_ctx(req)->pid, node, handle, fi);
		fs_interruptible(NULL);
	}
	if (rc == 0)
		set_direct(handle, fi);
	rc = report_unreadable(fs, node_now(node), NULL, rc);
	handle_reply(req, ino, rc, handle, fi);
}

/* Can a file of this name be created in dir? */
static int check_create(struct fs *fs, struct node *dir, const char *name, struct pos *pos,
			struct spelled *child, bool exclusive)
{
	struct node *base = node_base(dir);
	int rc = spell_is_fixed(dir) ? -EPERM : lookup_child(fs, dir, name, pos, child);

	if (rc != 0)
		return rc == -EINVAL ? report_bad_name(fs, dir, name) : rc;
	if (child->kind == NODE_PREFIX || child->kind == NODE_FAMILY ||
	    (child->kind == NODE_CHUNK && !pos->family))
		return report_no_family(fs, dir, name, pos->table);
	if (child->kind == NODE_HISTORY)
		return report(fs, dir, name, 0, -EPERM,
			      "column@ is the directory of a column's versions; a final @ of a "
			      "column's own name is written %%40");
	if (!node_is_value(child->kind))
		return report(
			fs, dir, name, 0, -EPERM,
			"a file is a column, in a family of a row, or one of its versions, and "
			"none of these can be here");
	if (exclusive &&
	    (writers_reserved(fs, base, child) || lookup_file(fs, base, pos, child, NULL) == 0))
		return -EEXIST;
	return 0;
}

/* O_EXCL takes the family's lock exclusively. The kernel's directory lock does not suffice, because
 * a family has several directory inodes. */
static int create(struct fs *fs, pid_t thread, struct node *dir, const char *name,
		  struct handle *handle, const struct fuse_file_info *fi)
{
	bool exclusive = fi->flags & O_EXCL;
	struct spelled child;
	struct node *session;
	struct pos pos;
	int rc = report_thread(fs, dir, name, thread);

	if (rc != 0)
		return rc;
	if (exclusive)
		writers_exclude(fs, dir);
	else
		writers_share(fs, dir);
	rc = check_create(fs, dir, name, &pos, &child, exclusive);
	if (rc == 0)
		retry_end(fs->retries, thread,
			  node_child_id(node_base(dir), child.kind, child.bytes).file);
	if (rc == 0)
		rc = writers_create(fs, thread, node_base(dir), &child, exclusive, &session);
	if (rc == 0)
		rc = open_locked(fs, session, handle, fi->flags, thread);
	writers_release(fs, dir);
	if (rc == 0 && child.kind == NODE_VERSION)
		report_version(fs, dir, name);
	return rc;
}

void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;
	struct handle *handle;
	int rc = -ENOMEM;

	(void)mode;
	if (lookup_refuses(req, parent))
		return;
	handle = handle_new(fs);
	if (handle)
		rc = create(fs, fuse_req_ctx(req)->pid, lookup_ino(fs, parent), name, handle, fi);
	if (rc != 0) {
		handle_close(fs, handle);
		fuse_reply_err(req, -report_unreadable(fs, lookup_ino(fs, parent), name, rc));
		return;
	}
	set_direct(handle, fi);
	fi->fh = (uintptr_t)handle;
	/* The kernel may keep the attributes, but not of an aggregate: that shows a number, whose
	 * size does not follow from the written lines. */
	if (!writer_takes_lines(handle->writer))
		node_state_set(handle->writer, NODE_S_SHOWN);
	lookup_entry(fs, node_get(handle->writer), &entry);
	handle->writer->opens++;
	if (fuse_reply_create(req, &entry, fi) == 0)
		return;
	handle->writer->opens--;
	nodes_put(fs->nodes, handle->writer, 1);
	handle_abort(fs, handle);
}

/* Creates a file and closes it. Only regular files: tar makes one with mknod and sets its
 * attributes before it opens the file. */
void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct fuse_file_info fi = {.flags = O_WRONLY | O_CREAT | O_EXCL};
	struct fs *fs = fs_of(req);
	struct handle *handle;
	struct fuse_entry_param entry;
	struct node *session;
	struct pos pos;
	int rc = S_ISREG(mode) ? -ENOMEM : -EPERM;

	(void)rdev;
	if (lookup_refuses(req, parent))
		return;
	handle = S_ISREG(mode) ? handle_new(fs) : NULL;
	if (handle)
		rc = create(fs, fuse_req_ctx(req)->pid, lookup_ino(fs, parent), name, handle, &fi);
	if (rc != 0) {
		handle_close(fs, handle);
		rc = report_unreadable(fs, lookup_ino(fs, parent), name, rc);
	} else if (writer_takes_lines(handle->writer)) { /* an aggregate needs a line */
		handle_abort(fs, handle);
		rc = -EOPNOTSUPP;
	} else {
		session = node_get(handle->writer);
		rc = handle_commit(fs, session, NULL);
		if (pos_of(session, &pos) == 0) /* the kernel holds the directory's lock */
			cache_expire_pos(fs, &pos, true, NOTICE_NOW);
		handle_close(fs, handle);
		if (rc == 0)
			lookup_entry(fs, session, &entry);
		else
			nodes_put(fs->nodes, session, 1);
	}
	lookup_reply(req, rc, &entry);
}
