/* SPDX-License-Identifier: MIT */
/*
 * Write sessions whose file is removed or renamed. Lock: the family's, exclusive, so no session in
 * it commits meanwhile; but a drop of rows and the removal of a directory concern any number of
 * families, and take a barrier instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/write/writer_private.h"

/* Does a change of the file concern the session? A session that makes the file is concerned only
 * if it is `own`: the one of the process that makes the change. */
static bool concerns(const struct writer *writer, const struct node *own)
{
	return !writer->unlinked && (writer->node == own || !writer_hidden(writer));
}

static bool is_version_of(const struct writer *writer, uint64_t column)
{
	return writer->target.kind == NODE_VERSION && writer->target.id.column == column;
}

void writers_detach(struct fs *fs, pid_t thread, struct file_id id, bool history, bool replaced)
{
	struct node *own = writers_own(fs, thread, id, true);
	struct writers *writers = fs->writers;
	struct writer *writer;

	pthread_mutex_lock(&writers->lock);
	for (writer = *writers_bucket(writers, id.column); writer; writer = writer->next)
		if (concerns(writer, own) && !(replaced && writer->process == 0) &&
		    (writer->target.id.file == id.file ||
		     (history && is_version_of(writer, id.column))))
			writer->unlinked = true;
	pthread_mutex_unlock(&writers->lock);
	nodes_put(fs->nodes, own, 1);
}

void writers_detach_below(struct fs *fs, uint64_t plain, bool drafts, const char *family)
{
	struct writers *writers = fs->writers;
	bool detached = false;

	if (writers->count == 0)
		return;
	pthread_mutex_lock(&writers->lock);
	for (size_t i = 0; i < WRITERS_BUCKETS; i++)
		for (struct writer *writer = writers->open[i]; writer; writer = writer->next)
			if ((drafts ? writer->target.kind == NODE_DRAFT : concerns(writer, NULL)) &&
			    node_is_below(writer->node, plain) &&
			    (!family || node_is_in_family(writer->node, family)))
				writer->unlinked = detached = true;
	pthread_mutex_unlock(&writers->lock);
	/* Otherwise the removal of many directories would wait at each for all commits. */
	if (detached || !drafts)
		writers_barrier(fs);
}

void writers_barrier(struct fs *fs)
{
	for (size_t i = 0; i < WRITERS_FAMILIES; i++) {
		pthread_rwlock_wrlock(&fs->writers->families[i]);
		pthread_rwlock_unlock(&fs->writers->families[i]);
	}
}

/* Gives a session another target. A new file does not append to the file that has the other name.
 */
static int move_one(struct fs *fs, struct writer *writer, const struct writer_target *to,
		    const struct writer_moved *moved)
{
	char *qualifier = malloc(to->qualifier.len + 1);
	int rc = 0;

	if (!qualifier)
		return -ENOMEM;
	if (to->qualifier.len > 0)
		memcpy(qualifier, to->qualifier.data, to->qualifier.len);
	pthread_mutex_lock(&writer->lock);
	if (!moved)
		rc = writer_make_whole(fs, writer);
	if (rc == 0) {
		if (moved && writer->committed == moved->newest)
			writer->committed = moved->now;
		else if (moved && moved->merged) /* the version that it made is gone */
			writer->committed = WCS_TS_NONE;
		pthread_mutex_lock(&fs->writers->lock);
		writers_take_out(fs->writers, writer);
		free((void *)writer->target.qualifier.data);
		writer->target = *to;
		writer->target.qualifier.data = qualifier;
		writers_put_in(fs->writers, writer);
		pthread_mutex_unlock(&fs->writers->lock);
		qualifier = NULL;
	}
	pthread_mutex_unlock(&writer->lock);
	free(qualifier);
	return rc;
}

/* The next session that a rename of the file, or of its versions, concerns, with a reference to its
 * node. */
static struct writer *next_of(struct writers *writers, struct file_id id, bool versions,
			      const struct node *own)
{
	struct writer *writer;

	pthread_mutex_lock(&writers->lock);
	for (writer = *writers_bucket(writers, id.column); writer; writer = writer->next)
		if ((versions ? is_version_of(writer, id.column)
			      : writer->target.id.file == id.file) &&
		    concerns(writer, own) && node_get_alive(writer->node))
			break;
	pthread_mutex_unlock(&writers->lock);
	return writer;
}

/* The sessions of a column's versions follow it. */
static int move_history(struct fs *fs, uint64_t column, const struct writer_target *to,
			const struct writer_moved *moved)
{
	struct file_id from = {.column = column};
	struct writer_target version = *to;
	char name[NAMES_TS_MAX + 1];
	struct writer *writer;
	int rc = 0;

	version.kind = NODE_VERSION;
	while (rc == 0 && column != to->id.column &&
	       (writer = next_of(fs->writers, from, true, NULL)) != NULL) {
		struct node *node = writer->node;
		bool newest = writer->target.ts == moved->newest;

		if (moved->merged && !newest) {
			writer->unlinked = true;
		} else {
			version.ts = newest ? moved->now : writer->target.ts;
			version.id = node_version_id(
				to->id.column,
				(struct wcs_slice){name, names_ts_format(version.ts, name)});
			rc = move_one(fs, writer, &version, moved);
		}
		nodes_put(fs->nodes, node, 1);
	}
	return rc;
}

int writers_rename(struct fs *fs, pid_t thread, struct file_id from, const struct writer_target *to,
		   const struct writer_moved *moved)
{
	struct node *own = writers_own(fs, thread, from, true);
	struct writer *writer;
	int rc = !moved && !own ? -ENOENT : 0;

	if (rc == 0 && from.file != to->id.file) {
		writers_detach(fs, thread, to->id, false, true);
		while (rc == 0 && (writer = next_of(fs->writers, from, false, own)) != NULL) {
			struct node *node = writer->node;

			rc = move_one(fs, writer, to, moved);
			nodes_put(fs->nodes, node, 1);
		}
	}
	nodes_put(fs->nodes, own, 1);
	return rc == 0 && moved && moved->history ? move_history(fs, from.column, to, moved) : rc;
}
