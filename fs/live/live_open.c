/* SPDX-License-Identifier: MIT */
/* Live files are opened and closed. The first open file of a feed has its lines made, the last one
 * ends that. */
#include "fs/live/live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/names/spell.h"
#include "fs/report/report.h"
#include "fs/serve/metrics.h"

void live_removed(struct fs *fs)
{
	struct live *live = fs->live;

	pthread_mutex_lock(&live->lock);
	for (struct live_file *file = live->files; file; file = file->next)
		if (file->table && wcs_table_removed(file->table))
			atomic_store(&file->ended, true);
	live->woken = true;
	pthread_cond_signal(&live->wake);
	pthread_mutex_unlock(&live->lock);
}

/* Registers the file; its feed begins. */
static int live_join(struct live *live, struct live_file *file)
{
	int rc = 0;

	pthread_mutex_lock(&live->lock);
	if (live->file_count == LIVE_FILES_MAX)
		rc = -ENFILE;
	if (rc == 0 && !live_start(live))
		rc = -EAGAIN;
	if (rc == 0 && !live->watch.changed)
		live->watch = (struct wcs_watch){changes_told, live};
	if (rc == 0) {
		file->number = ++live->opens;
		ring_join(file->ring, &file->reader);
		if (file->table)
			wcs_table_watch(file->table, &live->watch);
		else
			metrics_note(live->fs->metrics, trace_received, live->fs);
		file->next = live->files;
		live->files = file;
		live->file_count++;
	}
	pthread_mutex_unlock(&live->lock);
	return rc;
}

int live_open(struct fs *fs, const struct node *node, struct fuse_file_info *fi,
	      struct live_file **opened)
{
	bool changes = node->ts == CONTROL_CHANGES;
	struct live_file *file;
	int rc = -ENOMEM;

	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		return report(fs, node, NULL, 0, -EPERM, "it can only be read");
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->live = fs->live;
	file->node = node;
	file->users = 1;
	file->ring = changes ? fs->live->changes : fs->live->trace;
	pthread_mutex_init(&file->lock, NULL);
	file->lines = wcs_change_reader_new();
	file->kept = malloc(LIVE_BACK); /* the system gives the pages as they are written */
	if (file->lines && file->kept)
		rc = changes ? changes_open(fs, file) : 0;
	if (rc == 0)
		rc = live_join(fs->live, file);
	if (rc == -ENFILE)
		report(fs, node, NULL, 0, rc, "at most %d files of trace and changes can be open",
		       LIVE_FILES_MAX);
	if (rc != 0) {
		live_put(file);
		return rc;
	}
	if (changes && wcs_table_removed(file->table)) {
		live_close(file);
		return -ESTALE;
	}
	fi->direct_io = 1;
	*opened = file;
	return 0;
}

void live_close(struct live_file *file)
{
	struct live *live = file->live;
	struct live_file **link = &live->files, *other;

	pthread_mutex_lock(&file->lock);
	file->error = -EBADF; /* it reads no more lines */
	pthread_mutex_unlock(&file->lock);
	pthread_mutex_lock(&live->lock);
	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	live->file_count--;
	for (other = live->files; other && other->table != file->table;)
		other = other->next;
	if (!other) { /* it was the last one of its feed */
		if (file->table)
			wcs_table_watch(file->table, NULL);
		else
			metrics_note(live->fs->metrics, NULL, NULL);
	}
	pthread_mutex_unlock(&live->lock);
	live_forget(file);
	ring_leave(file->ring, &file->reader);
	live_put(file);
}
