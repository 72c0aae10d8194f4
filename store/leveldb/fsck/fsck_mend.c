/* SPDX-License-Identifier: MIT */
/*
 * Tables that are damaged or missing, or stand under wrong names (files_names.c).
 *
 * - One that stands under another's name gets its own back. Two files change places in one step, so
 *   each is there at any time, and what an interruption leaves is what the next check sees, with
 *   one name less to put right.
 * - One that is damaged gives way to another of those entries that can be read in it, at the same
 *   place in the tree of levels: old entries must not come to lie above newer ones, as LevelDB's
 *   repair puts them.
 * - What is neither the table that is meant nor any other of the store goes.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/tablefile.h"

/* all: as much as it had when it was written. Else nobody knows how much was in the rest, which
 * may be nothing. */
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

static int mend_fail_name(struct ldb_fsck *f, const char *name)
{
	return wcs_fault_set(f->fsck->fault, ldb_file_errno(),
			     "data/%s: its name cannot be given back: %s%s", name, strerror(errno),
			     errno == EINVAL ? ", since this filesystem cannot exchange two files; "
					       "copy the store to another"
					     : "");
}

/* What had that name until now, if anything, has that of `from` then. */
static int mend_name(struct ldb_fsck *f, struct ldb_files *files, uint64_t from, const char *name)
{
	char other[LDB_FILE_NAME_MAX];
	int err;

	ldb_file_name(other, LDB_FILE_TABLE, from);
	err = renameat2(files->dir, other, files->dir, name, RENAME_EXCHANGE);
	if (err && errno == ENOENT)
		err = renameat(files->dir, other, files->dir, name);
	return err || fsync(files->dir) ? mend_fail_name(f, name) : 0;
}

/* What stood under that number until now stands under another. */
static void mend_note(struct ldb_files *files, uint64_t number, uint64_t now)
{
	for (size_t i = 0; i < files->fault_count; i++)
		if (files->faults[i].stands == number)
			files->faults[i].stands = now;
}

int ldb_fsck_mend_names(struct ldb_fsck *f, struct ldb_files *files)
{
	int err = 0;

	for (size_t i = 0; !err && i < files->fault_count; i++) {
		struct ldb_files_fault *fault = &files->faults[i];
		uint64_t from = fault->stands;

		if (from == 0 || from == fault->number)
			continue;
		err = mend_name(f, files, from, fault->name);
		mend_note(files, fault->number, from);
		fault->stands = fault->number;
	}
	return err;
}

/* ---- What can be read -------------------------------------------------------------------- */

/* The file of the table that takes the place of the damaged one. */
static int mend_make_table(struct ldb_files *files, uint64_t number,
			   struct ldb_fsck_salvage *salvage)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, number);
	uint64_t size = 0;
	int from = ldb_files_open_table(files, number, &size), err;

	if (from < 0)
		return -EIO;
	salvage->f = files->ctx;
	salvage->known = known;
	err = ldb_fsck_salvage_table(salvage, from, size > known->size ? known->size : size);
	close(from);
	return err;
}

/* Is there a file of that number, or was there a table? */
static bool mend_is_used(const struct ldb_files *files, uint64_t number)
{
	static const enum ldb_file_kind kinds[] = {LDB_FILE_TABLE, LDB_FILE_LOG, LDB_FILE_MANIFEST};
	char name[LDB_FILE_NAME_MAX];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		ldb_file_name(name, kinds[i], number);
		if (faccessat(files->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return ldb_manifest_named(&files->manifest, number);
}

/* On level 0 a table is as new as its number is high: the free one that is next to it, with no
 * other table's between. 0: there is none. */
static uint64_t mend_number_beside(const struct ldb_files *files, uint64_t number)
{
	const struct ldb_manifest *manifest = &files->manifest;
	uint64_t below = 0, above = manifest->next_file;

	for (size_t i = 0; i < manifest->count; i++) {
		const struct ldb_manifest_table *table = &manifest->tables[i];

		if (table->level == 0 && table->number < number && table->number > below)
			below = table->number;
		if (table->level == 0 && table->number > number && table->number < above)
			above = table->number;
	}
	for (uint64_t at = number + 1; at < above; at++)
		if (!mend_is_used(files, at))
			return at;
	for (uint64_t at = number - 1; at > below; at--)
		if (!mend_is_used(files, at))
			return at;
	return 0;
}

/* 0: there is none that says how old it is. */
static uint64_t mend_new_number(struct ldb_files *files, uint64_t number)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, number);

	if (known->level == 0)
		return mend_number_beside(files, number);
	if (files->largest < files->manifest.next_file)
		files->largest = files->manifest.next_file;
	return ++files->largest;
}

static int mend_replace_table(struct ldb_files *files, const struct ldb_files_fault *fault,
			      struct ldb_fsck_salvage *salvage)
{
	int err;

	salvage->dir = files->dir;
	salvage->by->number = mend_new_number(files, fault->number);
	if (salvage->by->number == 0)
		return -EAGAIN;
	err = mend_make_table(files, fault->number, salvage);
	if (!err && fsync(files->dir))
		err = -EIO;
	if (!err)
		err = ldb_manifest_replace(files->dir, &files->manifest, fault->number,
					   salvage->by->size > 0 ? salvage->by : NULL);
	if (!err)
		unlinkat(files->dir, fault->name, 0);
	return err;
}

/* Is there a table of which only some can be read, to take its entries? */
static bool mend_is_damaged(const struct ldb_files_fault *fault)
{
	return fault->right != 0 ? fault->right_damaged : !fault->missing && !fault->another;
}

bool ldb_fsck_has_no_place(const struct ldb_files *files, const struct ldb_files_fault *fault)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);

	return fault->kind == LDB_FILE_TABLE && mend_is_damaged(fault) && known &&
	       known->level == 0 && mend_number_beside(files, fault->number) == 0;
}

static int mend_damaged(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			size_t room)
{
	struct ldb_manifest_table by = {0};
	struct ldb_fsck_salvage salvage = {.by = &by};
	char name[LDB_FILE_NAME_MAX];
	int err = mend_replace_table(files, fault, &salvage);

	ldb_tablefile_writer_free(salvage.writer);
	free(salvage.last.data);
	ldb_file_name(name, LDB_FILE_TABLE, fault->right != 0 ? fault->right : fault->number);
	ldb_fsck_say_read(done, room, salvage.entries, "key", !salvage.lost, name);
	return err;
}

static int mend_lost(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
		     size_t room)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);
	int err =
		known ? ldb_fsck_lose(files->ctx, fault->name, known->smallest, known->largest) : 0;

	if (!err)
		err = ldb_manifest_replace(files->dir, &files->manifest, fault->number, NULL);
	if (fault->missing)
		snprintf(done, room, "what was in it is lost");
	else
		snprintf(done, room,
			 "what was in the right one is lost; this one is in the quarantine, "
			 "files/%s",
			 fault->name);
	if (!err)
		unlinkat(files->dir, fault->name, 0);
	return err;
}

int ldb_fsck_mend_table(struct ldb_files *files, const struct ldb_files_fault *fault, char *done,
			size_t room)
{
	if (mend_is_damaged(fault))
		return mend_damaged(files, fault, done, room);
	if (fault->right == 0)
		return mend_lost(files, fault, done, room);
	if (fault->missing)
		snprintf(done, room, "it has its name again");
	else
		snprintf(done, room,
			 "that one has its name again; this one, as it stood here, is in the "
			 "quarantine, files/%s",
			 fault->name);
	return 0;
}
