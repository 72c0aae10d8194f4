/* SPDX-License-Identifier: MIT */
/* One mount: its options, its store, and pointers to the state of each room. */
#ifndef FS_H
#define FS_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"

/* Options of the mount, constant while it serves. */
struct fs_options {
	uid_t uid; /* owner of everything shown */
	gid_t gid;
	mode_t umask;
	bool strict;	   /* chmod and chown fail instead of being ignored */
	bool autodir;	   /* each possible segment or family exists as a directory */
	bool keyvis;	   /* there is /.rowfs/keyvis, and the store counts for it */
	unsigned max_read; /* bytes of one READ, by libfuse's option; 0: the default */
	char *table;	   /* this table is the root; NULL: all tables */
};

/* The userdata of the libfuse session. */
struct fs {
	struct fs_options options;
	struct wcs_store *store;
	const char *store_path; /* absolute, as the store was found */
	int store_fd;		/* its directory, with O_PATH */
	const char *store_held; /* the path of store_fd; a move of the store leaves it right */
	struct fuse_session *session;
	int64_t mounted; /* microseconds since 1970 */
	uid_t mounter;	 /* who mounted; another user may serve */
	struct nodes *nodes;
	struct memdirs *memdirs;
	struct writers *writers;
	struct retries *retries;
	struct drafts *drafts;
	struct handles *handles;
	struct locks *locks;
	struct errors *errors;
	struct metrics *metrics;
	struct caches *caches;
	struct cache_clock *clock;
	struct notices *notices;
	struct loop *loop; /* while it serves */
	struct streams *streams;
	struct texts *texts;
	struct live *live;
	struct dir_scans *scans;
	/* Called once, by the thread that answers the kernel's first request. */
	void (*ready)(struct fs *fs);
};

/* Writes a line to the log; also the store's callback. Keys and values appear only at
 * WCS_LOG_DEBUG. Any thread. ctx is unused. */
void fs_log(void *ctx, enum wcs_log_level level, const char *text);

/* Sets where the log goes from here on: to syslog, or to standard error. debug: all levels. Any
 * thread, one at a time. */
void fs_log_init(bool to_syslog, bool debug);

/* libfuse's own messages go to the same log: for fuse_set_log_func. Any thread. */
void fs_log_fuse(enum fuse_log_level level, const char *format, va_list args);

/* Sets the request of this thread whose calls of the store may end with -EINTR: by a signal to its
 * process, at the end of the mount, or since too many reads take long. NULL: it is over. */
void fs_interruptible(fuse_req_t req);
/* The callback `interrupted` of struct wcs_options. It may wait for a place among long reads, so no
 * lock is held that another read waits for with a place of its own: see control_read, which leaves
 * its place. */
bool fs_interrupted(void);
/* Answers as fs_interrupted does, and never waits. For requests that compute nothing or hold a
 * lock. */
bool fs_waits(void);
/* Too many reads took long, when the last such request of this thread did. */
bool fs_refused(void);

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The operations of the mount, for fuse_session_new. */
extern const struct fuse_lowlevel_ops fs_operations;

/* The names of its members: each is a function fs_NAME with the type that libfuse gives it. */
/* clang-format off */
#define FS_OPERATIONS(of)                                                                          \
	of(lookup) of(forget) of(forget_multi) of(getattr) of(setattr) of(statfs) of(opendir)      \
	of(readdir) of(readdirplus) of(open) of(create) of(read) of(write) of(flush) of(fsync)     \
	of(release) of(getlk) of(setlk) of(flock) of(unlink) of(mkdir) of(rmdir) of(setxattr)      \
	of(getxattr) of(listxattr) of(removexattr) of(rename) of(mknod) of(symlink) of(link)      \
	of(poll) of(copy_file_range)
/* clang-format on */
#define FS_OPERATION(name) __typeof__(*fs_operations.name) fs_##name;
FS_OPERATIONS(FS_OPERATION)
#undef FS_OPERATION

/* Makes the state of each room; table: the root, owned on success and failure, or NULL. False: no
 * memory. fs_rooms_free frees it and the session, also after a failure. */
bool fs_rooms_new(struct fs *fs, struct wcs_table *table);
void fs_rooms_free(struct fs *fs);

#endif
