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

int ldb_fsck_left(struct ldb_fsck *f)
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

static int left_torn(void *ctx, int store, const char *name)
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

int ldb_fsck_torn(struct ldb_fsck *f)
{
	return ldb_fsck_each_name(f, f->dir, f->store, left_torn);
}

/* At the end of the check fsck.c writes a new copy. */
int ldb_fsck_read_copy(struct ldb_fsck *f)
{
	int rc = ldb_copy_read(f->dir, &f->copy);
	bool may;

	if (rc != 0 && rc != -ENOENT && rc != -EIO)
		return wcs_fault_set(f->fsck->fault, directory_error(-rc), DIRECTORY_TABLES ": %s",
				     strerror(-rc));
	if (rc != -EIO)
		return 0;
	may = ldb_fsck_may(f);
	rc = may ? wcs_quarantine_directory(f->fsck->quarantine, f->dir, DIRECTORY_TABLES) : 0;
	if (rc)
		return rc;
	rc = may ? directory_remove(f->dir, DIRECTORY_TABLES) : 0;
	if (rc)
		return wcs_fault_set(f->fsck->fault, rc, DIRECTORY_TABLES ": %s", strerror(-rc));
	wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, "the copy of the tables' descriptions is damaged",
		       may ? "made anew; what it was is in the quarantine, files/" DIRECTORY_TABLES
			   : NULL,
		       DIRECTORY_TABLES);
	return 0;
}
