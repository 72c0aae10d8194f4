/* SPDX-License-Identifier: MIT */
/*
 * The registry of write sessions that have a file open, by st_ino, which stands for their
 * directory and name.
 *
 * Invariant: a session in the registry has an open file, so the kernel, or the open file, holds its
 * node. The registry's lock is never held while a session's is taken.
 */
#include <errno.h>
#include <stdlib.h>

#include "process.h"
#include "promise.h"
#include "writer.h"
#include "writer_private.h"

enum { BUCKETS = 256 };

struct writers {
	pthread_mutex_t lock;
	struct writer *open[BUCKETS]; /* at ino % BUCKETS. Lock: lock, as all below */
	size_t count;		      /* of open; read without the lock as a hint: atomic */
};

struct writers *writers_new(void)
{
	struct writers *writers = calloc(1, sizeof(*writers));

	if (writers)
		pthread_mutex_init(&writers->lock, NULL);
	return writers;
}

void writers_free(struct writers *writers)
{
	if (!writers)
		return;
	pthread_mutex_destroy(&writers->lock);
	free(writers);
}

static struct writer **bucket_of(struct writers *writers, uint64_t ino)
{
	return &writers->open[ino % BUCKETS];
}

static void count_add(size_t *count, int by)
{
	__atomic_fetch_add(count, (size_t)by, __ATOMIC_RELAXED);
}

static bool none(const size_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED) == 0;
}

void writers_remember(struct fs *fs, struct writer *writer, struct node *node)
{
	struct writers *writers = fs->writers;
	struct writer **bucket;

	pthread_mutex_lock(&writers->lock);
	writer->node = node;
	if (writer->ino == 0)
		writer->ino = node->ino;
	bucket = bucket_of(writers, writer->ino);
	writer->next = *bucket;
	*bucket = writer;
	count_add(&writers->count, 1);
	pthread_mutex_unlock(&writers->lock);
}

/* Lock: the registry's. */
static void take_out(struct writers *writers, struct writer *writer)
{
	struct writer **link = bucket_of(writers, writer->ino);

	while (*link != writer)
		link = &(*link)->next;
	*link = writer->next;
}

void writers_forget(struct fs *fs, struct writer *writer)
{
	struct writers *writers = fs->writers;
	pthread_mutex_lock(&writers->lock);
	take_out(writers, writer);
	count_add(&writers->count, -1);
	pthread_mutex_unlock(&writers->lock);
}

/* The first session of that name behind `from` (NULL: the first of all). Lock: the registry's. */
static struct writer *find(struct writers *writers, struct writer *from, uint64_t ino)
{
	struct writer *writer = from ? from->next : *bucket_of(writers, ino);

	while (writer && writer->ino != ino)
		writer = writer->next;
	return writer;
}

/* The session in which that thread's process makes this name, unseen by others, with a reference to
 * its node. */
static struct writer *find_hidden(struct fs *fs, pid_t thread, uint64_t ino)
{
	struct writers *writers = fs->writers;
	struct writer *found = NULL;
	pid_t process;

	if (none(&writers->count))
		return NULL;
	process = process_of(thread);
	pthread_mutex_lock(&writers->lock);
	while ((found = find(writers, found, ino)) != NULL)
		if (writer_hidden(found) && found->process == process)
			break;
	if (found)
		node_get(found->node);
	pthread_mutex_unlock(&writers->lock);
	return found;
}

static int session_new(struct fs *fs, pid_t thread, const struct node_key *key, bool created,
		       struct node **node)
{
	struct writer *writer = writer_new(thread, created);

	if (!writer)
		return -ENOMEM;
	*node = nodes_get_writer(fs->nodes, key, writer);
	if (*node)
		return 0;
	writer_free(writer);
	return -ENOMEM;
}

int writers_draft(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		  struct node **node)
{
	struct node_key key = {.parent = dir, .kind = child->kind, .name = child->bytes};
	int rc = session_new(fs, thread, &key, false, node);

	if (rc == 0)
		(*node)->writer->draft = true;
	return rc;
}

int writers_reopen(struct fs *fs, pid_t thread, const struct node *node, struct node **session)
{
	struct node_key key = {.parent = node->parent, .kind = node->kind, .name = node_name(node)};

	return session_new(fs, thread, &key, false, session);
}

int writers_own(struct fs *fs, pid_t thread, const struct node *node, struct node **session)
{
	struct writers *writers = fs->writers;
	struct writer *writer = NULL;
	pid_t process;

	if (none(&writers->count))
		return -ENOENT;
	process = process_of(thread);
	pthread_mutex_lock(&writers->lock);
	while ((writer = find(writers, writer, node->ino)) != NULL)
		if (writer->process == process && !writer->unlinked)
			break;
	if (writer)
		*session = node_get(writer->node);
	pthread_mutex_unlock(&writers->lock);
	return writer ? 0 : -ENOENT;
}

int writers_lookup(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   const struct wcs_cell_info *info, struct node **node)
{
	struct node_key key = {.parent = dir, .kind = child->kind, .name = child->bytes};
	uint64_t ino = node_child_ino(dir, child->kind, child->bytes);
	int rc;

	if (!promise_lookup(fs->promises, thread, ino))
		return -ENOENT;
	rc = session_new(fs, thread, &key, false, node);
	if (rc == 0) {
		(*node)->writer->final_size = info->size;
		(*node)->writer->time = info->ts;
	}
	return rc;
}

int writers_hidden(struct fs *fs, pid_t thread, const struct node *dir, const struct spelled *child,
		   struct node **node)
{
	uint64_t ino = node_child_ino(dir, child->kind, child->bytes);
	struct writer *writer = find_hidden(fs, thread, ino);

	if (!writer)
		return -ENOENT;
	*node = writer->node;
	return 0;
}

bool writers_reserved(struct fs *fs, const struct node *dir, const struct spelled *child)
{
	uint64_t ino = node_child_ino(dir, child->kind, child->bytes);
	struct writers *writers = fs->writers;
	struct writer *writer = NULL;
	bool found = false;

	if (none(&writers->count))
		return false;
	pthread_mutex_lock(&writers->lock);
	while (!found && (writer = find(writers, writer, ino)) != NULL)
		found = writer->exclusive && writer_hidden(writer);
	pthread_mutex_unlock(&writers->lock);
	return found;
}

int writers_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   bool exclusive, struct node **node)
{
	struct node_key key = {.parent = dir, .kind = child->kind, .name = child->bytes};
	int rc = session_new(fs, thread, &key, true, node);

	if (rc == 0)
		(*node)->writer->exclusive = exclusive;
	return rc;
}

/* The next session of that name that still commits and is not another process's secret; with a
 * reference to its node. */
static struct writer *find_linked(struct writers *writers, const struct writer *own, uint64_t ino)
{
	struct writer *writer = NULL;

	pthread_mutex_lock(&writers->lock);
	while ((writer = find(writers, writer, ino)) != NULL)
		if (!writer->unlinked && (writer == own || !writer_hidden(writer)))
			break;
	if (writer)
		node_get(writer->node);
	pthread_mutex_unlock(&writers->lock);
	return writer;
}

bool writers_detach(struct fs *fs, pid_t thread, const struct node *dir,
		    const struct spelled *child)
{
	uint64_t ino = node_child_ino(dir, child->kind, child->bytes);
	struct writer *own, *writer;

	if (none(&fs->writers->count))
		return false;
	own = find_hidden(fs, thread, ino);
	while ((writer = find_linked(fs->writers, own, ino)) != NULL) {
		writer_unlink(writer);
		nodes_put(fs->nodes, writer->node, 1);
	}
	if (own)
		nodes_put(fs->nodes, own->node, 1);
	return own != NULL;
}

/* Gives one session of the name `from` the name `to`, in the registry; with a reference to its
 * node. own: the one that makes `from`; of others that do, none. NULL: there is none left. */
static struct writer *move_one(struct writers *writers, const struct writer *own, uint64_t from,
			       uint64_t to)
{
	struct writer *writer = NULL, **bucket = bucket_of(writers, to);

	pthread_mutex_lock(&writers->lock);
	while ((writer = find(writers, writer, from)) != NULL)
		if (writer == own || !writer_hidden(writer))
			break;
	if (writer) {
		take_out(writers, writer);
		writer->ino = to;
		writer->next = *bucket;
		*bucket = writer;
		node_get(writer->node);
	}
	pthread_mutex_unlock(&writers->lock);
	return writer;
}

int writers_rename(struct fs *fs, pid_t thread, const struct node *dir, const struct spelled *from,
		   const struct spelled *to, const struct writer_moved *moved)
{
	uint64_t old = node_child_ino(dir, from->kind, from->bytes);
	uint64_t new = node_child_ino(dir, to->kind, to->bytes);
	struct writer *own = find_hidden(fs, thread, old), *writer;
	int rc = !moved && !own ? -ENOENT : 0;

	if (rc == 0)
		writers_detach(fs, thread, dir, to);
	while (rc == 0 && (writer = move_one(fs->writers, own, old, new)) != NULL) {
		rc = writer_rename(writer, to->bytes, moved);
		nodes_put(fs->nodes, writer->node, 1);
	}
	if (own)
		nodes_put(fs->nodes, own->node, 1);
	return rc;
}
