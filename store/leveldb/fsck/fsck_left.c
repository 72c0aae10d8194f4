/* SPDX-License-Identifier: MIT */
/*
 * What is beside data/: a store that was being made anew (fsck_anew.c) when something stopped that,
 * and what was cut from logs whose end was torn (logfile.c), which is no damage for sure. And the
 * copy of the tables' descriptions (copy.c).
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/disk/directory.h"

static int left_open(struct ldb_fsck *f, int *store)
{
	*store = open(f->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *store >= 0 ? 0
			   : wcs_fault_set(f->fsck->fault, -EIO, "%s: %s", directory_name(f->store),
					   strerror(errno));
}

static int left_anew(struct ldb_fsck *f, int store)
{
	bool may = wcs_fsck_agreed_one(f->fsck,
				       "A repair that did not come to its end left " DIRECTORY_ANEW
				       ". Remove it?");
	int err = may ? directory_remove(store, DIRECTORY_ANEW) : 0;

	if (err)
		return wcs_fault_set(f->fsck->fault, err, DIRECTORY_ANEW ": %s", strerror(-err));
	wcs_fsck_found(f->fsck, WCS_FOUND_LEFTOVER, "left by a repair that did not come to its end",
		       may ? "removed" : NULL, DIRECTORY_ANEW);
	return 0;
}

int ldb_fsck_left(struct ldb_fsck *f)
{
	int store, err = left_open(f, &store);

	if (err)
		return err;
	if (faccessat(store, DIRECTORY_ANEW, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = left_anew(f, store);
	close(store);
	return err;
}

struct left_torn {
	struct ldb_fsck *f;
	int failed; /* what was wrong with a file, and is told */
};

static int left_torn_file(struct ldb_fsck *f, int store, const char *name)
{
	char done[128];
	bool may;
	int err = 0;

	if (strncmp(name, DIRECTORY_TORN, strlen(DIRECTORY_TORN)) != 0)
		return 0;
	may = wcs_fsck_agreed_one(
		f->fsck, "There is what was cut from a log that ended in zeros. Move it to the "
			 "quarantine?");
	if (may)
		err = wcs_quarantine_file(f->fsck->quarantine, store, name);
	if (err)
		return err;
	if (may && unlinkat(store, name, 0))
		return wcs_fault_set(f->fsck->fault, directory_error(errno), "%s: %s", name,
				     strerror(errno));
	snprintf(done, sizeof(done), "moved to the quarantine, files/%.80s", name);
	wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, "what was cut from a log that ended in zeros",
		       may ? done : NULL, "%s", name);
	return 0;
}

static int left_torn_entry(void *ctx, int store, const char *name)
{
	struct left_torn *torn = ctx;

	torn->failed = left_torn_file(torn->f, store, name);
	return torn->failed;
}

int ldb_fsck_torn(struct ldb_fsck *f)
{
	struct left_torn torn = {.f = f};
	int store, err = left_open(f, &store);

	if (err)
		return err;
	err = directory_each(store, left_torn_entry, &torn);
	close(store);
	if (err && !torn.failed)
		wcs_fault_set(f->fsck->fault, err, "%s: %s", directory_name(f->store),
			      strerror(-err));
	return err;
}

static int left_clear_copy(struct ldb_fsck *f, int store)
{
	int err = wcs_quarantine_directory(f->fsck->quarantine, store, DIRECTORY_TABLES);

	if (err)
		return err;
	err = directory_remove(store, DIRECTORY_TABLES);
	return err ? wcs_fault_set(f->fsck->fault, err, DIRECTORY_TABLES ": %s", strerror(-err))
		   : 0;
}

/* A damaged one is made anew when all is read (fsck.c). */
int ldb_fsck_read_copy(struct ldb_fsck *f)
{
	int store, err = left_open(f, &store);
	bool may;

	if (err)
		return err;
	err = ldb_copy_read(store, &f->copy);
	if (err == -EIO) {
		may = ldb_fsck_may(f);
		err = may ? left_clear_copy(f, store) : 0;
		if (!err)
			wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
				       "the copy of the tables' descriptions is damaged",
				       may ? "made anew; what it was is in the quarantine, "
					     "files/" DIRECTORY_TABLES
					   : NULL,
				       DIRECTORY_TABLES);
	} else if (err && err != -ENOENT)
		err = wcs_fault_set(f->fsck->fault, directory_error(-err), DIRECTORY_TABLES ": %s",
				    strerror(-err));
	close(store);
	return err == -ENOENT ? 0 : err;
}
