/* SPDX-License-Identifier: MIT */
/*
 * File locks. A locked file is a column with its versions, a draft or a control file. Its entry
 * lives while an open file exists that once locked it, and holds the locked ranges. Requests that
 * wait are in one queue for all files; the thread that frees a range answers them. No thread waits.
 *
 * fcntl locks: the owner is a process (or an open file, with F_OFD_SETLK, which looks the same).
 * flock locks: the owner is an open file, and the range is always the whole.
 */
#include "fs/file/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>

#include "fs/file/handle.h"
#include "fs/file/lookup.h"
#include "fs/file/ranges.h"

enum { BUCKETS = 256, CYCLE_MAX = 32 };

enum lock_kind { LOCK_FCNTL, LOCK_FLOCK, LOCK_KINDS }; /* independent of each other */

struct lock_file {
	struct lock_file *next; /* in its bucket. Lock: the table's, as for all below */
	uint64_t key;
	size_t handles; /* open files that point to it */
	bool lost;	/* another file took over its key; it has no locks and no bucket */
	struct ranges held[LOCK_KINDS];
};

/* A waiting request. Lock: the table's. */
struct waiter {
	struct waiter *next;
	fuse_req_t req;
	struct lock_file *file;
	enum lock_kind kind;
	struct range want;
	unsigned search; /* the last deadlock search that visited it */
	int rc;		 /* the answer, after it left the queue */
};

struct locks {
	pthread_mutex_t lock;
	struct lock_file *files[BUCKETS]; /* at key % BUCKETS. Lock: lock, as for all below */
	struct waiter *waiting;		  /* in order of arrival */
	struct ranges_room room;	  /* for ranges and waiters */
	unsigned searches;
	atomic_bool need_flush;
};

struct locks *locks_new(const struct fs *fs)
{
	struct locks *locks = calloc(1, sizeof(*locks));

	if (!locks)
		return NULL;
	pthread_mutex_init(&locks->lock, NULL);
	locks->room.fs = fs;
	share_init(&locks->room.share, (struct share_limits){LOCKS_MAX, LOCKS_OTHERS, LOCKS_USER});
	return locks;
}

void locks_free(struct locks *locks)
{
	if (!locks)
		return;
	share_destroy(&locks->room.share);
	pthread_mutex_destroy(&locks->lock);
	free(locks);
}

bool locks_need_flush(const struct locks *locks)
{
	return atomic_load_explicit(&locks->need_flush, memory_order_relaxed);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static struct lock_file **find(struct locks *locks, uint64_t key)
{
	struct lock_file **link = &locks->files[key % BUCKETS];

	while (*link && (*link)->key != key)
		link = &(*link)->next;
	return link;
}

static void file_insert(struct locks *locks, struct lock_file *file, uint64_t key)
{
	struct lock_file **bucket = &locks->files[key % BUCKETS];

	file->key = key;
	file->next = *bucket;
	*bucket = file;
}

static void file_remove(struct locks *locks, struct lock_file *file)
{
	*find(locks, file->key) = file->next;
}

static void file_put(struct locks *locks, struct lock_file *file)
{
	if (--file->handles > 0)
		return;
	if (!file->lost)
		file_remove(locks, file);
	free(file);
}

static uint64_t lock_key(struct file_id id, enum node_kind kind)
{
	return kind == NODE_CELL || kind == NODE_VERSION ? id.column : id.file;
}

static uint64_t lock_key_of(const struct node *node)
{
	return node->kind == NODE_CONTROL ? node->plain : lock_key(node_id(node), node->kind);
}

/* The entry of the open file's column, or NULL if nobody has locked it. */
static struct lock_file *file_of(struct locks *locks, const struct handle *handle,
				 const struct node *node)
{
	if (handle->locks && !handle->locks->lost)
		return handle->locks;
	return *find(locks, lock_key_of(node));
}

/* The entry of the open file's column, made if it is missing; the open file then points to it.
 * NULL: no memory. */
static struct lock_file *file_for(struct locks *locks, struct handle *handle,
				  const struct node *node)
{
	struct lock_file *file = file_of(locks, handle, node);

	if (file && file == handle->locks)
		return file;
	if (!file) {
		file = calloc(1, sizeof(*file));
		if (!file)
			return NULL;
		file_insert(locks, file, lock_key_of(node));
	}
	if (handle->locks)
		file_put(locks, handle->locks);
	file->handles++;
	handle->locks = file;
	return file;
}

static bool file_in_use(const struct locks *locks, const struct lock_file *file)
{
	const struct waiter *waiter = locks->waiting;

	while (waiter && waiter->file != file)
		waiter = waiter->next;
	return waiter || file->held[LOCK_FCNTL].first || file->held[LOCK_FLOCK].first;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static struct waiter *take_out(struct locks *locks, struct waiter **link)
{
	struct waiter *waiter = *link;

	*link = waiter->next;
	waiter->next = NULL;
	share_give(&locks->room.share, waiter->want.user, 1);
	return waiter;
}

/* Grants the ranges of the file that are free now to their waiters. Returns these, out of the
 * queue. */
static struct waiter *grant(struct locks *locks, const struct lock_file *freed)
{
	struct waiter **link = &locks->waiting, *granted = NULL, **end = &granted, *waiter;

	while ((waiter = *link) != NULL) {
		struct ranges *held = &waiter->file->held[waiter->kind];

		if (waiter->file != freed || ranges_conflict(held->first, &waiter->want)) {
			link = &waiter->next;
			continue;
		}
		*end = take_out(locks, link);
		end = &waiter->next;
		waiter->rc = ranges_take(held, &waiter->want, &locks->room);
		link = &locks->waiting; /* it may have released a range that another one waits for
					 */
	}
	return granted;
}

/* Without the table's lock. */
static void answer(struct waiter *waiter)
{
	struct waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		fuse_reply_err(waiter->req, -waiter->rc);
		free(waiter);
	}
}

/* Called on a signal to the requesting process. The request may already have its answer. */
static void interrupted(fuse_req_t req, void *data)
{
	struct locks *locks = data;
	struct waiter **link = &locks->waiting, *waiter = NULL;

	pthread_mutex_lock(&locks->lock);
	while (*link && (*link)->req != req)
		link = &(*link)->next;
	if (*link) {
		waiter = take_out(locks, link);
		waiter->rc = -EINTR;
	}
	pthread_mutex_unlock(&locks->lock);
	answer(waiter);
}

/* Does a holder of the wanted range wait, directly or through others, for the owner? */
static bool waits_for(struct locks *locks, uint64_t owner, const struct lock_file *file,
		      const struct range *want, int depth)
{
	const struct range *range = ranges_conflict(file->held[LOCK_FCNTL].first, want);

	for (; range; range = ranges_conflict(range->next, want)) {
		if (range->owner == owner)
			return true;
		for (struct waiter *waiter = depth > 0 ? locks->waiting : NULL; waiter;
		     waiter = waiter->next) {
			if (waiter->kind != LOCK_FCNTL || waiter->want.owner != range->owner ||
			    waiter->search == locks->searches)
				continue;
			waiter->search = locks->searches;
			if (waits_for(locks, owner, waiter->file, &waiter->want, depth - 1))
				return true;
		}
	}
	return false;
}

void locks_end(struct locks *locks)
{
	struct waiter *waiting;

	pthread_mutex_lock(&locks->lock);
	waiting = locks->waiting;
	locks->waiting = NULL;
	for (struct waiter *waiter = waiting; waiter; waiter = waiter->next)
		waiter->rc = -ENOTCONN;
	pthread_mutex_unlock(&locks->lock);
	answer(waiting);
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* Takes the range, or returns an error. *waits: the request is at the end of the queue, to be
 * answered later. */
static int take(struct locks *locks, const struct waiter *request, bool sleep, bool *waits)
{
	struct ranges *held = &request->file->held[request->kind];
	struct waiter **link = &locks->waiting, *waiter;

	if (request->kind == LOCK_FLOCK) /* flock(2): a conversion releases the old lock first */
		ranges_give(held, &request->want, &locks->room);
	if (!ranges_conflict(held->first, &request->want))
		return ranges_take(held, &request->want, &locks->room);
	if (!sleep)
		return -EAGAIN;
	/* A signal that came before this point found no waiter to end. */
	if (fuse_req_interrupted(request->req))
		return -EINTR;
	locks->searches++;
	if (request->kind == LOCK_FCNTL &&
	    waits_for(locks, request->want.owner, request->file, &request->want, CYCLE_MAX))
		return -EDEADLK;
	if (!share_take(&locks->room.share, locks->room.fs, request->want.user, 1))
		return -ENOLCK;
	waiter = malloc(sizeof(*waiter));
	if (!waiter) {
		share_give(&locks->room.share, request->want.user, 1);
		return -ENOLCK;
	}
	*waiter = *request;
	while (*link)
		link = &(*link)->next;
	*link = waiter;
	*waits = true;
	return 0;
}

/* request: complete but for its file. */
static void lock_set(fuse_req_t req, const struct node *node, struct handle *handle,
		     struct waiter *request, short type, bool sleep)
{
	struct locks *locks = fs_of(req)->locks;
	struct waiter *granted = NULL;
	bool waits = false;
	int rc = 0;

	request->req = req;
	request->want.handle = handle;
	request->want.user = fuse_req_ctx(req)->uid;
	request->want.exclusive = type == F_WRLCK;
	if (sleep)
		fuse_req_interrupt_func(req, interrupted, locks);
	pthread_mutex_lock(&locks->lock);
	request->file =
		type == F_UNLCK ? file_of(locks, handle, node) : file_for(locks, handle, node);
	if (!request->file)
		rc = type == F_UNLCK ? 0 : -ENOLCK;
	else if (type == F_UNLCK)
		rc = ranges_give(&request->file->held[request->kind], &request->want, &locks->room);
	else
		rc = take(locks, request, sleep, &waits);
	if (request->file)
		granted = grant(locks, request->file);
	pthread_mutex_unlock(&locks->lock);
	answer(granted);
	if (!waits)
		fuse_reply_err(req, -rc);
}

static struct range range_of(const struct fuse_file_info *fi, const struct flock *lock)
{
	uint64_t start = (uint64_t)lock->l_start, len = (uint64_t)lock->l_len;

	return (struct range){.start = start,
			      .end = len > 0 ? start + len - 1 : RANGES_END,
			      .owner = fi->lock_owner,
			      .pid = lock->l_pid,
			      .exclusive = lock->l_type == F_WRLCK};
}

void fs_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
	      int sleep)
{
	struct fs *fs = fs_of(req);
	struct waiter request = {.kind = LOCK_FCNTL, .want = range_of(fi, lock)};

	atomic_store_explicit(&fs->locks->need_flush, true, memory_order_relaxed);
	lock_set(req, lookup_ino(fs, ino), handle_of(fi), &request, lock->l_type, sleep);
}

void fs_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	struct waiter request = {.kind = LOCK_FLOCK,
				 .want = {.end = RANGES_END, .owner = fi->lock_owner}};
	short type = op & LOCK_UN ? F_UNLCK : op & LOCK_EX ? F_WRLCK : F_RDLCK;

	lock_set(req, lookup_ino(fs_of(req), ino), handle_of(fi), &request, type, !(op & LOCK_NB));
}

void fs_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
	struct fs *fs = fs_of(req);
	struct locks *locks = fs->locks;
	struct range want = range_of(fi, lock);
	const struct range *found = NULL;
	const struct lock_file *file;

	lock->l_type = F_UNLCK;
	pthread_mutex_lock(&locks->lock);
	file = file_of(locks, handle_of(fi), lookup_ino(fs, ino));
	if (file)
		found = ranges_conflict_lowest(&file->held[LOCK_FCNTL], &want);
	if (found) {
		lock->l_type = found->exclusive ? F_WRLCK : F_RDLCK;
		lock->l_start = (off_t)found->start;
		lock->l_len = found->end == RANGES_END ? 0 : (off_t)(found->end - found->start + 1);
		lock->l_pid = found->pid;
	}
	pthread_mutex_unlock(&locks->lock);
	fuse_reply_lock(req, lock);
}

/* ---- Closes and renames --------------------------------------------------------------------- */

void locks_flush(struct locks *locks, const struct node *node, const struct handle *handle,
		 uint64_t owner)
{
	struct range all = {.end = RANGES_END, .owner = owner};
	struct waiter *granted = NULL;
	struct lock_file *file;

	if (!locks_need_flush(locks))
		return;
	pthread_mutex_lock(&locks->lock);
	file = file_of(locks, handle, node);
	if (file) {
		ranges_give(&file->held[LOCK_FCNTL], &all, &locks->room);
		granted = grant(locks, file);
	}
	pthread_mutex_unlock(&locks->lock);
	answer(granted);
}

void locks_close(struct locks *locks, struct handle *handle)
{
	struct lock_file *file = handle->locks;
	struct waiter *granted;

	if (!file)
		return;
	pthread_mutex_lock(&locks->lock);
	for (size_t kind = 0; kind < LOCK_KINDS; kind++)
		ranges_give_handle(&file->held[kind], handle, &locks->room);
	granted = grant(locks, file);
	file_put(locks, file);
	pthread_mutex_unlock(&locks->lock);
	answer(granted);
}

void locks_rename(struct locks *locks, const struct node *from_dir, const struct spelled *from,
		  const struct node *to_dir, const struct spelled *to)
{
	uint64_t old = lock_key(node_child_id(from_dir, from->kind, from->bytes), from->kind);
	uint64_t new = lock_key(node_child_id(to_dir, to->kind, to->bytes), to->kind);
	struct lock_file *file, *other;

	if (from->kind == NODE_VERSION) /* its column keeps its name */
		return;
	pthread_mutex_lock(&locks->lock);
	file = *find(locks, old);
	other = *find(locks, new);
	if (file && file != other && !(other && file_in_use(locks, other))) {
		if (other) {
			file_remove(locks, other);
			other->lost = true;
		}
		file_remove(locks, file);
		file_insert(locks, file, new);
	}
	pthread_mutex_unlock(&locks->lock);
}
