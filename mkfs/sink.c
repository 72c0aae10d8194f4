/* SPDX-License-Identifier: MIT */
/*
 * Tells a directory of a mount from a store: below a mount's root there is .rowfs/version, and
 * every directory of it is on the same device.
 */
#include "sink.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

int sink_fail(struct sink *sink, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sink->why, sizeof(sink->why), format, args);
	va_end(args);
	return error;
}

static bool sink_is_root(const char *path)
{
	char version[PATH_MAX + 16];
	struct stat st;

	snprintf(version, sizeof(version), "%s/.rowfs/version", path);
	return stat(version, &st) == 0 && S_ISREG(st.st_mode);
}

/* Shortens path to the root of the mount that it is in. False: it is in none of rowfs. */
static bool sink_find_root(char *path)
{
	struct statfs fs;
	struct stat st, up;

	if (statfs(path, &fs) || fs.f_type != FUSE_SUPER_MAGIC || stat(path, &st))
		return false;
	while (!sink_is_root(path)) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return false;
		*slash = '\0';
		if (stat(path, &up) || up.st_dev != st.st_dev)
			return false;
	}
	return true;
}

int sink_open(const struct program *program, const char *path, struct sink **sink)
{
	char *whole = realpath(path, NULL);
	char *root = whole ? strdup(whole) : NULL;
	int exit_code;

	if (root && sink_find_root(root))
		exit_code = sink_mount_open(program, whole, root, sink);
	else
		exit_code = sink_store_open(program, path, sink);
	free(root);
	free(whole);
	return exit_code;
}
