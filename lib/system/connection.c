/* SPDX-License-Identifier: MIT */
/* Aborts FUSE connections: through fusectl, which the mount's owner may use, or as root by umount's
 * force. Neither looks at the mount, where a look would hang. */
#include "lib/system/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "lib/escape.h"
#include "lib/system/mounts.h"

enum { RELEASE_TRIES = 300, RELEASE_NAP_NS = 10000000 };
enum { CONNECTION_PATH_MAX = 200 }; /* bytes of a path in a reason */

int connection_open(unsigned number)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort", number);
	return number > 0 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
}

int connection_open_store(const char *store)
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;
	unsigned number = 0;

	while (mounts && mounts_next(mounts, &entry))
		if (entry.rowfs && strcmp(entry.what, store) == 0)
			number = entry.number;
	if (mounts)
		fclose(mounts);
	return connection_open(number);
}

unsigned connection_number(int fd)
{
	char path[64], line[128];
	unsigned number = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && number == 0 && fgets(line, sizeof(line), info))
		sscanf(line, "fuse_connection: %u", &number);
	if (info)
		fclose(info);
	return number;
}

/* The open descriptor keeps the mount busy: else umount would also remove it, and programs would
 * write into the directory below. */
bool connection_abort(int control, int mount)
{
	char link[32];

	if (control >= 0 && write(control, "1", 1) == 1)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", mount);
	return mount >= 0 && (umount2(link, MNT_FORCE) == 0 || errno == EBUSY);
}

/* The root of a listed mount, O_PATH. -1: its path leads to another mount by now. */
static int connection_root(const struct mounts_entry *entry)
{
	int fd = open(entry->where, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct mounts_id id;

	if (fd >= 0 && (mounts_identify(fd, &id) != 0 || id.device != makedev(0, entry->number))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Aborts all mounts of the store. *where: the last mountpoint where that failed, for the caller to
 * free; else NULL. */
static void connection_abort_all(const char *store, char **where)
{
	FILE *mounts = mounts_open();
	struct mounts_entry entry;

	while (mounts && mounts_next(mounts, &entry)) {
		int control, root;

		if (!entry.rowfs || strcmp(entry.what, store) != 0)
			continue;
		control = connection_open(entry.number);
		root = connection_root(&entry);
		if (!connection_abort(control, root)) {
			free(*where);
			*where = strdup(entry.where);
		}
		if (control >= 0)
			close(control);
		if (root >= 0)
			close(root);
	}
	if (mounts)
		fclose(mounts);
}

/* Does the process still hold the store after RELEASE_TRIES? */
static bool connection_hangs(const char *store, pid_t holder)
{
	const struct timespec nap = {.tv_nsec = RELEASE_NAP_NS};

	for (int i = 0; i < RELEASE_TRIES; i++) {
		if (mounts_holder(store) != holder)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

int connection_release(const char *store, char why[CONNECTION_WHY])
{
	char *path = realpath(store, NULL), *where = NULL, *word;
	pid_t holder = path ? mounts_holder(path) : 0;
	int rc = 0;

	if (mounts_dying(holder)) {
		connection_abort_all(path, &where);
		if (connection_hangs(path, holder)) {
			word = where ? escape_path(where) : NULL;
			snprintf(why, CONNECTION_WHY,
				 "%.*s: process %ld was killed, and hangs in its mount; as root: "
				 "umount -f %s",
				 CONNECTION_PATH_MAX, store, (long)holder,
				 word && strlen(word) <= CONNECTION_PATH_MAX ? word : "MOUNTPOINT");
			free(word);
			rc = -EBUSY;
		}
	}
	free(where);
	free(path);
	return rc;
}
