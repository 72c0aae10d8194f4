/* SPDX-License-Identifier: MIT */
/* Garbage-collection policies by example: spelling, errors and evaluation. Those of fuzz_gc.c are
 * random. */

#include "tests/unit/suite.h"

static const struct {
	const char *given, *canonical;
} spellings[] = {
	{"never", "never"},
	{"  never\t\n", "never"},
	{"maxversions=3", "maxversions=3"},
	{"maxversions=007", "maxversions=7"},
	{"maxversions=2147483647", "maxversions=2147483647"},
	{"maxage=10d", "maxage=10d"},
	{"maxage=24h", "maxage=1d"},
	{"maxage=36h", "maxage=36h"},
	{"maxage=1000ms", "maxage=1s"},
	{"maxage=3600000ms", "maxage=1h"},
	{"maxage=1500ms", "maxage=1500ms"},
	{"maxage=120m", "maxage=2h"},
	{"maxage=106751991d", "maxage=106751991d"},
	{"maxage=10d or maxversions=1", "maxage=10d or maxversions=1"},
	{"maxage=10d||maxversions=1", "maxage=10d or maxversions=1"},
	{"maxage=10d&&maxversions=1", "maxage=10d and maxversions=1"},
	{"(maxage=1d)and(maxversions=1)", "maxage=1d and maxversions=1"},
	{"(((never)))", "never"},
	{"never or never and maxversions=1", "never or never and maxversions=1"},
	{"(never or never) and maxversions=1", "never or never and maxversions=1"},
	{"never or (never and maxversions=1)", "never or (never and maxversions=1)"},
	{"never or (maxage=1s or maxversions=1)", "never or maxage=1s or maxversions=1"},
	{"maxage=1s or ((maxage=2s and maxage=3s) or maxage=4s)",
	 "maxage=1s or (maxage=2s and maxage=3s) or maxage=4s"},
	{"maxage=1s and (maxage=2s or maxage=3s and maxage=4s)",
	 "maxage=1s and (maxage=2s or maxage=3s) and maxage=4s"},
};

SUITE_TEST(test_canonical, 10)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char *once = NULL, *twice = NULL;

		SUITE_OK(wcs_gc_canonical(spellings[i].given, &once, NULL));
		ck_assert_str_eq(once, spellings[i].canonical);
		SUITE_OK(wcs_gc_canonical(once, &twice, NULL));
		ck_assert_str_eq(twice, once);
		free(once);
		free(twice);
	}
}

static const struct {
	const char *text;
	int column;
} faults[] = {
	{"", 1},
	{"   ", 4},
	{"forever", 1},
	{"Never", 1},
	{"nevermore", 1},
	{"maxversions", 1},
	{"maxversions=", 13},
	{"maxversions=0", 13},
	{"maxversions=-1", 13},
	{"maxversions=+1", 13},
	{"maxversions = 1", 1},
	{"maxversions= 1", 13},
	{"maxversions=1x", 14},
	{"maxversions=1.5", 14},
	{"maxversions=2147483648", 13},
	{"maxversions=99999999999999999999999", 13},
	{"maxversions=1 maxversions=2", 15},
	{"maxage=", 8},
	{"maxage=5", 9},
	{"maxage=5 d", 9},
	{"maxage=5w", 9},
	{"maxage=0d", 8},
	{"maxage=1.5h", 9},
	{"maxage=5dor never", 9},
	{"maxage=106751992d", 8},
	{"maxage=9223372036854775808ms", 8},
	{"never or", 9},
	{"never or or never", 10},
	{"or never", 1},
	{"never & never", 7},
	{"never xor never", 7},
	{"never andnever", 7},
	{"(never", 7},
	{"never)", 6},
	{"()", 2},
	{"(never or) never", 10},
	{"never(never)", 6},
	{"never\x01", 6},
	{"n\xff", 1},
};

SUITE_TEST(test_fault_has_column, 10)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct wcs_fault fault = {0};
		char *canonical = NULL;

		ck_assert_msg(wcs_gc_canonical(faults[i].text, &canonical, &fault) == -EINVAL, "%s",
			      faults[i].text);
		ck_assert_msg(fault.column == faults[i].column, "'%s': column %d, not %d (%s)",
			      faults[i].text, fault.column, faults[i].column, fault.text);
		ck_assert_str_ne(fault.text, "");
		ck_assert_ptr_null(canonical);
	}
}

static void repeat(char *out, const char *text, unsigned int times)
{
	while (times--) {
		strcpy(out, text);
		out += strlen(text);
	}
}

SUITE_TEST(test_bounds, 10)
{
	char text[WCS_GC_TEXT_MAX + 2] = "", *canonical = NULL;
	struct wcs_fault fault;

	repeat(text, "(", WCS_GC_DEPTH_MAX);
	strcat(text, "never");
	repeat(text + strlen(text), ")", WCS_GC_DEPTH_MAX);
	SUITE_OK(wcs_gc_canonical(text, &canonical, NULL));
	ck_assert_str_eq(canonical, "never");
	free(canonical);

	memset(text, '(', WCS_GC_TEXT_MAX);
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, &fault), -EINVAL);
	ck_assert_int_eq(fault.column, WCS_GC_DEPTH_MAX + 1);

	memset(text, ' ', WCS_GC_TEXT_MAX);
	memcpy(text, "never", 5);
	SUITE_OK(wcs_gc_canonical(text, &canonical, NULL));
	free(canonical);
	text[WCS_GC_TEXT_MAX] = ' ';
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, NULL), -EINVAL);

	/* Fits as given; spelled out it does not, so it could not be given again. */
	text[0] = '\0';
	repeat(text, "never&&", WCS_GC_TEXT_MAX / 7);
	strcat(text, " ");
	text[strlen(text) - 3] = '\0';
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, NULL), -EINVAL);
}

static bool collects(const char *policy, uint64_t rank, int64_t ts, int64_t now)
{
	struct wcs_view view = {.policies = NULL, .now = now};
	struct wcs_gc *gc = NULL;
	bool answer;

	SUITE_OK(wcs_gc_parse(policy, &gc, NULL));
	answer = wcs_view_hides(&view, wcs_view_expiry(gc, rank, ts));
	wcs_gc_free(gc);
	return answer;
}

SUITE_TEST(test_collects, 10)
{
	ck_assert(!collects("never", UINT64_MAX, 0, INT64_MAX));
	ck_assert(!collects("maxversions=2", 2, 0, 0));
	ck_assert(collects("maxversions=2", 3, 0, 0));
	ck_assert(!collects("maxage=1s", 9, 4000000, 5000000));
	ck_assert(collects("maxage=1s", 1, 3999999, 5000000));
	ck_assert(!collects("maxage=1s", 1, 0, 0));
	ck_assert(!collects("maxage=106751991d", 1, 0, 0));
	ck_assert(!collects("maxage=1ms", 1, INT64_MAX, 0));
	/* No precedence: (never and never) or …, and (never or …) and never. */
	ck_assert(collects("never and never or maxversions=1", 2, 0, 0));
	ck_assert(!collects("maxversions=1 or never and never", 2, 0, 0));
	ck_assert(collects("maxversions=1 or (never and never)", 2, 0, 0));
}
