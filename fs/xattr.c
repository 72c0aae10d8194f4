/* SPDX-License-Identifier: MIT */
/* Extended attributes: user.rowfs.* may be set, which does nothing, so that copies which carry them
 * succeed; there are no others. */
#include <errno.h>
#include <string.h>

#include "fs.h"

static int check_name(const char *name)
{
	return strncmp(name, "user.rowfs.", 11) == 0 ? 0 : EOPNOTSUPP;
}

void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	(void)ino;
	(void)value;
	(void)size;
	(void)flags;
	fuse_reply_err(req, check_name(name));
}

void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)ino;
	fuse_reply_err(req, check_name(name));
}
