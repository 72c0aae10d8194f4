/* SPDX-License-Identifier: MIT */
/* The descriptors that a program is started with. Before it has threads. */
#ifndef FS_DESCRIPTORS_H
#define FS_DESCRIPTORS_H

/* A descriptor that neither reads nor writes (EBADF), or -1. It depends on no file's mode,
 * /dev/null's neither. Close-on-exec. */
int descriptors_open_none(void);

/* Opens such ones for those of 0 to 2 that are closed: a file of the store that got such a number
 * would be written by printf. Ends the program where that fails. */
void descriptors_open_standard(void);

/* Closes all above 2 but one (-1: all): who started a process that stays in the background may wait
 * for the end of a pipe, or for a lock, that it would hold. */
void descriptors_close_inherited(int but);

#endif
