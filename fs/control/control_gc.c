/* SPDX-License-Identifier: MIT */
/* /.rowfs/gc: the state of the garbage collector; takes run, pause and resume. */
#include <errno.h>
#include <string.h>

#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "lib/escape.h"
#include "lib/times.h"

/* A time as a string in UTC, or null for 0. */
static json_t *gc_time(int64_t microseconds)
{
	char text[TIMES_MAX];
	size_t len = microseconds > 0 ? times_format(microseconds, 0, text) : 0;

	return len > 0 ? json_stringn(text, len) : json_null();
}

/* The row of a pass; null: none, or its table was removed. */
static json_t *gc_row(struct wcs_store *store, const struct wcs_gc_status *status)
{
	struct wcs_table *table = NULL;
	json_t *row;

	if (status->row_len == 0 || wcs_table_open(store, status->table, &table) != 0)
		return json_null();
	row = control_key_json(wcs_table_keys(table),
			       (struct wcs_slice){status->row, status->row_len});
	wcs_table_close(table);
	return row;
}

static int gc_print(const struct control_place *at, FILE *to)
{
	struct wcs_gc_status now;
	struct wcs_stats stats;
	int64_t took;
	json_t *json;
	int rc;

	wcs_gc_status(at->fs->store, &now);
	took = now.last_ended - now.last_started;
	rc = wcs_store_stats(at->fs->store, &stats);
	if (rc != 0)
		return rc;
	/* clang-format off */
	json = json_pack("{s:s, s:s?, s:o, s:o, s:I, s:{s:o, s:I, s:I}, s:{s:o, s:o, s:I, s:I, s:I},"
			 " s:{s:I, s:I, s:I, s:I}}",
		"state", now.running ? "running" : now.paused ? "paused" : "idle",
		"table", *now.table ? now.table : NULL,
		"row", gc_row(at->fs->store, &now),
		"started", gc_time(now.pass_started),
		"cells", (json_int_t)now.pass_cells,
		"pending",
			"next", gc_time(now.next),
			"compactions", (json_int_t)stats.compactions_pending,
			"bytes", (json_int_t)stats.bytes_pending,
		"last",
			"started", gc_time(now.last_started),
			"ended", gc_time(now.last_ended),
			"cells", (json_int_t)now.last_cells,
			"cells_per_second", (json_int_t)(took > 0 ? (double)now.last_cells * 1e6 / (double)took : 0),
			"families_in_grace", (json_int_t)now.left,
		"total",
			"passes", (json_int_t)now.passes,
			"cells", (json_int_t)now.cells,
			"bytes", (json_int_t)now.bytes,
			"looked_at", (json_int_t)now.looked);
	/* clang-format on */
	return escape_json_put(to, json, 0);
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
