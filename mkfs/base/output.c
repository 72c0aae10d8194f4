/* SPDX-License-Identifier: MIT */
/* Standard output, gathered to large writes. Bytes that come in a large piece are not copied. */
#include "mkfs/base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void output_start(struct output *out, const struct program *program)
{
	memset(out, 0, offsetof(struct output, room));
	out->program = program;
	/* Where the output goes to the same terminal, it is progress enough. */
	program_progress_start(isatty(STDOUT_FILENO) == 0);
}

static int output_put(struct output *out, const char *from, size_t len)
{
	while (len > 0 && !out->failed) {
		ssize_t put = write(STDOUT_FILENO, from, len);

		if (put < 0 && errno != EINTR) {
			out->failed = true;
			program_fail(out->program, "standard output: %s", strerror(errno));
		} else if (put > 0) {
			from += put;
			len -= (size_t)put;
			out->bytes += (uint64_t)put;
		}
	}
	program_progress(out->program, "%" PRIu64 " MiB", out->bytes >> 20);
	return out->failed ? PROGRAM_FAILED : PROGRAM_OK;
}

static int output_flush(struct output *out)
{
	size_t len = out->filled;

	out->filled = 0;
	return output_put(out, out->room, len);
}

int output_write(struct output *out, const void *data, size_t len)
{
	bool large = len > OUTPUT_ROOM / 8;

	if ((large || len > OUTPUT_ROOM - out->filled) && output_flush(out))
		return PROGRAM_FAILED;
	if (large)
		return output_put(out, data, len);
	if (len > 0)
		memcpy(out->room + out->filled, data, len);
	out->filled += len;
	return PROGRAM_OK;
}

int output_text(struct output *out, const char *text)
{
	return output_write(out, text, strlen(text));
}

int output_end(struct output *out)
{
	int exit_code = output_flush(out);

	program_progress_end();
	return exit_code;
}
