/* SPDX-License-Identifier: MIT */
/*
 * Finds the mount and the table of a directory. The root is in the kernel's list of mounts; without
 * a list it is the ancestor on the same device that has .rowfs. A directory in a table tells the
 * table's name; one with rows has .rows.
 */
#include "mkfs/base/mounted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/escape.h"
#include "lib/system/mounts.h"

/* The rowfs mount that a path lies in; false: none. */
static bool mounted_around(const char *path, struct mounts_around *around)
{
	char *resolved = realpath(path, NULL);
	bool found = resolved && mounts_around(resolved, around);

	free(resolved);
	return found;
}

/* A look for ROWFS in a mount would be a miss in its errors. */
bool mounted_is_store(const char *path)
{
	struct mounts_around around;

	return !mounted_around(path, &around) && mounts_has(path, MOUNTS_MARKER);
}

static bool mounted_answers(const char *place)
{
	return mounts_has(place, ".rowfs/schema.json");
}

/* The mountpoint of a store; the caller frees it. NULL: none that answers. */
static char *mounted_place(const char *store)
{
	char *resolved = realpath(store, NULL);
	char *place = resolved ? mounts_place(resolved, mounted_answers) : NULL;

	free(resolved);
	return place;
}

/* The store that this process opened, as messages name it. Set before it is opened. */
static const struct program *opened_by;
static const char *opened;

static void mounted_log(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	if (level <= WCS_LOG_WARNING)
		program_fail(opened_by, "%s: %s", opened, text);
}

/* Also in a signal handler. */
static void mounted_fatal(const char *why)
{
	dprintf(STDERR_FILENO, "%s: %s: %s\n", opened_by->name, opened, why);
}

int mounted_open_store(const struct program *program, const char *path, const char *missing,
		       bool heat, struct wcs_store **store)
{
	const struct wcs_options options = {
		.log = mounted_log, .fatal = mounted_fatal, .heat = heat};
	struct sandbox_place confined;
	struct wcs_fault fault = {0};
	const char *advice;
	char *place, *word;
	int rc, exit_code = program_confine(program, path, &confined, 1);

	if (exit_code)
		return exit_code;
	opened_by = program;
	opened = path;
	rc = wcs_store_open(path, &options, store, &fault);
	if (!rc)
		return PROGRAM_OK;
	if (rc == -ENOENT && missing)
		return program_fail(program, "%s: %s", path, missing);
	place = rc == -EBUSY ? mounted_place(path) : NULL;
	word = place ? escape_path(place) : NULL;
	advice = strrchr(fault.text, ';');
	if (word && advice)
		program_fail(program, "%.*s; try %s %s%s", (int)(advice - fault.text), fault.text,
			     program->name, program->store ? program->store : "", word);
	else
		program_fail(program, "%s", fault.text);
	free(word);
	free(place);
	return PROGRAM_FAILED;
}

int mounted_schema(const char *root, struct wcs_schema **schema, struct wcs_fault *fault)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/.rowfs/schema.json", root) < 0) {
		strcpy(fault->text, "no memory");
		return -ENOMEM;
	}
	rc = program_read_schema(path, schema, fault);
	free(path);
	return rc;
}

uint64_t mounted_count(const char *root, const char *file, const char *name)
{
	char *path = NULL, *text = NULL;
	const char *value = NULL;
	uint64_t count = 0;
	FILE *from = NULL;
	size_t room = 0;

	if (asprintf(&path, "%s/%s", root, file) >= 0) {
		from = fopen(path, "re");
		free(path);
	}
	if (from && getdelim(&text, &room, '\0', from) > 0)
		value = strstr(text, name);
	if (value) {
		value += strlen(name);
		count = strtoull(value + strspn(value, ": \""), NULL, 10);
	}
	if (from)
		fclose(from);
	free(text);
	return count;
}

/* Finds the root of the mount. */
static int mounted_root(struct mounted *mounted)
{
	struct mounts_around around;
	struct stat st, up;
	char *slash;

	mounted->root = strdup(mounted_around(mounted->directory, &around) ? around.place
									   : mounted->directory);
	if (!mounted->root)
		return -ENOMEM;
	if (stat(mounted->directory, &st))
		return -errno;
	while (!mounts_has(mounted->root, ".rowfs/schema.json")) {
		slash = strrchr(mounted->root, '/');
		if (!slash || !slash[1])
			return -ENOENT;
		slash[slash == mounted->root] = '\0';
		if (stat(mounted->root, &up) || up.st_dev != st.st_dev)
			return -ENOENT;
	}
	return 0;
}

int mounted_find(const char *path, struct mounted *mounted)
{
	struct mounted found = {.directory = realpath(path, NULL)};
	int rc = found.directory ? mounted_root(&found) : -errno;
	char kind[16] = "";
	const char *views;

	if (rc)
		goto out;
	found.rows = getxattr(found.directory, "user.rowfs.table", found.table,
			      sizeof(found.table) - 1) > 0;
	if (getxattr(found.directory, "user.rowfs.kind", kind, sizeof(kind) - 1) < 0)
		kind[0] = '\0';
	found.below = found.rows && strcmp(kind, "table") != 0;
	if (found.rows) {
		views = found.directory + strlen(found.root) + 1 + strlen(found.table);
		found.raw = strncmp(views, "/.raw", 5) == 0 && (views[5] == '/' || !views[5]);
	}
	/* In a family .rows would be a column. */
	if (found.rows ? strcmp(kind, "family") != 0 && mounts_has(found.directory, ".rows")
		       : strcmp(found.directory, found.root) == 0) {
		*mounted = found;
		return 0;
	}
	rc = -EINVAL;

out:
	mounted_free(&found);
	return rc;
}

void mounted_free(struct mounted *mounted)
{
	free(mounted->directory);
	free(mounted->root);
}
