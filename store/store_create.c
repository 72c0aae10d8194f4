/* SPDX-License-Identifier: MIT */
/*
 * Makes a store in a temporary directory beside its place, then renames it into the place.
 *
 * A failure leaves the place as it was and nothing beside it. A replaced store stays locked from
 * before the new one is built until it is removed. This removes nothing but the directory that it
 * built, and a locked store that holds no foreign file.
 */
#include "lib/clock.h"
#include "store/disk/directory.h"
#include "store/table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct store_create {
	char *path;	  /* where the store goes: absolute, without links */
	const char *name; /* its last part */
	int parent;	  /* the directory around it */
	char *temporary;  /* beside it: a short name, since that of the place may be the longest */
	const char *temporary_name;
	struct directory built; /* the directory that was made there */
	bool there;		/* a directory is at the place */
	struct directory
		*old; /* the store that is replaced, locked; NULL: the directory is empty */
};

/* ---- The store that is replaced ---------------------------------------------------------- */

struct store_replace {
	const struct directory *directory; /* the store's */
	const char *path;
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

/* Is it a name of a file beside DIRECTORY_DATA that a store, an engine or a repair may have? */
static bool store_replace_owns(const char *name)
{
	static const char *const names[] = {DIRECTORY_LOCK, DIRECTORY_MARKER, DIRECTORY_NEW,
					    DIRECTORY_TABLES, DIRECTORY_TABLES_NEW};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, DIRECTORY_TORN, strlen(DIRECTORY_TORN)) == 0;
}

static int store_replace_entry(void *ctx, int fd, const char *name)
{
	struct store_replace *replace = ctx;
	struct stat st;
	int below, rc;

	if ((replace->part ? replace->backend->local->owns(name) : store_replace_owns(name)) &&
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return 0;
	if (replace->part ||
	    (strcmp(name, DIRECTORY_DATA) != 0 && strcmp(name, DIRECTORY_ANEW) != 0))
		return store_replace_refuse(replace, name);
	below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0 && (errno == ENOTDIR || errno == ELOOP))
		return store_replace_refuse(replace, name);
	if (below < 0)
		return directory_fail_at(&replace->fault, errno, replace->directory, name);
	replace->part = name;
	rc = directory_each(below, store_replace_entry, replace);
	replace->part = NULL;
	close(below);
	return rc;
}

/* Is there nothing in the directory of a locked store but its own? -EEXIST: there is, fault names
 * it; -EPERM: a table is protected; -EINVAL: this program does not have its engine; another error:
 * a table may be protected, since none can be read. */
static int store_replace_check(const struct directory *directory, struct wcs_fault *fault)
{
	struct store_replace replace = {.directory = directory, .path = directory->path};
	struct directory_marker marker = {.format = DIRECTORY_FORMAT};
	struct wcs_store *store;
	int rc = directory_read_marker(directory, &marker, NULL);

	replace.backend = wcs_backend_find(rc == 0 ? marker.engine : NULL);
	if (replace.backend == NULL)
		return wcs_fault_set(fault, -EINVAL,
				     "%s: its engine is %s, which this program does not have; "
				     "remove it with the one that made it",
				     directory_name(replace.path), marker.engine);
	rc = directory_each(directory->fd, store_replace_entry, &replace);
	if (rc != 0 && replace.fault.text[0] != '\0')
		return wcs_fault_set(fault, rc, "%s", replace.fault.text);
	if (rc != 0)
		return directory_refuse(fault, rc, replace.path, strerror(-rc));
	if (!directory_is_place(directory->fd, DIRECTORY_DATA))
		return 0;
	rc = wcs_store_open_backend(replace.backend, replace.path, NULL, &store, NULL);
	if (rc != 0)
		return wcs_fault_set(fault, rc,
				     "%s: its tables cannot be read (%s), and one may be "
				     "protected; fsck.rowfs repairs it, or remove it by hand",
				     directory_name(replace.path), strerror(-rc));
	for (size_t i = 0; rc == 0 && i < store->table_count; i++)
		if (store->tables[i]->protected)
			rc = wcs_fault_set(fault, -EPERM,
					   "%s: table %s is protected; write 0 to its .protected "
					   "first",
					   directory_name(replace.path), store->tables[i]->name);
	wcs_store_close(store);
	return rc;
}

/* ---- The place --------------------------------------------------------------------------- */

/* The path of something missing: its directory's, resolved, and its name. */
static char *store_create_join(const char *path)
{
	char *around = strdup(path), *last = strdup(path), *joined = NULL;
	char *parent = around && last ? realpath(dirname(around), NULL) : NULL;

	if (parent != NULL &&
	    asprintf(&joined, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, basename(last)) < 0)
		joined = NULL;
	free(parent);
	free(around);
	free(last);
	return joined;
}

static int store_create_resolve(struct store_create *create, const char *path,
				struct wcs_fault *fault)
{
	struct stat st;
	char *slash;

	create->path = realpath(path, NULL);
	if (create->path == NULL && errno == ENOENT && *path != '\0') {
		if (lstat(path, &st) == 0)
			return directory_refuse(fault, -EEXIST, path,
						"a symbolic link that leads nowhere");
		create->path = store_create_join(path);
		if (create->path == NULL && errno == ENOENT)
			return directory_refuse(fault, -ENOENT, path,
						"the directory to make it in does not exist");
	}
	if (create->path == NULL)
		return directory_fail(fault, errno, path, "cannot be made");
	slash = strrchr(create->path, '/');
	create->name = slash + 1;
	if (*create->name == '\0')
		return wcs_fault_set(fault, -EEXIST, "/: the root directory cannot be a store");
	*slash = '\0';
	create->parent = open(slash == create->path ? "/" : create->path,
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (create->parent < 0)
		return directory_fail(fault, errno, path, "the directory around it");
	return 0;
}

static int store_create_met(void *ctx, int fd, const char *name)
{
	(void)ctx;
	(void)fd;
	(void)name;
	return -ENOTEMPTY;
}

/* Examines the path. -EEXIST: it must not be touched. */
static int store_create_look(struct store_create *create, bool force, struct wcs_fault *fault)
{
	int fd = openat(create->parent, create->name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct directory there = {.path = create->path, .fd = fd};
	bool store, empty;
	int rc;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return directory_refuse(fault, -EEXIST, create->path,
					"exists and is not a directory; name a new place");
	if (fd < 0)
		return directory_fail_at(fault, errno, &there, "");
	rc = directory_find_marker(fd);
	if (rc < 0)
		directory_fail_at(fault, -rc, &there, DIRECTORY_MARKER);
	store = rc > 0;
	empty = directory_each(fd, store_create_met, NULL) == 0;
	close(fd);
	if (rc < 0)
		return directory_error(-rc);
	create->there = true;
	if (store && !force)
		return directory_refuse(
			fault, -EEXIST, create->path,
			"there is a rowfs store already; mkfs.rowfs --force replaces it");
	if (!store && !empty)
		return directory_refuse(
			fault, -EEXIST, create->path,
			"a directory that is neither empty nor a rowfs store; name a new place");
	if (!store)
		return 0;
	rc = directory_open(create->path, DIRECTORY_USE, &create->old, fault);
	return rc == 0 ? store_replace_check(create->old, fault) : rc;
}

/* Builds the store in the temporary directory, which exists. */
static int store_create_build(const struct store_create *create, const struct wcs_schema *schema,
			      struct wcs_fault *fault)
{
	const struct wcs_backend *backend = wcs_backend_find(NULL);
	int lock = openat(create->built.fd, DIRECTORY_LOCK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct wcs_fault inner = {.text = ""};
	struct wcs_store *store;
	int rc = lock < 0 ? directory_error(errno)
			  : directory_mark(create->built.fd, backend->name, clock_now());

	if (lock >= 0)
		close(lock);
	if (rc != 0)
		return directory_fail(fault, -rc, create->path, "cannot be written");
	rc = backend->local->create(create->temporary, &inner);
	if (rc == 0)
		rc = wcs_store_open_backend(backend, create->temporary, NULL, &store, &inner);
	if (rc != 0)
		return wcs_fault_set(fault, rc, "%s: cannot be made: %s",
				     directory_name(create->path),
				     inner.text[0] ? inner.text : strerror(-rc));
	if (schema != NULL)
		rc = wcs_schema_apply(store, schema, fault);
	if (rc == 0 && (rc = wcs_store_sync(store)) != 0)
		directory_fail(fault, -rc, create->path, "cannot be written");
	wcs_store_close(store);
	if (rc == 0 && (rc = directory_sync(create->parent, create->temporary_name)) != 0)
		directory_fail(fault, -rc, create->path, "cannot be made durable");
	return rc;
}

/* Renames the built directory into its place; a replaced store gets the temporary name. Another
 * process may have renamed the locked store away, and something else into its place, which goes
 * back and is not removed. */
static int store_create_rename(const struct store_create *create, struct wcs_fault *fault)
{
	unsigned int flags = !create->there	   ? RENAME_NOREPLACE
			     : create->old != NULL ? RENAME_EXCHANGE
						   : 0;

	if (renameat2(create->parent, create->temporary_name, create->parent, create->name,
		      flags) != 0) {
		if (errno == EBUSY)
			return directory_refuse(fault, -EBUSY, create->path,
						"a filesystem is mounted there; make the store in "
						"a directory below it");
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return directory_fail(fault, errno, create->path,
					      "cannot be put into its place");
	} else if (create->old == NULL ||
		   directory_is(create->old, create->parent, create->temporary_name)) {
		return 0;
	} else if (renameat2(create->parent, create->temporary_name, create->parent, create->name,
			     RENAME_EXCHANGE) != 0) {
		return directory_fail(fault, errno, create->temporary,
				      "what was at the store's place is here now, and cannot go "
				      "back");
	}
	return directory_refuse(fault, -EEXIST, create->path,
				"something else appeared there meanwhile; nothing was changed");
}

static int store_create_finish(const struct store_create *create, struct wcs_fault *fault)
{
	int rc;

	if (fsync(create->parent) != 0)
		return directory_fail(fault, errno, create->path, "cannot be made durable");
	if (create->old == NULL)
		return 0;
	rc = directory_remove(create->parent, create->temporary_name);
	if (rc != 0)
		wcs_fault_set(fault, rc,
			      "%s: the store is made, but what is left of the old one must be "
			      "removed by hand: %s",
			      directory_name(create->temporary), strerror(-rc));
	return rc;
}

/* Makes the temporary directory. */
static int store_create_begin(struct store_create *create, struct wcs_fault *fault)
{
	struct directory *built = &create->built;
	struct stat st;

	if (asprintf(&create->temporary, "%.*s.rowfs-XXXXXX", (int)(create->name - create->path),
		     create->path) < 0)
		create->temporary = NULL;
	if (create->temporary == NULL || mkdtemp(create->temporary) == NULL)
		return directory_fail(fault, errno, create->path, "cannot be made");
	create->temporary_name = strrchr(create->temporary, '/') + 1;
	built->fd = openat(create->parent, create->temporary_name,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (built->fd < 0 || fstat(built->fd, &st) != 0)
		return directory_fail(fault, errno, create->path, "cannot be made");
	built->dev = st.st_dev;
	built->ino = st.st_ino;
	return 0;
}

static int store_create_run(struct store_create *create, const struct wcs_schema *schema,
			    const struct wcs_confine *confine, struct wcs_fault *fault)
{
	int old = create->old ? create->old->fd : -1;
	int rc = store_create_begin(create, fault);

	if (rc != 0)
		return rc;
	if (confine != NULL)
		rc = confine->call(confine->ctx, create->parent, create->built.fd, old, fault);
	/* The owner of the directory around it could put another directory in the place of the
	 * temporary one, whose path the engine gets. */
	if (rc == 0 && !directory_is(&create->built, create->parent, create->temporary_name))
		rc = directory_fail(fault, EIO, create->path, "cannot be made");
	if (rc == 0)
		rc = store_create_build(create, schema, fault);
	if (rc == 0)
		rc = store_create_rename(create, fault);
	if (rc == 0)
		return store_create_finish(create, fault);
	/* Another process may have moved something there, which is not removed. */
	if (directory_is(&create->built, create->parent, create->temporary_name))
		directory_remove(create->parent, create->temporary_name);
	return rc;
}

int wcs_store_create(const char *path, const struct wcs_schema *schema, bool force,
		     const struct wcs_confine *confine, struct wcs_fault *fault)
{
	struct store_create create = {.parent = -1, .built.fd = -1};
	int rc = store_create_resolve(&create, path, fault);

	if (rc == 0)
		rc = store_create_look(&create, force, fault);
	if (rc == 0)
		rc = store_create_run(&create, schema, confine, fault);
	directory_close(create.old);
	if (create.built.fd >= 0)
		close(create.built.fd);
	if (create.parent >= 0)
		close(create.parent);
	free(create.temporary);
	free(create.path);
	return rc;
}
