/* SPDX-License-Identifier: MIT */
/*
 * Checks a store: its directory and marker here, the rest by its engine. The store stays locked
 * from the first look to the end: a repair meets the faults that the check found.
 */
#include "store/fsck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/clone.h"
#include "store/disk/directory.h"
#include "store/table/table.h"

/* ---- Findings ---------------------------------------------------------------------------- */

void wcs_fsck_found(struct wcs_fsck *fsck, enum wcs_found kind, const char *what, const char *done,
		    const char *where, ...)
{
	struct wcs_finding finding = {.kind = kind, .what = what, .done = done};
	char *text = NULL;
	va_list args;

	if (kind != WCS_FOUND_NOTICE) {
		fsck->result->found++;
		fsck->result->corrected += done != NULL;
	}
	va_start(args, where);
	if (vasprintf(&text, where, args) < 0)
		text = NULL;
	va_end(args);
	finding.where = text != NULL ? text : "(no memory)";
	if (fsck->options->found != NULL)
		fsck->options->found(fsck->options->ctx, &finding);
	free(text);
}

/* ---- Changes ----------------------------------------------------------------------------- */

bool wcs_fsck_agreed(struct wcs_fsck *fsck)
{
	static const char what[] =
		"The store is damaged. Repair it? What can be read stays. What cannot is lost, so "
		"that data that was deleted or replaced may be back. The store as it was is kept "
		"in the quarantine.";
	const struct wcs_check_options *options = fsck->options;

	if (!options->repair)
		return false;
	if (fsck->answer == 0)
		fsck->answer =
			options->agree == NULL || options->agree(options->ctx, what) ? 1 : -1;
	return fsck->answer > 0;
}

static bool fsck_copies(void *ctx, uint64_t done)
{
	return wcs_fsck_progress(ctx, "copy, MiB", done >> 20, 0) == 0;
}

int wcs_fsck_clone(struct wcs_fsck *fsck, const char *path, const char *links, int from,
		   const char *name)
{
	const struct directory_clone request = {.path = path,
						.links = links,
						.fixed = fsck->fixed,
						.go_on = fsck_copies,
						.ctx = fsck,
						.fault = fsck->fault};

	return directory_clone(&request, from, name);
}

int wcs_fsck_keep(struct wcs_fsck *fsck)
{
	int rc = 0;

	if (!fsck->result->quarantined)
		rc = wcs_fsck_clone(fsck, fsck->options->quarantine, NULL, fsck->store, "store");
	fsck->result->quarantined = rc == 0;
	return rc;
}

void wcs_fsck_drop(struct wcs_fsck *fsck)
{
	int quarantine =
		open(fsck->options->quarantine, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (quarantine < 0)
		return;
	if (fsck->result->quarantined && directory_remove(quarantine, "store") == 0)
		fsck->result->quarantined = false;
	close(quarantine);
}

int wcs_fsck_progress(struct wcs_fsck *fsck, const char *what, uint64_t done, uint64_t total)
{
	const struct wcs_check_options *options = fsck->options;

	if (options->progress == NULL || options->progress(options->ctx, what, done, total))
		return 0;
	return wcs_fault_set(fsck->fault, -ECANCELED, "stopped before it was through");
}

/* ---- The check --------------------------------------------------------------------------- */

static int fsck_marker(struct wcs_fsck *fsck, struct directory *directory, const char *engine)
{
	bool mend = wcs_fsck_agreed(fsck);
	int rc = 0;

	if (mend && faccessat(directory->fd, DIRECTORY_MARKER, F_OK, 0) == 0)
		rc = wcs_fsck_keep(fsck);
	if (rc == 0 && mend)
		rc = directory_mend_marker(directory, engine, fsck->fault);
	if (rc == 0)
		wcs_fsck_found(fsck, WCS_FOUND_DAMAGE, "damaged or missing",
			       mend ? "rebuilt; the store may seem made at another time" : NULL,
			       DIRECTORY_MARKER);
	return rc;
}

/* The marker is mended last: records of a newer program end the check before. */
static int fsck_directory(struct wcs_fsck *fsck, struct directory *directory)
{
	const struct wcs_backend *backend;
	struct directory_marker marker;
	struct wcs_fault fault = {0};
	int rc = directory_read_marker(directory, &marker, &fault);
	bool damaged = rc == -EIO || rc == -ENOENT;

	if (rc != 0 && !damaged)
		return wcs_fault_set(fsck->fault, rc, "%s", fault.text);
	backend = wcs_backend_find(damaged ? NULL : marker.engine); /* NULL: the default one */
	if (backend == NULL)
		return wcs_fault_set(fsck->fault, -EINVAL,
				     "its engine is %s, which this program does not have",
				     marker.engine);
	if (backend->local == NULL || backend->local->check == NULL)
		return wcs_fault_set(fsck->fault, -EOPNOTSUPP,
				     "a store of the engine %s cannot be checked from here",
				     backend->name);
	fsck->store = directory->fd;
	fsck->fixed = backend->local->fixed;
	rc = backend->local->check_unused(directory->path, fsck->fault);
	if (rc == 0)
		rc = directory_check_data(directory, fsck->fault);
	if (rc == 0)
		rc = backend->local->check(directory->path, fsck);
	return rc == 0 && damaged ? fsck_marker(fsck, directory, backend->name) : rc;
}

int wcs_store_check(const char *path, const struct wcs_check_options *options,
		    struct wcs_check_result *result, struct wcs_fault *fault)
{
	struct wcs_fsck fsck = {.options = options, .result = result};
	struct directory *directory = NULL;
	struct wcs_fault unused;
	int rc;

	fsck.fault = fault != NULL ? fault : &unused;
	memset(result, 0, sizeof(*result));
	rc = directory_open(path, options->repair ? DIRECTORY_MEND : DIRECTORY_LOOK, &directory,
			    fsck.fault);
	if (rc == 0)
		rc = fsck_directory(&fsck, directory);
	directory_close(directory);
	if (rc != 0)
		result->corrected = 0;
	return rc;
}
