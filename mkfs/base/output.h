/* SPDX-License-Identifier: MIT */
/* Standard output of a program that prints much, and its progress on stderr. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "mkfs/base/program.h"

#define OUTPUT_ROOM (256u << 10)

struct output {
	const struct program *program;
	bool failed;	/* it is not tried again */
	uint64_t bytes; /* written */
	size_t filled;	/* of room */
	char room[OUTPUT_ROOM];
};

void output_start(struct output *out, const struct program *program);
/* What cannot be written is an error, which is printed; but silently so where the reader of a pipe
 * has gone. PROGRAM_FAILED. */
int output_write(struct output *out, const void *data, size_t len);
int output_text(struct output *out, const char *text);
/* Writes the buffered text and clears the progress from the terminal. */
int output_end(struct output *out);

#endif
