/* SPDX-License-Identifier: MIT */
/*
 * Finds tables that are missing, damaged, or not the table that their name says, and the last edits
 * of a MANIFEST that is cut, by the files that only they named.
 *
 * Each entry of a database has its own sequence number, which is part of its key. No two tables in
 * use therefore share a key, and the size, the first and the last key, which the MANIFEST has,
 * identify a whole table. A damaged one with a key outside that range is another. Another table
 * must not be used in this place: its keys could overlap those of other tables of the level, or old
 * entries come to lie above newer ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/leveldb/files/files_private.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/tablefile.h"

/* ---- Reading ----------------------------------------------------------------------------- */

static void tables_damaged(void *ctx, uint64_t offset, const char *what)
{
	struct ldb_files_table *found = ctx;

	found->lost = true; /* since the last entry */
	if (found->damages++ > 0)
		return;
	found->damaged_at = offset;
	found->damage = what;
}

/* Tells that entries between the last key and this one cannot be read. */
static int tables_lose(struct ldb_files *files, const struct ldb_files_table *found,
		       const struct ldb_manifest_table *known, struct wcs_slice to)
{
	struct wcs_slice from = ldb_buffer_slice(&found->largest);

	if (from.len == 0 && known)
		from = known->smallest;
	return files->lost ? files->lost(files->ctx, found->number, from, to) : 0;
}

static int tables_entry(struct ldb_files_table *found, struct wcs_slice key)
{
	uint64_t sequence = ldb_internal_tag(key) >> 8;
	int rc = 0;

	found->entries++;
	if (sequence > found->sequence)
		found->sequence = sequence;
	if (found->smallest.len == 0)
		rc = ldb_buffer_set(&found->smallest, key);
	return rc ? rc : ldb_buffer_set(&found->largest, key);
}

/* Reads the first found->size bytes of an open table. */
static int tables_read(struct ldb_files *files, struct ldb_tablefile *table,
		       struct ldb_files_table *found, const struct ldb_manifest_table *known)
{
	uint64_t before = 0;
	bool lost = false;
	int more = 1, rc = ldb_tablefile_open(table);

	while (!rc && (more = ldb_tablefile_next(table)) == 1) {
		struct wcs_slice key = table->data.key;

		if (found->entries == 0 && known)
			found->lost = ldb_internal_compare(known->smallest, key) != 0;
		lost |= found->lost;
		if (found->lost)
			rc = tables_lose(files, found, known, key);
		found->lost = false;
		if (!rc)
			rc = tables_entry(found, key);
		if (!rc && table->bytes != before)
			rc = ldb_files_progress(files, table->bytes - before);
		before = table->bytes;
	}
	if (rc || more < 0)
		return rc ? rc : more;
	if (known ? found->entries == 0 || wcs_slice_compare(known->largest,
							     ldb_buffer_slice(&found->largest)) != 0
		  : found->damages > 0) {
		lost = true;
		rc = tables_lose(files, found, known,
				 known ? known->largest : (struct wcs_slice){NULL, 0});
	}
	found->lost = lost;
	return rc;
}

int ldb_files_open_table(const struct ldb_files *files, uint64_t number, uint64_t *size)
{
	char name[LDB_FILE_NAME_MAX];
	struct stat st;
	int fd;

	ldb_file_name(name, LDB_FILE_TABLE, number);
	fd = openat(files->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = EISDIR;
		return -1;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

static bool tables_is(const struct ldb_files_table *found, const struct ldb_manifest_table *known)
{
	return found->damages == 0 && found->size == known->size &&
	       wcs_slice_compare(ldb_buffer_slice(&found->smallest), known->smallest) == 0 &&
	       wcs_slice_compare(ldb_buffer_slice(&found->largest), known->largest) == 0;
}

/* Is it another than the MANIFEST describes: whole and not that one, or damaged with a key outside
 * of that one's range? */
static bool tables_is_another(const struct ldb_files_table *found,
			      const struct ldb_manifest_table *known)
{
	struct wcs_slice smallest = ldb_buffer_slice(&found->smallest);
	struct wcs_slice largest = ldb_buffer_slice(&found->largest);

	if (found->damages == 0)
		return !tables_is(found, known);
	return smallest.len > 0 && (ldb_internal_compare(smallest, known->smallest) < 0 ||
				    ldb_internal_compare(largest, known->largest) > 0);
}

/* Adds the fault of a table that was read, if it has one. */
static int tables_judge(struct ldb_files *files, struct ldb_files_table *found,
			const struct ldb_manifest_table *known)
{
	char name[LDB_FILE_NAME_MAX], what[128];
	bool damaged = found->damages > 0, high = found->sequence > LDB_NUMBER_MAX;
	bool another = known && tables_is_another(found, known);
	struct ldb_files_fault *fault;
	size_t len = 0;
	int rc;

	found->foreign = another;
	for (size_t i = 0; found->foreign && i < files->manifest.count; i++)
		found->foreign = !tables_is(found, &files->manifest.tables[i]);
	if (!damaged && !another && !high)
		return 0;
	if (another)
		len = (size_t)snprintf(what, sizeof(what),
				       "it is another table%s: ", damaged ? ", and damaged" : "");
	if (known && found->size != known->size)
		snprintf(what + len, sizeof(what) - len,
			 "it has %" PRIu64 " bytes and should have %" PRIu64, found->size,
			 known->size);
	else if (damaged)
		snprintf(what + len, sizeof(what) - len, "at %" PRIu64 ": %s%s", found->damaged_at,
			 found->damage, found->damages > 1 ? ", and more behind it" : "");
	else
		snprintf(what + len, sizeof(what) - len, "%s",
			 another ? "it has other keys"
				 : "it has a sequence number that leaves no room for more");
	ldb_file_name(name, LDB_FILE_TABLE, found->number);
	rc = ldb_files_add(files, LDB_FILE_TABLE, found->number, name, false, "%s", what);
	if (rc)
		return rc;
	fault = &files->faults[files->fault_count - 1];
	fault->another = another;
	fault->entries = found->entries;
	fault->lost = found->lost;
	files->whole &= !another;
	return 0;
}

/* ---- Checking ---------------------------------------------------------------------------- */

/* known: as the MANIFEST describes it; NULL: it does not. */
static int tables_check(struct ldb_files *files, uint64_t number,
			const struct ldb_manifest_table *known)
{
	struct ldb_files_table found = {.number = number};
	struct ldb_tablefile *table = calloc(1, sizeof(*table));
	char name[LDB_FILE_NAME_MAX];
	int fd = table ? ldb_files_open_table(files, number, &found.size) : -1, rc;

	files->count++;
	ldb_file_name(name, LDB_FILE_TABLE, number);
	if (!table)
		return -ENOMEM;
	if (fd < 0) {
		free(table);
		return ldb_files_add(files, LDB_FILE_TABLE, number, name, errno == ENOENT, "%s",
				     errno == ENOENT ? "it is missing" : strerror(errno));
	}
	*table = (struct ldb_tablefile){
		.fd = fd, .size = found.size, .damaged = tables_damaged, .ctx = &found};
	rc = tables_read(files, table, &found, files->whole ? known : NULL);
	found.bytes = table->bytes;
	ldb_tablefile_close(table);
	free(table);
	close(fd);
	if (!rc)
		rc = tables_judge(files, &found, known);
	if (!rc && files->table)
		rc = files->table(files->ctx, &found);
	free(found.smallest.data);
	free(found.largest.data);
	return rc;
}

static int tables_any(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	(void)name;
	return kind == LDB_FILE_TABLE ? tables_check(ctx, number, NULL) : 0;
}

/* Has the table a wrong size, or may it have keys that start with one of these bytes? */
static bool tables_concerns(const struct ldb_files *files, const struct ldb_manifest_table *table,
			    const char *spaces)
{
	const unsigned char *smallest = table->smallest.data, *largest = table->largest.data;
	uint64_t size = 0;
	int fd = ldb_files_open_table(files, table->number, &size);

	if (fd >= 0)
		close(fd);
	if (fd < 0 || size != table->size || table->smallest.len <= 8 || table->largest.len <= 8)
		return true;
	for (; *spaces; spaces++)
		if (smallest[0] <= (unsigned char)*spaces && largest[0] >= (unsigned char)*spaces)
			return true;
	return false;
}

int ldb_files_tables(struct ldb_files *files, const char *spaces)
{
	int rc = 0;

	if (!files->whole)
		return ldb_files_each(files, tables_any, files);
	for (size_t i = 0; !rc && i < files->manifest.count; i++) {
		const struct ldb_manifest_table *table = &files->manifest.tables[i];

		if (!spaces || tables_concerns(files, table, spaces))
			rc = tables_check(files, table->number, table);
	}
	return rc;
}

static int tables_any_file(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	if (kind == LDB_FILE_LOG)
		return ldb_files_log(files, name, number);
	return kind == LDB_FILE_TABLE
		       ? tables_check(files, number, ldb_manifest_find(&files->manifest, number))
		       : 0;
}

int ldb_files_all(struct ldb_files *files)
{
	size_t faults = files->fault_count;
	int rc = ldb_files_each(files, tables_any_file, files);

	files->fault_count = faults;
	return rc;
}

/* ---- The end of the MANIFEST ------------------------------------------------------------- */

/* A table or log not in use: the lost edits named it, or it was left. */
static int tables_unlisted(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	if (kind == LDB_FILE_TABLE && !ldb_manifest_find(&files->manifest, number)) {
		files->unlisted++;
		return tables_check(files, number, NULL);
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
		missing |= files->faults[i].missing;
	if (!files->whole || !missing)
		return 0;
	rc = ldb_files_each(files, tables_unlisted, files);
	if (rc || files->unlisted == 0)
		return rc;
	files->whole = false;
	return ldb_files_add(files, LDB_FILE_MANIFEST, 0, files->manifest.name, false,
			     "its end is missing: it does not name %" PRIu64
			     " files that are there, and names some that are not",
			     files->unlisted);
}
