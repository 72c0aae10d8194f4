/* SPDX-License-Identifier: MIT */
/*
 * Makes rows of text that comes in pieces of any size.
 *
 * - A line that is whole in a piece is parsed in place; only an unfinished line is copied.
 * - No row waits when a call returns, or while a table or schema line is applied.
 * - The error is that of the first bad line: the waiting rows are applied before a bad line is
 *   reported, and the error of one of them takes precedence. Once import->rc is set, no line is
 *   applied.
 */
#include "store/rows/import.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"

#define IMPORT_KEEP  (1u << 20)	  /* of the buffer for unfinished lines, between lines */
#define IMPORT_LARGE (256u << 10) /* bytes of a line */

static pthread_mutex_t import_large = PTHREAD_MUTEX_INITIALIZER;

/* ---- Unfinished lines ------------------------------------------------------------------ */

/* Bytes of all buffers above IMPORT_KEEP. */
static atomic_size_t import_unfinished;

static size_t import_counted(size_t room)
{
	return room > IMPORT_KEEP ? room : 0;
}

/* Resizes the buffer. -ENOMEM: no memory, or beyond WCS_IMPORT_UNFINISHED. */
static int import_resize(struct wcs_import *import, size_t room)
{
	size_t more = import_counted(room), less = import_counted(import->room);
	char *text;

	if (atomic_fetch_add(&import_unfinished, more) + more > WCS_IMPORT_UNFINISHED + less)
		goto out_less;
	text = realloc(import->text, room);
	if (!text)
		goto out_less;
	atomic_fetch_sub(&import_unfinished, less);
	import->text = text;
	import->room = room;
	return 0;

out_less:
	atomic_fetch_sub(&import_unfinished, more);
	return -ENOMEM;
}

static void import_free_text(struct wcs_import *import)
{
	atomic_fetch_sub(&import_unfinished, import_counted(import->room));
	free(import->text);
	import->text = NULL;
	import->len = import->room = 0;
}

/* ---- Lines ------------------------------------------------------------------------------- */

/* May the row go into the table, and to its key? */
static int import_check_row(const struct wcs_import *import, struct wcs_slice key,
			    struct wcs_fault *fault)
{
	const unsigned char *bytes = key.data;
	size_t len = import->key.len;

	if (!import->table)
		return wcs_fault_set(fault, -EINVAL,
				     "a row, but no line {\"table\": NAME} came before it");
	if (!key.data && !import->options.row)
		return wcs_fault_set(fault, -EINVAL, "the row has no \"key\"");
	if (!key.data && len == 0)
		return wcs_fault_set(fault, -EINVAL, "a row's key cannot be empty");
	if (!key.data || !import->options.key)
		return 0;
	if (key.len >= len && memcmp(bytes, import->key.data, len) == 0 &&
	    (key.len == len ||
	     (!import->options.row && bytes[len] == wcs_table_delimiter(import->table))))
		return 0;
	return wcs_fault_set(fault, -EINVAL,
			     import->options.row ? "key: is that of another row"
						 : "key: is outside the prefix written to");
}

/* Applies a table or schema line; the rows before it are applied. */
static int import_other(struct wcs_import *import, const struct wcs_line *line,
			struct wcs_fault *fault)
{
	if (import->options.other)
		return import->options.other(import->options.ctx, line, &import->table, fault);
	if (line->kind == WCS_LINE_SCHEMA)
		return wcs_fault_set(fault, -EINVAL,
				     "a schema, not a row: it belongs into /.rowfs/schema.json");
	if (strcmp(line->table, wcs_table_name(import->table)) == 0)
		return 0;
	return wcs_fault_set(fault, -EINVAL, "the rows of table %s cannot go to table %s",
			     line->table, wcs_table_name(import->table));
}

static int import_too_long(const struct wcs_import *import, struct wcs_fault *fault)
{
	return wcs_fault_set(fault, -EFBIG, "the line is longer than %zu MiB",
			     import->options.line_max >> 20);
}

int import_refuse(struct wcs_import *import, int rc, struct wcs_fault *fault)
{
	if (import_flush(import) != 0)
		return import->rc;
	return import_fail(import, import->line, rc, wcs_fault_words(fault));
}

static int import_apply(struct wcs_import *import, const char *text, size_t len)
{
	struct import_group *group = import->filling;
	struct import_row *row = &group->rows[group->count];
	struct wcs_entry *entry = &group->entries[group->count];
	struct wcs_line_form form = {.memory = import->options.memory};
	struct wcs_fault fault = {0};
	int rc;

	if (import->table) {
		form.keys = wcs_table_keys(import->table);
		form.delimiter = wcs_table_delimiter(import->table);
	}
	rc = len > import->options.line_max ? import_too_long(import, &fault)
					    : wcs_line_parse(text, len, &form, &row->line, &fault);

	if (rc == 0 && row->line->kind == WCS_LINE_ROW) {
		rc = import_check_row(import, row->line->key, &fault);
		if (rc == 0) {
			row->number = import->line;
			entry->row = row->line->key.data ? row->line->key : import->key;
			entry->mutation = row->line->mutation;
			return import_add(import, len);
		}
	} else if (rc == 0) {
		rc = import_flush(import);
		if (rc == 0)
			rc = import_other(import, row->line, &fault);
	}
	wcs_line_free(row->line);
	row->line = NULL;
	return import->rc != 0 || rc == 0 ? rc : import_refuse(import, rc, &fault);
}

/* A row of small cells takes up to a hundred times its text, so large lines are read one at a time.
 * One beyond IMPORT_BYTES never waits: its row is freed before the next is read. */
static int import_take(struct wcs_import *import, const char *text, size_t len)
{
	size_t end = len;
	bool large = len > IMPORT_LARGE;
	int rc;

	import->line++;
	while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
		end--;
	if (end == 0)
		return 0;
	if (large)
		pthread_mutex_lock(&import_large);
	rc = import_apply(import, text, len);
	if (large) {
#ifdef __GLIBC__
		malloc_trim(0); /* free memory would otherwise stay in each thread's arena */
#endif
		pthread_mutex_unlock(&import_large);
	}
	return rc;
}

/* ---- Pieces ------------------------------------------------------------------------------ */

/* Copies an unfinished line, or more of it. A failure is the line's. */
static int import_keep(struct wcs_import *import, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	size_t room = import->room;
	int rc = 0;

	if (len > import->options.line_max - import->len)
		rc = import_too_long(import, &fault);
	while (rc == 0 && room < import->len + len)
		room = room ? room * 2 : 4096;
	if (rc == 0 && room != import->room && import_resize(import, room) != 0)
		rc = wcs_fault_set(&fault, -ENOMEM, "no memory for so many unfinished lines");
	if (rc != 0) {
		import->line++;
		return import_refuse(import, rc, &fault);
	}
	memcpy(import->text + import->len, text, len);
	import->len += len;
	return 0;
}

/* Applies the copied line, which is finished now. */
static int import_take_kept(struct wcs_import *import)
{
	int rc = import_take(import, import->text, import->len);

	wcs_import_cancel(import);
	return rc;
}

static int import_end(struct wcs_import *import, struct wcs_fault *fault)
{
	import_flush(import);
	import_rest(import);
	if (import->rc == 0)
		return 0;
	wcs_import_cancel(import);
	if (fault)
		*fault = import->fault;
	return import->rc;
}

int wcs_import_write(struct wcs_import *import, const void *data, size_t len,
		     struct wcs_fault *fault)
{
	const char *text = data;
	int rc = import->rc;

	while (rc == 0 && len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		if (newline && import->len == 0)
			rc = import_take(import, text, n);
		else if (newline || import_flush(import) == 0) /* rows may borrow from the buffer */
			rc = import_keep(import, text, n);
		if (rc == 0 && newline && import->len > 0)
			rc = import_take_kept(import);
		n += newline ? 1 : 0;
		text += n;
		len -= n;
	}
	return import_end(import, fault);
}

int wcs_import_finish(struct wcs_import *import, struct wcs_fault *fault)
{
	if (import->rc == 0 && import->len > 0)
		import_take_kept(import);
	return import_end(import, fault);
}

void wcs_import_cancel(struct wcs_import *import)
{
	import->len = 0;
	if (import->room > IMPORT_KEEP)
		import_free_text(import);
}

void wcs_import_resume(struct wcs_import *import)
{
	import->rc = 0;
}

uint64_t wcs_import_lines(const struct wcs_import *import)
{
	return import->applied;
}

uint64_t wcs_import_old(const struct wcs_import *import)
{
	return import->old;
}

/* ---- Making ------------------------------------------------------------------------------ */

int wcs_import_new(struct wcs_table *table, const struct wcs_import_options *options,
		   struct wcs_import **import)
{
	static const struct wcs_import_options none;
	struct wcs_import *made;
	size_t len;

	if (!options)
		options = &none;
	if ((!table && (!options->other || options->key)) || (options->row && !options->key) ||
	    options->line_max > WCS_IMPORT_LINE_MOST)
		return -EINVAL;
	len = options->key ? options->key->len : 0;
	made = calloc(1, sizeof(*made) + len);
	if (!made)
		return -ENOMEM;
	made->table = table;
	made->filling = made->groups;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->changed, NULL);
	made->options = *options;
	if (made->options.line_max == 0)
		made->options.line_max = WCS_IMPORT_LINE_MAX;
	made->key = (struct wcs_slice){made->key_bytes, len};
	if (len > 0)
		memcpy(made->key_bytes, options->key->data, len);
	if (options->key)
		made->options.key = &made->key;
	*import = made;
	return 0;
}

void wcs_import_free(struct wcs_import *import)
{
	if (!import)
		return;
	import_free_text(import);
	import_rows_free(import);
	free(import);
}
