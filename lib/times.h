/* SPDX-License-Identifier: MIT */
/* Dates and times as text. Any thread. */
#ifndef FS_TIMES_H
#define FS_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* Reads a date (2024-01-31) or an RFC 3339 time (2024-01-31T10:00:00.5+01:00), in which seconds and
 * offset may be left out, as microseconds since 1970; without an offset it is UTC. -EINVAL: it is
 * neither, before 1970, or finer than a microsecond; *ts is as it was. */
int times_parse(const char *at, size_t len, int64_t *ts);

#endif
