/* SPDX-License-Identifier: MIT */
/* Long names against the contract: how they are split, and which chunks lead back to them. */
#include "tests/unit/model.h"
#include "tests/unit/suite.h"

SUITE_TEST(the_longest_names_are_split, 120)
{
	static unsigned char bytes[BYTES_MAX];
	static const int fills[] = {'a', 0x00, 0xFF, '.', '@', '%'};

	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		memset(bytes, fills[i], sizeof(bytes));
		model_check_split(NAMES_QUALIFIER, bytes, sizeof(bytes));
		model_check_split(NAMES_SEGMENT, bytes, 4096);
	}
}

/* Each unit, at each distance from the limit, is either whole in its chunk or in the next. */
SUITE_TEST(nothing_is_cut, 120)
{
	static const char *const pieces[] = {
		"x",	    "/", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
		"\xE2\x82", "@", "..",	     "\xC3"};
	unsigned char bytes[512];

	for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++)
		for (size_t before = 220; before <= 232; before++)
			for (size_t after = 0; after < 5; after++) {
				size_t piece_len = strlen(pieces[p]);

				memset(bytes, 'a', sizeof(bytes));
				memcpy(bytes + before, pieces[p], piece_len);
				model_check_split(NAMES_QUALIFIER, bytes,
						  before + piece_len + after);
				model_check_split(NAMES_SEGMENT, bytes, before + piece_len + after);
			}
}

SUITE_TEST(the_limit_is_230, 120)
{
	unsigned char bytes[231];

	memset(bytes, 'a', sizeof(bytes));
	model_check_split(NAMES_QUALIFIER, bytes, 230);
	ck_assert_uint_eq(model_parts.count, 1);
	model_check_split(NAMES_QUALIFIER, bytes, 231);
	ck_assert_uint_eq(model_parts.count, 2);
	ck_assert_uint_eq(strlen(model_parts.text[0]), 231);
	ck_assert_str_eq(model_parts.text[1], "a");
}

/* A last chunk cannot be called "." or "..". */
SUITE_TEST(last_chunks_of_dots, 120)
{
	unsigned char bytes[233];

	memset(bytes, 'a', sizeof(bytes));
	bytes[230] = bytes[231] = bytes[232] = '.';
	for (size_t k = 0; k < 3; k += 2) {
		model_check_split(model_kinds[k], bytes, 231);
		ck_assert_str_eq(model_parts.text[1], "%2E");
		model_check_split(model_kinds[k], bytes, 232);
		ck_assert_str_eq(model_parts.text[1], "%2E%2E");
		model_check_split(model_kinds[k], bytes, 233);
		ck_assert_str_eq(model_parts.text[1], "...");
	}
}

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

SUITE_TEST(unsplit_up_to_255, 120)
{
	size_t len, decoded_len;
	bool more = true;

	for (size_t count = 229; count <= 260; count++) {
		int error = names_join(NAMES_QUALIFIER, NULL, 0, run(count, ""), count,
				       model_joined, &len, &more);

		ck_assert_int_eq(error, count <= 255 ? 0 : -EINVAL);
		if (error)
			continue;
		ck_assert(!more);
		ck_assert_uint_eq(len, count);
		SUITE_OK(names_decode(NAMES_QUALIFIER, NULL, model_joined, len, model_decoded,
				      &decoded_len));
		ck_assert_uint_eq(decoded_len, count);
	}
	SUITE_OK(join_two(NAMES_QUALIFIER, run(230, "%"), run(255, "")));
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
