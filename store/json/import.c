/* SPDX-License-Identifier: MIT */
/*
 * Applies rows of text that comes in pieces of any size.
 *
 * - A line that is whole in a piece is parsed in place; only an unfinished line is copied.
 * - Rows wait until there are IMPORT_ROWS of them, or IMPORT_BYTES of their text. None waits when a
 *   call returns, or while a table or schema line is applied.
 * - The error is that of the first bad line: the waiting rows are applied before a bad line is
 *   reported, and the error of one of them takes precedence. Once import->rc is set, no line is
 *   applied.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json_memory.h"
#include "store/policy/aggregate.h"

#define IMPORT_ROWS 512u /* the most that wait */
/* Bytes of waiting rows: their trees, about ten times that, should fit a processor's cache. */
#define IMPORT_BYTES (32u << 10)
#define IMPORT_KEEP  (1u << 20) /* of the buffer for unfinished lines, between lines */

struct import_row {
	struct wcs_line *line;
	uint64_t number;
};

struct wcs_import {
	struct wcs_table *table;
	struct wcs_import_options options; /* key points to the one below */
	struct wcs_slice key;
	char *text; /* the unfinished line */
	size_t len, room;
	uint64_t line; /* number of the last line, from 1 */
	uint64_t applied;
	int rc; /* 0: no error yet */
	struct wcs_fault fault;
	size_t waiting, bytes; /* rows, and the length of their text */
	struct import_row rows[IMPORT_ROWS];
	struct wcs_entry entries[IMPORT_ROWS];
	unsigned char key_bytes[];
};

/* ---- Faults ------------------------------------------------------------------------------ */

/* Sets the error of the import and its fault; returns it. number: of the line. */
static int import_fail(struct wcs_import *import, uint64_t number, int rc, const char *why)
{
	char applied[64];
	int room;

	snprintf(applied, sizeof(applied), " (%" PRIu64 " line%s applied before it)",
		 import->applied, import->applied == 1 ? "" : "s");
	room = (int)(sizeof(import->fault.text) - 1 - strlen(applied));
	import->rc = rc;
	wcs_fault_set(&import->fault, rc, "%.*s%s", room, why, applied);
	import->fault.line = number < INT_MAX ? (int)number : INT_MAX;
	return rc;
}

static bool import_fail_has(struct wcs_table *table, const char *family)
{
	return wcs_family_exists(table, (struct wcs_slice){family, strlen(family)});
}

/* The first family of the mutation that the table does not have; NULL: none. */
static const char *import_fail_unknown(struct wcs_table *table, const struct wcs_mutation *mutation)
{
	for (size_t i = 0; i < mutation->condition_count; i++)
		if (!import_fail_has(table, mutation->conditions[i].family))
			return mutation->conditions[i].family;
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (!import_fail_has(table, mutation->deletes[i].family))
			return mutation->deletes[i].family;
	for (size_t i = 0; i < mutation->write_count; i++)
		if (!import_fail_has(table, mutation->writes[i].family))
			return mutation->writes[i].family;
	return NULL;
}

static int import_fail_family(struct wcs_import *import, uint64_t number,
			      const struct wcs_mutation *mutation)
{
	const char *unknown = import_fail_unknown(import->table, mutation);
	char why[sizeof(import->fault.text)], name[WCS_FAMILY_NAME_MAX + 1];
	bool any = false;
	size_t n;

	if (!unknown) { /* a removed table lists no families */
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

static int import_fail_column(struct wcs_import *import, uint64_t number, int rc,
			      const char *member, const char *family, struct wcs_slice qualifier,
			      const char *reason)
{
	char why[sizeof(import->fault.text)];
	char *name = wcs_text_encode(qualifier);

	snprintf(why, sizeof(why), "%s.%s.%.40s: %s", member, family, name ? name : "?", reason);
	free(name);
	return import_fail(import, number, rc, why);
}

/* Names the first condition or write that its family refuses. If there is none, the engine refused
 * the row because of `otherwise`. */
static int import_fail_value(struct wcs_import *import, uint64_t number,
			     const struct wcs_mutation *mutation, int rc, const char *otherwise)
{
	const char *reason, *member;

	for (size_t i = 0; i < mutation->condition_count; i++) {
		const struct wcs_condition *condition = &mutation->conditions[i];

		reason = wcs_aggregate_refuses_if(condition);
		if (reason)
			return import_fail_column(import, number, wcs_aggregate_error(reason), "if",
						  condition->family, condition->qualifier, reason);
	}
	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		reason = wcs_aggregate_refuses(write);
		if (!reason)
			continue;
		member = write->kind == WCS_WRITE_APPEND      ? "append"
			 : write->kind == WCS_WRITE_INCREMENT ? "increment"
							      : "families";
		return import_fail_column(import, number, wcs_aggregate_error(reason), member,
					  write->family, write->qualifier, reason);
	}
	return import_fail(import, number, rc, otherwise);
}

/* As import_fail, with the reason for which wcs_rows_mutate refused the row. */
static int import_fail_row(struct wcs_import *import, const struct import_row *row, int rc)
{
	switch (rc) {
	case -ENOENT:
		return import_fail_family(import, row->number, row->line->mutation);
	case -ECANCELED:
		return import_fail(import, row->number, rc, "the row is not as \"if\" says");
	case -EINVAL:
		return import_fail_value(import, row->number, row->line->mutation, rc,
					 "\"increment\" of a value that is not an 8-byte integer");
	case -EOVERFLOW:
		return import_fail_value(import, row->number, row->line->mutation, rc,
					 "an integer or a timestamp would leave its range");
	case -EFBIG:
		return import_fail(import, row->number, rc,
				   "\"append\" makes a value larger than 100 MiB");
	default:
		return import_fail(import, row->number, rc, strerror(-rc));
	}
}

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

static int import_flush(struct wcs_import *import)
{
	size_t applied = 0;
	int rc;

	if (import->waiting == 0)
		return import->rc;
	rc = wcs_rows_mutate(import->table, import->entries, import->waiting, &applied);
	import->applied += applied;
	for (size_t i = 0; i < applied && import->options.applied; i++)
		import->options.applied(import->options.ctx, import->entries[i].row);
	if (rc != 0)
		import_fail_row(import, &import->rows[applied], rc);
	for (size_t i = 0; i < import->waiting; i++)
		wcs_line_free(import->rows[i].line);
	import->waiting = import->bytes = 0;
	return import->rc;
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

/* Applies the waiting rows, then fails with the fault of the present line. */
static int import_refuse(struct wcs_import *import, int rc, const struct wcs_fault *fault)
{
	char why[sizeof(fault->text) + 32];

	if (import_flush(import) != 0)
		return import->rc;
	snprintf(why, sizeof(why), "%s", fault->text);
	if (fault->column > 0)
		snprintf(why, sizeof(why), "%s, at character %d", fault->text, fault->column);
	return import_fail(import, import->line, rc, why);
}

static int import_apply(struct wcs_import *import, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_line *line = NULL;
	size_t at = import->waiting;
	int rc = len > import->options.line_max ? import_too_long(import, &fault)
						: wcs_line_parse(text, len, &line, &fault);

	if (rc == 0 && line->kind == WCS_LINE_ROW) {
		rc = import_check_row(import, line->key, &fault);
		if (rc == 0) {
			import->rows[at] = (struct import_row){line, import->line};
			import->entries[at].row = line->key.data ? line->key : import->key;
			import->entries[at].mutation = line->mutation;
			import->waiting++;
			import->bytes += len;
			if (import->waiting == IMPORT_ROWS || import->bytes >= IMPORT_BYTES)
				return import_flush(import);
			return 0;
		}
	} else if (rc == 0) {
		rc = import_flush(import);
		if (rc == 0)
			rc = import_other(import, line, &fault);
	}
	wcs_line_free(line);
	return import->rc != 0 || rc == 0 ? rc : import_refuse(import, rc, &fault);
}

/* A line beyond IMPORT_BYTES never waits, so its tree is freed before wcs_json_end. */
static int import_take(struct wcs_import *import, const char *text, size_t len)
{
	size_t end = len;
	bool begun;
	int rc;

	import->line++;
	while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r'))
		end--;
	if (end == 0)
		return 0;
	begun = wcs_json_begin(len);
	rc = import_apply(import, text, len);
	wcs_json_end(begun);
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
	if (import_flush(import) == 0)
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
		else
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

uint64_t wcs_import_lines(const struct wcs_import *import)
{
	return import->applied;
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
	free(import);
}
