/* SPDX-License-Identifier: MIT */
/* Chunks of long names that lead to no name, or to one. tests/e2e/test_long_names.sh has how names
 * are split, the longest ones, and those that resolve unsplit; fuzz_names.c random ones. */
#include "tests/unit/model.h"
#include "tests/unit/suite.h"

/* Joins two components; the error of joining or decoding them. */
static int join_two(enum names_kind kind, const char *first, const char *second)
{
	size_t len = 0, decoded_len;
	bool more;
	int error =
		names_join(kind, model_joined, 0, first, strlen(first), model_joined, &len, &more);

	if (error)
		return error;
	error = names_join(kind, model_joined, len, second, strlen(second), model_joined, &len,
			   &more);
	if (error)
		return error;
	return names_decode(kind, &model_families, model_joined, len, model_decoded, &decoded_len);
}

/* A run of 'a' of so many bytes, and a text behind it. */
static const char *run(size_t count, const char *behind)
{
	static char texts[4][600];
	static unsigned next;
	char *text = texts[next++ % 4];

	memset(text, 'a', count);
	strcpy(text + count, behind);
	return text;
}

SUITE_TEST(chunks_are_filled, 120)
{
	static const char *const units_of[] = {"b", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
					       "%00"};

	for (size_t u = 0; u < 5; u++)
		for (size_t count = 1; count <= 235; count++) {
			size_t unit = strlen(units_of[u]);
			int want = count <= 230 && count + unit > 230 ? 0 : -EINVAL;

			ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(count, "%"), units_of[u]),
					 want);
		}
}

SUITE_TEST(chunks_are_canonical, 120)
{
	size_t len;
	bool more;
	const char *bad[] = {run(227, "%61%"), run(227, "%2f%"), run(226, "%40%"),
			     run(226, "%C3%A9%")};

	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(names_join(NAMES_QUALIFIER, NULL, 0, bad[i], strlen(bad[i]),
					    model_joined, &len, &more),
				 -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%A9"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%A9b"), -EINVAL);
	SUITE_OK(join_two(NAMES_QUALIFIER, run(227, "%C3%"), "%C3"));
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), ""), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "."), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), ".."), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%2E%2E%2E"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "%2Ea"), -EINVAL);
	ck_assert_int_eq(join_two(NAMES_QUALIFIER, run(230, "%"), "@"), -EINVAL);
	SUITE_OK(join_two(NAMES_QUALIFIER, run(229, "@%"), "b"));
	SUITE_OK(join_two(NAMES_QUALIFIER, run(230, "%"), "%40"));
	SUITE_OK(join_two(NAMES_SEGMENT, run(230, "%"), "@"));
	SUITE_OK(join_two(NAMES_SEGMENT, run(230, "%"), ".b"));
	SUITE_OK(join_two(NAMES_SEGMENT, run(230, "%"), "loc"));
}

/* A chunk directory's name that no right name goes on from is refused at once. */
SUITE_TEST(wrong_chunks_do_not_open, 120)
{
	size_t len;
	bool more;
	const char *first = run(227, "%C3%"), *second = run(224, "%");
	char next[240];

	SUITE_OK(names_join(NAMES_QUALIFIER, NULL, 0, first, 231, model_joined, &len, &more));
	ck_assert(more);
	sprintf(next, "%%A9%s", second);
	ck_assert_int_eq(names_join(NAMES_QUALIFIER, model_joined, len, next, strlen(next),
				    model_joined, &len, &more),
			 -EINVAL);
	sprintf(next, "%%C3%s", second);
	SUITE_OK(names_join(NAMES_QUALIFIER, model_joined, len, next, strlen(next), model_joined,
			    &len, &more));
	for (size_t count = 1; count <= 230; count++) {
		int error = names_join(NAMES_QUALIFIER, NULL, 0, run(count, "%"), count + 1,
				       model_joined, &len, &more);

		ck_assert_int_eq(error, count < 227 ? -EINVAL : 0);
	}
	first = run(229, "%");
	SUITE_OK(names_join(NAMES_SEGMENT, NULL, 0, first, 230, model_joined, &len, &more));
	memcpy(next, first, 231);
	next[0] = '.';
	ck_assert_int_eq(names_join(NAMES_SEGMENT, NULL, 0, next, 230, model_joined, &len, &more),
			 -EINVAL);
	SUITE_OK(names_join(NAMES_QUALIFIER, NULL, 0, next, 230, model_joined, &len, &more));
}

SUITE_TEST(what_is_a_chunk, 120)
{
	ck_assert(!names_is_chunk("%", 1));
	ck_assert(!names_is_chunk("%25", 3));
	ck_assert(!names_is_chunk("a", 1));
	ck_assert(!names_is_chunk("", 0));
	ck_assert(names_is_chunk("a%", 2));
	ck_assert(names_is_chunk("%25%", 4));
}
