/* SPDX-License-Identifier: MIT */
/*
 * A MANIFEST is a log of edits; all of them together are the state of the database.
 *
 *   01 comparator        02 number of the log       03 number of the next file
 *   04 last sequence     05 level key               06 level number        a table that goes
 *   07 level number size smallest largest           09 number of the log before
 *
 * Numbers are varints, texts and keys come behind their length. LevelDB syncs each edit before it
 * acts on it, so a MANIFEST never loses its end without damage; but one that was cut looks whole
 * where the cut is between two edits. What the lost edits named tells it then: a table that is
 * missing, or the log (see files.c).
 *
 * Behind level 0 the tables of a level lie one behind the other. The number of a table is below
 * that of the next file, and its last key is not before its first. LevelDB aborts on a MANIFEST of
 * which this is not true, or whose numbers are too high; so one is damage before LevelDB sees it.
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
	for (size_t i = 0; i < manifest->count; i++) {
		free((void *)(uintptr_t)manifest->tables[i].smallest.data);
		free((void *)(uintptr_t)manifest->tables[i].largest.data);
	}
	free(manifest->tables);
	free(manifest->gone);
	memset(manifest, 0, sizeof(*manifest));
}

/* Where the table is, or would be. A number can be there twice for a moment, on two levels. */
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

bool ldb_manifest_named(const struct ldb_manifest *manifest, uint64_t number)
{
	for (size_t i = 0; i < manifest->gone_count; i++)
		if (manifest->gone[i] == number)
			return true;
	return ldb_manifest_find(manifest, number) != NULL;
}

int ldb_manifest_delete(struct ldb_manifest *manifest, uint64_t number, unsigned int level)
{
	size_t at = manifest_at(manifest, number, level);
	struct ldb_manifest_table *table;

	if (at == manifest->count)
		return 0;
	table = manifest->tables + at;
	if (table->number != number || table->level != level)
		return 0;
	if (manifest->gone_count == manifest->gone_room) {
		uint64_t *gone =
			ldb_buffer_more(manifest->gone, &manifest->gone_room, 64, sizeof(*gone));

		if (!gone)
			return -ENOMEM;
		manifest->gone = gone;
	}
	manifest->gone[manifest->gone_count++] = number;
	free((void *)(uintptr_t)table->smallest.data);
	free((void *)(uintptr_t)table->largest.data);
	manifest->count--;
	memmove(table, table + 1, (manifest->count - at) * sizeof(*table));
	return 0;
}

static bool manifest_copy(struct wcs_slice *to, struct wcs_slice from)
{
	void *copy = malloc(from.len + 1);

	if (copy && from.len > 0)
		memcpy(copy, from.data, from.len);
	*to = (struct wcs_slice){copy, from.len};
	return copy != NULL;
}

int ldb_manifest_add(struct ldb_manifest *manifest, const struct ldb_manifest_table *table)
{
	size_t at = manifest_at(manifest, table->number, table->level);
	struct ldb_manifest_table made = *table;

	if (manifest->count == manifest->room) {
		struct ldb_manifest_table *tables =
			ldb_buffer_more(manifest->tables, &manifest->room, 64, sizeof(*tables));

		if (!tables)
			return -ENOMEM;
		manifest->tables = tables;
	}
	if (!manifest_copy(&made.smallest, table->smallest))
		return -ENOMEM;
	if (!manifest_copy(&made.largest, table->largest)) {
		free((void *)(uintptr_t)made.smallest.data);
		return -ENOMEM;
	}
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

static int manifest_say_overlap(const struct ldb_manifest_table *one,
				const struct ldb_manifest_table *other, struct wcs_fault *fault)
{
	char names[2][LDB_FILE_NAME_MAX];

	ldb_file_name(names[0], LDB_FILE_TABLE, one->number);
	ldb_file_name(names[1], LDB_FILE_TABLE, other->number);
	return wcs_fault_set(fault, -EIO, "tables %s and %s of level %u overlap", names[0],
			     names[1], one->level);
}

static int manifest_check_numbers(const struct ldb_manifest *manifest, struct wcs_fault *fault)
{
	char name[LDB_FILE_NAME_MAX];

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

int ldb_manifest_check(const struct ldb_manifest *manifest, struct wcs_fault *fault)
{
	const struct ldb_manifest_table **sorted;
	int err = manifest_check_numbers(manifest, fault);

	if (err)
		return err;
	sorted = malloc((manifest->count + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < manifest->count; i++)
		sorted[i] = &manifest->tables[i];
	qsort(sorted, manifest->count, sizeof(*sorted), manifest_compare);
	for (size_t i = 1; !err && i < manifest->count; i++)
		if (sorted[i]->level > 0 && sorted[i]->level == sorted[i - 1]->level &&
		    ldb_internal_compare(sorted[i - 1]->largest, sorted[i]->smallest) >= 0)
			err = manifest_say_overlap(sorted[i - 1], sorted[i], fault);
	free(sorted);
	return err;
}

bool ldb_manifest_overlaps(const struct ldb_manifest *manifest, unsigned int level, uint64_t number,
			   const struct ldb_manifest_table *table)
{
	for (size_t i = 0; level > 0 && i < manifest->count; i++) {
		const struct ldb_manifest_table *other = &manifest->tables[i];

		if (other->level == level && other->number != number &&
		    ldb_internal_compare(table->smallest, other->largest) <= 0 &&
		    ldb_internal_compare(table->largest, other->smallest) >= 0)
			return true;
	}
	return false;
}

/* ---- Edits ------------------------------------------------------------------------------- */

static bool manifest_text(struct ldb_rest *rest, struct wcs_slice *text)
{
	struct ldb_rest found;

	if (!ldb_rest_text(rest, &found))
		return false;
	*text = (struct wcs_slice){found.data, found.len};
	return true;
}

/* An internal key. LevelDB reads the 8 bytes at its end without looking whether they are there. */
static bool manifest_key(struct ldb_rest *rest, struct wcs_slice *key)
{
	return manifest_text(rest, key) && key->len >= 8;
}

static bool manifest_level(struct ldb_rest *rest, unsigned int *level)
{
	uint64_t n;

	if (!ldb_rest_varint(rest, &n) || n >= LDB_MANIFEST_LEVELS)
		return false;
	*level = (unsigned int)n;
	return true;
}

static bool manifest_comparator(struct ldb_rest *rest)
{
	static const char name[] = LDB_MANIFEST_COMPARATOR;
	struct wcs_slice text;

	return manifest_text(rest, &text) && text.len == sizeof(name) - 1 &&
	       memcmp(text.data, name, text.len) == 0;
}

/* One item of an edit. -EIO: it is none. */
static int manifest_item(struct ldb_manifest *manifest, struct ldb_rest *rest)
{
	struct ldb_manifest_table table;
	struct wcs_slice text;
	uint64_t tag;

	if (!ldb_rest_varint(rest, &tag))
		return -EIO;
	switch (tag) {
	case LDB_EDIT_COMPARATOR:
		return manifest_comparator(rest) ? 0 : -EIO;
	case LDB_EDIT_LOG:
		return ldb_rest_varint(rest, &manifest->log_number) ? 0 : -EIO;
	case LDB_EDIT_NEXT_FILE:
		return ldb_rest_varint(rest, &manifest->next_file) ? 0 : -EIO;
	case LDB_EDIT_SEQUENCE:
		return ldb_rest_varint(rest, &manifest->sequence) ? 0 : -EIO;
	case LDB_EDIT_PREVIOUS_LOG:
		return ldb_rest_varint(rest, &manifest->previous_log) ? 0 : -EIO;
	case LDB_EDIT_POINTER:
		return manifest_level(rest, &table.level) && manifest_key(rest, &text) ? 0 : -EIO;
	case LDB_EDIT_DELETED:
		if (!manifest_level(rest, &table.level) || !ldb_rest_varint(rest, &table.number))
			return -EIO;
		return ldb_manifest_delete(manifest, table.number, table.level);
	case LDB_EDIT_NEW:
		if (!manifest_level(rest, &table.level) || !ldb_rest_varint(rest, &table.number) ||
		    !ldb_rest_varint(rest, &table.size) || !manifest_key(rest, &table.smallest) ||
		    !manifest_key(rest, &table.largest))
			return -EIO;
		return ldb_manifest_add(manifest, &table);
	default:
		return -EIO;
	}
}

static int manifest_edit(struct ldb_manifest *manifest, struct wcs_slice record)
{
	struct ldb_rest rest = {record.data, record.len};
	int err = 0;

	while (!err && rest.len > 0)
		err = manifest_item(manifest, &rest);
	return err;
}

static int manifest_read_edits(struct ldb_manifest *manifest, struct ldb_logfile *log,
			       struct wcs_fault *fault)
{
	struct wcs_slice record;
	int event;

	while ((event = ldb_logfile_next(log, &record)) == LDB_LOGFILE_RECORD) {
		int err = manifest_edit(manifest, record);

		if (err == -EIO)
			return wcs_fault_set(fault, -EIO, "at %" PRIu64 ": a record is no edit",
					     log->end);
		if (err)
			return err;
	}
	manifest->end = log->end;
	manifest->torn = log->torn;
	if (event == LDB_LOGFILE_DAMAGE)
		return wcs_fault_set(fault, -EIO, "at %" PRIu64 ": %s", log->damaged_at,
				     log->damage);
	if (event == -EIO)
		return wcs_fault_set(fault, -EIO, "it cannot be read");
	if (event == 0 && manifest->next_file == 0)
		return wcs_fault_set(fault, -EIO, "it has no edits");
	return event;
}

int ldb_manifest_read(int dir, const char *name, struct ldb_manifest *manifest,
		      struct wcs_fault *fault)
{
	struct ldb_logfile *log = malloc(sizeof(*log));
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct ldb_manifest made = {0};
	int err = log ? 0 : -ENOMEM;

	if (!err && fd < 0)
		err = wcs_fault_set(fault, -EIO, "%s", strerror(errno));
	if (!err) {
		snprintf(made.name, sizeof(made.name), "%s", name);
		ldb_logfile_init(log, fd);
		err = manifest_read_edits(&made, log, fault);
		ldb_logfile_free(log);
		if (!err)
			err = ldb_manifest_check(&made, fault);
	}
	if (fd >= 0)
		close(fd);
	free(log);
	if (err)
		ldb_manifest_free(&made);
	else
		*manifest = made;
	return err;
}
