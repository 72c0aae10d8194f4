/* SPDX-License-Identifier: MIT */
/*
 * Open control files: what was read at open, and what is written and not yet complete.
 *
 * The lock of one open file is held while its lines are applied, which calls the store: so they
 * are applied in the order in which they were written. No other lock is taken under it here.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "control_text.h"
#include "process.h"
#include "report.h"

enum { PENDING_MAX = 16 << 20 }; /* bytes of one line or document */

struct control_file {
	struct node *node; /* the kernel holds it while the file is open */
	pid_t opener;
	char *text;
	size_t len;

	pthread_mutex_t lock;
	char *pending; /* Lock: lock, as all below */
	size_t pending_len, room;
	int line;  /* number of the pending one, from 1 */
	int error; /* of the first bad line, behind which nothing is applied; 0: none was */

	/* Of a document: where its text was looked at so far. */
	size_t seen;
	int depth;
	bool in_string, escaped;
};

int control_open(struct fs *fs, struct node *node, pid_t thread, struct control_file **file,
		 struct fuse_file_info *fi)
{
	bool reads = (fi->flags & O_ACCMODE) != O_WRONLY;
	struct control_file *opened;
	int rc = 0;

	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	if (reads)
		rc = control_text(fs, node, &opened->text, &opened->len);
	if (rc != 0) {
		free(opened);
		return rc;
	}
	pthread_mutex_init(&opened->lock, NULL);
	opened->node = node;
	opened->opener = thread;
	opened->line = 1;
	fi->direct_io = 1;
	*file = opened;
	return 0;
}

int control_read(struct control_file *file, void *buf, size_t len, uint64_t offset, size_t *got)
{
	size_t left = offset < file->len ? file->len - (size_t)offset : 0;

	*got = len < left ? len : left;
	if (*got > 0)
		memcpy(buf, file->text + offset, *got);
	return 0;
}

static int pending_add(struct control_file *file, const char *data, size_t len)
{
	size_t need = file->pending_len + len + 1, room = file->room ? file->room : 256;
	char *pending;

	if (need > PENDING_MAX)
		return -EFBIG;
	while (room < need)
		room *= 2;
	pending = room == file->room ? file->pending : realloc(file->pending, room);
	if (!pending)
		return -ENOMEM;
	file->pending = pending;
	file->room = room;
	memcpy(pending + file->pending_len, data, len);
	file->pending_len += len;
	pending[file->pending_len] = 0;
	return 0;
}

/* The bytes of pending up to the closing brace of a JSON object; what starts otherwise is complete
 * at once, and wrong. 0: it is not complete. */
static size_t document_end(struct control_file *file)
{
	size_t blanks = strspn(file->pending, " \t\r\n");

	if (blanks < file->pending_len && file->pending[blanks] != '{')
		return file->pending_len;
	while (file->seen < file->pending_len) {
		char c = file->pending[file->seen++];

		if (file->escaped)
			file->escaped = false;
		else if (file->in_string && c == '\\')
			file->escaped = true;
		else if (c == '"')
			file->in_string = !file->in_string;
		else if (!file->in_string && (c == '{' || c == '['))
			file->depth++;
		else if (!file->in_string && (c == '}' || c == ']') && --file->depth <= 0)
			return file->seen;
	}
	return 0;
}

/* The bytes of pending that are complete; 0: none. */
static size_t complete_end(struct control_file *file)
{
	const char *newline;

	if (control_is_document(file->node))
		return document_end(file);
	newline = memchr(file->pending, '\n', file->pending_len);
	return newline ? (size_t)(newline - file->pending) + 1 : 0;
}

static void pending_drop(struct control_file *file, size_t len)
{
	for (size_t i = 0; i < len; i++)
		file->line += file->pending[i] == '\n';
	file->pending_len -= len;
	memmove(file->pending, file->pending + len, file->pending_len + 1);
	file->seen = 0;
	file->depth = 0;
	file->in_string = file->escaped = false;
}

static bool blank(const char *text, size_t len)
{
	return strspn(text, " \t\r\n") >= len;
}

/* Applies the first len bytes of pending. */
static int pending_apply(struct fs *fs, struct control_file *file, size_t len)
{
	size_t text_len = len;
	char *text;
	int rc = 0;

	if (text_len > 0 && file->pending[text_len - 1] == '\n')
		text_len--;
	text = malloc(text_len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, file->pending, text_len);
	text[text_len] = 0;
	if (!control_is_document(file->node) || !blank(text, text_len))
		rc = control_apply(fs, file->node, text, text_len, file->line);
	free(text);
	pending_drop(file, len);
	return rc;
}

/* Lock: the file's. */
static int write_locked(struct fs *fs, struct control_file *file, const char *data, size_t len)
{
	int rc = pending_add(file, data, len);
	size_t end;

	while (rc == 0 && file->pending_len > 0 && (end = complete_end(file)) > 0)
		rc = pending_apply(fs, file, end);
	return rc;
}

int control_write(struct fs *fs, struct control_file *file, const char *data, size_t len)
{
	int rc;

	if (!control_writable(file->node))
		return -EPERM;
	pthread_mutex_lock(&file->lock);
	if (file->error == 0)
		file->error = write_locked(fs, file, data, len);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

static int apply_rest(struct fs *fs, struct control_file *file)
{
	int rc;

	pthread_mutex_lock(&file->lock);
	if (file->error == 0 && file->pending_len > 0)
		file->error = pending_apply(fs, file, file->pending_len);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

static int drop_rest(struct control_file *file)
{
	int rc;

	pthread_mutex_lock(&file->lock);
	if (file->pending_len > 0)
		pending_drop(file, file->pending_len);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

int control_flush(struct fs *fs, struct control_file *file, pid_t thread)
{
	int rc;

	if (process_same(thread, file->opener))
		return process_killed(thread) ? drop_rest(file) : apply_rest(fs, file);
	pthread_mutex_lock(&file->lock);
	rc = file->error;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

void control_close(struct fs *fs, struct control_file *file)
{
	apply_rest(fs, file);
	pthread_mutex_destroy(&file->lock);
	free(file->pending);
	free(file->text);
	free(file);
}
