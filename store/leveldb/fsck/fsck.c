/* SPDX-License-Identifier: MIT */
/*
 * Checks a LevelDB store: first its files, block by block; then their entries, key space by key
 * space. While a file is damaged, entries are not judged: missing ones may be in that file. Nothing
 * in the store is changed, and LevelDB does not open it.
 *
 * A repair is a copy. The store as it was is cloned into the quarantine. The entries that can be
 * read are merged, judged, and written to a new database, STORE/data.new. When that is durable and
 * a check of it finds nothing, it is exchanged with data/ in one step. A failure or a crash
 * therefore leaves either the damaged store or the new one; the next repair removes data.new.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/system/message.h"
#include "store/disk/directory.h"

static void fsck_log(void *ctx, enum wcs_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static int64_t fsck_now(void *ctx)
{
	(void)ctx;
	return 0;
}

static const struct wcs_options fsck_options = {.log = fsck_log, .now = fsck_now};

/* ---- Beside data/ ------------------------------------------------------------------------ */

/* data.new, left by a repair that was interrupted. */
static int fsck_left(struct ldb_fsck *f)
{
	bool may;
	int rc;

	if (faccessat(f->dir, DIRECTORY_ANEW, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	may = wcs_fsck_agreed(f->fsck);
	rc = may ? directory_remove(f->dir, DIRECTORY_ANEW) : 0;
	if (rc)
		return wcs_fault_set(f->fsck->fault, rc, DIRECTORY_ANEW ": %s", strerror(-rc));
	wcs_fsck_found(f->fsck, WCS_FOUND_LEFTOVER, "left by a repair that did not come to its end",
		       may ? "removed" : NULL, DIRECTORY_ANEW);
	return 0;
}

/* torn-*, the ends that were cut from torn files (logfile.c), which are not damage for sure. */
static int fsck_torn(void *ctx, int store, const char *name)
{
	struct ldb_fsck *f = ctx;

	(void)store;
	if (strncmp(name, DIRECTORY_TORN, strlen(DIRECTORY_TORN)) == 0)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "what was cut from a log that ended in zeros; rm it unless changes "
			       "are missing",
			       NULL, "%s", name);
	return 0;
}

/* Writes the copy of the descriptions anew, behind a repair or if it is damaged. */
static int fsck_copy(struct ldb_fsck *f, bool repaired)
{
	bool may = f->copy_damaged && wcs_fsck_agreed(f->fsck);
	struct ldb *db;
	int rc = may ? wcs_fsck_keep(f->fsck) : 0;

	if (!rc && may) {
		rc = directory_remove(f->dir, DIRECTORY_TABLES);
		if (rc)
			wcs_fault_set(f->fsck->fault, rc, DIRECTORY_TABLES ": %s", strerror(-rc));
	}
	if (!rc && (may || repaired)) {
		rc = ldb_engine_open_raw(f->data, false, &fsck_options, &db, f->fsck->fault);
		if (!rc) {
			ldb_copy_write(db);
			ldb_engine_close_raw(db);
		}
	}
	if (!rc && f->copy_damaged)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
			       "the copy of the tables' descriptions is damaged",
			       may ? "made anew" : NULL, DIRECTORY_TABLES);
	return rc;
}

/* ---- Repair ------------------------------------------------------------------------------ */

static int fsck_fail(struct ldb_fsck *f, int rc)
{
	return wcs_fault_set(f->fsck->fault, rc, DIRECTORY_ANEW ": %s", strerror(-rc));
}

static int fsck_room(struct ldb_fsck *f)
{
	struct statvfs space;

	if (fstatvfs(f->dir, &space) != 0)
		return fsck_fail(f, directory_error(errno));
	if ((uint64_t)space.f_bavail * space.f_frsize >= f->live)
		return 0;
	return wcs_fault_set(f->fsck->fault, -ENOSPC,
			     "a repair copies up to %" PRIu64
			     " MiB, for which its medium has no room; make room and repair again",
			     (f->live >> 20) + 1);
}

static int fsck_build(struct ldb_fsck *f, const char *path)
{
	int rc = ldb_engine_open_raw(path, true, NULL, &f->to, f->fsck->fault);

	if (!rc)
		rc = ldb_fsck_files_tell(f);
	if (!rc)
		rc = ldb_fsck_judge(f);
	ldb_engine_close_raw(f->to);
	f->to = NULL;
	if (rc)
		return rc;
	rc = directory_sync(f->dir, DIRECTORY_ANEW);
	return rc ? fsck_fail(f, rc) : 0;
}

static void fsck_free(struct ldb_fsck *f)
{
	ldb_fsck_tables_free(f);
	ldb_fsck_cells_free(f);
	ldb_fsck_files_free(f);
	ldb_fsck_scratch_close(f);
	if (f->batch)
		leveldb_writebatch_destroy(f->batch);
}

/* Visits the files of the new database, which must be without a fault. */
static int fsck_verify(struct ldb_fsck *f, char *path)
{
	struct wcs_check_result result = {0};
	struct wcs_fsck fsck = *f->fsck;
	struct ldb_fsck made = {
		.fsck = &fsck, .mode = LDB_FSCK_VERIFY, .dir = f->dir, .data = path};
	int rc;

	fsck.result = &result;
	made.files.dir = -1;
	made.batch = leveldb_writebatch_create();
	rc = ldb_fsck_scratch_open(&made);
	if (!rc)
		rc = ldb_fsck_files(&made);
	if (!rc)
		rc = ldb_fsck_files_tell(&made);
	fsck_free(&made);
	return rc;
}

/* *unsure: a power cut may still undo it. */
static int fsck_exchange(struct ldb_fsck *f, bool *unsure)
{
	int rc = wcs_fsck_progress(f->fsck, "exchange", 0, 0);

	if (rc)
		return rc;
	if (renameat2(f->dir, DIRECTORY_ANEW, f->dir, DIRECTORY_DATA, RENAME_EXCHANGE))
		return wcs_fault_set(f->fsck->fault, -EIO,
				     DIRECTORY_ANEW " cannot change places with " DIRECTORY_DATA
						    ": %s%s",
				     strerror(errno),
				     errno == EINVAL ? ", since this filesystem cannot exchange "
						       "two directories; copy the store to another"
						     : "");
	*unsure = fsync(f->dir) != 0;
	return *unsure ? fsck_fail(f, -EIO) : 0;
}

static int fsck_repair(struct ldb_fsck *f)
{
	bool unsure = false;
	char *path = NULL;
	int rc = ldb_fsck_newer(f);

	f->mode = LDB_FSCK_BUILD;
	if (!rc)
		rc = fsck_left(f);
	if (!rc)
		rc = fsck_room(f);
	if (!rc)
		rc = wcs_fsck_keep(f->fsck);
	if (rc)
		return rc;
	if (asprintf(&path, "%s.new", f->data) < 0)
		return -ENOMEM;
	rc = fsck_build(f, path);
	if (!rc)
		rc = fsck_verify(f, path);
	if (!rc)
		rc = fsck_exchange(f, &unsure);
	free(path);
	if (!unsure)
		directory_remove(f->dir, DIRECTORY_ANEW);
	return rc ? rc : fsck_copy(f, true);
}

/* ---- The check --------------------------------------------------------------------------- */

static int fsck_look(struct ldb_fsck *f)
{
	int rc = ldb_fsck_scratch_open(f);

	if (!rc)
		rc = ldb_fsck_files(f);
	if (!rc)
		rc = directory_each(f->dir, fsck_torn, f);
	if (!rc)
		rc = ldb_fsck_files_tell(f);
	if (!rc && f->files.fault_count > 0) {
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "keys and values are not checked while files are damaged", NULL,
			       "data");
		return fsck_left(f);
	}
	if (!rc)
		rc = ldb_fsck_judge(f);
	if (!rc && f->pending > 0)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "deleted values whose space a mount reclaims", NULL,
			       "%" PRIu64 " value%s", f->pending, message_plural(f->pending));
	if (!rc)
		rc = fsck_left(f);
	return rc ? rc : fsck_copy(f, false);
}

/* A program other than rowfs may have LevelDB's own lock. */
int ldb_fsck_unused(const char *path, struct wcs_fault *fault)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char *name;
	bool used;
	int fd;

	if (asprintf(&name, "%s/" DIRECTORY_DATA "/LOCK", path) < 0)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	free(name);
	if (fd < 0) /* missing, or not readable for this user, and so not for LevelDB */
		return 0;
	used = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	if (!used)
		return 0;
	return wcs_fault_set(fault, -EBUSY,
			     "%s: in use by process %ld; unmount it or end that program",
			     directory_name(path), (long)lock.l_pid);
}

int ldb_fsck_store(const char *path, struct wcs_fsck *fsck)
{
	struct ldb_fsck f = {.fsck = fsck, .dir = fsck->store};
	int rc;

	ldb_replace_start(NULL);
	f.files.dir = -1;
	f.batch = leveldb_writebatch_create();
	if (asprintf(&f.data, "%s/" DIRECTORY_DATA, path) < 0)
		f.data = NULL;
	rc = f.data ? fsck_look(&f) : -ENOMEM;
	if (rc == LDB_FSCK_REPAIR)
		rc = fsck_repair(&f);
	fsck_free(&f);
	free(f.data);
	if (rc == -ENOMEM)
		wcs_fault_set(fsck->fault, rc, "no memory");
	return rc;
}
