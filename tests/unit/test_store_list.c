/* SPDX-License-Identifier: MIT */
/* Listings and prefixes on both engines, against what a look at every key says. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_KEYS 120
#define LIST_LEN  5

struct list_model {
	struct wcs_slice keys[LIST_KEYS];
	char bytes[LIST_KEYS][LIST_LEN];
	size_t count;
};

static void list_put(struct wcs_table *table, struct wcs_slice key)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_set(mutation, "f", suite_text("q"), 1, suite_text("v"));
	ck_assert_int_eq(wcs_row_mutate(table, key, mutation, NULL), 0);
	wcs_mutation_free(mutation);
}

static void list_expect(struct wcs_table *table, struct wcs_slice prefix,
			const struct wcs_slice *after, const char *expected)
{
	char *text = suite_list(table, prefix, after);

	ck_assert_str_eq(text, expected);
	free(text);
}

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

SUITE_STORES(test_key_get, 10)
{
	struct wcs_key_info info;

	ck_assert_int_eq(wcs_key_get(s->table, suite_text("a"), &info), 0);
	ck_assert(!info.row && !info.prefix);
	list_put(s->table, suite_text("a"));
	list_put(s->table, suite_text("a!b"));
	list_put(s->table, suite_text("b#c"));
	list_put(s->table, suite_text("d#"));
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("a"), &info), 0);
	ck_assert(info.row && !info.prefix);
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("a!"), &info), 0);
	ck_assert(!info.row && !info.prefix);
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("b"), &info), 0);
	ck_assert(!info.row && info.prefix);
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("b#c"), &info), 0);
	ck_assert(info.row && !info.prefix);
	/* the row "d#" is the empty segment below "d" */
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("d"), &info), 0);
	ck_assert(!info.row && info.prefix);
	ck_assert_int_eq(wcs_key_get(s->table, suite_text(""), &info), 0);
	ck_assert(!info.row && !info.prefix);
	list_put(s->table, suite_text("#x"));
	ck_assert_int_eq(wcs_key_get(s->table, suite_text(""), &info), 0);
	ck_assert(!info.row && info.prefix);
	list_put(s->table, suite_text("a#"));
	ck_assert_int_eq(wcs_key_get(s->table, suite_text("a"), &info), 0);
	ck_assert(info.row && info.prefix);
}

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
	ck_assert_int_eq(wcs_list_open(s->table, suite_text(""), NULL, &list), 0);
	ck_assert_int_eq(wcs_list_next(list, &segment), 1);
	ck_assert_int_eq(wcs_slice_compare(segment, key), 0);
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
	list_expect(s->table, suite_text(""), &key, "");
	list_expect(s->table, shorter, NULL, "\\FF ");
	list_expect(s->table, key, NULL, "");
	ck_assert_int_eq(wcs_key_get(s->table, key, &info), 0);
	ck_assert(info.row && !info.prefix);
	memset(bytes, '#', WCS_ROW_KEY_MAX);
	list_put(s->table, key);
	list_expect(s->table, key, NULL, " ");
	list_expect(s->table, shorter, NULL, " ");
	list_expect(s->table, suite_text("#"), NULL, " ");
	ck_assert_int_eq(wcs_key_get(s->table, shorter, &info), 0);
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

static bool list_model_has(const struct list_model *model, struct wcs_slice key)
{
	for (size_t i = 0; i < model->count; i++)
		if (wcs_slice_compare(model->keys[i], key) == 0)
			return true;
	return false;
}

static void list_model_fill(struct list_model *model, struct wcs_table *table, uint64_t *seed,
			    size_t count)
{
	static const char alphabet[] = {'\0', '"', '#', '$', 'a', '\xff'};

	model->count = 0;
	while (model->count < count) {
		char *bytes = model->bytes[model->count];
		struct wcs_slice key = {bytes, 1 + suite_random(seed) % LIST_LEN};

		for (size_t i = 0; i < key.len; i++)
			bytes[i] = alphabet[suite_random(seed) % sizeof(alphabet)];
		if (list_model_has(model, key))
			continue;
		model->keys[model->count++] = key;
		list_put(table, key);
	}
}

/* The segments below prefix as the keys say, sorted, each once. */
static size_t list_model_segments(const struct list_model *model, struct wcs_slice prefix,
				  struct wcs_slice *segments)
{
	const char *bytes = prefix.data;
	bool itself = prefix.len > 0 && bytes[prefix.len - 1] == '#';
	size_t count = 0;

	for (size_t i = 0; i < model->count; i++) {
		const struct wcs_slice *key = &model->keys[i];
		const char *rest = (const char *)key->data + prefix.len;
		struct wcs_slice segment = {rest, 0};
		size_t at = 0;

		if (key->len < prefix.len || memcmp(key->data, prefix.data, prefix.len) != 0 ||
		    (key->len == prefix.len && !itself))
			continue;
		while (segment.len < key->len - prefix.len && rest[segment.len] != '#')
			segment.len++;
		while (at < count && wcs_slice_compare(segments[at], segment) < 0)
			at++;
		if (at < count && wcs_slice_compare(segments[at], segment) == 0)
			continue;
		memmove(&segments[at + 1], &segments[at], (count - at) * sizeof(segment));
		segments[at] = segment;
		count++;
	}
	return count;
}

static void list_compare(struct wcs_table *table, struct wcs_slice prefix,
			 const struct wcs_slice *after, const struct wcs_slice *segments,
			 size_t count)
{
	struct wcs_slice segment;
	struct wcs_list *list;

	ck_assert_int_eq(wcs_list_open(table, prefix, after, &list), 0);
	for (size_t i = 0; i < count; i++) {
		if (after != NULL && wcs_slice_compare(segments[i], *after) <= 0)
			continue;
		ck_assert_int_eq(wcs_list_next(list, &segment), 1);
		ck_assert_int_eq(wcs_slice_compare(segment, segments[i]), 0);
	}
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
}

static void list_compare_prefix(const struct list_model *model, struct wcs_table *table,
				struct wcs_slice prefix)
{
	struct wcs_slice segments[LIST_KEYS + 1] = {{NULL, 0}};
	size_t count = list_model_segments(model, prefix, segments);
	char bytes[LIST_LEN + 1];

	list_compare(table, prefix, NULL, segments, count);
	list_compare(table, prefix, &(struct wcs_slice){NULL, 0}, segments, count);
	for (size_t i = 0; i < count; i++) {
		struct wcs_slice after = {bytes, segments[i].len};

		list_compare(table, prefix, &segments[i], segments, count);
		/* and between the segments: a byte more, a byte less */
		memcpy(bytes, segments[i].data, segments[i].len);
		bytes[segments[i].len] = '\0';
		after.len++;
		list_compare(table, prefix, &after, segments, count);
		bytes[segments[i].len] = '"';
		list_compare(table, prefix, &after, segments, count);
		after.len = segments[i].len > 0 ? segments[i].len - 1 : 0;
		list_compare(table, prefix, &after, segments, count);
	}
}

static void list_compare_key(const struct list_model *model, struct wcs_table *table,
			     struct wcs_slice key)
{
	struct wcs_key_info info;
	bool prefix = false;

	for (size_t i = 0; i < model->count; i++)
		prefix = prefix || (model->keys[i].len > key.len &&
				    memcmp(model->keys[i].data, key.data, key.len) == 0 &&
				    ((const char *)model->keys[i].data)[key.len] == '#');
	ck_assert_int_eq(wcs_key_get(table, key, &info), 0);
	ck_assert_int_eq(info.row, list_model_has(model, key));
	ck_assert_int_eq(info.prefix, prefix);
}

SUITE_STORES(test_list_like_the_model, 60)
{
	static struct list_model model;
	uint64_t seed = 20240607;

	for (int round = 0; round < 12; round++) {
		list_model_fill(&model, s->table, &seed, round < 6 ? 8 : round < 10 ? 30 : 120);
		list_compare_prefix(&model, s->table, suite_text(""));
		for (size_t i = 0; i < model.count; i++)
			for (size_t len = 1; len <= model.keys[i].len; len++) {
				struct wcs_slice prefix = {model.bytes[i], len};

				list_compare_key(&model, s->table, prefix);
				list_compare_prefix(&model, s->table, prefix);
			}
		ck_assert_int_eq(wcs_rows_drop(s->table, NULL), 0);
	}
}
