/* SPDX-License-Identifier: MIT */
/* The command line of rowfs. */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include "fs/fs.h"

struct options {
	struct fs_options fs;
	const char *store;	/* as given */
	const char *mountpoint; /* as given */
	bool foreground;
	bool debug; /* log all levels, and each request */
	bool read_only;
	bool auto_unmount;
	bool allow_other;
	bool default_permissions;	/* given explicitly; rowfs's own mounts always have it */
	bool check;			/* fsck.rowfs -n must find nothing */
	bool sync;			/* every commit is durable */
	unsigned cache;			/* MiB; 0: the engine's default */
	unsigned gc_interval, gc_grace; /* seconds */
	char *passed; /* options for libfuse, joined by commas; options_clear frees it */
	bool help, version, status; /* print it and exit */
};

/* Reads the command line. 0, or -EINVAL after a message on standard error. */
int options_parse(int argc, char **argv, struct options *options);
void options_clear(struct options *options);

extern const char options_usage[];

#endif
