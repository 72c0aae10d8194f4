/* SPDX-License-Identifier: MIT */
/*
 * Chunk directories: names longer than NAMES_CHUNK_MAX stand in them, in as many levels as the name
 * has chunks. A chunk directory is its base (a directory of segments, or a family) and a text: the
 * encoded beginning that all names in it share. The base itself has the empty text.
 */
#ifndef FS_CHUNK_H
#define FS_CHUNK_H

#include "fs/fs.h"
#include "fs/names/children.h"
#include "fs/names/spell.h"

/* The place of a child of the base in one of these directories. */
enum chunk_place {
	CHUNK_HERE,  /* its name ends there */
	CHUNK_BELOW, /* in a chunk directory there */
	CHUNK_AWAY,  /* elsewhere */
};

struct chunk_name {
	enum chunk_place place;
	char encoded[SPELL_MAX]; /* its whole name; of a history without the '@' */
	size_t len;
	size_t end;				 /* of its component in the directory */
	char component[NAMES_COMPONENT_MAX + 2]; /* with the '@' of a history */
};

/* Splits the name of a child of base for the directory `text` of it. base: its position. */
void chunk_split(const struct pos *base, struct wcs_slice text, enum node_kind kind,
		 struct wcs_slice bytes, struct chunk_name *name);

/* The first child of base whose name goes through the chunk directory text; *first is NULL if there
 * is none, but the directory is in memory. shown: what the base shows, of an entered
 * position; NULL: outside of views. -ENOENT: neither. The caller frees *first; first may be
 * NULL. */
int chunk_first(struct fs *fs, struct node *base, const struct pos *shown, struct wcs_slice text,
		struct child **first);

/* Finds what chunk_first does outside of views, but counts only the directories in memory that are
 * below text. */
int chunk_stored(struct fs *fs, struct node *base, struct wcs_slice text, struct child **first);

/*
 * A child to resume after. That skips all children in the same chunk directory below text as this
 * one; if this one is away, all that are away for the same reason. NULL: no such child is known, as
 * in descending order or of a segment behind "%=", go on with the next one; or *error is -ENOMEM.
 */
struct child *chunk_skip(bool descends, struct wcs_slice text, const struct chunk_name *name,
			 enum node_kind kind, const struct wcs_list_child *of, int *error);
/* A chunk directory in memory to resume after, which skips all in the same chunk as this one. NULL:
 * names that begin alike may be outside of the chunk, or no memory; go on with the next one. */
struct child *chunk_skip_memory(const struct chunk_name *name);

/* Do a child's bytes begin with those of the text? Such children are listed next to each other. */
bool chunk_behind(struct wcs_slice text, struct wcs_slice bytes);

/* The child to start after: no child before it has a name that goes through text. descends: the
 * children come in descending order. */
struct child *chunk_start(const struct node *base, bool descends, struct wcs_slice text);

#endif
