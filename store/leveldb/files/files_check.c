/* SPDX-License-Identifier: MIT */
/* Checks LevelDB's files before and after LevelDB opens them, and names the first damaged one. Torn
 * files are cut here. */
#include "store/leveldb/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/disk/directory.h"

/* Truncates a torn file at end, behind its last whole record, durably. First it copies the bytes
 * there up to the zeros to a file beside the directory. */
static int files_cut(struct ldb_files *files, const char *name, uint64_t end, uint64_t zeros_at)
{
	const struct wcs_options *const *options = files->ctx;
	int fd = openat(files->dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int store = openat(files->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t len = (size_t)(zeros_at - end);
	unsigned char *bytes = malloc(len + 1);
	char text[256], torn[64], where[96] = "";
	int rc = fd < 0 || store < 0 ? directory_error(errno) : bytes ? 0 : -ENOMEM;

	if (!rc)
		rc = ldb_file_read(fd, bytes, len, end, &len);
	snprintf(torn, sizeof(torn), DIRECTORY_TORN "%s-%" PRIu64, name, end);
	if (!rc && len > 0) { /* after a crash before the cut, once more */
		rc = directory_replace(store, DIRECTORY_TORN "new", torn, bytes, len);
		snprintf(where, sizeof(where), "; what stood there is kept as %s", torn);
	}
	if (!rc && (ftruncate(fd, (off_t)end) != 0 || fsync(fd) != 0))
		rc = directory_error(errno);
	free(bytes);
	if (fd >= 0)
		close(fd);
	if (store >= 0)
		close(store);
	snprintf(text, sizeof(text),
		 "data/%s: it ends in zeros: what was not synced when the "
		 "machine went down; cut at %" PRIu64 "%s",
		 name, end, where);
	if (!rc)
		(*options)->log((*options)->log_ctx, WCS_LOG_WARNING, text);
	return rc;
}

/* options: cuts torn files, and logs that; NULL: does not. spaces: as for ldb_files_tables; "":
 * checks no tables. -EIO: fault names the first damaged file. */
static int files_first(const char *path, const struct wcs_options *options, const char *spaces,
		       struct wcs_fault *fault)
{
	struct ldb_files files;
	int rc = ldb_files_open(path, &files, fault);

	if (rc)
		return rc;
	files.torn = options ? files_cut : NULL;
	files.ctx = &options;
	if (files.fault_count == 0)
		rc = ldb_files_logs(&files);
	if (!rc && files.fault_count == 0 && *spaces)
		rc = ldb_files_tables(&files, spaces);
	if (rc)
		wcs_fault_set(fault, rc, "%s: %s", directory_name(path), strerror(-rc));
	else if (files.fault_count > 0)
		rc = wcs_fault_set(fault, -EIO, "%s/%s: %s; fsck.rowfs tells more, and repairs",
				   directory_name(path), files.faults->name, files.faults->what);
	ldb_files_close(&files);
	return rc;
}

int ldb_files_check(const char *path, const struct wcs_options *options, struct wcs_fault *fault)
{
	return files_first(path, options, "", fault);
}

int ldb_files_blame(const char *path, int error, struct wcs_fault *fault)
{
	struct wcs_fault found;

	/* when a store is opened; LevelDB opens tables of other key spaces as well */
	if (error == -EIO && files_first(path, NULL, "mxg", &found) == -EIO)
		wcs_fault_set(fault, error, "%s", found.text);
	return error;
}
