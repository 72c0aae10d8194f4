/* SPDX-License-Identifier: MIT */
/* Salts of keys, and the limits of designs, against a second reading of the contract. */
#include "tests/unit/suite.h"

#include "store/keys/keys.h"

/* FNV-1a of 64 bits, folded, as docs/format.md has it. */
static unsigned int model_bucket(const char *key, size_t len, unsigned int buckets)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++) {
		hash ^= (unsigned char)key[i];
		hash *= UINT64_C(1099511628211);
	}
	return (unsigned int)(((hash >> 32) ^ (hash & 0xffffffff)) % buckets);
}

/* ---- Salts ------------------------------------------------------------------------------- */

SUITE_TEST(test_salt, 10)
{
	static const struct {
		unsigned int salted;
		const char *key;
		size_t hashed; /* so many of its bytes */
	} cases[] = {
		{0, "a#b#c", 5}, {1, "a#b#c", 1}, {2, "a#b#c", 3}, {3, "a#b#c", 5},
		{4, "a#b#c", 5}, {1, "a", 1},	  {1, "#b", 0},	   {2, "##", 1},
		{1, "", 0},	 {2, "a#", 2},	  {32, "a#b", 3},
	};
	static const unsigned int buckets[] = {2, 16, 100, 256};
	char digits[9];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < 4; k++) {
			struct wcs_keys keys = {.delimiter = '#',
						.buckets = buckets[k],
						.salt_segments = cases[i].salted};
			unsigned int bucket =
				model_bucket(cases[i].key, cases[i].hashed, buckets[k]);
			unsigned char salt[WCS_KEYS_SALT];

			ck_assert_uint_eq(wcs_keys_bucket(&keys, suite_text(cases[i].key)), bucket);
			wcs_keys_salt(&keys, bucket, salt);
			snprintf(digits, sizeof(digits), "%02x", bucket);
			ck_assert_mem_eq(salt, digits, 2);
			ck_assert_int_eq(salt[2], '#');
		}
	/* The published FNV-1a of "a" is af63dc4c8601ec8c: c0 is the low byte of its halves' XOR.
	 */
	ck_assert_uint_eq(model_bucket("a", 1, 256), 0xc0);
}

SUITE_TEST(test_keys_of_stored_keys, 10)
{
	static const struct {
		unsigned int buckets;
		const char *stored, *key;
	} cases[] = {{256, "c0#a", "a"}, {256, "c1#a", "c1#a"}, {256, "C0#a", "C0#a"},
		     {16, "00#a", "a"},	 {256, "c0|a", "c0|a"}, {256, "c0#", "c0#"},
		     {0, "c0#a", "c0#a"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wcs_keys keys = {.delimiter = '#', .buckets = cases[i].buckets};
		struct wcs_slice key = wcs_keys_unsalted(&keys, suite_text(cases[i].stored));

		ck_assert_uint_eq(key.len, strlen(cases[i].key));
		ck_assert_mem_eq(key.data, cases[i].key, key.len);
	}
	ck_assert_uint_eq(wcs_keys_unsalted(NULL, suite_text("c0#a")).len, 4);
}

/* Ranges, and the key in whose bucket all of their keys are; NULL: in several. */
static const struct {
	unsigned int salted;
	const char *start;
	size_t start_len;
	const char *end; /* NULL: none */
	size_t end_len;
	const char *key;
} ranges[] = {
	{0, "a#b", 3, "a#b\0", 4, "a#b"},  {1, "a#b", 3, "a#b\0", 4, "a"},
	{2, "a", 1, "a\0", 2, "a"},	   {0, "a#b", 3, "a#b\1", 4, NULL},
	{0, "a#", 2, "a$", 2, NULL},	   {1, "a#", 2, "a$", 2, "a"},
	{1, "a#b", 3, "a#c", 3, "a"},	   {1, "a#b", 3, "a$", 2, "a"},
	{1, "a#b#", 4, "a#b$", 4, "a"},	   {2, "a#b#", 4, "a#b$", 4, "a#b"},
	{2, "a#", 2, "a$", 2, NULL},	   {1, "a", 1, "a$", 2, NULL},
	{1, "a!", 2, "a$", 2, NULL},	   {1, "a#", 2, "a$\0", 3, NULL},
	{1, "a#", 2, "a%", 2, NULL},	   {1, "a#", 2, "b", 1, NULL},
	{1, "a#", 2, NULL, 0, NULL},	   {1, "", 0, NULL, 0, NULL},
	{1, "#", 1, "$", 1, ""},	   {1, "a#b", 3, "a#b\0\0", 5, "a"},
	{2, "a#b", 3, "a#b\0\0", 5, NULL},
};

/* fuzz_keys.c checks that a range which has a bucket has no key of another. */
SUITE_TEST(test_bucket_of_a_range, 10)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		struct wcs_keys keys = {
			.delimiter = '#', .buckets = 256, .salt_segments = ranges[i].salted};
		struct wcs_range range = {{ranges[i].start, ranges[i].start_len},
					  {ranges[i].end, ranges[i].end_len}};
		const char *key = ranges[i].key;

		ck_assert_msg(wcs_keys_range_bucket(&keys, &range) ==
				      (key ? (int)model_bucket(key, strlen(key), 256) : -1),
			      "range %zu", i);
	}
}

/* ---- Designs ----------------------------------------------------------------------------- */

static const struct {
	struct wcs_keys keys;
	unsigned char delimiter;
	const char *says; /* NULL: it is valid */
} designs[] = {
	{{.segment_count = 0}, '#', NULL},
	{{.buckets = 2}, '#', NULL},
	{{.buckets = 256, .salt_segments = 32}, '#', NULL},
	{{.buckets = 1}, '#', "a salt has 2 to 256 buckets"},
	{{.buckets = 257}, '#', "a salt has 2 to 256 buckets"},
	{{.salt_segments = 1}, '#', "a salt has 2 to 256 buckets"},
	{{.buckets = 2, .salt_segments = 33}, '#', "a design has at most 32 segments"},
	{{.segment_count = 33}, '#', "a design has at most 32 segments"},
	{{.segment_count = 1}, '#', "a segment's name is 1 to 64"},
	{{.segment_count = 1, .segments = {{.name = "a b"}}}, '#', "a segment's name"},
	{{.segment_count = 2, .segments = {{.name = "a"}, {.name = "a"}}},
	 '#',
	 "a: two segments have that name"},
	{{.segment_count = 1, .segments = {{.name = "a", .codec = 6}}},
	 '#',
	 "a: there is no codec 6"},
	{{.segment_count = 1, .segments = {{.name = "a", .unit = 1}}},
	 '#',
	 "a: the codec text has no unit"},
	{{.segment_count = 1, .segments = {{.name = "a", .width = 1}}},
	 '#',
	 "a: the codec text has no width"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_REVERSE_TIME, WCS_UNIT_US, 19}}},
	 '#',
	 "a: the codec reverse-time has no width"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_TIME, WCS_UNIT_US, 9}}},
	 '#',
	 "a: the codec time needs a width from 10 to 19"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_TIME, WCS_UNIT_US, 20}}},
	 '#',
	 "a: the codec time needs a width from 10 to 19"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_TIME, 3, 19}}},
	 '#',
	 "a: there is no unit 3"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_PAD, WCS_UNIT_US, 0}}},
	 '#',
	 "a: the codec pad needs a width from 1 to 19"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_PAD, WCS_UNIT_US, 20}}},
	 '#',
	 "a: the codec pad needs a width from 1 to 19"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_PAD, WCS_UNIT_MS, 2}}},
	 '#',
	 "a: the codec pad has no unit"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_PAD, WCS_UNIT_US, 2}}},
	 '7',
	 "a: the codec pad makes '7', which is the table's delimiter"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_PAD, WCS_UNIT_US, 2}}}, '-', NULL},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_TIME, WCS_UNIT_S, 10}}},
	 ':',
	 "a: the codec time makes ':'"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_REVERSE_TIME, WCS_UNIT_S, 0}}},
	 'T',
	 "a: the codec reverse-time makes 'T'"},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_REVERSE_TIME, WCS_UNIT_S, 0}}}, 0, NULL},
	{{.segment_count = 1, .segments = {{"a", WCS_CODEC_REVERSE_DOMAIN, WCS_UNIT_US, 0}}},
	 '-',
	 NULL},
	{{.buckets = 2}, 'f', "the salt makes 'f', which is the table's delimiter"},
	{{.buckets = 2}, 'F', NULL},
	{{.buckets = 2}, '=', NULL},
};

SUITE_LOOP(test_checked_designs, (int)(sizeof(designs) / sizeof(designs[0])), 10)
{
	const char *says = designs[_i].says;
	struct wcs_fault fault = {.text = ""};

	ck_assert_int_eq(wcs_keys_check(&designs[_i].keys, designs[_i].delimiter, &fault),
			 says ? -EINVAL : 0);
	if (says)
		ck_assert_msg(strncmp(fault.text, says, strlen(says)) == 0, "%s", fault.text);
}

SUITE_TEST(test_equal_designs, 10)
{
	static const struct wcs_keys one = {
		.delimiter = '#', .buckets = 4, .segment_count = 1, .segments = {{.name = "a"}}};
	struct wcs_keys other = one;

	ck_assert(wcs_keys_equal(NULL, NULL));
	ck_assert(wcs_keys_equal(NULL, &(struct wcs_keys){.delimiter = '|'}));
	ck_assert(!wcs_keys_equal(NULL, &one));
	other.delimiter = '|';
	ck_assert(wcs_keys_equal(&one, &other));
	other.salt_segments = 1;
	ck_assert(!wcs_keys_equal(&one, &other));
	other = one;
	other.segments[0].name[0] = 'b';
	ck_assert(!wcs_keys_equal(&one, &other));
	other = one;
	other.segments[0].codec = WCS_CODEC_REVERSE;
	ck_assert(!wcs_keys_equal(&one, &other));
	other = one;
	other.segments[0].unit = WCS_UNIT_S;
	ck_assert(!wcs_keys_equal(&one, &other));
	other = one;
	other.segments[0].width = 8;
	ck_assert(!wcs_keys_equal(&one, &other));
	for (int i = 0; i < 6; i++)
		ck_assert_ptr_nonnull(wcs_codec_name((enum wcs_codec)i));
	ck_assert_ptr_null(wcs_codec_name((enum wcs_codec)6));
	ck_assert_ptr_null(wcs_unit_name((enum wcs_unit)3));
}
