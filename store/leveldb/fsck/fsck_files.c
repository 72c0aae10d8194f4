/* SPDX-License-Identifier: MIT */
/*
 * Checks LevelDB's files and repairs them, or has the store rebuilt.
 *
 * - A damaged table is replaced, under its number and on its level, by one of the entries that can
 *   be read. Old entries must not come to lie above newer ones, as they do after LevelDB's own
 *   repair. First the MANIFEST describes the new table, then that one is renamed. In between it
 *   describes just the readable part of the damaged one, and the next check repeats the repair.
 * - A missing table is removed from the MANIFEST.
 * - A damaged log is replaced by its good records.
 * - CURRENT names the newest MANIFEST again, if that is whole.
 * - Without a whole MANIFEST, or if a table has another's name, the tables in use are not known; a
 *   MANIFEST's last edits may have named tables that older edits removed. The store is then rebuilt
 *   of all tables and logs (fsck_rebuild.c).
 *
 * Each step is durable before the next, so after a crash the next check finds the remaining steps.
 * All files that change are copied to the quarantine first; before a rebuild all of the store is.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/system/message.h"
#include "store/disk/directory.h"

static int files_fail(struct ldb_fsck *f, const char *name, int error)
{
	return wcs_fault_set(f->fsck->fault, error, "data/%s: %s", name, strerror(-error));
}

bool ldb_fsck_may_rebuild(struct ldb_fsck *f)
{
	return wcs_fsck_agreed(
		f->fsck, WCS_ASK_ALL,
		"What says which files are in use is damaged. The store can be rebuilt from all "
		"files that there are. Data that was deleted or replaced may be back then. All of "
		"the store is copied into the quarantine before. Do it?");
}

/* ---- Checking ---------------------------------------------------------------------------- */

static int files_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct ldb_fsck *f = ctx;

	return wcs_fsck_progress(f->fsck, "files", done, total);
}

/* A torn end is not damage for sure. A repair opens the store, which cuts it and keeps it. */
static int files_torn(struct ldb_files *files, const char *name, uint64_t end)
{
	struct ldb_fsck *f = files->ctx;

	if (!f->fsck->options->repair)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "it ends in zeros: what was not synced when the "
			       "machine went down, or damage in its last record; a mount cuts it "
			       "there, and keeps what it cuts",
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

static int files_look(struct ldb_fsck *f, struct ldb_files *files)
{
	int rc = ldb_files_open(f->data, files, f->fsck->fault);

	if (rc)
		return rc;
	files->progress = files_progress;
	files->torn = files_torn;
	files->ctx = f;
	rc = ldb_fsck_each_name(f, files->dir, f->data, files_may_read);
	if (rc)
		goto out;
	rc = ldb_files_logs(files);
	if (!rc)
		rc = ldb_files_tables(files, NULL);
	if (!rc)
		rc = ldb_files_end(files);
	f->fsck->result->files = files->count;
	if (rc && rc != -ECANCELED)
		files_fail(f, "", rc);
out:
	if (rc)
		ldb_files_close(files);
	return rc;
}

static void files_tell(struct ldb_fsck *f, const struct ldb_files *files, const char *done)
{
	for (size_t i = 0; i < files->fault_count; i++)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, files->faults[i].what, done, "data/%s",
			       files->faults[i].name);
}

/* ---- Repair ------------------------------------------------------------------------------ */

/* Says how much could be read of a file. all: it never had more. Otherwise nobody knows how much
 * the rest had, which may be nothing. */
static void files_say_read(char *done, size_t room, uint64_t count, const char *what, bool all,
			   const char *name)
{
	snprintf(done, room,
		 "%" PRIu64 " %s%s could be read in it and stay%s; it is in the "
		 "quarantine, files/%s",
		 count, what, message_plural(count),
		 all ? ", all that it had" : ", what could not be read of it is lost", name);
}

static int files_repair_table(struct ldb_files *files, const struct ldb_files_fault *fault,
			      char *done, size_t room)
{
	struct ldb_manifest_table by = {.number = fault->number};
	struct ldb_fsck_salvage salvage = {
		.f = files->ctx,
		.known = ldb_manifest_find(&files->manifest, fault->number),
		.dir = files->dir,
		.name = LDB_FILE_TEMPORARY_TABLE,
		.by = &by};
	uint64_t size = 0;
	int from = ldb_files_open_table(files, fault->number, &size), rc = -EIO;

	unlinkat(files->dir, salvage.name, 0);
	if (from >= 0) {
		rc = ldb_fsck_salvage_table(&salvage, from, size);
		close(from);
	}
	if (!rc && fsync(files->dir))
		rc = -EIO;
	if (!rc)
		rc = ldb_manifest_replace(files->dir, &files->manifest, fault->number,
					  by.size > 0 ? &by : NULL);
	if (!rc && (by.size > 0 ? renameat(files->dir, salvage.name, files->dir, fault->name)
				: unlinkat(files->dir, fault->name, 0)))
		rc = -EIO;
	if (!rc && fsync(files->dir))
		rc = -EIO;
	ldb_tablefile_writer_free(&salvage.writer);
	files_say_read(done, room, salvage.entries, "key", !salvage.lost, fault->name);
	return rc;
}

/* Replaces a log by its good records. A missing one is then empty. */
static int files_repair_log(struct ldb_files *files, const struct ldb_files_fault *fault,
			    char *done, size_t room)
{
	int from = openat(files->dir, fault->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(files->dir, LDB_FILE_TEMPORARY,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint64_t records = 0;
	int rc = to < 0 || (from < 0 && !fault->missing) ? -EIO : 0;

	((struct ldb_fsck *)files->ctx)->copy_wins = true; /* descriptions may be lost */
	if (!rc && !fault->missing)
		rc = ldb_fsck_salvage_log(from, to, &records);
	if (!rc && (renameat(files->dir, LDB_FILE_TEMPORARY, files->dir, fault->name) ||
		    fsync(files->dir)))
		rc = -EIO;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (fault->missing)
		snprintf(done, room, "the last changes are lost");
	else
		files_say_read(done, room, records, "change", false, fault->name);
	return rc;
}

static int files_repair_one(struct ldb_fsck *f, struct ldb_files *files,
			    const struct ldb_files_fault *fault)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);
	char done[200] = "what was in it is lost";
	int rc = 0;

	switch (fault->kind) {
	case LDB_FILE_TABLE:
		if (!fault->missing) {
			rc = files_repair_table(files, fault, done, sizeof(done));
			break;
		}
		rc = ldb_fsck_lose(f, fault->name, known->smallest, known->largest);
		if (!rc)
			rc = ldb_manifest_replace(files->dir, &files->manifest, fault->number,
						  NULL);
		break;
	case LDB_FILE_LOG:
		if (ldb_file_is_number(fault->number)) {
			rc = files_repair_log(files, fault, done, sizeof(done));
			break;
		}
		rc = unlinkat(files->dir, fault->name, 0) ? -EIO : 0;
		snprintf(done, sizeof(done), "it is in the quarantine, files/%s", fault->name);
		break;
	case LDB_FILE_CURRENT:
		rc = ldb_manifest_set_current(files->dir, files->current);
		snprintf(done, sizeof(done), "it names %s", files->current);
		break;
	case LDB_FILE_MANIFEST:
	case LDB_FILE_OTHER:
		break;
	}
	if (rc)
		return files_fail(f, fault->name, rc);
	wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, fault->what, done, "data/%s", fault->name);
	return 0;
}

/* Copies all files that change to the quarantine, before the first of them does. */
static int files_repair(struct ldb_fsck *f, struct ldb_files *files)
{
	int rc = 0;

	if (!files->whole) {
		rc = ldb_fsck_rebuild(f);
		files_tell(f, files, rc ? NULL : LDB_FSCK_REBUILT);
	}
	for (size_t i = 0; !rc && i < files->fault_count; i++) {
		const struct ldb_files_fault *fault = &files->faults[i];
		const struct ldb_manifest_table *known;

		known = ldb_manifest_find(&files->manifest, fault->number);
		if (fault->another) /* the right one may be nowhere */
			rc = ldb_fsck_lose(f, fault->name, known->smallest, known->largest);
		else if (files->whole && !fault->missing &&
			 faccessat(files->dir, fault->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			rc = wcs_quarantine_file(f->fsck->quarantine, files->dir, fault->name);
	}
	for (size_t i = 0; !rc && files->whole && i < files->fault_count; i++)
		rc = files_repair_one(f, files, &files->faults[i]);
	return rc;
}

int ldb_fsck_files(struct ldb_fsck *f)
{
	struct ldb_files files;
	bool repair;
	int rc = files_look(f, &files);

	if (rc)
		return rc;
	if (files.fault_count == 0) {
		ldb_files_close(&files);
		return 0;
	}
	repair = files.whole
			 ? wcs_fsck_agreed(f->fsck, WCS_ASK_FILES,
					   "Files of the store are damaged or missing. What can "
					   "be read in them can stay; what cannot is lost, so "
					   "that older data may show in its place. Damaged files "
					   "are copied into the quarantine. Mend them?")
			 : ldb_fsck_may_rebuild(f);
	if (repair)
		rc = files_repair(f, &files);
	else /* -ECANCELED, if the answer was to stop */
		rc = wcs_fsck_progress(f->fsck, "files", files.bytes, files.all);
	if (!repair && !rc)
		files_tell(f, &files, NULL);
	f->unreadable = !repair;
	ldb_files_close(&files);
	if (rc || !repair)
		return rc;
	rc = files_look(f, &files); /* once more, which must find nothing */
	if (rc)
		return rc;
	files_tell(f, &files, NULL);
	f->unreadable = files.fault_count > 0;
	ldb_files_close(&files);
	return 0;
}
