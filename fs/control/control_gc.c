/* SPDX-License-Identifier: MIT */
/* /.rowfs/gc: the state of the garbage collector; takes run, pause and resume. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"

/* A time as a JSON string in UTC, or null for 0. */
static void time_print(FILE *to, const char *before, int64_t microseconds)
{
	char text[sizeof("\"+2147483647-12-31T23:59:59Z\"")];
	time_t seconds = (time_t)(microseconds / 1000000);
	struct tm utc;

	if (microseconds <= 0 || !gmtime_r(&seconds, &utc) ||
	    strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%SZ\"", &utc) == 0)
		strcpy(text, "null");
	fprintf(to, "%s%s", before, text);
}

static int gc_print(const struct control_place *at, FILE *to)
{
	struct wcs_gc_status status;
	struct wcs_table *table = NULL;
	struct wcs_stats stats;
	const char *quote;
	int64_t took;
	int rc;

	wcs_gc_status(at->fs->store, &status);
	took = status.last_ended - status.last_started;
	rc = wcs_store_stats(at->fs->store, &stats);
	if (rc != 0)
		return rc;
	quote = *status.table ? "\"" : "";
	fprintf(to, "{\"state\":\"%s\",\"table\":%s%s%s,\"row\":",
		status.running	? "running"
		: status.paused ? "paused"
				: "idle",
		quote, *status.table ? status.table : "null", quote);
	if (status.row_len == 0)
		fputs("null", to);
	else if (wcs_table_open(at->fs->store, status.table, &table) != 0) /* removed since */
		fputs("null", to);
	else
		rc = control_print_key(to, wcs_table_keys(table),
				       (struct wcs_slice){status.row, status.row_len});
	wcs_table_close(table);
	time_print(to, ",\"started\":", status.pass_started);
	fprintf(to, ",\"cells\":%" PRIu64, status.pass_cells);
	time_print(to, ",\n \"pending\":{\"next\":", status.next);
	fprintf(to, ",\"compactions\":%" PRIu64 ",\"bytes\":%" PRIu64 "},\n",
		stats.compactions_pending, stats.bytes_pending);
	time_print(to, " \"last\":{\"started\":", status.last_started);
	time_print(to, ",\"ended\":", status.last_ended);
	fprintf(to,
		",\"cells\":%" PRIu64 ",\"cells_per_second\":%" PRId64
		",\"families_in_grace\":%" PRIu64 "},\n",
		status.last_cells,
		took > 0 ? (int64_t)((double)status.last_cells * 1e6 / (double)took) : 0,
		status.left);
	fprintf(to,
		" \"total\":{\"passes\":%" PRIu64 ",\"cells\":%" PRIu64 ",\"bytes\":%" PRIu64
		",\"looked_at\":%" PRIu64 ",\"hidden_writes\":%" PRIu64 "}}\n",
		status.passes, status.cells, status.bytes, status.looked, status.hidden);
	return rc;
}

static int gc_apply(const struct control_place *at, const char *text, size_t len)
{
	struct fs *fs = at->fs;
	int rc = 0;

	(void)len;
	if (strcmp(text, "run") == 0) {
		if (!loop_can_wait())
			return report(fs, at->node, NULL, at->line, -EINVAL,
				      "a last close cannot wait for a pass; end the line");
		loop_wait_begin(fs);
		rc = wcs_gc_run(fs->store);
		loop_wait_end(fs);
	} else if (strcmp(text, "pause") == 0 || strcmp(text, "resume") == 0) {
		wcs_gc_pause(fs->store, *text == 'p');
	} else {
		return report(fs, at->node, NULL, at->line, -EINVAL, "write run, pause or resume");
	}
	return rc == 0 ? 0
		       : report(fs, at->node, NULL, at->line, rc, "the pass is incomplete: %s",
				strerror(-rc));
}

const struct control_text control_gc = {gc_print, gc_apply, NULL, CONTROL_LINES};
