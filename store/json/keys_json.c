/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes key designs as JSON:
 *
 *   {"segments":["tenant",{"name":"at","codec":"time","unit":"ms","width":13}],
 *    "salt":{"buckets":16,"segments":1}}
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json.h"

/* ---- Reading ----------------------------------------------------------------------------- */

int wcs_json_keys_check(struct wcs_json_text *in, const struct wcs_json_at *at,
			const struct wcs_keys *keys, unsigned char delimiter)
{
	struct wcs_fault why;

	return wcs_keys_check(keys, delimiter, &why) == 0 ? 0 : wcs_json_refuse(in, at, why.text);
}

/* Reads a whole number of that range. */
static int keys_json_number(struct wcs_json_text *in, const struct wcs_json_at *at, int min,
			    int max, unsigned int *number)
{
	json_int_t value = json_integer_value(at->json);
	char why[64];

	snprintf(why, sizeof(why), "must be a whole number from %d to %d", min, max);
	if (!json_is_integer(at->json) || value < min || value > max)
		return wcs_json_refuse(in, at, why);
	*number = (unsigned int)value;
	return 0;
}

static int keys_json_name(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const char why[] = "a segment's name is 1 to 64 of -_.a-zA-Z0-9";
	struct wcs_keys_segment *segment = to;
	const char *text;
	int rc = wcs_json_words(in, at, why, &text);

	if (rc == 0 && strlen(text) > WCS_KEYS_NAME_MAX)
		rc = wcs_json_refuse(in, at, why);
	if (rc == 0)
		strcpy(segment->name, text);
	return rc;
}

static int keys_json_codec(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const char why[] = "must be \"text\", \"reverse-domain\", \"time\", "
				  "\"reverse-time\", \"pad\" or \"reverse\"";
	enum wcs_codec *codec = &((struct wcs_keys_segment *)to)->codec;
	const char *name;
	int rc = wcs_json_words(in, at, why, &name);

	if (rc != 0)
		return rc;
	for (*codec = 0; wcs_codec_name(*codec); ++*codec)
		if (strcmp(wcs_codec_name(*codec), name) == 0)
			return 0;
	return wcs_json_refuse(in, at, why);
}

static int keys_json_unit(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const char why[] = "must be \"us\", \"ms\" or \"s\"";
	enum wcs_unit *unit = &((struct wcs_keys_segment *)to)->unit;
	const char *name;
	int rc = wcs_json_words(in, at, why, &name);

	if (rc != 0)
		return rc;
	for (*unit = 0; wcs_unit_name(*unit); ++*unit)
		if (strcmp(wcs_unit_name(*unit), name) == 0)
			return 0;
	return wcs_json_refuse(in, at, why);
}

static int keys_json_width(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	unsigned int width;
	int rc = keys_json_number(in, at, 1, 19, &width);

	if (rc == 0)
		((struct wcs_keys_segment *)to)->width = (unsigned char)width;
	return rc;
}

static const struct wcs_json_object keys_json_segment = {
	"must be an object or a name in quotes",
	"a segment has only name, codec, unit and width",
	{{"name", keys_json_name},
	 {"codec", keys_json_codec},
	 {"unit", keys_json_unit},
	 {"width", keys_json_width}}};

static int keys_json_segments(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	struct wcs_json_at inner = {.up = at};
	struct wcs_keys *keys = to;
	int rc = json_is_array(at->json) ? 0 : wcs_json_refuse(in, at, "must be a list");

	while (rc == 0 && inner.count < json_array_size(at->json)) {
		struct wcs_keys_segment *segment = &keys->segments[inner.count];

		if (inner.count == WCS_KEYS_SEGMENTS_MAX)
			return wcs_json_refuse(in, at, "a design has at most 32 segments");
		inner.json = json_array_get(at->json, inner.count++);
		rc = json_is_string(inner.json)
			     ? keys_json_name(in, &inner, segment)
			     : wcs_json_members(in, &inner, &keys_json_segment, segment);
		if (segment->width == 0)
			segment->width = wcs_codec_width(segment->codec);
		keys->segment_count = inner.count;
		if (rc == 0)
			rc = wcs_json_keys_check(in, &inner, keys, 0);
	}
	return rc;
}

static int keys_json_buckets(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	return keys_json_number(in, at, 2, WCS_KEYS_BUCKETS_MAX, &((struct wcs_keys *)to)->buckets);
}

static int keys_json_salted(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	return keys_json_number(in, at, 0, WCS_KEYS_SEGMENTS_MAX,
				&((struct wcs_keys *)to)->salt_segments);
}

static int keys_json_salt(struct wcs_json_text *in, const struct wcs_json_at *at, void *to)
{
	static const struct wcs_json_object salt = {
		"must be an object",
		"a salt has only buckets and segments",
		{{"buckets", keys_json_buckets}, {"segments", keys_json_salted}}};
	struct wcs_keys *keys = to;
	int rc = wcs_json_members(in, at, &salt, keys);

	return rc == 0 && keys->buckets == 0 ? wcs_json_refuse(in, at, "a salt has buckets") : rc;
}

int wcs_json_keys(struct wcs_json_text *in, const struct wcs_json_at *at, void *keys)
{
	static const struct wcs_json_object design = {
		"must be an object",
		"a design has only segments and salt",
		{{"segments", keys_json_segments}, {"salt", keys_json_salt}}};

	return wcs_json_members(in, at, &design, keys);
}

int wcs_keys_json_parse(const char *text, size_t len, struct wcs_keys *keys,
			struct wcs_fault *fault)
{
	struct wcs_keys made = {.segment_count = 0};
	int rc = wcs_json_load(text, len, fault, wcs_json_keys, &made);

	if (rc == 0)
		*keys = made;
	return rc == -EOVERFLOW ? -EINVAL : rc; /* no member is a large number */
}

/* ---- Writing ----------------------------------------------------------------------------- */

static json_t *keys_json_of_segment(const struct wcs_keys_segment *segment)
{
	json_t *json;

	if (segment->codec == WCS_CODEC_TEXT)
		return json_string(segment->name);
	json = json_pack("{s:s, s:s}", "name", segment->name, "codec",
			 wcs_codec_name(segment->codec));
	if ((segment->unit != WCS_UNIT_US &&
	     json_object_set_new(json, "unit", json_string(wcs_unit_name(segment->unit)))) ||
	    (segment->width != wcs_codec_width(segment->codec) &&
	     json_object_set_new(json, "width", json_integer(segment->width)))) {
		json_decref(json);
		return NULL;
	}
	return json;
}

json_t *wcs_json_of_keys(const struct wcs_keys *keys)
{
	json_t *json = json_object(), *segments = json_array(), *salt = json_object();
	int rc = 0;

	for (size_t i = 0; i < keys->segment_count; i++)
		rc |= json_array_append_new(segments, keys_json_of_segment(&keys->segments[i]));
	if (keys->segment_count > 0)
		rc |= json_object_set(json, "segments", segments);
	if (keys->buckets > 0)
		rc |= json_object_set(json, "salt", salt);
	rc |= json_object_set_new(salt, "buckets", json_integer(keys->buckets));
	if (keys->salt_segments > 0)
		rc |= json_object_set_new(salt, "segments", json_integer(keys->salt_segments));
	json_decref(segments);
	json_decref(salt);
	if (rc == 0)
		return json;
	json_decref(json);
	return NULL;
}

char *wcs_keys_json(const struct wcs_keys *keys)
{
	static const struct wcs_keys plain;

	return wcs_json_dump(wcs_json_of_keys(keys ? keys : &plain), JSON_COMPACT);
}
