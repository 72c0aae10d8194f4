/* SPDX-License-Identifier: MIT */
/*
 * Makes, finds and frees write sessions. Holds the registry, which finds a session by its column's
 * id (the same id in both trees), and the locks of the families.
 *
 * The first open registers a session, and the last close removes it. A session that a lookup made
 * is registered from that lookup on, so that a rename between lookup and open moves the session
 * too. The kernel may forget the node before the first open; then freeing the node removes the
 * session. No thread takes a session's lock while it holds the registry's.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/mount/process.h"
#include "fs/write/retry.h"
#include "fs/write/writer_private.h"
#include "lib/clock.h"

struct writers *writers_new(struct caches *caches)
{
	struct writers *writers = calloc(1, sizeof(*writers));
	pthread_rwlockattr_t attr;

	if (!writers)
		return NULL;
	pthread_mutex_init(&writers->lock, NULL);
	/* A waiting rename gets the lock before later commits; otherwise a steady stream of commits
	 * could block it for ever.
	 */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (size_t i = 0; i < WRITERS_FAMILIES; i++)
		pthread_rwlock_init(&writers->families[i], &attr);
	pthread_rwlockattr_destroy(&attr);
	writers->caches = caches;
	return writers;
}

void writers_free(struct writers *writers)
{
	if (!writers)
		return;
	for (size_t i = 0; i < WRITERS_FAMILIES; i++)
		pthread_rwlock_destroy(&writers->families[i]);
	pthread_mutex_destroy(&writers->lock);
	free(writers);
}

static pthread_rwlock_t *family_of(struct fs *fs, const struct node *node)
{
	while (node->parent && node->kind != NODE_FAMILY)
		node = node->parent;
	return &fs->writers->families[node->plain % WRITERS_FAMILIES];
}

void writers_share(struct fs *fs, const struct node *node)
{
	pthread_rwlock_rdlock(family_of(fs, node));
}

void writers_exclude(struct fs *fs, const struct node *node)
{
	pthread_rwlock_wrlock(family_of(fs, node));
}

void writers_release(struct fs *fs, const struct node *node)
{
	pthread_rwlock_unlock(family_of(fs, node));
}

struct writer **writers_bucket(struct writers *writers, uint64_t column)
{
	return &writers->open[column % WRITERS_BUCKETS];
}

size_t writers_count(const struct writers *writers)
{
	return writers->count;
}

void writers_put_in(struct writers *writers, struct writer *writer)
{
	struct writer **bucket = writers_bucket(writers, writer->target.id.column);

	writer->next = *bucket;
	*bucket = writer;
	cache_hold(writers->caches, writer->target.id.column);
}

void writers_take_out(struct writers *writers, struct writer *writer)
{
	struct writer **link = writers_bucket(writers, writer->target.id.column);

	while (*link != writer)
		link = &(*link)->next;
	*link = writer->next;
	cache_release(writers->caches, writer->target.id.column);
}

void writers_remember(struct fs *fs, struct writer *writer, struct node *node)
{
	struct writers *writers = fs->writers;

	pthread_mutex_lock(&writers->lock);
	if (!writer->registry) {
		writer->registry = writers;
		writer->node = node;
		writers_put_in(writers, writer);
		writers->count++;
	}
	pthread_mutex_unlock(&writers->lock);
}

void writers_forget(struct writer *writer)
{
	struct writers *writers = writer->registry;

	if (!writers)
		return;
	pthread_mutex_lock(&writers->lock);
	writer->registry = NULL;
	writers_take_out(writers, writer);
	writers->count--;
	pthread_mutex_unlock(&writers->lock);
}

/* The first session of a file after `from` (NULL: of all). Lock: the registry's. */
static struct writer *next_of_file(struct writers *writers, struct writer *from, struct file_id id)
{
	struct writer *writer = from ? from->next : *writers_bucket(writers, id.column);

	while (writer && writer->target.id.file != id.file)
		writer = writer->next;
	return writer;
}

struct node *writers_own(struct fs *fs, pid_t thread, struct file_id id, bool hidden)
{
	struct writers *writers = fs->writers;
	struct writer *found = NULL;
	pid_t process;

	if (writers->count == 0)
		return NULL;
	process = process_of(thread);
	pthread_mutex_lock(&writers->lock);
	while ((found = next_of_file(writers, found, id)) != NULL)
		if (found->process == process && !found->unlinked &&
		    (!hidden || writer_hidden(found)))
			break;
	if (found)
		node_get(found->node);
	pthread_mutex_unlock(&writers->lock);
	return found ? found->node : NULL;
}

/* ---- One session ------------------------------------------------------------------------- */

/* A session with its node, a child of dir. created: it makes a new file. 0 or -ENOMEM. */
static int session_new(struct fs *fs, pid_t thread, struct node *dir, enum node_kind kind,
		       struct wcs_slice name, bool created, struct node **node)
{
	struct node_key key = {.parent = dir, .kind = kind, .name = name};
	struct writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	pthread_mutex_init(&writer->lock, NULL);
	spool_init(&writer->spool);
	writer->target = (struct writer_target){
		.kind = kind, .id = node_child_id(dir, kind, name), .ts = WCS_TS_NEWEST};
	if (kind == NODE_VERSION)
		names_ts_parse(name.data, name.len, &writer->target.ts);
	writer->thread = thread;
	writer->pending = created;
	writer->hidden = created;
	writer->committed = WCS_TS_NONE;
	writer->time = clock_now();
	*node = nodes_get_writer(fs->nodes, &key, writer);
	if (!*node)
		writer_free(writer);
	return *node ? 0 : -ENOMEM;
}

void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	writers_forget(writer);
	value_put(writer->base);
	spool_clear(&writer->spool);
	free(writer->lines.text);
	free((void *)writer->target.qualifier.data);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

int writer_pos(const struct node *node, struct pos *pos)
{
	const struct writer *writer = node->writer;
	int rc = pos_of(node, pos);

	pos->kind = writer->target.kind;
	pos->ts = writer->target.ts;
	if (writer->target.qualifier.data)
		pos->qualifier = writer->target.qualifier;
	return rc;
}

int writers_reopen(struct fs *fs, pid_t thread, const struct node *node, struct node **session)
{
	return session_new(fs, thread, node->parent, node->kind, node_name(node), false, session);
}

int writers_lookup(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   const struct wcs_cell_info *info, struct node **node)
{
	struct file_id id = node_child_id(dir, child->kind, child->bytes);
	int rc;

	if (!retry_lookup(fs->retries, thread, id.file))
		return -ENOENT;
	rc = session_new(fs, thread, dir, child->kind, child->bytes, false, node);
	if (rc == 0) {
		(*node)->writer->final_size = info->size;
		(*node)->writer->time = info->ts;
		writers_remember(fs, (*node)->writer, *node);
	}
	return rc;
}

bool writers_reserved(struct fs *fs, const struct node *dir, const struct spelled *child)
{
	struct file_id id = node_child_id(dir, child->kind, child->bytes);
	struct writers *writers = fs->writers;
	struct writer *writer = NULL;
	bool found = false;

	if (writers->count == 0)
		return false;
	pthread_mutex_lock(&writers->lock);
	while (!found && (writer = next_of_file(writers, writer, id)) != NULL)
		found = writer->exclusive && writer_hidden(writer);
	pthread_mutex_unlock(&writers->lock);
	return found;
}

int writers_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   bool exclusive, struct node **node)
{
	int rc = session_new(fs, thread, dir, child->kind, child->bytes, true, node);

	if (rc == 0)
		(*node)->writer->exclusive = exclusive;
	return rc;
}
