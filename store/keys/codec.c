/* SPDX-License-Identifier: MIT */
/*
 * Codecs: the stored bytes and the shown form of one segment, and the limits of a design. A new
 * codec is a number in keys.h, a row in the table below, and two functions.
 *
 * An encode function may take other forms than the canonical one. wcs_keys_encode then decodes its
 * result, and refuses a form that differs; so the decode function alone decides what is canonical.
 */
#include "store/keys/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/times.h"
#include "store/backend.h"

#define CODEC_DIGITS 19u		       /* of stored times and numbers, at most */
#define CODEC_SAMPLE INT64_C(1706695200000000) /* 2024-01-31T10:00:00Z, for messages */

static const struct {
	const char *name;
	int64_t us;
	unsigned int decimals; /* of a shown time */
} units[] = {[WCS_UNIT_US] = {"us", 1, 6},
	     [WCS_UNIT_MS] = {"ms", 1000, 3},
	     [WCS_UNIT_S] = {"s", 1000000, 0}};

/* ---- Numbers ----------------------------------------------------------------------------- */

/* Reads digits alone, at most CODEC_DIGITS of them. */
static bool codec_number(struct wcs_slice text, uint64_t *number)
{
	const unsigned char *digits = text.data;

	*number = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return false;
		*number = 10 * *number + (uint64_t)(digits[i] - '0');
	}
	return text.len > 0 && text.len <= CODEC_DIGITS;
}

static struct wcs_slice codec_trim(struct wcs_slice digits)
{
	while (digits.len > 1 && *(const char *)digits.data == '0') {
		digits.data = (const char *)digits.data + 1;
		digits.len--;
	}
	return digits;
}

static int pad_encode(const struct wcs_keys_segment *segment, struct wcs_slice shown,
		      struct wcs_keys_any *any, unsigned char *bytes, size_t *len,
		      struct wcs_fault *fault)
{
	struct wcs_slice digits = codec_trim(shown);
	uint64_t number;

	(void)any;
	if (!codec_number(digits, &number) || digits.len > segment->width)
		return wcs_fault_set(fault, -EINVAL,
				     "%s: under pad it is a number of up to %u digits",
				     segment->name, segment->width);
	*len = segment->width;
	times_digits(number, *len, (char *)bytes);
	return 0;
}

static bool pad_decode(const struct wcs_keys_segment *segment, struct wcs_slice bytes,
		       unsigned char *shown, size_t *len)
{
	struct wcs_slice digits = codec_trim(bytes);
	uint64_t number;

	if (bytes.len != segment->width || !codec_number(bytes, &number))
		return false;
	memcpy(shown, digits.data, digits.len);
	*len = digits.len;
	return true;
}

/* ---- Times ------------------------------------------------------------------------------- */

/* The last time, in the unit, that the segment can hold. */
static uint64_t time_last(const struct wcs_keys_segment *segment)
{
	uint64_t last = (uint64_t)(TIMES_LAST / units[segment->unit].us), digits = 1;

	for (unsigned int i = 0; i < segment->width; i++)
		digits *= 10;
	return segment->codec == WCS_CODEC_TIME && last >= digits ? digits - 1 : last;
}

static size_t time_format(const struct wcs_keys_segment *segment, uint64_t number, char *text)
{
	return times_format((int64_t)number * units[segment->unit].us,
			    units[segment->unit].decimals, text);
}

/* Refuses with the words and a time that the segment can hold: this number, or its last. */
static int time_refuse(const struct wcs_keys_segment *segment, const char *words, uint64_t number,
		       struct wcs_fault *fault)
{
	uint64_t last = time_last(segment);
	char text[TIMES_MAX];
	size_t len = time_format(segment, number < last ? number : last, text);

	return wcs_fault_set(fault, -EINVAL, "%s: under %s %s %.*s", segment->name,
			     wcs_codec_name(segment->codec), words, (int)len, text);
}

static int time_encode(const struct wcs_keys_segment *segment, struct wcs_slice shown,
		       struct wcs_keys_any *any, unsigned char *bytes, size_t *len,
		       struct wcs_fault *fault)
{
	bool reverse = segment->codec == WCS_CODEC_REVERSE_TIME, ago;
	int64_t unit = units[segment->unit].us, us;
	char words[TIMES_ASK_MAX];
	uint64_t number;

	if (times_parse_any(shown.data, shown.len, &us, &ago) != 0 || (ago && any == NULL))
		return time_refuse(segment, "it is a time like", (uint64_t)(CODEC_SAMPLE / unit),
				   fault);
	if (ago) {
		us = any->now - us;
		any->relative = true;
	}
	number = us < 0 ? UINT64_MAX : (uint64_t)(us / unit);
	if (number > time_last(segment))
		return time_refuse(segment, "a time is from 1970 on, and at most", number, fault);
	*len = reverse ? CODEC_DIGITS : segment->width;
	times_digits(reverse ? (uint64_t)INT64_MAX - number : number, *len, (char *)bytes);
	if (any != NULL && times_ask(shown.data, shown.len, words))
		wcs_fault_set(fault, 0, "%s: %s", segment->name, words);
	return 0;
}

/* Adds the canonical forms of a plain number (times_ask) that is meant in another unit. */
static void time_add_units(const struct wcs_keys_segment *segment, struct wcs_slice shown,
			   struct wcs_fault *fault)
{
	static const struct {
		const char *words;
		int64_t us;
	} meant[] = {{"; of seconds it is", 1000000}, {"; of milliseconds it is", 1000}};
	char words[TIMES_ASK_MAX], text[TIMES_MAX];
	bool ago;
	int64_t number, us;

	if (!fault || !times_ask(shown.data, shown.len, words) ||
	    times_parse_any(shown.data, shown.len, &number, &ago) != 0)
		return;
	for (size_t i = 0; i < sizeof(meant) / sizeof(*meant); i++) {
		size_t used = strlen(fault->text);

		if (__builtin_mul_overflow(number, meant[i].us, &us) ||
		    (uint64_t)(us / units[segment->unit].us) > time_last(segment))
			continue;
		snprintf(fault->text + used, sizeof(fault->text) - used, "%s %.*s", meant[i].words,
			 (int)time_format(segment, (uint64_t)(us / units[segment->unit].us), text),
			 text);
	}
}

static bool time_decode(const struct wcs_keys_segment *segment, struct wcs_slice bytes,
			unsigned char *shown, size_t *len)
{
	bool reverse = segment->codec == WCS_CODEC_REVERSE_TIME;
	uint64_t number;

	if (bytes.len != (reverse ? CODEC_DIGITS : segment->width) || !codec_number(bytes, &number))
		return false;
	if (reverse) /* more than INT64_MAX wraps around, to a number behind the last time */
		number = (uint64_t)INT64_MAX - number;
	if (number > time_last(segment))
		return false;
	*len = time_format(segment, number, (char *)shown);
	return true;
}

/* ---- Opposite orders --------------------------------------------------------------------- */

static bool domain_decode(const struct wcs_keys_segment *segment, struct wcs_slice bytes,
			  unsigned char *shown, size_t *len)
{
	const unsigned char *from = bytes.data;
	size_t end = bytes.len;

	(void)segment;
	for (size_t start = end + 1; start-- > 0;) {
		if (start > 0 && from[start - 1] != '.')
			continue;
		shown = mempcpy(shown, from + start, end - start);
		if (start > 0)
			*shown++ = '.';
		end = start - 1;
	}
	*len = bytes.len;
	return true;
}

static bool reverse_decode(const struct wcs_keys_segment *segment, struct wcs_slice bytes,
			   unsigned char *shown, size_t *len)
{
	const unsigned char *from = bytes.data;

	(void)segment;
	for (size_t i = bytes.len; i > 0; i--)
		*shown++ = from[i - 1];
	*len = bytes.len;
	return true;
}

/* ---- Codecs ------------------------------------------------------------------------------ */

#define CODEC_MAKES_DIGITS "0123456789"
#define CODEC_MAKES_TIMES  CODEC_MAKES_DIGITS "-:TZ."
#define CODEC_MAKES_SALT   CODEC_MAKES_DIGITS "abcdef"

/* Neither function gets an empty segment, which is canonical under text alone. makes: the bytes
 * that encode or decode may add. encode NULL: decode does its work, too. */
static const struct {
	const char *name, *help;
	unsigned char width_min, width_max; /* of the design; 0: it has none */
	unsigned char width;		    /* of a design that names none; 0: it must */
	bool unit;			    /* a design may name one */
	const char *makes;
	int (*encode)(const struct wcs_keys_segment *segment, struct wcs_slice shown,
		      struct wcs_keys_any *any, unsigned char *bytes, size_t *len,
		      struct wcs_fault *fault);
	bool (*decode)(const struct wcs_keys_segment *segment, struct wcs_slice bytes,
		       unsigned char *shown, size_t *len);
} codecs[] = {
	[WCS_CODEC_TEXT] = {"text", "as it is", .makes = ""},
	[WCS_CODEC_REVERSE_DOMAIN] = {"reverse-domain",
				      "stored com.google.maps, shown maps.google.com", .makes = "",
				      .decode = domain_decode},
	[WCS_CODEC_TIME] = {"time",
			    "stored as digits, shown 2026-11-22T21:00:00.000000Z;\n\"unit\":us, ms "
			    "or s, \"width\":10 to 19",
			    10, CODEC_DIGITS, CODEC_DIGITS, true, CODEC_MAKES_TIMES, time_encode,
			    time_decode},
	[WCS_CODEC_REVERSE_TIME] = {"reverse-time", "the same, the newest first; \"unit\"", 0, 0, 0,
				    true, CODEC_MAKES_TIMES, time_encode, time_decode},
	[WCS_CODEC_PAD] = {"pad", "stored with zeros in front; \"width\":1 to 19", 1, CODEC_DIGITS,
			   0, false, CODEC_MAKES_DIGITS, pad_encode, pad_decode},
	[WCS_CODEC_REVERSE] = {"reverse", "stored with its bytes in the opposite order",
			       .makes = "", .decode = reverse_decode},
};
#define CODECS (sizeof(codecs) / sizeof(codecs[0]))
#define UNITS  (sizeof(units) / sizeof(units[0]))

const char *wcs_codec_name(enum wcs_codec codec)
{
	return (size_t)codec < CODECS ? codecs[codec].name : NULL;
}

const char *wcs_codec_help(enum wcs_codec codec)
{
	return (size_t)codec < CODECS ? codecs[codec].help : NULL;
}

const char *wcs_unit_name(enum wcs_unit unit)
{
	return (size_t)unit < UNITS ? units[unit].name : NULL;
}

unsigned char wcs_codec_width(enum wcs_codec codec)
{
	return (size_t)codec < CODECS ? codecs[codec].width : 0;
}

int wcs_keys_encode(const struct wcs_keys *keys, size_t segment, struct wcs_slice shown,
		    struct wcs_keys_any *any, unsigned char *bytes, size_t *len,
		    struct wcs_fault *fault)
{
	unsigned char again[WCS_KEYS_SHOWN_MAX];
	const struct wcs_keys_segment *one;
	size_t again_len;
	int rc;

	if (!wcs_keys_coded(keys, segment)) {
		if (shown.len > 0)
			memcpy(bytes, shown.data, shown.len);
		*len = shown.len;
		return 0;
	}
	one = &keys->segments[segment];
	if (shown.len == 0)
		return wcs_fault_set(fault, -EINVAL,
				     "%s: the empty segment is written %%=", one->name);
	if (codecs[one->codec].encode == NULL)
		return codecs[one->codec].decode(one, shown, bytes, len) ? 0 : -EINVAL;
	rc = codecs[one->codec].encode(one, shown, any, bytes, len, fault);
	if (rc != 0 || any != NULL)
		return rc;
	codecs[one->codec].decode(one, (struct wcs_slice){bytes, *len}, again, &again_len);
	if (wcs_slice_compare(shown, (struct wcs_slice){again, again_len}) == 0)
		return 0;
	wcs_fault_set(fault, -EINVAL, "%s: its canonical form is %.*s", one->name, (int)again_len,
		      (const char *)again);
	if (codecs[one->codec].encode == time_encode)
		time_add_units(one, shown, fault);
	return -EINVAL;
}

bool wcs_keys_decode(const struct wcs_keys *keys, size_t segment, struct wcs_slice bytes,
		     unsigned char *shown, size_t *len)
{
	if (wcs_keys_coded(keys, segment))
		return bytes.len > 0 && codecs[keys->segments[segment].codec].decode(
						&keys->segments[segment], bytes, shown, len);
	if (bytes.len > 0)
		memcpy(shown, bytes.data, bytes.len);
	*len = bytes.len;
	return true;
}

/* ---- Designs ----------------------------------------------------------------------------- */

/* Are the names and numbers of that segment within their limits? The ones before it are. */
static int codec_check(const struct wcs_keys *keys, size_t segment, struct wcs_fault *fault)
{
	const struct wcs_keys_segment *one = &keys->segments[segment];
	const char *codec = wcs_codec_name(one->codec);
	unsigned int min, max;

	if (!wcs_family_name_valid(one->name))
		return wcs_fault_set(fault, -EINVAL, "a segment's name is 1 to %u of -_.a-zA-Z0-9",
				     WCS_KEYS_NAME_MAX);
	for (size_t i = 0; i < segment; i++)
		if (strcmp(keys->segments[i].name, one->name) == 0)
			return wcs_fault_set(fault, -EINVAL, "%s: two segments have that name",
					     one->name);
	if (codec == NULL)
		return wcs_fault_set(fault, -EINVAL, "%s: there is no codec %d", one->name,
				     (int)one->codec);
	min = codecs[one->codec].width_min;
	max = codecs[one->codec].width_max;
	if (one->width < min || one->width > max)
		return max == 0 ? wcs_fault_set(fault, -EINVAL, "%s: the codec %s has no width",
						one->name, codec)
				: wcs_fault_set(fault, -EINVAL,
						"%s: the codec %s needs a width from %u to %u",
						one->name, codec, min, max);
	if (one->unit != WCS_UNIT_US && !codecs[one->codec].unit)
		return wcs_fault_set(fault, -EINVAL, "%s: the codec %s has no unit", one->name,
				     codec);
	if (wcs_unit_name(one->unit) == NULL)
		return wcs_fault_set(fault, -EINVAL, "%s: there is no unit %d", one->name,
				     (int)one->unit);
	return 0;
}

int wcs_keys_check(const struct wcs_keys *keys, unsigned char delimiter, struct wcs_fault *fault)
{
	int rc = 0;

	if (keys->segment_count > WCS_KEYS_SEGMENTS_MAX ||
	    keys->salt_segments > WCS_KEYS_SEGMENTS_MAX)
		return wcs_fault_set(fault, -EINVAL, "a design has at most %u segments",
				     WCS_KEYS_SEGMENTS_MAX);
	for (size_t i = 0; rc == 0 && i < keys->segment_count; i++)
		rc = codec_check(keys, i, fault);
	if (rc != 0)
		return rc;
	if (keys->buckets == 0 ? keys->salt_segments > 0
			       : keys->buckets < 2 || keys->buckets > WCS_KEYS_BUCKETS_MAX)
		return wcs_fault_set(fault, -EINVAL, "a salt has 2 to %u buckets",
				     WCS_KEYS_BUCKETS_MAX);
	if (delimiter == 0)
		return 0;
	for (size_t i = 0; i < keys->segment_count; i++)
		if (strchr(codecs[keys->segments[i].codec].makes, delimiter) != NULL ||
		    (delimiter == '=' && wcs_keys_coded(keys, i))) /* of "%=" */
			return wcs_fault_set(
				fault, -EINVAL,
				"%s: the codec %s makes '%c', which is the table's delimiter",
				keys->segments[i].name, wcs_codec_name(keys->segments[i].codec),
				delimiter);
	if (keys->buckets > 0 && strchr(CODEC_MAKES_SALT, delimiter) != NULL)
		return wcs_fault_set(fault, -EINVAL,
				     "the salt makes '%c', which is the table's delimiter",
				     delimiter);
	return 0;
}

bool wcs_keys_equal(const struct wcs_keys *a, const struct wcs_keys *b)
{
	static const struct wcs_keys plain;

	a = a != NULL ? a : &plain;
	b = b != NULL ? b : &plain;
	if (a->buckets != b->buckets || a->salt_segments != b->salt_segments ||
	    a->segment_count != b->segment_count)
		return false;
	for (size_t i = 0; i < a->segment_count; i++) {
		const struct wcs_keys_segment *x = &a->segments[i], *y = &b->segments[i];

		if (strcmp(x->name, y->name) != 0 || x->codec != y->codec || x->unit != y->unit ||
		    x->width != y->width)
			return false;
	}
	return true;
}
