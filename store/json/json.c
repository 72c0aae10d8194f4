/* SPDX-License-Identifier: MIT */
/*
 * Parses JSON, with errors that name the place. jansson's tree has no positions, so a second pass
 * over the text finds them. It runs only for an error, and trusts the text that jansson accepted.
 */
#include "store/json/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/backend.h"

#define JSON_SCAN_DEPTH 16  /* nothing that is valid goes deeper than 6 */
#define JSON_NAME_SHOWN 64  /* bytes of a name in an error */
#define JSON_PATH_SHOWN 160 /* bytes of a path in an error, which has 256 */

/* An object or list that the scan is in. */
struct json_frame {
	bool object;
	bool at_key;	/* the next string is a member's name */
	size_t key;	/* offset of the current member's name, with its quotes */
	size_t key_len; /* 0: before the first */
	size_t index;	/* of the current element */
};

struct json_scan {
	const char *text;
	size_t len;
	size_t pos;
	size_t depth; /* may exceed the frames: those are only counted */
	struct json_frame frames[JSON_SCAN_DEPTH];
};

static void json_scan_string(struct json_scan *scan)
{
	while (scan->pos < scan->len) {
		char c = scan->text[scan->pos++];

		if (c == '"')
			return;
		if (c == '\\' && scan->pos < scan->len)
			scan->pos++;
	}
}

/* Goes on to the next member of any object; pos is then behind its name. false: the end. */
static bool json_scan_next(struct json_scan *scan)
{
	while (scan->pos < scan->len) {
		struct json_frame *top = NULL;
		size_t start = scan->pos++;
		bool object = scan->text[start] == '{';

		if (scan->depth > 0 && scan->depth <= JSON_SCAN_DEPTH)
			top = &scan->frames[scan->depth - 1];
		switch (scan->text[start]) {
		case '{':
		case '[':
			if (scan->depth < JSON_SCAN_DEPTH)
				scan->frames[scan->depth] =
					(struct json_frame){.object = object, .at_key = object};
			scan->depth++;
			break;
		case '}':
		case ']':
			if (scan->depth > 0)
				scan->depth--;
			break;
		case ',':
			if (top) {
				top->at_key = top->object;
				top->index++;
			}
			break;
		case '"':
			json_scan_string(scan);
			if (!top || !top->at_key)
				break;
			top->at_key = false;
			top->key = start;
			top->key_len = scan->pos - start;
			return true;
		}
	}
	return false;
}

/* The name of a frame's current member, decoded by jansson; NULL: no memory for it. */
static json_t *json_frame_name(const struct json_scan *scan, const struct json_frame *frame)
{
	json_t *name = NULL;
	json_error_t why;

	wcs_json_load(scan->text + frame->key, frame->key_len, JSON_DECODE_ANY, &name, &why);
	return name;
}

static bool json_scan_is_at(const struct json_scan *scan, const struct wcs_json_at *at)
{
	size_t depth = scan->depth;

	if (depth > JSON_SCAN_DEPTH)
		return false;
	for (; at && depth > 0; at = at->up) {
		const struct json_frame *frame = &scan->frames[--depth];
		json_t *name;
		bool same;

		if (!frame->object || !at->name)
			return false;
		name = json_frame_name(scan, frame);
		same = name && strcmp(json_string_value(name), at->name) == 0;
		json_decref(name);
		if (!same)
			return false;
	}
	return !at && depth == 0;
}

/* Sets line and column of a fault, which may be NULL. */
static void json_position(const char *text, size_t offset, struct wcs_fault *fault)
{
	size_t line = 1, column = 1;

	if (!fault)
		return;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	fault->line = (int)line;
	fault->column = (int)column;
}

void wcs_json_locate(const char *text, size_t len, const struct wcs_json_at *at,
		     struct wcs_fault *fault)
{
	struct json_scan scan = {.text = text, .len = len};
	size_t offset = 0;

	while (fault && at && json_scan_next(&scan))
		if (json_scan_is_at(&scan, at)) {
			offset = scan.frames[scan.depth - 1].key;
			break;
		}
	json_position(text, offset, fault);
}

/* Text behind path without control bytes, at most JSON_NAME_SHOWN bytes of it. */
static void json_path_name(char *path, size_t room, const char *name)
{
	size_t n = strlen(path), shown = strnlen(name, JSON_NAME_SHOWN + 1);

	if (shown == 0)
		snprintf(path + n, room - n, "\"\"");
	if (shown > JSON_NAME_SHOWN) {
		shown = JSON_NAME_SHOWN;
		while (shown > 0 && ((unsigned char)name[shown] & 0xc0) == 0x80)
			shown--;
	}
	for (size_t i = 0; i < shown && n + 4 < room; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x20 || c == 0x7f) {
			n += (size_t)snprintf(path + n, room - n, "%%%02X", (unsigned)c);
		} else {
			path[n++] = (char)c;
			path[n] = '\0';
		}
	}
	if (name[shown] && n + 4 < room)
		snprintf(path + n, room - n, "...");
}

static void json_path(char *path, size_t room, const struct wcs_json_at *at)
{
	size_t n;

	if (!at)
		return;
	json_path(path, room, at->up);
	n = strlen(path);
	if (!at->name) {
		snprintf(path + n, room - n, "[%zu]", at->index);
		return;
	}
	if (n > 0)
		snprintf(path + n, room - n, ".");
	json_path_name(path, room, at->name);
}

int wcs_json_fault(struct wcs_fault *fault, int rc, const struct wcs_json_at *at,
		   const char *format, ...)
{
	char path[JSON_PATH_SHOWN] = "", why[sizeof(fault->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	json_path(path, sizeof(path), at);
	return wcs_fault_set(fault, rc, "%s%s%s", path, at ? ": " : "", why);
}

/* Fills a fault with the member that the scan is at. */
static int json_fault_member(struct wcs_fault *fault, int rc, const struct json_scan *scan,
			     const char *why)
{
	struct wcs_json_at at[JSON_SCAN_DEPTH];
	json_t *names[JSON_SCAN_DEPTH] = {NULL};
	size_t depth = scan->depth;

	for (size_t i = 0; i < depth; i++) {
		const struct json_frame *frame = &scan->frames[i];

		if (frame->object)
			names[i] = json_frame_name(scan, frame);
		at[i].up = i ? &at[i - 1] : NULL;
		at[i].name = names[i] ? json_string_value(names[i]) : NULL;
		at[i].index = frame->index;
	}
	wcs_json_fault(fault, rc, depth > 0 ? &at[depth - 1] : NULL, "%s", why);
	for (size_t i = 0; i < depth; i++)
		json_decref(names[i]);
	return rc;
}

/* Names the member that ends at offset end, the second of its name. */
static int json_fault_repeated(struct wcs_fault *fault, const char *text, size_t len, size_t end)
{
	struct json_scan scan = {.text = text, .len = len};

	while (json_scan_next(&scan) && scan.pos < end)
		;
	/* Deeper than the scan looks, it goes past the name, or to the end of a text that ends
	 * there. */
	if (scan.pos != end || scan.depth > JSON_SCAN_DEPTH)
		return wcs_fault_set(fault, -EINVAL, "a member named twice, deep inside");
	json_fault_member(fault, -EINVAL, &scan, "named twice");
	json_position(text, scan.frames[scan.depth - 1].key, fault);
	return -EINVAL;
}

/* jansson's reason, without the text that it quotes: that may be a key or a value. */
static int json_fault_syntax(struct wcs_fault *fault, const json_error_t *why)
{
	const char *text = why->text, *near = strstr(text, " near ");
	int len = (int)(near ? (size_t)(near - text) : strlen(text));

	if (json_error_code(why) == json_error_end_of_input_expected)
		wcs_fault_set(fault, -EINVAL, "not JSON: text behind the closing brace");
	else if (json_error_code(why) == json_error_premature_end_of_input)
		wcs_fault_set(fault, -EINVAL, "not JSON: it ends before its closing brace");
	else
		wcs_fault_set(fault, -EINVAL, "not JSON: %.*s", len, text);
	if (fault && why->line > 0) {
		fault->line = why->line;
		fault->column = why->column > 0 ? why->column : 1;
	}
	return -EINVAL;
}

/* Names the member whose number exceeds 64 bits; why->position is the number's end. */
static int json_fault_range(struct wcs_fault *fault, const char *text, const json_error_t *why)
{
	size_t end = (size_t)why->position;
	struct json_scan scan = {.text = text, .len = end};
	const struct json_frame *frame;

	while (json_scan_next(&scan))
		;
	if (scan.depth > JSON_SCAN_DEPTH)
		return wcs_fault_set(fault, -EOVERFLOW, "an integer beyond 64 bits, deep inside");
	frame = scan.depth > 0 ? &scan.frames[scan.depth - 1] : NULL;
	if (frame && frame->object && frame->at_key)
		return json_fault_syntax(fault, why);
	json_fault_member(fault, -EOVERFLOW, &scan, "an integer beyond 64 bits");
	while (end > 0 && strchr("-0123456789", text[end - 1]))
		end--;
	json_position(text, end, fault);
	return -EOVERFLOW;
}

static int json_fault_at(struct wcs_fault *fault, const char *text, size_t offset, const char *why)
{
	wcs_fault_set(fault, -EINVAL, "not JSON: %s", why);
	json_position(text, offset, fault);
	return -EINVAL;
}

int wcs_json_parse(const char *text, size_t len, json_t **root, struct wcs_fault *fault)
{
	const char *nul = len > 0 ? memchr(text, 0, len) : NULL;
	json_error_t why;
	size_t start = 0;
	json_t *json;
	int rc;

	if (nul) /* jansson overlooks a NUL behind a number or a word */
		return json_fault_at(fault, text, (size_t)(nul - text), "a NUL byte");
	while (start < len && strchr(" \t\r\n", text[start]))
		start++;
	if (start == len)
		return json_fault_at(fault, text, start, "it is empty");
	if (text[start] != '{' && text[start] != '[')
		return json_fault_at(fault, text, start, "it must start with '{'");
	rc = wcs_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json, &why);
	if (rc == -ENOMEM)
		return wcs_fault_set(fault, rc, "no memory");
	if (rc == -EFBIG)
		return wcs_fault_set(fault, rc, "JSON that takes too much memory to read");
	if (rc != 0 && json_error_code(&why) == json_error_duplicate_key)
		return json_fault_repeated(fault, text, len, (size_t)why.position);
	/* The code of integers is that of fractions, too, which are always wrong. */
	if (rc != 0 && json_error_code(&why) == json_error_numeric_overflow &&
	    strncmp(why.text, "too big ", 8) == 0)
		return json_fault_range(fault, text, &why);
	if (rc != 0)
		return json_fault_syntax(fault, &why);
	if (!json_is_object(json)) {
		json_decref(json);
		return wcs_fault_set(fault, -EINVAL, "must be an object in braces");
	}
	*root = json;
	return 0;
}
