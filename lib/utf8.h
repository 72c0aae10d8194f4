/* SPDX-License-Identifier: MIT */
/* Valid UTF-8. Any thread. */
#ifndef LIB_UTF8_H
#define LIB_UTF8_H

#include <stddef.h>

/* The length, 1 to 4, of the character at the start of left bytes; 0: there is none. */
size_t utf8_character(const unsigned char *at, size_t left);

/* The number of bytes from the start on that are whole characters. If four or more bytes are left
 * behind them, those are not UTF-8. */
size_t utf8_prefix(const unsigned char *bytes, size_t len);

#endif
