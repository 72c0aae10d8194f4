/* SPDX-License-Identifier: MIT */
/* GETATTR, SETATTR and STATFS. */
#include <errno.h>
#include <sys/statvfs.h>

#include "fs/cache/cache.h"
#include "fs/file/attr.h"
#include "fs/file/handle.h"
#include "fs/file/lookup.h"
#include "fs/live/live.h"
#include "fs/report/report.h"
#include "fs/write/writer.h"
#include "lib/clock.h"
#include "store/heat/heat.h"

/* gone: the answer if the name is gone and no file is open; 0: the attributes. */
static void attr_reply(fuse_req_t req, struct node *inode, const struct fuse_file_info *fi,
		       int gone)
{
	double timeout;
	struct stat st;
	int rc;

	wcs_heat_look(true);
	if (inode->flags & NODE_F_VIEW) /* which may read long to find the newest value */
		fs_interruptible(req);
	rc = attr_get(fs_of(req), inode, fi ? handle_of(fi) : NULL, &st, &timeout);
	fs_interruptible(NULL);
	wcs_heat_look(false);
	if (rc != 0 && gone != 0)
		fuse_reply_err(req, gone);
	else
		fuse_reply_attr(req, &st, timeout);
}

void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *inode = lookup_inode(fs, ino);
	bool stale = (node_state(node_now(inode)) & NODE_S_STALE) && inode->opens == 0;
	pid_t thread = fuse_req_ctx(req)->pid;

	/* The kernel names the open file for an lseek to the end, and not for fstat. */
	if (fi && handle_of(fi)->live)
		live_follow(handle_of(fi)->live);
	/* The kernel looks a stale name up again. ESTALE goes to a thread once, since a GETATTR on
	 * the way to an OPEN must not fail a second time, and never to one with an open file. */
	if (stale && (thread == 0 || lookup_retry(fs, inode, thread, RETRY_STAT) == RETRY_FIRST))
		fuse_reply_err(req, ESTALE);
	else
		attr_reply(req, inode, fi, ESTALE);
}

/* The time that a SETATTR asks for in microseconds. -ENOENT: none; -EINVAL: negative. */
static int stamp_of(const struct stat *attr, int to_set, int64_t *stamp)
{
	if (!(to_set & FUSE_SET_ATTR_MTIME))
		return -ENOENT;
	if (attr->st_mtim.tv_sec < 0)
		return -EINVAL;
	if (__builtin_mul_overflow((int64_t)attr->st_mtim.tv_sec, 1000000, stamp) ||
	    __builtin_add_overflow(*stamp, attr->st_mtim.tv_nsec / 1000, stamp))
		return -EINVAL;
	return 0;
}

static int setattr_session(struct fs *fs, struct node *session, const struct stat *attr, int to_set,
			   const int64_t *stamp)
{
	int rc = 0;

	writers_share(fs, session);
	writer_replaces(fs, session);
	if (to_set & FUSE_SET_ATTR_SIZE)
		rc = report_no_room(fs, session, writer_resize(fs, session, attr->st_size));
	if (rc == 0 && stamp) {
		rc = writer_stamp(fs, session, *stamp);
		rc = rc == -EINVAL ? report(fs, session, NULL, 0, rc,
					    "the time must be later than the next older version's")
				   : report_no_room(fs, session, rc);
	}
	writers_release(fs, session);
	return rc;
}

/* A stored value never changes, so a change of its size or time goes to a write session. */
static int setattr_stored(struct fs *fs, pid_t thread, struct node *inode, const struct stat *attr,
			  int to_set, const int64_t *stamp)
{
	struct node *node = node_now(inode), *session = NULL;
	int rc = 0;

	/* A change of time works without the session's inode, since the file may be open for
	 * reading. */
	if ((to_set & FUSE_SET_ATTR_SIZE) &&
	    lookup_retry(fs, inode, thread, RETRY_WRITE) == RETRY_FIRST)
		return -ESTALE;
	/* A process that is writing the file and sets its time by name means its own session. */
	if (!(to_set & FUSE_SET_ATTR_SIZE))
		session = writers_own(fs, thread, node_id(node), false);
	if (!session)
		rc = writers_reopen(fs, thread, node, &session);
	if (rc != 0)
		return rc;
	rc = setattr_session(fs, session, attr, to_set, stamp);
	if (to_set & FUSE_SET_ATTR_SIZE) {
		writer_expire(fs, session);
		attr_pass(fs, inode);
	}
	attr_changed(fs, session);
	nodes_put(fs->nodes, session, 1);
	return rc;
}

static int setattr(struct fs *fs, pid_t thread, struct node *node, const struct stat *attr,
		   int to_set)
{
	const int owners = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
	bool resize = to_set & FUSE_SET_ATTR_SIZE;
	const int64_t *stamp = NULL;
	int64_t time;
	int rc = stamp_of(attr, to_set, &time);

	if ((fs->options.strict && (to_set & owners)) || (node->kind == NODE_CONTROL && resize))
		return -EPERM;
	if (!node_is_value(node->kind))
		return 0;
	if (rc == 0)
		stamp = &time;
	else if (rc != -ENOENT)
		return report(fs, node, NULL, 0, rc,
			      "a timestamp lies between the years 1970 and 294247");
	if (!stamp && !resize)
		return 0;
	if (resize && report_thread(fs, node, NULL, thread) != 0)
		return -EPERM;
	if (!(node->flags & NODE_F_WRITER))
		return setattr_stored(fs, thread, node, attr, to_set, stamp);
	retry_end(fs->retries, thread, node->plain);
	return setattr_session(fs, node, attr, to_set, stamp);
}

/* A cached dentry may lead to this node, whose timestamp changes. */
static bool may_stamp(const struct node *node, int to_set)
{
	return node_is_stored(node) && (to_set & FUSE_SET_ATTR_MTIME);
}

void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct node *inode = lookup_inode(fs, ino), *node;
	int64_t stamp;
	bool newest;
	int rc;

	if (lookup_refuses(req, ino))
		return;
	if (fi && handle_of(fi)->writer) /* an open file's session may be another node */
		inode = handle_of(fi)->writer;
	node = node_now(inode);
	newest = may_stamp(node, to_set) && cache_is_newest(fs, node);
	if (to_set & FUSE_SET_ATTR_MTIME_NOW) {
		to_set = (to_set & ~FUSE_SET_ATTR_MTIME_NOW) | FUSE_SET_ATTR_MTIME;
		attr->st_mtim = attr_time(clock_now());
	}
	rc = setattr(fs, fuse_req_ctx(req)->pid, inode, attr, to_set);
	if (rc == 0 && may_stamp(node, to_set) && stamp_of(attr, to_set, &stamp) == 0) {
		cache_stamped(fs, node_now(inode), newest, stamp);
		/* After a rename the kernel may also hold the node that took the inode's place. */
		if (node_now(inode) != inode)
			notice_attributes(fs, node_now(inode));
	}
	if (rc == 0 && (node->flags & NODE_F_WRITER) && (to_set & FUSE_SET_ATTR_SIZE))
		writer_expire(fs, node);
	if (rc != 0) {
		attr_changed(fs, node);
		fuse_reply_err(req, -rc);
		return;
	}
	/* The kernel would cache this reply even if a later change came first, so it may not cache
	 * it. */
	if (node->flags & NODE_F_WRITER)
		node_state_clear(node, NODE_S_SHOWN);
	attr_reply(req, inode, fi, 0);
}

void fs_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAMES_COMPONENT_MAX};
	struct wcs_space space;
	int rc = wcs_store_space(fs_of(req)->store, &space);

	(void)ino;
	if (rc != 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	st.f_blocks = space.total / st.f_frsize;
	st.f_bfree = space.free / st.f_frsize;
	st.f_bavail = space.available / st.f_frsize;
	fuse_reply_statfs(req, &st);
}
