/* SPDX-License-Identifier: MIT */
/*
 * Applies rows of text that comes in pieces of any size.
 *
 * - A line that is whole in a piece is parsed in place; only an unfinished line is copied.
 * - Rows wait until there are IMPORT_ROWS of them, or IMPORT_BYTES of their text. None waits when a
 *   call returns, or while a table or schema line is applied.
 * - The error is that of the first bad line: the waiting rows are applied before a bad line is
 *   reported, and the error of one of them takes precedence.
 */
#include "store/json/import_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/json/json_memory.h"

/* Bytes of waiting rows: their trees, about ten times that, should fit a processor's cache. */
#define IMPORT_BYTES (32u << 10)
#define IMPORT_KEEP  (1u << 20) /* of the buffer for unfinished lines, between lines */

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

/* ---- Rows that wait ---------------------------------------------------------------------- */

/* Applies the rows that wait. */
static int import_flush(struct wcs_import *import)
{
	size_t applied = 0;
	int rc = 0;

	if (import->waiting == 0)
		return 0;
	rc = wcs_rows_mutate(import->table, import->entries, import->waiting, &applied);
	import->applied += applied;
	for (size_t i = 0; i < applied && import->options.applied; i++)
		import->options.applied(import->options.ctx, import->entries[i].row);
	if (rc)
		import_fail_row(import, &import->rows[applied], rc);
	for (size_t i = 0; i < import->waiting; i++)
		wcs_line_free(import->rows[i].line);
	import->waiting = import->bytes = 0;
	return import->error;
}

/* The line becomes the import's. */
static int import_add(struct wcs_import *import, struct wcs_line *line, size_t len)
{
	struct wcs_slice key = wcs_line_key(line);
	size_t at = import->waiting++;

	import->rows[at] = (struct import_row){line, import->line};
	import->entries[at].row = key.data ? key : import->key;
	import->entries[at].mutation = wcs_line_mutation(line);
	import->bytes += len;
	if (import->waiting == IMPORT_ROWS || import->bytes >= IMPORT_BYTES)
		return import_flush(import);
	return 0;
}

/* ---- Lines ------------------------------------------------------------------------------- */

static bool import_is_blank(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	return len == 0;
}

/* Is the row that of options.key or, unless options.row is set, below it? */
static bool import_below(const struct wcs_import *import, struct wcs_slice row)
{
	const unsigned char *bytes = row.data;
	size_t len = import->key.len;

	if (row.len < len || memcmp(bytes, import->key.data, len) != 0)
		return false;
	return row.len == len || (!import->options.row && bytes[len] == import->delimiter);
}

static int import_check_key(const struct wcs_import *import, const struct wcs_line *line,
			    struct wcs_fault *fault)
{
	struct wcs_slice key = wcs_line_key(line);

	if (!key.data && !import->options.row)
		return wcs_fault_set(fault, -EINVAL, "the row has no \"key\"");
	if (!key.data && import->key.len == 0)
		return wcs_fault_set(fault, -EINVAL, "a row's key cannot be empty");
	if (!key.data)
		return 0;
	if (import->options.key == NULL || import_below(import, key))
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
	if (wcs_line_kind(line) == WCS_LINE_SCHEMA)
		return wcs_fault_set(fault, -EINVAL,
				     "a schema, not a row: it belongs into /.rowfs/schema.json");
	if (strcmp(wcs_line_table(line), wcs_table_name(import->table)) == 0)
		return 0;
	return wcs_fault_set(fault, -EINVAL, "the rows of table %s cannot go to table %s",
			     wcs_line_table(line), wcs_table_name(import->table));
}

static int import_too_long(const struct wcs_import *import, struct wcs_fault *fault)
{
	return wcs_fault_set(fault, -EFBIG, "the line is longer than %zu MiB",
			     import->options.line_max >> 20);
}

static int import_parse(struct wcs_import *import, const char *text, size_t len,
			struct wcs_line **line, struct wcs_fault *fault)
{
	int rc;

	if (len > import->options.line_max)
		return import_too_long(import, fault);
	rc = wcs_line_parse(text, len, line, fault);
	if (rc || wcs_line_kind(*line) != WCS_LINE_ROW)
		return rc;
	if (!import->table)
		rc = wcs_fault_set(fault, -EINVAL,
				   "a row, but no line {\"table\": NAME} came before it");
	else
		rc = import_check_key(import, *line, fault);
	return rc;
}

/* Applies the waiting rows, then fails with the fault of the present line. */
static int import_refuse(struct wcs_import *import, int rc, const struct wcs_fault *fault)
{
	char why[sizeof(fault->text) + 32];
	int flushed = import_flush(import);

	if (flushed)
		return flushed;
	snprintf(why, sizeof(why), "%s", fault->text);
	if (fault->column > 0)
		snprintf(why, sizeof(why), "%s, at character %d", fault->text, fault->column);
	return import_fail(import, import->line, rc, why);
}

static int import_apply(struct wcs_import *import, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_line *line = NULL;
	int rc;

	rc = import_parse(import, text, len, &line, &fault);
	if (!rc && wcs_line_kind(line) == WCS_LINE_ROW)
		return import_add(import, line, len);
	if (!rc)
		rc = import_flush(import);
	if (!rc)
		rc = import_other(import, line, &fault);
	wcs_line_free(line);
	if (import->error || !rc)
		return rc;
	return import_refuse(import, rc, &fault);
}

/* A line beyond IMPORT_BYTES never waits, so its tree is freed before wcs_json_end. */
static int import_take(struct wcs_import *import, const char *text, size_t len)
{
	bool begun;
	int rc;

	import->line++;
	if (import_is_blank(text, len))
		return 0;
	begun = wcs_json_begin(len);
	rc = import_apply(import, text, len);
	wcs_json_end(begun);
	return rc;
}

/* ---- Pieces ------------------------------------------------------------------------------ */

/* Fails at the unfinished line. */
static int import_drop(struct wcs_import *import, int rc, const struct wcs_fault *fault)
{
	import->line++;
	return import_refuse(import, rc, fault);
}

/* Copies an unfinished line, or more of it. */
static int import_keep(struct wcs_import *import, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	size_t room = import->room;

	if (len > import->options.line_max - import->len)
		return import_drop(import, import_too_long(import, &fault), &fault);
	while (room < import->len + len)
		room = room ? room * 2 : 4096;
	if (room != import->room && import_resize(import, room) != 0) {
		wcs_fault_set(&fault, -ENOMEM, "no memory for so many unfinished lines");
		return import_drop(import, -ENOMEM, &fault);
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

static int import_pieces(struct wcs_import *import, const char *text, size_t len)
{
	int rc = 0;

	while (!rc && len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		if (newline && import->len == 0)
			rc = import_take(import, text, n);
		else
			rc = import_keep(import, text, n);
		if (!rc && newline && import->len > 0)
			rc = import_take_kept(import);
		n += newline ? 1 : 0;
		text += n;
		len -= n;
	}
	return rc ? rc : import_flush(import);
}

static int import_end(struct wcs_import *import, struct wcs_fault *fault)
{
	if (!import->error)
		return 0;
	wcs_import_cancel(import);
	if (fault)
		*fault = import->fault;
	return import->error;
}

int wcs_import_write(struct wcs_import *import, const void *data, size_t len,
		     struct wcs_fault *fault)
{
	if (!import->error) {
		if (import->options.key)
			import->delimiter = wcs_table_delimiter(import->table);
		import_pieces(import, data, len);
	}
	return import_end(import, fault);
}

int wcs_import_finish(struct wcs_import *import, struct wcs_fault *fault)
{
	if (!import->error && import->len > 0) {
		if (import->options.key)
			import->delimiter = wcs_table_delimiter(import->table);
		if (!import_take_kept(import))
			import_flush(import);
	}
	return import_end(import, fault);
}

void wcs_import_cancel(struct wcs_import *import)
{
	import->len = 0;
	if (import->room > IMPORT_KEEP)
		import_free_text(import);
}

uint64_t wcs_import_lines(const struct wcs_import *import)
{
	return import->applied;
}

/* ---- Making ------------------------------------------------------------------------------ */

int wcs_import_new(struct wcs_table *table, const struct wcs_import_options *options,
		   struct wcs_import **import)
{
	struct wcs_import *made;
	void *key = NULL;

	if (!table && !(options && options->other && !options->key))
		return -EINVAL;
	if (options && options->row && !options->key)
		return -EINVAL;
	if (options && options->line_max > WCS_IMPORT_LINE_MOST)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->table = table;
	if (options)
		made->options = *options;
	if (made->options.line_max == 0)
		made->options.line_max = WCS_IMPORT_LINE_MAX;
	if (made->options.key) {
		key = malloc(options->key->len + 1);
		if (!key) {
			free(made);
			return -ENOMEM;
		}
		if (options->key->len > 0)
			memcpy(key, options->key->data, options->key->len);
		made->key = (struct wcs_slice){key, options->key->len};
		made->options.key = &made->key;
	}
	*import = made;
	return 0;
}

void wcs_import_free(struct wcs_import *import)
{
	if (!import)
		return;
	free((void *)(uintptr_t)import->key.data);
	import_free_text(import);
	free(import);
}
