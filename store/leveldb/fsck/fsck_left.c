/* SPDX-License-Identifier: MIT */
/*
 * Checks what is beside data/: data.new, left by a rebuild that was interrupted; torn-*, the ends
 * that were cut from torn files (logfile.c), which are not damage for sure; and the copy of the
 * tables' descriptions (copy.c).
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

int ldb_fsck_left(struct ldb_fsck *f)
{
	int store, rc = left_open(f, &store);
	bool may;

	if (rc)
		return rc;
	if (faccessat(store, DIRECTORY_ANEW, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		may = wcs_fsck_agreed_one(
			f->fsck, "A repair that did not come to its end left " DIRECTORY_ANEW
				 ". Remove it?");
		rc = may ? directory_remove(store, DIRECTORY_ANEW) : 0;
		if (rc)
			wcs_fault_set(f->fsck->fault, rc, DIRECTORY_ANEW ": %s", strerror(-rc));
		else
			wcs_fsck_found(f->fsck, WCS_FOUND_LEFTOVER,
				       "left by a repair that did not come to its end",
				       may ? "removed" : NULL, DIRECTORY_ANEW);
	}
	close(store);
	return rc;
}

struct left_torn {
	struct ldb_fsck *f;
	int failed; /* the error of a file, which the fault has */
};

static int left_torn_file(struct ldb_fsck *f, int store, const char *name)
{
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

static int left_torn_entry(void *ctx, int store, const char *name)
{
	struct left_torn *torn = ctx;

	torn->failed = left_torn_file(torn->f, store, name);
	return torn->failed;
}

int ldb_fsck_torn(struct ldb_fsck *f)
{
	struct left_torn torn = {.f = f};
	int store, rc = left_open(f, &store);

	if (rc)
		return rc;
	rc = directory_each(store, left_torn_entry, &torn);
	close(store);
	if (rc && !torn.failed)
		wcs_fault_set(f->fsck->fault, rc, "%s: %s", directory_name(f->store),
			      strerror(-rc));
	return rc;
}

static int left_clear_copy(struct ldb_fsck *f, int store)
{
	int rc = wcs_quarantine_directory(f->fsck->quarantine, store, DIRECTORY_TABLES);

	if (rc)
		return rc;
	rc = directory_remove(store, DIRECTORY_TABLES);
	return rc ? wcs_fault_set(f->fsck->fault, rc, DIRECTORY_TABLES ": %s", strerror(-rc)) : 0;
}

/* At the end of the check fsck.c writes a new copy. */
int ldb_fsck_read_copy(struct ldb_fsck *f)
{
	int store, rc = left_open(f, &store);
	bool may;

	if (rc)
		return rc;
	rc = ldb_copy_read(store, &f->copy);
	if (rc == -EIO) {
		may = ldb_fsck_may(f);
		rc = may ? left_clear_copy(f, store) : 0;
		if (!rc)
			wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE,
				       "the copy of the tables' descriptions is damaged",
				       may ? "made anew; what it was is in the quarantine, "
					     "files/" DIRECTORY_TABLES
					   : NULL,
				       DIRECTORY_TABLES);
	} else if (rc && rc != -ENOENT)
		rc = wcs_fault_set(f->fsck->fault, directory_error(-rc), DIRECTORY_TABLES ": %s",
				   strerror(-rc));
	close(store);
	return rc == -ENOENT ? 0 : rc;
}
