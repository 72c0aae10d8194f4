/* SPDX-License-Identifier: MIT */
/*
 * Live files: /.rowfs/trace, a line for each answered request, and .changes, a line for each
 * committed change of a row. An open file has a place of its own in its feed; its first line is the
 * next one after the open. A read waits for a line and takes no thread meanwhile; a signal ends it.
 * At the end of the mount a read that waits gets the end of the file. ESTALE: the table's delimiter
 * or key design has changed, and the file is about a part of its keys.
 *
 * Offsets count the bytes that the open file has read. A reader can seek back by up to 1 MiB (as
 * head and `while read` do). A program that has sought to the end, as `tail -f` does, no longer
 * waits: it gets the end of the file, and the file's size tells it of more.
 *
 * Any thread may call these; live_close is the last call for a file.
 */
#ifndef FS_LIVE_H
#define FS_LIVE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

struct live;
struct live_file;

/* fs->metrics is there. NULL: no memory. */
struct live *live_new(struct fs *fs);
void live_free(struct live *live);
/* The mount ends: waiting reads are answered, and no read waits from here on. A second call does
 * nothing. */
void live_end(struct live *live);

/* Is it the node of a live file? */
bool live_is(const struct node *node);

/* Opens the node's file, and sets fi->direct_io. -EPERM: it cannot be written; -EINVAL: in a view
 * that is no range of keys; -ENFILE: too many are open; -ESTALE: the table was removed; -ENOMEM,
 * -EAGAIN: no memory, no thread. The first three are reported. */
int live_open(struct fs *fs, const struct node *node, struct fuse_file_info *fi,
	      struct live_file **file);
void live_close(struct live_file *file);
/* Answers a READ, now or when there is a line. */
void live_read(struct live_file *file, fuse_req_t req, size_t size, uint64_t offset,
	       const struct fuse_file_info *fi);
/* Answers a POLL; takes over ph (NULL: none is wanted). */
void live_poll(struct live_file *file, fuse_req_t req, struct fuse_pollhandle *ph);

/* The file was asked for its size, as by lseek to its end. */
void live_follow(struct live_file *file);
/* The size of the file for programs that follow it: the bytes up to the end of its feed; 0: none
 * does. */
uint64_t live_size(struct fs *fs, const struct node *node);

/* The rows below key (NULL: of the table; family NULL: of all families) are about to be dropped, or
 * have been: a line for the files that were opened after the open `since` (0: for all). Returns the
 * number of the last open, for the call behind the drop. */
uint64_t live_dropped(struct fs *fs, struct wcs_table *table, const struct wcs_slice *key,
		      const char *family, uint64_t since);
/* A table was removed: its files end. */
void live_removed(struct fs *fs);

#endif
