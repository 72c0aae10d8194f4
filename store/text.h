/* SPDX-License-Identifier: MIT */
/* Bytes as text: UTF-8; store.h has the %XX spelling of keys and qualifiers, and base64. Private.
 */
#ifndef WCS_TEXT_H
#define WCS_TEXT_H

#include "store/store.h"

/* The length, 1 to 4, of the valid UTF-8 character that the bytes start with; 0: none. */
size_t wcs_text_char(const unsigned char *bytes, size_t len);

/* How many bytes from the start on are whole characters of UTF-8. Where four or more are left,
 * what stands there is none. */
size_t wcs_text_utf8(const unsigned char *bytes, size_t len);

/* Is this UTF-8 text its own spelling: no '%' and no control byte? */
bool wcs_text_is_plain(const char *text, size_t len);

#endif
