/* SPDX-License-Identifier: MIT */
/* An open directory. */
#ifndef FS_DIR_H
#define FS_DIR_H

struct dir;

/* Frees one, or nothing. */
void dir_free(struct dir *dir);

#endif
