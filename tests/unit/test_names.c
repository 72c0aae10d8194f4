/* SPDX-License-Identifier: MIT */
/* Histories and times as names. tests/e2e/test_tree.sh has the spelling of bytes, and that only
 * this spelling resolves; fuzz_names.c has random names; test_keys.c has times
 * with decimals. */
#include "lib/times.h"
#include "tests/unit/model.h"
#include "tests/unit/suite.h"

#include <time.h>

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
