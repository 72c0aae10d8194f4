/* SPDX-License-Identifier: MIT */
/*
 * Damaged files, mended one by one, and what cannot be.
 *
 * - Tables: fsck_mend.c.
 * - A log is written anew of its good records.
 * - CURRENT names the newest MANIFEST again, where that is whole.
 * - Without a MANIFEST nobody knows which tables are in use, nor where one was cut: its last edits
 *   named what LevelDB would delete as out of use. Then the store is made anew of all tables and
 *   logs (fsck_anew.c). So it is where the place of a table on level 0, where a table is as new as
 *   its number is high, cannot be kept.
 *
 * Each step is durable before the next; where the machine goes down between, the next check sees
 * what is left to do. Each file is copied to the quarantine before, all of them before the store is
 * made anew.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/tablefile.h"

static int files_fail(struct ldb_fsck *f, const char *name, int err)
{
	return wcs_fault_set(f->fsck->fault, err, "data/%s: %s", name, strerror(-err));
}

static int files_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct ldb_fsck *f = ctx;

	return wcs_fsck_progress(f->fsck, "files", done, total);
}

/* ---- Logs -------------------------------------------------------------------------------- */

/* Its good records take its place. */
static int files_mend_log(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			  size_t room)
{
	int from = openat(files->dir, fault->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(files->dir, LDB_FILE_TEMPORARY,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint64_t records = 0;
	int err = to < 0 || (from < 0 && !fault->missing) ? -EIO : 0;

	((struct ldb_fsck *)files->ctx)->copy_wins = true; /* whose keys were lost nobody knows */
	if (!err && !fault->missing)
		err = ldb_fsck_salvage_log(from, to, files->manifest.sequence, &records);
	if (!err && (renameat(files->dir, LDB_FILE_TEMPORARY, files->dir, fault->name) ||
		     fsync(files->dir)))
		err = -EIO;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (fault->missing)
		snprintf(done, room, "the last changes are lost");
	else
		ldb_fsck_say_read(done, room, records, "change", false, fault->name);
	return err;
}

/* ---- All of it --------------------------------------------------------------------------- */

static const char files_question[] =
	"What says which files are in use is damaged. The store can be made anew of all files that "
	"there are. Data that was deleted or replaced may be back then. All of the store is copied "
	"into the quarantine before. Do it?";

bool ldb_fsck_may_anew(struct ldb_fsck *f)
{
	return wcs_fsck_agreed(f->fsck, WCS_ASK_ALL, files_question);
}

/* No damage for sure. A repair opens the store, which cuts it, and tells of what is kept then. */
static int files_torn_end(struct ldb_files *files, const char *name, uint64_t end)
{
	struct ldb_fsck *f = files->ctx;

	if (f->fsck->options->repair)
		return 0;
	wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
		       "it ends in zeros: what was not synced when the "
		       "machine went down, or damage in its last record; a mount cuts it there, "
		       "and keeps what it cuts",
		       NULL, "data/%s, at %" PRIu64, name, end);
	return 0;
}

struct files_reach {
	int dir;
	struct wcs_fault *fault;
};

/* What keeps this process from reading a file is no damage of it. */
static int files_may_read(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct files_reach *reach = ctx;
	int fd = openat(reach->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	(void)kind;
	(void)number;
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (!directory_is_barred(errno))
		return 0;
	return wcs_fault_set(reach->fault, -EIO, "data/%s: %s", name, strerror(errno));
}

static int files_open(struct ldb_fsck *f, struct ldb_files *files)
{
	struct files_reach reach = {.fault = f->fsck->fault};
	int err = ldb_files_open(f->data, files, f->fsck->fault);

	if (err)
		return err;
	reach.dir = files->dir;
	err = ldb_files_each(files, files_may_read, &reach);
	if (err)
		ldb_files_close(files);
	return err;
}

static int files_look(struct ldb_fsck *f, struct ldb_files *files)
{
	int err = files_open(f, files);

	if (err)
		return err;
	files->progress = files_progress;
	files->torn = files_torn_end;
	files->ctx = f;
	err = ldb_files_logs(files);
	if (!err)
		err = ldb_files_tables(files);
	if (!err)
		err = ldb_files_names(files);
	if (!err)
		err = ldb_files_end(files);
	for (size_t i = 0; files->whole && i < files->fault_count; i++)
		if (ldb_fsck_has_no_place(files, &files->faults[i]))
			files->whole = false;
	f->fsck->result->files = files->count;
	if (err && err != -ECANCELED)
		files_fail(f, "", err);
	if (err)
		ldb_files_close(files);
	return err;
}

static void files_tell(struct ldb_fsck *f, const struct ldb_files_fault *fault, const char *done)
{
	wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, fault->what, done, "data/%s", fault->name);
}

static int files_keep(struct ldb_fsck *f, struct ldb_files *files, const char *name)
{
	if (faccessat(files->dir, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	return wcs_quarantine_file(f->fsck->quarantine, files->dir, name);
}

/* The table that is to get its name back, where it is not kept as what is wrong under the other. */
static int files_keep_right(struct ldb_fsck *f, struct ldb_files *files, uint64_t number)
{
	char name[LDB_FILE_NAME_MAX];

	if (number == 0 || ldb_manifest_find(&files->manifest, number))
		return 0;
	ldb_file_name(name, LDB_FILE_TABLE, number);
	return files_keep(f, files, name);
}

/* Before the first of them is changed, as one can be what another needs. */
static int files_keep_all(struct ldb_fsck *f, struct ldb_files *files)
{
	int err = 0;

	for (size_t i = 0; !err && i < files->fault_count; i++) {
		const struct ldb_files_fault *fault = &files->faults[i];

		err = fault->missing ? 0 : files_keep(f, files, fault->name);
		if (!err)
			err = files_keep_right(f, files, fault->right);
	}
	return err;
}

static int files_mend_one(struct ldb_fsck *f, struct ldb_files *files,
			  const struct ldb_files_fault *fault)
{
	char done[200] = "";
	int err = 0;

	switch (fault->kind) {
	case LDB_FILE_TABLE:
		err = ldb_fsck_mend_table(files, fault, done, sizeof(done));
		break;
	case LDB_FILE_LOG:
		if (ldb_file_is_number(fault->number)) {
			err = files_mend_log(files, fault, done, sizeof(done));
			break;
		}
		err = unlinkat(files->dir, fault->name, 0) ? -EIO : 0;
		snprintf(done, sizeof(done), "it is in the quarantine, files/%s", fault->name);
		break;
	case LDB_FILE_CURRENT:
		err = ldb_manifest_set_current(files->dir, files->current);
		snprintf(done, sizeof(done), "it names %s", files->current);
		break;
	case LDB_FILE_MANIFEST:
	case LDB_FILE_OTHER:
		break;
	}
	if (err == -EAGAIN) /* another damaged table took the last number */
		return wcs_fault_set(f->fsck->fault, err,
				     "data/%s: its place cannot be kept; check once more",
				     fault->name);
	if (err)
		return files_fail(f, fault->name, err);
	files_tell(f, fault, done);
	return 0;
}

static int files_mend(struct ldb_fsck *f, struct ldb_files *files)
{
	int err = files_keep_all(f, files);

	if (!err)
		err = ldb_fsck_mend_names(f, files);
	for (size_t i = 0; !err && i < files->fault_count; i++)
		err = files_mend_one(f, files, &files->faults[i]);
	return err;
}

static void files_tell_all(struct ldb_fsck *f, const struct ldb_files *files, const char *done)
{
	for (size_t i = 0; i < files->fault_count; i++)
		if (!directory_is_place(files->dir, files->faults[i].name)) /* which is told */
			files_tell(f, &files->faults[i], done);
}

static int files_make_anew(struct ldb_fsck *f, struct ldb_files *files)
{
	int err = ldb_fsck_anew(f);

	files_tell_all(f, files, err ? NULL : LDB_FSCK_ANEW);
	return err;
}

/* After what was done there must be nothing left to do. */
static int files_look_again(struct ldb_fsck *f)
{
	struct ldb_files files;
	int err = files_look(f, &files);

	if (err)
		return err;
	files_tell_all(f, &files, NULL);
	f->unreadable = files.fault_count > 0;
	ldb_files_close(&files);
	return 0;
}

static bool files_may_mend(struct ldb_fsck *f)
{
	return wcs_fsck_agreed(f->fsck, WCS_ASK_FILES,
			       "Files of the store are damaged or missing. What can be read in "
			       "them can stay; what cannot is lost, so that older data may show in "
			       "its place. Damaged files are copied into the quarantine. Mend "
			       "them?");
}

int ldb_fsck_files(struct ldb_fsck *f)
{
	struct ldb_files files;
	bool mend, left = false;
	int err = ldb_fsck_places(f, &left);

	if (!err)
		err = files_look(f, &files);
	if (err)
		return err;
	if (files.fault_count == 0) {
		ldb_files_close(&files);
		f->unreadable = left && f->fsck->options->repair; /* a view has none of them */
		return 0;
	}
	mend = !left && (files.whole ? files_may_mend(f) : ldb_fsck_may_anew(f));
	if (mend)
		err = files.whole ? files_mend(f, &files) : files_make_anew(f, &files);
	else
		err = wcs_fsck_progress(f->fsck, "files", files.bytes,
					files.all); /* no, or stop? */
	if (!mend && !err)
		files_tell_all(f, &files, NULL);
	f->unreadable = !mend;
	ldb_files_close(&files);
	return err || !mend ? err : files_look_again(f);
}
