/* SPDX-License-Identifier: MIT */
/* Dates and times as text. Any thread. */
#ifndef FS_TIMES_H
#define FS_TIMES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMES_LAST INT64_C(253402300799999999) /* the last microsecond of year 9999 */
#define TIMES_MAX  27u			       /* bytes of a formatted time */

/* Reads a date (2024-01-31) or an RFC 3339 time (2024-01-31T10:00:00.5+01:00), in which seconds and
 * offset may be left out, as microseconds since 1970; without an offset it is UTC. -EINVAL: it is
 * neither, before 1970, or finer than a microsecond; *ts is as it was. */
int times_parse(const char *at, size_t len, int64_t *ts);

/* Reads every form of TIME (rowfs(5)): microseconds since 1970, what times_parse takes, "now", or a
 * span before now: 90s 15m 1h 7d. *ago: *time is a span before the present, in microseconds.
 * -EINVAL: it is none. */
int times_parse_any(const char *at, size_t len, int64_t *time, bool *ago);

/* 10^8 s after 1970, in microseconds and in seconds. A number below TIMES_PLAIN may be seconds or
 * milliseconds; cells below TIMES_PLAIN_SECONDS are not counted. */
#define TIMES_PLAIN	    INT64_C(100000000000000)
#define TIMES_PLAIN_SECONDS INT64_C(100000000)
#define TIMES_ASK	    "are seconds (add 000000) or milliseconds (add 000) meant?"
/* The words about a uint64_t of cells between both. */
#define TIMES_OLD                                                                                  \
	"%" PRIu64 " cells are older than 1973: are their timestamps seconds or milliseconds?"
#define TIMES_OLD_ONE                                                                              \
	"%" PRIu64 " cell is older than 1973: is its timestamp seconds or milliseconds?"
/* Is the text such a number? Then words, of TIMES_ASK_MAX bytes, has its time and TIMES_ASK. */
#define TIMES_ASK_MAX 128u
bool times_ask(const char *at, size_t len, char *words);

/* Writes microseconds since 1970, 0 to TIMES_LAST, as an RFC 3339 time in UTC with 6, 3 or 0
 * decimals; further ones are cut. text has room for TIMES_MAX bytes, and gets no NUL. Returns its
 * length. */
size_t times_format(int64_t ts, unsigned int decimals, char *text);

/* Writes the last `count` decimal digits of a number, with zeros in front, without a NUL. */
void times_digits(uint64_t number, size_t count, char *text);

#endif
