/* SPDX-License-Identifier: MIT */
/* Runs of lines that go into one file of a mount. */
#ifndef SINK_RUN_H
#define SINK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Lines that follow each other in the text. */
struct sink_run {
	const char *text;
	size_t len;
	uint64_t first; /* number of the first line, from 1 */
	uint64_t lines;
};

/* The bytes of the first line, without its newline. */
size_t sink_run_line(const char *text, size_t len);

/* The line, parsed, if it is a good one that is no row; else NULL. The caller frees it. */
struct wcs_line *sink_run_other(const char *text, size_t len);

/* Takes the first lines off the run. Returns how many of them are rows. */
uint64_t sink_run_pass(struct sink_run *run, uint64_t lines);

/* How many lines of the run end in its first len bytes; *rest: bytes of them behind these lines
 * and blanks. */
uint64_t sink_run_ended(const struct sink_run *run, size_t len, size_t *rest);

/* Writes all of the text; *taken grows by the bytes that the file took, also on failure. */
int sink_run_put(int fd, const char *text, size_t len, size_t *taken);

/* Has the file reached this process's limit on file sizes? */
bool sink_run_is_limit(int fd);

#endif
