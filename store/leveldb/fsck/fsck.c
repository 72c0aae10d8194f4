/* SPDX-License-Identifier: MIT */
/*
 * Checks a LevelDB store: first its files, block by block; then the key spaces, tables first, since
 * the others depend on them. While a file is damaged, keys are not checked: missing ones may be in
 * that file.
 *
 * A check without repair opens a view of the files (fsck_scratch.c), a repair the store itself.
 * Drops that a crash interrupted are finished by opening the store as a mount does.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

const struct wcs_options ldb_fsck_options = {.log = fsck_log, .now = fsck_now};

static void fsck_close(struct ldb_fsck *f)
{
	ldb_engine_close_raw(f->db);
	ldb_engine_close_raw(f->index);
	f->db = f->index = NULL;
}

/* ---- Beside data/ ------------------------------------------------------------------------ */

/* data.new, left by a rebuild that was interrupted. */
static int fsck_left(struct ldb_fsck *f)
{
	bool may;
	int rc;

	if (faccessat(f->dir, DIRECTORY_ANEW, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	may = wcs_fsck_agreed_one(f->fsck,
				  "A repair that did not come to its end left " DIRECTORY_ANEW
				  ". Remove it?");
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
	char done[128];
	bool may;
	int rc = 0;

	if (strncmp(name, DIRECTORY_TORN, strlen(DIRECTORY_TORN)) != 0)
		return 0;
	may = wcs_fsck_agreed_one(
		f->fsck, "There is what was cut from a log that ended in zeros. Move it to the "
			 "quarantine?");
	if (may)
		rc = wcs_quarantine_file(f->fsck->quarantine, store, name);
	if (rc)
		return rc;
	if (may && unlinkat(store, name, 0))
		return wcs_fault_set(f->fsck->fault, directory_error(errno), "%s: %s", name,
				     strerror(errno));
	snprintf(done, sizeof(done), "moved to the quarantine, files/%.80s", name);
	wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, "what was cut from a log that ended in zeros",
		       may ? done : NULL, "%s", name);
	return 0;
}

/* ---- data/ ------------------------------------------------------------------------------- */

static int fsck_open_at(struct ldb_fsck *f)
{
	char *view = f->fsck->options->repair ? strdup(f->data) : ldb_fsck_scratch_path(f, "view");
	int rc = view ? ldb_engine_open_raw(view, false, &ldb_fsck_options, &f->db, f->fsck->fault)
		      : -ENOMEM;

	free(view);
	return rc;
}

/* LevelDB may find damage in files that are good one by one. */
static int fsck_open(struct ldb_fsck *f)
{
	static const char damaged[] = "Corruption:";
	char why[sizeof(f->fsck->fault->text)];
	int rc = fsck_open_at(f);
	bool rebuild;

	if (rc != -EIO || strncmp(f->fsck->fault->text, damaged, strlen(damaged)) != 0)
		return rc;
	memcpy(why, f->fsck->fault->text, sizeof(why));
	rebuild = ldb_fsck_may_rebuild(f);
	rc = rebuild ? ldb_fsck_rebuild(f) : 0;
	wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, why, rebuild && !rc ? LDB_FSCK_REBUILT : NULL,
		       "data");
	if (rc)
		return rc;
	f->unreadable = !rebuild;
	return rebuild ? fsck_open_at(f) : 0;
}

static int fsck_keys(struct ldb_fsck *f)
{
	static int (*const passes[])(struct ldb_fsck * f) = {
		ldb_fsck_drops,	 ldb_fsck_index,    ldb_fsck_cells, ldb_fsck_values,
		ldb_fsck_others, ldb_fsck_counters, ldb_fsck_flush};
	int rc = ldb_fsck_tables(f);

	if (!rc)
		ldb_fsck_tell_lost(f);
	for (size_t i = 0; !rc && i < sizeof(passes) / sizeof(passes[0]); i++)
		rc = passes[i](f);
	if (!rc && f->fsck->options->repair && f->fsck->answers[WCS_ASK_KEYS] >= 0)
		ldb_copy_write(f->db);
	return rc;
}

static int fsck_run(struct ldb_fsck *f, const char *path)
{
	int rc = fsck_left(f);
	void *db;

	if (!rc)
		rc = ldb_fsck_files(f);
	if (!rc && !f->unreadable)
		rc = ldb_fsck_scratch(f, !f->fsck->options->repair);
	if (!rc && !f->unreadable)
		rc = fsck_open(f);
	if (rc)
		return rc;
	if (f->unreadable) {
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "keys and values are not checked while files are damaged", NULL,
			       "data");
		return 0;
	}
	rc = ldb_fsck_each_name(f, f->dir, f->store, fsck_torn);
	if (!rc)
		rc = fsck_keys(f);
	f->fsck->result->counted = rc == 0;
	fsck_close(f);
	if (!rc && f->pending > 0)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "deleted values whose space a mount reclaims", NULL,
			       "%" PRIu64 " value%s", f->pending, message_plural(f->pending));
	if (rc || !f->unfinished)
		return rc;
	rc = ldb_engine_open(path, &ldb_fsck_options, &db, f->fsck->fault); /* finishes the drops */
	if (!rc)
		ldb_engine_close(db);
	return rc;
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
	struct ldb_fsck f = {.fsck = fsck, .store = path};
	int rc = 0;

	f.dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	f.read = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(f.read, 1);
	leveldb_readoptions_set_fill_cache(f.read, 0);
	f.batch = leveldb_writebatch_create();
	if (f.dir < 0)
		rc = wcs_fault_set(fsck->fault, -EIO, "%s: %s", directory_name(path),
				   strerror(errno));
	else if (asprintf(&f.data, "%s/" DIRECTORY_DATA, path) < 0) {
		f.data = NULL;
		rc = -ENOMEM;
	}
	if (!rc)
		rc = fsck_run(&f, path);
	fsck_close(&f);
	ldb_fsck_scratch_remove(&f);
	for (size_t i = 0; i < f.table_count; i++)
		ldb_record_table_clear(&f.tables[i].schema);
	free(f.tables);
	ldb_fsck_lost_free(&f);
	ldb_copy_free(&f.copy);
	free(f.data);
	if (f.dir >= 0)
		close(f.dir);
	leveldb_readoptions_destroy(f.read);
	leveldb_writebatch_destroy(f.batch);
	if (rc == -ENOMEM)
		wcs_fault_set(fsck->fault, rc, "no memory");
	return rc;
}
