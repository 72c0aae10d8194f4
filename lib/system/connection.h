/* SPDX-License-Identifier: MIT */
/*
 * Ends the FUSE connection of a mount whose server was killed.
 *
 * The kernel ends a connection when the last descriptor of /dev/fuse is closed. A notice of the
 * server (fuse_reverse_inval_entry) waits, not even for SIGKILL, for the lock of a directory. If a
 * client holds the lock and waits for the killed server, none of the two ends: descriptors, pidfd
 * and the store's lock stay as they were, and a stat of the mount hangs. An abort ends both.
 */
#ifndef LIB_SYSTEM_CONNECTION_H
#define LIB_SYSTEM_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor for connection_abort of the connection with this number, the minor of its device. It
 * stands for this connection even if another one gets the number. -1: no such mount, no fusectl at
 * /sys/fs/fuse/connections, or another user's mount. */
int connection_open(unsigned number);

/* A descriptor for the last rowfs mount of this store, as of connection_open. */
int connection_open_store(const char *store);

/* The number of the connection whose /dev/fuse is open as fd. 0: unknown, also on older kernels,
 * whose /proc/self/fdinfo does not name it. */
unsigned connection_number(int fd);

/* Ends a connection: all its requests fail. control: from connection_open; -1, or if it fails:
 * umount's force on the mount whose root is open as mount, unless that is -1, which only root may
 * use. The mount itself stays. False: neither can be used. */
bool connection_abort(int control, int mount);

enum { CONNECTION_WHY = 512 };
/* If a killed process holds the store's lock, aborts the mounts of the store and waits for the end
 * of the process. For the main thread, before the sandbox. 0: no such process is left. -EBUSY: it
 * hangs for another 3 s, and why has the store, the reason and the command that ends it. */
int connection_release(const char *store, char why[CONNECTION_WHY]);

#endif
