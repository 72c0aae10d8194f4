/* SPDX-License-Identifier: MIT */
/* Which child of which directory a name means, and how a child's name is spelled. No store access
 * beyond the table's families. */
#ifndef FS_SPELL_H
#define FS_SPELL_H

#include "fs/inode/node.h"
#include "fs/names/pos.h"
#include "lib/names.h"

/* Bytes that hold the spelling of any one name, its '@' and NUL. */
#define SPELL_MAX (NAMES_ENCODED_MAX(WCS_QUALIFIER_MAX) + 2)

/* The control files. */
enum control {
	CONTROL_SCHEMA,	   /* /.rowfs/schema.json */
	CONTROL_VERSION,   /* /.rowfs/version */
	CONTROL_ERRORS,	   /* /.rowfs/errors */
	CONTROL_METRICS,   /* /.rowfs/metrics */
	CONTROL_ENGINE,	   /* /.rowfs/engine */
	CONTROL_COLLECTOR, /* /.rowfs/gc */
	CONTROL_HELP,	   /* /.rowfs/help */
	CONTROL_ROWS,	   /* .rows in T and below */
	CONTROL_ROW,	   /* .row below T */
	CONTROL_KEYS,	   /* .keys in T and below */
	CONTROL_DROP,	   /* .drop in T and below, T/.families/F/drop */
	CONTROL_DELIMITER, /* T/.delimiter */
	CONTROL_POLICY,	   /* T/.families/F/gc */
	CONTROL_TYPE,	   /* T/.families/F/type */
	CONTROL_PROTECTED, /* T/.protected */
	CONTROL_COUNT,	   /* .count in T and below */
};

/* What a name means in its directory; it need not exist. */
struct spelled {
	enum node_kind kind;
	enum control control; /* of NODE_CONTROL */
	struct wcs_slice bytes;
	char buf[SPELL_MAX + NAMES_COMPONENT_MAX]; /* holds bytes, with a NUL behind */
};

/* dir may be a chunk directory; pos is its position. -EINVAL: the name means nothing there (looked
 * up: ENOENT); -ENAMETOOLONG. */
int spell_parse(const struct node *dir, const struct pos *pos, const char *name,
		struct spelled *child);

/* Is it the name of rsync's directory for delayed updates, in a family or a history? A column or a
 * draft may have it too: it is the directory's while mkdir has made that. */
bool spell_drafts(const struct node *dir, const char *name, struct spelled *child);

/* The draft that a name in a family, no chunk of it, is where it is not the column whose spelling
 * it is, too: it is of the form of rsync's temporary names. -EINVAL: it is not. */
int spell_temporary(const struct node *dir, const char *name, struct spelled *child);

/* Writes the spelling of a child and a NUL; name has room for SPELL_MAX. table: NULL where there
 * is none. Returns its length. */
size_t spell_child(struct wcs_table *table, enum node_kind kind, struct wcs_slice bytes,
		   char *name);

/* The same for a node. */
size_t spell_node(const struct node *node, char *name);

/* The i-th control file that is listed in a directory of that kind, and its name; false: none. */
bool spell_control(enum node_kind dir, size_t i, enum control *control, const char **name);
/* Does the directory have these alone, so that nothing can be made in it? */
bool spell_is_fixed(const struct node *dir);

#endif
