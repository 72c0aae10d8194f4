/* SPDX-License-Identifier: MIT */
/* Heat maps as text, TSV, JSON, SVG and HTML, of maps that the test fills. tests/e2e/test_keyvis.sh
 * has the width of lines and hostile keys. */
#include "tests/unit/heat.h"
#include "tests/unit/suite.h"

#include "fs/keyvis/keyvis.h"
#include "lib/names.h"

static const struct keyvis_table plain = {"vehicles", '#', NULL, NULL, false};

/* The map in a format; *len may be NULL. The caller frees it. */
static char *print(const struct keyvis_table *table, const struct wcs_heat_map *map,
		   enum keyvis_format format)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	ck_assert_int_eq(keyvis_print(table, map, map, format, to), 0);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_uint_eq(strlen(text), len);
	return text;
}

/* The text has these lines or parts; frees it. */
static void expect_parts(char *text, const char *const *parts)
{
	for (; *parts; parts++)
		ck_assert_msg(strstr(text, *parts) != NULL, "no \"%s\" in:\n%.3000s", *parts, text);
	free(text);
}
#define EXPECT_PARTS(text, ...) expect_parts(text, (const char *const[]){__VA_ARGS__, NULL})

/* Four ranges, a row among them, and three columns. */
static struct wcs_heat_map *small_map(enum wcs_heat_metric metric)
{
	const char *const starts[] = {"", "STC#22#", "STC#22#173", "STC#22#173\\", "STC#22$"};
	struct wcs_heat_map *map = heat_map_new(starts, 5, 3, metric);

	heat_map_add(map, 1, 0, 10);
	heat_map_add(map, 2, 0, 60);
	heat_map_add(map, 2, 2, 30);
	return map;
}

SUITE_CONTRACT("the text forms merge columns to fit 100 characters")

SUITE_TEST(test_a_text_has_title_axis_labels_and_hot_ranges, 10)
{
	struct wcs_heat_map *map = small_map(WCS_HEAT_OPS);

	EXPECT_PARTS(print(&plain, map, KEYVIS_TXT), "vehicles: operations by key and time\n",
		     "2026-11-26 00:00 to 2026-11-26 06:00 UTC; a column is 2 hours, a row one of ",
		     " one of 5 ranges of keys\n", "operations in 2 hours:\n",
		     "\nSTC#22#173                     |@@@@@@@@        ########| 90 %", "02:00",
		     "04:00", " UTC\n", "   90 %     90  STC#22#173\n", "   10 %     10  STC#22#");
	heat_map_free(map);
}

/* Small numbers leave levels without one: the legend has the shades that the map has. */
SUITE_TEST(test_a_legend_has_each_shade_of_the_map, 10)
{
	for (uint64_t most = 1; most <= 40; most++) {
		struct wcs_heat_map *map = heat_map_plain(40, 3, WCS_HEAT_OPS);
		char *text, *legend, *end, *row;

		for (uint64_t value = 1; value <= most; value++)
			heat_map_add(map, value - 1, 0, value);
		text = print(&plain, map, KEYVIS_TXT);
		legend = strstr(text, "hours:\n") + 7;
		end = strchr(legend, '\n');
		for (row = strchr(end, '|'); row;
		     row = strchr(row + 1, '\n') ? strchr(strchr(row + 1, '\n'), '|') : NULL)
			ck_assert_msg(memchr(legend, row[1], (size_t)(end - legend)) != NULL,
				      "no '%c' for %llu in %.*s", row[1], (unsigned long long)most,
				      (int)(end - legend), legend);
		free(text);
		heat_map_free(map);
	}
}

SUITE_TEST(test_a_delimiter_that_cannot_be_printed, 10)
{
	const char *const starts[] = {"", "STC\x01", "STC\x02"};
	const struct keyvis_table table = {"t", 1, NULL, NULL, false};
	struct wcs_heat_map *map = heat_map_new(starts, 3, 3, WCS_HEAT_OPS);
	char *svg;

	heat_map_add(map, 1, 0, 10);
	EXPECT_PARTS(print(&table, map, KEYVIS_TXT), "\nSTC%01*  ", "100 %     10  STC%01*\n");
	svg = print(&table, map, KEYVIS_SVG);
	ck_assert_ptr_null(strchr(svg, 1));
	free(svg);
	heat_map_free(map);
}

/* Minutes that were counted fit into the text's 60 columns, also when one more has begun. */
SUITE_TEST(test_minutes_fit_into_the_columns, 10)
{
	struct wcs_heat_map *map = heat_map_plain(2, 360, WCS_HEAT_OPS);
	size_t rows, columns;

	for (size_t counted = 360; counted > 0; counted--) {
		size_t next = counted < 360 ? counted + 1 : counted;

		heat_map_begin(map, 360 - counted);
		keyvis_size(map, KEYVIS_TXT, &rows, &columns);
		ck_assert_uint_le(columns > 0 ? next * columns / 360 : next, 60);
		if (counted < 60)
			ck_assert_uint_eq(columns, 0);
	}
	heat_map_free(map);
}

SUITE_TEST(test_a_tsv_has_a_line_for_each_range, 10)
{
	struct wcs_heat_map *map = small_map(WCS_HEAT_WRITES);
	char *text = print(&plain, map, KEYVIS_TSV);

	ck_assert_str_eq(text, "start\tend\trow\ttotal\t2026-11-26T00:00:00Z\t"
			       "2026-11-26T02:00:00Z\t2026-11-26T04:00:00Z\n"
			       "\tSTC#22#\t0\t0\t0\t0\t0\n"
			       "STC#22#\tSTC#22#173\t0\t10\t10\t0\t0\n"
			       "STC#22#173\tSTC#22#173%00\t1\t90\t60\t0\t30\n"
			       "STC#22#173%00\tSTC#22$\t0\t0\t0\t0\t0\n"
			       "STC#22$\t\t0\t0\t0\t0\t0\n");
	free(text);
	heat_map_free(map);
}

SUITE_CONTRACT("The json uses the members of Spanner's key visualizer")

SUITE_TEST(test_a_json_has_the_members_of_spanner, 10)
{
	struct wcs_heat_map *map = small_map(WCS_HEAT_OPS);

	EXPECT_PARTS(
		print(&plain, map, KEYVIS_JSON), "\"startTime\":\"2026-11-26T00:00:00Z\"",
		"\"endTime\":\"2026-11-26T06:00:00Z\"", "\"keySeparator\":\"#\"",
		"\"endKeyStrings\":[\"STC#22#\",\"STC#22#173\",\"STC#22#173%00\",\"STC#22$\",\"\"]",
		"\"indexedKeys\":[\"STC#22#173\",",
		"{\"word\":\"vehicles\",\"startIndex\":0,\"endIndex\":4,\"depth\":0,",
		"\"depth\":0,\"dataSourceNode\":true}",
		"{\"word\":\"STC\",\"startIndex\":1,\"endIndex\":3,\"depth\":1,",
		"\"depth\":1,\"dataSourceNode\":false}",
		"{\"word\":\"22\",\"startIndex\":1,\"endIndex\":3,\"depth\":2,",
		"{\"word\":\"173\",\"startIndex\":2,\"endIndex\":2,\"depth\":3,",
		"\"0\":{\"sparseHotKeys\":{\"2\":0,\"1\":1}}",
		"\"2\":{\"sparseHotKeys\":{\"2\":0}}", "{\"cols\":[60,0,30]}",
		"\"severity\":\"INFO\"");
	heat_map_free(map);
}

/* ---- Keys -------------------------------------------------------------------------------- */

static bool family(void *ctx, const void *name, size_t len)
{
	(void)ctx;
	return len == 4 && memcmp(name, "meta", 4) == 0;
}

SUITE_TEST(test_paths_are_those_of_the_tree, 10)
{
	const struct names_families families = {family, NULL};
	const struct keyvis_table table = {"t", '#', NULL, &families, false};
	const char *const starts[] = {"",     "a",	"a#b#c\\", "a#meta#/%", "a#meta#/%\\",
				      "b##x", "b##x\\", "c#d#",	   "c#e"};
	struct wcs_heat_map *map = heat_map_new(starts, 9, 1, WCS_HEAT_OPS);

	for (size_t r = 0; r < 8; r++)
		heat_map_add(map, r, 0, 100 - r);
	EXPECT_PARTS(print(&table, map, KEYVIS_HTML), "\"t\"", "\"t/a/%6D%65%74%61/%2F%25\"",
		     "\"t/b/%/x\"", "\"t/c\"");
	heat_map_free(map);
}

SUITE_TEST(test_paths_are_quoted_for_a_shell, 10)
{
	const struct keyvis_table table = {"t", '#', NULL, NULL, true};
	const char *const starts[] = {"-rf#x", "-rf#x y", "a'b", "r#$(x)", "s\302\233m", "~root"};
	struct wcs_heat_map *map = heat_map_new(starts, 6, 1, WCS_HEAT_OPS);

	for (size_t r = 0; r < 6; r++) {
		map->ranges[r].row = true;
		heat_map_add(map, r, 0, 100 - r);
	}
	EXPECT_PARTS(print(&table, map, KEYVIS_HTML), "\"paths\":[\"./-rf/x\",\"./'-rf/x y'\",",
		     "\"'a'\\\\''b'\",\"'r/$(x)'\",\"'s'$'\\\\302\\\\233''m'\",\"'~root'\"]");
	heat_map_free(map);
}

SUITE_TEST(test_keys_of_a_design_are_shown_and_salts_are_buckets, 10)
{
	struct wcs_keys keys = {
		.delimiter = '#', .buckets = 16, .salt_segments = 1, .segment_count = 2};
	const struct keyvis_table table = {"t", '#', &keys, NULL, false};
	const char *const starts[] = {"",
				      "0a#com.google.maps#",
				      "0a#com.google.maps$",
				      "0b#org.debian#0000000007",
				      "0b#org.debian#0000000007\\",
				      "0c"};
	struct wcs_heat_map *map = heat_map_new(starts, 6, 1, WCS_HEAT_OPS);

	keys.segments[0].codec = WCS_CODEC_REVERSE_DOMAIN;
	keys.segments[1].codec = WCS_CODEC_PAD;
	keys.segments[1].width = 10;
	heat_map_add(map, 1, 0, 10);
	heat_map_add(map, 3, 0, 10);
	EXPECT_PARTS(print(&table, map, KEYVIS_TXT), "\nsalt 0a maps.google.com#*      |",
		     "\nsalt 0b debian.org#7           |", "\nsalt 0c                        |",
		     "   50 %     10  salt 0b debian.org#7\n");
	EXPECT_PARTS(print(&table, map, KEYVIS_JSON), "{\"word\":\"salt 0a\",\"startIndex\":1,",
		     "{\"word\":\"maps.google.com\",\"startIndex\":1,\"endIndex\":1,\"depth\":2,",
		     "{\"word\":\"7\",\"startIndex\":3,\"endIndex\":3,\"depth\":3,");
	EXPECT_PARTS(print(&table, map, KEYVIS_HTML), "\"t/maps.google.com\"",
		     "\"t/debian.org/7\"");
	heat_map_free(map);
}

SUITE_CONTRACT("a click copies the prefix's path")

/* The path of the range between two bounds, of which "\\" at the end is a NUL byte. */
SUITE_TEST(test_a_path_is_the_longest_prefix_of_all_keys, 10)
{
	static const struct {
		const char *start, *end, *path;
		bool salt;
	} ranges[] = {{"u000#x\\", "u032", "t", false},
		      {"u000#x\\", "u001", "t/u000", false},
		      {"u009#x\\", "u010", "t/u009", false},
		      {"u00a#x\\", "u010", "t", false},
		      {"u000", "u032", "t", false},
		      {"u000", "u001", "t/u000", false},
		      {"u000#a", "u000#f\\", "t/u000", false},
		      {"u000#a#1\\", "u000#a#7", "t/u000/a", false},
		      {"u000#a#1\\", "u000#a$", "t/u000/a", false},
		      {"u000#a#1\\", "u001#a#1\\", "t", false},
		      {"u000#a#1\\", "u000#d", "t/u000", false},
		      {"02#t4", "03", "t/t4", true},
		      {"02#t4", "02#t9", "t", true},
		      {"02#t4#x\\", "03", "t", true},
		      {"02#t4#x", "02#t4#y", "t/t4/x", true},
		      {"02#t4#a", "02#t4#y", "t/t4", true},
		      {"02#t4", "05", "t", true},
		      {"0f#t4", "10", "t/t4", true},
		      {"02", "03", "t", true}};
	struct wcs_keys keys = {.delimiter = '#', .buckets = 16, .salt_segments = 1};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct keyvis_table table = {"t", '#', ranges[i].salt ? &keys : NULL, NULL,
						   false};
		const char *const starts[] = {"", ranges[i].start, ranges[i].end};
		struct wcs_heat_map *map = heat_map_new(starts, 3, 1, WCS_HEAT_OPS);
		char expected[80];

		for (size_t r = 0; r < 3; r++)
			map->ranges[r].row = false;
		heat_map_add(map, 1, 0, 10);
		snprintf(expected, sizeof(expected), "\"paths\":[\"t\",\"%s\",", ranges[i].path);
		char *text = print(&table, map, KEYVIS_HTML), *paths = strstr(text, "\"paths\"");

		ck_assert_msg(strncmp(paths, expected, strlen(expected)) == 0, "%s to %s: %.60s",
			      ranges[i].start, ranges[i].end, paths);
		free(text);
		heat_map_free(map);
	}
}

SUITE_CONTRACT("The rows of the map are key ranges with prefixes as bounds and labels")

SUITE_TEST(test_labels_of_long_keys_are_told_apart, 10)
{
	enum { TENANTS = 6, HOSTS = 2, DAYS = 3, ROWS = 1 + TENANTS * HOSTS * DAYS };
	static const enum keyvis_format formats[] = {KEYVIS_TXT, KEYVIS_SVG, KEYVIS_HTML};
	const char *starts[ROWS] = {""};
	char keys[ROWS][64];
	struct wcs_heat_map *map;

	for (size_t r = 1; r < ROWS; r++) {
		snprintf(keys[r], sizeof(keys[r]),
			 "t%zu#%c.maps.example.com#2026-11-2%zuT08:00:00Z",
			 (r - 1) / (HOSTS * DAYS), "ab"[(r - 1) / DAYS % HOSTS], (r - 1) % DAYS);
		starts[r] = keys[r];
	}
	map = heat_map_new(starts, ROWS, 6, WCS_HEAT_OPS);
	for (size_t r = 0; r < ROWS; r++)
		for (size_t c = 0; c < 6; c++)
			heat_map_add(map, r, c, 10);
	for (size_t f = 0; f < 3; f++) {
		char *text = print(&plain, map, formats[f]);
		const char *at = formats[f] == KEYVIS_HTML ? strstr(text, "\"labels\"") : text;

		for (size_t r = 1; r < ROWS; r++) {
			char head[8], tail[16];
			const char *end;

			snprintf(head, sizeof(head), "t%zu#%c", (r - 1) / (HOSTS * DAYS),
				 "ab"[(r - 1) / DAYS % HOSTS]);
			snprintf(tail, sizeof(tail), "%zuT08:00:00Z", (r - 1) % DAYS);
			at = strstr(at, head);
			ck_assert_msg(at != NULL, "format %d: no label %zu, %s", formats[f], r,
				      head);
			end = strstr(at, tail);
			ck_assert_msg(end != NULL && end - at < 31, "format %d: label %zu is %.40s",
				      formats[f], r, at);
			at = end;
		}
		free(text);
	}
	heat_map_free(map);
}

SUITE_TEST(test_labels_explain_themselves, 10)
{
	struct wcs_heat_map *map = small_map(WCS_HEAT_OPS);

	EXPECT_PARTS(print(&plain, map, KEYVIS_TXT), "\nbefore STC#22# ", "\nafter STC#22#173 ",
		     "A label is the range's first key.", "rests on a sample");
	EXPECT_PARTS(print(&plain, map, KEYVIS_SVG), ">before STC#22#<", ">after STC#22#173<",
		     "rests on a sample");
	EXPECT_PARTS(print(&plain, map, KEYVIS_HTML), "\"before STC#22#\"", "\"after STC#22#173\"",
		     "rests on a sample");
	heat_map_free(map);
}

/* ---- Empty and short maps ---------------------------------------------------------------- */

/* TSV has no words. */
SUITE_LOOP(test_an_empty_map_is_explained, KEYVIS_TSV, 10)
{
	struct wcs_heat_map *map = heat_map_plain(4, 360, WCS_HEAT_READS);
	char *text;

	text = print(&plain, map, (enum keyvis_format)_i);
	ck_assert_ptr_nonnull(strstr(text, "The map is empty: no rows read were counted"));
	free(text);
	heat_map_begin(map, 357);
	heat_map_add(map, 1, 358, 7);
	EXPECT_PARTS(
		print(&plain, map, (enum keyvis_format)_i),
		"Counting began at 2026-11-26 05:57 UTC, so the map has 3 minutes instead of 6 "
		"hours.");
	heat_map_begin(map, 360);
	EXPECT_PARTS(print(&plain, map, (enum keyvis_format)_i), "Counting has just begun");
	heat_map_free(map);
}
