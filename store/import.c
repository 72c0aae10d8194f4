/* SPDX-License-Identifier: MIT */
/*
 * Rows from text, in pieces of any size.
 *
 * - A line that is whole in a piece is parsed where it stands; only what a piece leaves unfinished
 *   is copied.
 * - Rows wait until there are IMPORT_ROWS of them or the text of all is IMPORT_BYTES; none waits
 *   when a call returns, or while a line is taken that is no row.
 * - An error belongs to the first line that has one: before a bad line is spoken of, the rows that
 *   wait are applied, and where one of those fails that is the error.
 */
#include "mutation.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

enum { IMPORT_ROWS = 512 };
/* Their trees take about ten times that, which should stay in a processor's cache. */
#define IMPORT_BYTES	(32u << 10)
#define IMPORT_TOO_LONG "the line is longer than 256 MiB"
#define IMPORT_KEEP	(1u << 20) /* of the buffer for unfinished lines, between lines */

struct import_row {
	struct wcs_line *line;
	uint64_t number;
};

struct wcs_import {
	struct wcs_table *table;
	struct wcs_import_options options; /* key points to the one below */
	struct wcs_slice key;
	unsigned char delimiter;
	char *text; /* the unfinished line */
	size_t len, room;
	uint64_t line; /* number of the last line that was taken */
	uint64_t applied;
	int error; /* 0: none yet */
	struct wcs_fault fault;
	size_t waiting, bytes; /* rows, and the length of their text */
	struct import_row rows[IMPORT_ROWS];
	struct wcs_entry entries[IMPORT_ROWS];
};

/* ---- Errors ------------------------------------------------------------------------------ */

static int import_fail(struct wcs_import *import, uint64_t number, int error, const char *why)
{
	char applied[64];
	int room;

	snprintf(applied, sizeof(applied), " (%" PRIu64 " line%s applied before it)",
		 import->applied, import->applied == 1 ? "" : "s");
	room = (int)(sizeof(import->fault.text) - 1 - strlen(applied));
	import->error = error;
	wcs_fault_set(&import->fault, error, "%.*s%s", room, why, applied);
	import->fault.line = number < INT_MAX ? (int)number : INT_MAX;
	return error;
}

static bool import_has(struct wcs_table *table, const char *family)
{
	return wcs_family_exists(table, (struct wcs_slice){family, strlen(family)});
}

/* The first family of the mutation that the table does not have; NULL: none. */
static const char *import_unknown(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	for (size_t i = 0; i < mutation->condition_count; i++)
		if (!import_has(table, mutation->conditions[i].family))
			return mutation->conditions[i].family;
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (!import_has(table, mutation->deletes[i].family))
			return mutation->deletes[i].family;
	for (size_t i = 0; i < mutation->write_count; i++)
		if (!import_has(table, mutation->writes[i].family))
			return mutation->writes[i].family;
	return NULL;
}

static int import_fail_family(struct wcs_import *import, uint64_t number,
			      const struct wcs_mutation *mutation)
{
	const char *unknown = import_unknown(import->table, mutation);
	char why[sizeof(import->fault.text)], name[WCS_FAMILY_NAME_MAX + 1];
	bool any = false;
	size_t n;

	if (!unknown) { /* nor does such a table say which it has */
		snprintf(why, sizeof(why), "table %s was removed", wcs_table_name(import->table));
		return import_fail(import, number, -ENOENT, why);
	}
	n = (size_t)snprintf(why, sizeof(why), "family %s: table %s does not have it; it has",
			     unknown, wcs_table_name(import->table));
	while (n < sizeof(why) && wcs_family_next(import->table, any ? name : NULL, name) == 0) {
		n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s", any ? "," : "", name);
		any = true;
	}
	if (!any)
		snprintf(why + n, sizeof(why) - n, " none");
	return import_fail(import, number, -EINVAL, why);
}

/* The words for what wcs_rows_mutate said of a row. */
static int import_fail_row(struct wcs_import *import, const struct import_row *row, int error)
{
	switch (error) {
	case -ENOENT:
		return import_fail_family(import, row->number, wcs_line_mutation(row->line));
	case -ECANCELED:
		return import_fail(import, row->number, error, "the row is not as \"if\" says");
	case -EINVAL:
		return import_fail(import, row->number, error,
				   "\"increment\" of a value that is not an 8-byte integer");
	case -EOVERFLOW:
		return import_fail(import, row->number, error,
				   "an integer or a timestamp would leave its range");
	case -EFBIG:
		return import_fail(import, row->number, error,
				   "\"append\" makes a value larger than 100 MiB");
	default:
		return import_fail(import, row->number, error, strerror(-error));
	}
}

/* ---- Rows that wait ---------------------------------------------------------------------- */

/* Applies the rows that wait. */
static int import_flush(struct wcs_import *import)
{
	size_t applied = 0;
	int error = 0;

	if (import->waiting == 0)
		return 0;
	error = wcs_rows_mutate(import->table, import->entries, import->waiting, &applied);
	import->applied += applied;
	for (size_t i = 0; i < applied && import->options.applied; i++)
		import->options.applied(import->options.ctx, import->entries[i].row);
	if (error)
		import_fail_row(import, &import->rows[applied], error);
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

/* Is the row the import's, or below it? */
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

/* A line that is no row; what was before it is applied. */
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

/* What cells of an aggregate family hold is not just any bytes, and nothing writes it yet. A family
 * that does not exist is told of later, with those that do. */
static int import_check_types(const struct wcs_import *import, const struct wcs_mutation *mutation,
			      struct wcs_fault *fault)
{
	for (size_t i = 0; i < mutation->write_count; i++) {
		const char *family = mutation->writes[i].family;
		enum wcs_type type = wcs_family_type(import->table, family);

		if (type != WCS_TYPE_NONE && type != WCS_BYTES)
			return wcs_fault_set(fault, -EINVAL,
					     "family %s is of type %s, which cannot be written yet",
					     family, wcs_type_name(type));
	}
	return 0;
}

static int import_parse(struct wcs_import *import, const char *text, size_t len,
			struct wcs_line **line, struct wcs_fault *fault)
{
	int error;

	if (len > WCS_IMPORT_LINE_MAX)
		return wcs_fault_set(fault, -EFBIG, IMPORT_TOO_LONG);
	error = wcs_line_parse(text, len, line, fault);
	if (error || wcs_line_kind(*line) != WCS_LINE_ROW)
		return error;
	if (!import->table)
		error = wcs_fault_set(fault, -EINVAL,
				      "a row, but no line {\"table\": NAME} came before it");
	else
		error = import_check_key(import, *line, fault);
	return error ? error : import_check_types(import, wcs_line_mutation(*line), fault);
}

/* Applies what waits, then fails with what is wrong with the present line. */
static int import_refuse(struct wcs_import *import, int error, const struct wcs_fault *fault)
{
	char why[sizeof(fault->text) + 32];
	int flushed = import_flush(import);

	if (flushed)
		return flushed;
	snprintf(why, sizeof(why), "%s", fault->text);
	if (fault->column > 0)
		snprintf(why, sizeof(why), "%s, at character %d", fault->text, fault->column);
	return import_fail(import, import->line, error, why);
}

static int import_take(struct wcs_import *import, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_line *line = NULL;
	int error;

	import->line++;
	if (import_is_blank(text, len))
		return 0;
	error = import_parse(import, text, len, &line, &fault);
	if (!error && wcs_line_kind(line) == WCS_LINE_ROW)
		return import_add(import, line, len);
	if (!error)
		error = import_flush(import);
	if (!error)
		error = import_other(import, line, &fault);
	wcs_line_free(line);
	if (import->error || !error)
		return error;
	return import_refuse(import, error, &fault);
}

/* ---- Pieces ------------------------------------------------------------------------------ */

/* The line that is not finished cannot be kept. */
static int import_drop(struct wcs_import *import, int error, const char *why)
{
	struct wcs_fault fault = {0};

	wcs_fault_set(&fault, error, "%s", why);
	import->line++;
	return import_refuse(import, error, &fault);
}

/* Keeps an unfinished line, or more of it. */
static int import_keep(struct wcs_import *import, const char *text, size_t len)
{
	size_t room = import->room;

	if (len > WCS_IMPORT_LINE_MAX - import->len)
		return import_drop(import, -EFBIG, IMPORT_TOO_LONG);
	while (room < import->len + len)
		room = room ? room * 2 : 4096;
	if (room != import->room) {
		char *grown = realloc(import->text, room);

		if (!grown)
			return import_drop(import, -ENOMEM, "no memory");
		import->text = grown;
		import->room = room;
	}
	memcpy(import->text + import->len, text, len);
	import->len += len;
	return 0;
}

/* Takes the kept line, which is finished now. */
static int import_take_kept(struct wcs_import *import)
{
	int error = import_take(import, import->text, import->len);

	wcs_import_cancel(import);
	return error;
}

static int import_pieces(struct wcs_import *import, const char *text, size_t len)
{
	int error = 0;

	while (!error && len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		if (newline && import->len == 0)
			error = import_take(import, text, n);
		else
			error = import_keep(import, text, n);
		if (!error && newline && import->len > 0)
			error = import_take_kept(import);
		n += newline ? 1 : 0;
		text += n;
		len -= n;
	}
	return error ? error : import_flush(import);
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
	if (import->room <= IMPORT_KEEP)
		return;
	free(import->text);
	import->text = NULL;
	import->room = 0;
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
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->table = table;
	if (options)
		made->options = *options;
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
	free(import->text);
	free(import);
}
