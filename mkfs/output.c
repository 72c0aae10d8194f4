/* SPDX-License-Identifier: MIT */
/* Standard output, gathered to large writes. */
#include "mkfs/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

void output_start(struct output *out, const struct program *program)
{
	memset(out, 0, offsetof(struct output, room));
	out->program = program;
	/* Where the output goes to the same terminal, it is progress enough. */
	program_progress_start(isatty(STDOUT_FILENO) == 0);
	setvbuf(stdout, out->room, _IOFBF, sizeof(out->room));
}

/* Prints the reason. Discards the buffered text, or the end of the program would write it. */
static int output_fail(struct output *out)
{
	int error = errno;

	out->failed = true;
	__fpurge(stdout);
	if (error == EPIPE)
		return PROGRAM_FAILED;
	return program_fail(out->program, "standard output: %s", strerror(error));
}

int output_write(struct output *out, const void *data, size_t len)
{
	if (out->failed)
		return PROGRAM_FAILED;
	if (fwrite(data, 1, len, stdout) != len)
		return output_fail(out);
	out->bytes += len;
	program_progress(out->program, "%" PRIu64 " MiB", out->bytes >> 20);
	return PROGRAM_OK;
}

int output_text(struct output *out, const char *text)
{
	return output_write(out, text, strlen(text));
}

int output_end(struct output *out)
{
	int exit_code = out->failed ? PROGRAM_FAILED : PROGRAM_OK;

	if (!out->failed && fflush(stdout) != 0)
		exit_code = output_fail(out);
	program_progress_end();
	return exit_code;
}
