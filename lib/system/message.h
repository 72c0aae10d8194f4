/* SPDX-License-Identifier: MIT */
/* Messages of a program: each is one line on standard error, "program: text". Hostile characters
 * (lib/utf8.h), also of a name that another user chose, stand there as %XX. */
#ifndef LIB_MESSAGE_H
#define LIB_MESSAGE_H

#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>

/* Prints the message; without memory for it, that. Any thread. */
void message(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
void message_va(const char *program, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* The ending of a noun behind its count. */
static inline const char *message_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* As getopt_long(3), of which it prints the messages so. The main thread, without others. */
int message_getopt(int argc, char **argv, const char *letters, const struct option *words);

#endif
