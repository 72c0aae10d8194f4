/* SPDX-License-Identifier: MIT */
/*
 * A JSON text in memory that is read in one pass, with errors that name the place. Private to
 * store/json.
 *
 * -EBADMSG: the text is not JSON; wcs_json_finish fills the fault then. Other errors have filled
 * it.
 */
#ifndef WCS_JSON_H
#define WCS_JSON_H

#include <jansson.h>

#include "store/json/json_read.h"
#include "store/keys/keys.h"

struct wcs_json_text {
	struct wcs_json_reader reader;
	struct wcs_fault *fault; /* may be NULL */
	const unsigned char *start;
	unsigned char *bytes, *to; /* decoded strings; `to` is behind the last one */
	size_t room;
	struct wcs_json_name *names; /* of the objects around the present place */
	size_t name_count, name_room;
	size_t limit; /* bytes of memory for names; 0: any */
};

/* A place in a text: a chain on the stack of the functions that read it. NULL: the whole text. */
struct wcs_json_at {
	const struct wcs_json_at *up;
	struct wcs_slice name;	   /* of the present member; data NULL: an element of a list */
	const unsigned char *from; /* the name's opening quote, or the element */
	size_t names;		   /* those of the text before the first member */
	size_t count; /* of members or elements, with the present one; 0: of the root */
	json_t *json; /* the value in a tree */
};

/* Starts to read a text; `in` is all zero but for limit, or its memory is used again. -ENOMEM: the
 * fault is filled. */
int wcs_json_start(struct wcs_json_text *in, const char *text, size_t len, struct wcs_fault *fault);
/* Ends it; rc is the result so far. A text that is not JSON, has an object with a member twice, or
 * an integer beyond 64 bits, gets that error, whatever else is wrong. */
int wcs_json_finish(struct wcs_json_text *in, int rc);
void wcs_json_free(struct wcs_json_text *in);
/* Looks for the faults of a text that come first, wherever they are. 0: there is none. */
int wcs_json_check(struct wcs_json_text *in);

/* Fills the fault with "tables.t.delimiter: why" and leaves its line open. Returns rc. */
int wcs_json_fault(const struct wcs_json_text *in, int rc, const struct wcs_json_at *at,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Sets line and column of the fault to those of a byte of the text. */
void wcs_json_locate(const struct wcs_json_text *in, const unsigned char *byte);

/* Goes into an object, or fails with "must be an object" and more. */
int wcs_json_object(struct wcs_json_text *in, const struct wcs_json_at *at, const char *more);
/* Goes to the next member of an object, or element of a list, at its value. Before the first `at`
 * is all zero but for up. 1; 0: there is none; or an error, also if two members had one name. */
int wcs_json_member(struct wcs_json_text *in, struct wcs_json_at *at);
int wcs_json_element(struct wcs_json_text *in, struct wcs_json_at *at);
/* Is that the present member's name? */
bool wcs_json_is(const struct wcs_json_at *at, const char *name);
/* Compares the present member by these bytes when repeated names are looked for. */
void wcs_json_rename(struct wcs_json_text *in, struct wcs_slice name);
/* Skips a value of any kind. */
int wcs_json_skip(struct wcs_json_text *in, const struct wcs_json_at *at);

/* Read a string, a whole number. Another value is an error with the text why. The string lies in
 * the text, or in bytes. */
int wcs_json_string(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		    struct wcs_slice *string);
int wcs_json_integer(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		     int64_t *number);
/* Does a number come? */
bool wcs_json_at_number(struct wcs_json_text *in);

/* Sets `to` to the place where the string read last may be decoded, which it returns: that of the
 * string, if it is in bytes. The caller moves `to` behind the result. */
unsigned char *wcs_json_room(struct wcs_json_text *in, struct wcs_slice string);
/* A copy of the string read last, with a NUL behind it. */
char *wcs_json_copy(struct wcs_json_text *in, struct wcs_slice string);

/* ---- json_tree.c: all that is no row, as jansson's tree ---- */
/* Reads a value; `to` is the caller's. An error has filled the fault, but for -ENOMEM. */
typedef int wcs_json_read(struct wcs_json_text *in, const struct wcs_json_at *at, void *to);
/* Parses a whole text and reads its root. -EINVAL, -EOVERFLOW, -EFBIG (TREE_MOST), -ENOMEM: the
 * fault is filled. */
int wcs_json_load(const char *text, size_t len, struct wcs_fault *fault, wcs_json_read *read,
		  void *to);

struct wcs_json_object {
	const char *is;	  /* the fault of another value: "must be an object" */
	const char *only; /* the fault of another member */
	struct {
		const char *name;    /* NULL: the last row, of all other names */
		wcs_json_read *read; /* NULL: it is refused */
	} members[5];
};
/* Reads each member of an object, until one fails. */
int wcs_json_members(struct wcs_json_text *in, const struct wcs_json_at *at,
		     const struct wcs_json_object *object, void *to);

/* Fills the fault with "tables.t.delimiter: why", line and column of the member, or element.
 * Returns -EINVAL. */
int wcs_json_refuse(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why);
/* Refuses a string that has a fault of its own, with the line and column of that fault in the JSON.
 * The string is ASCII up to that fault. */
int wcs_json_refuse_inside(struct wcs_json_text *in, const struct wcs_json_at *at,
			   const struct wcs_fault *why);
/* A string without NUL, which is the tree's; else the value is refused. */
int wcs_json_words(struct wcs_json_text *in, const struct wcs_json_at *at, const char *why,
		   const char **string);
/* The text with a newline, and releases json (NULL: no memory). The caller frees it. NULL: no
 * memory. */
char *wcs_json_dump(json_t *json, size_t flags);

/* ---- keys_json.c ---- */
/* Reads a design, which is all zero at first, and checks it without a delimiter. */
wcs_json_read wcs_json_keys;
/* As wcs_keys_check. */
int wcs_json_keys_check(struct wcs_json_text *in, const struct wcs_json_at *at,
			const struct wcs_keys *keys, unsigned char delimiter);
/* It as an object; NULL: no memory. */
json_t *wcs_json_of_keys(const struct wcs_keys *keys);

/* ---- schema_json.c ---- */
/* As wcs_schema_parse, but -EOVERFLOW: an integer beyond 64 bits. */
int wcs_schema_read(const char *text, size_t len, struct wcs_schema **schema,
		    struct wcs_fault *fault);

#endif
