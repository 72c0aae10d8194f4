/* SPDX-License-Identifier: MIT */
/* One mount: its options, its store, and pointers to the state of each room. */
#ifndef FS_H
#define FS_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"

struct cache_clock;
struct cache_deferrals;
struct caches;
struct drafts;
struct errors;
struct handles;
struct locks;
struct loop;
struct memdirs;
struct metrics;
struct nodes;
struct notices;
struct retries;
struct writers;

/* Options of the mount, constant while it serves. */
struct fs_options {
	uid_t uid; /* owner of everything shown */
	gid_t gid;
	mode_t umask;
	bool strict;	   /* chmod and chown fail instead of being ignored */
	bool autodir;	   /* each possible segment or family exists as a directory */
	unsigned max_read; /* bytes of one READ, by libfuse's option; 0: the default */
	const char *table; /* this table is the root; NULL: all tables */
};

/* The userdata of the libfuse session. */
struct fs {
	struct fs_options options;
	struct wcs_store *store;
	const char *store_path; /* absolute */
	struct fuse_session *session;
	int64_t mounted; /* microseconds since 1970 */
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
	struct cache_deferrals *deferrals;
	struct notices *notices;
	struct loop *loop; /* while it serves */
	struct streams *streams;
	/* Called once, by the thread that answers the kernel's first request. */
	void (*ready)(struct fs *fs);
};

/* The present, microseconds since 1970. */
int64_t fs_now(void);

/* Writes a line to the log; also the store's callback. Keys and values appear only at
 * WCS_LOG_DEBUG. Any thread. ctx is unused. */
void fs_log(void *ctx, enum wcs_log_level level, const char *text);

/* The operations of the mount, for fuse_session_new. */
extern const struct fuse_lowlevel_ops fs_operations;

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The operations; ops.c has their table. */
void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count);
void fs_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);
void fs_statfs(fuse_req_t req, fuse_ino_t ino);
void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);
void fs_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	      struct fuse_file_info *fi);
void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void fs_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void fs_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
	      int sleep);
void fs_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op);
void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags);
void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);

#endif
