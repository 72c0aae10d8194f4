/* SPDX-License-Identifier: MIT */
/*
 * Lines into a directory of a mount, through its files: rows into .rows, a schema into
 * /.rowfs/schema.json. The mount checks them. A failed write gives only an errno; a read of the
 * same open file then gives the line and the reason.
 *
 * - A line is a row unless its object has "table", "version" or "tables". A line is parsed only if
 *   its text may have one of these names.
 * - In a table all rows go to the .rows of the directory, which checks that a table line names the
 *   table. At a root with tables each table line opens the .rows of its table.
 * - The number of applied lines counts those that the mount has acknowledged. If a write fails and
 *   the bad line is not known, more of them may be applied.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/grow.h"
#include "lib/system/message.h"
#include "mkfs/base/mounted.h"
#include "mkfs/load/sink.h"
#include "store/rows.h"

#define SINK_PIECE  (15u << 16) /* bytes of rows: with the last row mostly one request */
#define SINK_SCHEMA "/.rowfs/schema.json"

/* Consecutive lines. */
struct sink_run {
	const char *text;
	size_t len;
	uint64_t first;		 /* number of the first line, from 1 */
	const uint64_t *numbers; /* instead, the number of each; NULL: none */
	bool table;		 /* it is a table line */
};

struct sink_mount {
	struct sink sink;
	const struct mounted *mounted; /* rows false: it is a root with tables below it */
	uint64_t cells, old;	       /* the mount's counts of written cells, all and old ones */
	int dir;		       /* the directory */
	int rows;		       /* the open .rows; -1: none */
	uint64_t stream;	       /* lines written into it */
	struct wcs_text text;	       /* of rows of CSV that wait */
	uint64_t *numbers;	       /* of their lines */
	size_t waiting, numbers_room;
};

/* ---- Lines ------------------------------------------------------------------------------- */

/* The bytes of the first line, without its newline. */
static size_t sink_mount_line(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);

	return newline ? (size_t)(newline - text) : len;
}

static bool sink_mount_blank(const char *text, size_t len)
{
	while (len > 0 && memchr(" \t\r\n", text[len - 1], 4))
		len--;
	return len == 0;
}

/* The parsed line, if it is valid and no row; else NULL. The caller frees it. */
static struct wcs_line *sink_mount_other(const char *text, size_t len)
{
	struct wcs_line *line = NULL;

	if (!memmem(text, len, "\"table", 6) && !memmem(text, len, "\"version", 8) &&
	    !memmem(text, len, "\\u", 2))
		return NULL;
	if (wcs_line_parse(text, len, NULL, &line, NULL))
		return NULL;
	if (line->kind != WCS_LINE_ROW)
		return line;
	wcs_line_free(line);
	return NULL;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Returns how many bytes were written; fewer than len: errno says why. */
static size_t sink_mount_put(int fd, const char *text, size_t len)
{
	size_t taken = 0;

	while (taken < len) {
		ssize_t put = write(fd, text + taken, len - taken);

		if (put < 0 && errno != EINTR)
			break;
		taken += put > 0 ? (size_t)put : 0;
	}
	return taken;
}

/* The reason of an error that the mount did not give. */
static const char *sink_mount_error(int rc)
{
	return rc == -EFBIG ? "File too large: this process may write no more into one file "
			      "(ulimit -f)"
			    : strerror(-rc);
}

/* Reads the reason of a failed write, "LINE: REASON" or "REASON", from the same open file. If the
 * mount refused nothing, .rows and schema.json have text that begins with a brace. */
static bool sink_mount_reason(struct sink *sink, int fd, uint64_t *line)
{
	char text[sizeof(sink->why)], *why = text;
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0 || text[0] == '{')
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	*line = strtoull(text, &why, 10);
	if (*line > 0 && *why == ':') {
		why += 1 + (why[1] == ' ');
	} else {
		*line = 0;
		why = text;
	}
	sink_fail_import(sink, 0, why);
	return true;
}

/* Counts the first lines of a run, at most max, and adds those that are rows to the applied ones.
 */
static uint64_t sink_mount_applied(struct sink_mount *to, const struct sink_run *run, uint64_t max)
{
	const char *at = run->text, *end = at + run->len;
	uint64_t lines = 0;

	for (; at < end && lines < max; lines++) {
		size_t n = sink_mount_line(at, (size_t)(end - at));

		to->sink.rows += !run->table && !sink_mount_blank(at, n);
		at += n + 1;
	}
	return lines;
}

static uint64_t sink_mount_newlines(const char *text, size_t len)
{
	uint64_t lines = 0;

	for (const char *end = text + len; (text = memchr(text, '\n', (size_t)(end - text)));
	     text++)
		lines++;
	return lines;
}

/* A write of the run failed behind so many bytes: finds the line and the reason. */
static int sink_mount_refused(struct sink_mount *to, const struct sink_run *run, size_t taken)
{
	struct sink *sink = &to->sink;
	int rc = -errno;
	uint64_t line = 0, lines = sink_mount_newlines(run->text, taken), behind;
	bool told = sink_mount_reason(sink, to->rows, &line);
	char range[64] = "";

	close(to->rows);
	to->rows = -1;
	if (told && line > to->stream)
		lines = line - to->stream - 1;
	lines = sink_mount_applied(to, run, lines);
	sink->failed = run->numbers ? run->numbers[lines] : run->first + lines;
	if (told)
		return rc;
	behind = sink_mount_newlines(run->text, run->len - 1) - lines;
	if (behind > 0)
		snprintf(range, sizeof(range), ", here or up to %" PRIu64 " line%s behind", behind,
			 message_plural(behind));
	sink->least = true;
	return sink_fail(sink, rc, "%s%s", sink_mount_error(rc), range);
}

/* path: from the directory. */
static int sink_mount_rows_open(struct sink_mount *to, const char *path)
{
	if (to->rows >= 0)
		close(to->rows);
	to->stream = 0;
	to->rows = openat(to->dir, path, O_RDWR | O_CLOEXEC);
	return to->rows < 0 ? -errno : 0;
}

/* Opens the .rows of the table, or of the directory if that is in one. */
static int sink_mount_rows_of(struct sink_mount *to, const char *table)
{
	char path[WCS_TABLE_NAME_MAX + sizeof("/.rows")];

	snprintf(path, sizeof(path), "%s/.rows", table);
	return sink_mount_rows_open(to, to->mounted->rows ? ".rows" : path);
}

/* Writes the run, with a newline at its end. */
static int sink_mount_put_run(struct sink_mount *to, const struct sink_run *run)
{
	uint64_t lines = 0;
	size_t taken;
	int rc = 0;

	if (run->len == 0 || (to->rows < 0 && sink_mount_blank(run->text, run->len)))
		return 0;
	if (to->rows < 0 && run->numbers) /* a run before this one was refused */
		rc = sink_mount_rows_of(to, to->sink.table);
	if (rc)
		return sink_fail(&to->sink, rc, "%s", strerror(-rc));
	if (to->rows < 0) {
		for (const char *at = run->text; memchr(" \t\r\n", *at, 4); at++)
			lines += *at == '\n';
		to->sink.failed = run->first + lines;
		return sink_fail(&to->sink, -EINVAL,
				 "a row, but no line {\"table\": NAME} came before it");
	}
	taken = sink_mount_put(to->rows, run->text, run->len);
	if (taken < run->len ||
	    (run->text[run->len - 1] != '\n' && sink_mount_put(to->rows, "\n", 1) < 1))
		return sink_mount_refused(to, run, taken);
	to->stream += sink_mount_applied(to, run, UINT64_MAX);
	return 0;
}

/* ---- Rows of CSV ------------------------------------------------------------------------- */

static int sink_mount_finish(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	const struct sink_run run = {
		.text = to->text.bytes, .len = to->text.len, .numbers = to->numbers};

	to->text.len = to->waiting = 0;
	return sink_mount_put_run(to, &run);
}

static int sink_mount_row(struct sink *sink, const struct csv_row *row)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	int rc = grow(&to->numbers, &to->numbers_room, to->waiting + 2, 1024, sizeof(*to->numbers));

	if (!rc)
		rc = wcs_text_row(&to->text, sink->keys, row->cells, row->count);
	if (rc) {
		rc = sink_mount_finish(sink);
		to->sink.failed = rc ? to->sink.failed : row->line;
		return rc ? rc : sink_fail(sink, -ENOMEM, "no memory");
	}
	to->numbers[to->waiting++] = row->line;
	to->numbers[to->waiting] = 0; /* none in particular */
	return to->text.len < SINK_PIECE ? 0 : sink_mount_finish(sink);
}

/* ---- Tables and schemas ------------------------------------------------------------------ */

static int sink_mount_schema(struct sink_mount *to, const char *text, size_t len)
{
	char name[PATH_MAX + 32];
	uint64_t line;
	bool told;
	int rc, fd;

	snprintf(name, sizeof(name), "%s" SINK_SCHEMA, to->mounted->root);
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return sink_fail(&to->sink, -errno, SINK_SCHEMA ": %s", strerror(errno));
	rc = sink_mount_put(fd, text, len) < len ? -errno : 0;
	told = rc && sink_mount_reason(&to->sink, fd, &line);
	if (close(fd) && !rc)
		rc = -errno;
	return !rc || told ? rc : sink_fail(&to->sink, rc, "the schema: %s", sink_mount_error(rc));
}

/* Applies a table or schema line; the rows before it are written. A table's directory takes the
 * schema that rowfs-dump prints of it: one of this table alone. */
static int sink_mount_take(struct sink_mount *to, const struct wcs_line *line, const char *text,
			   size_t len)
{
	char *changed;
	bool removed;
	int rc;

	if (line->kind == WCS_LINE_TABLE) {
		rc = sink_mount_rows_of(to, line->table);
		if (rc)
			return sink_fail(&to->sink, rc, "table %s: %s", line->table,
					 rc == -ENOENT ? "the store has none of that name"
						       : strerror(-rc));
		snprintf(to->sink.table, sizeof(to->sink.table), "%s", line->table);
		return 0;
	}
	if (to->sink.no_schema)
		return 0;
	for (size_t i = 0; to->mounted->rows && i < line->schema->table_count; i++) {
		const char *name = line->schema->tables[i].name;

		if (strcmp(name, to->mounted->table) != 0)
			return sink_fail(&to->sink, -EINVAL,
					 "the schema of table %s cannot go to table %s: load it "
					 "into the root of a mount of all tables",
					 name, to->mounted->table);
	}
	rc = sink_keep_designs(&to->sink, line->schema, &removed);
	if (rc || !removed)
		return rc ? rc : sink_mount_schema(to, text, len);
	changed = wcs_schema_line(line->schema);
	rc = changed ? sink_mount_schema(to, changed, strlen(changed))
		     : sink_fail(&to->sink, -ENOMEM, "no memory");
	free(changed);
	return rc;
}

static int sink_mount_write(struct sink *sink, const char *text, size_t len)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	struct sink_run run = {.text = text, .first = sink->lines + 1};
	uint64_t number = sink->lines;
	int rc = 0;

	while (len > 0 && !rc) {
		size_t n = sink_mount_line(text, len), all = n < len ? n + 1 : n;
		struct wcs_line *other = sink_mount_other(text, n);

		number++;
		text += all;
		len -= all;
		if (!other) {
			run.len += all;
			continue;
		}
		rc = sink_mount_put_run(to, &run);
		run = (struct sink_run){.text = text, .first = number + 1};
		if (!rc && to->mounted->rows && other->kind == WCS_LINE_TABLE) {
			rc = sink_mount_put_run(
				to, &(struct sink_run){text - all, all, number, NULL, true});
		} else if (!rc && sink_mount_take(to, other, text - all, n)) {
			sink->failed = number;
			rc = -EINVAL;
		}
		wcs_line_free(other);
	}
	return rc ? rc : sink_mount_put_run(to, &run);
}

static int sink_mount_sync(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;

	return fsync(to->dir) ? sink_fail(sink, -errno, "%s", strerror(errno)) : 0;
}

/* A metric's growth since it was before; 0: the mount is gone. */
static uint64_t sink_mount_since(const struct sink_mount *to, const char *metric, uint64_t before)
{
	uint64_t now = mounted_count(to->mounted->root, ".rowfs/metrics", metric);

	return now > before ? now - before : 0;
}

static uint64_t sink_mount_cells(struct sink *sink, uint64_t *old)
{
	const struct sink_mount *to = (const struct sink_mount *)sink;

	*old = sink_mount_since(to, "\nrowfs_store_old_cells_total", to->old);
	return sink_mount_since(to, "\nrowfs_store_written_cells_total", to->cells);
}

static int sink_mount_read_schema(struct sink *sink, struct wcs_schema **schema)
{
	const struct sink_mount *to = (const struct sink_mount *)sink;
	struct wcs_fault fault;
	int rc = mounted_schema(to->mounted->root, schema, &fault);

	return rc ? sink_fail(sink, rc, "%s/.rowfs/schema.json: %s", to->mounted->root, fault.text)
		  : 0;
}

/* ---- Opening ----------------------------------------------------------------------------- */

static void sink_mount_close(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;

	if (to->rows >= 0)
		close(to->rows);
	if (to->dir >= 0)
		close(to->dir);
	free(to->text.bytes);
	free(to->numbers);
	wcs_schema_free(sink->schema);
	free(to);
}

static const struct sink_kind sink_mount_kind = {.write = sink_mount_write,
						 .row = sink_mount_row,
						 .finish = sink_mount_finish,
						 .sync = sink_mount_sync,
						 .cells = sink_mount_cells,
						 .schema = sink_mount_read_schema,
						 .close = sink_mount_close};

int sink_mount_open(const struct program *program, const struct mounted *mounted,
		    struct sink **sink)
{
	struct sink_mount *to = calloc(1, sizeof(*to));
	int rc = 0;

	if (!to)
		return program_fail(program, "no memory");
	to->sink.kind = &sink_mount_kind;
	to->sink.line_max = WCS_IMPORT_LINE_MAX;
	to->rows = -1;
	to->mounted = mounted;
	to->dir = open(mounted->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to->dir < 0)
		rc = -errno;
	else if (mounted->rows)
		rc = sink_mount_rows_open(to, ".rows");
	if (!rc) {
		to->cells = sink_mount_cells(&to->sink, &to->old);
		*sink = &to->sink;
		return PROGRAM_OK;
	}
	sink_mount_close(&to->sink);
	return program_fail(program, "%s: %s", mounted->directory, strerror(-rc));
}
