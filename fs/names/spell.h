/* SPDX-License-Identifier: MIT */
/* From the name of a child to its kind and bytes, and back. The store is asked for nothing but the
 * table's families. */
#ifndef FS_SPELL_H
#define FS_SPELL_H

#include "fs/inode/node.h"
#include "fs/names/control_names.h"
#include "fs/names/pos.h"
#include "lib/names.h"

/* Bytes that hold the spelling of any one name, its '@' and NUL. */
#define SPELL_MAX (NAMES_ENCODED_MAX(WCS_QUALIFIER_MAX) + 2)

/* The meaning of a name in its directory; the child need not exist. */
struct spelled {
	enum node_kind kind;
	enum control control; /* of NODE_CONTROL */
	struct wcs_slice bytes;
	char buf[SPELL_MAX + NAMES_COMPONENT_MAX]; /* holds bytes, with a NUL behind */
	struct wcs_fault fault; /* why a codec does not take the name; empty: for another reason */
};

/* dir may be a chunk directory; pos is its position. -EINVAL: the name has no meaning there (a
 * LOOKUP answers ENOENT); -ENAMETOOLONG. */
int spell_parse(const struct node *dir, const struct pos *pos, const char *name,
		struct spelled *child);

/* Is it the name of rsync's directory for delayed updates, in a family or a history? It is also the
 * name of a column or a draft, unless mkdir has made the directory. */
bool spell_drafts(const struct node *dir, const char *name, struct spelled *child);

/* The draft that a name of rsync's temporary form means in a family (not in a chunk directory). The
 * same name may spell a column, which then goes first. -EINVAL: it is not of that form. */
int spell_temporary(const struct node *dir, const char *name, struct spelled *child);

/* Writes the spelling of a child and a NUL; name has room for SPELL_MAX. dir: the position of its
 * directory; NULL: above tables, or of columns. Returns its length. */
size_t spell_child(const struct pos *dir, enum node_kind kind, struct wcs_slice bytes, char *name);

/* Writes the spelling of a node, as spell_child does. */
size_t spell_node(const struct node *node, char *name);

/* The path of a node from the mount's root, for messages; name: of a child, or NULL. Cut to fit
 * size bytes. */
void spell_path(const struct node *node, const char *name, char *path, size_t size);

/* A name that all directories of some kinds have. Those of directories of segments are not listed.
 */
struct spell_name {
	unsigned dirs; /* bits: the kinds of directories that have it; VIEWED: also in views */
	enum node_kind kind;
	enum control control; /* of NODE_CONTROL */
	const char *name;
	const char *shown; /* in the help, as the next; NULL: not there */
	const char *help;  /* lines */
};
/* The i-th of all, by name in each directory; NULL: there are fewer. */
const struct spell_name *spell_name(size_t i);

/* The i-th listed name that each directory of that kind has, and its kind; false: none. */
bool spell_fixed(enum node_kind dir, size_t i, enum node_kind *kind, const char **name);
/* The i-th name with a dot that is no view: of a control file, or of a directory of them; and the
 * places where it stands, in words. NULL: there are fewer. */
#define SPELL_AT_ROOT "at the root of the mount"
const char *spell_dotted(size_t i, const char **where);
/* Can nothing be made or removed in the directory? */
bool spell_is_fixed(const struct node *dir);

#endif
