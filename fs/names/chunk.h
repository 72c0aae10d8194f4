/* SPDX-License-Identifier: MIT */
/*
 * Chunk directories: where names longer than NAMES_CHUNK_MAX stand, in as many levels as they have
 * chunks. A directory is its base (of segments, or a family) and a text, the encoded beginning that
 * all names in it share; the base itself has the empty text.
 */
#ifndef FS_CHUNK_H
#define FS_CHUNK_H

#include "fs/fs.h"
#include "fs/names/children.h"
#include "fs/names/spell.h"

/* Where a child of the base stands in one of these directories. */
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

/* Splits the name of a child of base for the directory `text` of it. table: of the base. */
void chunk_split(struct wcs_table *table, struct wcs_slice text, enum node_kind kind,
		 struct wcs_slice bytes, struct chunk_name *name);

/* The first child of base whose name goes through the chunk directory text; which may be in memory
 * itself: then *first is NULL. -ENOENT: neither. The caller frees *first. */
int chunk_first(struct fs *fs, struct node *base, struct wcs_slice text, struct child **first);

/* Is there a child of base whose name goes through it, or another in memory below it? 0, -ENOENT or
 * another error. */
int chunk_stored(struct fs *fs, struct node *base, struct wcs_slice text);

/*
 * A child to resume behind, so that the children are skipped which stand in the same chunk
 * directory below text as this one (or, where it is away, away as well); NULL: there is no telling,
 * go on with the next. *error: -ENOMEM.
 */
struct child *chunk_skip(struct wcs_slice text, const struct chunk_name *name, enum node_kind kind,
			 struct wcs_slice bytes, int *error);

/* Does a child's bytes begin with those of the text? Those that do stand together. */
bool chunk_behind(struct wcs_slice text, struct wcs_slice bytes);

/* The child to start behind: what is before can have no name that goes through text. */
struct child *chunk_start(const struct node *base, struct wcs_slice text);

#endif
