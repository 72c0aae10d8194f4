/* SPDX-License-Identifier: MIT */
/* Listings and prefixes by example, and of random keys against a model. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

#include <time.h>

static void list_put(struct wcs_table *table, struct wcs_slice key)
{
	suite_put(table, key, "f", suite_text("q"), 1, suite_text("v"));
}

/* Puts, or deletes, the rows whose keys stand in the text with blanks between them. */
static void list_change_all(struct wcs_table *table, const char *keys, bool put)
{
	char text[64], *rest = text, *key;

	snprintf(text, sizeof(text), "%s", keys);
	while ((key = strsep(&rest, " ")) != NULL && key[0] != 0)
		if (put)
			list_put(table, suite_text(key));
		else
			suite_delete_row(table, key);
}

static void list_expect(struct wcs_table *table, struct wcs_slice prefix,
			const struct wcs_list_child *after, const char *expected)
{
	char *text = suite_list(table, prefix, after, false);

	ck_assert_str_eq(text, expected);
	free(text);
}

SUITE_CONTRACT("store.h, Reading: wcs_list_open")
SUITE_STORES(test_list_by_example, 10)
{
	static const char *const keys[] = {"ab",  "ab!c", "ab#c", "ab#d#e", "ab#d#f", "ab##",  "ac",
					   "ac#", "#",	  "#x",	  "x##y",   "z#z",    "\xff#1"};
	struct wcs_list_child after = {.segment = SUITE_BYTES("ab")};

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

/* A segment stands at its first row: "ab" is the segment of "ab#c" only, and comes after "ab!c",
 * whose key is the lesser one; once there is a row "ab", before it. */
SUITE_STORES(test_segment_at_its_first_row, 10)
{
	struct wcs_list_child after = {.segment = SUITE_BYTES("ab"), .below = true};
	struct wcs_list_child shorter = {.segment = SUITE_BYTES("a"), .below = true};

	list_put(s->table, suite_text("ab!c"));
	list_put(s->table, suite_text("ab#c"));
	list_put(s->table, suite_text("a\"#1"));
	list_put(s->table, suite_text("a#1"));
	list_put(s->table, suite_text("a!!#1"));
	list_put(s->table, suite_text("a!#1"));
	list_expect(s->table, suite_text(""), NULL, "a!! a! a\" a ab!c ab ");
	list_expect(s->table, suite_text(""), &after, "");
	list_expect(s->table, suite_text(""), &shorter, "ab!c ab ");
	list_put(s->table, suite_text("ab"));
	list_put(s->table, suite_text("a"));
	after.below = shorter.below = false;
	list_expect(s->table, suite_text(""), NULL, "a a!! a! a\" ab ab!c ");
	list_expect(s->table, suite_text(""), &after, "ab!c ");
	list_expect(s->table, suite_text(""), &shorter, "a!! a! a\" ab ab!c ");
}

/* ---- Rows that change before a list resumes ---------------------------------------------- */

SUITE_CONTRACT("store.h, Reading: wcs_list_open")
SUITE_STORES(test_list_resumes_after_changes, 20)
{
	static const struct {
		bool reverse;
		const char *rows, *after, *deleted, *put, *expected;
	} cases[] = {
		/* the row at which the last child stood */
		{false, "ab ab!1 ab!2 ab#d", "ab", "ab", "", "ab!1 ab!2 "},
		{false, "ab ab!1 ab!2 ab#d e", "ab", "ab ab!1 ab#d", "", "ab!2 e "},
		{false, "ab!1 ab#d e", "ab", "", "ab ab!3", "e "},
		/* that of a child before it, which was given and is not given again */
		{false, "ab ab!1 ab!2 ab#d", "ab!1", "ab", "", "ab!2 "},
		{false, "a a! a!! a!#x a#x b", "a!!", "a a!", "", "b "},
		{false, "ab ab!1 ab!2", "ab!1", "ab", "ab#d", "ab!2 "},
		/* or was not given yet */
		{false, "ab!1 ab!2 ab#d", "ab!1", "", "ab", "ab!2 ab "},
		{false, "ab!1 ab!2 ab#d", "ab!1", "ab#d", "ab ab#e", "ab!2 ab "},
		/* in descending order, where a child stands at its tail */
		{true, "ab ab!1 ab!2 ab#d", "ab", "ab#d", "", "ab!2 ab!1 "},
		{true, "ab ab!1 ab!2 ab#d", "ab!2", "ab#d", "", "ab!1 "},
		{true, "ab ab!1 ab!2", "ab!2", "", "ab#d", "ab!1 ab "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wcs_chain *chain = suite_reverse(s->table, cases[i].reverse);
		struct wcs_list_child after;
		struct wcs_slice segment;
		struct wcs_list *list;

		list_change_all(s->table, cases[i].rows, true);
		SUITE_OK(wcs_list_open(s->table, suite_text(""), NULL, chain, &list));
		do
			ck_assert_int_eq(wcs_list_next(list, &segment), 1);
		while (wcs_slice_compare(segment, suite_text(cases[i].after)) != 0);
		after = (struct wcs_list_child){segment, wcs_list_is_below(list),
						wcs_list_given(list, segment)};
		list_change_all(s->table, cases[i].deleted, false);
		list_change_all(s->table, cases[i].put, true);
		suite_expect_text(suite_list(s->table, suite_text(""), &after, cases[i].reverse),
				  cases[i].expected);
		wcs_list_close(list);
		wcs_chain_free(chain);
		SUITE_OK(wcs_rows_drop(s->table, NULL));
	}
}

/* ---- Both orders against a model --------------------------------------------------------- */

enum { LIST_ROWS = 24, LIST_KEY = 4 };

struct list_child {
	struct wcs_slice segment;
	struct wcs_slice row; /* at which it stands */
};

/* The children of a prefix, among ascending rows, by their first row, or by their last one from the
 * last down. */
static size_t list_model(const struct wcs_slice *rows, size_t count, struct wcs_slice prefix,
			 bool reverse, struct list_child *children)
{
	bool closed = prefix.len > 0 && ((const char *)prefix.data)[prefix.len - 1] == '#';
	size_t made = 0, at;

	for (size_t i = 0; i < count; i++) {
		const struct wcs_slice *row = &rows[reverse ? count - 1 - i : i];
		const char *rest = (const char *)row->data + prefix.len;
		struct wcs_slice segment = {rest, 0};

		if (row->len < prefix.len + !closed ||
		    (prefix.len > 0 && memcmp(row->data, prefix.data, prefix.len) != 0))
			continue;
		while (segment.len < row->len - prefix.len && rest[segment.len] != '#')
			segment.len++;
		for (at = 0; at < made; at++)
			if (wcs_slice_compare(children[at].segment, segment) == 0)
				break;
		if (at == made)
			children[made++] = (struct list_child){segment, *row};
	}
	return made;
}

/* Is the child behind `after`? */
static bool list_is_behind(const struct list_child *child, const struct list_child *after,
			   bool reverse)
{
	int order = after == NULL ? 0 : wcs_slice_compare(child->row, after->row);

	return after == NULL || (reverse ? order < 0 : order > 0);
}

static void list_compare(struct wcs_table *table, struct wcs_slice prefix,
			 const struct list_child *children, size_t count,
			 const struct list_child *after, bool reverse)
{
	struct wcs_list_child resume = {.below = false};
	struct wcs_slice segment;
	struct wcs_chain *chain = suite_reverse(table, reverse);
	struct wcs_list *list, *first = NULL;

	/* A list that is one child further tells of the segments before the place. */
	if (after != NULL) {
		resume.segment = after->segment;
		resume.below = after->row.len > prefix.len + after->segment.len;
		SUITE_OK(wcs_list_open(table, prefix, NULL, chain, &first));
		for (size_t i = 0; i < count && !list_is_behind(&children[i], after, reverse); i++)
			ck_assert_int_eq(wcs_list_next(first, &segment), 1);
		ck_assert_int_ge(wcs_list_next(first, &segment), 0);
		resume.given = wcs_list_given(first, after->segment);
	}
	SUITE_OK(wcs_list_open(table, prefix, after != NULL ? &resume : NULL, chain, &list));
	wcs_list_close(first);
	for (size_t i = 0; i < count; i++)
		if (list_is_behind(&children[i], after, reverse) &&
		    (wcs_list_next(list, &segment) != 1 ||
		     wcs_slice_compare(segment, children[i].segment) != 0))
			ck_abort_msg("child %zu of %zu, reverse %d", i, count, reverse);
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
	wcs_chain_free(chain);
}

/* All children, then those behind each one, and behind a segment that may have no row. */
static void list_compare_all(struct wcs_table *table, const struct wcs_slice *rows, size_t count,
			     struct wcs_slice prefix, struct wcs_slice other)
{
	struct list_child children[LIST_ROWS], none = {.segment = other};
	char bytes[2 * LIST_KEY];

	memcpy(bytes, prefix.data, prefix.len);
	memcpy(bytes + prefix.len, other.data, other.len);
	for (int reverse = 0; reverse <= 1; reverse++) {
		size_t made = list_model(rows, count, prefix, reverse, children);

		none.row = (struct wcs_slice){bytes, prefix.len + other.len};
		list_compare(table, prefix, children, made, NULL, reverse);
		for (size_t i = 0; i < made; i++) {
			list_compare(table, prefix, children, made, &children[i], reverse);
			if (wcs_slice_compare(children[i].segment, other) == 0)
				none.row = children[i].row;
		}
		list_compare(table, prefix, children, made, &none, reverse);
	}
}

/* Bytes around the delimiter; any but the delimiter if it is a segment. */
static struct wcs_slice list_random(uint64_t *state, char bytes[LIST_KEY], size_t least,
				    bool segment)
{
	static const char alphabet[] = {'#', '\0', '"', '$', 'a', '\xff'};
	size_t len = least + suite_random(state) % (LIST_KEY + 1 - least);

	for (size_t i = 0; i < len; i++)
		bytes[i] = alphabet[segment + suite_random(state) % (6 - segment)];
	return (struct wcs_slice){bytes, len};
}

/* Random keys, of which a policy hides some. */
SUITE_STORES(test_list_by_model, 120)
{
	uint64_t seed = suite_setting("ROWFS_SEED", (uint64_t)time(NULL)), state = seed;

	printf("ROWFS_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	s->clock = 5000000;
	suite_policy(s->table, "f", "maxage=1s");
	for (int round = 0; round < (int)suite_rounds(12, 60); round++) {
		char bytes[LIST_ROWS + 2][LIST_KEY];
		struct wcs_slice rows[LIST_ROWS];
		size_t count = 0;

		for (int i = 0; i < LIST_ROWS; i++) {
			struct wcs_slice row = list_random(&state, bytes[count], 1, false);
			size_t at = count;
			int order = 1;

			while (at > 0 && (order = wcs_slice_compare(rows[at - 1], row)) > 0)
				at--;
			if (at > 0 && order == 0)
				continue;
			if (suite_random(&state) % 4 == 0) {
				suite_put(s->table, row, "f", suite_text("q"), 1, row);
				continue;
			}
			suite_put(s->table, row, "f", suite_text("q"), 5000000, row);
			memmove(rows + at + 1, rows + at, (count++ - at) * sizeof(*rows));
			rows[at] = row;
		}
		for (int i = 0; i < 12; i++) {
			struct wcs_slice prefix = rows[suite_random(&state) % count];
			struct wcs_slice other = list_random(&state, bytes[LIST_ROWS], 0, true);

			prefix.len = suite_random(&state) % (prefix.len + 1);
			list_compare_all(s->table, rows, count, prefix, other);
		}
		SUITE_OK(wcs_rows_drop(s->table, NULL));
	}
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
	char *bytes = malloc(suite_row_max(s));
	struct wcs_slice key = {bytes, suite_row_max(s)};
	struct wcs_slice shorter = {bytes, suite_row_max(s) - 1};
	struct wcs_slice segment;
	struct wcs_key_info info;
	struct wcs_list *list;

	memset(bytes, 0xff, suite_row_max(s));
	list_put(s->table, key);
	SUITE_OK(wcs_list_open(s->table, suite_text(""), NULL, NULL, &list));
	ck_assert_int_eq(wcs_list_next(list, &segment), 1);
	ck_assert_int_eq(wcs_slice_compare(segment, key), 0);
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
	list_expect(s->table, suite_text(""), &(struct wcs_list_child){.segment = key}, "");
	list_expect(s->table, shorter, NULL, "\\FF ");
	list_expect(s->table, key, NULL, "");
	SUITE_OK(wcs_key_get(s->table, key, &info));
	ck_assert(info.row && !info.prefix);
	memset(bytes, '#', suite_row_max(s));
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
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 1, NULL), 0);
	list_put(s->table, suite_text("a#b\001c"));
	list_put(s->table, suite_text("a\001d"));
	list_expect(s->table, suite_text(""), NULL, "a a#b ");
	list_expect(s->table, suite_text("a\001"), NULL, "d ");
	suite_delete_row(s->table, "a#b\001c");
	suite_delete_row(s->table, "a\001d");
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 0x7f, NULL), 0);
	list_put(s->table, suite_text("a\177b"));
	list_put(s->table, suite_text("a\377"));
	list_expect(s->table, suite_text(""), NULL, "a a\\FF ");
}
