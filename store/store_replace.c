/* SPDX-License-Identifier: MIT */
/*
 * The store that another one is to replace: it must hold nothing but a store's own, since what
 * somebody else put there would be removed with it.
 */
#include "store/store_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/table/table.h"

struct store_replace {
	const char *path; /* the store's */
	const struct wcs_backend *backend;
	const char *part; /* the directory in it that is looked into; NULL: none */
	struct wcs_fault fault;
};

static int store_replace_refuse(struct store_replace *replace, const char *name)
{
	return wcs_fault_set(&replace->fault, -EEXIST,
			     "%s/%s%s%s: not a file of a rowfs store, and --force removes nothing "
			     "else; move it away",
			     directory_name(replace->path), replace->part ? replace->part : "",
			     replace->part ? "/" : "", name);
}

static int store_replace_file(void *ctx, int fd, const char *name)
{
	struct store_replace *replace = ctx;
	struct stat st;

	if (replace->backend->owns(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode))
		return 0;
	return store_replace_refuse(replace, name);
}

static int store_replace_part(void *ctx, int fd, const char *name)
{
	struct store_replace *replace = ctx;
	enum directory_part part = directory_weigh(fd, name);
	int below, rc;

	if (part == DIRECTORY_PART_FILE)
		return 0;
	if (part != DIRECTORY_PART_DATA && part != DIRECTORY_PART_LEFT)
		return store_replace_refuse(replace, name);
	below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0 && errno == ENOTDIR)
		return 0;
	if (below < 0)
		return wcs_fault_set(&replace->fault, directory_error(errno), "%s/%s: %s",
				     directory_name(replace->path), name, strerror(errno));
	replace->part = name;
	rc = directory_each(below, store_replace_file, replace);
	replace->part = NULL;
	close(below);
	return rc;
}

/* -EPERM: a table is protected, or may be, since none can be read. */
static int store_replace_tables(struct store_replace *replace)
{
	struct wcs_fault inner = {.text = ""};
	struct wcs_store *store;
	int rc = wcs_store_open_backend(replace->backend, replace->path, NULL, &store, &inner);

	if (rc != 0)
		return wcs_fault_set(&replace->fault, -EPERM,
				     "%s: its tables cannot be read, and one may be protected; "
				     "fsck.rowfs repairs it, or remove it by hand",
				     directory_name(replace->path));
	for (size_t i = 0; rc == 0 && i < store->table_count; i++)
		if (store->tables[i]->protected)
			rc = wcs_fault_set(&replace->fault, -EPERM,
					   "%s: table %s is protected; write 0 to its .protected "
					   "first",
					   directory_name(replace->path), store->tables[i]->name);
	wcs_store_close(store);
	return rc;
}

int store_replace_check(const struct directory *directory, struct wcs_fault *fault)
{
	struct store_replace replace = {.path = directory_path(directory)};
	struct directory_marker marker = {.format = DIRECTORY_FORMAT};
	int rc = directory_read_marker(directory, &marker, NULL);

	/* A damaged marker names neither: then it is the engine that all stores had. */
	replace.backend = rc == 0 ? store_find_engine(marker.engine) : &wcs_backend_leveldb;
	if (replace.backend == NULL)
		return wcs_fault_set(fault, -EINVAL,
				     "%s: its engine is %s, which this program does not have; "
				     "remove it with the one that made it",
				     directory_name(replace.path), marker.engine);
	rc = directory_each(directory_fd(directory), store_replace_part, &replace);
	if (rc == 0 && marker.format >= DIRECTORY_PROTECTS)
		rc = store_replace_tables(&replace);
	if (rc != 0 && replace.fault.text[0] == '\0')
		wcs_fault_set(&replace.fault, rc, "%s: %s", directory_name(replace.path),
			      strerror(-rc));
	return rc == 0 ? 0 : wcs_fault_set(fault, rc, "%s", replace.fault.text);
}
