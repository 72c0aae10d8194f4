/* SPDX-License-Identifier: MIT */
/* LOOKUP and FORGET; the node that a name leads to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control.h"
#include "fs/file/attr.h"
#include "fs/file/lookup.h"
#include "fs/fs.h"
#include "fs/names/chunk.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "fs/value/draft.h"
#include "fs/write/writer.h"
#include "store/chain/chain.h"
#include "store/chain/views.h"
#include "store/heat/heat.h"

int lookup_node(struct fs *fs, struct node *dir, const struct spelled *child,
		const struct wcs_cell_info *info, struct node **node)
{
	uint8_t flags = dir->flags & (NODE_F_VERSIONS | NODE_F_VIEW);
	struct node_key key = {.parent = dir, .kind = child->kind, .name = child->bytes};
	bool root = child->kind == NODE_ROOT;
	struct wcs_table *table = NULL;
	int rc;

	if (root)
		flags |= NODE_F_VERSIONS;
	if (child->kind == NODE_VIEW)
		flags |= NODE_F_VIEW;
	/* A mount that shows one table has that table below .versions, too. */
	if (child->kind == NODE_TABLE || (root && dir->kind == NODE_TABLE)) {
		rc = wcs_table_open(fs->store, root ? wcs_table_name(dir->table) : child->buf,
				    &table);
		if (rc != 0)
			return rc;
		key.kind = NODE_TABLE;
		key.etag = node_table_etag(table);
	} else if (child->kind == NODE_CONTROL) {
		key.ts = child->control;
	} else if (node_is_value(child->kind)) {
		key.ts = info->ts;
		key.etag = info->etag;
		key.size = (uint32_t)info->size;
	}
	*node = nodes_get(fs->nodes, &key, flags, table);
	return *node ? 0 : -ENOMEM;
}

bool lookup_refuses(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	const struct node *node = lookup_ino(fs, ino);

	if (!(node->flags & NODE_F_VIEW))
		return false;
	report(fs, node, NULL, 0, -EROFS,
	       "a view is read-only: change the row by its path outside of views");
	fuse_reply_err(req, EROFS);
	return true;
}

void lookup_entry(struct fs *fs, struct node *node, struct fuse_entry_param *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->ino = node->nodeid;
	entry->generation = node->generation;
	attr_fill(fs, node, &entry->attr);
	entry->attr_timeout = attr_timeout(fs, node);
}

struct node *lookup_inode(struct fs *fs, fuse_ino_t ino)
{
	return nodes_at(fs->nodes, ino);
}

struct node *lookup_ino(struct fs *fs, fuse_ino_t ino)
{
	struct node *inode = lookup_inode(fs, ino);

	return inode ? node_now(inode) : NULL;
}

static void add_name(struct retry_names *names, uint64_t name)
{
	memmove(names->all + 1, names->all, sizeof(names->all) - sizeof(names->all[0]));
	names->all[0] = name;
}

enum retry_state lookup_retry(struct fs *fs, const struct node *inode, pid_t thread,
			      enum retry_want want)
{
	struct retry_names names = {0};
	uint64_t alias;

	for (const struct node *node = inode; node; node = node_moved(node)) {
		alias = node->alias;
		if (alias != 0)
			add_name(&names, alias);
		add_name(&names, node->plain);
	}
	return retry_ask(fs->retries, thread, &names, want);
}

/* Does a draft stand in for the column? touch gave the cell a time that the policy hides, and it
 * became a draft. */
static bool is_hidden_draft(struct fs *fs, const struct node *dir, const char *name,
			    const struct pos *pos)
{
	struct wcs_cell_info info;
	struct spelled draft;

	if (pos->kind != NODE_CELL || pos->view || name[0] != '.' ||
	    drafts_count(fs->drafts) == 0 || spell_temporary(dir, name, &draft) != 0)
		return false;
	return draft_get(fs, node_child_id(dir, NODE_DRAFT, draft.bytes), &info, NULL) == 0 &&
	       pos_stored(pos, NULL) == -ENOENT;
}

int lookup_child(struct fs *fs, struct node *dir, const char *name, struct pos *pos,
		 struct spelled *child)
{
	int rc = pos_of(dir, pos);

	if (rc == 0 && spell_drafts(dir, name, child)) {
		pos_descend(pos, NODE_DRAFTS, child->bytes);
		if (pos_exists(fs, pos) == 0)
			return 0;
		rc = pos_of(dir, pos);
	}
	if (rc == 0)
		rc = spell_parse(dir, pos, name, child);
	if (rc == 0)
		rc = pos_descend(pos, child->kind, child->bytes);
	if (rc != 0 || !is_hidden_draft(fs, dir, name, pos))
		return rc;
	rc = pos_of(dir, pos);
	if (rc == 0)
		rc = spell_temporary(dir, name, child);
	return rc == 0 ? pos_descend(pos, child->kind, child->bytes) : rc;
}

/* Tells why the argument of a view, or the name of a policy, is wrong. Returns error. */
static int bad_text(struct fs *fs, const struct node *dir, const char *name, int error,
		    struct wcs_fault *fault)
{
	return fault->text[0] ? report(fs, dir, name, 0, error, "%s", wcs_fault_words(fault))
			      : error;
}

/* Is the name of a file in a family's explain a policy? */
static int policy_check(struct fs *fs, const struct node *dir, const char *policy)
{
	struct wcs_fault fault = {0};
	char *canonical = NULL;
	int rc = wcs_gc_canonical(policy, &canonical, &fault);

	free(canonical);
	return rc == 0 ? 0 : bad_text(fs, dir, policy, rc, &fault);
}

/* Has the mount that table? */
static int table_check(struct fs *fs, const char *name)
{
	struct wcs_table *table = NULL;
	int rc = fs->options.table && strcmp(fs->options.table, name) != 0
			 ? -ENOENT
			 : wcs_table_open(fs->store, name, &table);

	wcs_table_close(table);
	return rc;
}

int lookup_exists(struct fs *fs, struct node *base, const struct pos *pos,
		  const struct spelled *child)
{
	if (child->kind == NODE_CHUNK)
		return chunk_first(fs, base, pos, child->bytes, NULL);
	if (child->kind == NODE_POLICIES)
		return wcs_family_exists(pos->table, child->bytes) ? 0 : -ENOENT;
	if (child->kind == NODE_KEYVIS)
		return fs->options.keyvis ? 0 : -ENOENT;
	if (child->kind == NODE_HEAT)
		return table_check(fs, child->buf);
	if (base->kind == NODE_EXPLAIN)
		return policy_check(fs, base, child->buf);
	return pos_exists(fs, pos);
}

int lookup_file(struct fs *fs, const struct node *base, const struct pos *pos,
		const struct spelled *child, struct wcs_cell_info *info)
{
	struct wcs_cell_info unused;

	if (child->kind != NODE_DRAFT)
		return pos_stored(pos, info);
	if (pos->view)
		return -ENOENT;
	return draft_get(fs, node_child_id(base, child->kind, child->bytes), info ? info : &unused,
			 NULL);
}

/* A short control file has a node for each of its texts. */
static int lookup_control(struct fs *fs, pid_t thread, struct node *base,
			  const struct spelled *child, struct node **node)
{
	struct node_key key = {
		.parent = base, .kind = NODE_CONTROL, .name = child->bytes, .ts = child->control};
	struct node *stream;
	int rc = lookup_node(fs, base, child, NULL, &stream);

	if (rc != 0)
		return rc;
	retry_lookup(fs->retries, thread, stream->plain);
	control_look(fs, stream, &key.etag, &key.size);
	*node = key.etag == 0
			? node_get(stream)
			: nodes_get_text(fs->nodes, &key, stream->flags, thread, loop_request());
	nodes_put(fs->nodes, stream, 1);
	return *node ? 0 : -ENOMEM;
}

/* The view that the name of a NODE_VIEWED gives an argument to, or is. */
static const struct wcs_view_name *view_of(const struct node *base, const struct spelled *child)
{
	const char *name = (base->kind == NODE_VIEW ? base->name : child->buf) + 1;

	return wcs_view_find(name, strlen(name));
}

static bool names_families(const struct wcs_view_name *view)
{
	return view->kind == WCS_STEP_HAS || view->kind == WCS_STEP_WHERE ||
	       view->kind == WCS_STEP_COLUMNS;
}

/* Does the child of a view, or the view, exist as long as its directory does, as that node? */
static bool is_constant(const struct node *base, const struct spelled *child,
			const struct node *node)
{
	return (child->kind == NODE_CONTROL && !control_moves(node)) || child->kind == NODE_VIEW ||
	       (child->kind == NODE_VIEWED && !names_families(view_of(base, child)) &&
		wcs_chain_moment(view_chain(node->view)) == 0);
}

/* The node of a view with its argument, and the chain of the views above and this one. A view that
 * names families is read again: one may have been removed since the node was made. So is one whose
 * KEY may have a span before the present, which is part of the node's identity. */
static int lookup_view(struct fs *fs, struct node *dir, const char *name, const struct pos *pos,
		       const struct spelled *child, struct node **node)
{
	struct node *base = node_base(dir);
	const struct wcs_view_name *view = view_of(base, child);
	struct node_key key = {.parent = base,
			       .kind = NODE_VIEWED,
			       .name = child->bytes,
			       .etag = wcs_table_layout(pos->table)};
	struct wcs_chain *above = view_chain(pos->view), *chain;
	struct wcs_slice row = pos_key(pos);
	struct wcs_view_text argument = {.text = child->bytes,
					 .key = pos->depth > 0 ? &row : NULL,
					 .delimiter = pos->delimiter};
	struct wcs_fault fault = {0};
	struct view *made;
	bool timed = view->form == WCS_VIEW_KEY && pos->keys;
	int rc;

	*node = timed ? NULL : nodes_find(fs->nodes, &key);
	if (*node && !names_families(view))
		return 0;
	if (!view->argument)
		argument.text.len = 0;
	rc = wcs_view_add(pos->table, above, view, &argument, &chain, &fault);
	if (rc == 0 && timed) {
		key.etag ^= wcs_chain_moment(chain);
		*node = nodes_find(fs->nodes, &key);
	}
	if (rc == 0 && !*node) {
		if (wcs_chain_crossed(chain) && !wcs_chain_crossed(above))
			report_remark(fs, dir, name,
				      "no row is here: .from is above .to in this chain of views");
		if (fault.text[0])
			report_remark(fs, dir, name, fault.text);
		made = view_new(chain);
		if (made)
			*node = nodes_get(fs->nodes, &key, NODE_F_VIEW, made);
		return *node ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		wcs_chain_free(chain);
		return 0;
	}
	nodes_put(fs->nodes, *node, 1);
	return bad_text(fs, dir, name, rc, &fault);
}

/* A name in a view. Only committed values are there, and directories that hold some. */
static int lookup_viewed(struct fs *fs, pid_t thread, struct node *dir, const char *name,
			 struct pos *pos, const struct spelled *child, struct node **node)
{
	struct node *base = node_base(dir);
	struct wcs_cell_info info = {0};
	int rc;

	if (child->kind == NODE_VIEWED)
		return lookup_view(fs, dir, name, pos, child, node);
	if (child->kind == NODE_CONTROL)
		return lookup_control(fs, thread, base, child, node);
	if (child->kind == NODE_VIEW || base->kind == NODE_VIEW)
		return lookup_node(fs, base, child, NULL, node);
	rc = pos_enter(pos, false);
	if (rc == 0)
		rc = node_is_value(child->kind) ? lookup_file(fs, base, pos, child, &info)
						: lookup_exists(fs, base, pos, child);
	pos_leave(pos);
	return rc == 0 ? lookup_node(fs, base, child, &info, node) : rc;
}

/* A file's name leads to its committed value, or to the session that writes or creates it. */
static int lookup_value(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
			const struct pos *pos, struct wcs_cell_info *info, struct node **node)
{
	int rc = lookup_file(fs, dir, pos, child, info);

	if (rc == -ENOENT) {
		*node = writers_own(fs, thread, node_child_id(dir, child->kind, child->bytes),
				    true);
		if (!*node)
			retry_missed(fs->retries, thread);
		return *node ? 0 : -ENOENT;
	}
	if (rc == 0)
		rc = writers_lookup(fs, thread, dir, child, info, node);
	return rc == -ENOENT ? lookup_node(fs, dir, child, info, node) : rc;
}

static int lookup(struct fs *fs, pid_t thread, struct node *dir, const char *name,
		  struct fuse_entry_param *entry)
{
	struct node *base = node_base(dir), *node;
	struct wcs_cell_info info = {0};
	struct cache_mark mark;
	struct spelled child;
	struct pos pos;
	bool autodir = false;
	int rc;

	cache_mark(fs, &mark);
	rc = lookup_child(fs, dir, name, &pos, &child);
	if (rc == -EINVAL && base->kind == NODE_VIEW)
		return report(fs, dir, name, 0, rc, "%s", WCS_VIEW_SPLIT);
	if (rc != 0)
		return rc == -EINVAL ? -ENOENT : rc;
	if ((base->flags & NODE_F_VIEW) || child.kind == NODE_VIEWED || child.kind == NODE_VIEW) {
		rc = lookup_viewed(fs, thread, dir, name, &pos, &child, &node);
		if (rc == 0) {
			lookup_entry(fs, node, entry);
			entry->entry_timeout =
				is_constant(base, &child, node) ? cache_fresh(fs) : 0;
		}
		return rc;
	}
	if (child.kind == NODE_FAMILY || child.kind == NODE_HISTORY)
		cache_deferred_wait(fs, thread);
	if (node_is_value(child.kind)) {
		cache_mark_column(fs, &mark, node_child_id(base, child.kind, child.bytes).column);
		rc = lookup_value(fs, thread, base, &child, &pos, &info, &node);
	} else {
		rc = lookup_exists(fs, base, &pos, &child);
		/* The kernel never caches it, so its changes need no notice. */
		autodir = rc == -ENOENT && fs->options.autodir &&
			  (pos.kind == NODE_PREFIX || pos.kind == NODE_FAMILY ||
			   (pos.kind == NODE_CHUNK && !pos.family));
		if (rc == 0 && child.kind == NODE_CONTROL)
			rc = lookup_control(fs, thread, base, &child, &node);
		else if (rc == 0 || autodir)
			rc = lookup_node(fs, base, &child, NULL, &node);
	}
	if (rc == 0) {
		lookup_entry(fs, node, entry);
		entry->entry_timeout = autodir ? 0 : cache_timeout(fs, &mark, node, name, &info);
		if (node->kind == NODE_CELL && (node->flags & NODE_F_WRITER) &&
		    cache_is_usual(name))
			writer_found(node, &mark);
	}
	return rc;
}

void lookup_reply(fuse_req_t req, int rc, const struct fuse_entry_param *entry)
{
	struct fs *fs = fs_of(req);

	if (rc != 0)
		fuse_reply_err(req, -rc);
	else if (fuse_reply_entry(req, entry) != 0)
		nodes_put(fs->nodes, lookup_inode(fs, entry->ino), 1);
}

void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct node *dir = lookup_ino(fs, parent);
	struct fuse_entry_param entry;
	int rc;

	wcs_heat_look(true);
	fs_interruptible(req);
	rc = lookup(fs, fuse_req_ctx(req)->pid, dir, name, &entry);
	fs_interruptible(NULL);
	wcs_heat_look(false);
	if (rc == -ENOENT)
		report_missing(fs, dir, name);
	lookup_reply(req, report_unreadable(fs, dir, name, rc), &entry);
}

void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct fs *fs = fs_of(req);

	nodes_put(fs->nodes, lookup_inode(fs, ino), count);
	fuse_reply_none(req);
}

void fs_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	for (size_t i = 0; i < count; i++)
		nodes_put(fs->nodes, lookup_inode(fs, forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}
