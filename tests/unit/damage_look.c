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

static const struct wcs_options damage_options = {.log = damage_log};

static bool damage_is_in(const char *cells, const char *cell, const char *end)
{
	return memmem(cells, strlen(cells), cell, (size_t)(end + 1 - cell));
}

int damage_lost(bool logged)
{
	int lost = 0;

	for (const char *cell = damage_all, *end; (end = strchr(cell, ' ')); cell = end + 1) {
		if (logged == !damage_is_in(damage_states[0], cell, end))
			lost += !damage_is_in(damage_seen.cells, cell, end);
	}
	return lost;
}

/* Each row by itself, as a mount looks cells up. */
static void damage_look_up(struct wcs_table *table, const char *row)
{
	struct wcs_value *value;
	char *text, cell[256];
	int rc =
		wcs_value_open(table, suite_text(row), "f", suite_text("q"), WCS_TS_NEWEST, &value);

	if (rc == -EIO)
		return;
	ck_assert_msg(rc == 0 || rc == -ENOENT, "%s: error %d", row, rc);
	if (rc == 0)
		wcs_value_close(value);
	text = suite_value(table, row, "f", "q", WCS_TS_NEWEST);
	snprintf(cell, sizeof(cell), "%s/f/q@1=%s", row, rc == 0 ? text : "");
	damage_seen.stale += (strstr(damage_all, cell) == NULL) == (rc == 0);
	ck_assert_msg(rc != 0 || strstr(damage_ever, cell), "never there: %s", cell);
	free(text);
}

static void damage_read(struct wcs_table *table)
{
	const struct wcs_range range = {.end = SUITE_BYTES("s")};
	const struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char row[16];
	int rc;

	for (const char *at = damage_ever; *at; at = strchr(at, ' ') + 1) {
		snprintf(row, sizeof(row), "%.*s", (int)strcspn(at, "/"), at);
		damage_look_up(table, row);
	}
	damage_seen.cells = suite_scan_some(table, &range, &filter, &rc);
	ck_assert_msg(rc == 0 || rc == -EIO, "error %d of a scan", rc);
	for (const char *cell = damage_seen.cells, *end; (end = strchr(cell, ' ')); cell = end + 1)
		ck_assert_msg(damage_is_in(damage_ever, cell, end), "never there: %.*s",
			      (int)(end - cell), cell);
	damage_seen.whole = rc == 0;
}

static int damage_open(bool write)
{
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	char *value;
	int rc;

	free(damage_seen.cells);
	free(damage_seen.schema);
	memset(&damage_seen, 0, sizeof(damage_seen));
	rc = wcs_store_open(damage_copy, &damage_options, &store, &damage_seen.fault);
	if (rc != 0)
		return rc;
	SUITE_OK(wcs_schema_get(store, &schema));
	damage_seen.schema = wcs_schema_line(schema);
	wcs_schema_free(schema);
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

int damage_look(void)
{
	return damage_open(false);
}

int damage_write_and_look(void)
{
	return damage_open(true);
}

void damage_expect(const char *cells, const char *what)
{
	size_t same = 0;

	ck_assert_msg(damage_seen.table && damage_seen.whole, "%s: not all can be read", what);
	while (cells[same] && cells[same] == damage_seen.cells[same])
		same++;
	ck_assert_msg(cells[same] == damage_seen.cells[same], "%s: from %zu on %.200s, not %.200s",
		      what, same, damage_seen.cells + same, cells + same);
}

void damage_expect_refused(const char *file, const char *what)
{
	int rc = damage_look();
	const char *text = damage_seen.fault.text;

	ck_assert_msg(rc == -EIO, "%s: opening says %d", what, rc);
	ck_assert_msg(strstr(text, file) && strstr(text, "fsck.rowfs"), "%s: %s", what, text);
}

/* ---- Checks ------------------------------------------------------------------------------ */

static void damage_found(void *ctx, const struct wcs_finding *finding)
{
	size_t len = strlen(damage_findings);

	(void)ctx;
	snprintf(damage_findings + len, sizeof(damage_findings) - len, "%s: %s; %s\n",
		 finding->where, finding->what, finding->done ? finding->done : "");
}

static int damage_run(const struct wcs_check_options *options, const char *what)
{
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};
	int rc = wcs_store_check(damage_copy, options, &result, &fault);

	ck_assert_msg(rc == 0, "%s: error %d of a check: %s", what, rc, fault.text);
	ck_assert_msg(result.corrected == (options->repair ? result.found : 0),
		      "%s: %d of %d corrected", what, (int)result.corrected, (int)result.found);
	return (int)result.found;
}

int damage_check(bool repair, const char *what)
{
	const struct wcs_check_options options = {
		.repair = repair, .quarantine = damage_quarantine, .found = damage_found};

	damage_findings[0] = '\0';
	suite_remove(damage_quarantine);
	return damage_run(&options, what);
}

int damage_mend(const char *what)
{
	const struct wcs_check_options again = {.repair = false};
	int found = damage_check(true, what);

	ck_assert_msg(damage_run(&again, what) == 0, "%s: not clean behind a repair", what);
	ck_assert_msg(damage_write_and_look() == 0, "%s: %s", what, damage_seen.fault.text);
	ck_assert_msg(!damage_seen.table || damage_seen.whole, "%s: not to be read behind a repair",
		      what);
	return found;
}
