/* SPDX-License-Identifier: MIT */
/* Collects written bytes into texts, and applies each that is complete. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control/control_kind.h"
#include "fs/report/report.h"
#include "lib/grow.h"

enum { PENDING_MAX = 16 << 20 }; /* bytes of one line or document */

struct lines {
	struct fs *fs;
	const struct node *node;
	const struct control_text *text;
	char *pending;
	size_t len, room;
	int line; /* number of the pending one, from 1 */

	/* Only documents have these. */
	bool ended; /* the line has a document already */
	/* The state of the search for its closing brace. */
	size_t seen;
	int depth;
	bool in_string, escaped;
};

static int lines_open(struct fs *fs, const struct node *node, void **state)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	lines->fs = fs;
	lines->node = node;
	lines->text = control_kind(node)->text;
	lines->line = 1;
	*state = lines;
	return 0;
}

static void pending_drop(struct lines *lines, size_t len)
{
	for (size_t i = 0; i < len; i++)
		lines->line += lines->pending[i] == '\n';
	lines->len -= len;
	memmove(lines->pending, lines->pending + len, lines->len + 1);
	lines->seen = 0;
	lines->depth = 0;
	lines->in_string = lines->escaped = false;
}

static bool blank(const char *text, size_t len)
{
	return strspn(text, " \t\r\n") >= len;
}

/* May text of that many bytes stand behind a document? Its line ends before another one begins. */
static bool behind_document(const char *text, size_t len)
{
	size_t blanks = strspn(text, " \t\r\n");

	return blanks >= len || (memchr(text, '\n', blanks) && text[blanks] == '{');
}

/* The length of the first document, as complete_end. */
static size_t document_end(struct lines *lines)
{
	size_t blanks = strspn(lines->pending, " \t\r\n");

	if (memchr(lines->pending, '\n', blanks))
		lines->ended = false;
	if (blanks < lines->len && (lines->ended || lines->pending[blanks] != '{'))
		return lines->len;
	while (lines->seen < lines->len) {
		char c = lines->pending[lines->seen++];

		if (lines->escaped)
			lines->escaped = false;
		else if (lines->in_string && c == '\\')
			lines->escaped = true;
		else if (c == '"')
			lines->in_string = !lines->in_string;
		else if (!lines->in_string && (c == '{' || c == '['))
			lines->depth++;
		else if (!lines->in_string && (c == '}' || c == ']') && --lines->depth <= 0)
			return behind_document(lines->pending + lines->seen,
					       lines->len - lines->seen)
				       ? lines->seen
				       : lines->len;
	}
	return 0;
}

/* The length of the first complete text; 0: incomplete. Text that is no JSON object, or continues
 * in the line of one, counts as complete, and is refused. */
static size_t complete_end(struct lines *lines)
{
	struct control_place at = {.fs = lines->fs, .node = lines->node};

	if (lines->text->form == CONTROL_WORDS)
		return pos_of(lines->node, &at.pos) == 0 &&
				       lines->text->continues(&at, lines->pending, lines->len)
			       ? 0
			       : lines->len;
	if (lines->text->form == CONTROL_LINES) {
		const char *newline = memchr(lines->pending, '\n', lines->len);

		return newline ? (size_t)(newline - lines->pending) + 1 : 0;
	}
	return document_end(lines);
}

/* Applies the first len bytes of pending. */
static int pending_apply(struct lines *lines, size_t len)
{
	struct control_place at = {.fs = lines->fs, .node = lines->node, .line = lines->line};
	char *text = lines->pending, behind;
	size_t text_len = len;
	bool blanks; /* of a document, which are none */
	int rc;

	if (len > 0 && text[len - 1] == '\n')
		text_len--;
	behind = text[text_len];
	text[text_len] = 0;
	blanks = lines->text->form == CONTROL_DOCUMENT && blank(text, text_len);
	rc = pos_of(lines->node, &at.pos);
	if (rc == 0 && lines->text->form == CONTROL_LINES && memchr(text, 0, text_len))
		rc = report(lines->fs, lines->node, NULL, lines->line, -EINVAL,
			    "the line holds a NUL byte");
	else if (rc == 0 && lines->ended && !blanks)
		rc = report(lines->fs, lines->node, NULL, lines->line, -EINVAL,
			    "text behind the object of this line, which was applied; put a newline "
			    "between two objects");
	else if (rc == 0 && !blanks)
		rc = lines->text->apply(&at, text, text_len);
	lines->ended |= lines->text->form == CONTROL_DOCUMENT && !blanks;
	text[text_len] = behind;
	pending_drop(lines, len);
	return rc;
}

static int lines_write(void *state, const char *data, size_t len)
{
	struct lines *lines = state;
	size_t need = lines->len + len + 1, end;
	int rc = 0;

	if (need > PENDING_MAX)
		return report(lines->fs, lines->node, NULL, lines->line, -EFBIG,
			      "longer than 16 MiB");
	if (grow(&lines->pending, &lines->room, need, 256, 1) != 0)
		return -ENOMEM;
	memcpy(lines->pending + lines->len, data, len);
	lines->len += len;
	lines->pending[lines->len] = 0;
	while (rc == 0 && lines->len > 0 && (end = complete_end(lines)) > 0)
		rc = pending_apply(lines, end);
	return rc;
}

static int lines_end(void *state, bool apply)
{
	struct lines *lines = state;
	int rc = 0;

	if (lines->len > 0 && apply)
		rc = pending_apply(lines, lines->len);
	else if (lines->len > 0)
		pending_drop(lines, lines->len);
	lines->ended = false; /* a close ends the line */
	return rc;
}

static void lines_close(void *state)
{
	struct lines *lines = state;

	free(lines->pending);
	free(lines);
}

const struct control_writer control_lines_writer = {lines_open, lines_write, lines_end,
						    lines_close};
