/* SPDX-License-Identifier: MIT */
/* Codecs and shown forms of keys, against a second reading of the contract. */
#include "tests/unit/model.h"
#include "tests/unit/suite.h"

#include "lib/names.h"
#include "store/keys/keys.h"

#include <time.h>

#define KEY_MAX WCS_ROW_KEY_MAX

#define FAST_OK(call) CHECK_FAST((call) == 0)

/* ---- The model --------------------------------------------------------------------------- */

/* Labels in the opposite order, by taking the last one off again and again. */
static void model_domain(const unsigned char *bytes, size_t len, unsigned char *shown)
{
	size_t dot, used = 0;

	for (;;) {
		for (dot = len; dot > 0 && bytes[dot - 1] != '.'; dot--)
			;
		for (size_t i = dot; i < len; i++)
			shown[used++] = bytes[i];
		if (dot == 0)
			return;
		shown[used++] = '.';
		len = dot - 1;
	}
}

/* Writes a time as libc does; false: it is behind year 9999. */
static bool model_time(uint64_t number, enum wcs_unit unit, char *shown)
{
	static const struct {
		uint64_t in_second;
		const char *form;
	} of[] = {{1000000, ".%06uZ"}, {1000, ".%03uZ"}, {1, "Z"}};
	time_t second = (time_t)(number / of[unit].in_second);
	size_t len;
	struct tm tm;

	if (gmtime_r(&second, &tm) == NULL || tm.tm_year + 1900 > 9999)
		return false;
	len = strftime(shown, 30, "%Y-%m-%dT%H:%M:%S", &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(shown + len, 10, of[unit].form, (unsigned int)(number % of[unit].in_second));
#pragma GCC diagnostic pop
	return true;
}

static bool model_digits(const unsigned char *bytes, size_t len, size_t width, uint64_t *number)
{
	char text[24] = "";

	if (len != width)
		return false;
	for (size_t i = 0; i < len; i++)
		if (strchr("0123456789", text[i] = (char)bytes[i]) == NULL || bytes[i] == 0)
			return false;
	*number = strtoull(text, NULL, 10);
	return true;
}

/* The shown form of a segment's bytes; false: none. */
static bool model_shown(const struct wcs_keys_segment *segment, const unsigned char *bytes,
			size_t len, unsigned char *shown, size_t *shown_len)
{
	bool reverse = segment->codec == WCS_CODEC_REVERSE_TIME;
	uint64_t number;

	*shown_len = len;
	if (len == 0 && segment->codec != WCS_CODEC_TEXT)
		return false;
	switch (segment->codec) {
	case WCS_CODEC_REVERSE_DOMAIN:
		model_domain(bytes, len, shown);
		return true;
	case WCS_CODEC_REVERSE:
		for (size_t i = 0; i < len; i++)
			shown[len - 1 - i] = bytes[i];
		return true;
	case WCS_CODEC_PAD:
		if (!model_digits(bytes, len, segment->width, &number))
			return false;
		*shown_len = (size_t)sprintf((char *)shown, "%llu", (unsigned long long)number);
		return true;
	case WCS_CODEC_TIME:
	case WCS_CODEC_REVERSE_TIME:
		if (!model_digits(bytes, len, reverse ? 19 : segment->width, &number) ||
		    (reverse && number > INT64_MAX) ||
		    !model_time(reverse ? INT64_MAX - number : number, segment->unit,
				(char *)shown))
			return false;
		*shown_len = strlen((char *)shown);
		return true;
	default:
		memcpy(shown, bytes, len);
		return true;
	}
}

/* The shown form of a key, segment by segment. */
static char *model_key(const struct wcs_keys *keys, const unsigned char *key, size_t len)
{
	static const struct wcs_keys_segment text_segment = {.codec = WCS_CODEC_TEXT};
	static unsigned char shown[KEY_MAX + 64];
	char *text = calloc(1, 4 * len + 40 * (size_t)len + 64), *spelled;
	size_t at = 0, end, shown_len;

	for (size_t i = 0; at <= len; i++, at = end + 1) {
		const struct wcs_keys_segment *segment =
			i < keys->segment_count ? &keys->segments[i] : &text_segment;

		for (end = at; end < len && key[end] != keys->delimiter; end++)
			;
		if (model_shown(segment, key + at, end - at, shown, &shown_len)) {
			spelled = wcs_text_encode((struct wcs_slice){shown, shown_len});
		} else {
			strcat(text, "%=");
			spelled = wcs_text_encode((struct wcs_slice){key + at, end - at});
		}
		strcat(text, spelled);
		free(spelled);
		if (end < len) {
			spelled = wcs_text_encode((struct wcs_slice){&keys->delimiter, 1});
			strcat(text, spelled);
			free(spelled);
		}
	}
	return text;
}

/* ---- Random designs and keys ------------------------------------------------------------- */

static const char delimiters[] = "#|,~ \x01\x1f\n@";

static void random_segment(uint64_t *state, struct wcs_keys_segment *segment)
{
	enum wcs_codec codec = suite_random(state) % 6;

	*segment = (struct wcs_keys_segment){.codec = codec};
	if (codec == WCS_CODEC_TIME || codec == WCS_CODEC_REVERSE_TIME)
		segment->unit = suite_random(state) % 3;
	if (codec == WCS_CODEC_TIME)
		segment->width = (unsigned char)(10 + suite_random(state) % 10);
	if (codec == WCS_CODEC_PAD)
		segment->width = (unsigned char)(1 + suite_random(state) % 19);
}

static void random_design(uint64_t *state, struct wcs_keys *keys)
{
	*keys = (struct wcs_keys){
		.delimiter =
			(unsigned char)delimiters[suite_random(state) % (sizeof(delimiters) - 1)],
		.segment_count = suite_random(state) % 6};
	for (size_t i = 0; i < keys->segment_count; i++) {
		random_segment(state, &keys->segments[i]);
		sprintf(keys->segments[i].name, "s%zu", i);
	}
	SUITE_OK(wcs_keys_check(keys, keys->delimiter, NULL));
}

/* Bytes of a segment, often ones that its codec shows. */
static size_t random_bytes(uint64_t *state, const struct wcs_keys_segment *segment,
			   unsigned char *bytes)
{
	static const unsigned char likely[] = {'.', 'a', 'b', 0, '%', '=', '/', 0xc3, 0xa4, 0xff};
	uint32_t how = suite_random(state) % 4;
	size_t len = suite_random(state) % 12, width = segment->width ? segment->width : 19;
	uint64_t number = (uint64_t)suite_random(state) << 32 | suite_random(state);

	if (how == 0 && width > 0) {
		/* Times of all sizes, those close to year 9999 and INT64_MAX among them. */
		number >>= 1 + suite_random(state) % 60;
		if (segment->codec == WCS_CODEC_REVERSE_TIME && suite_random(state) % 8 > 0)
			number = INT64_MAX - number;
		len = (size_t)sprintf((char *)bytes, "%0*llu", (int)width,
				      (unsigned long long)number);
		return len > width ? width : len;
	}
	for (size_t i = 0; i < len; i++)
		bytes[i] = how == 1   ? (unsigned char)('0' + suite_random(state) % 10)
			   : how == 2 ? likely[suite_random(state) % sizeof(likely)]
				      : (unsigned char)suite_random(state);
	return len;
}

static size_t random_key(uint64_t *state, const struct wcs_keys *keys, unsigned char *key)
{
	static const struct wcs_keys_segment text_segment = {.codec = WCS_CODEC_TEXT};
	size_t count = 1 + suite_random(state) % 8, len = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			key[len++] = keys->delimiter;
		len += random_bytes(state,
				    i < keys->segment_count ? &keys->segments[i] : &text_segment,
				    key + len);
	}
	return len;
}

/* ---- Codecs ------------------------------------------------------------------------------ */

/* A segment as the first of a design. */
static struct wcs_keys design_of(const struct wcs_keys_segment *segment)
{
	struct wcs_keys keys = {.delimiter = '#', .segment_count = 1, .segments = {*segment}};

	strcpy(keys.segments[0].name, "s");
	return keys;
}

/* A text is taken only if it is the shown form of the bytes that it gives. */
static void check_encode(const struct wcs_keys *keys, const unsigned char *shown, size_t len)
{
	static unsigned char bytes[KEY_MAX], again[KEY_MAX];
	size_t bytes_len, again_len;
	struct wcs_fault fault = {.text = ""};
	int rc = wcs_keys_encode(keys, 0, (struct wcs_slice){shown, len}, NULL, bytes, &bytes_len,
				 &fault);

	CHECK_FAST(rc == 0 || (rc == -EINVAL && strncmp(fault.text, "s: ", 3) == 0));
	CHECK_FAST(rc != 0 ||
		   (model_shown(&keys->segments[0], bytes, bytes_len, again, &again_len) &&
		    again_len == len && memcmp(again, shown, len) == 0));
}

SUITE_TEST(test_codecs_both_ways, 60)
{
	unsigned char bytes[64], shown[128], expected[128], back[128];
	size_t len, shown_len, expected_len, back_len, decoded[6] = {0};
	uint64_t state = 21;

	for (int round = 0; round < 300000; round++) {
		struct wcs_keys_segment segment;
		struct wcs_keys keys;
		bool has;

		random_segment(&state, &segment);
		keys = design_of(&segment);
		len = random_bytes(&state, &segment, bytes);
		has = model_shown(&segment, bytes, len, expected, &expected_len);
		CHECK_FAST(wcs_keys_decode(&keys, 0, (struct wcs_slice){bytes, len}, shown,
					   &shown_len) == has);
		check_encode(&keys, bytes, len);
		if (!has)
			continue;
		decoded[segment.codec]++;
		CHECK_FAST(shown_len == expected_len && memcmp(shown, expected, expected_len) == 0);
		FAST_OK(wcs_keys_encode(&keys, 0, (struct wcs_slice){shown, shown_len}, NULL, back,
					&back_len, NULL));
		CHECK_FAST(back_len == len && memcmp(back, bytes, len) == 0);
		if (shown_len > 0) {
			shown[suite_random(&state) % shown_len] = bytes[0];
			check_encode(&keys, shown, shown_len);
			check_encode(&keys, shown, shown_len - 1);
		}
	}
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_gt(decoded[i], 5000);
}

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

/* Stored keys sort as the contract says. */
SUITE_TEST(test_stored_order, 20)
{
	static const struct wcs_keys_segment *const ordered[] = {&time_us, &time_s, &pad_8,
								 &reverse_us, &reverse_s};
	uint64_t state = 7;

	for (int round = 0; round < 50000; round++) {
		const struct wcs_keys_segment *segment = ordered[suite_random(&state) % 5];
		struct wcs_keys keys = design_of(segment);
		bool pad = segment->codec == WCS_CODEC_PAD;
		bool reverse = segment->codec == WCS_CODEC_REVERSE_TIME;
		uint64_t numbers[2];
		unsigned char bytes[2][32];
		size_t lens[2];
		char shown[40];
		int order;

		for (size_t i = 0; i < 2; i++) {
			numbers[i] = suite_random(&state) % (pad ? 100000000u : 4000000000u);
			if (pad)
				sprintf(shown, "%llu", (unsigned long long)numbers[i]);
			else
				ck_assert(model_time(numbers[i], segment->unit, shown));
			FAST_OK(wcs_keys_encode(&keys, 0, suite_text(shown), NULL, bytes[i],
						&lens[i], NULL));
		}
		order = wcs_slice_compare((struct wcs_slice){bytes[0], lens[0]},
					  (struct wcs_slice){bytes[1], lens[1]});
		CHECK_FAST((numbers[0] > numbers[1]) == (reverse ? order < 0 : order > 0));
		CHECK_FAST((numbers[0] == numbers[1]) == (order == 0));
	}
}

/* ---- Keys -------------------------------------------------------------------------------- */

SUITE_TEST(test_keys_both_ways, 60)
{
	static char text[WCS_KEYS_TEXT_MAX(KEY_MAX)];
	static unsigned char key[KEY_MAX], back[KEY_MAX];
	uint64_t state = 42;
	size_t len, text_len, back_len;

	for (int round = 0; round < 100000; round++) {
		struct wcs_keys keys;
		char *expected;

		random_design(&state, &keys);
		do
			len = random_key(&state, &keys, key);
		while (len == 0);
		text_len = wcs_keys_show(&keys, (struct wcs_slice){key, len}, text);
		expected = model_key(&keys, key, len);
		CHECK_FAST(text_len == strlen(expected) && memcmp(text, expected, text_len) == 0);
		free(expected);
		CHECK_FAST(text_len <= WCS_KEYS_TEXT_MAX(len));
		FAST_OK(wcs_keys_parse(&keys, 0, (struct wcs_slice){text, text_len}, NULL, back,
				       &back_len, NULL));
		CHECK_FAST(back_len == len && memcmp(back, key, len) == 0);
	}
}
