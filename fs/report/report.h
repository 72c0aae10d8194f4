/* SPDX-License-Identifier: MIT */
/* Tells the user why a request failed: in /.rowfs/errors, and in the log without names. Any thread.
 */
#ifndef FS_REPORT_H
#define FS_REPORT_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* The request on node (or, if name is not NULL, on that child of it) failed, at that line of the
 * written text (0: none). Returns error. */
int report(struct fs *fs, const struct node *node, const char *name, int line, int error,
	   const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The request succeeded, but the user may have meant something else: a line, as above. The log
 * has none, and errors_count does not count it. */
void report_remark(struct fs *fs, const struct node *node, const char *name, const char *text);
/* Adds a remark if the version's name is a number below TIMES_PLAIN. */
void report_version(struct fs *fs, const struct node *node, const char *name);

enum { REPORT_MAX = 800 };

/* The next report of this thread also goes to text, "LINE: REASON" or "REASON" and a newline; text
 * is "" until then. NULL: no more. */
void report_keep(char text[REPORT_MAX]);

/* No file can be made there; lists the table's families. Returns -EPERM. */
int report_no_family(struct fs *fs, const struct node *dir, const char *name,
		     struct wcs_table *table);

/* A miss of that child, for that reason; see errors_miss. */
void report_miss(struct fs *fs, const struct node *dir, const char *name, const char *reason);

/* A lookup did not find that name: says what the user may have meant, where there are words for it.
 * A misspelt view and one that stands in the wrong place are errors, everything else is a miss. */
void report_missing(struct fs *fs, const struct node *dir, const char *name);

/* -EPERM: the table is protected. Other errors are not reported. Returns error. */
int report_protected(struct fs *fs, const struct node *node, const char *name, int line, int error);

/* The name has no meaning there; describes the names that have one. Returns -EINVAL. */
int report_bad_name(struct fs *fs, const struct node *dir, const char *name);

/* An error of the store in words. Static, or as strerror's. */
const char *report_words(int error);

/* The store could not be read: -EIO, -EACCES, -ETIMEDOUT or -E2BIG; or -EINTR, which is -EAGAIN if
 * too many reads take long. Other errors are not reported. Returns error. */
int report_unreadable(struct fs *fs, const struct node *node, const char *name, int error);

/* No room for a value: in a cell (-EFBIG) or on the medium (-ENOSPC). Other errors are not
 * reported. Returns error. */
int report_no_room(struct fs *fs, const struct node *node, int error);

/* Sessions belong to threads. The kernel gives 0 for a thread outside of this pid namespace:
 * reports that and returns -EPERM; else 0. */
int report_thread(struct fs *fs, const struct node *node, const char *name, pid_t thread);

#endif
