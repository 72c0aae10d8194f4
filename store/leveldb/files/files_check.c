/* SPDX-License-Identifier: MIT */
/* Checks LevelDB's files before and after LevelDB opens them, and names the first damaged one. Torn
 * files are cut here. */
#include "store/leveldb/files/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "store/backend.h"
#include "store/disk/directory.h"
#include "store/leveldb/formats/logfile.h"

static int files_tell(const struct ldb_files *files, const char *path, struct wcs_fault *fault)
{
	const struct ldb_files_fault *first = files->faults;

	return wcs_fault_set(fault, -EIO, "%s/%s: %s; fsck.rowfs tells more, and repairs",
			     directory_name(path), first->name, first->what);
}

static int files_cut(struct ldb_files *files, const char *name, uint64_t end)
{
	const struct wcs_options *const *options = files->ctx;
	char text[256], where[96] = "";
	uint64_t kept = 0;
	int rc = ldb_logfile_cut(files->dir, name, end, &kept);

	if (rc)
		return rc;
	if (kept > 0)
		snprintf(where, sizeof(where),
			 "; what stood there is kept as " DIRECTORY_TORN "%s-%" PRIu64, name, end);
	snprintf(text, sizeof(text),
		 "data/%s: it ends in zeros: what was not synced when the "
		 "machine went down; cut at %" PRIu64 "%s",
		 name, end, where);
	(*options)->log((*options)->log_ctx, WCS_LOG_WARNING, text);
	return 0;
}

int ldb_files_check(const char *path, const struct wcs_options *options, struct wcs_fault *fault)
{
	struct ldb_files files;
	int rc = ldb_files_open(path, &files, fault);

	if (rc)
		return rc;
	files.torn = files_cut;
	files.ctx = &options;
	if (files.fault_count == 0)
		rc = ldb_files_logs(&files);
	if (rc)
		wcs_fault_set(fault, rc, "%s: %s", directory_name(path), strerror(-rc));
	else if (files.fault_count > 0)
		rc = files_tell(&files, path, fault);
	ldb_files_close(&files);
	return rc;
}

int ldb_files_blame(const char *path, int error, struct wcs_fault *fault)
{
	struct wcs_fault unused;
	struct ldb_files files;
	int rc;

	if (error != -EIO || ldb_files_open(path, &files, &unused))
		return error;
	rc = ldb_files_logs(&files);
	if (!rc && files.fault_count == 0)
		/* when a store is opened; LevelDB opens tables of other key spaces as well */
		rc = ldb_files_tables(&files, "mxg");
	if (!rc && files.fault_count > 0)
		files_tell(&files, path, fault);
	ldb_files_close(&files);
	return error;
}
