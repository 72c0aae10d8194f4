/* SPDX-License-Identifier: MIT */
/*
 * A store made anew of all tables and logs that there are, where nothing says which are in use.
 *
 * It is made in STORE/data.new, while data/ stays as it is, all of which is in the quarantine
 * before:
 *
 * - Its tables are links to the good ones, and what can be read of the others; its logs have the
 *   good records of each. A MANIFEST names all the tables, on level 0, and takes all logs.
 * - LevelDB opens that, which makes tables of the logs, and merges all there is. Of each key that
 *   leaves what has the highest sequence number, in whichever table it was: so nothing old can lie
 *   above something newer, as among tables whose age nobody knows.
 * - It is read to its last block, made durable, and changes places with data/ in one step.
 *
 * So whatever fails, or stops it, leaves the damaged store, which is refused as before, or the new
 * one, merged. What then is left in data.new is the one or the other without worth, and goes with
 * the next check that may repair. LevelDB's own repair has none of this: it works in place, says
 * that all is well where it could not write a table of a log, and leaves the merging for later.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"

struct anew {
	struct ldb_fsck *f;
	struct ldb_files files;	 /* those that there are */
	int store;		 /* the store's directory */
	int to;			 /* the new one in it */
	uint64_t logs;		 /* bytes of all logs */
	bool unsure;		 /* which of the two is data/ after a power cut */
	enum ldb_file_kind kind; /* of the files that are read now */
	struct ldb_manifest made;
};

static int anew_fail(struct anew *anew, const char *name, int err)
{
	return wcs_fault_set(anew->f->fsck->fault, err, DIRECTORY_ANEW "%s%s: %s", *name ? "/" : "",
			     name, strerror(-err));
}

static int anew_progress(struct anew *anew, uint64_t bytes)
{
	anew->files.bytes += bytes;
	return wcs_fsck_progress(anew->f->fsck, "making anew", anew->files.bytes, anew->files.all);
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Of one table's visit. */
struct anew_table {
	struct anew *anew;
	struct ldb_buffer smallest, largest;
	uint64_t entries, damages;
	int err;
};

static void anew_table_damaged(void *ctx, uint64_t offset, const char *what)
{
	struct anew_table *table = ctx;

	(void)offset;
	(void)what;
	table->damages++;
}

static int anew_table_entry(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct anew_table *table = ctx;
	struct anew *anew = table->anew;
	uint64_t sequence = ldb_internal_tag(key) >> 8;

	(void)value;
	if (table->entries++ == 0)
		table->err = ldb_buffer_set(&table->smallest, key);
	if (!table->err)
		table->err = ldb_buffer_set(&table->largest, key);
	if (sequence > anew->made.sequence)
		anew->made.sequence = sequence;
	return table->err != 0;
}

static int anew_table_progress(void *ctx, uint64_t bytes)
{
	struct anew_table *table = ctx;

	table->err = anew_progress(table->anew, bytes);
	return table->err != 0;
}

/* Looks at all of it. */
static int anew_visit(struct anew_table *table, int fd, uint64_t size)
{
	struct ldb_tablefile_visit visit = {.damaged = anew_table_damaged,
					    .entry = anew_table_entry,
					    .progress = anew_table_progress,
					    .ctx = table};
	int err = ldb_tablefile_visit(fd, size, &visit);

	return err > 0 ? table->err : err;
}

/* A link to a good table; else, or where there can be none, another with its entries. */
static int anew_put_table(struct anew *anew, int fd, const char *name, uint64_t size, bool good,
			  const struct ldb_manifest_table *known, struct ldb_manifest_table *by)
{
	struct ldb_fsck_salvage salvage = {.f = anew->f, .known = known, .dir = anew->to, .by = by};
	char linked[LDB_FILE_NAME_MAX];
	int err;

	ldb_file_name(linked, LDB_FILE_TABLE, by->number);
	by->size = size;
	if (good && linkat(anew->files.dir, name, anew->to, linked, 0) == 0)
		return ldb_manifest_add(&anew->made, by);
	err = ldb_fsck_salvage_table(&salvage, fd, size);
	if (!err && by->size > 0)
		err = ldb_manifest_add(&anew->made, by);
	ldb_tablefile_writer_free(salvage.writer);
	free(salvage.last.data);
	return err;
}

static int anew_read_table(struct anew *anew, int fd, const char *name, uint64_t number)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&anew->files.manifest, number);
	struct anew_table table = {.anew = anew};
	struct ldb_manifest_table by = {.number = number};
	struct stat st;
	uint64_t size;
	int err;

	if (fstat(fd, &st) != 0)
		return -EIO;
	size = (uint64_t)st.st_size;
	err = anew_visit(&table, fd, size);
	if (!err && table.damages > 0 && known && size > known->size) {
		size = known->size; /* it grew, or is another, damaged */
		table.entries = table.damages = 0;
		err = anew_visit(&table, fd, size);
	}
	by.smallest = ldb_buffer_slice(&table.smallest);
	by.largest = ldb_buffer_slice(&table.largest);
	if (ldb_manifest_find(&anew->made,
			      number)) /* there were two of that number, .ldb and .sst */
		by.number = ++anew->files.largest;
	if (!err && table.entries > 0)
		err = anew_put_table(anew, fd, name, size,
				     table.damages == 0 && size == (uint64_t)st.st_size, known,
				     &by);
	else if (!err && table.damages > 0)
		err = ldb_fsck_lose(anew->f, name, by.smallest, by.largest);
	free(table.smallest.data);
	free(table.largest.data);
	return err;
}

/* ---- Logs -------------------------------------------------------------------------------- */

static int anew_read_log(struct anew *anew, int from, const char *name)
{
	int to = openat(anew->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	uint64_t records = 0;
	struct stat st;
	int err;

	if (to < 0)
		return ldb_file_errno();
	err = ldb_fsck_salvage_log(from, to, anew->made.sequence, &records);
	close(to);
	if (!err && fstat(from, &st) == 0)
		err = anew_progress(anew, (uint64_t)st.st_size);
	return err;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int anew_file(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct anew *anew = ctx;
	int fd, err;

	if (kind != anew->kind || !ldb_file_is_number(number))
		return 0;
	fd = openat(anew->files.dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return anew_fail(anew, name, -EIO);
	err = kind == LDB_FILE_TABLE ? anew_read_table(anew, fd, name, number)
				     : anew_read_log(anew, fd, name);
	close(fd);
	return err && err != -ECANCELED ? anew_fail(anew, name, err) : err;
}

/* The directory, before LevelDB opens it. */
static int anew_fill(struct anew *anew)
{
	struct ldb_manifest *made = &anew->made;
	int err = 0;

	if (mkdirat(anew->store, DIRECTORY_ANEW, 0700))
		return anew_fail(anew, "", ldb_file_errno());
	anew->to = openat(anew->store, DIRECTORY_ANEW,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (anew->to < 0)
		return anew_fail(anew, "", -EIO);
	anew->kind = LDB_FILE_TABLE;
	err = ldb_files_each(&anew->files, anew_file, anew);
	anew->kind = LDB_FILE_LOG; /* a wrong sequence number there gives way to one behind these */
	if (!err)
		err = ldb_files_each(&anew->files, anew_file, anew);
	if (err)
		return err;
	made->next_file = anew->files.largest + 2; /* behind the MANIFEST's own number */
	if (made->next_file < anew->files.manifest.next_file)
		made->next_file = anew->files.manifest.next_file;
	ldb_file_name(made->name, LDB_FILE_MANIFEST, made->next_file - 1);
	err = ldb_manifest_write(anew->to, made);
	if (!err)
		err = ldb_manifest_set_current(anew->to, made->name);
	return err ? anew_fail(anew, made->name, err) : 0;
}

/* LevelDB's call to merge says nothing; but no write succeeds behind what failed in it. */
static int anew_merge(struct anew *anew, const char *path)
{
	leveldb_writebatch_t *nothing = anew->f->batch;
	struct ldb *db = NULL;
	char *text = NULL;
	int err = wcs_fsck_progress(anew->f->fsck, "compaction", 0, 0);

	if (!err)
		err = ldb_engine_open_raw(path, false, &ldb_fsck_options, &db,
					  anew->f->fsck->fault);
	if (err)
		return err;
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
	leveldb_writebatch_clear(nothing);
	leveldb_write(db->db, db->write, nothing, &text);
	if (text)
		err = wcs_fault_set(anew->f->fsck->fault, ldb_db_errno(text), "%s", text);
	leveldb_free(text);
	ldb_engine_close_raw(db);
	return err;
}

/* Is it what it should be: every file good, and none on level 0, where any could lie above any? */
static int anew_check(struct anew *anew, const char *path)
{
	struct wcs_fault *fault = anew->f->fsck->fault;
	struct ldb_files files;
	int err = ldb_files_open(path, &files, fault);

	if (err)
		return err;
	err = ldb_files_logs(&files);
	if (!err)
		err = ldb_files_tables(&files);
	if (err)
		anew_fail(anew, "", err);
	else if (files.fault_count > 0)
		err = wcs_fault_set(fault, -EIO, DIRECTORY_ANEW "/%s: %s", files.faults[0].name,
				    files.faults[0].what);
	for (size_t i = 0; !err && i < files.manifest.count; i++)
		if (files.manifest.tables[i].level == 0)
			err = wcs_fault_set(fault, -EIO, DIRECTORY_ANEW ": not all was merged");
	ldb_files_close(&files);
	return err;
}

static int anew_change_places(struct anew *anew)
{
	int err = directory_sync(anew->store, DIRECTORY_ANEW);

	if (!err)
		err = wcs_fsck_progress(anew->f->fsck, "compaction", 0, 0);
	if (err)
		return err == -ECANCELED ? err : anew_fail(anew, "", err);
	if (renameat2(anew->store, DIRECTORY_ANEW, anew->store, DIRECTORY_DATA, RENAME_EXCHANGE))
		return wcs_fault_set(anew->f->fsck->fault, -EIO,
				     DIRECTORY_ANEW " cannot change places with " DIRECTORY_DATA
						    ": %s%s",
				     strerror(errno),
				     errno == EINVAL ? ", since this filesystem cannot exchange "
						       "two directories; copy the store to another"
						     : "");
	anew->unsure = fsync(anew->store) != 0;
	return anew->unsure ? anew_fail(anew, "", -EIO) : 0;
}

static int anew_measure(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct anew *anew = ctx;
	struct stat st;

	(void)number;
	if (kind == LDB_FILE_LOG && fstatat(anew->files.dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		anew->logs += (uint64_t)st.st_size;
	return 0;
}

/* Room is asked for the copy and for all that is made: logs, tables of them, the merged tables. */
static int anew_copy_store(struct anew *anew)
{
	int err = ldb_files_each(&anew->files, anew_measure, anew);

	if (err)
		return anew_fail(anew, "", err);
	return wcs_quarantine_store(anew->f->fsck->quarantine, anew->f->store,
				    anew->files.all + 2 * anew->logs);
}

static int anew_run(struct anew *anew)
{
	char *path = NULL;
	int err = anew_copy_store(anew);

	if (err)
		return err;
	if (asprintf(&path, "%s/" DIRECTORY_ANEW, anew->f->store) < 0)
		return -ENOMEM;
	err = anew_fill(anew);
	if (!err)
		err = anew_merge(anew, path);
	if (!err)
		err = anew_check(anew, path);
	if (!err)
		err = anew_change_places(anew);
	free(path);
	if (anew->to >= 0 && !anew->unsure)
		directory_remove(anew->store, DIRECTORY_ANEW);
	return err;
}

int ldb_fsck_anew(struct ldb_fsck *f)
{
	struct anew anew = {.f = f, .store = -1, .to = -1};
	int err = ldb_files_open(f->data, &anew.files, f->fsck->fault);

	if (err)
		return err;
	anew.store = open(f->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = anew.store < 0 ? anew_fail(&anew, "", -EIO) : anew_run(&anew);
	if (anew.to >= 0)
		close(anew.to);
	if (anew.store >= 0)
		close(anew.store);
	ldb_manifest_free(&anew.made);
	ldb_files_close(&anew.files);
	return err;
}
