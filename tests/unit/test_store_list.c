/* SPDX-License-Identifier: MIT */
/* Listings and prefixes by example. tests/e2e/test_keys.sh compares those of random keys with a
 * model, random.h those of the engines. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

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
