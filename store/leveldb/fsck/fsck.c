/* SPDX-License-Identifier: MIT */
/*
 * Checks a LevelDB store: first its files, block by block; then the entries, which LevelDB reads
 * from a clone in $TMPDIR, where symbolic links stand for the tables. While a file is damaged,
 * entries are not judged: missing ones may be in that file. Nothing in the store is changed.
 *
 * A repair is made in a new database, STORE/data.new: a clone of data/ if its files are whole, else
 * the entries that can be read of them. Its entries are judged and corrected, while the store as it
 * was is cloned into the quarantine. When the new database is durable and its files have no fault,
 * it is exchanged with data/ in one step. A failure or a crash therefore leaves either the damaged
 * store or the new one; the next repair removes data.new.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/system/message.h"
#include "store/disk/directory.h"

#define FSCK_CACHE (4u << 20)
#define FSCK_LOGS  (16u << 20) /* bytes that LevelDB's logs take beside its tables */

/* Errors of LevelDB that are logged, which have no other text. */
static void fsck_log(void *ctx, enum wcs_log_level level, const char *text)
{
	struct ldb_fsck *f = ctx;

	if (level == WCS_LOG_ERROR)
		wcs_fault_set(f->fsck->fault, -EIO, "%s", text);
}

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

/* Writes the copy of the descriptions anew. */
static int fsck_copy(struct ldb_fsck *f)
{
	struct ldb *db;
	int rc;

	if (f->copy.next == 0) /* missing or damaged */
		directory_remove(f->dir, DIRECTORY_TABLES);
	rc = ldb_engine_open_raw(f->data, false, &f->options, &db, f->fsck->fault);
	if (rc)
		return rc;
	ldb_copy_write(db);
	ldb_engine_close_raw(db);
	return 0;
}

/* ---- What is judged ---------------------------------------------------------------------- */

/* Opens a clone of LevelDB's files, of that name below `path`. links: tables are symbolic links. */
static int fsck_clone(struct ldb_fsck *f, const char *path, const char *name, bool links)
{
	char *whole = links ? realpath(f->data, NULL) : NULL, *data = NULL;
	int rc = links && !whole ? -ENOMEM
				 : wcs_fsck_clone(f->fsck, path, whole, f->files.dir, name);

	if (!rc && asprintf(&data, "%s/%s", path, name) < 0)
		rc = -ENOMEM;
	if (!rc)
		rc = ldb_engine_open_raw(data, false, &f->options, &f->db, f->fsck->fault);
	free(data);
	free(whole);
	return rc;
}

/* Do the levels of all tables tell which of two entries is newer? Not if the MANIFEST is damaged or
 * made by LevelDB's own repair, or if it does not list one. */
static bool fsck_is_ordered(const struct ldb_fsck *f)
{
	bool ordered = f->files.whole && f->files.manifest.log_number != 0;

	for (size_t i = 0; i < f->files.list_count; i++)
		if (f->files.list[i].kind == LDB_FILE_TABLE)
			ordered &= ldb_files_is_used(&f->files, &f->files.list[i]);
	return ordered;
}

/* Writes the entries that can be read of the files to a new database. */
static int fsck_rebuild(struct ldb_fsck *f, const char *path)
{
	bool ordered = fsck_is_ordered(f);
	int rc = 0;

	f->to = f->sort;
	if (!ordered)
		rc = ldb_fsck_files_read(f, ldb_fsck_scratch_add);
	if (!rc)
		rc = ldb_engine_open_raw(path, true, &f->options, &f->db, f->fsck->fault);
	f->to = f->db;
	if (rc)
		return rc;
	return ordered ? ldb_fsck_files_read(f, ldb_fsck_scratch_pass) : ldb_fsck_scratch_copy(f);
}

static void fsck_close(struct ldb_fsck *f)
{
	ldb_engine_close_raw(f->db);
	f->db = f->to = NULL;
}

/* ---- Repair ------------------------------------------------------------------------------ */

static int fsck_fail(struct ldb_fsck *f, int rc)
{
	return wcs_fault_set(f->fsck->fault, rc, DIRECTORY_ANEW ": %s", strerror(-rc));
}

static int fsck_room(struct ldb_fsck *f, const char *path, uint64_t bytes)
{
	struct statvfs space;

	if (statvfs(path, &space) != 0)
		return fsck_fail(f, directory_error(errno));
	if ((uint64_t)space.f_bavail * space.f_frsize >= bytes)
		return 0;
	return wcs_fault_set(f->fsck->fault, -ENOSPC,
			     "%s: a repair takes up to %" PRIu64
			     " MiB, which that medium has no room for; make room and repair again",
			     directory_name(path), (bytes >> 20) + 1);
}

/* Is there room for the quarantine, the new database and the one that sorts its entries? LevelDB
 * takes twice the room of entries until it has compacted them. */
static int fsck_rooms(struct ldb_fsck *f)
{
	int beside =
		open(f->fsck->options->quarantine, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool links = linkat(f->dir, DIRECTORY_LOCK, beside, DIRECTORY_ANEW, 0) == 0;
	bool rebuilds = f->files.fault_count > 0;
	uint64_t copy = links ? 0 : f->files.bytes, twice = 2 * f->files.bytes + FSCK_LOGS;
	uint64_t need = copy + (rebuilds ? twice : copy + FSCK_LOGS);
	struct stat store, scratch;
	int rc = 0;

	if (links)
		unlinkat(beside, DIRECTORY_ANEW, 0);
	if (beside >= 0)
		close(beside);
	if (rebuilds && !fsck_is_ordered(f)) {
		if (stat(f->data, &store) == 0 && stat(f->scratch, &scratch) == 0 &&
		    store.st_dev == scratch.st_dev)
			need += twice;
		rc = fsck_room(f, f->scratch, twice);
	}
	return rc ? rc : fsck_room(f, f->data, need);
}

/* Makes the new database in the store of that path. The quarantine is made once it is known that
 * no newer program wrote the store. */
static int fsck_build(struct ldb_fsck *f, const char *store, const char *path)
{
	int rc = f->files.fault_count > 0 ? fsck_rebuild(f, path)
					  : fsck_clone(f, store, DIRECTORY_ANEW, false);

	f->to = f->db;
	if (!rc)
		rc = ldb_fsck_tables_read(f);
	if (!rc)
		rc = wcs_fsck_keep(f->fsck);
	if (!rc)
		rc = ldb_fsck_files_tell(f);
	if (!rc)
		ldb_fsck_lost_tell(f);
	if (!rc)
		rc = ldb_fsck_judge(f);
	fsck_close(f);
	if (rc)
		return rc;
	rc = directory_sync(f->dir, DIRECTORY_ANEW);
	return rc ? fsck_fail(f, rc) : 0;
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

static int fsck_repair(struct ldb_fsck *f, const char *store)
{
	bool unsure = false;
	char *path = NULL;
	int rc;

	f->repairs = true;
	rc = fsck_left(f);
	if (!rc)
		rc = fsck_rooms(f);
	if (rc)
		return rc;
	if (asprintf(&path, "%s.new", f->data) < 0)
		return -ENOMEM;
	rc = fsck_build(f, store, path);
	if (!rc)
		rc = ldb_fsck_files_verify(f, path);
	if (!rc)
		rc = fsck_exchange(f, &unsure);
	free(path);
	if (!unsure)
		directory_remove(f->dir, DIRECTORY_ANEW);
	if (rc && !unsure)
		wcs_fsck_drop(f->fsck);
	return rc ? rc : fsck_copy(f);
}

/* ---- The check --------------------------------------------------------------------------- */

static int fsck_entries(struct ldb_fsck *f)
{
	int rc = fsck_clone(f, f->scratch, DIRECTORY_DATA, true);

	if (!rc)
		rc = ldb_fsck_tables_read(f);
	if (!rc)
		rc = ldb_fsck_judge(f);
	fsck_close(f);
	if (!rc && f->pending > 0)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "deleted values whose space a mount reclaims", NULL,
			       "%" PRIu64 " value%s", f->pending, message_plural(f->pending));
	return rc;
}

static int fsck_look(struct ldb_fsck *f)
{
	bool damaged;
	int rc = ldb_fsck_scratch_open(f);

	if (!rc)
		rc = ldb_fsck_files(f);
	if (!rc)
		rc = directory_each(f->dir, fsck_torn, f);
	if (!rc)
		rc = ldb_fsck_files_tell(f);
	damaged = f->files.fault_count > 0;
	if (!rc && damaged)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "keys and values are not checked while files are damaged", NULL,
			       "data");
	if (!rc && !damaged)
		rc = fsck_entries(f);
	return rc ? rc : fsck_left(f);
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

static void fsck_free(struct ldb_fsck *f)
{
	ldb_fsck_tables_free(f);
	ldb_fsck_cells_free(f);
	ldb_fsck_lost_free(f);
	ldb_files_close(&f->files);
	ldb_fsck_scratch_close(f);
	leveldb_writebatch_destroy(f->batch);
	free(f->key.data);
	free(f->data);
}

int ldb_fsck_store(const char *path, struct wcs_fsck *fsck)
{
	struct ldb_fsck f = {.fsck = fsck, .dir = fsck->store, .files.dir = -1};
	int rc;

	ldb_replace_start(NULL);
	f.options = (struct wcs_options){.log = fsck_log, .log_ctx = &f, .cache_bytes = FSCK_CACHE};
	f.batch = leveldb_writebatch_create();
	if (asprintf(&f.data, "%s/" DIRECTORY_DATA, path) < 0)
		f.data = NULL;
	rc = f.data ? fsck_look(&f) : -ENOMEM;
	if (rc == LDB_FSCK_REPAIR)
		rc = fsck_repair(&f, path);
	fsck_free(&f);
	if (rc == -ENOMEM)
		wcs_fault_set(fsck->fault, rc, "no memory");
	return rc;
}
