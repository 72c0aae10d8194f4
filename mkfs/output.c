/* SPDX-License-Identifier: MIT */
/* Standard output, gathered to large writes. */
#include "mkfs/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void output_start(struct output *out, const struct program *program)
{
	memset(out, 0, offsetof(struct output, room));
	out->program = program;
	/* Where the output goes to the same terminal, it is progress enough. */
	out->terminal = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0;
	out->started = out->shown = program_seconds();
}

static int output_all(struct output *out, const char *data, size_t len)
{
	double now;

	while (len > 0) {
		ssize_t count = write(STDOUT_FILENO, data, len);

		if (count < 0 && errno == EINTR)
			continue;
		out->failed = count < 0;
		if (count < 0 && errno == EPIPE)
			return PROGRAM_FAILED;
		if (count < 0)
			return program_fail(out->program, "standard output: %s", strerror(errno));
		data += count;
		len -= (size_t)count;
		out->bytes += (uint64_t)count;
	}
	now = out->terminal ? program_seconds() : out->shown;
	if (now - out->shown >= 1) {
		out->shown = now;
		program_progress(out->program, "%" PRIu64 " MiB, %.0f s ", out->bytes >> 20,
				 now - out->started);
	}
	return PROGRAM_OK;
}

static int output_flush(struct output *out)
{
	size_t len = out->len;

	out->len = 0;
	return output_all(out, out->room, len);
}

int output_write(struct output *out, const void *data, size_t len)
{
	if (out->failed)
		return PROGRAM_FAILED;
	if (len > OUTPUT_ROOM - out->len && output_flush(out))
		return PROGRAM_FAILED;
	if (len >= OUTPUT_ROOM)
		return output_all(out, data, len);
	memcpy(out->room + out->len, data, len);
	out->len += len;
	return PROGRAM_OK;
}

int output_text(struct output *out, const char *text)
{
	return output_write(out, text, strlen(text));
}

int output_end(struct output *out)
{
	int exit_code = out->failed ? PROGRAM_FAILED : output_flush(out);

	program_progress_end();
	return exit_code;
}
