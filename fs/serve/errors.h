/* SPDX-License-Identifier: MIT */
/* The reasons of refused requests, as /.rowfs/errors shows them. Any thread. */
#ifndef FS_ERRORS_H
#define FS_ERRORS_H

#include <stdint.h>
#include <stdio.h>

#define ERRORS_KEPT 1000

struct errors *errors_new(void); /* NULL: no memory */
void errors_free(struct errors *errors);

/* Adds one: the path from the mount's root, the line of the written text (0: none), the reason.
 * Long texts are cut. */
void errors_add(struct errors *errors, int64_t now, const char *path, int line, const char *reason);

/* A lookup did not find that path, which is an error only if the caller wanted to make a file below
 * it. It is the last line until the next error, the next miss or errors_found, and is not shown if
 * the last error has the same path. */
void errors_miss(struct errors *errors, int64_t now, const char *path, const char *reason);
/* A directory was made: forgets the last miss. */
void errors_found(struct errors *errors);

/* How many there were since the mount. */
uint64_t errors_count(struct errors *errors);

/* Prints the last ERRORS_KEPT, oldest first: "TIME PATH:LINE: REASON" a line, time in UTC. 0. */
int errors_print(struct errors *errors, FILE *to);

#endif
