/* SPDX-License-Identifier: MIT */
/*
 * Reads a JSON text in memory, with errors that name the place. Invariant: the decoded strings of a
 * text take no more bytes than the text itself: each is shorter than its spelling, and a string is
 * decoded once more only in its own place.
 */
#include "store/json/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "store/backend.h"

#define JSON_NAME_SHOWN 64u /* bytes of a name in an error */
#define JSON_PATH_SHOWN 160 /* bytes of a path in an error, which has 256 */
#define JSON_NAME_COST	64u /* bytes of memory for a name, at most */

/* A member of an object, to find repeated ones. */
struct wcs_json_name {
	struct wcs_slice name;
	const unsigned char *from; /* its opening quote in the text */
};

/* ---- Faults ------------------------------------------------------------------------------ */

void wcs_json_locate(const struct wcs_json_text *in, const unsigned char *byte)
{
	int line = 1, column = 1;

	if (!in->fault)
		return;
	for (const unsigned char *at = in->start; at < byte; at++) {
		if (*at == '\n') {
			line++;
			column = 1;
		} else if ((*at & 0xc0) != 0x80) {
			column++;
		}
	}
	in->fault->line = line;
	in->fault->column = column;
}

/* Text behind path without control bytes, at most JSON_NAME_SHOWN bytes of it. */
static void json_path_name(char *path, size_t room, struct wcs_slice name)
{
	const unsigned char *bytes = name.data;
	size_t n = strlen(path), shown = name.len;

	if (shown == 0)
		snprintf(path + n, room - n, "\"\"");
	if (shown > JSON_NAME_SHOWN)
		for (shown = JSON_NAME_SHOWN; shown > 0 && (bytes[shown] & 0xc0) == 0x80;)
			shown--;
	for (size_t i = 0; i < shown && n + 4 < room; i++)
		n += (size_t)snprintf(path + n, room - n,
				      bytes[i] < 0x20 || bytes[i] == 0x7f ? "%%%02X" : "%c",
				      bytes[i]);
	if (shown < name.len && n + 4 < room)
		snprintf(path + n, room - n, "...");
}

static void json_path(char *path, size_t room, const struct wcs_json_at *at)
{
	size_t n;

	if (!at)
		return;
	json_path(path, room, at->up);
	n = strlen(path);
	if (!at->name.data) {
		if (at->count > 0)
			snprintf(path + n, room - n, "[%zu]", at->count - 1);
		return;
	}
	if (n > 0)
		snprintf(path + n, room - n, ".");
	json_path_name(path, room, at->name);
}

int wcs_json_fault(const struct wcs_json_text *in, int rc, const struct wcs_json_at *at,
		   const char *format, ...)
{
	char path[JSON_PATH_SHOWN] = "", why[sizeof(in->fault->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	json_path(path, sizeof(path), at);
	return wcs_fault_set(in->fault, rc, "%s%s%s", path, *path ? ": " : "", why);
}

/* Fills the fault with the reason why the text is not JSON, at the reader's byte. */
static int json_fault_syntax(const struct wcs_json_text *in, const char *why)
{
	const struct wcs_json_reader *reader = &in->reader;
	int c = reader->at < reader->end ? *reader->at : -1;

	why = why ? why : reader->why;
	if (c == 0)
		why = "a NUL byte";
	else if (!why && c < 0)
		why = "it ends before its closing brace";
	else if (!why)
		why = c >= 0x80	  ? "bytes that are not UTF-8"
		      : c < 0x20  ? "a control byte"
		      : c == '\\' ? "an escape that JSON does not have"
				  : "an unexpected character";
	wcs_fault_set(in->fault, -EINVAL, "not JSON: %s", why);
	wcs_json_locate(in, reader->at);
	return -EINVAL;
}

/* ---- Texts ------------------------------------------------------------------------------- */

int wcs_json_start(struct wcs_json_text *in, const char *text, size_t len, struct wcs_fault *fault)
{
	if (grow(&in->bytes, &in->room, len + 1, 256, 1) != 0)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	in->start = (const unsigned char *)text;
	in->reader = (struct wcs_json_reader){.at = in->start, .end = in->start + len};
	in->fault = fault;
	in->to = in->bytes;
	in->name_count = 0;
	return 0;
}

void wcs_json_free(struct wcs_json_text *in)
{
	free(in->bytes);
	free(in->names);
}

/* ---- Objects and lists ------------------------------------------------------------------- */

int wcs_json_object(struct wcs_json_text *in, const struct wcs_json_at *at, const char *more)
{
	return wcs_json_read_byte(&in->reader, '{')
		       ? 0
		       : wcs_json_fault(in, -EINVAL, at, "must be an object%s", more);
}

static int json_names_order(const void *a, const void *b)
{
	const struct wcs_json_name *left = a, *right = b;
	int order = wcs_slice_compare(left->name, right->name);

	return order != 0 ? order : (left->from > right->from) - (left->from < right->from);
}

/* Ends an object: do its names differ? */
static int json_distinct(struct wcs_json_text *in, const struct wcs_json_at *at)
{
	size_t count = in->name_count - at->names, i = 1;
	struct wcs_json_name *names = count > 0 ? in->names + at->names : NULL;
	struct wcs_json_reader again = in->reader;
	struct wcs_json_at twice = {.up = at->up};

	in->name_count = at->names;
	while (i < count && wcs_slice_compare(names[i - 1].name, names[i].name) < 0)
		i++;
	if (i >= count) /* in order, as in an export */
		return 0;
	qsort(names, count, sizeof(*names), json_names_order);
	for (i = 1; i < count; i++)
		if ((!twice.from || names[i].from < twice.from) &&
		    wcs_slice_compare(names[i - 1].name, names[i].name) == 0)
			twice.from = names[i].from;
	if (!twice.from)
		return 0;
	again.at = twice.from + 1;
	in->to = in->bytes;
	wcs_json_read_string(&again, &in->to, &twice.name);
	wcs_json_fault(in, -EINVAL, &twice, "named twice");
	wcs_json_locate(in, twice.from);
	return -EINVAL;
}

int wcs_json_member(struct wcs_json_text *in, struct wcs_json_at *at)
{
	const unsigned char *decoded = in->to;
	int rc;

	if (at->count == 0)
		at->names = in->name_count;
	rc = wcs_json_read_next(&in->reader, '}', &at->count);
	if (rc == 0)
		return json_distinct(in, at);
	at->from = in->reader.at - 1;
	if (rc != 1 || wcs_json_read_string(&in->reader, &in->to, &at->name) != 0 ||
	    !wcs_json_read_byte(&in->reader, ':'))
		return -EBADMSG;
	if (memchr(decoded, 0, (size_t)(in->to - decoded))) {
		wcs_fault_set(in->fault, -EINVAL, "not JSON: a NUL in a name");
		wcs_json_locate(in, at->from);
		return -EINVAL;
	}
	if (in->limit > 0 && in->name_count >= in->limit / JSON_NAME_COST)
		return wcs_fault_set(in->fault, -EFBIG, "JSON that takes too much memory to read");
	if (grow(&in->names, &in->name_room, in->name_count + 1, 16, sizeof(*in->names)) != 0)
		return -ENOMEM;
	in->names[in->name_count++] = (struct wcs_json_name){at->name, at->from};
	return 1;
}

void wcs_json_rename(struct wcs_json_text *in, struct wcs_slice name)
{
	in->names[in->name_count - 1].name = name;
}

int wcs_json_element(struct wcs_json_text *in, struct wcs_json_at *at)
{
	int rc = wcs_json_read_next(&in->reader, ']', &at->count);

	at->from = in->reader.at;
	return rc;
}

bool wcs_json_is(const struct wcs_json_at *at, const char *name)
{
	return at->name.len == strlen(name) && memcmp(at->name.data, name, at->name.len) == 0;
}

/* ---- Values ------------------------------------------------------------------------------ */

int wcs_json_string(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		    struct wcs_slice *string)
{
	return wcs_json_read_byte(&in->reader, '"')
		       ? wcs_json_read_string(&in->reader, &in->to, string)
		       : wcs_json_fault(in, -EINVAL, at, "%s", why);
}

bool wcs_json_at_number(struct wcs_json_text *in)
{
	int c = wcs_json_read_peek(&in->reader);

	return c == '-' || (c >= '0' && c <= '9');
}

/* A number; the fault of one that is too large. */
static int json_number(struct wcs_json_text *in, const struct wcs_json_at *at, int64_t *number,
		       bool *whole)
{
	const unsigned char *start = in->reader.at;
	int rc = wcs_json_read_number(&in->reader, number, whole);

	if (rc == -EOVERFLOW) {
		wcs_json_fault(in, rc, at, "an integer beyond 64 bits");
		wcs_json_locate(in, start);
	}
	return rc;
}

int wcs_json_integer(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		     int64_t *number)
{
	bool whole = false;
	int rc = wcs_json_at_number(in) ? json_number(in, at, number, &whole) : 0;

	return rc == 0 && !whole ? wcs_json_fault(in, -EINVAL, at, "%s", why) : rc;
}

unsigned char *wcs_json_room(struct wcs_json_text *in, struct wcs_slice string)
{
	if ((const unsigned char *)string.data + string.len == in->to)
		in->to -= string.len;
	return in->to;
}

char *wcs_json_copy(struct wcs_json_text *in, struct wcs_slice string)
{
	char *copy = (char *)wcs_json_room(in, string);

	memmove(copy, string.data, string.len);
	copy[string.len] = '\0';
	in->to += string.len + 1;
	return copy;
}

/* ---- Any value --------------------------------------------------------------------------- */

#define JSON_DEPTH 512 /* of objects and lists in each other */

static int json_skip(struct wcs_json_text *in, const struct wcs_json_at *at, int depth)
{
	struct wcs_json_at inner = {.up = at};
	struct wcs_slice string;
	int64_t number;
	int rc = 0, c = wcs_json_read_peek(&in->reader);

	if (c == '"')
		return wcs_json_string(in, at, "", &string);
	if (wcs_json_at_number(in))
		return json_number(in, at, &number, &(bool){false});
	if (c != '{' && c != '[')
		return wcs_json_read_word(&in->reader, "true") ||
				       wcs_json_read_word(&in->reader, "false") ||
				       wcs_json_read_word(&in->reader, "null")
			       ? 0
			       : -EBADMSG;
	if (depth == 0) {
		wcs_fault_set(in->fault, -EINVAL, "objects and lists are more than %d deep",
			      JSON_DEPTH);
		wcs_json_locate(in, in->reader.at);
		return -EINVAL;
	}
	in->reader.at++;
	while (rc == 0 &&
	       (rc = c == '{' ? wcs_json_member(in, &inner) : wcs_json_element(in, &inner)) == 1)
		rc = json_skip(in, &inner, depth - 1);
	return rc;
}

int wcs_json_skip(struct wcs_json_text *in, const struct wcs_json_at *at)
{
	return json_skip(in, at, JSON_DEPTH);
}

/* ---- Ends -------------------------------------------------------------------------------- */

int wcs_json_check(struct wcs_json_text *in)
{
	struct wcs_json_reader *reader = &in->reader;
	int c, rc;

	reader->at = in->start;
	in->to = in->bytes;
	in->name_count = 0;
	c = wcs_json_read_peek(reader);
	if (c != '{' && c != '[')
		return json_fault_syntax(in, c < 0 ? "it is empty" : "it must start with '{'");
	rc = wcs_json_skip(in, NULL);
	if (rc == 0 && wcs_json_read_peek(reader) >= 0)
		return json_fault_syntax(in, "text behind the closing brace");
	return rc == -EBADMSG ? json_fault_syntax(in, NULL) : rc;
}

int wcs_json_finish(struct wcs_json_text *in, int rc)
{
	int first;

	if (rc == 0 && wcs_json_read_peek(&in->reader) < 0)
		return 0;
	if (rc == -ENOMEM)
		return wcs_fault_set(in->fault, rc, "no memory");
	first = wcs_json_check(in);
	return first != 0 ? first : rc;
}
