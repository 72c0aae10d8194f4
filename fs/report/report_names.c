/* SPDX-License-Identifier: MIT */
/*
 * The reasons for names: of one that has no meaning in its directory, and of one that a lookup did
 * not find. Programs look up names that they know to be absent (.git, .hidden), and each creation
 * begins with a lookup, so most misses are only the errors' last line until the next.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/names/pos.h"
#include "fs/names/spell.h"
#include "fs/report/errors.h"
#include "fs/report/report.h"
#include "fs/serve/loop.h"
#include "lib/utf8.h"
#include "store/chain/views.h"

enum { LIST_MAX = 512 };

/* The names of the table's families, without a table those of the store's tables, as many as fit.
 */
static void list_names(struct fs *fs, struct wcs_table *table, char list[LIST_MAX])
{
	char name[WCS_TABLE_NAME_MAX + WCS_FAMILY_NAME_MAX + 1] = "";
	size_t used = 0;

	strcpy(list, table ? "(none; mkdir in .families makes one)" : "(none; mkdir makes one)");
	while (used < LIST_MAX - 1 && (table ? wcs_family_next(table, name, name)
					     : wcs_table_next(fs->store, name, name)) == 0)
		used += (size_t)snprintf(list + used, LIST_MAX - used, "%s%s", used > 0 ? ", " : "",
					 name);
}

int report_no_family(struct fs *fs, const struct node *dir, const char *name,
		     struct wcs_table *table)
{
	char list[LIST_MAX];

	list_names(fs, table, list);
	return report(fs, dir, name, 0, -EPERM,
		      "cells are files in a family of a row; the families of table %s are: %s",
		      wcs_table_name(table), list);
}

#define REPORT_FAMILY                                                                              \
	"it is a family, and no row can be here; families are in rows, below the segments of "     \
	"their keys"

#define MISSPELLED                                                                                 \
	"no name is spelled so: %XX, with upper-case digits, stands for / % control bytes, what "  \
	"is not UTF-8, and nothing else (rowfs(5))"

/* Are there bytes that a name has only as %XX? */
static bool has_raw_bytes(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return true;
	return utf8_prefix((const unsigned char *)name, len) < len;
}

static bool explain_dotted(const struct node *dir, struct pos *pos, const char *name, char *reason,
			   size_t size);

/* Why the name has no meaning in that directory; in child if its codec does not take it. */
static const char *bad_name(const struct node *dir, struct pos *pos, const char *name,
			    struct spelled *child)
{
	const struct wcs_slice bytes = {name, strlen(name)};
	bool versions = pos->versions;

	pos->versions = false;
	if (pos->kind == NODE_ROOT)
		return "a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or . first";
	if (pos->kind == NODE_FAMILIES)
		return "a family's name is 1 to 64 of -_.a-zA-Z0-9";
	if (pos->kind == NODE_HISTORY)
		return "a version's name is its timestamp in microseconds, or a time like "
		       "2024-01-31T10:00:00Z, not before 1970; a temporary file's starts with a "
		       "dot";
	if (spell_parse(dir, pos, name, child) == 0 && pos->family && versions)
		return "in /.versions a family has only histories: column q is a directory q@, "
		       "with its versions in it";
	if (child->fault.text[0])
		return child->fault.text;
	if (bytes.len > NAMES_CHUNK_MAX && !names_is_chunk(name, bytes.len))
		return "a directory's name of more than 230 bytes is split into directories, which "
		       "rowfs-path prints";
	if (has_raw_bytes(name))
		return "the name has control bytes, or bytes that are not UTF-8, as they are; "
		       "write them %XX, as shown here";
	if (!pos->table || pos->family)
		return MISSPELLED;
	if (name[0] == '.')
		explain_dotted(dir, pos, name, child->fault.text, sizeof(child->fault.text));
	if (child->fault.text[0])
		return child->fault.text;
	if (name[0] == '.')
		return "only control files and views start with a dot, /.rowfs/help has them; that "
		       "of a key is written %2E";
	if (memchr(name, pos->delimiter, bytes.len))
		return "it holds the delimiter, at which keys become paths: a directory for each "
		       "segment (mkdir -p)";
	if (wcs_family_exists(pos->table, bytes))
		return REPORT_FAMILY;
	return MISSPELLED;
}

/* As report, but a name is looked up several times before it is made, and has one line. */
static int report_name(struct fs *fs, const struct node *dir, const char *name, int error,
		       const char *reason)
{
	char path[4096];

	spell_path(dir, name, path, sizeof(path));
	if (errors_last(fs, loop_user(), path, reason))
		return error;
	return report(fs, dir, name, 0, error, "%s", reason);
}

int report_bad_name(struct fs *fs, const struct node *dir, const char *name)
{
	struct spelled child;
	struct pos pos;
	int rc = pos_of(dir, &pos);

	return rc != 0 ? rc
		       : report_name(fs, dir, name, -EINVAL, bad_name(dir, &pos, name, &child));
}

/* ---- Names with a dot ---------------------------------------------------------------------- */

enum { DOTTED_MAX = 24, FAR = 3 };

/* A view or a control file. */
struct dotted {
	const char *name;		  /* without its dot */
	const struct wcs_view_name *view; /* NULL: of a control file */
	const char *where;		  /* NULL: of a view */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The letters to add, remove, replace or exchange with a neighbour to make a of b; FAR: that or
 * more. */
static size_t letters_between(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b), costs[DOTTED_MAX + 1][DOTTED_MAX + 1];

	if (m > DOTTED_MAX || n > DOTTED_MAX || m > n + FAR - 1 || n > m + FAR - 1)
		return FAR;
	for (size_t i = 0; i <= m; i++)
		for (size_t j = 0; j <= n; j++) {
			if (i == 0 || j == 0) {
				costs[i][j] = i + j;
				continue;
			}
			costs[i][j] = least(costs[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
					    1 + least(costs[i - 1][j], costs[i][j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				costs[i][j] = least(costs[i][j], costs[i - 2][j - 2] + 1);
		}
	return least(costs[m][n], FAR);
}

struct nearest {
	bool root;	 /* the name stands at the root */
	size_t distance; /* letters; FAR: no name is that near */
	struct dotted first;
	char names[160]; /* of all that are as near, with the forms of arguments */
};

/* A short name may have a single wrong letter: .git is not meant to be .at. */
static void dotted_try(const char *name, const struct dotted *candidate, struct nearest *nearest)
{
	size_t letters = letters_between(name, candidate->name), used;
	const char *argument = candidate->view ? candidate->view->argument : NULL;

	if (letters > nearest->distance || letters == FAR ||
	    (letters > 0 && !nearest->root && candidate->where &&
	     strcmp(candidate->where, SPELL_AT_ROOT) == 0) ||
	    (letters > 1 && strlen(candidate->name) <= 3) || letters >= strlen(name))
		return;
	if (letters < nearest->distance) {
		nearest->distance = letters;
		nearest->first = *candidate;
		nearest->names[0] = 0;
	}
	used = strlen(nearest->names);
	snprintf(nearest->names + used, sizeof(nearest->names) - used, "%s.%s%s%s",
		 used > 0 ? " or " : "", candidate->name, argument ? "/" : "",
		 argument ? argument : "");
}

/* The views and control files of that name, or the nearest ones. */
static void dotted_nearest(const struct node *dir, const char *name, struct nearest *nearest)
{
	struct dotted at = {0};

	*nearest = (struct nearest){.root = dir->kind == NODE_ROOT, .distance = FAR};
	for (size_t i = 0; (at.view = wcs_view_name(i)); i++) {
		at.name = at.view->name;
		dotted_try(name, &at, nearest);
	}
	for (size_t i = 0; (at.name = spell_dotted(i, &at.where)); i++) {
		at.name++;
		dotted_try(name, &at, nearest);
	}
}

static bool is_in_column(const struct node *dir)
{
	return dir->kind == NODE_FAMILY || dir->kind == NODE_HISTORY;
}

/* A misspelt view or control file, or one in the wrong place. Returns whether that is an error. */
static bool explain_dotted(const struct node *dir, struct pos *pos, const char *name, char *reason,
			   size_t size)
{
	struct spelled child;
	const struct dotted *known;
	struct nearest nearest;

	dotted_nearest(dir, name + 1, &nearest);
	known = &nearest.first;
	if (nearest.distance == FAR ||
	    (nearest.distance > 0 && (is_in_column(dir) || spell_is_fixed(dir))))
		return false;
	if (nearest.distance > 0) {
		snprintf(reason, size,
			 "there is no view or control file of that name; the nearest is %s",
			 nearest.names);
		return true;
	}
	if (!is_in_column(dir) && spell_parse(dir, pos, name, &child) == 0)
		return false;
	if (dir->flags & NODE_F_VERSIONS)
		snprintf(reason, size, "/.versions has no views and no control files");
	else if (!known->view)
		snprintf(reason, size, "it stands only %s", known->where);
	else if (known->view->kind == WCS_STEP_RAW)
		snprintf(reason, size, "it stands only in a table, as the first view");
	else
		snprintf(reason, size,
			 "views stand in a table, in directories of segments and in other views");
	/* rowfs-dump and completion look for control files in any directory, and a column may have
	 * the name of a view. */
	return known->view && !is_in_column(dir);
}

/* ---- Names that a lookup did not find ------------------------------------------------------ */

/* The end of a reason: a view or control file has that name with a dot. */
static const char *forgotten_dot(const struct node *dir, const char *name)
{
	struct nearest nearest;

	dotted_nearest(dir, name, &nearest);
	return nearest.distance == 0 ? "; a view or control file begins with a dot" : "";
}

static void list_fixed(const struct node *dir, char *reason, size_t size)
{
	size_t used = (size_t)snprintf(reason, size, "the names here are: ");
	enum node_kind kind;
	const char *name;

	for (size_t i = 0; used < size && spell_fixed(dir->kind, i, &kind, &name); i++)
		used += (size_t)snprintf(reason + used, size - used, "%s%s", i > 0 ? ", " : "",
					 name);
}

/* In a table, in a directory of segments and in views. */
static void explain_segment(struct fs *fs, const struct node *dir, const struct pos *pos,
			    const char *name, char *reason, size_t size)
{
	bool bare = dir->kind == NODE_VIEWED && dir->parent->kind != NODE_VIEW &&
		    dir->parent->kind != NODE_CHUNK;
	char list[LIST_MAX];

	if (bare) {
		snprintf(reason, size,
			 "no row or directory has that name in this view, and %s takes no argument",
			 dir->name);
	} else if (dir->flags & NODE_F_VIEW) {
		snprintf(reason, size, "no row, directory or family has that name in this view%s",
			 forgotten_dot(dir, name));
	} else {
		list_names(fs, pos->table, list);
		snprintf(reason, size,
			 "no row or directory has that name yet (mkdir -p makes one, and with the "
			 "option autodir none is needed); the families of table %s, which are in "
			 "rows, are: %s%s",
			 wcs_table_name(pos->table), list, forgotten_dot(dir, name));
	}
}

static void explain_plain(struct fs *fs, const struct node *dir, struct pos *pos, const char *name,
			  char *reason, size_t size)
{
	struct spelled child;
	char list[LIST_MAX];
	bool meaningless;

	if (spell_is_fixed(dir)) {
		if (dir->kind == NODE_KEYVIS)
			snprintf(reason, size, "there is no table of that name");
		else if (dir->kind != NODE_EXPLAIN)
			list_fixed(dir, reason, size);
		return;
	}
	meaningless = dir->kind != NODE_FAMILY && dir->kind != NODE_ROOT &&
		      dir->kind != NODE_VIEW && spell_parse(dir, pos, name, &child) == -EINVAL;
	if (meaningless) {
		snprintf(reason, size, "%s", bad_name(dir, pos, name, &child));
	} else if (dir->kind == NODE_ROOT) {
		list_names(fs, NULL, list);
		snprintf(reason, size, "there is no table of that name; the tables are: %s", list);
	} else if (dir->kind == NODE_FAMILIES) {
		list_names(fs, pos->table, list);
		snprintf(reason, size,
			 "there is no family of that name; the families of table %s are: %s",
			 wcs_table_name(pos->table), list);
	} else if (dir->kind == NODE_TABLE || dir->kind == NODE_PREFIX ||
		   dir->kind == NODE_VIEWED) {
		explain_segment(fs, dir, pos, name, reason, size);
	}
}

void report_miss(struct fs *fs, const struct node *dir, const char *name, const char *reason)
{
	char path[4096];

	spell_path(dir, name, path, sizeof(path));
	errors_miss(fs, loop_user(), path, reason);
}

void report_missing(struct fs *fs, const struct node *dir, const char *name)
{
	char reason[REPORT_MAX] = "";
	bool error = false;
	struct pos pos;

	if (dir->kind == NODE_CHUNK || pos_of(dir, &pos) != 0)
		return;
	if (name[0] == '.')
		error = explain_dotted(dir, &pos, name, reason, sizeof(reason));
	else
		explain_plain(fs, dir, &pos, name, reason, sizeof(reason));
	if (error)
		report_name(fs, dir, name, -ENOENT, reason);
	else if (reason[0])
		report_miss(fs, dir, name, reason);
}
