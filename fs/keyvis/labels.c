/* SPDX-License-Identifier: MIT */
/*
 * Ranges of stored keys as names, paths and a tree of prefixes.
 *
 * A range belongs to a prefix if all keys from its start to its end begin with it. Its start does,
 * and its end does so, too, or is behind the prefix: the delimiter's next byte, or the next segment
 * of those that count. "STC#22" to "STC#30", "STC#30" to "STC$" and "T17#x" to "T18" belong to
 * "STC", "STC" and "T17"; "T17#x" to "T22" belongs to none. In a bucket of a salt the last range,
 * whose start is a whole prefix, belongs to this, since that is all that is known to be in it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"
#include "lib/escape.h"
#include "lib/grow.h"
#include "lib/names.h"
#include "lib/utf8.h"

/* The bytes of a stored key that are its salt; a bound may be the digits alone. */
static size_t label_salt(const struct keyvis_table *table, struct wcs_slice stored)
{
	const unsigned char *bytes = stored.data;

	if (!wcs_keys_salted(table->keys) || stored.len + 1 < WCS_KEYS_SALT ||
	    !isxdigit(bytes[0]) || !isxdigit(bytes[1]))
		return 0;
	if (stored.len < WCS_KEYS_SALT)
		return stored.len;
	return bytes[WCS_KEYS_SALT - 1] == table->delimiter ? WCS_KEYS_SALT : 0;
}

static struct wcs_slice label_behind(struct wcs_slice bytes, size_t skip)
{
	if (skip == 0)
		return bytes;
	return (struct wcs_slice){(const char *)bytes.data + skip, bytes.len - skip};
}

/* Adds text to a text, which it frees if there is no memory. */
static char *label_join(const char *before, char *text, const char *after)
{
	char *joined = NULL;

	if (text && asprintf(&joined, "%s%s%s", before, text, after) < 0)
		joined = NULL;
	free(text);
	return joined;
}

/* The delimiter as keys show it; `after` follows it. */
static void label_delimiter(const struct keyvis_table *table, const char *after, char text[6])
{
	unsigned char byte = table->delimiter;

	snprintf(text, 6, isprint(byte) ? "%c%s" : "%%%02X%s", byte, after);
}

/* An empty segment at the end is that of a bound, and no codec's. */
char *keyvis_key(const struct keyvis_table *table, struct wcs_slice stored)
{
	size_t salt = label_salt(table, stored);
	struct wcs_slice key = label_behind(stored, salt);
	char before[16] = "", after[6] = "", *text;

	if (salt > 0)
		snprintf(before, sizeof(before), "salt %.2s%s", (const char *)stored.data,
			 key.len > 0 ? " " : "");
	if (key.len > 0 && ((const unsigned char *)key.data)[key.len - 1] == table->delimiter) {
		label_delimiter(table, "", after);
		key.len--;
	}
	text = utf8_safe(key.len > 0 ? wcs_keys_text(table->keys, key) : strdup(""));
	return label_join(before, text, after);
}

/* The end of the segment that begins at a byte of a key: its delimiter, or the key's end. */
static size_t label_end(const struct keyvis_table *table, struct wcs_slice key, size_t from)
{
	const unsigned char *bytes = key.data, *delimiter = NULL;

	if (from < key.len)
		delimiter = memchr(bytes + from, table->delimiter, key.len - from);
	return delimiter ? (size_t)(delimiter - bytes) : key.len;
}

/* Is b the segment behind a, where segments count in decimal or by a byte? */
static bool label_follows(const unsigned char *a, const unsigned char *b, size_t len)
{
	size_t last = len;

	while (last > 0 && a[last - 1] == '9' && b[last - 1] == '0')
		last--;
	return last > 0 && b[last - 1] == a[last - 1] + 1 &&
	       (last == len || isdigit(a[last - 1])) && memcmp(a, b, last - 1) == 0;
}

/* Are b the digits of the salt's next bucket behind a? */
static bool label_next_bucket(const unsigned char *a, const unsigned char *b)
{
	const char from[] = {(char)a[0], (char)a[1], '\0'}, to[] = {(char)b[0], (char)b[1], '\0'};

	return strtoul(to, NULL, 16) == strtoul(from, NULL, 16) + 1;
}

/* Does the range belong to the prefix that is the first `end` bytes of its start, of which the last
 * segment begins at `from`? */
static bool label_belongs(const struct keyvis_table *table, const struct wcs_heat_range *range,
			  size_t from, size_t end)
{
	const unsigned char *start = range->start.data, *last = range->end.data;
	size_t len = range->end.len, salt = label_salt(table, range->start);

	if (range->row || last == NULL)
		return range->row;
	if (salt > 0 && from == 0)
		return len >= end && (memcmp(last, start, end) == 0 ||
				      (len < WCS_KEYS_SALT && label_next_bucket(start, last)));
	if (salt > 0 && from == salt && end == range->start.len &&
	    wcs_slice_shared(range->start, range->end) < WCS_KEYS_SALT - 1)
		return true;
	if (len < end || memcmp(last, start, from) != 0)
		return false;
	if (len > end && memcmp(last, start, end) == 0)
		return last[end] == table->delimiter ||
		       (len == end + 1 && last[end] == table->delimiter + 1);
	return len == end && label_follows(start + from, last + from, end - from);
}

/* The prefixes of a range: ends[d] is the end of that at depth d. */
struct label_prefixes {
	struct wcs_slice start;
	size_t count, ends[KEYVIS_DEPTH_MAX];
};

/* Finds them. Returns the end of the longest one, which may be deeper than those; 0: none. */
static size_t label_prefixes(const struct keyvis_table *table, const struct wcs_heat_range *range,
			     struct label_prefixes *prefixes)
{
	size_t from = 0, end, longest = 0;

	prefixes->start = range->start;
	prefixes->count = 0;
	for (; from < range->start.len; from = end + 1) {
		end = label_end(table, range->start, from);
		if (!label_belongs(table, range, from, end))
			break;
		longest = end;
		if (prefixes->count < KEYVIS_DEPTH_MAX)
			prefixes->ends[prefixes->count++] = end;
	}
	return longest;
}

static size_t label_longest(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	struct label_prefixes prefixes;

	return label_prefixes(table, range, &prefixes);
}

/* All keys of a prefix: its delimiter is the start's last byte, or all but the end's. */
static bool label_whole(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	const unsigned char *start = range->start.data, *end = range->end.data;
	size_t len = range->end.len;

	if (range->row || end == NULL || len == 0 || range->start.len == 0 ||
	    end[len - 1] != table->delimiter + 1)
		return false;
	if (range->start.len == len && start[len - 1] != table->delimiter)
		return false;
	return (range->start.len == len || range->start.len == len - 1) &&
	       memcmp(start, end, len - 1) == 0;
}

static struct wcs_slice label_first(struct wcs_slice bytes, size_t len)
{
	return (struct wcs_slice){bytes.data, len};
}

/* "STC#*", of a salt alone "salt 0a". */
static char *label_all(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	size_t salt = label_salt(table, range->start);
	char after[6], *text;

	label_delimiter(table, "*", after);
	if (salt == range->start.len)
		return keyvis_key(table, range->start);
	text = keyvis_key(table, label_first(range->start, range->end.len - 1));
	return label_join("", text, after);
}

/* A bound; of the first key behind K it is K with a word before it. */
static char *label_bound(const struct keyvis_table *table, struct wcs_slice key, const char *after)
{
	const unsigned char *bytes = key.data;

	if (key.len > 1 && bytes[key.len - 1] == 0)
		return label_join(after, keyvis_key(table, label_first(key, key.len - 1)), "");
	return keyvis_key(table, key);
}

/* A short one: of bounds the first one, "after K" if it is behind row K; of the first range its
 * end: "before K". */
static char *label(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	bool first = range->start.len == 0, behind;
	const unsigned char *end = range->end.data;

	if (first && end == NULL)
		return strdup("all keys");
	if (first) {
		behind = range->end.len > 1 && end[range->end.len - 1] == 0;
		return label_join(behind ? "" : "before ", label_bound(table, range->end, "up to "),
				  "");
	}
	if (label_whole(table, range))
		return label_all(table, range);
	return range->row ? keyvis_key(table, range->start)
			  : label_bound(table, range->start, "after ");
}

char **keyvis_labels(const struct keyvis_table *table, const struct wcs_heat_map *map, size_t width)
{
	char **whole = calloc(map->rows, sizeof(*whole)), **labels;
	bool memory = whole != NULL;

	for (size_t r = 0; r < map->rows && memory; r++) {
		whole[r] = label(table, &map->ranges[r]);
		memory = whole[r] != NULL;
	}
	labels = memory ? keyvis_fit_list(whole, map->rows, width) : NULL;
	keyvis_list_free(whole, map->rows);
	return labels;
}

char *keyvis_name(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	bool first = range->start.len == 0, last = range->end.data == NULL;
	char *start, *end, *name = NULL;

	if ((first && last) || range->row || label_whole(table, range))
		return label(table, range);
	start = first ? strdup("the first key") : label_bound(table, range->start, "after ");
	end = last ? strdup("the last key") : label_bound(table, range->end, "after ");
	if (start && end && asprintf(&name, "%s to %s", start, end) < 0)
		name = NULL;
	free(start);
	free(end);
	return name;
}

char *keyvis_prefix(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	size_t len = label_longest(table, range);
	char after[6];

	label_delimiter(table, "*", after);
	if (range->row || len == 0)
		return keyvis_name(table, range);
	if (label_salt(table, range->start) > 0 && len < WCS_KEYS_SALT)
		return keyvis_key(table, label_first(range->start, len));
	return label_join("", keyvis_key(table, label_first(range->start, len)), after);
}

/* The path of the first `end` bytes of a stored key, as a shell takes it. */
static char *label_path(const struct keyvis_table *table, struct wcs_slice stored, size_t end)
{
	size_t salt = label_salt(table, stored);
	char before[WCS_TABLE_NAME_MAX + 2] = "", *path, *word;

	if (end <= salt)
		return strdup(table->root ? "." : table->name);
	if (!table->root)
		snprintf(before, sizeof(before), "%s/", table->name);
	path = label_join(before,
			  wcs_keys_path(table->keys, table->delimiter, table->families,
					label_behind(label_first(stored, end), salt)),
			  "");
	word = path ? escape_path(path) : NULL;
	free(path);
	return word;
}

char *keyvis_path(const struct keyvis_table *table, const struct wcs_heat_range *range)
{
	return label_path(table, range->start,
			  range->row ? range->start.len : label_longest(table, range));
}

/* ---- The tree ---------------------------------------------------------------------------- */

/* The last segment of a prefix, which begins at `from`, as text. */
static char *label_word(const struct keyvis_table *table, struct wcs_slice start, size_t from,
			size_t end)
{
	size_t salt = label_salt(table, start);
	char *whole = keyvis_key(table, label_first(start, end)),
	     *above = keyvis_key(table, label_first(start, from)), *word = NULL;
	size_t skip = above ? strlen(above) : 0;

	if (from > 0 && from == salt)
		skip++; /* the space behind a salt */
	if (whole && above)
		word = strdup(strlen(whole) > skip ? whole + skip : "%");
	free(whole);
	free(above);
	return word;
}

/* The number of prefixes that two neighbours share. */
static size_t label_shared(const struct label_prefixes *a, const struct label_prefixes *b)
{
	size_t count = 0;

	while (count < a->count && count < b->count && a->ends[count] == b->ends[count] &&
	       memcmp(a->start.data, b->start.data, a->ends[count]) == 0)
		count++;
	return count;
}

int keyvis_nodes(const struct keyvis_table *table, const struct wcs_heat_map *map,
		 struct keyvis_node **nodes, size_t *count)
{
	struct label_prefixes above = {0}, here;
	size_t open[KEYVIS_DEPTH_MAX], made = 0, room = 0, shared;
	struct keyvis_node *all = NULL;

	for (size_t r = 0; r < map->rows; r++) {
		label_prefixes(table, &map->ranges[r], &here);
		shared = label_shared(&above, &here);
		for (size_t d = 0; d < shared; d++)
			all[open[d]].last = r;
		for (size_t d = shared; d < here.count; d++) {
			char *word = label_word(table, here.start, d > 0 ? here.ends[d - 1] + 1 : 0,
						here.ends[d]);

			if (!word || grow(&all, &room, made + 1, 64, sizeof(*all))) {
				free(word);
				keyvis_nodes_free(all, made);
				return -ENOMEM;
			}
			open[d] = made;
			all[made++] = (struct keyvis_node){
				d, r, r, label_first(here.start, here.ends[d]), word};
		}
		above = here;
	}
	*nodes = all;
	*count = made;
	return 0;
}

char *keyvis_node_path(const struct keyvis_table *table, const struct keyvis_node *node)
{
	return label_path(table, node->prefix, node->prefix.len);
}

void keyvis_nodes_free(struct keyvis_node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(nodes[i].word);
	free(nodes);
}
