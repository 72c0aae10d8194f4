/* SPDX-License-Identifier: MIT */
/*
 * Key designs: the first bytes are a design, the rest a key, a text, or a range. A key has one
 * shown form and comes back from it; a text that is taken is the shown form of its key, or else one
 * of its other spellings; a range that has a bucket has no key of another.
 */
#include "tests/fuzz/fuzz.h"

#include "store/keys/keys.h"
#include "store/rows.h"

static unsigned char key[WCS_ROW_KEY_MAX], other[WCS_ROW_KEY_MAX];
static char text[WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX)];

/* Takes a design off the input; false: it is none. */
static bool keys_fuzz_design(const uint8_t **data, size_t *size, struct wcs_keys *keys)
{
	unsigned int salt = fuzz_byte(data, size), count = fuzz_byte(data, size) % 5;

	*keys = (struct wcs_keys){.delimiter = (unsigned char)fuzz_byte(data, size),
				  .buckets = salt & 0x7f ? (salt & 0x7f) * 2 + (salt >> 7) : 0,
				  .segment_count = count};
	if (keys->buckets > 0)
		keys->salt_segments = fuzz_byte(data, size);
	for (size_t i = 0; i < count; i++) {
		struct wcs_keys_segment *segment = &keys->segments[i];

		sprintf(segment->name, "s%zu", i);
		segment->codec = (enum wcs_codec)(fuzz_byte(data, size) % 8);
		segment->unit = (enum wcs_unit)(fuzz_byte(data, size) % 4);
		segment->width = (unsigned char)(fuzz_byte(data, size) % 32);
	}
	/* A delimiter is one of a table. */
	return keys->delimiter > 0 && keys->delimiter < 0x80 && keys->delimiter != '/' &&
	       keys->delimiter != '%' && keys->delimiter != '.' &&
	       wcs_keys_check(keys, keys->delimiter, NULL) == 0;
}

/* Written as JSON and read again, it is the same design. */
static void keys_fuzz_json(const struct wcs_keys *keys)
{
	struct wcs_keys again;
	char *line = wcs_keys_json(keys);

	FUZZ_CHECK(line && wcs_keys_json_parse(line, strlen(line), &again, NULL) == 0);
	FUZZ_CHECK(wcs_keys_equal(keys, &again));
	free(line);
}

static void keys_fuzz_key(const struct wcs_keys *keys, struct wcs_slice bytes)
{
	size_t len = wcs_keys_show(keys, bytes, text), other_len;
	unsigned int bucket = keys->buckets ? wcs_keys_bucket(keys, bytes) : 0;
	unsigned char salt[WCS_KEYS_SALT];

	FUZZ_CHECK(len <= WCS_KEYS_TEXT_MAX(bytes.len));
	FUZZ_CHECK(wcs_keys_parse(keys, 0, (struct wcs_slice){text, len}, NULL, other, &other_len,
				  NULL) == 0);
	FUZZ_CHECK(fuzz_same(other, other_len, bytes.data, bytes.len));
	if (!keys->buckets)
		return;
	FUZZ_CHECK(bucket < keys->buckets);
	wcs_keys_salt(keys, bucket, salt);
	FUZZ_CHECK(salt[2] == keys->delimiter && salt[0] != salt[2] && salt[1] != salt[2]);
}

static void keys_fuzz_text(const struct wcs_keys *keys, struct wcs_slice shown)
{
	struct wcs_keys_any any = {.now = INT64_C(1700000000000000)};
	struct wcs_fault fault = {.text = ""};
	size_t len, other_len;
	int rc = wcs_keys_parse(keys, 0, shown, NULL, key, &len, &fault);

	FUZZ_CHECK(rc == 0 || rc == -EINVAL || rc == -ENAMETOOLONG);
	FUZZ_CHECK((rc != 0) == (fault.text[0] != '\0'));
	FUZZ_CHECK(fault.column >= 0 && (size_t)fault.column <= shown.len + 1);
	if (rc == 0)
		keys_fuzz_key(keys, (struct wcs_slice){key, len});
	/* Each form is one of the more generous reading, which gives a key with a shown form. */
	rc = wcs_keys_parse(keys, 0, shown, &any, other, &other_len, NULL);
	FUZZ_CHECK(fault.text[0] != '\0' || (rc == 0 && fuzz_same(key, len, other, other_len)));
	if (rc != 0)
		return;
	memcpy(key, other, other_len);
	keys_fuzz_key(keys, (struct wcs_slice){key, other_len});
}

/* Three keys, each behind its length. */
static void keys_fuzz_range(const struct wcs_keys *keys, const uint8_t *data, size_t size)
{
	struct wcs_slice keys_of[3];
	struct wcs_range range;
	int bucket;

	for (size_t i = 0; i < 3; i++) {
		size_t len = fuzz_byte(&data, &size);

		len = len < size ? len : size;
		keys_of[i] = (struct wcs_slice){data, len};
		data += len;
		size -= len;
	}
	if (wcs_slice_compare(keys_of[0], keys_of[1]) > 0 ||
	    wcs_slice_compare(keys_of[1], keys_of[2]) >= 0)
		return;
	range = (struct wcs_range){keys_of[0], keys_of[2]};
	bucket = wcs_keys_range_bucket(keys, &range);
	FUZZ_CHECK(bucket < 0 || (unsigned int)bucket == wcs_keys_bucket(keys, keys_of[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int what = fuzz_byte(&data, &size) % 3;
	struct wcs_keys keys;

	if (!keys_fuzz_design(&data, &size, &keys) || size > WCS_ROW_KEY_MAX)
		return 0;
	keys_fuzz_json(&keys);
	if (what == 0)
		keys_fuzz_key(&keys, (struct wcs_slice){data, size});
	else if (what == 1)
		keys_fuzz_text(&keys, (struct wcs_slice){data, size});
	else if (keys.buckets)
		keys_fuzz_range(&keys, data, size);
	return 0;
}
