/* SPDX-License-Identifier: MIT */
/* Escapes: with backslashes, in strings of JSON, and as words of a shell. The caller frees each
 * result; NULL: no memory. Any thread. */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* The text with a backslash before each byte that special has. */
char *escape_bytes(const char *text, const char *special);

/* Writes len bytes of UTF-8 as in a string of JSON: quotes and backslashes with a backslash,
 * hostile characters (utf8_hostile) as \uXXXX. `to` has room for six times the bytes. Returns the
 * length. */
size_t escape_json(const char *text, size_t len, char *to);

/* Prints an object or a list of jansson's as a line without blanks, and releases it; hostile
 * characters (utf8_hostile) as \uXXXX. flags: JSON_EMBED (no newline then), JSON_REAL_PRECISION,
 * and ESCAPE_HTML: < > & are \uXXXX, too, for a script in HTML. -ENOMEM, also if value is NULL. */
#define ESCAPE_HTML ((size_t)1 << 31)
struct json_t;
int escape_json_put(FILE *to, struct json_t *value, size_t flags);

/*
 * The word as a shell takes it: as it is if it has letters, digits and %+,-./:@_ alone, else in
 * single quotes. Bytes that are not UTF-8 and hostile characters become $'\ooo', which bash, ksh
 * and zsh read back, and which harms in no shell: the result is printable.
 */
char *escape_word(const char *word);
/* As escape_word, of a path: one that begins with '-' gets "./" before it, so that no program takes
 * it for an option. */
char *escape_path(const char *path);

#endif
