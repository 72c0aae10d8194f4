/* SPDX-License-Identifier: MIT */
/* Reads of control files whose whole text is made at the open. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control_kind.h"

struct text {
	char *data;
	size_t len;
};

int control_text_print(char **text, size_t *len, const char *format, ...)
{
	va_list args;
	int count;

	va_start(args, format);
	count = vasprintf(text, format, args);
	va_end(args);
	if (count < 0)
		return -ENOMEM;
	*len = (size_t)count;
	return 0;
}

static int text_open(struct fs *fs, const struct node *node, uid_t user, void **state)
{
	struct text *text = calloc(1, sizeof(*text));
	int rc;

	(void)user;
	rc = text ? control_kind(node)->text->format(fs, node, &text->data, &text->len) : -ENOMEM;

	if (rc == 0)
		*state = text;
	else
		free(text);
	return rc;
}

static int text_read(void *state, fuse_req_t req, void *buf, size_t len, uint64_t offset,
		     size_t *got)
{
	const struct text *text = state;
	size_t left = offset < text->len ? text->len - (size_t)offset : 0;

	(void)req;
	*got = len < left ? len : left;
	if (*got > 0)
		memcpy(buf, text->data + offset, *got);
	return 0;
}

static void text_close(void *state)
{
	struct text *text = state;

	free(text->data);
	free(text);
}

const struct control_reader control_text_reader = {text_open, text_read, text_close};
