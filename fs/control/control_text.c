/* SPDX-License-Identifier: MIT */
/*
 * Reads of control files whose whole text is made at the first read, and kept until the close. Only
 * the heat maps, the advice and the schema of many tables are large; all open ones together have at
 * most TEXTS_MAX bytes.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control_kind.h"
#include "fs/serve/report.h"
#include "lib/escape.h"
#include "store/keys/keys.h"

enum {
	TEXT_LARGE = 64 << 10, /* smaller ones are not counted, so each can be read */
	TEXTS_MAX = 64 << 20,
};

struct text {
	struct fs *fs;
	size_t counted; /* bytes, of the mount's texts */
	char *data;
	size_t len;
};

int control_print_key(FILE *to, const struct wcs_keys *keys, struct wcs_slice key)
{
	char *spelled = wcs_keys_text(keys, key),
	     *escaped = spelled ? escape_bytes(spelled, "\"\\") : NULL;
	int rc = escaped ? 0 : -ENOMEM;

	if (escaped)
		fprintf(to, "\"%s\"", escaped);
	free(escaped);
	free(spelled);
	return rc;
}

static void text_close(void *state)
{
	struct text *text = state;

	atomic_fetch_sub(&text->fs->texts, text->counted);
	free(text->data);
	free(text);
}

/* Counts a text that was made. */
static int text_count(struct text *text, const struct node *node)
{
	if (text->len <= TEXT_LARGE)
		return 0;
	text->counted = text->len;
	if (atomic_fetch_add(&text->fs->texts, text->len) + text->len <= TEXTS_MAX)
		return 0;
	return report(text->fs, node, NULL, 0, -ENFILE,
		      "too many large control files are being read, 64 MiB in all");
}

static int text_open(struct fs *fs, const struct node *node, uid_t user, void **state)
{
	struct control_place at = {.fs = fs, .node = node};
	struct text *text = calloc(1, sizeof(*text));
	FILE *to = text ? open_memstream(&text->data, &text->len) : NULL;
	int rc = to ? pos_of(node, &at.pos) : -ENOMEM;
	bool bad;

	(void)user;
	if (text)
		text->fs = fs;
	if (rc == 0)
		rc = pos_enter(&at.pos, true);
	if (rc == 0)
		rc = control_kind(node)->text->print(&at, to);
	if (to)
		pos_leave(&at.pos);
	bad = to && ferror(to);
	if (to && (fclose(to) != 0 || bad) && rc == 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = text_count(text, node);
	if (rc == 0)
		*state = text;
	else if (text)
		text_close(text);
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

const struct control_reader control_text_reader = {text_open, text_read, text_close};
