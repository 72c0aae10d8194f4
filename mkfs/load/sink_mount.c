/* SPDX-License-Identifier: MIT */
/*
 * Lines into a directory of a mount, through its own files: rows into .rows, a schema into
 * /.rowfs/schema.json. So each is checked where all others are, and its errors are the mount's: a
 * failed write says only that there is one, /.rowfs/errors has the line and the reason.
 *
 * - Below a table all rows go to that directory, and its .rows sees to it that a table line names
 *   the table. At a root with tables each table line opens the .rows of its table.
 * - The count of lines applied is what the mount has taken and answered for; where a write fails
 *   and the line is not known, it is that of the lines before all that it may be.
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

#include "mkfs/load/refusal.h"
#include "mkfs/load/sink.h"
#include "mkfs/load/sink_run.h"
#include "mkfs/mounted.h"

#define SINK_SCHEMA "/.rowfs/schema.json"
#define SINK_LIMIT  "%s: this process may write no more into one file (ulimit -f)"

struct sink_mount {
	struct sink sink;
	const struct program *program;
	uint64_t hidden;	  /* writes that the mount had counted as hidden before */
	uint64_t cells;		  /* and cells as written */
	char root[PATH_MAX];	  /* of the mount */
	bool tables;		  /* it is a root with tables below it */
	int dir;		  /* where the lines go */
	int rows;		  /* the .rows that is open; -1: none */
	char rows_path[PATH_MAX]; /* of it, from the root on */
	uint64_t stream;	  /* lines that were written into it */
	struct refusal refusal;	  /* of the present write */
	/* The table that dir is in; empty: none, or not asked yet. */
	char in[WCS_TABLE_NAME_MAX + 1];
};

/* ---- Writing ----------------------------------------------------------------------------- */

/* The first lines of the run are applied. */
static void sink_mount_advance(struct sink_mount *to, struct sink_run *run, uint64_t lines)
{
	to->sink.rows += sink_run_pass(run, lines);
	to->stream += lines;
}

/* So many bytes of the run were taken before the write failed: passes by the lines that are applied
 * with them. The last may have no newline yet, and end with the file; what fails there as well is
 * no news. */
static void sink_mount_taken(struct sink_mount *to, struct sink_run *run, size_t taken)
{
	size_t rest;
	uint64_t lines = sink_run_ended(run, taken, &rest);

	if (close(to->rows) == 0 && rest > 0)
		lines++;
	to->rows = -1;
	sink_mount_advance(to, run, lines);
}

/* The mount does not say which of the lines it was, or why. */
static int sink_mount_range(struct sink_mount *to, const struct sink_run *run, int rc)
{
	uint64_t behind = to->refusal.last - to->refusal.first;
	bool told = refusal_is_told(rc);
	struct sink *sink = &to->sink;
	char range[64] = "";

	if (behind > 0)
		snprintf(range, sizeof(range), ", here or up to %" PRIu64 " line%s behind", behind,
			 behind == 1 ? "" : "s");
	sink->failed = run->first;
	return sink_fail(sink, rc, "%s%s%s (%s%" PRIu64 " line%s applied before it)", strerror(-rc),
			 range, told ? "; .rowfs/errors of the mount has the reason" : "",
			 told && behind == 0 ? "" : "at least ", sink->rows,
			 sink->rows == 1 ? "" : "s");
}

/* No write goes past the limit of the process: the line is the one in which the last one ended. */
static int sink_mount_limit(struct sink_mount *to, const struct sink_run *run)
{
	to->sink.failed = run->first;
	sink_fail(&to->sink, 0, SINK_LIMIT, strerror(EFBIG));
	sink_applied(&to->sink);
	return -EFBIG;
}

/* A write of the run failed behind so many bytes: finds the line and the reason. */
static int sink_mount_refused(struct sink_mount *to, struct sink_run *run, size_t taken, int rc)
{
	struct refusal *refusal = &to->refusal;
	bool known, limit = rc == -EFBIG && sink_run_is_limit(to->rows);

	sink_mount_taken(to, run, taken);
	if (limit)
		return sink_mount_limit(to, run);
	refusal->first = to->stream + 1;
	refusal->last = to->stream + (run->lines > 0 ? run->lines : 1);
	known = refusal_is_told(rc) && refusal_find(refusal, to->root, to->rows_path);
	sink_mount_advance(to, run, refusal->first - to->stream - 1);
	if (!known)
		return sink_mount_range(to, run, rc);
	to->sink.failed = run->first;
	sink_fail(&to->sink, rc, "%s", refusal->why);
	sink_applied(&to->sink);
	return rc;
}

/* Writes the run, if it has lines, and makes it empty. */
static int sink_mount_flush(struct sink_mount *to, struct sink_run *run)
{
	size_t taken = 0;
	int rc;

	if (run->lines == 0)
		return 0;
	refusal_begin(&to->refusal);
	rc = sink_run_put(to->rows, run->text, run->len, &taken);
	if (!rc && run->text[run->len - 1] != '\n')
		rc = sink_run_put(to->rows, "\n", 1, &(size_t){0});
	refusal_end(&to->refusal);
	if (rc)
		return sink_mount_refused(to, run, taken, rc);
	sink_mount_advance(to, run, run->lines);
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
	int rc;

	snprintf(directory, sizeof(directory), "/%s", table);
	rc = sink_mount_rows_open(to, directory);
	if (!rc) {
		snprintf(to->sink.table, sizeof(to->sink.table), "%s", table);
		return 0;
	}
	return sink_fail(&to->sink, rc, "table %s: %s", table,
			 rc == -ENOENT ? "the store has none of that name" : strerror(-rc));
}

/* A write of the schema failed. Its line is the one that it has in the text. */
static int sink_mount_schema_refused(struct sink_mount *to, int rc)
{
	struct refusal *refusal = &to->refusal;

	refusal->first = 0;
	refusal->last = UINT64_MAX;
	if (refusal_is_told(rc) && refusal_find(refusal, to->root, SINK_SCHEMA))
		return sink_fail(&to->sink, rc, "%s", refusal->why);
	return sink_fail(&to->sink, rc, "the schema: %s", strerror(-rc));
}

static int sink_mount_schema(struct sink_mount *to, const char *text, size_t len)
{
	char name[PATH_MAX + 32];
	bool limit = false;
	int rc, fd;

	snprintf(name, sizeof(name), "%s" SINK_SCHEMA, to->root);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return sink_fail(&to->sink, -errno, SINK_SCHEMA ": %s", strerror(errno));
	refusal_begin(&to->refusal);
	rc = sink_run_put(fd, text, len, &(size_t){0});
	limit = rc == -EFBIG && sink_run_is_limit(fd);
	if (close(fd) && !rc)
		rc = -errno;
	refusal_end(&to->refusal);
	if (limit)
		return sink_fail(&to->sink, rc, "the schema: " SINK_LIMIT, strerror(EFBIG));
	return rc ? sink_mount_schema_refused(to, rc) : 0;
}

/* The name of the table that the directory is in; empty where the mount does not say. */
static const char *sink_mount_in(struct sink_mount *to)
{
	struct mounted mounted = {.root = to->root, .rows = true};

	if (!to->in[0] && mounted_ask_table(&mounted) == 0)
		snprintf(to->in, sizeof(to->in), "%s", mounted.table);
	return to->in;
}

/* In a table a schema may be there as rowfs-dump prints it there: of this table alone. */
static int sink_mount_schema_fits(struct sink_mount *to, const struct wcs_schema *schema)
{
	for (size_t i = 0; !to->tables && i < schema->table_count; i++) {
		const char *name = schema->tables[i].name;

		if (strcmp(name, sink_mount_in(to)) != 0)
			return sink_fail(&to->sink, -EINVAL,
					 "the schema of table %s cannot go to table %s: load it "
					 "into the root of a mount of all tables",
					 name, to->in);
	}
	return 0;
}

/* A line that is no row. Rows before it are written. */
static int sink_mount_take(struct sink_mount *to, const struct wcs_line *line, const char *text,
			   size_t len)
{
	int rc;

	if (line->kind == WCS_LINE_SCHEMA) {
		rc = sink_mount_schema_fits(to, line->schema);
		return rc ? rc : sink_mount_schema(to, text, len);
	}
	return sink_mount_table(to, line->table);
}

static bool sink_mount_joins(const struct sink_mount *to, const struct wcs_line *other)
{
	return !other || (!to->tables && other->kind == WCS_LINE_TABLE);
}

static int sink_mount_write(struct sink *sink, const char *text, size_t len)
{
	struct sink_mount *to = (struct sink_mount *)sink;
	struct sink_run run = {0};
	uint64_t number = sink->lines;
	int rc = 0;

	while (len > 0 && !rc) {
		size_t n = sink_run_line(text, len), all = n < len ? n + 1 : n;
		struct wcs_line *other = sink_run_other(text, n);

		number++;
		if (!sink_mount_joins(to, other)) {
			rc = sink_mount_flush(to, &run);
			sink->failed = rc ? sink->failed : number;
			if (!rc && sink_mount_take(to, other, text, n)) {
				sink_applied(sink);
				rc = -EINVAL;
			}
		} else if (to->rows < 0 && strspn(text, " \t\r") < n) {
			sink->failed = number;
			rc = sink_fail(sink, -EINVAL, SINK_NO_TABLE);
			sink_applied(sink);
		} else if (to->rows >= 0) {
			if (run.lines++ == 0)
				run = (struct sink_run){text, 0, number, 1};
			run.len += all;
		}
		wcs_line_free(other);
		text += all;
		len -= all;
	}
	return rc ? rc : sink_mount_flush(to, &run);
}

static int sink_mount_sync(struct sink *sink)
{
	struct sink_mount *to = (struct sink_mount *)sink;

	return fsync(to->dir) ? sink_fail(sink, -errno, "%s", strerror(errno)) : 0;
}

static uint64_t sink_mount_cells(struct sink *sink)
{
	const struct sink_mount *to = (const struct sink_mount *)sink;

	return mounted_count(to->root, ".rowfs/metrics", "\nrowfs_store_written_cells_total") -
	       to->cells;
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
				 errno == ENOENT ? "the store has none of that name" SINK_CREATE
						 : strerror(errno));
	snprintf(name, sizeof(name), "%s/%.64s", families, family);
	if (access(name, F_OK) == 0)
		return 0;
	sink_fail(sink, 0, "family %.64s: table %s does not have it; it has", family, table);
	sink_mount_list(sink, families);
	return -ENOENT;
}

/* ---- Opening ----------------------------------------------------------------------------- */

static uint64_t sink_mount_hidden(const struct sink_mount *to)
{
	return mounted_count(to->root, ".rowfs/gc", "\"hidden_writes\"");
}

/* The mount's log has the families; the mount counts for all who write. */
static void sink_mount_tell_hidden(const struct sink_mount *to)
{
	uint64_t hidden = sink_mount_hidden(to);
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
						 .cells = sink_mount_cells,
						 .family = sink_mount_family,
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
	to->program = program;
	to->hidden = UINT64_MAX; /* nothing is written yet */
	to->rows = -1;
	to->tables = !mounted->rows;
	snprintf(to->root, sizeof(to->root), "%s", mounted->root);
	snprintf(to->in, sizeof(to->in), "%s", mounted->table);
	to->dir = open(mounted->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to->dir < 0)
		rc = -errno;
	else if (!to->tables)
		rc = sink_mount_rows_open(to, mounted->directory + strlen(mounted->root));
	if (!rc) {
		to->hidden = sink_mount_hidden(to);
		to->cells = sink_mount_cells(&to->sink);
		*sink = &to->sink;
		return PROGRAM_OK;
	}
	sink_mount_close(&to->sink);
	return program_fail(program, "%s: %s", mounted->directory, strerror(-rc));
}
