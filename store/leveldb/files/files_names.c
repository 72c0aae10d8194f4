/* SPDX-License-Identifier: MIT */
/*
 * Finds where files went: tables under wrong names, since somebody exchanged files or copied one
 * over another, and the last edits of a MANIFEST, by the files that only they named.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/leveldb/files/files_private.h"

static int names_unnamed(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	(void)name;
	return kind == LDB_FILE_TABLE && !ldb_manifest_find(&files->manifest, number)
		       ? ldb_files_unnamed(files, number)
		       : 0;
}

/* Searches the misnamed tables for the one that the MANIFEST describes under the fault's number. */
static void names_search(struct ldb_files *files, struct ldb_files_fault *fault)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, fault->number);
	size_t len = strlen(fault->what);
	char name[LDB_FILE_NAME_MAX];

	for (size_t i = 0; known && i < files->misnamed_count; i++) {
		struct ldb_files_table *found = &files->misnamed[i];

		if (found->taken || !ldb_files_is(found, known))
			continue;
		found->taken = true;
		fault->right = fault->stands = found->number;
		ldb_file_name(name, LDB_FILE_TABLE, found->number);
		snprintf(fault->what + len, sizeof(fault->what) - len,
			 "; the right one stands as %s", name);
		return;
	}
}

int ldb_files_names(struct ldb_files *files)
{
	bool lost = false;
	int rc;

	for (size_t i = 0; i < files->fault_count; i++)
		lost |= files->faults[i].kind == LDB_FILE_TABLE;
	if (!lost || !files->whole)
		return 0;
	rc = ldb_files_each(files, names_unnamed, files);
	for (size_t i = 0; !rc && i < files->fault_count; i++)
		if (files->faults[i].kind == LDB_FILE_TABLE)
			names_search(files, &files->faults[i]);
	return rc;
}

/* A table or log not in use: the lost edits named it, or it was left. */
static int names_unlisted(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	if (kind == LDB_FILE_TABLE && !ldb_manifest_find(&files->manifest, number)) {
		files->unlisted++;
		return ldb_files_table(files, number, NULL);
	}
	if (kind == LDB_FILE_LOG && !ldb_manifest_log_used(&files->manifest, number)) {
		files->unlisted++;
		return ldb_files_log(files, name, number);
	}
	return 0;
}

int ldb_files_end(struct ldb_files *files)
{
	bool missing = false;
	int rc;

	for (size_t i = 0; i < files->fault_count; i++)
		missing |= files->faults[i].missing && files->faults[i].right == 0;
	if (!files->whole || !missing)
		return 0;
	rc = ldb_files_each(files, names_unlisted, files);
	if (rc || files->unlisted == 0)
		return rc;
	files->whole = false;
	return ldb_files_add(files, LDB_FILE_MANIFEST, 0, files->manifest.name, false,
			     "its end is missing: it does not name %" PRIu64
			     " files that are there, and names some that are not",
			     files->unlisted);
}
