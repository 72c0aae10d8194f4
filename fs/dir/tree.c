/* SPDX-License-Identifier: MIT */
/* UNLINK, MKDIR, RMDIR; SYMLINK and LINK, which always fail. */
#include <errno.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/dir/emptied.h"
#include "fs/file/lookup.h"
#include "fs/live/live.h"
#include "fs/names/chunk.h"
#include "fs/report/errors.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"

/* The caller holds the family's lock exclusively. *less: the directory lost a stored cell or a
 * draft, not only the uncommitted name of a session. */
static int unlink_file(struct fs *fs, pid_t thread, struct node *base, const struct spelled *child,
		       const struct pos *pos, bool *less)
{
	struct file_id id = node_child_id(base, child->kind, child->bytes);
	struct wcs_cell_info was;
	struct node *session;
	int rc = lookup_file(fs, base, pos, child, &was);

	*less = rc == 0;
	if (rc == 0)
		rc = child->kind == NODE_DRAFT ? draft_remove(fs, id) : pos_delete(pos);
	else if (rc == -ENOENT) {
		session = writers_own(fs, thread, id, true);
		rc = session ? 0 : -ENOENT;
		nodes_put(fs->nodes, session, 1);
	}
	if (rc == 0)
		writers_detach(fs, thread, id, child->kind == NODE_CELL, false);
	if (rc == 0 && *less)
		cache_unlinked(fs, base, child, &was);
	return rc;
}

void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *dir = lookup_ino(fs, parent), *base = node_base(dir);
	struct spelled child;
	struct pos pos;
	bool less;
	int rc;

	if (lookup_refuses(req, parent))
		return;
	rc = lookup_child(fs, dir, name, &pos, &child);
	if (rc == -EINVAL)
		rc = -ENOENT;
	else if (rc == 0 && !node_is_value(child.kind))
		rc = report(fs, dir, name, 0, -EPERM, "control files cannot be removed");
	if (rc == 0) {
		writers_exclude(fs, dir);
		rc = unlink_file(fs, fuse_req_ctx(req)->pid, base, &child, &pos, &less);
		if (rc == 0 && child.kind == NODE_CELL && cache_is_usual(name))
			cache_replaced(fs, NULL, base, child.bytes);
		writers_release(fs, dir);
	}
	if (rc == 0 && less)
		emptied_keep(fs, dir, &child);
	if (rc == 0 && child.kind == NODE_VERSION)
		cache_expire_pos(fs, &pos, true, NOTICE_WAIT);
	else if (rc == 0 && !cache_is_usual(name)) /* the kernel may have a dentry in chunks, too */
		cache_expire_pos(fs, &pos, false, NOTICE_WAIT);
	fuse_reply_err(req, -rc);
}

/* The directories that can exist in memory alone. */
static bool is_in_tree(enum node_kind kind)
{
	return kind == NODE_PREFIX || kind == NODE_FAMILY || kind == NODE_HISTORY ||
	       kind == NODE_DRAFTS || kind == NODE_CHUNK;
}

static int mkdir_child(struct fs *fs, struct node *base, const struct spelled *child,
		       const struct pos *pos)
{
	int rc;

	if (child->kind == NODE_TABLE)
		return wcs_table_create(fs->store, child->buf);
	if (child->kind == NODE_POLICIES) {
		rc = wcs_family_create(pos->table, child->buf);
		if (rc == 0)
			cache_expire_family(fs, pos->table, child->buf);
		return rc;
	}
	rc = is_in_tree(child->kind) ? lookup_exists(fs, base, pos, child) : -EPERM;
	if (rc == -ENOENT)
		return pos_keep(fs, pos);
	return rc == 0 ? -EEXIST : rc;
}

void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_of(req);
	struct node *dir = lookup_ino(fs, parent), *base = node_base(dir), *node;
	struct fuse_entry_param entry;
	struct cache_mark mark;
	struct spelled child;
	struct pos pos;
	int rc;

	(void)mode;
	if (lookup_refuses(req, parent))
		return;
	cache_mark(fs, &mark);
	rc = wcs_store_failed(fs->store) ? -EROFS : spell_is_fixed(dir) ? -EPERM : 0;
	if (rc == 0)
		rc = lookup_child(fs, dir, name, &pos, &child);
	if (rc == 0 && spell_drafts(dir, name, &child)) { /* rsync's directory of drafts */
		rc = pos_of(dir, &pos);
		pos.kind = NODE_DRAFTS;
	}
	if (rc == 0)
		rc = mkdir_child(fs, base, &child, &pos);
	if (rc == 0)
		rc = lookup_node(fs, base, &child, NULL, &node);
	if (rc == 0) {
		lookup_entry(fs, node, &entry);
		entry.entry_timeout = cache_timeout(fs, &mark, node, name, NULL);
		errors_found(fs, loop_user());
	} else if (rc == -EINVAL)
		report_bad_name(fs, dir, name);
	else if (rc == -EPERM)
		report(fs, dir, name, 0, rc,
		       "a directory is a table, a segment of a key, a family or a history, and "
		       "none of these can be here");
	else if (rc == -EMFILE)
		rc = report(fs, dir, name, 0, -ENOSPC, "the store has %u tables, the maximum",
			    WCS_TABLES_MAX);
	else if (rc == -ENOSPC)
		report(fs, dir, name, 0, rc, "%u empty directories are in memory, the maximum",
		       MEMDIRS_MAX);
	lookup_reply(req, rc, &entry);
}

/* Removes a directory that exists only in memory. Its parent stays, in memory if the store has
 * nothing in it. */
static int rmdir_in_tree(struct fs *fs, struct node *dir, const struct spelled *child,
			 const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = child->kind == NODE_CHUNK ? chunk_stored(fs, node_base(dir), child->bytes, NULL)
					   : pos_stored(pos, NULL);

	if (rc != -ENOENT)
		return rc == 0 ? -ENOTEMPTY : rc;
	rc = pos_memdir_path(pos, &path);
	if (rc == 0 && !memdirs_has(fs->memdirs, &path, true))
		rc = -ENOENT;
	if (rc == 0 && (pos->kind == NODE_PREFIX || pos->kind == NODE_DRAFTS) &&
	    memdirs_has(fs->memdirs, &path, false))
		rc = -ENOTEMPTY;
	if (rc == 0) {
		memdirs_remove(fs->memdirs, &path);
		emptied_keep(fs, dir, child);
	}
	memdir_path_clear(&path);
	return rc;
}

/* Removes a family from the schema, and its directories in memory from all rows. */
static int rmdir_family(struct fs *fs, const struct node *dir, const struct pos *pos,
			struct wcs_slice name)
{
	struct memdir_path table = {0}, family = {0};
	const char *table_name = wcs_table_name(pos->table);
	int rc = memdir_path_add(&table, MEMDIR_TABLE,
				 (struct wcs_slice){table_name, strlen(table_name)});

	if (rc == 0)
		rc = memdir_path_add(&family, MEMDIR_FAMILY, name);
	if (rc == 0)
		rc = wcs_family_remove(pos->table, name.data);
	if (rc == 0) {
		memdirs_remove_family(fs->memdirs, &table, &family);
		writers_barrier(fs); /* no session commits a draft there any more */
		drafts_remove(fs, dir->parent->plain, name.data);
	}
	if (rc == 0)
		cache_expire_family(fs, pos->table, name.data);
	memdir_path_clear(&table);
	memdir_path_clear(&family);
	return rc;
}

/* Drops the drafts below a removed directory, and its node. The node of a table stays: its creation
 * time distinguishes it from a later table of that name. */
static void forget_node(struct fs *fs, struct node *base, const struct spelled *child)
{
	struct node_key key = {.parent = base, .kind = child->kind, .name = child->bytes};
	uint64_t plain = node_child_id(base, child->kind, child->bytes).file;

	if (child->kind == NODE_TABLE)
		writers_barrier(fs); /* no session commits a draft there any more */
	else if (child->kind != NODE_POLICIES)
		writers_detach_below(fs, plain, true, NULL);
	if (child->kind != NODE_POLICIES)
		drafts_remove(fs, plain, NULL);
	if (child->kind != NODE_TABLE)
		nodes_remove(fs->nodes, &key);
}

void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *dir = lookup_ino(fs, parent);
	struct spelled child;
	struct pos pos;
	int rc;

	if (lookup_refuses(req, parent))
		return;
	rc = lookup_child(fs, dir, name, &pos, &child);
	if (rc != 0) {
		fuse_reply_err(req, rc == -EINVAL ? ENOENT : -rc);
		return;
	}
	if (child.kind == NODE_TABLE) {
		rc = pos_table_check(fs, child.buf);
		rc = rc == 0 ? wcs_table_remove(fs->store, child.buf) : rc;
		if (rc == 0)
			live_removed(fs);
	} else if (child.kind == NODE_POLICIES) {
		rc = rmdir_family(fs, dir, &pos, child.bytes);
	} else {
		rc = is_in_tree(child.kind) ? rmdir_in_tree(fs, dir, &child, &pos)
					    : report(fs, dir, name, 0, -EPERM,
						     "views and the directories of control files "
						     "cannot be removed");
	}
	if (child.kind == NODE_TABLE || child.kind == NODE_POLICIES)
		report_protected(fs, dir, name, 0, rc);
	if (rc == -ENOTEMPTY && child.kind == NODE_TABLE)
		report(fs, dir, name, 0, rc,
		       "the table has rows or families; \"table\" and its name, written to its "
		       ".drop, removes it with them");
	if (rc == 0) {
		forget_node(fs, node_base(dir), &child);
		if (child.kind != NODE_TABLE)
			cache_expire_directory(fs, &pos);
		else if (dir->flags & NODE_F_VERSIONS)
			cache_expire_table(fs, child.buf);
	}
	fuse_reply_err(req, -rc);
}

static void refuse_link(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);

	if (lookup_refuses(req, parent))
		return;
	/* An editor that locks files with a link goes on without it. */
	report_miss(
		fs, lookup_ino(fs, parent), name,
		"a store has no links: copy the file, or make a link elsewhere that leads here");
	fuse_reply_err(req, EPERM);
}

void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	refuse_link(req, parent, name);
}

void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	refuse_link(req, parent, name);
}
