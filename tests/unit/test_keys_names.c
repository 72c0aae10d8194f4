/* SPDX-License-Identifier: MIT */
/* The texts and names of keys: how they are spelled, and what is none. */
#include "tests/unit/suite.h"

#include "lib/names.h"
#include "store/keys/keys.h"

#define KEY_MAX WCS_ROW_KEY_MAX

static const struct wcs_keys_segment time_s = {"at", WCS_CODEC_TIME, WCS_UNIT_S, 10},
				     pad_8 = {"id", WCS_CODEC_PAD, WCS_UNIT_US, 8},
				     domain = {"host", WCS_CODEC_REVERSE_DOMAIN, WCS_UNIT_US, 0},
				     turned = {"id", WCS_CODEC_REVERSE, WCS_UNIT_US, 0};
static const struct wcs_keys three = {
	.delimiter = '#',
	.segment_count = 3,
	.segments = {{.name = "tenant"},
		     {"host", WCS_CODEC_REVERSE_DOMAIN, WCS_UNIT_US, 0},
		     {"id", WCS_CODEC_PAD, WCS_UNIT_US, 8}}};

/* ---- Keys -------------------------------------------------------------------------------- */

/* Keys, their texts, and other texts that mean them. */
static const struct {
	const char *key, *shown;
	const char *others[4];
} spellings[] = {
	{"acme#com.google.maps#00000007",
	 "acme#maps.google.com#7",
	 {"%=acme#%=com.google.maps#%=00000007", "acme%23maps.google.com%237",
	  "%61cme#maps%2Egoogle.com#%37", "acme%23%=com.google.maps#7"}},
	{"acme##", "acme#%=#%=", {"%=acme%23%=%23%="}},
	{"acme", "acme", {"%=acme"}},
	{"#", "#%=", {"%=#%="}},
	{"%=a#b#7", "%25=a#b#%=7", {"%=%25=a#b#%=%37"}},
	{"a#b#00000001#0#x.y", "a#b#1#0#x.y", {"a#b#1#%=0#%=x.y"}},
};

SUITE_TEST(test_spellings_of_keys, 10)
{
	unsigned char key[KEY_MAX];
	size_t len;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char *text = wcs_keys_text(&three, suite_text(spellings[i].key));

		ck_assert_str_eq(text, spellings[i].shown);
		free(text);
		for (size_t k = 0; k < 4 && spellings[i].others[k]; k++) {
			SUITE_OK(wcs_keys_parse(&three, 0, suite_text(spellings[i].others[k]), NULL,
						key, &len, NULL));
			ck_assert_uint_eq(len, strlen(spellings[i].key));
			ck_assert_mem_eq(key, spellings[i].key, len);
		}
	}
}

SUITE_TEST(test_texts_that_are_no_keys, 10)
{
	static const struct {
		const char *text;
		int column;
	} bad[] = {{"%", 1},	{"a%", 2},     {"a%=", 2},   {"a#b%=", 4},
		   {"a#%4", 3}, {"a#%=%=", 5}, {"a#%3a", 3}, {"%=#b#c#%zz", 8}};
	struct wcs_keys keys = {
		.delimiter = '#', .segment_count = 2, .segments = {{.name = "tenant"}, domain}};
	struct wcs_fault fault;
	unsigned char key[KEY_MAX];
	size_t len = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(
			wcs_keys_parse(&keys, 0, suite_text(bad[i].text), NULL, key, &len, &fault),
			-EINVAL);
		ck_assert_str_eq(fault.text, "a % has two upper-case hex digits behind it");
		ck_assert_int_eq(fault.column, bad[i].column);
		ck_assert_uint_eq(len, 7);
	}
	SUITE_OK(wcs_keys_parse(&keys, 0, suite_text(""), NULL, key, &len, NULL));
	ck_assert_uint_eq(len, 0);
	/* Behind a prefix of one segment the text's first is the second. */
	SUITE_OK(wcs_keys_parse(&keys, 1, suite_text("b.a#b.a"), NULL, key, &len, NULL));
	ck_assert_uint_eq(len, 7);
	ck_assert_mem_eq(key, "a.b#b.a", 7);
}

/* Without a design a text is what it was; a "%=" of another table's dump means nothing. */
SUITE_TEST(test_plain_keys, 10)
{
	unsigned char key[KEY_MAX];
	char *text = wcs_keys_text(NULL, SUITE_BYTES("a#b\0%\xff"));
	struct wcs_keys plain;
	size_t len;

	ck_assert_str_eq(text, "a#b%00%25%FF");
	SUITE_OK(wcs_keys_parse(NULL, 0, suite_text(text), NULL, key, &len, NULL));
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(key, "a#b\0%\xff", 6);
	free(text);
	plain = wcs_keys_plain('#');
	SUITE_OK(wcs_keys_parse(&plain, 0, suite_text("%=a#%=b"), NULL, key, &len, NULL));
	ck_assert_uint_eq(len, 3);
	ck_assert_mem_eq(key, "a#b", 3);
	/* It stands before a segment alone, else two texts were one key. */
	ck_assert_int_eq(wcs_keys_parse(&plain, 0, suite_text("50%=off"), NULL, key, &len, NULL),
			 -EINVAL);
	ck_assert_int_eq(wcs_keys_parse(NULL, 0, suite_text("50%=off"), NULL, key, &len, NULL),
			 -EINVAL);
}

SUITE_TEST(test_long_keys, 10)
{
	static unsigned char key[KEY_MAX], back[KEY_MAX];
	static char text[WCS_KEYS_TEXT_MAX(KEY_MAX) + 2];
	struct wcs_keys keys = {.delimiter = '#', .segment_count = WCS_KEYS_SEGMENTS_MAX};
	size_t len, back_len;

	/* Thirty-two short times in front, and bytes that take three each behind them. */
	for (size_t i = 0; i < WCS_KEYS_SEGMENTS_MAX; i++) {
		keys.segments[i] = time_s;
		sprintf(keys.segments[i].name, "s%zu", i);
		memcpy(key + 11 * i, "0000000000#", 11);
	}
	memset(key + 11 * WCS_KEYS_SEGMENTS_MAX, 0xff, KEY_MAX - 11 * WCS_KEYS_SEGMENTS_MAX);
	SUITE_OK(wcs_keys_check(&keys, '#', NULL));
	len = wcs_keys_show(&keys, (struct wcs_slice){key, KEY_MAX}, text);
	ck_assert_uint_eq(len, 21 * 32 + 3 * (4096 - 11 * 32));
	SUITE_OK(wcs_keys_parse(&keys, 0, (struct wcs_slice){text, len}, NULL, back, &back_len,
				NULL));
	ck_assert_uint_eq(back_len, KEY_MAX);
	ck_assert_mem_eq(back, key, KEY_MAX);
	text[len] = 'x';
	ck_assert_int_eq(wcs_keys_parse(&keys, 0, (struct wcs_slice){text, len + 1}, NULL, back,
					&back_len, NULL),
			 -ENAMETOOLONG);
	text[len] = '#';
	ck_assert_int_eq(wcs_keys_parse(&keys, 0, (struct wcs_slice){text, len + 1}, NULL, back,
					&back_len, NULL),
			 -ENAMETOOLONG);

	/* A short text whose stored form has one byte too many. */
	keys = (struct wcs_keys){.delimiter = '#', .segment_count = 2, .segments = {turned, pad_8}};
	memset(text, 'a', KEY_MAX);
	strcpy(text + KEY_MAX - 9, "#7");
	SUITE_OK(wcs_keys_parse(&keys, 0, suite_text(text), NULL, back, &back_len, NULL));
	ck_assert_uint_eq(back_len, KEY_MAX);
	strcpy(text + KEY_MAX - 9, "a#7");
	ck_assert_int_eq(wcs_keys_parse(&keys, 0, suite_text(text), NULL, back, &back_len, NULL),
			 -ENAMETOOLONG);
	/* One segment of each codec that takes any bytes, as long as a key. */
	memset(key, 0xff, KEY_MAX);
	for (size_t i = 0; i < 2; i++) {
		keys.segments[0] = i == 0 ? turned : domain;
		len = wcs_keys_show(&keys, (struct wcs_slice){key, KEY_MAX}, text);
		ck_assert_uint_eq(len, 3 * KEY_MAX);
		SUITE_OK(wcs_keys_parse(&keys, 0, (struct wcs_slice){text, len}, NULL, back,
					&back_len, NULL));
		ck_assert_mem_eq(back, key, KEY_MAX);
	}
}

/* What an expression sees: no %XX but where the bytes have no shown form. */
SUITE_TEST(test_bytes_of_keys, 10)
{
	struct wcs_keys keys = {.delimiter = '#', .segment_count = 2, .segments = {domain, pad_8}};
	static const struct {
		const char *key;
		const char *bytes;
	} cases[] = {{"com.\xff%#00000007#\x01", "\xff%.com#7#\x01"},
		     {"com#x\xff%#%", "com#%=x%FF%25#%"}};
	char text[WCS_KEYS_TEXT_MAX(32)];

	for (size_t i = 0; i < 2; i++) {
		size_t len = wcs_keys_bytes(&keys, suite_text(cases[i].key), text);

		ck_assert_uint_eq(len, strlen(cases[i].bytes));
		ck_assert_mem_eq(text, cases[i].bytes, len);
	}
}

/* ---- Names ------------------------------------------------------------------------------- */

static bool name_is_family(void *ctx, const void *name, size_t len)
{
	(void)ctx;
	return len == 3 && memcmp(name, "loc", 3) == 0;
}

static const struct names_families families = {name_is_family, NULL};

/* The segments of the design below, their bytes, and the one name of these. */
static const struct {
	size_t segment;
	const char *bytes, *name;
} names[] = {
	{0, "loc", "%6C%6F%63"},
	{0, "%=", "%25="},
	{0, "", "%"},
	{1, "com.google.maps", "maps.google.com"},
	{1, "a/b.c%", "c%25.a%2Fb"},
	{1, "a.", "%2Ea"},
	{1, "loc", "%6C%6F%63"},
	{1, "", "%=%"},
	{2, "00000012", "12"},
	{2, "12", "%=12"},
	{2, "loc", "%=loc"},
	{2, ".x/\xFF", "%=%2Ex%2F%FF"},
	{3, "12", "12"}, /* behind those that are declared */
};

SUITE_TEST(test_names, 10)
{
	unsigned char bytes[KEY_MAX + WCS_KEYS_SHOWN_MAX];
	char name[WCS_KEYS_NAME_ROOM(KEY_MAX)];
	size_t len;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_uint_eq(wcs_keys_name(&three, names[i].segment, &families,
						suite_text(names[i].bytes), name),
				  strlen(names[i].name));
		ck_assert_str_eq(name, names[i].name);
		SUITE_OK(wcs_keys_name_parse(&three, names[i].segment, &families,
					     suite_text(names[i].name), bytes, &len, NULL));
		ck_assert_uint_eq(len, strlen(names[i].bytes));
		ck_assert_mem_eq(bytes, names[i].bytes, len);
	}
}

SUITE_TEST(test_names_of_no_segment, 10)
{
	static const struct {
		size_t segment;
		const char *name;
	} cases[] = {{0, "loc"},    {0, "%=a"},	    {0, "%61"},	 {1, "loc"},
		     {1, "%"},	    {1, ".a"},	    {1, "%6Da"}, {1, "%=moc.a"},
		     {2, "012"},    {2, "x"},	    {2, "%31"},	 {2, "%=00000012"},
		     {2, "%=%31x"}, {2, "%=a%2F%"}, {2, "%="},	 {2, "%"}};
	unsigned char bytes[KEY_MAX + WCS_KEYS_SHOWN_MAX];
	size_t len;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(wcs_keys_name_parse(&three, cases[i].segment, &families,
						  suite_text(cases[i].name), bytes, &len,
						  NULL) == -EINVAL,
			      "%s", cases[i].name);
}

/* A name that would be split is of the stored bytes. The limits are 230 bytes of a name that is not
 * split, and those of a key. */
SUITE_TEST(test_long_names, 10)
{
	static char name[WCS_KEYS_NAME_ROOM(KEY_MAX)], longest[3 * KEY_MAX + 4];
	static unsigned char bytes[KEY_MAX + WCS_KEYS_SHOWN_MAX], parsed[sizeof(bytes)];
	const struct wcs_keys keys = {.delimiter = '#', .segment_count = 1, .segments = {domain}};
	struct wcs_slice slice = {bytes, 230};
	size_t len;

	memset(bytes, 'a', sizeof(bytes));
	bytes[1] = '.';
	ck_assert_uint_eq(wcs_keys_name(&keys, 0, NULL, slice, name), 230);
	ck_assert_mem_eq(name + 228, ".a", 2);
	slice.len = 231;
	ck_assert_uint_eq(wcs_keys_name(&keys, 0, NULL, slice, name), 233);
	ck_assert_mem_eq(name, "%=a.aa", 6);
	SUITE_OK(wcs_keys_name_parse(&keys, 0, NULL, (struct wcs_slice){name, 233}, parsed, &len,
				     NULL));
	ck_assert_uint_eq(len, 231);
	ck_assert_int_eq(wcs_keys_name_parse(&keys, 0, NULL, (struct wcs_slice){name + 2, 231},
					     parsed, &len, NULL),
			 -EINVAL);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "%=", 2);
	SUITE_OK(wcs_keys_name_parse(&keys, 0, NULL, (struct wcs_slice){longest, KEY_MAX + 2},
				     parsed, &len, NULL));
	ck_assert_int_eq(wcs_keys_name_parse(&keys, 0, NULL,
					     (struct wcs_slice){longest, KEY_MAX + 3}, parsed, &len,
					     NULL),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_keys_name_parse(&keys, 0, NULL,
					     (struct wcs_slice){longest, sizeof(longest)}, parsed,
					     &len, NULL),
			 -ENAMETOOLONG);
}
