/* SPDX-License-Identifier: MIT */
/*
 * Reads the cells of rows from text in pieces, in the spelling of wcs_export but for white space:
 *
 *   {"key":K,"families":{F:{Q:[{"ts":T,"value":V,"state":S},…],…},…}}
 *
 * "value" may be "base64"; only an inthll has "state". A long row takes several lines: each goes on
 * where the last one ended, maybe within a column.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/json/json_read.h"
#include "store/keys/keys.h"
#include "store/rows.h"

enum row_read_value { ROW_READ_NONE, ROW_READ_TEXT, ROW_READ_BASE64, ROW_READ_NUMBER };

struct wcs_reader {
	struct wcs_json_reader json; /* of room */
	int (*read)(void *ctx, void *buf, size_t len, size_t *got);
	void *ctx;
	int rc;		      /* the error of all later calls; 0: none yet */
	struct wcs_cell cell; /* its slices are those of names */
	enum wcs_part at;     /* the kind of the next name, or WCS_PART_TS: a cell */
	size_t counts[4];     /* of the names and cells before it, from 0 in each object and list */
	bool in_cell;	      /* at or in its value */
	enum row_read_value value; /* the kind of the unread part */
	struct wcs_slice run;	   /* text of it */
	char digits[24];	   /* of a number */
	unsigned char names[3][WCS_QUALIFIER_MAX];
	unsigned char spelled[3 * WCS_QUALIFIER_MAX]; /* the longest name with %XX */
	const struct wcs_keys *keys;
	unsigned char key[WCS_ROW_KEY_MAX]; /* of a shown form */
	unsigned char room[64u << 10];
};

/* wcs_json_reader's more. */
static bool row_read_more(struct wcs_json_reader *json)
{
	struct wcs_reader *reader = (struct wcs_reader *)json;
	size_t left = (size_t)(json->end - json->at), got = 0;

	memmove(reader->room, json->at, left);
	if (reader->rc == 0)
		reader->rc = reader->read(reader->ctx, reader->room + left,
					  sizeof(reader->room) - left, &got);
	json->at = reader->room;
	json->end = reader->room + left + got;
	return got > 0;
}

/* Skips these bytes, and white space before each. */
static bool row_read_bytes(struct wcs_reader *reader, const char *bytes)
{
	while (*bytes && wcs_json_read_byte(&reader->json, *bytes))
		bytes++;
	return !*bytes;
}

/* Skips a member's name, with its quotes, and the colon. */
static bool row_read_member(struct wcs_reader *reader, const char *name)
{
	return wcs_json_read_word(&reader->json, name) && row_read_bytes(reader, ":");
}

/* Reads a string with %XX, whose opening quote is read, as the name of that part. */
static int row_read_name(struct wcs_reader *reader, enum wcs_part part)
{
	static const size_t most[] = {WCS_ROW_KEY_MAX, WCS_FAMILY_NAME_MAX, WCS_QUALIFIER_MAX};
	struct wcs_slice *const slices[] = {&reader->cell.row, &reader->cell.family,
					    &reader->cell.qualifier};
	struct wcs_slice run, name = {reader->spelled, 0};
	int rc;

	while ((rc = wcs_json_read_run(&reader->json, &run)) == 1) {
		if (run.len > sizeof(reader->spelled) - name.len)
			return -EINVAL;
		memcpy(reader->spelled + name.len, run.data, run.len);
		name.len += run.len;
	}
	if (rc == 0 && part == WCS_PART_ROW && reader->keys) {
		rc = wcs_keys_parse(reader->keys, 0, name, NULL, reader->key, &name.len, NULL);
		name.data = reader->key;
	} else if (rc == 0) {
		rc = wcs_text_decode(name.data, name.len, reader->spelled, &name.len);
	}
	if (rc != 0 || name.len > most[part] || (name.len == 0 && part != WCS_PART_QUALIFIER))
		return -EINVAL;
	if (part < reader->cell.differs && wcs_slice_compare(name, *slices[part]) != 0)
		reader->cell.differs = part;
	*slices[part] =
		(struct wcs_slice){memcpy(reader->names[part], name.data, name.len), name.len};
	return 0;
}

/* ---- Values ------------------------------------------------------------------------------ */

/* 1: the value has text left, in run; 0: none; or an error. */
static int row_read_run(struct wcs_reader *reader)
{
	int rc = reader->run.len > 0;

	if (!rc && (reader->value == ROW_READ_TEXT || reader->value == ROW_READ_BASE64))
		rc = wcs_json_read_run(&reader->json, &reader->run);
	if (rc != 1)
		reader->value = ROW_READ_NONE;
	return rc;
}

/* Ends reading, with the error of read if it has one. */
static int row_read_fail(struct wcs_reader *reader)
{
	if (reader->rc == 0)
		reader->rc = -EINVAL;
	return reader->rc;
}

int wcs_reader_value(struct wcs_reader *reader, void *buf, size_t len, size_t *got)
{
	bool base64 = reader->value == ROW_READ_BASE64;
	size_t made = 0, room = base64 ? len & ~(size_t)3 : len, most;
	int rc;

	if (reader->rc != 0)
		return reader->rc;
	while ((rc = row_read_run(reader)) == 1 && made < room) {
		size_t n = room - made < reader->run.len ? room - made : reader->run.len;

		memcpy((char *)buf + made, reader->run.data, n);
		reader->run.data = (const char *)reader->run.data + n;
		reader->run.len -= n;
		made += n;
	}
	most = made / 4 * 3;
	if (rc >= 0 && base64 &&
	    (wcs_text_base64_decode(buf, made, buf, &made) || (rc == 1 && made < most)))
		rc = -EINVAL; /* padding, too, is only at the end */
	if (rc < 0)
		return row_read_fail(reader);
	*got = made;
	return rc;
}

/* Goes to the value of a cell. */
static int row_read_head(struct wcs_reader *reader)
{
	struct wcs_json_reader *json = &reader->json;
	int64_t *ts = &reader->cell.info.ts, number;
	bool whole;

	if (!row_read_bytes(reader, "{") || !row_read_member(reader, "\"ts\"") ||
	    wcs_json_read_number(json, ts, &whole) != 0 || !whole || *ts < 0 ||
	    !row_read_bytes(reader, ","))
		return -EINVAL;
	reader->run.len = 0;
	if (row_read_member(reader, "\"base64\"")) {
		reader->value = ROW_READ_BASE64;
		return row_read_bytes(reader, "\"") ? 0 : -EINVAL;
	}
	reader->value = ROW_READ_TEXT;
	if (!row_read_member(reader, "\"value\""))
		return -EINVAL;
	if (row_read_bytes(reader, "\""))
		return 0;
	if (wcs_json_read_number(json, &number, &whole) != 0 || !whole)
		return -EINVAL;
	reader->value = ROW_READ_NUMBER;
	reader->run.data = reader->digits;
	reader->run.len =
		(size_t)snprintf(reader->digits, sizeof(reader->digits), "%" PRId64, number);
	return 0;
}

/* Goes from a value, of which a part may be unread, to the end of its cell. */
static int row_read_leave(struct wcs_reader *reader)
{
	int rc;

	while ((rc = row_read_run(reader)) == 1)
		reader->run.len = 0;
	if (rc == 0 && row_read_bytes(reader, ",")) {
		if (!row_read_member(reader, "\"state\"") || !row_read_bytes(reader, "\""))
			return -EINVAL;
		while ((rc = wcs_json_read_run(&reader->json, &reader->run)) == 1)
			;
	}
	reader->in_cell = false;
	return rc == 0 && row_read_bytes(reader, "}") ? 0 : -EINVAL;
}

/* ---- Cells ------------------------------------------------------------------------------- */

/* Goes into the next line, object, list or cell. */
static int row_read_enter(struct wcs_reader *reader)
{
	static const char *const behind[] = {",", ":{", ":["};
	enum wcs_part part = reader->at;

	if (part == WCS_PART_TS) {
		reader->in_cell = true;
		return row_read_head(reader);
	}
	if (part == WCS_PART_ROW &&
	    (!row_read_bytes(reader, "{") || !row_read_member(reader, "\"key\"") ||
	     !row_read_bytes(reader, "\"")))
		return -EINVAL;
	if (row_read_name(reader, part) != 0 || !row_read_bytes(reader, behind[part]))
		return -EINVAL;
	if (part == WCS_PART_ROW &&
	    (!row_read_member(reader, "\"families\"") || !row_read_bytes(reader, "{")))
		return -EINVAL;
	reader->counts[++reader->at] = 0;
	return 0;
}

/* Takes the next step into or out of an object, list or cell. */
static int row_read_step(struct wcs_reader *reader)
{
	int rc = 1;

	if (reader->in_cell)
		return row_read_leave(reader);
	if (reader->at != WCS_PART_ROW)
		rc = wcs_json_read_next(&reader->json, reader->at == WCS_PART_TS ? ']' : '}',
					&reader->counts[reader->at]);
	if (rc == 1)
		return row_read_enter(reader);
	/* The line's own brace closes behind that of its families. */
	if (rc == 0 && --reader->at == WCS_PART_ROW && !row_read_bytes(reader, "}"))
		return -EINVAL;
	return rc;
}

int wcs_reader_next(struct wcs_reader *reader, struct wcs_cell *cell)
{
	int rc = reader->rc;

	reader->cell.differs = reader->cell.row.len > 0 ? WCS_PART_TS : WCS_PART_ROW;
	do {
		if (rc == 0 && !reader->in_cell && reader->at == WCS_PART_ROW &&
		    wcs_json_read_peek(&reader->json) < 0)
			return reader->rc;
		if (rc == 0)
			rc = row_read_step(reader);
		if (rc != 0)
			return row_read_fail(reader);
	} while (!reader->in_cell);
	*cell = reader->cell;
	return 1;
}

int wcs_reader_new(int (*read)(void *ctx, void *buf, size_t len, size_t *got), void *ctx,
		   const struct wcs_keys *keys, struct wcs_reader **reader)
{
	struct wcs_reader *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->json.more = row_read_more;
	made->json.at = made->json.end = made->room;
	made->read = read;
	made->ctx = ctx;
	made->keys = keys;
	made->cell.info.size = UINT64_MAX;
	*reader = made;
	return 0;
}

void wcs_reader_free(struct wcs_reader *reader)
{
	free(reader);
}
