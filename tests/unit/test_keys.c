/* SPDX-License-Identifier: MIT */
/* Codecs and shown forms of keys: the contract's examples, and texts that are none. keys.py has
 * random keys of several designs, for tests/e2e/test_path.sh and test_dump_designs.sh; fuzz_keys.c
 * any design. */
#include "tests/unit/suite.h"

#include "store/keys/keys.h"

#define KEY_MAX WCS_ROW_KEY_MAX

static const struct wcs_keys_segment time_us = {"at", WCS_CODEC_TIME, WCS_UNIT_US, 19},
				     time_ms = {"at", WCS_CODEC_TIME, WCS_UNIT_MS, 13},
				     time_s = {"at", WCS_CODEC_TIME, WCS_UNIT_S, 10},
				     reverse_us = {"at", WCS_CODEC_REVERSE_TIME, WCS_UNIT_US, 0},
				     reverse_s = {"at", WCS_CODEC_REVERSE_TIME, WCS_UNIT_S, 0},
				     pad_8 = {"id", WCS_CODEC_PAD, WCS_UNIT_US, 8},
				     pad_1 = {"id", WCS_CODEC_PAD, WCS_UNIT_US, 1},
				     domain = {"host", WCS_CODEC_REVERSE_DOMAIN, WCS_UNIT_US, 0},
				     turned = {"id", WCS_CODEC_REVERSE, WCS_UNIT_US, 0};

/* Shown forms and stored bytes, from the contract. */
static const struct {
	const struct wcs_keys_segment *segment;
	const char *shown, *stored;
} forms[] = {
	{&domain, "maps.google.com", "com.google.maps"},
	{&domain, "localhost", "localhost"},
	{&domain, ".a..b", "b..a."},
	{&domain, ".", "."},
	{&time_us, "2026-11-22T21:00:00.000000Z", "0001795381200000000"},
	{&time_us, "1970-01-01T00:00:00.000000Z", "0000000000000000000"},
	{&time_us, "9999-12-31T23:59:59.999999Z", "0253402300799999999"},
	{&time_ms, "2026-11-22T21:00:00.007Z", "1795381200007"},
	{&time_s, "2026-11-22T21:00:00Z", "1795381200"},
	{&time_s, "2286-11-20T17:46:39Z", "9999999999"},
	{&reverse_us, "2026-11-22T21:00:00.000000Z", "9221576655654775807"},
	{&reverse_us, "1970-01-01T00:00:00.000000Z", "9223372036854775807"},
	{&reverse_s, "1970-01-01T00:00:01Z", "9223372036854775806"},
	{&pad_8, "0", "00000000"},
	{&pad_8, "42", "00000042"},
	{&pad_8, "12345678", "12345678"},
	{&pad_1, "9", "9"},
	{&turned, "1234", "4321"},
};

SUITE_TEST(test_forms_of_the_contract, 10)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct wcs_keys keys = {
			.delimiter = '#', .segment_count = 1, .segments = {*forms[i].segment}};
		char *text = wcs_keys_text(&keys, suite_text(forms[i].stored));
		unsigned char key[KEY_MAX];
		size_t len;

		ck_assert_str_eq(text, forms[i].shown);
		free(text);
		SUITE_OK(wcs_keys_parse(&keys, 0, suite_text(forms[i].shown), NULL, key, &len,
					NULL));
		ck_assert_uint_eq(len, strlen(forms[i].stored));
		ck_assert_mem_eq(key, forms[i].stored, len);
	}
}

/* Texts that a codec refuses, and with `any` still refuses or takes. */
static const struct {
	const struct wcs_keys_segment *segment;
	const char *text, *says;
	const char *any; /* the stored bytes of the form; NULL: no form of TIME either */
} refusals[] = {
	{&pad_8, "", "id: the empty segment is written %=", NULL},
	{&pad_8, "x", "id: under pad it is a number of up to 8 digits", NULL},
	{&pad_8, "-1", "id: under pad", NULL},
	{&pad_8, "+1", "id: under pad", NULL},
	{&pad_8, " 1", "id: under pad", NULL},
	{&pad_8, "123456789", "id: under pad", NULL},
	{&pad_8, "007", "id: its canonical form is 7", "00000007"},
	{&pad_8, "00000000000000000000000042", "id: its canonical form is 42", "00000042"},
	{&pad_8, "00", "id: its canonical form is 0", "00000000"},
	{&domain, "", "host: the empty segment is written %=", NULL},
	{&turned, "", "id: the empty segment is written %=", NULL},
	{&time_us, "", "at: the empty segment is written %=", NULL},
	{&time_us, "x", "at: under time it is a time like 2024-01-31T10:00:00.000000Z", NULL},
	{&time_us, "2023-02-29", "at: under time it is", NULL},
	{&time_us, "2024-12-31T23:59:60Z", "at: under time it is", NULL},
	{&time_us, "1969-12-31", "at: under time it is", NULL},
	{&time_us, "2026-11-22", "at: its canonical form is 2026-11-22T00:00:00.000000Z",
	 "0001795305600000000"},
	{&time_us, "2026-11-22T21:00:00Z", "at: its canonical form is 2026-11-22T21:00:00.000000Z",
	 "0001795381200000000"},
	{&time_us, "2026-11-22t21:00:00.000000Z", "at: its canonical form is 2026",
	 "0001795381200000000"},
	{&time_us, "2026-11-22T21:00:00.000000", "at: its canonical form is 2026",
	 "0001795381200000000"},
	{&time_us, "2026-11-22T22:00:00.000000+01:00", "at: its canonical form is 2026-11-22T21:00",
	 "0001795381200000000"},
	{&time_us, "2026-11-22T21:00:00.0000000Z", "at: its canonical form is 2026",
	 "0001795381200000000"},
	{&time_us, "1795381200000000", "at: its canonical form is 2026-11-22T21:00:00.000000Z",
	 "0001795381200000000"},
	{&time_us, "now", "at: under time it is a time like", "0001795381200000000"},
	{&time_us, "1h", "at: under time it is a time like", "0001795377600000000"},
	{&time_us, "253402300800000000",
	 "at: under time a time is from 1970 on, and at most 9999-12-31T23:59:59.999999Z", NULL},
	{&time_us, "99999999d", "at: under time it is", NULL}, /* before 1970 */
	{&time_s, "2026-11-22T21:00:00.9Z", "at: its canonical form is 2026-11-22T21:00:00Z",
	 "1795381200"},
	{&time_s, "1795381200",
	 "at: its canonical form is 1970-01-01T00:29:55Z; of seconds it is 2026-11-22T21:00:00Z; "
	 "of milliseconds it is 1970-01-21T18:43:01Z",
	 "0000001795"},
	{&time_us, "99999999999999",
	 "at: its canonical form is 1973-03-03T09:46:39.999999Z; of milliseconds it is "
	 "5138-11-16T09:46:39.999000Z",
	 "0000099999999999999"},
	{&time_s, "2286-11-20T17:46:40Z",
	 "at: under time a time is from 1970 on, and at most 2286-11-20T17:46:39Z", NULL},
	{&time_ms, "2026-11-22T21:00:00.0079Z",
	 "at: its canonical form is 2026-11-22T21:00:00.007Z", "1795381200007"},
	{&reverse_us, "2026-11-22", "at: its canonical form is 2026-11-22T00:00:00.000000Z",
	 "9221576731254775807"},
	{&reverse_s, "15m", "at: under reverse-time it is a time like 2024-01-31T10:00:00Z",
	 "9223372035059395507"},
};

SUITE_LOOP(test_refused_segments, (int)(sizeof(refusals) / sizeof(refusals[0])), 10)
{
	struct wcs_keys keys = {.delimiter = '#',
				.segment_count = 2,
				.segments = {{.name = "tenant"}, *refusals[_i].segment}};
	struct wcs_keys_any any = {.now = INT64_C(1795381200000000)};
	struct wcs_fault fault = {.text = ""};
	unsigned char key[KEY_MAX];
	char text[64];
	size_t len = 99;
	int rc;

	snprintf(text, sizeof(text), "acme#%s", refusals[_i].text);
	ck_assert_int_eq(wcs_keys_parse(&keys, 0, suite_text(text), NULL, key, &len, &fault),
			 -EINVAL);
	ck_assert_msg(strncmp(fault.text, refusals[_i].says, strlen(refusals[_i].says)) == 0, "%s",
		      fault.text);
	ck_assert_int_eq(fault.column, 6);
	ck_assert_uint_eq(len, 99);
	rc = wcs_keys_parse(&keys, 1, suite_text(refusals[_i].text), &any, key, &len, NULL);
	if (refusals[_i].text[0] == '\0') {
		ck_assert_int_eq(rc, 0);
		ck_assert_uint_eq(len, 0);
		return;
	}
	ck_assert_int_eq(rc, refusals[_i].any ? 0 : -EINVAL);
	if (rc == 0) {
		ck_assert_uint_eq(len, strlen(refusals[_i].any));
		ck_assert_mem_eq(key, refusals[_i].any, len);
	}
}
