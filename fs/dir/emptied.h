/* SPDX-License-Identifier: MIT */
/*
 * What removing the last cell empties stays a directory, as everywhere: in memory, since the store
 * knows no empty rows.
 */
#ifndef FS_EMPTIED_H
#define FS_EMPTIED_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* A directory from which a child was removed stays: if nothing is left in it, in memory. The child
 * is gone whatever comes of this, so a failure is told and the request succeeds. Without the
 * family's lock. */
void emptied_keep(struct fs *fs, struct node *dir, const struct spelled *removed);

#endif
