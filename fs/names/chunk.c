/* SPDX-License-Identifier: MIT */
/*
 * Chunk directories.
 *
 * Names that share a chunk share the bytes B that it stands for, but names that begin with B need
 * not be in the chunk: a chunk may end up to two bytes early, if the next unit (an escape or a
 * character) does not fit, while a shorter unit would. The byte after B decides, and if many names
 * follow they are skipped by that byte.
 */
#include "fs/names/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/rows.h"

/* Is it the name of a segment that its codec does not show? */
static bool is_raw(struct wcs_slice name)
{
	return name.len >= 2 && memcmp(name.data, "%=", 2) == 0;
}

/* Decodes the beginning of a name; to has room for text.len. Returns the length. */
static size_t unescape(struct wcs_slice text, unsigned char *to)
{
	size_t len = 0, from = is_raw(text) ? 2 : 0;

	wcs_text_decode((const char *)text.data + from, text.len - from, to, &len);
	return len;
}

/* Does a chunk of the name end where the text does? */
static bool goes_through(const struct chunk_name *name, struct wcs_slice text)
{
	char component[NAMES_CHUNK_MAX + 2];
	size_t at = 0, len;

	if (text.len == 0)
		return true;
	if (name->len < text.len || memcmp(name->encoded, text.data, text.len) != 0)
		return false;
	while (at < text.len)
		at = names_component(name->encoded, name->len, at, component, &len);
	return at == text.len;
}

void chunk_split(const struct pos *base, struct wcs_slice text, enum node_kind kind,
		 struct wcs_slice bytes, struct chunk_name *name)
{
	/* A history is encoded without its '@', which is no part of a chunk. */
	enum node_kind encoded = kind == NODE_HISTORY ? NODE_CELL : kind;
	size_t len;

	name->len = spell_child(base, encoded, bytes, name->encoded);
	name->place = CHUNK_AWAY;
	if (kind != NODE_PREFIX && encoded != NODE_CELL && kind != NODE_CHUNK) {
		name->place = text.len == 0 ? CHUNK_HERE : CHUNK_AWAY;
		name->end = name->len;
		memcpy(name->component, name->encoded, name->len + 1);
		return;
	}
	if (!goes_through(name, text) || (text.len > 0 && name->len == text.len))
		return;
	name->end = names_component(name->encoded, name->len, text.len, name->component, &len);
	name->place = name->end == name->len && kind != NODE_CHUNK ? CHUNK_HERE : CHUNK_BELOW;
	if (kind == NODE_CHUNK && name->end == name->len)
		memcpy(name->component + len, "%", 2);
	if (kind == NODE_HISTORY && name->place == CHUNK_HERE)
		memcpy(name->component + len, "@", 2);
}

/* The room that the chunk which ends at `end` left free: the next unit did not fit into it. */
static size_t room_left(const char *encoded, size_t end)
{
	char component[NAMES_CHUNK_MAX + 2];
	size_t at = 0, next = 0, len;

	while (next < end) {
		at = next;
		next = names_component(encoded, end, at, component, &len);
	}
	return NAMES_CHUNK_MAX - (end - at);
}

/* A child behind all whose bytes start with the stem; given: in front of it, as in struct
 * wcs_list_child. NULL: no memory. */
static struct child *last_child(enum node_kind kind, const unsigned char *stem, size_t len,
				struct wcs_slice given)
{
	size_t room = kind == NODE_PREFIX ? WCS_ROW_KEY_MAX : WCS_QUALIFIER_MAX;
	struct child *child = malloc(sizeof(*child) + room + 1 + given.len);

	if (!child)
		return NULL;
	*child = (struct child){.kind = kind, .len = room, .given_len = given.len};
	len = len < room ? len : room;
	memcpy(child->bytes, stem, len);
	memset(child->bytes + len, 0xFF, room - len);
	child->bytes[room] = 0;
	if (given.len > 0)
		memcpy(child->bytes + room + 1, given.data, given.len);
	return child;
}

struct child *chunk_skip(bool descends, struct wcs_slice text, const struct chunk_name *name,
			 enum node_kind kind, const struct wcs_list_child *of, int *error)
{
	bool away = name->place == CHUNK_AWAY;
	struct wcs_slice shared = {name->encoded, away ? text.len : name->end};
	unsigned char stem[SPELL_MAX];
	size_t len = unescape(shared, stem);
	struct child *child;

	if (of->segment.len <= len || descends || is_raw(shared))
		return NULL;
	/* An ASCII byte is always a unit of its own, but for an @ that ends a name, which is
	 * escaped. Another byte may complete a character, and so change the spelling of the bytes
	 * before it. */
	if (of->segment.len == len + 1)
		return NULL;
	if (away || room_left(shared.data, shared.len) > 0 || stem[len - 1] >= 0x80) {
		stem[len] = ((const unsigned char *)of->segment.data)[len];
		if (stem[len++] >= 0x80)
			return NULL;
	}
	child = last_child(kind, stem, len, of->given);
	if (!child)
		*error = -ENOMEM;
	return child;
}

struct child *chunk_skip_memory(const struct chunk_name *name)
{
	struct wcs_slice chunk = {name->encoded, name->end};
	unsigned char stem[SPELL_MAX];
	size_t len = unescape(chunk, stem), room = room_left(chunk.data, chunk.len);
	/* Into a smaller room fits no escape, of three bytes. */
	bool escape = room < 3 && name->encoded[name->end] == '%';
	struct child *child;

	if (len == 0 || stem[len - 1] >= 0x80 || (room > 0 && !escape))
		return NULL;
	len = name->end + (room > 0);
	child = child_new(NODE_CHUNK,
			  &(struct wcs_list_child){.segment = {name->encoded, len + 1}});
	if (child)
		child->bytes[len] = (char)0xFF; /* no name has it */
	return child;
}

struct child *chunk_start(const struct node *base, bool descends, struct wcs_slice text)
{
	enum node_kind kind = NODE_PREFIX;
	unsigned char stem[SPELL_MAX];
	size_t len = unescape(text, stem);

	if (descends)
		return last_child(kind, stem, len, (struct wcs_slice){0});
	if (base->kind == NODE_FAMILY)
		kind = base->flags & NODE_F_VERSIONS ? NODE_HISTORY : NODE_CELL;
	return child_new(kind, &(struct wcs_list_child){.segment = {stem, len}});
}

/* A search for the first child in a chunk directory. */
struct search {
	const struct pos *pos; /* of the base */
	struct wcs_slice text;
	struct child *found;
	struct child *skip; /* to go on behind */
};

enum { SEARCH_FOUND = 1, SEARCH_END = 2, SEARCH_SKIP = 3 };

bool chunk_behind(struct wcs_slice text, struct wcs_slice bytes)
{
	unsigned char stem[SPELL_MAX];
	size_t len = unescape(text, stem);

	return bytes.len >= len && memcmp(bytes.data, stem, len) == 0;
}

static int search_child(void *ctx, enum node_kind kind, struct wcs_slice bytes,
			const struct wcs_cell_info *info)
{
	const struct wcs_list_child child = {.segment = bytes};
	struct search *search = ctx;
	struct chunk_name name;
	int error = 0;

	(void)info;
	if (kind != NODE_PREFIX && kind != NODE_CELL && kind != NODE_HISTORY)
		return SEARCH_END;
	if (!chunk_behind(search->text, bytes))
		return SEARCH_END;
	chunk_split(search->pos, search->text, kind, bytes, &name);
	if (name.place == CHUNK_AWAY) {
		search->skip = chunk_skip(search->pos->descends, search->text, &name, kind, &child,
					  &error);
		return search->skip ? SEARCH_SKIP : error;
	}
	search->found = child_new(kind, &child);
	return search->found ? SEARCH_FOUND : -ENOMEM;
}

/* Is a chunk directory below this one in memory? Others may begin alike, and end their chunk at
 * another place. */
static int memory_below(struct fs *fs, const struct pos *pos, struct wcs_slice text)
{
	struct memdir_path path = {0};
	struct wcs_slice child = {0};
	struct chunk_name name = {.place = CHUNK_AWAY};
	int rc = pos_memdir_path(pos, &path);

	while (rc == 0 && name.place == CHUNK_AWAY) {
		rc = memdirs_next(fs->memdirs, &path, MEMDIR_CHUNK, child.data ? &child : &text,
				  &child);
		if (rc == 0 &&
		    (child.len <= text.len || memcmp(child.data, text.data, text.len) != 0))
			rc = -ENOENT;
		if (rc == 0)
			chunk_split(pos, text, NODE_CHUNK, child, &name);
	}
	free((void *)child.data);
	memdir_path_clear(&path);
	return rc;
}

/* Does chunk_stored, with the position of the base. */
static int stored(struct fs *fs, struct node *base, struct wcs_slice text, const struct pos *pos,
		  struct child **first)
{
	struct children_scan scan = {.entered = pos->view != NULL, .chain = pos->chain};
	struct search search = {.pos = pos, .text = text};
	struct child *after = chunk_start(base, pos->descends, text);
	int rc = after ? SEARCH_SKIP : -ENOMEM;

	while (rc == SEARCH_SKIP) {
		rc = children_walk(fs, base, after, &scan, search_child, &search);
		children_scan_close(&scan);
		if (rc == SEARCH_SKIP) {
			free(after);
			after = search.skip;
		}
	}
	free(after);
	if (first)
		*first = search.found;
	else
		free(search.found);
	rc = rc == SEARCH_FOUND ? 0 : rc < 0 ? rc : -ENOENT;
	return rc == -ENOENT && !pos->view ? memory_below(fs, pos, text) : rc;
}

int chunk_stored(struct fs *fs, struct node *base, struct wcs_slice text, struct child **first)
{
	struct pos pos;
	int rc = pos_of(base, &pos);

	return rc == 0 ? stored(fs, base, text, &pos, first) : rc;
}

int chunk_first(struct fs *fs, struct node *base, const struct pos *shown, struct wcs_slice text,
		struct child **first)
{
	struct pos pos;
	int rc = pos_of(base, &pos);

	if (rc != 0)
		return rc;
	pos.chain = shown ? shown->chain : NULL;
	rc = stored(fs, base, text, &pos, first);
	if (rc != -ENOENT || pos.view)
		return rc;
	rc = pos_descend(&pos, NODE_CHUNK, text);
	return rc == 0 ? pos_exists(fs, &pos) : rc;
}
