/* SPDX-License-Identifier: MIT */
/*
 * Tables under wrong names: somebody exchanged files, or put a copy of one in the place of another.
 *
 * Each entry of a database has a sequence number of its own, which is a part of its key, so no two
 * tables that are in use have one key in common. The MANIFEST has of each its size, its first and
 * its last key. So a good table is the one that it means by a number if all three are the same; of
 * a damaged one, of which the first or the last entries may be gone, it can be told by the other
 * end, while it has no key that is not between the two.
 *
 * What is not the table that is meant must not come to its place: its keys could overlap those of
 * other tables, or old ones lie above newer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/leveldb/files/files_private.h"
#include "store/leveldb/formats/block.h"

static bool names_same(const struct ldb_buffer *key, struct wcs_slice known)
{
	return key->len == known.len && memcmp(key->data, known.data, known.len) == 0;
}

static bool names_has_end(const struct ldb_files_table *found,
			  const struct ldb_manifest_table *known)
{
	return names_same(&found->smallest, known->smallest) ||
	       names_same(&found->largest, known->largest);
}

/* Has it no key that the other cannot have? */
static bool names_within(const struct ldb_files_table *found,
			 const struct ldb_manifest_table *known)
{
	return ldb_internal_compare(ldb_buffer_slice(&found->smallest), known->smallest) >= 0 &&
	       ldb_internal_compare(ldb_buffer_slice(&found->largest), known->largest) <= 0;
}

/* All of it. */
static bool names_is_whole(const struct ldb_files_table *found,
			   const struct ldb_manifest_table *known)
{
	return found->good && found->size == known->size &&
	       names_same(&found->smallest, known->smallest) &&
	       names_same(&found->largest, known->largest);
}

/* What can be read of it, for sure. */
static bool names_is_rest(const struct ldb_files_table *found,
			  const struct ldb_manifest_table *known)
{
	return !found->good && found->smallest.len > 0 && names_has_end(found, known) &&
	       names_within(found, known);
}

bool ldb_files_is_another(const struct ldb_files *files, const struct ldb_files_table *found,
			  const struct ldb_manifest_table *known)
{
	if (found->good)
		return !names_is_whole(found, known);
	if (found->smallest.len == 0 || names_is_rest(found, known))
		return false;
	if (!names_within(found, known))
		return true;
	for (size_t i = 0; i < files->manifest.count; i++)
		if (names_is_rest(found, &files->manifest.tables[i]))
			return true;
	return false;
}

/* Has the file that name, and not the one of old versions? Only then can it get another. */
static bool names_stands(const struct ldb_files *files, uint64_t number)
{
	char name[LDB_FILE_NAME_MAX];

	ldb_file_name(name, LDB_FILE_TABLE, number);
	return faccessat(files->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void names_found(struct ldb_files_fault *fault, struct ldb_files_table *right)
{
	char name[LDB_FILE_NAME_MAX];
	size_t len = strlen(fault->what);

	right->taken = true;
	fault->right = fault->stands = right->number;
	fault->right_damaged = !right->good;
	ldb_file_name(name, LDB_FILE_TABLE, right->number);
	snprintf(fault->what + len, sizeof(fault->what) - len, "; the right one%s stands as %s",
		 right->good ? "" : ", damaged,", name);
}

/* Looks for the table that the MANIFEST means by the number of that fault. */
static void names_look_for(struct ldb_files *files, struct ldb_files_fault *fault, bool whole)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);

	for (size_t i = 0; known && i < files->astray_count; i++) {
		struct ldb_files_table *found = &files->astray[i];

		if (!found->taken && names_stands(files, found->number) &&
		    (whole ? names_is_whole(found, known) : names_is_rest(found, known))) {
			names_found(fault, found);
			return;
		}
	}
}

static bool names_is_lost(const struct ldb_files_fault *fault)
{
	return fault->kind == LDB_FILE_TABLE && fault->right == 0;
}

static int names_unnamed(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	(void)name;
	return kind == LDB_FILE_TABLE && !ldb_manifest_find(&files->manifest, number)
		       ? ldb_files_unnamed(files, number)
		       : 0;
}

/* A whole table is better than what can be read of the one in its place, and that better than what
 * can be read of it elsewhere. */
static void names_assign(struct ldb_files *files)
{
	for (size_t i = 0; i < files->fault_count; i++)
		if (names_is_lost(&files->faults[i]))
			names_look_for(files, &files->faults[i], true);
	for (size_t i = 0; i < files->fault_count; i++) {
		struct ldb_files_fault *fault = &files->faults[i];

		if (names_is_lost(fault) && (fault->missing || fault->another))
			names_look_for(files, fault, false);
	}
}

int ldb_files_names(struct ldb_files *files)
{
	bool lost = false;
	int err;

	for (size_t i = 0; i < files->fault_count; i++)
		lost |= names_is_lost(&files->faults[i]);
	if (!lost || !files->whole)
		return 0;
	err = ldb_files_each(files, names_unnamed, files);
	if (!err)
		names_assign(files);
	return err;
}
