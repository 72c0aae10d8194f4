/* SPDX-License-Identifier: MIT */
/*
 * Rebuilds a store from all its tables and logs, when nothing says which are in use.
 *
 * The new files are made in STORE/data.new, while data/ stays as it is; all of data/ is copied to
 * the quarantine before.
 *
 * - Good tables are linked there; damaged ones are salvaged, and so are the logs. A MANIFEST names
 *   all tables on level 0, and all logs are in use.
 * - LevelDB opens data.new, writes tables of the logs, and compacts everything. For each key that
 *   keeps the entry with the highest sequence number, whichever table had it. Without that an old
 *   entry could lie above a newer one, since the age of the tables is not known.
 * - All blocks are read, everything is synced, and data.new is exchanged with data/ in one step.
 *
 * A failure or a crash therefore leaves either the damaged store, which is refused as before, or
 * the new one. The next repair removes data.new. LevelDB's own repair works in place, succeeds even
 * if it could not write the table of a log, and leaves the merging for later.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/directory.h"

struct rebuild {
	struct ldb_fsck *f;
	struct ldb_files files;	   /* the old ones */
	int to;			   /* the new directory in it */
	bool unsure;		   /* a power cut may still undo the exchange */
	struct ldb_manifest built; /* of the new files */
};

static int rebuild_fail(struct rebuild *rebuild, const char *name, int error)
{
	return wcs_fault_set(rebuild->f->fsck->fault, error, DIRECTORY_ANEW "%s%s: %s",
			     *name ? "/" : "", name, strerror(-error));
}

static int rebuild_progress(void *ctx, uint64_t done, uint64_t total)
{
	return wcs_fsck_progress(((struct ldb_fsck *)ctx)->fsck, "rebuilding", done, total);
}

/* ---- Files ------------------------------------------------------------------------------- */

/* Links a good table; salvages a damaged one, or one that cannot be linked. Leaves out one that has
 * the name of a table in the MANIFEST but is none of those: it may be another store's. */
static int rebuild_table(struct rebuild *rebuild, int fd, const char *name, uint64_t number,
			 uint64_t size)
{
	char linked[LDB_FILE_NAME_MAX];
	struct ldb_files_table found = {.number = number, .size = size};
	struct ldb_manifest_table by = {.number = number, .size = size};
	struct ldb_fsck_salvage salvage = {
		.f = rebuild->f, .dir = rebuild->to, .name = linked, .by = &by};
	const struct ldb_manifest *old = &rebuild->files.manifest;
	const struct ldb_manifest_table *known = ldb_manifest_find(old, number);
	int rc = ldb_files_read_table(&rebuild->files, fd, &found);
	bool ours = !known || !ldb_files_is_another(&found, known);

	by.smallest = ldb_buffer_slice(&found.smallest);
	by.largest = ldb_buffer_slice(&found.largest);
	for (size_t i = 0; !ours && i < old->count; i++)
		ours = ldb_files_is(&found, &old->tables[i]);
	if (ldb_manifest_find(&rebuild->built, number)) /* two spellings of one number */
		by.number = ++rebuild->files.largest;
	ldb_file_name(linked, LDB_FILE_TABLE, by.number);
	if (!rc && by.smallest.len == 0 && found.damages > 0) {
		rc = ldb_fsck_lose(rebuild->f, name, by.smallest, by.largest);
	} else if (!rc && by.smallest.len > 0 && ours) {
		if (found.damages > 0 ||
		    linkat(rebuild->files.dir, name, rebuild->to, linked, 0) != 0)
			rc = ldb_fsck_salvage_table(&salvage, fd, size);
		if (found.sequence > rebuild->built.sequence)
			rebuild->built.sequence = found.sequence;
		if (!rc && by.size > 0)
			rc = ldb_manifest_add(&rebuild->built, &by);
	}
	ldb_tablefile_writer_free(&salvage.writer);
	free(found.smallest.data);
	free(found.largest.data);
	return rc;
}

static int rebuild_log(struct rebuild *rebuild, int from, const char *name, uint64_t size)
{
	int to = openat(rebuild->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;
	uint64_t records = 0;

	if (to < 0)
		return ldb_file_errno();
	rc = ldb_fsck_salvage_log(from, to, &records);
	close(to);
	rebuild->files.bytes += size;
	return rc ? rc : rebuild_progress(rebuild->f, rebuild->files.bytes, rebuild->files.all);
}

static int rebuild_file(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct rebuild *rebuild = ctx;
	struct stat st;
	int fd, rc = -EIO;

	if ((kind != LDB_FILE_TABLE && kind != LDB_FILE_LOG) || !ldb_file_is_number(number))
		return 0;
	fd = openat(rebuild->files.dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return rebuild_fail(rebuild, name, -EIO);
	if (fstat(fd, &st) == 0)
		rc = kind == LDB_FILE_TABLE
			     ? rebuild_table(rebuild, fd, name, number, (uint64_t)st.st_size)
			     : rebuild_log(rebuild, fd, name, (uint64_t)st.st_size);
	close(fd);
	return rc && rc != -ECANCELED ? rebuild_fail(rebuild, name, rc) : rc;
}

/* ---- The new directory ------------------------------------------------------------------- */

/* Makes all that LevelDB needs to open it. */
static int rebuild_fill(struct rebuild *rebuild)
{
	struct ldb_manifest *built = &rebuild->built;
	int rc;

	if (mkdirat(rebuild->f->dir, DIRECTORY_ANEW, 0700))
		return rebuild_fail(rebuild, "", ldb_file_errno());
	rebuild->to = openat(rebuild->f->dir, DIRECTORY_ANEW,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rebuild->to < 0)
		return rebuild_fail(rebuild, "", -EIO);
	rc = ldb_files_each(&rebuild->files, rebuild_file, rebuild);
	if (rc)
		return rc;
	built->next_file = rebuild->files.largest + 2; /* behind the MANIFEST's own number */
	if (built->next_file < rebuild->files.manifest.next_file)
		built->next_file = rebuild->files.manifest.next_file;
	ldb_file_name(built->name, LDB_FILE_MANIFEST, built->next_file - 1);
	rc = ldb_manifest_write(rebuild->to, built);
	if (!rc)
		rc = ldb_manifest_set_current(rebuild->to, built->name);
	return rc ? rebuild_fail(rebuild, built->name, rc) : 0;
}

/* LevelDB's call for a compaction returns no error, but after a failed one no write succeeds. */
static int rebuild_compact(struct rebuild *rebuild, const char *path)
{
	leveldb_writebatch_t *empty = rebuild->f->batch;
	struct ldb *db = NULL;
	char *text = NULL;
	int rc = wcs_fsck_progress(rebuild->f->fsck, "compaction", 0, 0);

	if (!rc)
		rc = ldb_engine_open_raw(path, false, &ldb_fsck_options, &db,
					 rebuild->f->fsck->fault);
	if (rc)
		return rc;
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
	leveldb_writebatch_clear(empty);
	leveldb_write(db->db, db->write, empty, &text);
	if (text)
		rc = ldb_db_tell(db, text, rebuild->f->fsck->fault);
	ldb_engine_close_raw(db);
	return rc;
}

/* Every file must be good, and no table on level 0. */
static int rebuild_check(struct rebuild *rebuild, const char *path)
{
	struct wcs_fault *fault = rebuild->f->fsck->fault;
	struct ldb_files files;
	int rc = ldb_files_open(path, &files, fault);

	if (rc)
		return rc;
	rc = ldb_files_logs(&files);
	if (!rc)
		rc = ldb_files_tables(&files, NULL);
	if (rc)
		rebuild_fail(rebuild, "", rc);
	else if (files.fault_count > 0)
		rc = wcs_fault_set(fault, -EIO, DIRECTORY_ANEW "/%s: %s", files.faults[0].name,
				   files.faults[0].what);
	for (size_t i = 0; !rc && i < files.manifest.count; i++)
		if (files.manifest.tables[i].level == 0)
			rc = wcs_fault_set(fault, -EIO, DIRECTORY_ANEW ": not all was merged");
	ldb_files_close(&files);
	return rc;
}

static int rebuild_exchange(struct rebuild *rebuild)
{
	int rc = directory_sync(rebuild->f->dir, DIRECTORY_ANEW);

	if (!rc)
		rc = wcs_fsck_progress(rebuild->f->fsck, "compaction", 0, 0);
	if (rc)
		return rc == -ECANCELED ? rc : rebuild_fail(rebuild, "", rc);
	if (renameat2(rebuild->f->dir, DIRECTORY_ANEW, rebuild->f->dir, DIRECTORY_DATA,
		      RENAME_EXCHANGE))
		return wcs_fault_set(rebuild->f->fsck->fault, -EIO,
				     DIRECTORY_ANEW " cannot change places with " DIRECTORY_DATA
						    ": %s%s",
				     strerror(errno),
				     errno == EINVAL ? ", since this filesystem cannot exchange "
						       "two directories; copy the store to another"
						     : "");
	rebuild->unsure = fsync(rebuild->f->dir) != 0;
	return rebuild->unsure ? rebuild_fail(rebuild, "", -EIO) : 0;
}

/* The tables are linked; the compaction needs as much room again as they take. */
int ldb_fsck_rebuild(struct ldb_fsck *f)
{
	struct rebuild rebuild = {.f = f, .to = -1};
	char *path = NULL;
	int rc = ldb_files_open(f->data, &rebuild.files, f->fsck->fault);

	if (rc)
		return rc;
	rebuild.files.progress = rebuild_progress;
	rebuild.files.ctx = f;
	rc = wcs_quarantine_store(f->fsck->quarantine, f->store, rebuild.files.all);
	if (!rc && asprintf(&path, "%s/" DIRECTORY_ANEW, f->store) < 0) {
		path = NULL;
		rc = -ENOMEM;
	}
	if (!rc)
		rc = rebuild_fill(&rebuild);
	if (!rc)
		rc = rebuild_compact(&rebuild, path);
	if (!rc)
		rc = rebuild_check(&rebuild, path);
	if (!rc)
		rc = rebuild_exchange(&rebuild);
	free(path);
	if (rebuild.to >= 0 && !rebuild.unsure)
		directory_remove(f->dir, DIRECTORY_ANEW);
	if (rebuild.to >= 0)
		close(rebuild.to);
	ldb_manifest_free(&rebuild.built);
	ldb_files_close(&rebuild.files);
	return rc;
}
