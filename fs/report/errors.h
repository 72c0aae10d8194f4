/* SPDX-License-Identifier: MIT */
/*
 * The last failed requests of a mount, for /.rowfs/errors.
 *
 * Of the ERRORS_KEPT lines, users other than root and the owner have at most ERRORS_OTHERS
 * together, and each of them ERRORS_USER: a further one takes the place of an older line of these.
 * If there are ERRORS_KEPT lines, the oldest one of the user with the most is replaced. Of the
 * lines of a user at most ERRORS_REMARKS are remarks; a further one replaces the user's oldest
 * remark.
 *
 * Any thread.
 */
#ifndef FS_ERRORS_H
#define FS_ERRORS_H

#include <stdio.h>

#include "fs/fs.h"

enum { ERRORS_KEPT = 1000, ERRORS_OTHERS = 750, ERRORS_USER = 250, ERRORS_REMARKS = 100 };

struct errors *errors_new(void); /* NULL: no memory */
void errors_free(struct errors *errors);

/* Adds an error of the user; line: of the written text, 0: none. */
void errors_add(struct fs *fs, uid_t user, const char *path, int line, const char *reason);

/* Adds a line about a request that succeeded; errors_count does not count it. */
void errors_remark(struct fs *fs, uid_t user, const char *path, const char *text);

/* A lookup of the user did not find path. That need not be a mistake. It is a line until the user's
 * next line or errors_found, and none if the user's last line that is no miss has the same path. */
void errors_miss(struct fs *fs, uid_t user, const char *path, const char *reason);

/* The user made a directory: forgets the last name that a lookup missed. */
void errors_found(struct fs *fs, uid_t user);

/* Is the user's last line that is no miss one of that path and reason? */
bool errors_last(struct fs *fs, uid_t user, const char *path, const char *reason);

/* How many there were since the mount. */
uint64_t errors_count(struct errors *errors);

/* Prints the lines, oldest first: "TIME PATH:LINE: REASON", time in UTC. 0. */
int errors_print(struct errors *errors, FILE *to);

#endif
