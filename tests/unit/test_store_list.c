/* SPDX-License-Identifier: MIT */
/* Listings and prefixes on both engines. The memory engine, which looks at every key, is the model.
 */
#include "store/mutation.h"

#include "tests/unit/suite.h"

#define LIST_KEYS 400
#define LIST_LEN  6

static void list_put(struct wcs_table *table, struct wcs_slice key)
{
	suite_put(table, key, "f", suite_text("q"), 1, suite_text("v"));
}

static void list_expect(struct wcs_table *table, struct wcs_slice prefix,
			const struct wcs_slice *after, const char *expected)
{
	char *text = suite_list(table, prefix, after);

	ck_assert_str_eq(text, expected);
	free(text);
}

SUITE_CONTRACT("store.h, Reading: wcs_list_open")
SUITE_STORES(test_list_by_example, 10)
{
	static const char *const keys[] = {"ab",  "ab!c", "ab#c", "ab#d#e", "ab#d#f", "ab##",  "ac",
					   "ac#", "#",	  "#x",	  "x##y",   "z#z",    "\xff#1"};
	struct wcs_slice after = SUITE_BYTES("ab");

	list_expect(s->table, suite_text(""), NULL, "");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		list_put(s->table, suite_text(keys[i]));
	/* "ab" once, though "ab!c" lies between it and the rows below it */
	list_expect(s->table, suite_text(""), NULL, " ab ab!c ac x z \\FF ");
	list_expect(s->table, suite_text(""), &after, "ab!c ac x z \\FF ");
	list_expect(s->table, suite_text("ab#"), NULL, " c d ");
	list_expect(s->table, suite_text("ab##"), NULL, " ");
	list_expect(s->table, suite_text("ab#d#"), NULL, "e f ");
	list_expect(s->table, suite_text("ac#"), NULL, " ");
	list_expect(s->table, suite_text("#"), NULL, " x ");
	list_expect(s->table, suite_text("x#"), NULL, " ");
	list_expect(s->table, suite_text("x##"), NULL, "y ");
	list_expect(s->table, suite_text("z"), NULL, " ");
	list_expect(s->table, suite_text("a"), NULL, "b b!c c ");
	list_expect(s->table, suite_text("none"), NULL, "");
}

/* "ab" is the segment of "ab#c" only, and comes before "ab!c", whose key is the lesser one. */
SUITE_STORES(test_segment_before_a_lesser_key, 10)
{
	struct wcs_slice after = SUITE_BYTES("ab");
	struct wcs_slice shorter = SUITE_BYTES("a");

	list_put(s->table, suite_text("ab!c"));
	list_put(s->table, suite_text("ab#c"));
	list_put(s->table, suite_text("a\"#1"));
	list_put(s->table, suite_text("a#1"));
	list_put(s->table, suite_text("a!!#1"));
	list_put(s->table, suite_text("a!#1"));
	list_expect(s->table, suite_text(""), NULL, "a a! a!! a\" ab ab!c ");
	list_expect(s->table, suite_text(""), &after, "ab!c ");
	list_expect(s->table, suite_text(""), &shorter, "a! a!! a\" ab ab!c ");
}

SUITE_CONTRACT("store.h, Reading: wcs_key_get")
SUITE_STORES(test_key_get, 10)
{
	struct wcs_key_info info;

	SUITE_OK(wcs_key_get(s->table, suite_text("a"), &info));
	ck_assert(!info.row && !info.prefix);
	list_put(s->table, suite_text("a"));
	list_put(s->table, suite_text("a!b"));
	list_put(s->table, suite_text("b#c"));
	list_put(s->table, suite_text("d#"));
	SUITE_OK(wcs_key_get(s->table, suite_text("a"), &info));
	ck_assert(info.row && !info.prefix);
	SUITE_OK(wcs_key_get(s->table, suite_text("a!"), &info));
	ck_assert(!info.row && !info.prefix);
	SUITE_OK(wcs_key_get(s->table, suite_text("b"), &info));
	ck_assert(!info.row && info.prefix);
	SUITE_OK(wcs_key_get(s->table, suite_text("b#c"), &info));
	ck_assert(info.row && !info.prefix);
	/* the row "d#" is the empty segment below "d" */
	SUITE_OK(wcs_key_get(s->table, suite_text("d"), &info));
	ck_assert(!info.row && info.prefix);
	SUITE_OK(wcs_key_get(s->table, suite_text(""), &info));
	ck_assert(!info.row && !info.prefix);
	list_put(s->table, suite_text("#x"));
	SUITE_OK(wcs_key_get(s->table, suite_text(""), &info));
	ck_assert(!info.row && info.prefix);
	list_put(s->table, suite_text("a#"));
	SUITE_OK(wcs_key_get(s->table, suite_text("a"), &info));
	ck_assert(info.row && info.prefix);
}

SUITE_CONTRACT("store.h, Reading: wcs_list_open and wcs_key_get")
SUITE_STORES(test_longest_keys, 10)
{
	char *bytes = malloc(WCS_ROW_KEY_MAX);
	struct wcs_slice key = {bytes, WCS_ROW_KEY_MAX};
	struct wcs_slice shorter = {bytes, WCS_ROW_KEY_MAX - 1};
	struct wcs_slice segment;
	struct wcs_key_info info;
	struct wcs_list *list;

	memset(bytes, 0xff, WCS_ROW_KEY_MAX);
	list_put(s->table, key);
	SUITE_OK(wcs_list_open(s->table, suite_text(""), NULL, &list));
	ck_assert_int_eq(wcs_list_next(list, &segment), 1);
	ck_assert_int_eq(wcs_slice_compare(segment, key), 0);
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
	list_expect(s->table, suite_text(""), &key, "");
	list_expect(s->table, shorter, NULL, "\\FF ");
	list_expect(s->table, key, NULL, "");
	SUITE_OK(wcs_key_get(s->table, key, &info));
	ck_assert(info.row && !info.prefix);
	memset(bytes, '#', WCS_ROW_KEY_MAX);
	list_put(s->table, key);
	list_expect(s->table, key, NULL, " ");
	list_expect(s->table, shorter, NULL, " ");
	list_expect(s->table, suite_text("#"), NULL, " ");
	SUITE_OK(wcs_key_get(s->table, shorter, &info));
	ck_assert(!info.row && info.prefix);
	free(bytes);
}

SUITE_STORES(test_other_delimiter, 10)
{
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 1), 0);
	list_put(s->table, suite_text("a#b\001c"));
	list_put(s->table, suite_text("a\001d"));
	list_expect(s->table, suite_text(""), NULL, "a a#b ");
	list_expect(s->table, suite_text("a\001"), NULL, "d ");
	suite_delete_row(s->table, "a#b\001c");
	suite_delete_row(s->table, "a\001d");
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 0x7f), 0);
	list_put(s->table, suite_text("a\177b"));
	list_put(s->table, suite_text("a\377"));
	list_expect(s->table, suite_text(""), NULL, "a a\\FF ");
}

/* ---- Random keys over a small alphabet around the delimiter ------------------------------- */

static void list_compare(const struct suite *suites, struct wcs_slice prefix,
			 const struct wcs_slice *after)
{
	char *memory = suite_list(suites[SUITE_MEMORY].table, prefix, after);

	list_expect(suites[SUITE_LEVELDB].table, prefix, after, memory);
	free(memory);
}

/* Both engines list the same below the prefix, behind each segment, and between segments. */
static void list_compare_prefix(const struct suite *suites, struct wcs_slice prefix)
{
	struct wcs_slice segment;
	struct wcs_list *list;
	char bytes[LIST_LEN + 1];

	list_compare(suites, prefix, NULL);
	list_compare(suites, prefix, &(struct wcs_slice){NULL, 0});
	SUITE_OK(wcs_list_open(suites[SUITE_MEMORY].table, prefix, NULL, &list));
	while (wcs_list_next(list, &segment) == 1) {
		struct wcs_slice after = {bytes, segment.len + 1};

		list_compare(suites, prefix, &segment);
		memcpy(bytes, segment.data, segment.len);
		bytes[segment.len] = '\0';
		list_compare(suites, prefix, &after);
		bytes[segment.len] = '"';
		list_compare(suites, prefix, &after);
		after.len = segment.len > 0 ? segment.len - 1 : 0;
		list_compare(suites, prefix, &after);
	}
	wcs_list_close(list);
}

/* Random keys of bytes around the delimiter, each with some cells. */
static void list_compare_round(struct suite *suites, uint64_t *seed, size_t count, char delimiter)
{
	const char alphabet[] = {'\0',	    (char)(delimiter - 1), delimiter,
				 delimiter, (char)(delimiter + 1), 'a',
				 '\xff'};
	char bytes[LIST_KEYS][LIST_LEN], after[LIST_LEN];
	struct wcs_slice keys[LIST_KEYS], behind = {after, 0};
	struct wcs_key_info info[SUITE_ENGINES];
	uint32_t cells = 1 + suite_random(seed) % 12;

	for (size_t i = 0; i < count; i++) {
		keys[i] = (struct wcs_slice){bytes[i], 1 + suite_random(seed) % LIST_LEN};
		for (size_t k = 0; k < keys[i].len; k++)
			bytes[i][k] = alphabet[suite_random(seed) % sizeof(alphabet)];
		for (uint32_t k = 0; k < SUITE_ENGINES * cells; k++)
			suite_put(suites[k % SUITE_ENGINES].table, keys[i], "f", suite_text("q"),
				  k / SUITE_ENGINES, suite_text("v"));
	}
	list_compare_prefix(suites, suite_text(""));
	for (size_t i = 0; i < count && i < 120; i++)
		for (size_t len = keys[i].len; len > 0; len--) {
			struct wcs_slice key = {bytes[i], len};

			for (int k = 0; k < SUITE_ENGINES; k++)
				SUITE_OK(wcs_key_get(suites[k].table, key, &info[k]));
			ck_assert_int_eq(info[0].row, info[1].row);
			ck_assert_int_eq(info[0].prefix, info[1].prefix);
			list_compare_prefix(suites, key);
			behind.len = suite_random(seed) % 4;
			for (size_t k = 0; k < behind.len; k++)
				after[k] = alphabet[suite_random(seed) % sizeof(alphabet)];
			list_compare(suites, key, &behind);
			list_compare(suites, suite_text(""), &behind);
		}
}

SUITE_TEST(test_engines_list_the_same, 120)
{
	static const size_t counts[] = {8, 8, 8, 8, 8, 8, 30, 30, 30, 30, 120, 120, LIST_KEYS};
	struct suite suites[SUITE_ENGINES];
	uint64_t seed = 20240607;

	for (int i = 0; i < SUITE_ENGINES; i++)
		suite_open(&suites[i], i);
	for (size_t round = 0; round < sizeof(counts) / sizeof(counts[0]); round++) {
		const char delimiter = "#|\1"[round % 3];

		for (int i = 0; i < SUITE_ENGINES; i++) {
			SUITE_OK(wcs_rows_drop(suites[i].table, NULL));
			SUITE_OK(
				wcs_table_set_delimiter(suites[i].table, (unsigned char)delimiter));
		}
		list_compare_round(suites, &seed, counts[round], delimiter);
	}
	for (int i = 0; i < SUITE_ENGINES; i++)
		suite_close(&suites[i]);
}
