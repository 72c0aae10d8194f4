/* SPDX-License-Identifier: MIT */
/*
 * Reads a MANIFEST: a log of edits, which together are the state of the database.
 *
 *   01 comparator        02 number of the log       03 number of the next file
 *   04 last sequence     05 level key               06 level number        a table that goes
 *   07 level number size smallest largest           09 number of the log before
 *
 * Numbers are varints; texts and keys follow their length, a varint. LevelDB syncs each edit before
 * it acts on it, so only damage shortens a MANIFEST. One that is cut between two edits still looks
 * whole; files.c finds it by the files that its lost edits named.
 *
 * LevelDB aborts unless the tables of each level above 0 lie one behind the other, each table's
 * number is below that of the next file, its last key is not before its first, and no number is too
 * high. So a MANIFEST that breaks one of these rules is damage before LevelDB sees it.
 */
#include "store/leveldb/formats/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"

int ldb_manifest_current(int dir, char name[LDB_FILE_NAME_MAX], struct wcs_fault *fault)
{
	char text[LDB_FILE_NAME_MAX + 1];
	int fd = openat(dir, "CURRENT", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t number;
	ssize_t len;

	if (fd < 0)
		return wcs_fault_set(fault, -EIO, "%s",
				     errno == ENOENT ? "it is missing" : strerror(errno));
	len = read(fd, text, sizeof(text));
	close(fd);
	if (len < 1 || len > (ssize_t)LDB_FILE_NAME_MAX - 1 || text[len - 1] != '\n')
		return wcs_fault_set(fault, -EIO, "it does not name a MANIFEST");
	text[len - 1] = '\0';
	if (strlen(text) != (size_t)len - 1 || ldb_file_parse(text, &number) != LDB_FILE_MANIFEST)
		return wcs_fault_set(fault, -EIO, "it does not name a MANIFEST");
	if (faccessat(dir, text, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return wcs_fault_set(fault, -EIO, "it names %s, which is missing", text);
	strcpy(name, text);
	return 0;
}

void ldb_manifest_free(struct ldb_manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++)
		free((void *)(uintptr_t)manifest->tables[i].smallest.data);
	free(manifest->tables);
	memset(manifest, 0, sizeof(*manifest));
}

/* The index where the table is, or would be. An edit may name a table on two levels for a moment.
 */
static size_t manifest_at(const struct ldb_manifest *manifest, uint64_t number, unsigned int level)
{
	size_t low = 0, high = manifest->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ldb_manifest_table *table = &manifest->tables[middle];

		if (table->number < number || (table->number == number && table->level < level))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct ldb_manifest_table *ldb_manifest_find(const struct ldb_manifest *manifest,
						   uint64_t number)
{
	size_t at = manifest_at(manifest, number, 0);

	return at < manifest->count && manifest->tables[at].number == number ? &manifest->tables[at]
									     : NULL;
}

static void manifest_delete(struct ldb_manifest *manifest, uint64_t number, unsigned int level)
{
	size_t at = manifest_at(manifest, number, level);
	struct ldb_manifest_table *table;

	if (at == manifest->count)
		return;
	table = manifest->tables + at;
	if (table->number != number || table->level != level)
		return;
	free((void *)(uintptr_t)table->smallest.data);
	manifest->count--;
	memmove(table, table + 1, (manifest->count - at) * sizeof(*table));
}

static int manifest_add(struct ldb_manifest *manifest, const struct ldb_manifest_table *table)
{
	size_t at = manifest_at(manifest, table->number, table->level);
	struct ldb_manifest_table made = *table;
	unsigned char *keys;

	if (grow(&manifest->tables, &manifest->room, manifest->count + 1, 64, sizeof(made)))
		return -ENOMEM;
	keys = malloc(made.smallest.len + made.largest.len + 1); /* freed as those of smallest */
	if (!keys)
		return -ENOMEM;
	made.smallest.data = memcpy(keys, table->smallest.data, made.smallest.len);
	made.largest.data = memcpy(keys + made.smallest.len, table->largest.data, made.largest.len);
	memmove(manifest->tables + at + 1, manifest->tables + at,
		(manifest->count - at) * sizeof(made));
	manifest->tables[at] = made;
	manifest->count++;
	return 0;
}

/* ---- Numbers and levels ------------------------------------------------------------------ */

static int manifest_compare(const void *a, const void *b)
{
	const struct ldb_manifest_table *one = *(const struct ldb_manifest_table *const *)a;
	const struct ldb_manifest_table *other = *(const struct ldb_manifest_table *const *)b;

	if (one->level != other->level)
		return one->level < other->level ? -1 : 1;
	return ldb_internal_compare(one->smallest, other->smallest);
}

static int manifest_check_numbers(const struct ldb_manifest *manifest, struct wcs_fault *fault)
{
	char name[LDB_FILE_NAME_MAX];

	if (manifest->next_file == 0)
		return wcs_fault_set(fault, -EIO, "it has no edits");
	if (manifest->sequence > LDB_NUMBER_MAX)
		return wcs_fault_set(fault, -EIO, "the sequence number %" PRIu64 " is too high",
				     manifest->sequence);
	if (manifest->next_file > LDB_NUMBER_MAX || manifest->log_number > LDB_NUMBER_MAX ||
	    manifest->previous_log > LDB_NUMBER_MAX)
		return wcs_fault_set(fault, -EIO, "the number of a file is too high");
	for (size_t i = 0; i < manifest->count; i++) {
		const struct ldb_manifest_table *table = &manifest->tables[i];

		ldb_file_name(name, LDB_FILE_TABLE, table->number);
		if (table->number == 0 || table->number >= manifest->next_file)
			return wcs_fault_set(fault, -EIO, "table %s has no possible number", name);
		if (i > 0 && table[-1].number == table->number)
			return wcs_fault_set(fault, -EIO, "table %s is on two levels", name);
		if (ldb_internal_compare(table->smallest, table->largest) > 0)
			return wcs_fault_set(fault, -EIO,
					     "the last key of table %s is before its first", name);
	}
	return 0;
}

static int manifest_check(const struct ldb_manifest *manifest, struct wcs_fault *fault)
{
	const struct ldb_manifest_table **sorted;
	int rc = manifest_check_numbers(manifest, fault);

	if (rc)
		return rc;
	sorted = malloc((manifest->count + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < manifest->count; i++)
		sorted[i] = &manifest->tables[i];
	qsort(sorted, manifest->count, sizeof(*sorted), manifest_compare);
	for (size_t i = 1; !rc && i < manifest->count; i++) {
		const struct ldb_manifest_table *one = sorted[i - 1], *other = sorted[i];

		if (one->level > 0 && one->level == other->level &&
		    ldb_internal_compare(one->largest, other->smallest) >= 0)
			rc = wcs_fault_set(fault, -EIO,
					   "tables %06" PRIu64 ".ldb and %06" PRIu64
					   ".ldb of level %u overlap",
					   one->number, other->number, one->level);
	}
	free(sorted);
	return rc;
}

/* ---- Edits ------------------------------------------------------------------------------- */

/* An internal key. LevelDB reads the 8 bytes at its end without checking its length. */
static bool manifest_key(struct ldb_rest *rest, struct wcs_slice *key)
{
	struct ldb_rest text;

	if (!ldb_rest_text(rest, &text) || text.len < 8)
		return false;
	*key = (struct wcs_slice){text.data, text.len};
	return true;
}

static bool manifest_level(struct ldb_rest *rest, unsigned int *level)
{
	uint64_t n;

	if (!ldb_rest_varint(rest, &n) || n >= LDB_MANIFEST_LEVELS)
		return false;
	*level = (unsigned int)n;
	return true;
}

/* Applies an item of an edit. -EIO: it has not the form of one. */
static int manifest_item(struct ldb_manifest *manifest, struct ldb_rest *rest)
{
	static const char comparator[] = LDB_MANIFEST_COMPARATOR;
	struct ldb_manifest_table table;
	struct wcs_slice key;
	struct ldb_rest text;
	uint64_t tag;

	if (!ldb_rest_varint(rest, &tag))
		return -EIO;
	switch (tag) {
	case LDB_EDIT_COMPARATOR:
		return ldb_rest_text(rest, &text) && text.len == sizeof(comparator) - 1 &&
				       memcmp(text.data, comparator, text.len) == 0
			       ? 0
			       : -EIO;
	case LDB_EDIT_LOG:
		return ldb_rest_varint(rest, &manifest->log_number) ? 0 : -EIO;
	case LDB_EDIT_NEXT_FILE:
		return ldb_rest_varint(rest, &manifest->next_file) ? 0 : -EIO;
	case LDB_EDIT_SEQUENCE:
		return ldb_rest_varint(rest, &manifest->sequence) ? 0 : -EIO;
	case LDB_EDIT_PREVIOUS_LOG:
		return ldb_rest_varint(rest, &manifest->previous_log) ? 0 : -EIO;
	case LDB_EDIT_POINTER:
		return manifest_level(rest, &table.level) && manifest_key(rest, &key) ? 0 : -EIO;
	case LDB_EDIT_DELETED:
		if (!manifest_level(rest, &table.level) || !ldb_rest_varint(rest, &table.number))
			return -EIO;
		manifest_delete(manifest, table.number, table.level);
		return 0;
	case LDB_EDIT_NEW:
		if (!manifest_level(rest, &table.level) || !ldb_rest_varint(rest, &table.number) ||
		    !ldb_rest_varint(rest, &table.size) || !manifest_key(rest, &table.smallest) ||
		    !manifest_key(rest, &table.largest))
			return -EIO;
		return manifest_add(manifest, &table);
	default:
		return -EIO;
	}
}

static int manifest_read_edits(struct ldb_manifest *manifest, struct ldb_logfile *log,
			       struct wcs_fault *fault)
{
	struct wcs_slice record;
	int rc = 0;

	while (!rc && (rc = ldb_logfile_next(log, &record)) == 1 && log->damage.count == 0) {
		struct ldb_rest rest = {record.data, record.len};

		for (rc = 0; !rc && rest.len > 0;)
			rc = manifest_item(manifest, &rest);
		if (rc == -EIO)
			return wcs_fault_set(fault, -EIO, "at %" PRIu64 ": a record is no edit",
					     log->end);
	}
	if (log->damage.count > 0)
		return wcs_fault_set(fault, -EIO, "at %" PRIu64 ": %s", log->damage.at,
				     log->damage.what);
	manifest->end = log->end;
	manifest->torn = log->torn;
	manifest->zeros_at = log->zeros_at;
	return rc;
}

int ldb_manifest_read(int dir, const char *name, struct ldb_manifest *manifest,
		      struct wcs_fault *fault)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc;
	struct ldb_manifest made = {0};
	struct ldb_logfile log;

	if (fd < 0)
		return wcs_fault_set(fault, -EIO, "%s", strerror(errno));
	snprintf(made.name, sizeof(made.name), "%s", name);
	ldb_logfile_init(&log, fd);
	rc = manifest_read_edits(&made, &log, fault);
	free(log.record.data);
	close(fd);
	if (!rc)
		rc = manifest_check(&made, fault);
	if (rc)
		ldb_manifest_free(&made);
	else
		*manifest = made;
	return rc;
}
