/* SPDX-License-Identifier: MIT */
/*
 * Rows as text, from a store or through a mount. In a mount .rows has the same text, and
 * .rowfs/schema.json the schema.
 */
#include "mkfs/text/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/names.h"
#include "mkfs/base/key_path.h"
#include "store/chain/views.h"

/* ---- Opening ----------------------------------------------------------------------------- */

/* missing: as for mounted_open_store. */
static int rows_open_store(struct rows *rows, const char *missing)
{
	int rc, exit_code =
			mounted_open_store(rows->program, rows->path, missing, false, &rows->store);

	if (exit_code)
		return exit_code;
	rc = wcs_schema_get(rows->store, &rows->schema);
	if (rc)
		return program_fail(rows->program, "%s: schema: %s", rows->path, strerror(-rc));
	return PROGRAM_OK;
}

static int rows_open_mount(struct rows *rows)
{
	int rc, fd = open(rows->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct wcs_fault fault;

	if (fd < 0 && errno == EACCES) /* a store says whose it is */
		return rows_open_store(rows, NULL);
	if (fd < 0)
		return program_fail(rows->program, "%s: %s", rows->path, strerror(errno));
	close(fd);
	rc = mounted_find(rows->path, &rows->mounted);
	if (rc == -ENOENT) /* a store may have lost its marker, and says so */
		return rows_open_store(rows, "neither a store nor a directory of a mount");
	if (rc)
		return program_fail(rows->program, "%s: %s", rows->path,
				    rc == -EINVAL ? "not the directory of a table or row"
						  : strerror(-rc));
	rc = mounted_schema(rows->mounted.root, &rows->schema, &fault);
	return rc ? program_fail(rows->program, "%s/.rowfs/schema.json: %s", rows->mounted.root,
				 fault.text)
		  : PROGRAM_OK;
}

int rows_open(const struct program *program, const char *path, struct rows **rows)
{
	struct rows *made = calloc(1, sizeof(*made));
	int exit_code;

	if (!made)
		return program_fail(program, "no memory");
	made->program = program;
	made->path = path;
	made->fd = -1;
	/* For a path that is neither, the error of opening it as a store names the reason. */
	exit_code = mounted_is_store(path) ? rows_open_store(made, NULL) : rows_open_mount(made);
	if (exit_code)
		rows_close(made);
	else
		*rows = made;
	return exit_code;
}

static void rows_stop(struct rows *rows)
{
	wcs_export_close(rows->exported);
	rows->exported = NULL;
	wcs_table_close(rows->table);
	rows->table = NULL;
	if (rows->fd >= 0)
		close(rows->fd);
	rows->fd = -1;
}

void rows_close(struct rows *rows)
{
	if (!rows)
		return;
	rows_stop(rows);
	wcs_schema_free(rows->schema);
	wcs_store_close(rows->store);
	mounted_free(&rows->mounted);
	free(rows);
}

int rows_fail(const struct rows *rows, const char *why)
{
	return program_fail(rows->program, "%s: table %s: %s", rows->path, rows->name, why);
}

/* ---- Streams ----------------------------------------------------------------------------- */

/* Opens the directory at a path of any length below an open one, which it closes. path is freed;
 * NULL: there is no memory. Returns a negative errno on failure. */
static int rows_descend(int fd, char *path)
{
	char *rest = path, *name;

	if (!path) {
		close(fd);
		return -ENOMEM;
	}
	while (fd >= 0 && (name = strtok_r(rest, "/", &rest))) {
		int next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		int rc = errno;

		close(fd);
		fd = next < 0 ? -rc : next;
	}
	free(path);
	return fd;
}

/* The directory of the table. */
static int rows_directory(struct rows *rows, const struct wcs_table_schema *table)
{
	int fd = open(rows->mounted.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return rows->mounted.table[0] ? fd : rows_descend(fd, strdup(table->name));
}

/* Reads the views as wcs_view_chain does for a store: refuses what is no view, and leaves the
 * segments, TABLE/SEGMENT..., in path, which has room for the table and the views. */
static int rows_check_views(struct rows *rows, const struct wcs_table_schema *table, char *path)
{
	char *views = strdup(rows->views), *rest = views, *name;
	const struct wcs_view_name *view;
	bool chunk = false;
	int exit_code = views ? PROGRAM_OK : program_fail(rows->program, "no memory");

	path = stpcpy(path, table->name);
	while (exit_code == PROGRAM_OK && (name = strtok_r(rest, "/", &rest))) {
		if (*name != '.' || chunk) {
			path = stpcpy(stpcpy(path, "/"), name);
			chunk = names_is_chunk(name, strlen(name));
			continue;
		}
		view = wcs_view_find(name + 1, strlen(name + 1));
		if (!view)
			exit_code = program_fail(rows->program,
						 "%s: table %s: %s: there is no such view here",
						 rows->path, table->name, name);
		else if (view->argument)
			while ((name = strtok_r(NULL, "/", &rest)) && view->form == WCS_VIEW_KEY &&
			       names_is_chunk(name, strlen(name)))
				;
	}
	free(views);
	return exit_code;
}

/* Opens the directory of the views. A missing directory of segments is no error, and has no rows:
 * *directory is -ENOENT then. */
static int rows_open_views(struct rows *rows, const struct wcs_table_schema *table, int *directory)
{
	char *path = malloc(strlen(table->name) + strlen(rows->views) + 2);
	int exit_code = path ? rows_check_views(rows, table, path)
			     : program_fail(rows->program, "no memory");
	struct wcs_slice key = {0};

	if (exit_code != PROGRAM_OK) {
		close(*directory);
	} else {
		*directory = rows_descend(*directory, strdup(rows->views));
		if (*directory == -ENOENT && !rows->mounted.below && strchr(path, '/'))
			exit_code = key_of_path(rows->program, path, table, &key);
		else if (*directory < 0)
			exit_code = program_fail(
				rows->program,
				"--view %s: %s; %s/.rowfs/errors may have the reason", rows->views,
				strerror(-*directory), rows->mounted.root);
	}
	free((void *)(uintptr_t)key.data);
	free(path);
	return exit_code;
}

/* Prints the reason of a failed read of the store. */
static int rows_fail_read(const struct rows *rows, int rc)
{
	return rows_fail(rows, rc == -E2BIG ? "an expression takes too many steps" : strerror(-rc));
}

/* Starts the export of a table of the store. */
static int rows_export(struct rows *rows, const struct wcs_slice *key, enum wcs_export_kind kind)
{
	struct wcs_chain *chain = NULL, *resolved = NULL;
	struct wcs_view_place place;
	struct wcs_slice below = {place.key, 0};
	struct wcs_fault fault = {.text = ""};
	int rc = wcs_table_open(rows->store, rows->name, &rows->table);

	if (!rc && rows->views)
		rc = wcs_view_chain(rows->table, rows->views, &chain, &place, &fault);
	if (!rc && rows->views && place.depth > 0) {
		below.len = place.len;
		key = &below;
	}
	if (!rc)
		rc = wcs_chain_resolve(rows->table, chain, &resolved);
	if (!rc)
		rc = wcs_export_open(rows->table, key, kind, resolved, &rows->exported);
	wcs_chain_free(resolved);
	wcs_chain_free(chain);
	if (fault.text[0] && (rc || !rows->remarked))
		rows_fail(rows, fault.text);
	rows->remarked = true;
	if (rc && fault.text[0])
		return PROGRAM_FAILED;
	return rc ? rows_fail_read(rows, rc) : PROGRAM_OK;
}

int rows_start(struct rows *rows, const struct wcs_table_schema *table, const struct wcs_slice *key,
	       enum wcs_export_kind kind)
{
	int directory;

	rows_stop(rows);
	rows->name = table->name;
	if (rows->store)
		return rows_export(rows, key, kind);
	directory = rows_directory(rows, table);
	if (directory >= 0 && rows->views) {
		int exit_code = rows_open_views(rows, table, &directory);

		if (exit_code || directory < 0)
			return exit_code;
	}
	if (directory >= 0 && key)
		directory = rows_descend(directory, key_path(*key, table));
	if (directory == -ENOENT && key)
		return PROGRAM_OK; /* no such row, and none below it */
	if (directory < 0)
		return rows_fail(rows, strerror(-directory));
	rows->fd = openat(directory, ".rows", O_RDONLY | O_CLOEXEC);
	close(directory);
	return rows->fd < 0 ? rows_fail(rows, strerror(errno)) : PROGRAM_OK;
}

int rows_read(struct rows *rows, void *buf, size_t len, size_t *got)
{
	ssize_t count = 0;
	int rc = 0;

	if (rows->store) {
		rc = wcs_export_read(rows->exported, buf, len, got);
		return rc ? rows_fail_read(rows, rc) : PROGRAM_OK;
	}
	if (rows->fd >= 0)
		do
			count = read(rows->fd, buf, len);
		while (count < 0 && errno == EINTR);
	if (count < 0)
		return rows_fail(rows, strerror(errno));
	*got = (size_t)count;
	return PROGRAM_OK;
}
