/* SPDX-License-Identifier: MIT */
/* Names against the contract: the spelling of bytes, and that only this spelling resolves.
 * fuzz_names.c tests random names. */
#include "lib/times.h"
#include "tests/unit/model.h"
#include "tests/unit/suite.h"

#include <time.h>

/* ---- Spelling ---------------------------------------------------------------------------- */

SUITE_TEST(every_byte_at_every_position, 120)
{
	static const unsigned char fill[] = {'a', '.', '@', '%', 0xC3, 0xA9, 0xE2, 0x82};

	for (size_t k = 0; k < 3; k++)
		for (size_t len = 1; len <= 4; len++)
			for (size_t at = 0; at < len; at++)
				for (size_t f = 0; f < sizeof(fill); f++)
					for (int byte = 0; byte < 256; byte++) {
						unsigned char bytes[4];

						memset(bytes, fill[f], sizeof(bytes));
						bytes[at] = (unsigned char)byte;
						model_check_encode(model_kinds[k], bytes, len);
					}
}

SUITE_TEST(every_two_bytes, 120)
{
	for (size_t k = 0; k < 3; k++)
		for (int first = 0; first < 256; first++)
			for (int second = 0; second < 256; second++) {
				unsigned char bytes[] = {(unsigned char)first,
							 (unsigned char)second};

				model_check_encode(model_kinds[k], bytes, 2);
				model_check_decode(model_kinds[k], (const char *)bytes, 2);
			}
}

SUITE_TEST(spellings_of_the_contract, 120)
{
	model_check_spelling(NAMES_SEGMENT, "", "%");
	model_check_spelling(NAMES_QUALIFIER, "", "%");
	model_check_spelling(NAMES_SEGMENT, "STC", "STC");
	model_check_spelling(NAMES_SEGMENT, "a/b%", "a%2Fb%25");
	model_check_spelling(NAMES_SEGMENT, "a\n\x7F", "a%0A%7F");
	model_check_spelling(NAMES_SEGMENT, ".rows", "%2Erows");
	model_check_spelling(NAMES_SEGMENT, "..", "%2E.");
	model_check_spelling(NAMES_SEGMENT, "a.b@", "a.b@");
	model_check_spelling(NAMES_FAMILY, ".meta", "%2Emeta");
	model_check_spelling(NAMES_FAMILY, "a.b", "a.b");
	model_check_spelling(NAMES_QUALIFIER, ".profile", ".profile");
	model_check_spelling(NAMES_QUALIFIER, "...", "...");
	model_check_spelling(NAMES_QUALIFIER, ".", "%2E");
	model_check_spelling(NAMES_QUALIFIER, "..", "%2E%2E");
	model_check_spelling(NAMES_QUALIFIER, "q@", "q%40");
	model_check_spelling(NAMES_QUALIFIER, "@", "%40");
	model_check_spelling(NAMES_QUALIFIER, "@@", "@%40");
	model_check_spelling(NAMES_QUALIFIER, "a@b", "a@b");
	model_check_spelling(NAMES_QUALIFIER, ".@", ".%40");
	model_check_spelling(NAMES_QUALIFIER, "\xC3\xA9t\xC3\xA9", "\xC3\xA9t\xC3\xA9");
	model_check_spelling(NAMES_QUALIFIER, "\xC3t\xA9", "%C3t%A9");
	model_check_spelling(NAMES_QUALIFIER, "\xC2\x85",
			     "\xC2\x85"); /* U+0085: valid, not listed */
}

SUITE_TEST(nul_is_escaped, 120)
{
	ck_assert_uint_eq(names_encode(NAMES_QUALIFIER, NULL, "a\0b", 3, model_encoded), 5);
	ck_assert_str_eq(model_encoded, "a%00b");
	model_check_encode(NAMES_SEGMENT, "\0\0", 2);
	model_check_decode(NAMES_SEGMENT, "a\0b", 3);
}

SUITE_TEST(other_spellings_are_refused, 120)
{
	static const char *const names[] = {
		"",	"%61",	"a%2fb",  "a%",		  "a%4",     "%4",
		"%%",	"%G0",	"%0g",	  "%0a",	  "a/b",     "/",
		"a\nb", "\x7F", "%C3%A9", "%E2%82%AC",	  "a%%b",    "%25%",
		"% 1",	"%+1",	"%2E%61", "a%2E",	  "a%2Eb",   "%23",
		"%40a", "%20",	"%2",	  "%F0%9F%98%80", "%C3\xA9", "\xC3%A9"};
	static const struct {
		enum names_kind kind;
		const char *name;
	} cases[] = {
		{NAMES_SEGMENT, "."},	    {NAMES_SEGMENT, ".."},     {NAMES_SEGMENT, ".rows"},
		{NAMES_SEGMENT, "%2E%2E"},  {NAMES_SEGMENT, "a%40"},   {NAMES_FAMILY, "%"},
		{NAMES_FAMILY, ".meta"},    {NAMES_QUALIFIER, "."},    {NAMES_QUALIFIER, ".."},
		{NAMES_QUALIFIER, ".%2E"},  {NAMES_QUALIFIER, "%2E."}, {NAMES_QUALIFIER, "%2Ea"},
		{NAMES_QUALIFIER, "q@"},    {NAMES_QUALIFIER, "@"},    {NAMES_QUALIFIER, "a%40b"},
		{NAMES_QUALIFIER, "%40%40"}};

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			model_check_refused(model_kinds[k], names[i]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		model_check_refused(cases[i].kind, cases[i].name);
}

SUITE_TEST(without_families_nothing_looks_like_one, 120)
{
	size_t len;

	ck_assert_uint_eq(names_encode(NAMES_SEGMENT, NULL, "loc", 3, model_encoded), 3);
	ck_assert_str_eq(model_encoded, "loc");
	SUITE_OK(names_decode(NAMES_SEGMENT, NULL, "loc", 3, model_decoded, &len));
	ck_assert_int_eq(names_decode(NAMES_SEGMENT, NULL, "%6C%6F%63", 9, model_decoded, &len),
			 -EINVAL);
}

/* ---- Histories and times ------------------------------------------------------------ */

SUITE_TEST(histories, 120)
{
	static const struct {
		const char *component;
		size_t len; /* without '@'; 0: it is no history */
	} cases[] = {{"q@", 1},	 {"%@", 1},   {"q", 0},	    {"@", 0}, {"", 0},
		     {"q@a", 0}, {"q%40", 0}, {"q%40@", 4}, {"@@", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].component);
		bool history = names_history(cases[i].component, &len);

		ck_assert_int_eq(history, cases[i].len > 0);
		ck_assert_uint_eq(len, history ? cases[i].len : strlen(cases[i].component));
	}
}

SUITE_TEST(times, 120)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
		{"1970-01-01", 0},
		{"1970-01-01T00:00:00.000001Z", 1},
		{"1969-12-31T23:30-01:00", 1800000000},
		{"2024-02-29", 1709164800000000},
		{"2023-11-14T22:13:20Z", 1700000000000000},
		{"2023-11-14t22:13:20z", 1700000000000000},
		{"2023-11-14 22:13:20", 1700000000000000},
		{"2023-11-14T22:13:20.5+00:00", 1700000000500000},
		{"2023-11-15T03:43:20.123456+05:30", 1700000000123456},
		{"2023-11-14T22:13:20.123456000Z", 1700000000123456},
		{"2023-11-14T22:13", 1699999980000000},
		{"9999-12-31T23:59:59.999999Z", 253402300799999999},
	};
	static const char *const bad[] = {
		"",
		"2024",
		"2024-1-1",
		"2024-02-30",
		"2023-02-29",
		"2100-02-29",
		"2024-13-01",
		"2024-00-01",
		"2024-01-00",
		"2024-01-01T",
		"2024-01-01Z",
		"2024-01-01T24:00Z",
		"2024-01-01T10:60Z",
		"2024-01-01T10:00:60Z",
		"2024-01-01T10:00:00.Z",
		"2024-01-01T10:00:00.1234567Z",
		"2024-01-01T10:00:00,5Z",
		"2024-01-01T10Z",
		"2024-01-01T10:00:00+1",
		"2024-01-01T10:00:00+0100",
		"2024-01-01T10:00:00Z ",
		" 2024-01-01",
		"-2024-01-01",
		"1969-12-31",
		"1969-12-31T23:59:59.999999Z",
		"1970-01-01T00:00+00:01",
		"0000-01-01",
		"10000-01-01",
		"2024-01-01T10:00:00ZZ",
		"2024/01/01",
	};
	char text[64], formatted[TIMES_MAX];
	int64_t ts;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(times_parse(good[i].text, strlen(good[i].text), &ts) == 0, "'%s'",
			      good[i].text);
		ck_assert_int_eq(ts, good[i].us);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ts = 42;
		ck_assert_msg(times_parse(bad[i], strlen(bad[i]), &ts) == -EINVAL, "'%s'", bad[i]);
		ck_assert_int_eq(ts, 42);
	}
	ck_assert_int_eq(times_parse("2024-01-01\0", 11, &ts), -EINVAL);
	for (time_t day = 0; day < 2932897;
	     day++) { /* to the end of the year 9999, as libc has them */
		time_t second = day * 86400 + day * 7919 % 86400;
		struct tm tm;
		size_t len =
			strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&second, &tm));

		CHECK_FAST(times_parse(text, len, &ts) == 0 && ts == (int64_t)second * 1000000);
		CHECK_FAST(times_format(ts + 999999, 0, formatted) == len &&
			   memcmp(formatted, text, len) == 0);
	}
}

SUITE_TEST(test_times_are_formatted, 10)
{
	static const struct {
		int64_t us;
		unsigned int decimals;
		const char *text;
	} cases[] = {
		{0, 6, "1970-01-01T00:00:00.000000Z"},
		{1, 6, "1970-01-01T00:00:00.000001Z"},
		{1999, 3, "1970-01-01T00:00:00.001Z"},
		{1700000000123456, 6, "2023-11-14T22:13:20.123456Z"},
		{1700000000123456, 3, "2023-11-14T22:13:20.123Z"},
		{1700000000123456, 0, "2023-11-14T22:13:20Z"},
		{TIMES_LAST, 6, "9999-12-31T23:59:59.999999Z"},
	};
	char text[TIMES_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text[times_format(cases[i].us, cases[i].decimals, text)] = '\0';
		ck_assert_str_eq(text, cases[i].text);
	}
}
