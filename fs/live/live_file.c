/* SPDX-License-Identifier: MIT */
/* The bytes of an open live file: its lines, one after the other, and the last ones read. */
#include "fs/live/live_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void live_put(struct live_file *file)
{
	struct live *live = file->live;
	bool last;

	pthread_mutex_lock(&live->lock);
	last = --file->users == 0;
	pthread_mutex_unlock(&live->lock);
	if (!last)
		return;
	wcs_chain_free(file->chain);
	wcs_change_reader_free(file->lines);
	free(file->kept);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

/* Begins the next line. False: there is none, or an error. */
static bool file_begin(struct live_file *file)
{
	struct wcs_change *change;
	uint64_t lost;

	if (file->error == 0 && changes_stale(file))
		file->error = -ESTALE;
	if (file->error != 0)
		return false;
	change = ring_take(file->ring, &file->reader, &lost);
	if (lost > 0) {
		change = live_line((struct wcs_slice){NULL, 0},
				   json_pack("{s:I}", "lost", (json_int_t)lost));
		if (!change)
			file->error = -ENOMEM;
	}
	if (change)
		wcs_change_begin(file->lines, change);
	file->in_line = change != NULL;
	return file->in_line;
}

/* Makes the next bytes, up to len. Lock: the file's. */
static size_t file_make(struct live_file *file, char *buf, size_t len)
{
	size_t count = 0, got = 0;

	while (count < len && (file->in_line || file_begin(file))) {
		file->error = wcs_change_read(file->lines, buf + count, len - count, &got);
		file->in_line = file->error == 0 && got > 0;
		if (file->error == 0)
			count += got;
	}
	return count;
}

static void file_keep(struct live_file *file, const char *bytes, size_t len)
{
	for (size_t done = 0, some; done < len; done += some) {
		size_t at = (size_t)(file->made % LIVE_BACK);

		some = len - done < LIVE_BACK - at ? len - done : LIVE_BACK - at;
		memcpy(file->kept + at, bytes + done, some);
		file->made += some;
	}
}

/* Copies bytes that were read before. Lock: the file's. */
static int file_again(const struct live_file *file, char *buf, size_t len, uint64_t offset,
		      size_t *got)
{
	if (offset < file->from || file->made - offset > LIVE_BACK)
		return -ESPIPE;
	while (*got < len && offset + *got < file->made) {
		size_t at = (size_t)((offset + *got) % LIVE_BACK);
		size_t some = (size_t)(file->made - offset) - *got;

		some = some < len - *got ? some : len - *got;
		some = some < LIVE_BACK - at ? some : LIVE_BACK - at;
		memcpy(buf + *got, file->kept + at, some);
		*got += some;
	}
	return 0;
}

int live_file_read(struct live_file *file, void *buf, size_t len, uint64_t offset, size_t *got)
{
	char *to = buf;
	size_t count = 0;
	int rc = 0;

	pthread_mutex_lock(&file->lock);
	/* Before the first byte, and behind the last one, any offset is that of the next byte. */
	if (file->made == file->from || offset > file->made)
		file->from = file->made = offset;
	if (offset < file->made)
		rc = file_again(file, to, len, offset, &count);
	if (rc == 0 && count < len) {
		size_t made = file_make(file, to + count, len - count);

		file_keep(file, to + count, made);
		count += made;
	}
	if (rc == 0 && count == 0)
		rc = file->error;
	atomic_store(&file->end, file->made + file->in_line);
	pthread_mutex_unlock(&file->lock);
	if (rc == 0)
		*got = count;
	return rc;
}

bool live_file_ready(struct live_file *file, uint64_t offset)
{
	bool ready;

	pthread_mutex_lock(&file->lock);
	ready = offset < file->made || file->in_line || file_begin(file) || file->error != 0;
	atomic_store(&file->end, file->made + file->in_line);
	pthread_mutex_unlock(&file->lock);
	return ready;
}

void live_follow(struct live_file *file)
{
	atomic_store(&file->follows, true);
}

uint64_t live_size(struct fs *fs, const struct node *node)
{
	struct live *live = fs->live;
	uint64_t size = 0;

	pthread_mutex_lock(&live->lock);
	for (struct live_file *file = live->files; file; file = file->next) {
		uint64_t end;

		if (file->node != node || !atomic_load(&file->follows))
			continue;
		end = atomic_load(&file->end) + ring_pending(file->ring, &file->reader);
		size = end > size ? end : size;
	}
	pthread_mutex_unlock(&live->lock);
	return size;
}
