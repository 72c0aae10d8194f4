/* SPDX-License-Identifier: MIT */
/* Scans, listings and gets of both engines: see random.h. */
#include "store/backend.h"
#include "tests/unit/random.h"

/* Up to three ranges, some of them empty. */
static size_t random_ranges(struct random_run *run, struct wcs_range ranges[3])
{
	size_t count = 1 + random_below(run, 3);
	struct wcs_slice bounds[6];

	for (size_t i = 0; i < 2 * count; i++) {
		struct wcs_slice bound = random_bytes(run, 0, 3);
		size_t at = i;

		for (; at > 0 && wcs_slice_compare(bounds[at - 1], bound) > 0; at--)
			bounds[at] = bounds[at - 1];
		bounds[at] = bound;
	}
	for (size_t i = 0; i < count; i++)
		ranges[i] = (struct wcs_range){bounds[2 * i], bounds[2 * i + 1]};
	if (random_below(run, 2) == 0)
		ranges[0].start = (struct wcs_slice){NULL, 0};
	if (random_below(run, 2) == 0)
		ranges[count - 1].end = (struct wcs_slice){NULL, 0};
	random_say(run, " %zu ranges", count);
	return count;
}

/* With up to two families in names. */
static struct wcs_filter random_filter(struct random_run *run, const char *names[2])
{
	struct wcs_filter filter = {.each = (enum wcs_each)random_below(run, 4)};

	random_say(run, " scan each=%d", (int)filter.each);
	if (random_below(run, 2) == 0) {
		filter.families = names;
		filter.family_count = random_below(run, 3);
		names[0] = random_family(run);
		names[1] = random_family(run);
		random_say(run, " %zu of them", filter.family_count);
	}
	random_say(run, " qualifiers");
	if (random_below(run, 3) == 0)
		filter.qualifier_from = random_bytes(run, 0, 1);
	random_say(run, " to");
	if (random_below(run, 3) == 0)
		filter.qualifier_to = random_bytes(run, 0, 2);
	if (random_below(run, 3) == 0)
		filter.ts_from = random_ts(run);
	random_say(run, " to");
	if (random_below(run, 3) == 0)
		filter.ts_to = random_ts(run);
	if (random_below(run, 2) == 0)
		filter.newest = random_below(run, 4);
	filter.reverse = random_below(run, 2) == 0;
	random_say(run, " newest=%u reverse=%d", filter.newest, filter.reverse);
	return filter;
}

void random_scan(struct random_run *run)
{
	struct wcs_range ranges[3];
	size_t range_count = random_ranges(run, ranges);
	const char *names[2];
	struct wcs_filter filter = random_filter(run, names);

	random_compare(run, suite_scan(run->suites[0].table, ranges, range_count, &filter),
		       suite_scan(run->suites[1].table, ranges, range_count, &filter));
}

static bool random_same(const struct wcs_cell cells[SUITE_ENGINES])
{
	return cells[0].differs == cells[1].differs && cells[0].info.ts == cells[1].info.ts &&
	       cells[0].info.size == cells[1].info.size &&
	       wcs_slice_compare(cells[0].row, cells[1].row) == 0 &&
	       wcs_slice_compare(cells[0].family, cells[1].family) == 0 &&
	       wcs_slice_compare(cells[0].qualifier, cells[1].qualifier) == 0;
}

/* A scan of each cell that skips, seeks and enters the row that it gives. */
void random_walk(struct random_run *run)
{
	static const char *const moves[] = {"next", "next", "skip", "skip", "seek", "enter", "row"};
	struct wcs_range ranges[3];
	size_t range_count = random_ranges(run, ranges);
	const char *names[2];
	struct wcs_filter filter = random_filter(run, names);
	struct wcs_cell cells[SUITE_ENGINES];
	struct wcs_scan *scans[SUITE_ENGINES];
	int rc[SUITE_ENGINES];

	filter.each = WCS_EACH_CELL;
	for (int i = 0; i < SUITE_ENGINES; i++)
		SUITE_OK(wcs_scan_open(run->suites[i].table, ranges, range_count, &filter,
				       &scans[i]));
	for (int step = 0; step < 20 && scans[0]->ops != NULL; step++) {
		uint32_t move = random_below(run, sizeof(moves) / sizeof(moves[0]));
		enum wcs_part part = (enum wcs_part)random_below(run, 4);
		const char *family;
		struct wcs_slice row, qualifier;

		random_say(run, " %s %d", moves[move], (int)part);
		row = random_bytes(run, 1, 3);
		family = move == 5 ? random_family(run) : NULL;
		qualifier = random_bytes(run, 0, 1);
		for (int i = 0; i < SUITE_ENGINES; i++) {
			const struct scan_ops *ops = scans[i]->ops;

			if ((move == 2 || move == 3) && step > 0 && rc[i] > 0)
				ops->skip(scans[i], part);
			else if (move == 4)
				SUITE_OK(ops->seek(scans[i], row));
			else if (move > 4 && step > 0 && rc[i] > 0)
				SUITE_OK(ops->enter(scans[i], cells[i].row, family, qualifier));
			rc[i] = wcs_scan_next(scans[i], &cells[i]);
		}
		ck_assert_msg(rc[0] == rc[1] && rc[0] >= 0, "%.3900s: %d, %d", run->text, rc[0],
			      rc[1]);
		ck_assert_msg(rc[0] == 0 || random_same(cells), "%.3900s", run->text);
	}
	for (int i = 0; i < SUITE_ENGINES; i++)
		wcs_scan_close(scans[i]);
}

void random_list(struct random_run *run)
{
	struct wcs_slice prefix;
	struct wcs_list_child after = {.below = false};
	bool from_start = random_below(run, 2) == 0, reverse = random_below(run, 2) == 0;

	random_say(run, " list reverse=%d", reverse);
	prefix = random_bytes(run, 0, 2);
	after.segment = random_bytes(run, 0, 2);
	random_say(run, from_start ? " all" : " after");
	random_compare(
		run, suite_list(run->suites[0].table, prefix, from_start ? NULL : &after, reverse),
		suite_list(run->suites[1].table, prefix, from_start ? NULL : &after, reverse));
}

void random_get(struct random_run *run)
{
	struct wcs_slice row = random_bytes(run, 1, 3);
	const char *family = random_family(run);
	struct wcs_slice qualifier = random_bytes(run, 0, 1);
	int64_t ts = random_below(run, 2) == 0 ? WCS_TS_NEWEST : random_ts(run);
	struct wcs_cell_info info[SUITE_ENGINES] = {{.ts = 0}, {.ts = 0}};
	struct wcs_key_info key[SUITE_ENGINES];
	int rc[SUITE_ENGINES];

	random_say(run, " get");
	for (int i = 0; i < SUITE_ENGINES; i++) {
		struct wcs_table *table = run->suites[i].table;

		rc[i] = wcs_cell_get(table, row, family, qualifier, ts, &info[i]);
		SUITE_OK(wcs_key_get(table, row, &key[i]));
	}
	ck_assert_msg(rc[0] == rc[1] && info[0].ts == info[1].ts && info[0].size == info[1].size,
		      "%.2000s: %d, %d", run->text, rc[0], rc[1]);
	if (ts == WCS_TS_NEWEST)
		ck_assert_msg(info[0].expires == info[1].expires, "%.2000s", run->text);
	ck_assert_msg(key[0].row == key[1].row && key[0].prefix == key[1].prefix, "%.2000s",
		      run->text);
}
