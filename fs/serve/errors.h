/* SPDX-License-Identifier: MIT */
/* The last errors that a user of the mount should read, as /.rowfs/errors shows them. */
#ifndef FS_ERRORS_H
#define FS_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#define ERRORS_KEPT 1000

struct errors;
struct errors *errors_new(void); /* NULL: no memory */
/* Called when no other thread uses it any more. */
void errors_free(struct errors *errors);

/* Keeps one: the path from the mount's root, the line in what was written (0: none), the reason.
 * Long texts are cut. Any thread. */
void errors_add(struct errors *errors, int64_t now, const char *path, int line, const char *reason);

/* Keeps a name that a lookup did not find, which is an error only if the caller wanted to make a
 * file below it. It is the last line until the next error, the next such name or errors_found. It
 * is ignored if the last error has the same path. */
void errors_miss(struct errors *errors, int64_t now, const char *path, const char *reason);
/* A directory was made: forgets the name of errors_miss. */
void errors_found(struct errors *errors);

/* How many there were, kept or not. Any thread. */
uint64_t errors_count(struct errors *errors);

/* All that are kept, oldest first: "TIME PATH:LINE: REASON" a line, time in UTC. The caller frees
 * it. NULL: no memory. Any thread. */
char *errors_format(struct errors *errors, size_t *len);

#endif
