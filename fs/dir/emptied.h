/* SPDX-License-Identifier: MIT */
/*
 * A directory stays when its last entry is removed, as in any filesystem. The store has no empty
 * rows, so the directory continues in memory.
 */
#ifndef FS_EMPTIED_H
#define FS_EMPTIED_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* Keeps dir in memory if the removal of this child emptied it. The child is gone in any case, so a
 * failure is reported and does not fail the request. The caller does not hold the family's lock. */
void emptied_keep(struct fs *fs, struct node *dir, const struct spelled *removed);

#endif
