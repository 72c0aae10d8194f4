/* SPDX-License-Identifier: MIT */
/* What who opens a store is told of its files: see files.h. What is torn is cut there. */
#include "store/leveldb/files/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	int err = ldb_logfile_cut(files->dir, name, end, &kept);

	if (err)
		return err;
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
	int err = ldb_files_open(path, &files, fault);

	if (err)
		return err;
	files.torn = files_cut;
	files.ctx = &options;
	if (files.fault_count == 0)
		err = ldb_files_logs(&files);
	if (err)
		wcs_fault_set(fault, err, "%s: %s", directory_name(path), strerror(-err));
	else if (files.fault_count > 0)
		err = files_tell(&files, path, fault);
	ldb_files_close(&files);
	return err;
}

/* What is read when a store is opened. */
static const unsigned char files_spaces[] = {'m', 'x', 'g'};

int ldb_files_blame(const char *path, int error, struct wcs_fault *fault)
{
	struct wcs_fault unused;
	struct ldb_files files;
	int err;

	if (error != -EIO || ldb_files_open(path, &files, &unused))
		return error;
	err = ldb_files_logs(&files);
	/* LevelDB opens tables of any key space, beside those that are read. */
	if (!err && files.fault_count == 0)
		err = ldb_files_sizes(&files);
	for (size_t i = 0; !err && files.fault_count == 0 && i < sizeof(files_spaces); i++)
		err = ldb_files_tables_of(&files, files_spaces[i]);
	if (!err && files.fault_count > 0)
		files_tell(&files, path, fault);
	ldb_files_close(&files);
	return error;
}
