/* SPDX-License-Identifier: MIT */
/* Names that come and go: UNLINK, MKDIR, RMDIR, and what is never made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/dir/emptied.h"
#include "fs/file/lookup.h"
#include "fs/names/chunk.h"
#include "fs/serve/errors.h"
#include "fs/serve/report.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"

/* A name that just a session of this process makes. */
static int unlink_hidden(struct fs *fs, pid_t thread, struct node *base,
			 const struct spelled *child)
{
	struct node *session;
	int rc = writers_hidden(fs, thread, base, child, &session);

	if (rc == 0)
		nodes_put(fs->nodes, session, 1);
	return rc;
}

/* Lock: the family's, alone. *less: the directory has a file less, other than of a session. */
static int unlink_file(struct fs *fs, pid_t thread, struct node *base, const struct spelled *child,
		       const struct pos *pos, bool *less)
{
	struct file_id id = node_child_id(base, child->kind, child->bytes);
	struct wcs_cell_info was;
	int rc = lookup_file(fs, base, pos, child, &was);

	*less = rc == 0;
	if (rc == 0)
		rc = child->kind == NODE_DRAFT ? draft_remove(fs, id) : pos_delete(pos);
	else if (rc == -ENOENT)
		rc = unlink_hidden(fs, thread, base, child);
	if (rc == 0)
		writers_detach(fs, thread, child->kind, id);
	if (rc == 0 && *less)
		cache_unlinked(fs, base, child, &was);
	return rc;
}

static int unlink_name(struct fs *fs, pid_t thread, struct node *dir, const char *name)
{
	struct spelled child;
	struct pos pos;
	bool less;
	int rc = lookup_child(fs, dir, name, &pos, &child);

	if (rc != 0)
		return rc == -EINVAL ? -ENOENT : rc;
	if (child.kind != NODE_CELL && child.kind != NODE_VERSION && child.kind != NODE_DRAFT)
		return -EPERM;
	writers_exclude(fs, dir);
	rc = unlink_file(fs, thread, node_base(dir), &child, &pos, &less);
	if (rc == 0 && child.kind == NODE_CELL && cache_is_usual(name))
		cache_replaced(fs, node_base(dir), child.bytes);
	writers_release(fs, dir);
	if (rc == 0 && less)
		emptied_keep(fs, dir, &child);
	if (rc == 0 && child.kind == NODE_VERSION)
		cache_expire_pos(fs, &pos, true);
	else if (rc == 0 && !cache_is_usual(name)) /* it has an entry in chunks, too */
		cache_expire_pos(fs, &pos, false);
	return rc;
}

void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *dir = lookup_ino(fs, parent);

	fuse_reply_err(req, -unlink_name(fs, fuse_req_ctx(req)->pid, dir, name));
}

static int mkdir_in_tree(struct fs *fs, struct node *base, const struct spelled *child,
			 const struct pos *pos)
{
	int rc = lookup_exists(fs, base, pos, child);

	if (rc == -ENOENT)
		return pos_keep(fs, pos);
	return rc == 0 ? -EEXIST : rc;
}

static int mkdir_child(struct fs *fs, struct node *base, const struct spelled *child,
		       const struct pos *pos)
{
	int rc;

	switch (child->kind) {
	case NODE_TABLE:
		return wcs_table_create(fs->store, child->buf);
	case NODE_POLICIES:
		rc = wcs_family_create(pos->table, child->buf);
		if (rc == 0)
			cache_expire_family(fs, pos->table, child->buf);
		return rc;
	case NODE_PREFIX:
	case NODE_FAMILY:
	case NODE_HISTORY:
	case NODE_DRAFTS:
	case NODE_CHUNK:
		return mkdir_in_tree(fs, base, child, pos);
	default:
		return -EPERM;
	}
}

static int make_directory(struct fs *fs, struct node *dir, const char *name,
			  struct fuse_entry_param *entry)
{
	struct node *base = node_base(dir), *node;
	struct cache_mark mark;
	struct spelled child;
	struct pos pos;
	int rc;

	cache_mark(fs, &mark);
	rc = wcs_store_failed(fs->store) ? -EROFS : spell_is_fixed(dir) ? -EPERM : 0;
	if (rc == 0)
		rc = lookup_child(fs, dir, name, &pos, &child);
	if (rc == 0 && spell_drafts(dir, name, &child)) { /* in place of a column or draft */
		rc = pos_of(dir, &pos);
		pos.kind = NODE_DRAFTS;
	}
	if (rc == 0)
		rc = mkdir_child(fs, base, &child, &pos);
	if (rc == 0)
		rc = lookup_node(fs, base, &child, NULL, &node);
	if (rc == 0) {
		lookup_entry(fs, node, entry);
		entry->entry_timeout = cache_timeout(fs, &mark, node, name, NULL);
		errors_found(fs->errors);
	} else if (rc == -EINVAL)
		report_bad_name(fs, dir, name);
	else if (rc == -EPERM)
		report(fs, dir, name, 0, rc,
		       "a directory is a table, a segment of a key, a family or a history, and "
		       "here none of these can be");
	else if (rc == -EMFILE)
		rc = report(fs, dir, name, 0, -ENOSPC,
			    "the store has %u tables, the most that it can", WCS_TABLES_MAX);
	else if (rc == -ENOSPC)
		report(fs, dir, name, 0, rc,
		       "%u empty directories are in memory, the most that can be", MEMDIRS_MAX);
	return rc;
}

void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;
	int rc = make_directory(fs, lookup_ino(fs, parent), name, &entry);

	(void)mode;
	if (rc != 0)
		fuse_reply_err(req, -rc);
	else if (fuse_reply_entry(req, &entry) != 0)
		nodes_put(fs->nodes, lookup_inode(fs, entry.ino), 1);
}

/* Removes a directory that is in memory only; the one above it stays, if only there. */
static int rmdir_in_tree(struct fs *fs, struct node *dir, const struct spelled *child,
			 const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = child->kind == NODE_CHUNK ? chunk_stored(fs, node_base(dir), child->bytes)
					   : pos_stored(pos, NULL);

	if (rc != -ENOENT)
		return rc == 0 ? -ENOTEMPTY : rc;
	rc = pos_memdir_path(pos, &path);
	if (rc == 0 && !memdirs_exists(fs->memdirs, &path))
		rc = -ENOENT;
	if (rc == 0 && (pos->kind == NODE_PREFIX || pos->kind == NODE_DRAFTS) &&
	    memdirs_has_children(fs->memdirs, &path))
		rc = -ENOTEMPTY;
	if (rc == 0) {
		memdirs_remove(fs->memdirs, &path);
		emptied_keep(fs, dir, child);
	}
	memdir_path_clear(&path);
	return rc;
}

static int rmdir_table(struct fs *fs, const char *name)
{
	struct memdir_path path = {0};
	struct wcs_slice bytes = {name, strlen(name)};
	int rc = memdir_path_add(&path, MEMDIR_TABLE, bytes);

	if (rc == 0 && memdirs_has_children(fs->memdirs, &path))
		rc = -ENOTEMPTY;
	memdir_path_clear(&path);
	return rc == 0 ? wcs_table_remove(fs->store, name) : rc;
}

/* A family goes from the schema, and with it the directories in memory that it has in rows. */
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
		writers_barrier(fs); /* from then on no draft is committed there */
		drafts_remove_below(fs, dir->parent->plain, name.data);
	}
	if (rc == 0)
		cache_expire_family(fs, pos->table, name.data);
	memdir_path_clear(&table);
	memdir_path_clear(&family);
	return rc;
}

static void forget_history(struct fs *fs, const struct node *base, const struct spelled *child)
{
	uint64_t column = node_child_id(base, NODE_CELL, child->bytes).column;

	writers_exclude(fs, base);
	drafts_remove_all(fs, column);
	writers_detach_drafts(fs, column);
	writers_release(fs, base);
}

static void forget_drafts(struct fs *fs, const struct node *base, const struct spelled *child)
{
	uint64_t plain = node_child_id(base, child->kind, child->bytes).file;

	if (child->kind == NODE_TABLE)
		writers_barrier(fs); /* from then on no draft is committed there */
	else
		writers_detach_drafts_below(fs, plain);
	drafts_remove_below(fs, plain, NULL);
}

/* A table's node is told from another of its name by its time. */
static void forget_node(struct fs *fs, struct node *base, const struct spelled *child)
{
	struct node_key key = {.parent = base, .kind = child->kind, .name = child->bytes};

	if (child->kind == NODE_HISTORY)
		forget_history(fs, base, child);
	if (child->kind != NODE_POLICIES)
		forget_drafts(fs, base, child);
	if (child->kind != NODE_TABLE)
		nodes_remove(fs->nodes, &key);
}

static int rmdir_child(struct fs *fs, struct node *dir, const struct spelled *child,
		       const struct pos *pos)
{
	switch (child->kind) {
	case NODE_TABLE:
		return rmdir_table(fs, child->buf);
	case NODE_POLICIES:
		return rmdir_family(fs, dir, pos, child->bytes);
	case NODE_PREFIX:
	case NODE_FAMILY:
	case NODE_HISTORY:
	case NODE_DRAFTS:
	case NODE_CHUNK:
		return rmdir_in_tree(fs, dir, child, pos);
	default:
		return -EPERM;
	}
}

static int rmdir_name(struct fs *fs, struct node *dir, const char *name)
{
	struct spelled child;
	struct pos pos;
	int rc = lookup_child(fs, dir, name, &pos, &child);

	if (rc != 0)
		return rc == -EINVAL ? -ENOENT : rc;
	rc = rmdir_child(fs, dir, &child, &pos);
	if (child.kind == NODE_TABLE || child.kind == NODE_POLICIES)
		report_protected(fs, dir, name, 0, rc);
	if (rc == -ENOTEMPTY && child.kind == NODE_TABLE)
		report(fs, dir, name, 0, rc,
		       "the table has rows or families; \"table\" and its name, written to its "
		       ".drop, removes it with them");
	if (rc != 0)
		return rc;
	forget_node(fs, node_base(dir), &child);
	if (child.kind != NODE_TABLE)
		cache_expire_directory(fs, &pos);
	else if (dir->flags & NODE_F_VERSIONS)
		cache_expire_table(fs, child.buf);
	return 0;
}

void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);

	fuse_reply_err(req, -rmdir_name(fs, lookup_ino(fs, parent), name));
}

void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}

void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}
