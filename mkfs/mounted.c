/* SPDX-License-Identifier: MIT */
/*
 * Directories of a mount. The root is the directory above, on the same device, that has .rowfs;
 * below it comes the table's name, or, where the mount shows one table alone, the first segment of
 * a key. What holds rows has .rows.
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

enum { MOUNTED_TEXT = 2048 }; /* bytes of a short control file */

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
	struct stat st, up;
	char *slash;

	mounted->root = strdup(mounted->directory);
	if (!mounted->root)
		return -ENOMEM;
	if (stat(mounted->directory, &st))
		return -errno;
	while (!mounted_has(mounted->root, ".rowfs/schema.json")) {
		slash = strrchr(mounted->root, '/');
		if (!slash || !slash[1])
			return -ENOENT;
		slash[slash == mounted->root] = '\0';
		if (stat(mounted->root, &up) || up.st_dev != st.st_dev)
			return -ENOENT;
	}
	return 0;
}

static bool mounted_is_table(const char *directory)
{
	char kind[16];
	ssize_t len = getxattr(directory, "user.rowfs.kind", kind, sizeof(kind));

	return len == 5 && memcmp(kind, "table", 5) == 0;
}

/* Reads a file of the mount that is JSON; *value is where the member's value stands in text. */
static int mounted_ask(const char *root, const char *name, const char *member,
		       char text[MOUNTED_TEXT], const char **value)
{
	char *path = NULL;
	FILE *file;

	if (asprintf(&path, "%s/%s", root, name) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return -errno;
	text[fread(text, 1, MOUNTED_TEXT - 1, file)] = '\0';
	fclose(file);
	text = strstr(text, member);
	if (!text)
		return -EPROTO;
	text += strlen(member);
	*value = text + strspn(text, ": \"");
	return 0;
}

/* .drop says it, and counts the rows for that. */
int mounted_ask_table(struct mounted *mounted)
{
	char text[MOUNTED_TEXT];
	const char *name;
	size_t len;
	int error;

	if (!mounted->rows || mounted->table[0])
		return 0;
	error = mounted_ask(mounted->root, ".drop", "\"table\"", text, &name);
	if (error)
		return error;
	len = strcspn(name, "\"");
	if (len > WCS_TABLE_NAME_MAX || !name[len])
		return -EPROTO;
	memcpy(mounted->table, name, len);
	mounted->table[len] = '\0';
	return 0;
}

uint64_t mounted_hidden_writes(const char *root)
{
	char text[MOUNTED_TEXT];
	const char *number;
	int error = mounted_ask(root, ".rowfs/gc", "\"hidden_writes\"", text, &number);

	return error ? 0 : strtoull(number, NULL, 10);
}

static int mounted_table(struct mounted *mounted)
{
	const char *below = mounted->directory + strlen(mounted->root);
	size_t len;

	below += strspn(below, "/");
	len = strcspn(below, "/");
	if (mounted_is_table(mounted->root)) {
		mounted->rows = true;
		mounted->below = len > 0;
	} else {
		if (len > WCS_TABLE_NAME_MAX)
			return -EINVAL;
		memcpy(mounted->table, below, len);
		mounted->table[len] = '\0';
		mounted->rows = len > 0;
		mounted->below = below[len] == '/';
	}
	return !mounted->rows || mounted_has(mounted->directory, ".rows") ? 0 : -EINVAL;
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
