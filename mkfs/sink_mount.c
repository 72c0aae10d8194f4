/* SPDX-License-Identifier: MIT */
/*
 * Lines into a directory of a mount, through its own files: rows into .rows, a schema into
 * /.rowfs/schema.json. So each is checked where all others are, and its errors are the mount's: a
 * failed write says only that there is one, /.rowfs/errors has the line and the reason.
 *
 * - Below a table all rows go to that directory, and its .rows sees to it that a table line names
 *   the table. At a root with tables each table line opens the .rows of its table.
 * - A line is a row unless its object has "table", "version" or "tables"; only where the text can
 *   have one of these names is it parsed here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounted.h"
#include "sink.h"

#define SINK_SCHEMA "/.rowfs/schema.json"

struct sink_mount {
	struct sink sink;
	const struct program *program;
	uint64_t hidden;	  /* writes that the mount had counted as hidden before */
	char root[PATH_MAX];	  /* of the mount */
	bool tables;		  /* it is a root with tables below it */
	int dir;		  /* where the lines go */
	int rows;		  /* the .rows that is open; -1: none */
	char rows_path[PATH_MAX]; /* of it, from the root on */
	uint64_t stream;	  /* lines that were written into it */
};

/* Rows that follow each other in the text. */
struct sink_run {
	const char *text;
	size_t len;
	uint64_t first; /* number of the first line, from 1 */
	uint64_t lines;
};

/* ---- Lines ------------------------------------------------------------------------------- */

static size_t sink_mount_line(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);

	return newline ? (size_t)(newline - text) : len;
}

static bool sink_mount_has(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what)) != NULL;
}

/* The line, parsed, if it is a good one that is no row; else NULL. */
static struct wcs_line *sink_mount_other(const char *text, size_t len)
{
	struct wcs_line *line;

	if (!sink_mount_has(text, len, "\"table") && !sink_mount_has(text, len, "\"version") &&
	    !sink_mount_has(text, len, "\\u"))
		return NULL;
	if (wcs_line_parse(text, len, &line, NULL))
		return NULL;
	if (wcs_line_kind(line) != WCS_LINE_ROW)
		return line;
	wcs_line_free(line);
	return NULL;
}

/* How many of the first lines of the run are rows. */
static uint64_t sink_mount_rows(const struct sink_run *run, uint64_t lines)
{
	const char *text = run->text;
	size_t len = run->len;
	uint64_t rows = 0;

	for (; lines > 0 && len > 0; lines--) {
		size_t n = sink_mount_line(text, len);
		struct wcs_line *other = sink_mount_other(text, n);

		rows += strspn(text, " \t\r") < n && !other;
		wcs_line_free(other);
		n += n < len ? 1 : 0;
		text += n;
		len -= n;
	}
	return rows;
}

/* ---- Errors ------------------------------------------------------------------------------ */

/* The last error in the mount's list that names the file: its line becomes *line, its reason why.
 * False: the list cannot be read (it is its owner's), or has none. */
static bool sink_mount_reason(struct sink_mount *to, const char *path, uint64_t *line)
{
	char wanted[PATH_MAX + 2], name[PATH_MAX + 32], *text = NULL;
	bool found = false;
	size_t room = 0;
	FILE *in;

	snprintf(name, sizeof(name), "%s/.rowfs/errors", to->root);
	snprintf(wanted, sizeof(wanted), " %s:", path);
	in = fopen(name, "re");
	if (!in)
		return false;
	while (getline(&text, &room, in) > 0) {
		char *at = strstr(text, wanted);

		if (!at)
			continue;
		*line = strtoull(at + strlen(wanted), &at, 10);
		at += strspn(at, ": ");
		at[strcspn(at, "\n")] = '\0';
		sink_fail(&to->sink, 0, "%s", at);
		found = true;
	}
	free(text);
	fclose(in);
	return found;
}

/* What the mount says of lines applied is of one open file: it goes, and ours comes. */
static void sink_mount_applied(struct sink *sink)
{
	char *end = strstr(sink->why, " applied before it)");
	size_t n;

	if (end) {
		*end = '\0';
		end = strrchr(sink->why, '(');
		if (end)
			*end = '\0';
	}
	n = strlen(sink->why);
	while (n > 0 && sink->why[n - 1] == ' ')
		n--;
	snprintf(sink->why + n, sizeof(sink->why) - n, " (%" PRIu64 " line%s applied before it)",
		 sink->rows, sink->rows == 1 ? "" : "s");
}

/* A write of the run failed: finds the line and the reason. */
static int sink_mount_refused(struct sink_mount *to, const struct sink_run *run, int error)
{
	struct sink *sink = &to->sink;
	uint64_t line = 0;

	if (!sink_mount_reason(to, to->rows_path, &line) || line <= to->stream ||
	    line > to->stream + run->lines) {
		sink->failed = run->first;
		return sink_fail(sink, error,
				 "%s, here or up to %" PRIu64 " lines behind; .rowfs/errors "
				 "of the mount has the reason",
				 strerror(-error), run->lines - 1);
	}
	line -= to->stream;
	sink->failed = run->first + line - 1;
	sink->rows += sink_mount_rows(run, line - 1);
	sink_mount_applied(sink);
	return error;
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int sink_mount_put(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
	}
	return 0;
}

/* Writes the run, if it has lines, and makes it empty. */
static int sink_mount_flush(struct sink_mount *to, struct sink_run *run)
{
	int error;

	if (run->lines == 0)
		return 0;
	error = sink_mount_put(to->rows, run->text, run->len);
	if (!error && run->text[run->len - 1] != '\n')
		error = sink_mount_put(to->rows, "\n", 1);
	if (error)
		return sink_mount_refused(to, run, error);
	to->sink.rows += sink_mount_rows(run, run->lines);
	to->stream += run->lines;
	run->lines = 0;
	return 0;
}

/* Opens the .rows of the directory, which has that path from the root on. */
static int sink_mount_rows_open(struct sink_mount *to, const char *directory)
{
	char name[PATH_MAX + PATH_MAX];

	if (to->rows >= 0)
		close(to->rows);
	to->stream = 0;
	snprintf(to->rows_path, sizeof(to->rows_path), "%s/.rows", directory);
	snprintf(name, sizeof(name), "%s%s", to->root, to->rows_path);
	to->rows = open(name, O_WRONLY | O_CLOEXEC);
	return to->rows < 0 ? -errno : 0;
}

static int sink_mount_table(struct sink_mount *to, const char *table)
{
	char directory[WCS_TABLE_NAME_MAX + 2];
	int error;

	snprintf(directory, sizeof(directory), "/%s", table);
	error = sink_mount_rows_open(to, directory);
	if (!error)
		return 0;
	return sink_fail(&to->sink, error, "table %s: %s", table,
			 error == -ENOENT ? "the store has none of that name" : strerror(-error));
}

static int sink_mount_schema(struct sink_mount *to, const char *text, size_t len)
{
	char name[PATH_MAX + 32];
	uint64_t line;
	int error, fd;

	snprintf(name, sizeof(name), "%s" SINK_SCHEMA, to->root);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return sink_fail(&to->sink, -errno, SINK_SCHEMA ": %s", strerror(errno));
	error = sink_mount_put(fd, text, len);
	if (close(fd) && !error)
		error = -errno;
	if (error && !sink_mount_reason(to, SINK_SCHEMA, &line))
		sink_fail(&to->sink, error, "the schema: %s", strerror(-error));
	return error;
}

/* A line that is no row. Rows before it are written. */
static int sink_mount_take(struct sink_mount *to, const struct wcs_line *line, const char *text,
			   size_t len)
{
	if (wcs_line_kind(line) == WCS_LINE_SCHEMA)
		return sink_mount_schema(to, text, len);
	return sink_mount_table(to, wcs_line_table(line));
}

static bool sink_mount_joins(const struct sink_mount *to, const struct wcs_line *other)
{
	return !other || (!to->tables && wcs_line_kind(other) == WCS_LINE_TABLE);
}

static int sink_mount_write(struct sink *sink, const char *text, size_t len)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	struct sink_run run = {0};
	uint64_t number = sink->lines;
	int error = 0;

	while (len > 0 && !error) {
		size_t n = sink_mount_line(text, len), all = n < len ? n + 1 : n;
		struct wcs_line *other = sink_mount_other(text, n);

		number++;
		if (!sink_mount_joins(to, other)) {
			error = sink_mount_flush(to, &run);
			sink->failed = error ? sink->failed : number;
			if (!error && sink_mount_take(to, other, text, n)) {
				sink_mount_applied(sink);
				error = -EINVAL;
			}
		} else if (to->rows < 0 && strspn(text, " \t\r") < n) {
			sink->failed = number;
			error = sink_fail(sink, -EINVAL, SINK_NO_TABLE);
			sink_mount_applied(sink);
		} else if (to->rows >= 0) {
			if (run.lines++ == 0)
				run = (struct sink_run){text, 0, number, 1};
			run.len += all;
		}
		wcs_line_free(other);
		text += all;
		len -= all;
	}
	return error ? error : sink_mount_flush(to, &run);
}

static int sink_mount_sync(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;

	return fsync(to->dir) ? sink_fail(sink, -errno, "%s", strerror(errno)) : 0;
}

/* ---- Families ---------------------------------------------------------------------------- */

static void sink_mount_list(struct sink *sink, const char *families)
{
	DIR *stream = opendir(families);
	size_t n = strlen(sink->why);
	const struct dirent *entry;
	bool any = false;

	while (stream && n < sizeof(sink->why) && (entry = readdir(stream)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		n += (size_t)snprintf(sink->why + n, sizeof(sink->why) - n, "%s %s", any ? "," : "",
				      entry->d_name);
		any = true;
	}
	if (!any && n < sizeof(sink->why))
		snprintf(sink->why + n, sizeof(sink->why) - n, " none");
	if (stream)
		closedir(stream);
}

static int sink_mount_family(struct sink *sink, const char *table, const char *family)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	char families[PATH_MAX + 128], name[PATH_MAX + 256];

	snprintf(families, sizeof(families), "%s/%s/.families", to->root, to->tables ? table : ".");
	if (!to->tables) /* that of the table which the directory is in, or is */
		return 0;
	if (access(families, F_OK))
		return sink_fail(sink, -errno, "table %s: %s", table,
				 errno == ENOENT ? "the store has none of that name"
						 : strerror(errno));
	snprintf(name, sizeof(name), "%s/%.64s", families, family);
	if (access(name, F_OK) == 0)
		return 0;
	sink_fail(sink, 0, "family %.64s: table %s does not have it; it has", family, table);
	sink_mount_list(sink, families);
	return -ENOENT;
}

/* ---- Opening ----------------------------------------------------------------------------- */

/* The mount's log has the families; the mount counts for all who write. */
static void sink_mount_tell_hidden(const struct sink_mount *to)
{
	uint64_t hidden = mounted_hidden_writes(to->root);
	char text[128];

	if (hidden <= to->hidden)
		return;
	hidden -= to->hidden;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " cell%s written (or by others, meanwhile) that a policy hides at once",
		 hidden, hidden == 1 ? " was" : "s were");
	program_log((void *)(uintptr_t)to->program, WCS_LOG_WARNING, text);
}

static void sink_mount_close(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;

	sink_mount_tell_hidden(to);
	if (to->rows >= 0)
		close(to->rows);
	if (to->dir >= 0)
		close(to->dir);
	free(to);
}

static const struct sink_kind sink_mount_kind = {.write = sink_mount_write,
						 .sync = sink_mount_sync,
						 .family = sink_mount_family,
						 .close = sink_mount_close};

int sink_mount_open(const struct program *program, const struct mounted *mounted,
		    struct sink **sink)
{
	struct sink_mount *to = calloc(1, sizeof(*to));
	int error = 0;

	if (!to)
		return program_fail(program, "no memory");
	to->sink.kind = &sink_mount_kind;
	to->sink.line_max = WCS_IMPORT_LINE_MAX;
	to->program = program;
	to->hidden = UINT64_MAX; /* nothing is written yet */
	to->rows = -1;
	to->tables = !mounted->rows;
	snprintf(to->root, sizeof(to->root), "%s", mounted->root);
	to->dir = open(mounted->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to->dir < 0)
		error = -errno;
	else if (!to->tables)
		error = sink_mount_rows_open(to, mounted->directory + strlen(mounted->root));
	if (!error) {
		to->hidden = mounted_hidden_writes(to->root);
		*sink = &to->sink;
		return PROGRAM_OK;
	}
	sink_mount_close(&to->sink);
	return program_fail(program, "%s: %s", mounted->directory, strerror(-error));
}
