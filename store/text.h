/* SPDX-License-Identifier: MIT */
/* Bytes as text: the %XX spelling of keys and qualifiers in JSON, UTF-8, base64. Private. */
#ifndef WCS_TEXT_H
#define WCS_TEXT_H

#include "store.h"

/* The length, 1 to 4, of the valid UTF-8 character that the bytes start with; 0: none. */
size_t wcs_text_char(const unsigned char *bytes, size_t len);

/* Spells any bytes as UTF-8 text: %XX (upper-case hex) for '%', 00-1F, 7F and every byte that is
 * not part of valid UTF-8. One spelling for the same bytes. The caller frees it; NULL: no memory.
 */
char *wcs_text_encode(struct wcs_slice bytes);

/* Is this UTF-8 text its own spelling: no '%' and no control byte? */
bool wcs_text_is_plain(const char *text, size_t len);

/* The reverse; takes an escape of any byte. out has room for len bytes. -EINVAL: a '%' without two
 * upper-case hex digits behind it. */
int wcs_text_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

/* Reads base64 of the standard alphabet, padded, without spaces, unused bits zero. out has room
 * for len / 4 * 3 bytes. -EINVAL: something else. */
int wcs_text_base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len);

#endif
