/* SPDX-License-Identifier: MIT */
/*
 * .drop: reads as what a drop of its directory's rows would delete, and drops them when just the
 * prefix (of a table: its name) and a newline are written, as they are or as reading spells them.
 * What cannot become that any more is refused at once; nothing else that is written, and nothing
 * that is left unfinished, drops a row. Open files that write to what is dropped commit nothing
 * more, as after rm; those that make a new name make it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "control_kind.h"
#include "draft.h"
#include "escape.h"
#include "loop.h"
#include "report.h"
#include "writer.h"

struct drop {
	struct fs *fs;
	const struct node *node;
	struct wcs_slice raw; /* what must be written, without the newline */
	char *spelled;	      /* or this */
	size_t spelled_len;
	size_t len; /* bytes written so far that are the beginning of one of them and a newline */
	bool is_raw, is_spelled; /* of which */
	char bytes[WCS_ROW_KEY_MAX];
};

static int print(const char *table, struct wcs_slice key, const struct wcs_count *count,
		 char **text, size_t *len)
{
	char *spelled = wcs_text_encode(key),
	     *escaped = spelled ? escape_bytes(spelled, "\"\\") : NULL;
	int rc = -ENOMEM;

	if (escaped)
		rc = control_text_print(text, len,
					"{\"table\":\"%s\",\"prefix\":\"%s\",\"rows\":%" PRIu64
					",\"bytes\":%" PRIu64 "}\n",
					table, escaped, count->rows, count->bytes);
	free(escaped);
	free(spelled);
	return rc;
}

static int drop_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct wcs_count count;
	struct wcs_slice key;
	struct pos pos;
	int rc = pos_of(node, &pos);

	(void)fs;
	if (rc == 0)
		rc = wcs_rows_count(pos.table, control_key(&pos, &key), &count);
	return rc == 0 ? print(wcs_table_name(pos.table), pos_key(&pos), &count, text, len) : rc;
}

static void drop_start(struct drop *drop)
{
	drop->len = 0;
	drop->is_raw = drop->is_spelled = true;
}

static void drop_close(void *state)
{
	struct drop *drop = state;

	free(drop->spelled);
	free(drop);
}

static int drop_open(struct fs *fs, const struct node *node, void **state)
{
	struct drop *drop = calloc(1, sizeof(*drop));
	const char *name;
	struct pos pos;
	int rc;

	if (!drop)
		return -ENOMEM;
	drop->fs = fs;
	drop->node = node;
	drop_start(drop);
	rc = pos_of(node, &pos);
	if (rc == 0) {
		name = wcs_table_name(pos.table);
		drop->raw = pos.depth > 0 ? pos_key(&pos) : (struct wcs_slice){name, strlen(name)};
		memcpy(drop->bytes, drop->raw.data, drop->raw.len);
		drop->raw.data = drop->bytes;
		drop->spelled = wcs_text_encode(drop->raw);
		rc = drop->spelled ? 0 : -ENOMEM;
	}
	if (rc != 0) {
		drop_close(drop);
		return rc;
	}
	drop->spelled_len = strlen(drop->spelled);
	*state = drop;
	return 0;
}

/* Is c the byte at this place of the text and a newline? */
static bool goes_on(const char *text, size_t len, size_t at, char c)
{
	return at < len ? text[at] == c : at == len && c == '\n';
}

static int refuse(struct drop *drop)
{
	return report(drop->fs, drop->node, NULL, 1, -EINVAL,
		      "to drop all rows here write just %s and a newline; nothing was dropped",
		      drop->spelled);
}

/* What the dropped rows had in memory goes as well. */
static int forget_memory(struct drop *drop, const struct pos *pos)
{
	struct memdir_path path = {0};
	int rc = pos_memdir_path(pos, &path);

	if (rc == 0)
		memdirs_remove(drop->fs->memdirs, &path);
	memdir_path_clear(&path);
	drafts_remove_below(drop->fs, drop->node->parent->plain, NULL);
	return rc;
}

static int drop_rows(struct drop *drop)
{
	struct wcs_slice key;
	struct pos pos;
	int rc = pos_of(drop->node, &pos);

	if (rc == 0) {
		writers_detach_below(drop->fs, drop->node->parent);
		loop_wait_begin(drop->fs);
		rc = wcs_rows_drop(pos.table, control_key(&pos, &key));
		loop_wait_end(drop->fs);
		if (rc == 0)
			rc = forget_memory(drop, &pos);
		cache_expire_subtree(drop->fs, pos.table, control_key(&pos, &key));
	}
	if (rc != 0)
		report(drop->fs, drop->node, NULL, 1, rc, "the rows could not be dropped: %s",
		       strerror(-rc));
	return rc;
}

/* What stands behind the newline in one write is not the prefix and a newline either. */
static int drop_write(void *state, const char *data, size_t len)
{
	struct drop *drop = state;
	bool whole;

	for (size_t i = 0; i < len; i++, drop->len++) {
		drop->is_raw &= goes_on(drop->bytes, drop->raw.len, drop->len, data[i]);
		drop->is_spelled &= goes_on(drop->spelled, drop->spelled_len, drop->len, data[i]);
	}
	if (!drop->is_raw && !drop->is_spelled)
		return refuse(drop);
	whole = (drop->is_raw && drop->len == drop->raw.len + 1) ||
		(drop->is_spelled && drop->len == drop->spelled_len + 1);
	if (!whole)
		return 0;
	drop_start(drop);
	return drop_rows(drop);
}

static int drop_finish(void *state)
{
	struct drop *drop = state;
	bool unfinished = drop->len > 0;

	drop_start(drop);
	return unfinished ? refuse(drop) : 0;
}

static void drop_cancel(void *state)
{
	drop_start(state);
}

const struct control_text control_drop = {drop_format, NULL, false};

const struct control_writer control_drop_writer = {
	.open = drop_open,
	.write = drop_write,
	.finish = drop_finish,
	.cancel = drop_cancel,
	.close = drop_close,
};
