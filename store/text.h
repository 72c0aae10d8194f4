/* SPDX-License-Identifier: MIT */
/* Text in the %XX spelling of keys and qualifiers, see store.h. Private. */
#ifndef WCS_TEXT_H
#define WCS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Is this UTF-8 text its own spelling: no '%' and no control byte? */
bool wcs_text_is_plain(const char *text, size_t len);

#endif
