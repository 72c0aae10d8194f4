/* SPDX-License-Identifier: MIT */
/* Bytes as text: UTF-8, base64; store.h has the %XX spelling of keys and qualifiers. Private. */
#ifndef WCS_TEXT_H
#define WCS_TEXT_H

#include "store.h"

/* The length, 1 to 4, of the valid UTF-8 character that the bytes start with; 0: none. */
size_t wcs_text_char(const unsigned char *bytes, size_t len);

/* How many bytes from the start on are whole characters of UTF-8. Where four or more are left,
 * what stands there is none. */
size_t wcs_text_utf8(const unsigned char *bytes, size_t len);

/* Is this UTF-8 text its own spelling: no '%' and no control byte? */
bool wcs_text_is_plain(const char *text, size_t len);

/* Writes groups of three bytes as base64, four characters each. Returns their end. */
unsigned char *wcs_text_base64(unsigned char *to, const unsigned char *from, size_t groups);

/* Reads base64 of the standard alphabet, padded, without spaces, unused bits zero. out has room
 * for len / 4 * 3 bytes. -EINVAL: something else. */
int wcs_text_base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

#endif
