/* SPDX-License-Identifier: MIT */
/* What the serving process gives up before it opens the store. */
#ifndef FS_SANDBOX_H
#define FS_SANDBOX_H

/*
 * From now on this thread, and all that it makes, gains no privileges (PR_SET_NO_NEW_PRIVS), and
 * reaches no files but those below the store's directory, and /proc to read, where the kernel has
 * Landlock. What it has open already stays open. *how: words for the log, which of them holds. 0,
 * or a negative errno where the kernel has it and it failed. The main thread calls it before it
 * makes the first other thread.
 */
int sandbox_enter(const char *store_path, const char **how);

#endif
