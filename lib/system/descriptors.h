/* SPDX-License-Identifier: MIT */
/* The descriptors that a program inherits. Call these before it starts threads. */
#ifndef FS_DESCRIPTORS_H
#define FS_DESCRIPTORS_H

/* A descriptor that neither reads nor writes (EBADF), or -1. It needs no file, not even /dev/null.
 * Close-on-exec. */
int descriptors_open_none(void);

/* Opens such a descriptor for each of 0 to 2 that is closed. Otherwise a file of the store could
 * get the number, and printf would write to it. Exits the program on failure. */
void descriptors_open_standard(void);

/* Closes all above 2 but one (-1: all). A background process must not hold a pipe or a lock of its
 * starter, which may wait for its end. */
void descriptors_close_inherited(int but);

#endif
