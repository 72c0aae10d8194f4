/* SPDX-License-Identifier: MIT */
/* Reads the cells of a damaged store and collects the findings of its checks: see damage.h. */
#include "tests/unit/damage.h"

struct damage_seen damage_seen;
char damage_findings[16384];

/* ---- Reading ----------------------------------------------------------------------------- */

static void damage_log(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	if (level != WCS_LOG_WARNING)
		return;
	damage_seen.warnings++;
	snprintf(damage_seen.warning, sizeof(damage_seen.warning), "%s", text);
}

static bool damage_has(const char *cells, const char *cell)
{
	return memmem(cells, strlen(cells), cell, strcspn(cell, " ") + 1);
}

int damage_lost(bool logged)
{
	int lost = 0;

	for (const char *cell = damage_all; *cell; cell = strchr(cell, ' ') + 1)
		lost += logged == !damage_has(damage_states[0], cell) &&
			!damage_has(damage_seen.cells, cell);
	return lost;
}

/* A row by itself, as a mount looks cells up. */
static void damage_look_up(struct wcs_table *table, const char *row)
{
	struct wcs_value *value;
	char *text, cell[256];
	int rc =
		wcs_value_open(table, suite_text(row), "f", suite_text("q"), WCS_TS_NEWEST, &value);

	if (rc == -EIO)
		return;
	damage_need(rc == 0 || rc == -ENOENT, "%s: error %d", row, rc);
	if (rc == 0)
		wcs_value_close(value);
	text = suite_value(table, row, "f", "q", WCS_TS_NEWEST);
	snprintf(cell, sizeof(cell), "%s/f/q@1=%s", row, rc == 0 ? text : "");
	damage_seen.stale += (strstr(damage_all, cell) == NULL) == (rc == 0);
	damage_need(rc != 0 || strstr(damage_ever, cell), "never there: %s", cell);
	free(text);
}

static void damage_read(struct wcs_table *table)
{
	const struct wcs_range range = {.end = SUITE_BYTES("s")};
	char row[16];
	int rc;

	for (const char *at = damage_ever; *at; at = strchr(at, ' ') + 1) {
		snprintf(row, sizeof(row), "%.*s", (int)strcspn(at, "/"), at);
		damage_look_up(table, row);
	}
	damage_seen.cells = suite_scan_some(table, &range, 1, &suite_cells, &rc);
	damage_need(rc == 0 || rc == -EIO, "error %d of a scan", rc);
	for (const char *cell = damage_seen.cells; *cell; cell = strchr(cell, ' ') + 1)
		damage_need(damage_has(damage_ever, cell), "never there: %.60s", cell);
	damage_seen.whole = rc == 0;
}

int damage_look(bool write)
{
	const struct wcs_options options = {.log = damage_log};
	struct wcs_store *store;
	struct wcs_table *table;
	char *value;
	int rc;

	free(damage_seen.cells);
	free(damage_seen.schema);
	memset(&damage_seen, 0, sizeof(damage_seen));
	rc = wcs_store_open(damage_copy, &options, &store, &damage_seen.fault);
	if (rc != 0)
		return rc;
	damage_seen.schema = suite_schema_line(store);
	damage_seen.table = wcs_table_open(store, "t", &table) == 0;
	if (damage_seen.table) {
		value = suite_pattern(write ? 150000 : 0, 1);
		if (write)
			suite_put(table, suite_text("written"), "f", suite_text("q"), 1,
				  (struct wcs_slice){value, 150000});
		free(value);
		damage_read(table);
		wcs_table_close(table);
	}
	wcs_store_close(store);
	return 0;
}

void damage_expect(const char *cells)
{
	size_t same = 0;

	damage_need(damage_seen.table && damage_seen.whole, "not all can be read");
	while (cells[same] && cells[same] == damage_seen.cells[same])
		same++;
	damage_need(cells[same] == damage_seen.cells[same], "from %zu on %.200s, not %.200s", same,
		    damage_seen.cells + same, cells + same);
}

void damage_expect_refused(const char *file)
{
	int rc = damage_look(false);
	const char *text = damage_seen.fault.text;

	damage_need(rc == -EIO && strstr(text, file) && strstr(text, "fsck.rowfs"), "%d: %s", rc,
		    text);
}

/* ---- Checks ------------------------------------------------------------------------------ */

static void damage_found(void *ctx, const struct wcs_finding *finding)
{
	size_t len = strlen(damage_findings);

	(void)ctx;
	snprintf(damage_findings + len, sizeof(damage_findings) - len, "%s: %s; %s\n",
		 finding->where, finding->what, finding->done ? finding->done : "");
}

int damage_check(bool repair)
{
	const struct wcs_check_options options = {
		.repair = repair, .quarantine = damage_quarantine, .found = damage_found};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	int rc;

	damage_findings[0] = '\0';
	if (repair)
		suite_remove(damage_quarantine);
	rc = wcs_store_check(damage_copy, &options, &result, &fault);
	damage_need(rc == 0, "error %d of a check: %s", rc, fault.text);
	damage_need(result.corrected == (repair ? result.found : 0), "%d of %d corrected",
		    (int)result.corrected, (int)result.found);
	return (int)result.found;
}

int damage_mend(void)
{
	char findings[sizeof(damage_findings)];
	int found = damage_check(true);

	strcpy(findings, damage_findings);
	damage_need(damage_check(false) == 0, "not clean behind a repair: %s", damage_findings);
	strcpy(damage_findings, findings);
	damage_need(damage_look(true) == 0, "%s", damage_seen.fault.text);
	damage_need(!damage_seen.table || damage_seen.whole, "not to be read behind a repair");
	return found;
}
