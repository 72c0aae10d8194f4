/* SPDX-License-Identifier: MIT */
/* Text in the %XX spelling of keys and qualifiers, see store.h. Private. */
#ifndef WCS_TEXT_H
#define WCS_TEXT_H

#include "store/store.h"

/* As wcs_text_encode, into text, which has room for three times the bytes, without a NUL. Returns
 * the length. */
size_t wcs_text_spell(struct wcs_slice bytes, char *text);

/* The byte that the start of len >= 1 bytes of such text stands for. Returns how many bytes of the
 * text it takes; 0: a '%' without two upper-case hex digits behind it. */
size_t wcs_text_byte(const char *text, size_t len, unsigned char *byte);

#endif
