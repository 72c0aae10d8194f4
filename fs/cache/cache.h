/* SPDX-License-Identifier: MIT */
/*
 * Which entries the kernel keeps, and how they go before what they say is wrong.
 *
 * Kept are the directories of the plain tree and the columns in them, whose newest values' nodes
 * they lead to. A change of what such a name means, by other ways than that name's entry, is
 * followed by a call here before its request is answered.
 *
 * Any thread may call these, without a lock of the inode table. Those that wait for the kernel
 * (notice.h) say so.
 */
#ifndef FS_CACHE_H
#define FS_CACHE_H

#include "fs/fs.h"
#include "fs/inode/node.h"
#include "fs/names/pos.h"

struct caches;
struct caches *caches_new(void); /* NULL: no memory */
void caches_free(struct caches *caches);

struct cache_deferrals;
struct cache_deferrals *cache_deferrals_new(void); /* NULL: no memory */
void cache_deferrals_free(struct cache_deferrals *deferrals);

/* ---- A lookup ---------------------------------------------------------------------------- */

/* What was changed before a lookup, or a listing, looked. */
struct cache_mark {
	uint64_t tree;
	uint64_t columns;
	uint64_t column; /* 0: it is no column's */
	bool listing;
};

/* To be called before the name is taken apart, and of a column again before it is read. */
void cache_mark(struct fs *fs, struct cache_mark *mark);
void cache_mark_column(struct fs *fs, struct cache_mark *mark, uint64_t column);
/* Of a listing, before it reads anything; then `column` is that of each entry. */
void cache_mark_listing(struct fs *fs, struct cache_mark *mark);

/* Seconds for which the kernel may keep the entry `name` that leads to node; info: of a cell. To be
 * called when the node is in the inode table, just before the reply. */
double cache_timeout(struct fs *fs, const struct cache_mark *mark, struct node *node,
		     const char *name, const struct wcs_cell_info *info);

/* Is this the spelling that an entry is kept by? One of 231 to 255 bytes is not. */
bool cache_is_usual(const char *name);

/* ---- Write sessions ---------------------------------------------------------------------- */

/* While a session of a column (struct file_id) is open its entry is not kept: what it commits at
 * its last close nobody waits for. Do not wait. */
void cache_hold(struct caches *caches, uint64_t column);
void cache_release(struct caches *caches, uint64_t column);

/* The kernel itself has put what it keeps of that column out of its directory, or does so with the
 * reply to a request that holds the directory's lock. Family's lock. */
void cache_replaced(struct fs *fs, struct node *family, struct wcs_slice qualifier);

/* The same by the entry of a session that was looked up since the mark, by the usual spelling.
 * False: it is not known, since something has changed since, or it was listed. */
bool cache_replaced_since(struct fs *fs, const struct cache_mark *mark, struct node *family,
			  struct wcs_slice qualifier);

/* ---- Changes: to be called behind them, before the reply --------------------------------- */

/* The column of that position, also of a history or version. Waits. keep: an entry that is right
 * stays. */
void cache_expire_pos(struct fs *fs, const struct pos *pos, bool keep);
/* The column of a session; renamed: its qualifier now, if its node has another. Waits. */
void cache_expire_session(struct fs *fs, const struct node *node, const struct wcs_slice *renamed);
/* The same as cache_expire_pos, keeping what is right, where the kernel holds the family's lock for
 * this request. Does not wait. */
void cache_expire_locked(struct fs *fs, const struct pos *pos);

/* Must a rename that changes the column of that position, whose family's lock the kernel holds for
 * it, be refused with -ESTALE, so that the kernel comes again? It does so once. */
bool cache_defer(struct fs *fs, pid_t thread, const struct pos *pos);
/* The same of a column that is renamed itself. */
bool cache_defer_worn(struct fs *fs, pid_t thread, const struct pos *pos);
/* A lookup of that thread comes for which the kernel holds no family's lock: if its rename was
 * refused, waits for what that waits for. */
void cache_deferred_wait(struct fs *fs, pid_t thread);
/* A rename of that thread was done, or failed otherwise. */
void cache_deferred_end(struct fs *fs, pid_t thread);

/* A column, a row (its families and columns), a row with all below it or a whole table (key NULL),
 * and what is above and may have gone with them. Entries that are right stay. All wait. */
void cache_expire_column(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			 const char *family, struct wcs_slice qualifier);
void cache_expire_row(struct fs *fs, struct wcs_table *table, struct wcs_slice row);
void cache_expire_subtree(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key);

/* A family of the table was made, removed, or its cells are seen otherwise. Waits. */
void cache_expire_family(struct fs *fs, struct wcs_table *table, const char *family);

/* The clock was set: columns in families whose policies look at ages. Waits. */
void cache_expire_ages(struct fs *fs);

/* A table was removed. Waits. */
void cache_expire_table(struct fs *fs, const char *name);

/* A directory was removed. Waits. */
void cache_expire_directory(struct fs *fs, const struct pos *pos);

/* The column `from`, whose newest cell was `was`, became or was merged into `to`, which has it with
 * the timestamp now; both in dir, whose lock the kernel holds. Does not wait. */
void cache_renamed(struct fs *fs, struct node *dir, struct wcs_slice from,
		   const struct wcs_cell_info *was, struct wcs_slice to, int64_t now);

/* A time was set through a stored value's node, which was that of the column's newest cell if
 * newest is set. Waits for what other entries there are. */
void cache_stamped(struct fs *fs, struct node *node, bool newest, int64_t stamp);

/* The file was removed, or another took its name: open files of it have no name any more. was: of a
 * version or draft. Family's lock: alone. Does not wait. */
struct spelled;
void cache_unlinked(struct fs *fs, struct node *dir, const struct spelled *child,
		    const struct wcs_cell_info *was);

/* Is the node that of its column's newest cell, or of a version that is there? Where the column or
 * version has gone, the node is marked as without a name. */
bool cache_is_newest(struct fs *fs, struct node *node);

#endif
