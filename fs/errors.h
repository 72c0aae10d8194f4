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

/* How many there were, kept or not. Any thread. */
uint64_t errors_count(struct errors *errors);

/* All that are kept, oldest first: "TIME PATH:LINE: REASON" a line, time in UTC. The caller frees
 * it. NULL: no memory. Any thread. */
char *errors_format(struct errors *errors, size_t *len);

#endif
