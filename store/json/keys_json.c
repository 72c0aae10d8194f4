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

int wcs_json_keys_check(const struct wcs_json_text *in, const struct wcs_json_at *at,
			const struct wcs_keys *keys, unsigned char delimiter)
{
	struct wcs_fault why;

	return wcs_keys_check(keys, delimiter, &why) == 0 ? 0 : wcs_json_refuse(in, at, why.text);
}

/* Reads a whole number of that range. */
static int keys_json_number(struct wcs_json_text *in, const struct wcs_json_at *at, int64_t min,
			    int64_t max, int64_t *number)
{
	char why[64];
	int rc;

	snprintf(why, sizeof(why), "must be a whole number from %d to %d", (int)min, (int)max);
	rc = wcs_json_integer(in, at, why, number);
	if (rc == 0 && (*number < min || *number > max))
		rc = -EINVAL;
	return rc == -EINVAL ? wcs_json_refuse(in, at, why) : rc;
}

static int keys_json_name(struct wcs_json_text *in, const struct wcs_json_at *at, char *name)
{
	static const char why[] = "a segment's name is 1 to 64 of -_.a-zA-Z0-9";
	const char *text;
	int rc = wcs_json_words(in, at, why, &text);

	if (rc == 0 && strlen(text) > WCS_KEYS_NAME_MAX)
		rc = wcs_json_refuse(in, at, why);
	if (rc == 0)
		strcpy(name, text);
	return rc;
}

static int keys_json_codec(struct wcs_json_text *in, const struct wcs_json_at *at,
			   enum wcs_codec *codec)
{
	static const char why[] = "must be \"text\", \"reverse-domain\", \"time\", "
				  "\"reverse-time\", \"pad\" or \"reverse\"";
	const char *name;
	int rc = wcs_json_words(in, at, why, &name), i = 0;

	if (rc != 0)
		return rc;
	while (wcs_codec_name((enum wcs_codec)i) &&
	       strcmp(wcs_codec_name((enum wcs_codec)i), name) != 0)
		i++;
	*codec = (enum wcs_codec)i;
	return wcs_codec_name(*codec) ? 0 : wcs_json_refuse(in, at, why);
}

static int keys_json_unit(struct wcs_json_text *in, const struct wcs_json_at *at,
			  enum wcs_unit *unit)
{
	static const char why[] = "must be \"us\", \"ms\" or \"s\"";
	const char *name;
	int rc = wcs_json_words(in, at, why, &name), i = 0;

	if (rc != 0)
		return rc;
	while (wcs_unit_name((enum wcs_unit)i) &&
	       strcmp(wcs_unit_name((enum wcs_unit)i), name) != 0)
		i++;
	*unit = (enum wcs_unit)i;
	return wcs_unit_name(*unit) ? 0 : wcs_json_refuse(in, at, why);
}

static int keys_json_segment(struct wcs_json_text *in, const struct wcs_json_at *at,
			     struct wcs_keys_segment *segment)
{
	struct wcs_json_at inner = {.up = at};
	int64_t width = 0;
	int rc;

	if (wcs_json_read_peek(&in->reader) == '"')
		return keys_json_name(in, at, segment->name);
	rc = wcs_json_begin(in, at, " or a name in quotes");
	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		if (wcs_json_is(&inner, "name"))
			rc = keys_json_name(in, &inner, segment->name);
		else if (wcs_json_is(&inner, "codec"))
			rc = keys_json_codec(in, &inner, &segment->codec);
		else if (wcs_json_is(&inner, "unit"))
			rc = keys_json_unit(in, &inner, &segment->unit);
		else if (wcs_json_is(&inner, "width"))
			rc = keys_json_number(in, &inner, 1, 19, &width);
		else
			rc = wcs_json_refuse(in, &inner,
					     "a segment has only name, codec, unit and width");
	}
	segment->width = width > 0 ? (unsigned char)width : wcs_codec_width(segment->codec);
	return rc;
}

static int keys_json_segments(struct wcs_json_text *in, const struct wcs_json_at *at,
			      struct wcs_keys *keys)
{
	struct wcs_json_at inner = {.up = at};
	int rc = wcs_json_read_byte(&in->reader, '[') ? 0
						      : wcs_json_refuse(in, at, "must be a list");

	while (rc == 0 && (rc = wcs_json_element(in, &inner)) == 1) {
		wcs_json_read_peek(&in->reader);
		inner.from = in->reader.at; /* behind white space */
		if (keys->segment_count == WCS_KEYS_SEGMENTS_MAX)
			return wcs_json_refuse(in, at, "a design has at most 32 segments");
		rc = keys_json_segment(in, &inner, &keys->segments[keys->segment_count++]);
		if (rc == 0)
			rc = wcs_json_keys_check(in, &inner, keys, 0);
	}
	return rc;
}

static int keys_json_salt(struct wcs_json_text *in, const struct wcs_json_at *at,
			  struct wcs_keys *keys)
{
	struct wcs_json_at inner = {.up = at};
	int64_t buckets = 0, salted = 0;
	int rc = wcs_json_begin(in, at, "");

	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		if (wcs_json_is(&inner, "buckets"))
			rc = keys_json_number(in, &inner, 2, WCS_KEYS_BUCKETS_MAX, &buckets);
		else if (wcs_json_is(&inner, "segments"))
			rc = keys_json_number(in, &inner, 0, WCS_KEYS_SEGMENTS_MAX, &salted);
		else
			rc = wcs_json_refuse(in, &inner, "a salt has only buckets and segments");
	}
	if (rc == 0 && buckets == 0)
		rc = wcs_json_refuse(in, at, "a salt has buckets");
	keys->buckets = (unsigned int)buckets;
	keys->salt_segments = (unsigned int)salted;
	return rc;
}

int wcs_json_keys(struct wcs_json_text *in, const struct wcs_json_at *at, struct wcs_keys *keys)
{
	struct wcs_json_at inner = {.up = at};
	int rc = wcs_json_begin(in, at, "");

	while (rc == 0 && (rc = wcs_json_member(in, &inner)) == 1) {
		if (wcs_json_is(&inner, "segments"))
			rc = keys_json_segments(in, &inner, keys);
		else if (wcs_json_is(&inner, "salt"))
			rc = keys_json_salt(in, &inner, keys);
		else
			rc = wcs_json_refuse(in, &inner, "a design has only segments and salt");
	}
	return rc;
}

int wcs_keys_json_parse(const char *text, size_t len, struct wcs_keys *keys,
			struct wcs_fault *fault)
{
	struct wcs_json_text in = {.fault = fault};
	struct wcs_keys made = {.segment_count = 0};
	int rc = wcs_json_start(&in, text, len, fault);

	if (rc == 0)
		rc = wcs_json_finish(&in, wcs_json_keys(&in, NULL, &made));
	wcs_json_free(&in);
	if (rc == 0)
		*keys = made;
	return rc == -EOVERFLOW ? -EINVAL : rc; /* no member is a large number */
}

/* ---- Writing ----------------------------------------------------------------------------- */

static void keys_json_put_segment(FILE *out, const struct wcs_keys_segment *segment)
{
	if (segment->codec == WCS_CODEC_TEXT) {
		fprintf(out, "\"%s\"", segment->name);
		return;
	}
	fprintf(out, "{\"name\": \"%s\", \"codec\": \"%s\"", segment->name,
		wcs_codec_name(segment->codec));
	if (segment->unit != WCS_UNIT_US)
		fprintf(out, ", \"unit\": \"%s\"", wcs_unit_name(segment->unit));
	if (segment->width != wcs_codec_width(segment->codec))
		fprintf(out, ", \"width\": %u", segment->width);
	fputs("}", out);
}

void wcs_json_put_keys(FILE *out, const struct wcs_keys *keys, int indent)
{
	if (keys->segment_count == 0 && keys->buckets == 0) {
		fputs("{}", out);
		return;
	}
	fputs("{", out);
	if (keys->segment_count > 0)
		fprintf(out, "\n%*s\"segments\": [", indent + 2, "");
	for (size_t i = 0; i < keys->segment_count; i++) {
		fprintf(out, "%s\n%*s", i > 0 ? "," : "", indent + 4, "");
		keys_json_put_segment(out, &keys->segments[i]);
	}
	if (keys->segment_count > 0)
		fprintf(out, "\n%*s]%s", indent + 2, "", keys->buckets > 0 ? "," : "");
	if (keys->buckets > 0)
		fprintf(out, "\n%*s\"salt\": {\"buckets\": %u", indent + 2, "", keys->buckets);
	if (keys->salt_segments > 0)
		fprintf(out, ", \"segments\": %u", keys->salt_segments);
	fprintf(out, "%s\n%*s}", keys->buckets > 0 ? "}" : "", indent, "");
}

char *wcs_keys_json(const struct wcs_keys *keys)
{
	static const struct wcs_keys plain;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	wcs_json_put_keys(out, keys ? keys : &plain, 0);
	fputs("\n", out);
	if (fclose(out) == 0)
		return wcs_json_one_line(text);
	free(text);
	return NULL;
}
