/* SPDX-License-Identifier: MIT */
/* Errors of the system, as errors of store.h and in words. */
#include "store/disk/directory.h"

#include <errno.h>
#include <string.h>

#include "store/backend.h"

#define DIRECTORY_NAME_MAX 120 /* bytes of a path in a fault */

const char *directory_name(const char *path)
{
	size_t len = strlen(path);

	return len > DIRECTORY_NAME_MAX ? path + len - DIRECTORY_NAME_MAX : path;
}

int directory_error(int error)
{
	switch (error) {
	case ENOENT:
	case EEXIST:
	case EBUSY:
	case EROFS:
	case ENOSPC:
	case ENOMEM:
	case EFBIG:
	case EMFILE:
	case ENFILE:
		return -error;
	case ENOTDIR:
		return -ENOENT;
	case EDQUOT:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

bool directory_is_barred(int error)
{
	return error == EACCES || error == EPERM || error == EMFILE || error == ENFILE ||
	       error == ENOMEM;
}

int directory_refuse(struct wcs_fault *fault, int rc, const char *path, const char *why)
{
	return wcs_fault_set(fault, rc, "%s: %s", directory_name(path), why);
}

int directory_fail(struct wcs_fault *fault, int error, const char *path, const char *what)
{
	return wcs_fault_set(fault, directory_error(error), "%s: %s: %s", directory_name(path),
			     what, strerror(error));
}
