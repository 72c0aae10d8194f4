/* SPDX-License-Identifier: MIT */
/* The feed of changes: the rows that a file is about, and drops. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/live/live_private.h"
#include "fs/names/pos.h"
#include "fs/report/report.h"
#include "lib/escape.h"
#include "store/keys/keys.h"

/* Is the key that of the row `above`, or of a row below it? */
static bool is_below(struct wcs_slice key, struct wcs_slice above, unsigned char delimiter)
{
	const unsigned char *bytes = key.data;

	return key.len >= above.len &&
	       (above.len == 0 || memcmp(bytes, above.data, above.len) == 0) &&
	       (key.len == above.len || bytes[above.len] == delimiter);
}

bool changes_stale(const struct live_file *file)
{
	return (file->keyed || file->chain) && wcs_table_layout(file->table) != file->layout;
}

static bool changes_wants(const struct ring_reader *reader, const struct ring_line *line)
{
	const struct live_file *file =
		(const struct live_file *)((const char *)reader -
					   offsetof(struct live_file, reader));
	struct wcs_slice root = {file->key, file->key_len}, key;

	if (line->topic != file->table || file->number <= line->since)
		return false;
	key = line->change ? wcs_change_key(line->change) : (struct wcs_slice){NULL, 0};
	if (!key.data || changes_stale(file)) /* of all rows, or of one that is not known */
		return true;
	if (file->keyed && !is_below(key, root, file->delimiter) &&
	    !(line->subtree && is_below(root, key, file->delimiter)))
		return false;
	return !file->chain || wcs_chain_meets(file->chain, wcs_table_keys(file->table),
					       file->delimiter, key, line->subtree);
}

int changes_open(struct fs *fs, struct live_file *file)
{
	struct wcs_chain *chain;
	struct pos pos;
	int rc = pos_of(file->node, &pos);

	if (rc != 0)
		return rc;
	chain = view_chain(pos.view);
	if (!wcs_chain_is_range(chain))
		return report(fs, file->node, NULL, 0, -EINVAL,
			      "changes are those of a table, a prefix, or a range of keys: of the "
			      "views only .from, .to and .prefix have them");
	file->reader.wants = changes_wants;
	file->table = pos.table;
	file->keyed = pos.depth > 0;
	file->delimiter = pos.delimiter;
	file->layout = wcs_table_layout(pos.table);
	file->chain = wcs_chain_hold(chain);
	file->key_len = pos.key_len;
	memcpy(file->key, pos.key, pos.key_len);
	return 0;
}

void changes_told(void *ctx, const struct wcs_table *table, struct wcs_change *change)
{
	struct live *live = ctx;

	live_push(live, live->changes, (struct ring_line){.change = change, .topic = table});
}

struct wcs_change *live_line(struct wcs_slice key, json_t *line)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	struct wcs_change *change = NULL;
	int rc = to ? escape_json_put(to, line, 0) : -ENOMEM;

	if (!to)
		json_decref(line);
	else if (fclose(to) == 0 && rc == 0)
		change = wcs_change_text(key, text, len);
	free(text);
	return change;
}

/* The line of a drop. NULL: no memory. */
static struct wcs_change *changes_drop(const struct wcs_keys *keys, const struct wcs_slice *key,
				       const char *family)
{
	bool empty = key && key->len == 0; /* the prefix of keys that begin with the delimiter */
	char *shown = key && !empty ? wcs_keys_text(keys, *key) : strdup(empty ? "%" : "");
	json_t *line = family ? json_pack("{s:s, s:s}", "dropped", shown, "family", family)
			      : json_pack("{s:s}", "dropped", shown);

	free(shown);
	return live_line(key ? *key : (struct wcs_slice){NULL, 0}, line);
}

uint64_t live_dropped(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key,
		      const char *family, uint64_t since)
{
	struct ring_line line = {.topic = table, .subtree = true, .since = since};
	struct live *live = fs->live;
	const struct live_file *file;
	uint64_t opens;

	pthread_mutex_lock(&live->lock);
	for (file = live->files; file && (file->table != table || file->number <= since);)
		file = file->next;
	opens = live->opens;
	pthread_mutex_unlock(&live->lock);
	if (file) {
		line.change = changes_drop(wcs_table_keys(table), key, family);
		live_push(live, live->changes, line);
	}
	return opens;
}
