/* SPDX-License-Identifier: MIT */
/*
 * The shown form of whole keys:
 *
 *   shown = segment (delimiter segment)*
 *   segment = what its codec shows, spelled with %XX | "%=" and its bytes, spelled with %XX
 *
 * The text is that of row JSON (store/rows.h), so a delimiter may be spelled %XX, too. No other
 * text has "%=", since a '%' is %25.
 */
#include "store/keys/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"
#include "store/backend.h"
#include "store/rows.h"

/* ---- Writing ----------------------------------------------------------------------------- */

static size_t shown_put(struct wcs_slice bytes, bool spelled, char *text)
{
	if (spelled)
		return wcs_text_spell(bytes, text);
	if (bytes.len > 0)
		memcpy(text, bytes.data, bytes.len);
	return bytes.len;
}

/* Writes one segment. */
static size_t shown_segment(const struct wcs_keys *keys, size_t segment, struct wcs_slice bytes,
			    bool spelled, char *text)
{
	unsigned char shown[WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX];
	size_t len;

	if (!wcs_keys_coded(keys, segment))
		return shown_put(bytes, spelled, text);
	if (wcs_keys_decode(keys, segment, bytes, shown, &len))
		return shown_put((struct wcs_slice){shown, len}, spelled, text);
	memcpy(text, "%=", 2);
	return 2 + shown_put(bytes, true, text + 2);
}

static size_t shown_key(const struct wcs_keys *keys, struct wcs_slice key, bool spelled, char *text)
{
	const unsigned char *at = key.data, *end, *delimiter;
	size_t count = keys != NULL ? keys->segment_count : 0, len = 0;

	if (key.len == 0)
		return 0;
	end = at + key.len;
	for (size_t i = 0; i < count; i++) {
		delimiter = memchr(at, keys->delimiter, (size_t)(end - at));
		len += shown_segment(
			keys, i,
			(struct wcs_slice){at, (size_t)((delimiter ? delimiter : end) - at)},
			spelled, text + len);
		if (delimiter == NULL)
			return len;
		len += shown_put((struct wcs_slice){delimiter, 1}, spelled, text + len);
		at = delimiter + 1;
	}
	return len + shown_put((struct wcs_slice){at, (size_t)(end - at)}, spelled, text + len);
}

size_t wcs_keys_show(const struct wcs_keys *keys, struct wcs_slice key, char *text)
{
	return shown_key(keys, key, true, text);
}

size_t wcs_keys_bytes(const struct wcs_keys *keys, struct wcs_slice key, char *text)
{
	return shown_key(keys, key, false, text);
}

char *wcs_keys_text(const struct wcs_keys *keys, struct wcs_slice key)
{
	char *text = malloc(WCS_KEYS_TEXT_MAX(key.len) + 1);

	if (text != NULL)
		text[wcs_keys_show(keys, key, text)] = '\0';
	return text;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* A text that is read, and the key that it makes. */
struct shown_reader {
	const struct wcs_keys *keys;
	const char *text;
	size_t at, end;
	size_t segment; /* the index of the present one */
	struct wcs_keys_any *any;
	unsigned char *key;
	size_t len;
	struct wcs_fault *fault;
};

static int shown_refuse(struct shown_reader *reader, size_t at, int rc)
{
	if (rc == -EINVAL && reader->fault != NULL)
		reader->fault->column = (int)at + 1;
	return rc;
}

static int shown_too_long(const struct shown_reader *reader)
{
	return wcs_fault_set(reader->fault, -ENAMETOOLONG, "a row key has at most %u bytes",
			     WCS_ROW_KEY_MAX);
}

/* Takes a "%=" at the present place. */
static bool shown_marked(struct shown_reader *reader)
{
	bool marked =
		reader->end - reader->at >= 2 && memcmp(reader->text + reader->at, "%=", 2) == 0;

	reader->at += marked ? 2 : 0;
	return marked;
}

/* Takes the bytes up to the end of the segment into `to`, which has room for the rest of a key.
 * *delimited: the delimiter behind it is taken, too. */
static int shown_take(struct shown_reader *reader, unsigned char *to, size_t *len, bool *delimited)
{
	size_t room = WCS_ROW_KEY_MAX - reader->len, step;
	int delimiter = reader->keys != NULL ? reader->keys->delimiter : -1;
	unsigned char byte;

	*delimited = false;
	for (*len = 0; reader->at < reader->end; reader->at += step) {
		step = utf8_unescape(reader->text + reader->at, reader->end - reader->at, &byte);
		if (step == 0) /* no escape */
			return shown_refuse(
				reader, reader->at,
				wcs_fault_set(reader->fault, -EINVAL,
					      "a %% has two upper-case hex digits behind it"));
		if (byte == delimiter) {
			*delimited = true;
			reader->at += step;
			return 0;
		}
		if (*len == room)
			return shown_too_long(reader);
		to[(*len)++] = byte;
	}
	return 0;
}

/* Takes a segment whose text is in a shown form. */
static int shown_encode(struct shown_reader *reader, bool *delimited)
{
	unsigned char shown[WCS_ROW_KEY_MAX], bytes[WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX];
	struct wcs_slice text = {shown, 0};
	size_t start = reader->at, len;
	int rc = shown_take(reader, shown, &text.len, delimited);

	if (rc == 0)
		rc = shown_refuse(reader, start,
				  wcs_keys_encode(reader->keys, reader->segment, text, reader->any,
						  bytes, &len, reader->fault));
	if (rc == 0 && len > WCS_ROW_KEY_MAX - reader->len)
		rc = shown_too_long(reader);
	if (rc == 0) {
		memcpy(reader->key + reader->len, bytes, len);
		reader->len += len;
	}
	return rc;
}

int wcs_keys_parse(const struct wcs_keys *keys, size_t segment, struct wcs_slice text,
		   struct wcs_keys_any *any, unsigned char *key, size_t *len,
		   struct wcs_fault *fault)
{
	struct shown_reader reader = {.keys = keys,
				      .text = text.data,
				      .end = text.len,
				      .segment = segment,
				      .any = any,
				      .key = key,
				      .fault = fault};
	bool delimited = text.len > 0;
	size_t taken;
	int rc = 0;

	for (; rc == 0 && delimited; reader.segment++) {
		if (!shown_marked(&reader) && wcs_keys_coded(keys, reader.segment)) {
			rc = shown_encode(&reader, &delimited);
		} else {
			rc = shown_take(&reader, key + reader.len, &taken, &delimited);
			reader.len += rc == 0 ? taken : 0;
		}
		if (rc == 0 && delimited && reader.len == WCS_ROW_KEY_MAX)
			rc = shown_too_long(&reader);
		if (rc == 0 && delimited)
			key[reader.len++] = keys->delimiter;
	}
	if (rc == 0)
		*len = reader.len;
	return rc;
}
