/* SPDX-License-Identifier: MIT */
/* Garbage-collection policies: spelling, errors, and evaluation against a naive model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/gc_model.h"
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

		ck_assert_int_eq(wcs_gc_canonical(spellings[i].given, &once, NULL), 0);
		ck_assert_str_eq(once, spellings[i].canonical);
		ck_assert_int_eq(wcs_gc_canonical(once, &twice, NULL), 0);
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
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, NULL), 0);
	ck_assert_str_eq(canonical, "never");
	free(canonical);

	memset(text, '(', WCS_GC_TEXT_MAX);
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, &fault), -EINVAL);
	ck_assert_int_eq(fault.column, WCS_GC_DEPTH_MAX + 1);

	memset(text, ' ', WCS_GC_TEXT_MAX);
	memcpy(text, "never", 5);
	ck_assert_int_eq(wcs_gc_canonical(text, &canonical, NULL), 0);
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

/* As reads and the collector ask. */
static bool gc_collects(const struct wcs_gc *gc, uint64_t rank, int64_t ts, int64_t now)
{
	struct wcs_view view = {.policies = NULL, .now = now};

	return wcs_view_hides(&view, wcs_view_expiry(gc, rank, ts));
}

static bool collects(const char *policy, uint64_t rank, int64_t ts, int64_t now)
{
	struct wcs_gc *gc = NULL;
	bool answer;

	ck_assert_int_eq(wcs_gc_parse(policy, &gc, NULL), 0);
	answer = gc_collects(gc, rank, ts, now);
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

static unsigned int pick_random(void *ctx, unsigned int n)
{
	(void)ctx;
	return (unsigned int)random() % n;
}

static const struct gc_model_source source = {.pick = pick_random};

static unsigned int pick(unsigned int n)
{
	return pick_random(NULL, n);
}

static void model_agrees(const struct gc_model *m, const char *text)
{
	struct wcs_gc *gc = NULL;

	ck_assert_msg(wcs_gc_parse(text, &gc, NULL) == 0, "%s", text);
	for (uint64_t rank = 1; rank <= 7; rank++)
		for (int64_t ts = 0; ts <= 8000; ts += 500)
			ck_assert_msg(gc_collects(gc, rank, ts, 7000) ==
					      gc_model_collects(m, rank, ts, 7000),
				      "%s", text);
	wcs_gc_free(gc);
}

SUITE_TEST(test_random_policies_agree_with_model, 10)
{
	srandom(7);
	for (int i = 0; i < 3000; i++) {
		struct gc_model *m = gc_model_new(&source, (int)pick(5));
		char *text = NULL, *canonical = NULL, *again = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		gc_model_print(m, &source, out);
		fclose(out);
		if (len <= WCS_GC_TEXT_MAX / 2) {
			model_agrees(m, text);
			ck_assert_int_eq(wcs_gc_canonical(text, &canonical, NULL), 0);
			model_agrees(m, canonical);
			ck_assert_int_eq(wcs_gc_canonical(canonical, &again, NULL), 0);
			ck_assert_str_eq(canonical, again);
		}
		free(text);
		free(canonical);
		free(again);
		gc_model_free(m);
	}
}

static struct wcs_gc *parse_model(const struct gc_model *m)
{
	struct wcs_gc *gc = NULL;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	gc_model_print(m, &source, out);
	fclose(out);
	ck_assert_msg(wcs_gc_parse(text, &gc, NULL) == 0, "%s", text);
	free(text);
	return gc;
}

/* The ranks and times go past every bound of the model's. */
static bool model_within(const struct gc_model *m, const struct gc_model *other)
{
	for (uint64_t rank = 1; rank <= 7; rank++)
		for (int64_t ts = 0; ts <= 8000; ts += 500)
			if (gc_model_collects(m, rank, ts, 7000) &&
			    !gc_model_collects(other, rank, ts, 7000))
				return false;
	return true;
}

SUITE_TEST(test_within_agrees_with_model, 10)
{
	int within = 0;

	srandom(9);
	for (int i = 0; i < 5000; i++) {
		struct gc_model *m = gc_model_new(&source, (int)pick(4));
		struct gc_model *other = gc_model_new(&source, (int)pick(4));
		struct wcs_gc *gc = parse_model(m), *other_gc = parse_model(other);
		char *text = wcs_gc_format(gc), *other_text = wcs_gc_format(other_gc);

		ck_assert_msg(wcs_gc_is_within(gc, other_gc) == model_within(m, other),
			      "%s within %s", text, other_text);
		within += model_within(m, other);
		free(text);
		free(other_text);
		wcs_gc_free(gc);
		wcs_gc_free(other_gc);
		gc_model_free(m);
		gc_model_free(other);
	}
	ck_assert(within > 1000 && within < 4000);
}

SUITE_TEST(test_random_text_never_crashes, 10)
{
	static const char *const pieces[] = {
		"never", "maxversions=", "maxage=", "1", "99", "d", "ms", " and ", " or ",
		"&&",	 "||",		 "(",	    ")", " ",  "&", "\n", "=",	   "\xc3"};

	srandom(8);
	for (int i = 0; i < 20000; i++) {
		char text[256] = "", *canonical = NULL;

		for (unsigned int k = pick(14); k > 0; k--)
			strcat(text, pieces[pick(sizeof(pieces) / sizeof(pieces[0]))]);
		if (wcs_gc_canonical(text, &canonical, NULL) == 0) {
			char *again = NULL;

			ck_assert_int_eq(wcs_gc_canonical(canonical, &again, NULL), 0);
			ck_assert_str_eq(canonical, again);
			free(again);
		}
		free(canonical);
	}
}
