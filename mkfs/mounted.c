/* SPDX-License-Identifier: MIT */
/*
 * Directories of a mount. The root is the directory above that has .rowfs; below it comes the
 * table's name, or, where the mount shows one table alone, the first segment of a key.
 */
#include "mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Is there a regular file of that name in a directory? */
static bool mounted_has(const char *directory, const char *name)
{
	struct stat st;
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), error;

	if (fd < 0)
		return false;
	error = fstatat(fd, name, &st, 0);
	close(fd);
	return error == 0 && S_ISREG(st.st_mode);
}

bool mounted_is_store(const char *path)
{
	return mounted_has(path, "ROWFS");
}

static int mounted_root(struct mounted *mounted)
{
	char *slash;

	mounted->root = strdup(mounted->directory);
	if (!mounted->root)
		return -ENOMEM;
	while (!mounted_has(mounted->root, ".rowfs/schema.json")) {
		slash = strrchr(mounted->root, '/');
		if (!slash || !slash[1])
			return -ENOENT;
		slash[slash == mounted->root] = '\0';
	}
	return 0;
}

static bool mounted_is_table(const char *directory)
{
	char kind[16];
	ssize_t len = getxattr(directory, "user.rowfs.kind", kind, sizeof(kind));

	return len == 5 && memcmp(kind, "table", 5) == 0;
}

/* A mount of one table does not have its name in a path; .drop says it. */
static int mounted_ask_table(const char *root, char *table)
{
	static const char member[] = "\"table\"";
	char text[1024] = "", *path = NULL;
	const char *at, *end = NULL;
	FILE *file = NULL;

	if (asprintf(&path, "%s/.drop", root) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return -errno;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	at = strstr(text, member);
	if (at) {
		at += sizeof(member) - 1;
		at += strspn(at, ": \"");
		end = strchr(at, '"');
	}
	if (!end || end - at > WCS_TABLE_NAME_MAX)
		return -EPROTO;
	memcpy(table, at, (size_t)(end - at));
	table[end - at] = '\0';
	return 0;
}

static int mounted_table(struct mounted *mounted)
{
	const char *below = mounted->directory + strlen(mounted->root);
	size_t len;

	below += strspn(below, "/");
	len = strcspn(below, "/");
	if (mounted_is_table(mounted->root)) {
		mounted->below = len > 0;
		return below[0] == '.' ? -EINVAL : mounted_ask_table(mounted->root, mounted->table);
	}
	if (len > WCS_TABLE_NAME_MAX)
		return -EINVAL;
	memcpy(mounted->table, below, len);
	mounted->table[len] = '\0';
	mounted->below = below[len] == '/';
	return len == 0 || wcs_table_name_valid(mounted->table) ? 0 : -EINVAL;
}

int mounted_find(const char *path, struct mounted *mounted)
{
	struct mounted found = {.directory = realpath(path, NULL)};
	int error = found.directory ? mounted_root(&found) : -errno;

	if (!error)
		error = mounted_table(&found);
	if (error)
		mounted_free(&found);
	else
		*mounted = found;
	return error;
}

void mounted_free(struct mounted *mounted)
{
	free(mounted->directory);
	free(mounted->root);
}
