/* SPDX-License-Identifier: MIT */
/*
 * Which dentries the kernel keeps, and their invalidation before they are wrong.
 *
 * The kernel keeps dentries of the directories of the plain tree and of the columns in them, which
 * lead to the nodes of the newest values. A change of the meaning of such a name, other than
 * through its own dentry, is followed by a call here before its request is answered.
 *
 * Any thread that holds no lock of the inode table may call these functions. Those that wait for
 * the kernel (notice.h) say so.
 */
#ifndef FS_CACHE_H
#define FS_CACHE_H

#include "fs/cache/notice.h"
#include "fs/fs.h"
#include "fs/inode/node.h"
#include "fs/names/pos.h"

struct caches *caches_new(void); /* NULL: no memory */
void caches_free(struct caches *caches);

/* ---- A lookup ---------------------------------------------------------------------------- */

/* The changes so far, noted before a lookup or a listing reads the store. */
struct cache_mark {
	uint64_t tree;
	uint64_t columns;
	uint64_t column; /* 0: of no column */
	bool listing;
};

/* Call it before the name is parsed, and for a column again before it is read. A listing calls it
 * before the first read, sets `listing`, and then `column` for each entry. */
void cache_mark(struct fs *fs, struct cache_mark *mark);
void cache_mark_column(struct fs *fs, struct cache_mark *mark, uint64_t column);

/* Seconds for which the kernel may keep the dentry `name` of that node; info: of a cell. Call it
 * when the node is in the inode table, just before the reply. */
double cache_timeout(struct fs *fs, const struct cache_mark *mark, struct node *node,
		     const char *name, const struct wcs_cell_info *info);

/* The limit of all timeouts, in seconds: other clients may change the store. */
double cache_fresh(const struct fs *fs);

/* May the kernel keep histories and versions? Only for a time, of an engine that other clients
 * share: removing or renaming a column cannot wait until their dentries are invalid. */
bool cache_keeps_versions(const struct fs *fs);

/* Is it a spelling whose dentry may be kept? One of 231 to 255 bytes is not. */
bool cache_is_usual(const char *name);

/* ---- Write sessions ---------------------------------------------------------------------- */

/* While a session of a column (struct file_id) is open its dentry gets timeout 0: RELEASE, which
 * may commit, cannot wait for an invalidation. Neither call waits. */
void cache_hold(struct caches *caches, uint64_t column);
void cache_release(struct caches *caches, uint64_t column);

/* The kernel has itself replaced its dentry of that column, or does so with the reply to a request
 * that holds the directory's lock. Family's lock. mark: NULL, or of the lookup that gave the kernel
 * a session's dentry by the usual spelling. False: not certain, because the column changed since
 * the mark, or a listing gave the dentry. */
bool cache_replaced(struct fs *fs, const struct cache_mark *mark, struct node *family,
		    struct wcs_slice qualifier);

/* ---- Changes: call these after the change and before the reply ---------------------------- */

/* The column of that position, also of a history or version. keep: a dentry that is right stays.
 * how: NOTICE_NOW where the kernel holds the family's lock for this request. */
void cache_expire_pos(struct fs *fs, const struct pos *pos, bool keep, enum notice_how how);
/* The column of a session; renamed: its qualifier now, if its node has another. Waits. */
void cache_expire_session(struct fs *fs, const struct node *node, const struct wcs_slice *renamed);

/* Must a rename that changes the column of that position answer ESTALE, so that the kernel drops
 * the family's lock and retries? True at most once for each rename. renamed: the kernel renames the
 * column's dentry itself; a retry is needed only if the inode has had too many names. */
bool cache_defer(struct fs *fs, pid_t thread, const struct pos *pos, bool renamed);
/* A lookup of that thread comes without a family's lock in the kernel: if the thread retries a
 * rename, waits for the notices that the rename needs. */
void cache_deferred_wait(struct fs *fs, pid_t thread);
/* A rename of that thread ended. */
void cache_deferred_end(struct fs *fs, pid_t thread);

/* A row (its families and columns) or, deep, a row with all below it or a whole table (key NULL),
 * and the directories above, which may have gone too. Dentries that are right stay. Waits. */
void cache_expire_rows(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key,
		       bool deep);

/* A family of the table was made or removed, or its policy or type changed. Waits. */
void cache_expire_family(struct fs *fs, struct wcs_table *table, const char *family);

/* The clock was set: columns in tables with an age policy. Waits. */
void cache_expire_ages(struct fs *fs);

/* A table was removed. Waits. */
void cache_expire_table(struct fs *fs, const char *name);

/* A directory was removed. Waits. */
void cache_expire_directory(struct fs *fs, const struct pos *pos);

/* The column `from`, whose newest cell was `was`, was renamed to or merged into `to`, where that
 * cell has the timestamp now; both are in dir, whose lock the kernel holds. Does not wait. */
void cache_renamed(struct fs *fs, struct node *dir, struct wcs_slice from,
		   const struct wcs_cell_info *was, struct wcs_slice to, int64_t now);

/* A time was set through a stored value's node; newest: the node was the newest cell's. Waits for
 * the column's other dentries. */
void cache_stamped(struct fs *fs, struct node *node, bool newest, int64_t stamp);

/* The file was removed or replaced: its open files have no name any more. was: of a version or
 * draft. Family's lock: exclusive. Does not wait. */
struct spelled;
void cache_unlinked(struct fs *fs, struct node *dir, const struct spelled *child,
		    const struct wcs_cell_info *was);

/* Is the node the newest cell's of its column, or of an existing version? If the column or version
 * is gone, marks the node NODE_S_UNLINKED. */
bool cache_is_newest(struct fs *fs, struct node *node);

#endif
