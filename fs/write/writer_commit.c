/* SPDX-License-Identifier: MIT */
/* The commits of a write session, and its times. Locks: the family's, shared, and the session's. */
#include <errno.h>
#include <string.h>

#include "fs/names/number.h"
#include "fs/value/draft.h"
#include "fs/write/writer_private.h"
#include "lib/clock.h"

/* ---- Times ------------------------------------------------------------------------------- */

/* Would the time hide the column's only cell at once, and is the name a temporary one of rsync,
 * which renames the file next? *child: the draft of that name. */
static bool hides_temporary(const struct node *node, const struct pos *pos, int64_t stamp,
			    struct spelled *child, struct wcs_cell_info *info)
{
	char name[SPELL_MAX];
	struct wcs_cell_info older;
	enum wcs_type type;
	size_t len;

	if (pos->kind != NODE_CELL || pos_stored(pos, info) != 0 || info->expires == WCS_TS_MAX ||
	    info->expires - info->ts > clock_now() - stamp)
		return false;
	len = spell_child(NULL, NODE_CELL, pos->qualifier, name);
	return len <= NAMES_COMPONENT_MAX && spell_temporary(node->parent, name, child) == 0 &&
	       pos_older(pos, &older) == -ENOENT && pos_type(pos, &type) == 0 && type != WCS_INTHLL;
}

static int restamp(struct fs *fs, const struct node *node, const struct pos *pos, int64_t stamp)
{
	const struct writer *writer = node->writer;
	struct wcs_cell_info info;
	struct spelled child;
	struct file_id id;
	struct pos cell;
	struct wcs_move move = {.kind = WCS_MOVE_STAMP,
				.family = pos->family,
				.from = pos->qualifier,
				.to_ts = stamp};

	if (pos->kind == NODE_DRAFT)
		return draft_stamp(fs, writer->target.id, stamp);
	if (hides_temporary(node, pos, stamp, &child, &info)) {
		/* A draft of the column's name with that time, which can then be renamed. */
		id = node_child_id(node->parent, NODE_DRAFT, child.bytes);
		cell = *pos;
		cell.kind = NODE_VERSION;
		cell.ts = info.ts;
		if (draft_of_version(fs, node->parent, id, &cell, stamp) == 0)
			return 0;
	}
	return wcs_cells_move(pos->table, pos_key(pos), &move, NULL);
}

/*
 * A version that the session has made is made once more, with the stamp. Lines: the last close
 * stamps the stored cell; a file that is written anew may ignore an old stamp then.
 *
 * Checks the conditions of restamp now, because an error of the last close reaches no program: the
 * stamp must be later than the column's second newest cell, and a small value is written anew.
 */
static int stamp_open(struct fs *fs, struct writer *writer, const struct pos *pos, int64_t stamp)
{
	bool checks = writer->lines.on ? !writer->lines.whole
				       : !writer->dirty && !writer->pending &&
						 (writer->committed < 0 || writer->append);
	uint64_t size = writer_base_size(writer);
	struct wcs_cell_info info;
	int rc = 0;

	if (checks && pos->kind != NODE_DRAFT) {
		rc = pos_older(pos, &info);
		if (rc == 0 && stamp <= info.ts)
			rc = -EINVAL;
		else if (rc == -ENOENT)
			rc = 0;
		if (rc == 0 && size > 0 && size <= WCS_VALUE_INLINE)
			rc = wcs_store_room(fs->store, size);
	}
	if (rc != 0)
		return rc;
	writer->stamped = true;
	writer->stamp = stamp;
	if (!writer->lines.on && writer->committed >= 0 && !writer->append)
		writer->dirty = true;
	return 0;
}

int writer_stamp(struct fs *fs, struct node *node, int64_t stamp)
{
	struct writer *writer = node->writer;
	struct pos pos;
	int rc;

	if (writer->target.kind == NODE_VERSION)
		return 0;
	pthread_mutex_lock(&writer->lock);
	rc = writer_pos(node, &pos);
	if (rc == 0 && writer->handles > 0)
		rc = stamp_open(fs, writer, &pos, stamp);
	else if (rc == 0)
		rc = restamp(fs, node, &pos, stamp);
	if (rc == 0)
		writer->time = stamp;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

int writer_stamp_stored(struct fs *fs, const struct node *node, struct writer *writer)
{
	struct pos pos;
	int rc;

	if (!writer->stamped || writer->aborted || writer->unlinked || writer->error != 0 ||
	    writer->target.kind == NODE_VERSION)
		return 0;
	rc = writer_pos(node, &pos);
	if (rc == 0)
		rc = restamp(fs, node, &pos, writer->stamp);
	return writer->lines.whole && (rc == -EINVAL || rc == -ENOENT) ? 0 : rc;
}

/* ---- Commits ----------------------------------------------------------------------------- */

/* Was its file created and not written? That makes a file, but no version if one is there. */
static bool only_creates(const struct writer *writer)
{
	return writer->hidden && !writer->dirty && !writer->truncated;
}

/* Adds the changes of a column's session to a mutation, which borrows from the session. */
static int fill_column(struct writer *writer, const struct pos *pos, struct wcs_slice value,
		       struct wcs_mutation *mutation)
{
	bool again = writer->committed >= 0;
	int rc = 0;

	if (writer->append) {
		value.data = (const char *)value.data + writer->appended;
		value.len -= writer->appended;
		rc = wcs_mutation_append(mutation, pos->family, pos->qualifier, value,
					 writer->committed);
	} else if (!writer->stamped) {
		rc = wcs_mutation_set(mutation, pos->family, pos->qualifier,
				      again ? writer->committed : WCS_TS_SERVER, value);
	} else {
		if (again)
			rc = wcs_mutation_delete_cell(mutation, pos->family, pos->qualifier,
						      writer->committed);
		if (rc == 0)
			rc = wcs_mutation_set_newest(mutation, pos->family, pos->qualifier,
						     writer->stamp, value);
	}
	if (rc == 0 && only_creates(writer))
		rc = wcs_mutation_if(mutation, pos->family, pos->qualifier, NULL);
	return rc;
}

static int commit_cell(struct fs *fs, const struct node *node, struct writer *writer, int64_t *ts)
{
	unsigned char parsed[WCS_AGGREGATE_LINE_MAX];
	struct wcs_mutation *mutation;
	struct wcs_slice value;
	struct pos pos;
	int rc = writer_pos(node, &pos);

	if (rc != 0)
		return rc;
	*ts = WCS_TS_NONE;
	if (pos.kind == NODE_VERSION && only_creates(writer) && pos_stored(&pos, NULL) == 0)
		return 0;
	mutation = wcs_mutation_new();
	if (!mutation)
		return -ENOMEM;
	if (!writer->append || pos.kind != NODE_CELL)
		rc = writer_make_whole(fs, writer);
	if (rc == 0)
		rc = spool_map(&writer->spool, &value);
	if (rc == 0 && !writer->append) /* a session of a draft that became an aggregate's cell */
		rc = number_to_store(&pos, &value, parsed);
	if (rc == 0)
		rc = pos.kind == NODE_VERSION
			     ? wcs_mutation_set(mutation, pos.family, pos.qualifier, pos.ts, value)
			     : fill_column(writer, &pos, value, mutation);
	if (rc == 0)
		rc = wcs_row_mutate(pos.table, pos_key(&pos), mutation, ts);
	wcs_mutation_free(mutation);
	if (rc == -ECANCELED) { /* another session made the column meanwhile */
		*ts = WCS_TS_NONE;
		rc = 0;
	}
	return rc;
}

/* The draft's value and the bytes that the session appended since its last commit, as one value. */
static int appended(struct fs *fs, struct writer *writer, uint32_t *etag, struct value **value)
{
	struct wcs_cell_info info = {0};
	struct value *old = NULL;
	struct spool spool;
	int rc;

	draft_get(fs, writer->target.id, &info, &old); /* there may be none */
	*etag = info.etag;
	rc = writer_join(fs, writer, old, writer->appended, &spool);
	value_put(old);
	if (rc != 0)
		return rc;
	*value = value_new(&spool);
	spool_clear(&spool);
	return *value ? 0 : -ENOMEM;
}

static int put_draft(struct fs *fs, struct writer *writer, struct value *value, int64_t ts,
		     const uint32_t *before)
{
	struct node *dir = writer->node->parent;
	struct pos pos;
	int rc = pos_of(dir, &pos);

	if (rc == 0 &&
	    !wcs_family_exists(pos.table, (struct wcs_slice){pos.family, strlen(pos.family)}))
		rc = -ENOENT; /* the family was removed, with its drafts */
	if (rc == 0)
		rc = draft_put(fs, dir, writer->target.id, value, ts, before, writer->reserved);
	if (rc == 0)
		writer->reserved = false;
	return rc;
}

/* The draft's value is then the session's base, too, until the session writes again. */
static int commit_draft(struct fs *fs, struct writer *writer, int64_t *ts)
{
	struct value *value;
	uint32_t etag = 0;
	int rc = -EAGAIN;

	*ts = writer->stamped ? writer->stamp : clock_now();
	while (writer->append && rc == -EAGAIN) {
		rc = appended(fs, writer, &etag, &value);
		if (rc != 0)
			return rc;
		rc = put_draft(fs, writer, value, *ts, &etag);
		value_put(value);
	}
	if (writer->append)
		return rc;
	if (!writer->base)
		writer->base = value_new(&writer->spool);
	if (!writer->base)
		return -ENOMEM;
	rc = put_draft(fs, writer, writer->base, *ts, only_creates(writer) ? &etag : NULL);
	if (rc == -EAGAIN) { /* another session made the draft meanwhile */
		*ts = WCS_TS_NONE;
		rc = 0;
	}
	return rc;
}

int writer_commit_all(struct fs *fs, struct node *node, struct writer *writer)
{
	int64_t ts;
	int rc;

	if (writer->aborted || writer->unlinked)
		return 0;
	if (writer->error != 0)
		return writer->error;
	if (writer->lines.on)
		return writer_lines_end(fs, node, writer);
	rc = writer->target.kind == NODE_DRAFT ? commit_draft(fs, writer, &ts)
					       : commit_cell(fs, node, writer, &ts);
	if (rc != 0)
		return rc;
	writer->committed = ts;
	if (ts != WCS_TS_NONE)
		writer->time = ts;
	writer->appended = writer->spool.size;
	writer->dirty = writer->pending = writer->truncated = false;
	/* An append took no stamp: the last close gives it to the stored cell. */
	if (!writer->append)
		writer->stamped = false;
	writer->hidden = false;
	return 0;
}
