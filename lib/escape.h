/* SPDX-License-Identifier: MIT */
/* Escapes: with backslashes, and as words of a shell. The caller frees each result; NULL: no
 * memory. Any thread. */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

/* The text with a backslash before each byte that special has. */
char *escape_bytes(const char *text, const char *special);

/*
 * The word as a shell takes it: as it is if it has letters, digits and %+,-./:@_ alone, else in
 * single quotes. Bytes that are not UTF-8 and hostile characters (utf8_hostile) become $'\ooo',
 * which bash, ksh and zsh read back, and which harms in no shell: the result is printable.
 */
char *escape_word(const char *word);
/* As escape_word, of a path: one that begins with '-' gets "./" before it, so that no program takes
 * it for an option. */
char *escape_path(const char *path);

#endif
