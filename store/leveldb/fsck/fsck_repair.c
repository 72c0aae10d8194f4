/* SPDX-License-Identifier: MIT */
/*
 * Repairs tables that are damaged or missing.
 *
 * - A damaged table is replaced, under its number and on its level, by one of the entries that can
 *   be read. Old entries must not come to lie above newer ones, as they do after LevelDB's own
 *   repair. First the MANIFEST describes the new table, then that one is renamed. In between it
 *   describes just the readable part of the damaged one, and the next check repeats the repair.
 * - A missing table is removed from the MANIFEST.
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
	if (!rc && fsync(files->dir))
		rc = -EIO;
	if (!rc)
		rc = ldb_manifest_replace(files->dir, &files->manifest, fault->number,
					  by.size > 0 ? &by : NULL);
	if (!rc && (by.size > 0 ? renameat(files->dir, salvage.name, files->dir, fault->name)
				: unlinkat(files->dir, fault->name, 0)))
		rc = -EIO;
	if (!rc && fsync(files->dir))
		rc = -EIO;
	ldb_tablefile_writer_free(salvage.writer);
	free(salvage.last.data);
	ldb_fsck_say_read(done, room, salvage.entries, "key", !salvage.lost, fault->name);
	return rc;
}

int ldb_fsck_repair_table(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			  size_t room)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);
	int rc;

	if (!fault->missing)
		return repair_damaged(files, fault, done, room);
	snprintf(done, room, "what was in it is lost");
	rc = ldb_fsck_lose(files->ctx, fault->name, known->smallest, known->largest);
	return rc ? rc : ldb_manifest_replace(files->dir, &files->manifest, fault->number, NULL);
}
