/* SPDX-License-Identifier: MIT */
/*
 * JSON as rowfs and as jansson read it: both take a text, or both refuse it; a text that both take
 * has the same values; and the writes of a row are those of jansson's tree.
 */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "store/json/json.h"
#include "store/mutation.h"
#include "store/rows.h"

/* ---- Any value ---------------------------------------------------------------------------- */

static bool json_fuzz_same_string(struct wcs_json_text *in, const char *text, size_t len)
{
	struct wcs_slice string;

	return wcs_json_read_string(&in->reader, &in->to, &string) == 0 &&
	       fuzz_same(string.data, string.len, text, len);
}

/* Is the next value of the reader the same as jansson's? */
static bool json_fuzz_same(struct wcs_json_text *in, json_t *json)
{
	struct wcs_json_reader *reader = &in->reader;
	size_t count = 0, i;
	int64_t number;
	const char *name;
	json_t *element;
	bool whole;

	switch (json_typeof(json)) {
	case JSON_OBJECT:
		if (!wcs_json_read_byte(reader, '{'))
			return false;
		json_object_foreach(json, name,
				    element) if (wcs_json_read_next(reader, '}', &count) != 1 ||
						 !json_fuzz_same_string(in, name, strlen(name)) ||
						 !wcs_json_read_byte(reader, ':') ||
						 !json_fuzz_same(in, element)) return false;
		return wcs_json_read_next(reader, '}', &count) == 0;
	case JSON_ARRAY:
		if (!wcs_json_read_byte(reader, '['))
			return false;
		json_array_foreach(json, i,
				   element) if (wcs_json_read_next(reader, ']', &count) != 1 ||
						!json_fuzz_same(in, element)) return false;
		return wcs_json_read_next(reader, ']', &count) == 0;
	case JSON_STRING:
		return wcs_json_read_byte(reader, '"') &&
		       json_fuzz_same_string(in, json_string_value(json), json_string_length(json));
	case JSON_INTEGER:
	case JSON_REAL:
		return wcs_json_read_peek(reader) >= 0 &&
		       wcs_json_read_number(reader, &number, &whole) == 0 &&
		       whole == json_is_integer(json) &&
		       (!whole || number == json_integer_value(json));
	case JSON_TRUE:
		return wcs_json_read_word(reader, "true");
	case JSON_FALSE:
		return wcs_json_read_word(reader, "false");
	default:
		return wcs_json_read_word(reader, "null");
	}
}

/* ---- Rows --------------------------------------------------------------------------------- */

static bool json_fuzz_is(struct wcs_slice slice, json_t *text, bool base64)
{
	const char *string = json_string_value(text);
	size_t len = json_string_length(text);
	unsigned char *bytes = malloc(len + 1);
	bool same = base64 ? wcs_text_base64_decode(string, len, bytes, &len) == 0
			   : memcpy(bytes, string, len) != NULL;

	same = same && fuzz_same(slice.data, slice.len, bytes, len);
	free(bytes);
	return same;
}

static bool json_fuzz_is_name(struct wcs_slice slice, const char *text)
{
	size_t len = strlen(text);
	unsigned char *bytes = malloc(len + 1);
	bool same = wcs_text_decode(text, len, bytes, &len) == 0 &&
		    fuzz_same(slice.data, slice.len, bytes, len);

	free(bytes);
	return same;
}

static void json_fuzz_write(const struct wcs_write *write, json_t *cell)
{
	json_t *value = json_is_object(cell) ? json_object_get(cell, "value") : cell;
	json_t *ts = json_object_get(cell, "ts"), *state = json_object_get(cell, "state");
	json_t *base64 = json_object_get(cell, "base64");

	FUZZ_CHECK(write->ts == (ts ? json_integer_value(ts) : WCS_TS_SERVER));
	if (state || base64)
		FUZZ_CHECK(json_fuzz_is(write->value, state ? state : base64, true));
	else if (json_is_integer(value))
		FUZZ_CHECK(write->delta == json_integer_value(value));
	else if (write->kind == WCS_WRITE_INCREMENT)
		FUZZ_CHECK(write->delta == strtoll(json_string_value(value), NULL, 10));
	else
		FUZZ_CHECK(json_fuzz_is(write->value, value, false));
}

/* The writes stand in the order of the text. */
static void json_fuzz_row(const struct wcs_line *line, json_t *root)
{
	const struct wcs_mutation *mutation = line->mutation;
	json_t *key = json_object_get(root, "key"), *part, *columns, *cells;
	const char *member, *family, *name;
	size_t k = 0;

	FUZZ_CHECK((key != NULL) == (line->key.data != NULL));
	FUZZ_CHECK(!key || json_fuzz_is_name(line->key, json_string_value(key)) ||
		   strlen(json_string_value(key)) != json_string_length(key));
	json_object_foreach(root, member, part)
	{
		if (strcmp(member, "key") == 0 || strcmp(member, "delete") == 0 ||
		    strcmp(member, "if") == 0 || strcmp(member, "ts") == 0)
			continue;
		json_object_foreach(part, family, columns) json_object_foreach(columns, name, cells)
		{
			size_t count = json_is_array(cells) ? json_array_size(cells) : 1;

			for (size_t i = 0; i < count; i++, k++) {
				FUZZ_CHECK(k < mutation->write_count);
				FUZZ_CHECK(strcmp(mutation->writes[k].family, family) == 0);
				FUZZ_CHECK(json_fuzz_is_name(mutation->writes[k].qualifier, name));
				json_fuzz_write(&mutation->writes[k],
						json_is_array(cells) ? json_array_get(cells, i)
								     : cells);
			}
		}
	}
	FUZZ_CHECK(k == mutation->write_count);
}

/* ---- Inputs ------------------------------------------------------------------------------- */

/* May the text be deeper than rowfs reads? */
static bool json_fuzz_deep(const uint8_t *text, size_t len)
{
	size_t brackets = 0;

	for (size_t i = 0; i < len; i++)
		brackets += text[i] == '[' || text[i] == '{';
	return brackets > 500;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wcs_line *line;
	static struct wcs_json_text all;
	struct wcs_fault fault = {.text = ""};
	json_error_t why;
	json_t *root;
	char *text;
	int rc;

	if (json_fuzz_deep(data, size))
		return 0;
	text = fuzz_text(data, size);
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (root && memchr(text, 0, size)) { /* jansson overlooks a NUL behind a number */
		json_decref(root);
		root = NULL;
	}
	FUZZ_CHECK(wcs_json_start(&all, text, size, &fault) == 0);
	rc = wcs_json_read_peek(&all.reader);
	rc = rc == '{' || rc == '[' ? wcs_json_skip(&all, NULL) : -EBADMSG;
	rc = wcs_json_finish(&all, rc);
	FUZZ_CHECK((rc != 0) == (fault.text[0] != '\0'));
	/* 1e999 is JSON, but no double. */
	FUZZ_CHECK((rc == 0) == (root != NULL) ||
		   (!root && strstr(why.text, "real number overflow")));
	if (root && rc == 0) {
		FUZZ_CHECK(wcs_json_start(&all, text, size, &fault) == 0);
		FUZZ_CHECK(json_fuzz_same(&all, root));
		FUZZ_CHECK(wcs_json_read_peek(&all.reader) < 0);
	}
	fault.text[0] = '\0';
	rc = wcs_line_parse(text, size, NULL, &line, &fault);
	FUZZ_CHECK((rc != 0) == (fault.text[0] != '\0'));
	FUZZ_CHECK(rc != 0 || root);
	if (rc == 0 && line->kind == WCS_LINE_ROW)
		json_fuzz_row(line, root);
	json_decref(root);
	free(text);
	return 0;
}
