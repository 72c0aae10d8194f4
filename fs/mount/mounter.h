/* SPDX-License-Identifier: MIT */
/*
 * The mounter: a second process that mounts and unmounts, because the serving process gives up the
 * privileges for that (lib/system/sandbox.h). It takes one command to mount and one to end, holds
 * nothing of the store and ends with the server. If the server is killed, it aborts the mount's
 * connection, which could hang for ever otherwise (lib/system/connection.h).
 */
#ifndef FS_MOUNTER_H
#define FS_MOUNTER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct fs;
struct fuse_session;
struct mountpoint;

/* The server's end of the connection. */
struct mounter {
	int fd; /* -1: it was not started, or has ended */
	pid_t process;
	pthread_mutex_t *alive; /* the starting thread holds it as long as it lives */
	bool clears; /* it unmounts the dead mount of a server that died; set before the start */
};

/*
 * Starts the mounter, before the first thread and before the store is open, from the thread that
 * lives longest. It mounts at mountpoint with the options of the session of fs; an open mount it
 * only watches. leave: a descriptor that it must close, or -1. quiet: it releases standard input,
 * output and error once there is a mount. Closes the descriptors of mountpoint here. 0 or a
 * negative errno.
 */
int mounter_start(struct mounter *mounter, const struct fs *fs, struct mountpoint *mountpoint,
		  int leave, bool quiet);

/* Mounts, and gives the session the kernel's descriptor. -EIO: failed, with a message. */
int mounter_mount(const struct mounter *mounter, struct fuse_session *session);

/*
 * Unmounts, unless the mount has already ended: another mount may be there by now. The mounter ends
 * with it. 0, or -EIO: the mounter had gone, there is no fusermount3, or root cannot reach the
 * mount.
 */
int mounter_unmount(struct mounter *mounter, struct fuse_session *session);

/* Has the mounter unmount, and does not wait: for a server that ends at once, from any thread, also
 * in a signal handler. */
void mounter_leave(const struct mounter *mounter);

/* Ends the mounter, unless it has ended, and waits for it. An existing mount stays and is dead. */
void mounter_end(struct mounter *mounter);

#endif
