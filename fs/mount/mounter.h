/* SPDX-License-Identifier: MIT */
/*
 * A process of its own that mounts and unmounts, since the one that serves gives up what that
 * takes (sandbox.h). It holds nothing of the store, and ends with the one that serves.
 */
#ifndef FS_MOUNTER_H
#define FS_MOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

struct fuse_session;

/* The end of the serving process of their connection. */
struct mounter {
	int fd; /* -1: it was not started */
	pid_t process;
	bool clears; /* where the server dies, it unmounts what that left; set before it starts */
};

/*
 * Starts it; to be called before the first thread and before the store is open. It mounts with the
 * options of the session, which it has a copy of, at mountpoint. leave: another descriptor that it
 * must not hold, or -1. quiet: it leaves standard input, output and error once it has mounted.
 */
int mounter_start(struct mounter *mounter, struct fuse_session *session, const char *mountpoint,
		  int leave, bool quiet);

/* Mounts, and gives the session the kernel's end; -EIO: it could not, and has said why. */
int mounter_mount(const struct mounter *mounter, struct fuse_session *session);

/* Unmounts, unless somebody else did: then something else may be mounted there by now. */
int mounter_unmount(const struct mounter *mounter, struct fuse_session *session);

/* Lets it end, and waits for that. A mount that is there stays, dead. */
void mounter_end(struct mounter *mounter);

#endif
