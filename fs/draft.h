/* SPDX-License-Identifier: MIT */
/*
 * Drafts: files in a history whose name is no timestamp. They are kept in memory (large ones in a
 * file without a name), listed nowhere, and gone with the mount. Renamed to a timestamp a draft
 * becomes that cell: so rsync and editors, which write to a temporary name, work in histories.
 *
 * A draft is a write session that never commits by itself. Any thread may call these.
 */
#ifndef FS_DRAFT_H
#define FS_DRAFT_H

#include "fs.h"
#include "spell.h"

#define DRAFTS_MAX 1000u /* at once */

struct drafts;
struct drafts *drafts_new(void); /* NULL: no memory */
void drafts_free(struct drafts *drafts);

/* Makes one. *node: its node, with a reference. -EEXIST; -ENOSPC: there are DRAFTS_MAX. */
int draft_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		 struct node **node);

/* Finds one. *node: with a reference. -ENOENT. */
int draft_find(struct fs *fs, const struct node *dir, const struct spelled *child,
	       struct node **node);

/* Takes its name away: who has it open keeps it. -ENOENT. */
int draft_remove(struct fs *fs, const struct node *dir, const struct spelled *child);

/* The history with that st_ino is removed, and its drafts with it. */
void drafts_remove_all(struct fs *fs, uint64_t history);

/* Gives it another name in the same history, in place of a draft of that name. -ENOENT. */
int draft_rename(struct fs *fs, const struct node *dir, const struct spelled *from,
		 const struct spelled *to);

#endif
