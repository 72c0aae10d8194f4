/* SPDX-License-Identifier: MIT */
/* The reasons of failed requests, in words. */
#include "fs/report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fs/names/spell.h"
#include "fs/report/errors.h"
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

int report_protected(struct fs *fs, const struct node *node, const char *name, int line, int error)
{
	if (error != -EPERM)
		return error;
	return report(fs, node, name, line, error,
		      "the table is protected: its rows, families and policies stay until 0 is "
		      "written to its .protected");
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
