/* SPDX-License-Identifier: MIT */
/*
 * Repairs tables that are damaged, missing or misnamed.
 *
 * - A misnamed table gets its own name back. Two files are exchanged in one step, so both exist at
 *   any time; an interruption leaves one misnamed table less to the next check.
 * - A damaged table is replaced, under its number and on its level, by one of the entries that can
 *   be read. Old entries must not come to lie above newer ones, as they do after LevelDB's own
 *   repair. First the MANIFEST describes the new table, then that one is renamed. In between it
 *   describes just the readable part of the damaged one, and the next check repeats the repair.
 * - A table that the MANIFEST does not describe under any number is removed.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/tablefile.h"

void ldb_fsck_say_read(char *done, size_t room, uint64_t count, const char *what, bool all,
		       const char *name)
{
	snprintf(done, room,
		 "%" PRIu64 " %s%s could be read in it and stay%s; it is in the "
		 "quarantine, files/%s",
		 count, what, count == 1 ? "" : "s",
		 all ? ", all that it had" : ", what could not be read of it is lost", name);
}

/* ---- Names ------------------------------------------------------------------------------- */

/* Renames table `from`; a file that has that name gets the name of `from`. */
static int repair_name(struct ldb_fsck *f, struct ldb_files *files, uint64_t from, const char *name)
{
	char other[LDB_FILE_NAME_MAX];
	int rc;

	ldb_file_name(other, LDB_FILE_TABLE, from);
	rc = renameat2(files->dir, other, files->dir, name, RENAME_EXCHANGE);
	if (rc && errno == ENOENT)
		rc = renameat(files->dir, other, files->dir, name);
	if (!rc && !fsync(files->dir))
		return 0;
	return wcs_fault_set(f->fsck->fault, ldb_file_errno(),
			     "data/%s: its name cannot be given back: %s%s", name, strerror(errno),
			     errno == EINVAL ? ", since this filesystem cannot exchange two files; "
					       "copy the store to another"
					     : "");
}

int ldb_fsck_repair_names(struct ldb_fsck *f, struct ldb_files *files)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < files->fault_count; i++) {
		struct ldb_files_fault *fault = &files->faults[i];
		uint64_t from = fault->stands;

		if (from == 0 || from == fault->number)
			continue;
		rc = repair_name(f, files, from, fault->name);
		for (size_t j = 0; j < files->fault_count; j++) /* the exchange moved another */
			if (files->faults[j].stands == fault->number)
				files->faults[j].stands = from;
		fault->stands = fault->number;
	}
	return rc;
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* salvage: has the new table. */
static int repair_replace(struct ldb_files *files, const struct ldb_files_fault *fault,
			  struct ldb_fsck_salvage *salvage)
{
	bool empty = salvage->by->size == 0;
	int rc = fsync(files->dir) ? -EIO : 0;

	if (!rc)
		rc = ldb_manifest_replace(files->dir, &files->manifest, fault->number,
					  empty ? NULL : salvage->by);
	if (rc)
		return rc;
	if (empty)
		rc = unlinkat(files->dir, fault->name, 0);
	else
		rc = renameat(files->dir, salvage->name, files->dir, fault->name);
	return rc || fsync(files->dir) ? -EIO : 0;
}

static int repair_damaged(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			  size_t room)
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
	if (!rc)
		rc = repair_replace(files, fault, &salvage);
	ldb_tablefile_writer_free(salvage.writer);
	free(salvage.last.data);
	ldb_fsck_say_read(done, room, salvage.entries, "key", !salvage.lost, fault->name);
	return rc;
}

static int repair_lost(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
		       size_t room)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);
	int rc = ldb_fsck_lose(files->ctx, fault->name, known->smallest, known->largest);

	if (!rc)
		rc = ldb_manifest_replace(files->dir, &files->manifest, fault->number, NULL);
	if (fault->missing)
		snprintf(done, room, "what was in it is lost");
	else
		snprintf(done, room,
			 "what was in the right one is lost; this one is in the quarantine, "
			 "files/%s",
			 fault->name);
	if (!rc)
		unlinkat(files->dir, fault->name, 0);
	return rc;
}

int ldb_fsck_repair_table(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			  size_t room)
{
	if (fault->right == 0 && (fault->missing || fault->another))
		return repair_lost(files, fault, done, room);
	if (fault->right == 0)
		return repair_damaged(files, fault, done, room);
	if (fault->missing)
		snprintf(done, room, "it has its name again");
	else
		snprintf(done, room,
			 "that one has its name again; this one, as it stood here, is in the "
			 "quarantine, files/%s",
			 fault->name);
	return 0;
}
