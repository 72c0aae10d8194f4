/* SPDX-License-Identifier: MIT */
/* /.rowfs/gc: the state of the garbage collector; takes run, pause and resume. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/control/control_kind.h"
#include "fs/serve/loop.h"
#include "fs/serve/report.h"
#include "lib/escape.h"

enum { TIME_MAX = sizeof("\"+2147483647-12-31T23:59:59Z\"") };

/* A time as a JSON string in UTC, or null for 0. */
static const char *time_print(int64_t microseconds, char *text)
{
	time_t seconds = (time_t)(microseconds / 1000000);
	struct tm utc;

	if (microseconds <= 0 || !gmtime_r(&seconds, &utc) ||
	    strftime(text, TIME_MAX, "\"%Y-%m-%dT%H:%M:%SZ\"", &utc) == 0)
		strcpy(text, "null");
	return text;
}

/* A table's name, which needs no escapes, as a JSON string, or null. */
static const char *table_print(const char *name, char *text)
{
	if (*name)
		sprintf(text, "\"%s\"", name);
	else
		strcpy(text, "null");
	return text;
}

/* A row key as a JSON string, or null. The caller frees it; NULL: no memory. */
static char *row_print(const struct wcs_gc_status *status)
{
	struct wcs_slice row = {status->row, status->row_len};
	char *spelled, *escaped, *text = NULL;

	if (status->row_len == 0)
		return strdup("null");
	spelled = wcs_text_encode(row);
	escaped = spelled ? escape_bytes(spelled, "\"\\") : NULL;
	if (escaped && asprintf(&text, "\"%s\"", escaped) < 0)
		text = NULL;
	free(escaped);
	free(spelled);
	return text;
}

static int64_t rate(const struct wcs_gc_status *status)
{
	int64_t took = status->last_ended - status->last_started;

	return took > 0 ? (int64_t)((double)status->last_cells * 1e6 / (double)took) : 0;
}

static int gc_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	char started[TIME_MAX], last_started[TIME_MAX], last_ended[TIME_MAX], next[TIME_MAX];
	char table[WCS_TABLE_NAME_MAX + sizeof("\"\"")];
	struct wcs_gc_status status;
	struct wcs_stats stats;
	char *row;
	int rc;

	(void)node;
	wcs_gc_status(fs->store, &status);
	rc = wcs_store_stats(fs->store, &stats);
	if (rc != 0)
		return rc;
	row = row_print(&status);
	if (!row)
		return -ENOMEM;
	rc = control_text_print(
		text, len,
		"{\"state\":\"%s\",\"table\":%s,\"row\":%s,\"started\":%s,\"cells\":%" PRIu64 ",\n"
		" \"pending\":{\"next\":%s,\"compactions\":%" PRIu64 ",\"bytes\":%" PRIu64 "},\n"
		" \"last\":{\"started\":%s,\"ended\":%s,\"cells\":%" PRIu64
		",\"cells_per_second\":%" PRId64 ",\"families_in_grace\":%" PRIu64 "},\n"
		" \"total\":{\"passes\":%" PRIu64 ",\"cells\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"looked_at\":%" PRIu64 ",\"hidden_writes\":%" PRIu64 "}}\n",
		status.running	? "running"
		: status.paused ? "paused"
				: "idle",
		table_print(status.table, table), row, time_print(status.pass_started, started),
		status.pass_cells, time_print(status.next, next), stats.compactions_pending,
		stats.bytes_pending, time_print(status.last_started, last_started),
		time_print(status.last_ended, last_ended), status.last_cells, rate(&status),
		status.left, status.passes, status.cells, status.bytes, status.looked,
		status.hidden);
	free(row);
	return rc;
}

static int gc_apply(struct fs *fs, const struct node *node, const struct pos *pos, const char *text,
		    size_t len, int line)
{
	int rc = 0;

	(void)pos;
	(void)len;
	if (strcmp(text, "run") == 0) {
		if (!loop_can_wait())
			return report(fs, node, NULL, line, -EINVAL,
				      "a last close cannot wait for a pass; end the line");
		loop_wait_begin(fs);
		rc = wcs_gc_run(fs->store);
		loop_wait_end(fs);
	} else if (strcmp(text, "pause") == 0 || strcmp(text, "resume") == 0) {
		wcs_gc_pause(fs->store, *text == 'p');
	} else {
		return report(fs, node, NULL, line, -EINVAL, "write run, pause or resume");
	}
	return rc == 0 ? 0
		       : report(fs, node, NULL, line, rc, "the pass is incomplete: %s",
				strerror(-rc));
}

const struct control_text control_gc = {gc_format, gc_apply, false};
