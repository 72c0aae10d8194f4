/* SPDX-License-Identifier: MIT */
/*
 * Checks LevelDB's files, reads their entries for a repair, and checks the files that it made.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/system/message.h"
#include "store/disk/directory.h"

/* ---- Callbacks --------------------------------------------------------------------------- */

static int files_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct ldb_fsck *f = ctx;

	return wcs_fsck_progress(f->fsck, "files", done, total);
}

/* A torn end is not damage for sure. */
static int files_torn(struct ldb_files *files, const char *name, uint64_t end, uint64_t zeros_at)
{
	struct ldb_fsck *f = files->ctx;

	(void)zeros_at;
	wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
		       "it ends in zeros: what was not synced when the machine went down, or "
		       "damage in its last record; a mount cuts it there, and keeps what it cuts",
		       NULL, "data/%s, at %" PRIu64, name, end);
	return 0;
}

/* Ends the check at a file that this process may not read, which is no damage, and at a directory
 * in the place of a file, which somebody made. */
static int files_may_read(void *ctx, int dir, const char *name)
{
	struct ldb_fsck *f = ctx;
	uint64_t number;
	int fd;

	if (!ldb_file_owns(name))
		return 0;
	if (directory_is_place(dir, name))
		return wcs_fault_set(f->fsck->fault, -EIO,
				     "data/%s: it is a directory where a file belongs; move it "
				     "away by hand",
				     name);
	if (ldb_file_parse(name, &number) == LDB_FILE_OTHER)
		return 0;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return close(fd);
	return directory_is_barred(errno)
		       ? wcs_fault_set(f->fsck->fault, -EIO, "data/%s: %s", name, strerror(errno))
		       : 0;
}

/* ---- The files --------------------------------------------------------------------------- */

static int files_fail(struct ldb_fsck *f, int rc)
{
	if (rc && f->fsck->fault->text[0] == '\0')
		wcs_fault_set(f->fsck->fault, rc, "data: %s", strerror(-rc));
	return rc;
}

static int files_check(struct ldb_files *files)
{
	int rc = ldb_files_logs(files);

	if (!rc)
		rc = ldb_files_tables(files, NULL);
	return rc ? rc : ldb_files_end(files);
}

int ldb_fsck_files(struct ldb_fsck *f)
{
	struct ldb_files *files = &f->files;
	int rc = ldb_files_open(f->data, files, f->fsck->fault);

	if (rc)
		return rc;
	files->most = LDB_FSCK_NUMBER_MAX;
	files->progress = files_progress;
	files->torn = files_torn;
	files->ctx = f;
	f->fsck->fault->text[0] = '\0';
	rc = directory_each(files->dir, files_may_read, f);
	if (!rc)
		rc = files_check(files);
	f->fsck->result->files = files->count;
	return files_fail(f, rc);
}

/* Notes the keys that are lost with whole files. */
static int files_lose(struct ldb_fsck *f)
{
	const struct ldb_manifest_table *known;
	int rc = 0;

	for (size_t i = 0; !rc && i < f->files.fault_count; i++) {
		const struct ldb_files_fault *fault = &f->files.faults[i];

		known = ldb_manifest_find(&f->files.manifest, fault->number);
		if (fault->kind == LDB_FILE_TABLE && known && (fault->another || fault->missing))
			rc = ldb_fsck_lose(f, fault->number, known->smallest, known->largest);
	}
	return rc;
}

int ldb_fsck_files_read(struct ldb_fsck *f, int (*each)(void *f, uint64_t tag, struct wcs_slice key,
							struct wcs_slice value))
{
	struct ldb_files *files = &f->files;
	int rc;

	files->all += files->bytes;
	files->torn = NULL;
	files->change = each;
	files->lost = ldb_fsck_lose;
	rc = ldb_files_entries(files);
	if (!rc)
		rc = files_lose(f);
	files->lost = NULL;
	files->change = ldb_fsck_scratch_lost;
	if (!rc && files->whole)
		rc = ldb_files_unlisted(files);
	if (!rc)
		rc = ldb_fsck_flush(f);
	return files_fail(f, rc);
}

int ldb_fsck_files_verify(struct ldb_fsck *f, const char *path)
{
	struct ldb_files made;
	int rc = ldb_files_open(path, &made, f->fsck->fault);

	if (rc)
		return rc;
	made.progress = files_progress;
	made.ctx = f;
	rc = files_check(&made);
	if (!rc && made.fault_count > 0)
		rc = wcs_fault_set(f->fsck->fault, -EIO, "the new database is not good: %s: %s",
				   made.faults[0].name, made.faults[0].what);
	ldb_files_close(&made);
	return files_fail(f, rc);
}

/* ---- Reports ----------------------------------------------------------------------------- */

/* How a fault is corrected by a copy of the entries that can be read. */
static void files_done(const struct ldb_fsck *f, const struct ldb_files_fault *fault, char *done,
		       size_t room)
{
	const char *of = fault->kind == LDB_FILE_TABLE ? "key" : "change";

	if (!f->files.whole)
		snprintf(done, room, LDB_FSCK_REBUILT);
	else if (fault->kind == LDB_FILE_CURRENT || fault->kind == LDB_FILE_MANIFEST)
		snprintf(done, room, "made anew");
	else if (fault->missing)
		snprintf(done, room, "what was in it is lost");
	else
		snprintf(done, room, "%" PRIu64 " %s%s could be read in it and stay",
			 fault->entries, of, message_plural(fault->entries));
}

/* Names the tables that LevelDB does not use. */
static void files_tell_unlisted(struct ldb_fsck *f)
{
	char name[LDB_FILE_NAME_MAX];

	for (size_t i = 0; i < f->files.list_count; i++) {
		const struct ldb_files_name *file = &f->files.list[i];

		if (file->kind != LDB_FILE_TABLE || ldb_files_is_used(&f->files, file))
			continue;
		ldb_file_name(name, file->kind, file->number);
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "no MANIFEST lists it; the next mount removes it", NULL, "data/%s",
			       name);
	}
}

int ldb_fsck_files_tell(struct ldb_fsck *f)
{
	char place[LDB_FILE_NAME_MAX + 8], done[128];
	int rc = 0;

	for (size_t i = 0; !rc && i < f->files.fault_count; i++) {
		const struct ldb_files_fault *fault = &f->files.faults[i];

		snprintf(place, sizeof(place), "data/%s", fault->name);
		files_done(f, fault, done, sizeof(done));
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, fault->what, done, place);
	}
	if (!rc && !f->repairs && f->files.whole)
		files_tell_unlisted(f);
	return rc;
}
