/* SPDX-License-Identifier: MIT */
/* The reasons of failed requests, in words. */
#include "fs/serve/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fs/names/pos.h"
#include "fs/names/spell.h"
#include "fs/serve/errors.h"
#include "fs/serve/loop.h"
#include "lib/times.h"
#include "lib/utf8.h"

static _Thread_local char *kept;

void report_keep(char text[REPORT_MAX])
{
	kept = text;
	if (text)
		text[0] = 0;
}

/* Once the store is gone, this replaces the reason of each caller. */
#define REPORT_REMOVED                                                                             \
	"the store was removed while it was mounted; unmount it, and restore a copy or a dump"

int report(struct fs *fs, const struct node *node, const char *name, int line, int error,
	   const char *format, ...)
{
	char path[4096], reason[REPORT_MAX - 32], text[REPORT_MAX - 32], number[16] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	utf8_safe_copy(text, reason, sizeof(reason));
	if ((error == -EIO || error == -EROFS) && wcs_store_gone(fs->store))
		snprintf(reason, sizeof(reason), "%s", REPORT_REMOVED);
	spell_path(node, name, path, sizeof(path));
	errors_add(fs, loop_user(), path, line, reason);
	snprintf(text, sizeof(text), "a request was refused: %s; /.rowfs/errors has the reason",
		 strerror(-error));
	fs_log(NULL, WCS_LOG_INFO, text);
	if (line > 0)
		snprintf(number, sizeof(number), "%d: ", line);
	if (kept && !kept[0])
		snprintf(kept, REPORT_MAX, "%s%s\n", number, reason);
	return error;
}

void report_remark(struct fs *fs, const struct node *node, const char *name, const char *text)
{
	char path[4096];

	spell_path(node, name, path, sizeof(path));
	errors_remark(fs, loop_user(), path, text);
}

void report_version(struct fs *fs, const struct node *node, const char *name)
{
	char words[TIMES_ASK_MAX];

	if (times_ask(name, strlen(name), words))
		report_remark(fs, node, name, words);
}

enum { FAMILIES_MAX = 512 };

/* The names of the table's families, as many as fit. */
static void list_families(struct wcs_table *table, char list[FAMILIES_MAX])
{
	char family[WCS_FAMILY_NAME_MAX + 1] = "";
	size_t used = 0;

	strcpy(list, "(none; mkdir in .families makes one)");
	while (used < FAMILIES_MAX - 1 && wcs_family_next(table, family, family) == 0)
		used += (size_t)snprintf(list + used, FAMILIES_MAX - used, "%s%s",
					 used > 0 ? ", " : "", family);
}

int report_no_family(struct fs *fs, const struct node *dir, const char *name,
		     struct wcs_table *table)
{
	char list[FAMILIES_MAX];

	list_families(table, list);
	return report(fs, dir, name, 0, -EPERM,
		      "cells are files in a family of a row; the families of table %s are: %s",
		      wcs_table_name(table), list);
}

#define REPORT_FAMILY                                                                              \
	"it is a family, and no row can be here; families are in rows, below the segments of "     \
	"their keys"

void report_no_directory(struct fs *fs, const struct node *dir, const char *name)
{
	char path[4096], list[FAMILIES_MAX], reason[768];
	const struct node *table = node_up(dir, NODE_TABLE);
	struct spelled child;
	struct pos pos;

	if ((dir->kind != NODE_TABLE && dir->kind != NODE_PREFIX) || name[0] == '.' ||
	    (dir->flags & NODE_F_VIEW))
		return;
	list_families(table->table, list);
	if (wcs_table_keys(table->table) && pos_of(dir, &pos) == 0 &&
	    spell_parse(dir, &pos, name, &child) == -EINVAL && child.fault.text[0])
		snprintf(reason, sizeof(reason), "%s", child.fault.text);
	else if (wcs_family_exists(table->table, (struct wcs_slice){name, strlen(name)}))
		snprintf(reason, sizeof(reason), REPORT_FAMILY);
	else
		snprintf(reason, sizeof(reason),
			 "no row or directory has that name yet (mkdir -p makes one, and with the "
			 "option autodir none is needed); the families of table %s, which are in "
			 "rows, are: %s",
			 wcs_table_name(table->table), list);
	spell_path(dir, name, path, sizeof(path));
	errors_miss(fs, loop_user(), path, reason);
}

int report_protected(struct fs *fs, const struct node *node, const char *name, int line, int error)
{
	if (error != -EPERM)
		return error;
	return report(fs, node, name, line, error,
		      "the table is protected: its rows, families and policies stay until 0 is "
		      "written to its .protected");
}

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
		return "only control files and views start with a dot, /.rowfs/help has them; that "
		       "of a key is written %2E";
	if (memchr(name, pos->delimiter, bytes.len))
		return "it holds the delimiter, at which keys become paths: a directory for each "
		       "segment (mkdir -p)";
	if (wcs_family_exists(pos->table, bytes))
		return REPORT_FAMILY;
	return MISSPELLED;
}

int report_bad_name(struct fs *fs, const struct node *dir, const char *name)
{
	struct spelled child;
	struct pos pos;
	int rc = pos_of(dir, &pos);

	return rc != 0 ? rc
		       : report(fs, dir, name, 0, -EINVAL, "%s", bad_name(dir, &pos, name, &child));
}

const char *report_words(int error)
{
	switch (error) {
	case -EACCES:
		return "the store's engine refuses access: ask for the right to the table, or "
		       "chown the store's file that the log names";
	case -ETIMEDOUT:
		return "the store's engine did not answer in time; try again";
	case -EOVERFLOW:
		return "a number or a timestamp would leave its range of 64 bits";
	case -EBUSY:
		return "other clients of the store keep changing the row; try again";
	default:
		return strerror(-error);
	}
}

int report_unreadable(struct fs *fs, const struct node *node, const char *name, int error)
{
	if (error == -E2BIG)
		return report(fs, node, name, 0, error,
			      "an expression of these views takes too many steps on a key, "
			      "qualifier or value of some row");
	if (error == -EINTR && fs_refused())
		return report(fs, node, name, 0, -EAGAIN,
			      "too many reads of this mount take long; try again when some have "
			      "ended");
	if (error == -EACCES || error == -ETIMEDOUT)
		return report(fs, node, name, 0, error, "%s", report_words(error));
	if (error != -EIO)
		return error;
	return report(fs, node, name, 0, error,
		      "the store is damaged here; the log says more, and fsck.rowfs, once it is "
		      "unmounted, says where, and repairs");
}

int report_no_room(struct fs *fs, const struct node *node, int error)
{
	const char *why = "the medium has no room for it, since some is kept for the engine: df "
			  "shows what there is, and rm and .drop make room";
	struct wcs_space space;

	if (error == -EFBIG)
		return report(fs, node, NULL, 0, error, "a value has at most %d MiB",
			      WCS_VALUE_MAX >> 20);
	if (error != -ENOSPC)
		return error;
	if (wcs_store_space(fs->store, &space) == 0 && space.lacks_files)
		why = "the medium has no room for more files (inodes), since some are kept for "
		      "the engine: df -i of the store's directory shows what there is, and "
		      "removing other files there, rm and .drop make room";
	return report(fs, node, NULL, 0, error, "%s", why);
}

int report_thread(struct fs *fs, const struct node *node, const char *name, pid_t thread)
{
	if (thread != 0)
		return 0;
	return report(
		fs, node, name, 0, -EPERM,
		"who writes must be in the pid namespace that rowfs runs in, or in one below it");
}
