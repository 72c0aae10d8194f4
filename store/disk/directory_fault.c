/* SPDX-License-Identifier: MIT */
/* Faults of the store's directory: its path, the error and, where the user may not do it, the
 * command that gives the right. */
#include "store/backend.h"
#include "store/disk/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"

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
	case EACCES:
	case EPERM:
		return -EACCES;
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

int directory_fail_at(struct wcs_fault *fault, int error, const struct directory *directory,
		      const char *name)
{
	const char *path = directory_name(directory->path), *slash = *name ? "/" : "";
	int rc = directory_error(error);
	struct stat top, st;
	char owner[24] = "root"; /* the sandbox hides /etc/passwd, so no other user has a name */
	char *word;
	bool known = rc == -EACCES && stat(directory->path, &top) == 0;

	if (known && *name)
		known = fstatat(directory->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	else if (known)
		st = top;
	if (!known)
		return wcs_fault_set(fault, rc, "%s%s%s: %s", path, slash, name, strerror(error));
	if (st.st_uid == geteuid())
		return wcs_fault_set(fault, rc,
				     "%s%s%s: %s: its mode is %04o; chmod u+rwX opens it", path,
				     slash, name, strerror(error), st.st_mode & 07777u);
	/* Its owner may have no wish to give it away: a user can link a file of root's. */
	if (*name && S_ISREG(st.st_mode) && st.st_nlink > 1)
		return wcs_fault_set(fault, rc,
				     "%s%s%s: %s: it belongs to user %u, and has other names "
				     "(hard links); remove it, or copy it as this user",
				     path, slash, name, strerror(error), st.st_uid);
	if (st.st_uid != 0)
		snprintf(owner, sizeof(owner), "user %u", st.st_uid);
	word = escape_path(directory->path);
	if (word && strlen(word) > DIRECTORY_NAME_MAX) { /* half a word is none */
		free(word);
		word = NULL;
	}
	wcs_fault_set(fault, rc,
		      "%s%s%s: %s: it belongs to %s, and this is user %u; as root: chown -R %u %s",
		      path, slash, name, strerror(error), owner, geteuid(),
		      st.st_uid == top.st_uid ? geteuid() : top.st_uid, word ? word : "STORE");
	free(word);
	return rc;
}

int directory_fail(struct wcs_fault *fault, int error, const char *path, const char *what)
{
	return wcs_fault_set(fault, directory_error(error), "%s: %s: %s", directory_name(path),
			     what, strerror(error));
}
