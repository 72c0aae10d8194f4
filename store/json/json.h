/* SPDX-License-Identifier: MIT */
/* JSON errors that name the place. Private to store/json. */
#ifndef WCS_JSON_H
#define WCS_JSON_H

#include <jansson.h>

#include "store/store.h"

/* A place in a JSON text: a chain of names on the stack of the functions that walk it. NULL: the
 * whole text. */
struct wcs_json_at {
	const struct wcs_json_at *up;
	const char *name; /* of the member; NULL: an element of a list */
	size_t index;	  /* of the element */
};

/* As json_loadb. -EINVAL: the text is not JSON, *why has the reason; -ENOMEM; -EFBIG: its tree
 * takes more than the limit of wcs_json_limit. *why is set only with -EINVAL. */
int wcs_json_load(const char *text, size_t len, size_t flags, json_t **json, json_error_t *why);

/* Parses one JSON object; a repeated member anywhere in it is an error. Strings may hold NUL.
 * -EINVAL, and -EOVERFLOW for an integer beyond 64 bits: fault has line, column and reason. The
 * caller releases *root with json_decref. */
int wcs_json_parse(const char *text, size_t len, json_t **root, struct wcs_fault *fault);

/* Fills a fault with "tables.t.delimiter: why" and leaves its line open. Returns rc. */
int wcs_json_fault(struct wcs_fault *fault, int rc, const struct wcs_json_at *at,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Sets line and column of a fault to those of the member `at`, which has no list above it. The text
 * is one that wcs_json_parse accepted. */
void wcs_json_locate(const char *text, size_t len, const struct wcs_json_at *at,
		     struct wcs_fault *fault);

#endif
