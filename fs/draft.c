/* SPDX-License-Identifier: MIT */
/* Drafts, by st_ino, which stands for their history and name. Each holds a reference to its node.
 */
#include "draft.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "writer.h"

struct draft {
	uint64_t ino;
	struct node *node;
};

struct drafts {
	pthread_mutex_t lock;
	size_t count; /* Lock: lock, as all below */
	struct draft all[DRAFTS_MAX];
};

struct drafts *drafts_new(void)
{
	struct drafts *drafts = calloc(1, sizeof(*drafts));

	if (drafts)
		pthread_mutex_init(&drafts->lock, NULL);
	return drafts;
}

void drafts_free(struct drafts *drafts)
{
	if (!drafts)
		return;
	pthread_mutex_destroy(&drafts->lock);
	free(drafts);
}

static uint64_t ino_of(const struct node *dir, const struct spelled *child)
{
	return node_child_ino(dir, child->kind, child->bytes);
}

/* Lock: the drafts'. */
static struct draft *find(struct drafts *drafts, uint64_t ino)
{
	for (size_t i = 0; i < drafts->count; i++)
		if (drafts->all[i].ino == ino)
			return &drafts->all[i];
	return NULL;
}

/* Takes one out, and hands its reference over; NULL: there is none. Lock: the drafts'. */
static struct node *take(struct drafts *drafts, uint64_t ino)
{
	struct draft *draft = find(drafts, ino);
	struct node *node = draft ? draft->node : NULL;

	if (draft)
		*draft = drafts->all[--drafts->count];
	return node;
}

static int add(struct drafts *drafts, uint64_t ino, struct node *node)
{
	int rc = 0;

	pthread_mutex_lock(&drafts->lock);
	if (find(drafts, ino))
		rc = -EEXIST;
	else if (drafts->count == DRAFTS_MAX)
		rc = -ENOSPC;
	else
		drafts->all[drafts->count++] = (struct draft){ino, node};
	pthread_mutex_unlock(&drafts->lock);
	return rc;
}

int draft_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		 struct node **node)
{
	struct node *made;
	int rc = writers_draft(fs, thread, dir, child, &made);

	if (rc != 0)
		return rc;
	rc = add(fs->drafts, ino_of(dir, child), node_get(made));
	if (rc != 0)
		nodes_put(fs->nodes, made, 2);
	else
		*node = made;
	return rc;
}

int draft_find(struct fs *fs, const struct node *dir, const struct spelled *child,
	       struct node **node)
{
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, ino_of(dir, child));
	if (draft)
		*node = node_get(draft->node);
	pthread_mutex_unlock(&fs->drafts->lock);
	return draft ? 0 : -ENOENT;
}

int draft_remove(struct fs *fs, const struct node *dir, const struct spelled *child)
{
	struct node *node;

	pthread_mutex_lock(&fs->drafts->lock);
	node = take(fs->drafts, ino_of(dir, child));
	pthread_mutex_unlock(&fs->drafts->lock);
	if (!node)
		return -ENOENT;
	nodes_put(fs->nodes, node, 1);
	return 0;
}

int draft_rename(struct fs *fs, const struct node *dir, const struct spelled *from,
		 const struct spelled *to)
{
	struct node *old = NULL;
	struct draft *draft;

	pthread_mutex_lock(&fs->drafts->lock);
	draft = find(fs->drafts, ino_of(dir, from));
	if (draft) {
		old = take(fs->drafts, ino_of(dir, to));
		find(fs->drafts, ino_of(dir, from))->ino = ino_of(dir, to);
	}
	pthread_mutex_unlock(&fs->drafts->lock);
	if (old)
		nodes_put(fs->nodes, old, 1);
	return draft ? 0 : -ENOENT;
}

void drafts_remove_all(struct fs *fs, uint64_t history)
{
	struct drafts *drafts = fs->drafts;
	struct node *node;

	do {
		node = NULL;
		pthread_mutex_lock(&drafts->lock);
		for (size_t i = 0; i < drafts->count && !node; i++)
			if (drafts->all[i].node->parent->ino == history)
				node = take(drafts, drafts->all[i].ino);
		pthread_mutex_unlock(&drafts->lock);
		if (node)
			nodes_put(fs->nodes, node, 1);
	} while (node);
}
