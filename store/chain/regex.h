/* SPDX-License-Identifier: MIT */
/* Regular expressions: PCRE2 on bytes, never UTF, anchored at both ends; '.' matches every byte.
 * Nothing else knows PCRE2. */
#ifndef WCS_REGEX_H
#define WCS_REGEX_H

#include "store/store.h"

struct regex; /* immutable; any thread */

/* -EINVAL: the fault has the reason and, as column, the offset from 1; -ENOMEM. */
int regex_compile(struct wcs_slice text, struct regex **regex, struct wcs_fault *fault);
void regex_free(struct regex *regex);

/* Writes the bytes with which every match of the expression begins, as far as its text shows them;
 * to has room for text.len. Returns how many there are. */
size_t regex_literal(struct wcs_slice text, unsigned char *to);

/* The memory of matches; one thread at a time. NULL: no memory. */
struct regex_room;
struct regex_room *regex_room_new(void);
void regex_room_free(struct regex_room *room);

/* 1: all of bytes matches; 0: it does not; -E2BIG: that took too many steps or too much memory. */
int regex_match(const struct regex *regex, struct regex_room *room, struct wcs_slice bytes);

#endif
