/* SPDX-License-Identifier: MIT */
/*
 * Write sessions of an aggregate's cell take lines. The write that ends a line merges it, and a
 * close merges a last line without a newline. The session has no bytes but those of a line that has
 * not ended, and its file shows a size as if the written bytes followed the number at open:
 *
 *     |..the number at open..|..written..|        end
 *
 * The lines of one write are one mutation, so the store reads, modifies and writes once; at most
 * GROUP integers each, because the store holds the row meanwhile. A refused line ends its write
 * before it and fails all later writes. The merged lines therefore do not depend on the pieces in
 * which a program's buffer comes, and a piece that is written again is not taken for another line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/names/number.h"
#include "fs/report/report.h"
#include "fs/write/writer_private.h"
#include "lib/grow.h"

enum {
	GROUP = 512,
	/* Bytes of a line without its newline. */
	ELEMENT_LINE_MAX = 1 << 20,
	INTEGER_LINE_MAX = 1 << 12, /* a longer one has too many zeros in front */
};

static const char no_integer[] = "not a whole number within 64 bits";
static const char too_long[] = "a line of more than 1 MiB";
static const char out_of_range[] = "the sum would leave the range of 64 bits";
static const char renamed[] = "the cell became a draft";

/* The values of some lines, in their order. */
struct group {
	struct wcs_slice all[GROUP];
	size_t count;
	size_t len; /* bytes of the lines */
	unsigned char integers[GROUP][WCS_AGGREGATE_LINE_MAX];
	unsigned char state[WCS_AGGREGATE_VALUE_MAX];
};

bool writer_takes_lines(const struct node *node)
{
	return node->writer->lines.on;
}

static int refuse(struct writer_lines *lines, int error, const char *why)
{
	lines->why = why;
	return error;
}

/* ---- Lines to values --------------------------------------------------------------------- */

/* The lines up to the last newline of the text, or up to the first that is no integer. */
static int group_integers(struct group *group, struct writer_lines *lines, const char *text,
			  size_t len)
{
	const char *at = text, *end = text + len, *newline;

	group->count = 0;
	while (group->count < GROUP && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		struct wcs_slice *value = &group->all[group->count];

		value->data = group->integers[group->count];
		if (newline - at > INTEGER_LINE_MAX ||
		    wcs_aggregate_line(lines->type, at, (size_t)(newline - at),
				       group->integers[group->count], &value->len) != 0)
			break;
		at = newline + 1;
		group->count++;
	}
	group->len = (size_t)(at - text);
	return group->count > 0 ? 0 : refuse(lines, -EINVAL, no_integer);
}

/* ---- Values to the store; locks: the family's, shared, and the session's ------------------- */

static int mutate(const struct pos *pos, bool replaces, const struct wcs_slice *values,
		  size_t count, int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int rc = mutation ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++)
		if (!replaces || i > 0)
			rc = wcs_mutation_merge(mutation, pos->family, pos->qualifier, pos->ts,
						values[i]);
		else if (pos->ts == WCS_TS_NEWEST)
			rc = wcs_mutation_replace(mutation, pos->family, pos->qualifier, values[i]);
		else
			rc = wcs_mutation_set(mutation, pos->family, pos->qualifier, pos->ts,
					      values[i]);
	if (rc == 0)
		rc = wcs_row_mutate(pos->table, pos_key(pos), mutation, ts);
	wcs_mutation_free(mutation);
	return rc;
}

/* Merges the first *count values of a group, or fewer if the sum of more leaves its range; *count:
 * how many. */
static int merge_group(const struct node *node, struct writer *writer, const struct group *group,
		       size_t *count)
{
	struct pos pos;
	int64_t ts;
	int rc = writer_pos(node, &pos);

	if (rc == 0 && pos.kind == NODE_DRAFT)
		return refuse(&writer->lines, -EINVAL, renamed);
	if (rc != 0 || writer->aborted || writer->unlinked)
		return rc;
	while ((rc = mutate(&pos, writer->lines.replaces, group->all, *count, &ts)) == -EOVERFLOW &&
	       *count > 1)
		*count /= 2;
	if (rc == 0) {
		writer->time = ts;
		writer->hidden = false;
		writer->pending = writer->truncated = false;
		writer->lines.replaces = false;
	}
	return rc == -EOVERFLOW ? refuse(&writer->lines, -EOVERFLOW, out_of_range) : rc;
}

/* Merges the first lines of a text that has at least one; *used: their bytes. */
static int merge_some(const struct node *node, struct writer *writer, const char *text, size_t len,
		      size_t *used)
{
	struct writer_lines *lines = &writer->lines;
	struct group *group = malloc(sizeof(*group));
	size_t count;
	int rc;

	if (!group)
		return -ENOMEM;
	if (lines->type == WCS_INTHLL) { /* up to the last newline, as one sketch */
		group->len = (size_t)((const char *)memrchr(text, '\n', len) + 1 - text);
		group->count = 1;
		group->all[0].data = group->state;
		rc = wcs_hll_elements((struct wcs_slice){text, group->len}, group->state,
				      &group->all[0].len);
	} else {
		rc = group_integers(group, lines, text, len);
	}
	count = group->count;
	if (rc == 0)
		rc = merge_group(node, writer, group, &count);
	if (rc == 0) {
		const char *end = text;

		for (size_t i = 0; count < group->count && i < count; i++)
			end = (const char *)memchr(end, '\n', len - (size_t)(end - text)) + 1;
		*used = count < group->count ? (size_t)(end - text) : group->len;
		for (size_t i = 0; i < *used; i++)
			lines->number += text[i] == '\n';
	}
	free(group);
	return rc;
}

/* ---- Text to lines ----------------------------------------------------------------------- */

static void drop_rest(struct writer *writer)
{
	writer->lines.len = 0;
	writer->dirty = false;
}

/* Appends a text to the line that has begun; ends: the text has its newline, which does not count.
 */
static int keep_rest(struct writer *writer, const char *text, size_t len, bool ends)
{
	struct writer_lines *lines = &writer->lines;
	size_t need = lines->len + len;

	if (lines->type == WCS_INTHLL && need - ends > ELEMENT_LINE_MAX)
		return refuse(lines, -EINVAL, too_long);
	if (lines->type != WCS_INTHLL && need - ends > INTEGER_LINE_MAX)
		return refuse(lines, -EINVAL, no_integer);
	if (grow(&lines->text, &lines->room, need, 64, 1) != 0)
		return -ENOMEM;
	if (len > 0)
		memcpy(lines->text + lines->len, text, len);
	lines->len = need;
	writer->dirty = need > 0;
	return 0;
}

/* Ends the line that has begun with len bytes of text, and merges it. It stays if that fails. */
static int end_line(const struct node *node, struct writer *writer, const char *text, size_t len)
{
	size_t begun = writer->lines.len, used;
	int rc = keep_rest(writer, text, len, true);

	if (rc == 0)
		rc = merge_some(node, writer, writer->lines.text, writer->lines.len, &used);
	if (rc == 0)
		drop_rest(writer);
	else
		writer->lines.len = begun;
	return rc;
}

/* Merges the lines of a text and keeps its rest; *taken: the bytes before the first refused line.
 */
static int take(const struct node *node, struct writer *writer, const char *text, size_t len,
		size_t *taken)
{
	const char *newline = memchr(text, '\n', len);
	size_t at = 0, used;
	int rc = 0;

	if (writer->lines.len > 0 && newline) {
		used = (size_t)(newline + 1 - text);
		rc = end_line(node, writer, text, used);
		at = rc == 0 ? used : 0;
	}
	while (rc == 0 && memchr(text + at, '\n', len - at)) {
		rc = merge_some(node, writer, text + at, len - at, &used);
		at += rc == 0 ? used : 0;
	}
	if (rc == 0) {
		rc = keep_rest(writer, text + at, len - at, false);
		at = rc == 0 ? len : at;
	}
	*taken = at;
	return rc;
}

/* Reports an error. The line that has begun is dropped, for it may lack the part that failed. */
static int failed(struct fs *fs, const struct node *node, struct writer *writer, int rc)
{
	struct writer_lines *lines = &writer->lines;

	report(fs, node, NULL, (int)lines->number, rc, "%s",
	       lines->why ? lines->why : strerror(-rc));
	writer->error = rc;
	drop_rest(writer);
	lines->why = NULL;
	return rc;
}

int writer_write_lines(struct fs *fs, struct node *node, const void *data, size_t len,
		       uint64_t offset, bool append, size_t *taken, bool *merged)
{
	struct writer *writer = node->writer;
	struct writer_lines *lines = &writer->lines;
	uint64_t before;
	int rc;

	*taken = 0;
	pthread_mutex_lock(&writer->lock);
	before = lines->number;
	rc = writer->error;
	if (rc == 0 && !append && offset != lines->end)
		rc = report(fs, node, NULL, 0, -EINVAL,
			    "an aggregate takes lines at its end (>>), or in place of its number "
			    "(>)");
	else if (rc == 0) {
		rc = wcs_store_room(fs->store, WCS_AGGREGATE_VALUE_MAX);
		if (rc == 0)
			rc = take(node, writer, data, len, taken);
		lines->end += *taken;
		if (rc != 0)
			rc = failed(fs, node, writer, rc);
		rc = *taken > 0 ? 0 : rc;
	}
	*merged = lines->number != before;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

/* ---- The session; locks: its own, and the family's, shared, for calls of the store --------- */

int writer_lines_open(struct fs *fs, const struct node *node, struct writer *writer,
		      enum wcs_type type, int flags, bool needs_number)
{
	struct writer_lines *lines = &writer->lines;
	struct wcs_cell_info info = {0};
	struct pos pos;
	int rc = 0;

	*lines = (struct writer_lines){.type = type, .number = 1, .whole = writer->hidden};
	if (type == WCS_INTHLL && (flags & O_EXCL))
		return report(fs, node, NULL, 0, -EOPNOTSUPP, "%s", number_refusal(type));
	if (needs_number) {
		rc = writer_pos(node, &pos);
		if (rc == 0)
			rc = pos_stored(&pos, &info);
		if (rc == -ENOENT && writer->hidden)
			rc = 0;
	}
	lines->end = info.size;
	lines->on = rc == 0;
	return rc;
}

int writer_lines_read(const struct node *node, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct value *value;
	struct pos pos;
	int rc = writer_pos(node, &pos);

	*got = 0;
	if (rc == 0)
		rc = value_open(&pos, &value);
	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	rc = value_read(value, buf, len, offset, got);
	value_put(value);
	return rc;
}

void writer_lines_truncate(struct writer *writer)
{
	struct writer_lines *lines = &writer->lines;

	drop_rest(writer);
	lines->end = 0;
	writer->error = 0;
	lines->replaces = lines->whole = true;
	writer->pending = writer->truncated = true;
}

int writer_lines_end(struct fs *fs, const struct node *node, struct writer *writer)
{
	int rc = writer->lines.len > 0 ? end_line(node, writer, "\n", 1) : 0;

	return rc != 0 ? failed(fs, node, writer, rc) : 0;
}

void writer_lines_close(struct fs *fs, const struct node *node, struct writer *writer)
{
	struct writer_lines *lines = &writer->lines;

	if (writer->pending && writer->error == 0 && !writer->aborted && !writer->unlinked)
		report(fs, node, NULL, 0, -EINVAL,
		       writer->truncated ? "no line was written: the number is what it was"
					 : "no line was written: nothing was made");
	free(lines->text);
	lines->text = NULL;
	lines->len = lines->room = 0;
}
