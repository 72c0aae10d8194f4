/* SPDX-License-Identifier: MIT */
/* The descriptors that a program inherits, and those that its processes pass to each other. */
#ifndef FS_DESCRIPTORS_H
#define FS_DESCRIPTORS_H

/* A descriptor that neither reads nor writes (EBADF), or -1. It needs no file, not even /dev/null.
 * Close-on-exec. */
int descriptors_open_none(void);

/* These two before the program starts threads. Opens such a descriptor for each of 0 to 2 that is
 * closed. Otherwise a file of the store could get the number, and printf would write to it. Exits
 * the program on failure. */
void descriptors_open_standard(void);

/* Closes all above 2 but one (-1: all). A background process must not hold a pipe or a lock of its
 * starter, which may wait for its end. */
void descriptors_close_inherited(int but);

/* Sends a byte to the process at the other end, and a descriptor unless fd is -1. 0 or a negative
 * errno. */
int descriptors_send(int to, char what, int fd);

/* Receives a byte and its descriptor, close-on-exec, or -1 without one. 0; -EIO: the other end is
 * closed. */
int descriptors_receive(int from, char *what, int *fd);

#endif
