/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB's files without LevelDB, and finds their faults.
 *
 * LevelDB's own checks leave gaps, even paranoid ones:
 *
 * - It takes a record of a log or MANIFEST whose damaged length reaches beyond the end of the file
 *   for one that was being written, and ignores it and all behind it (logfile.c).
 * - It does not notice a MANIFEST that was cut between two edits, nor a missing log. But a log is
 *   created, and its name synced, before a MANIFEST names it, and removed only after a later edit
 *   names another; so if the log that the MANIFEST names is missing, something is lost. (After
 *   LevelDB's own repair it names none.)
 * - Its errors do not name the file.
 * - It takes zeros that a power cut left at the end of a file (logfile.c) for damage.
 *
 * A log that was cut cannot be told from one whose end never reached the medium.
 *
 * Each entry of a database has its own sequence number, which is part of its key. No two tables in
 * use therefore share a key, and the size, the first and the last key, which the MANIFEST has,
 * identify a whole table. A damaged one with a key outside that range is another. Another table
 * must not be used in this place: its keys could overlap those of other tables of the level, or old
 * entries come to lie above newer ones.
 */
#include "store/leveldb/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/disk/directory.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"

/* Notes a fault of the file; its name is made of its number but for a MANIFEST and CURRENT. */
static int files_add(struct ldb_files *files, const struct ldb_files_fault *of, const char *format,
		     ...) __attribute__((format(printf, 3, 4)));
static int files_add(struct ldb_files *files, const struct ldb_files_fault *of, const char *format,
		     ...)
{
	struct ldb_files_fault *fault;
	va_list args;

	if (grow(&files->faults, &files->fault_room, files->fault_count + 1, 16, sizeof(*fault)))
		return -ENOMEM;
	fault = &files->faults[files->fault_count++];
	*fault = *of;
	fault->smallest = fault->largest = (struct ldb_buffer){0};
	if (!fault->name[0])
		ldb_file_name(fault->name, fault->kind, fault->number);
	va_start(args, format);
	vsnprintf(fault->what, sizeof(fault->what), format, args);
	va_end(args);
	return 0;
}

static int files_progress(struct ldb_files *files, uint64_t bytes)
{
	files->bytes += bytes;
	return files->progress ? files->progress(files->ctx, files->bytes, files->all) : 0;
}

/* ---- The files in use -------------------------------------------------------------------- */

/* Lists the name. Also sets current to the newest MANIFEST, for a store whose CURRENT names none.
 */
static int files_list(void *ctx, int dir, const char *name)
{
	struct ldb_files *files = ctx;
	struct ldb_files_name file = {.number = 0};
	uint64_t newest = 0;
	struct stat st;

	file.kind = ldb_file_parse(name, &file.number);
	if (file.kind == LDB_FILE_OTHER)
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		files->all += (uint64_t)st.st_size;
	if (files->current[0])
		ldb_file_parse(files->current, &newest);
	if (file.kind == LDB_FILE_MANIFEST && (!files->current[0] || file.number > newest))
		snprintf(files->current, sizeof(files->current), "%s", name);
	if (grow(&files->list, &files->list_room, files->list_count + 1, 64, sizeof(file)))
		return -ENOMEM;
	files->list[files->list_count++] = file;
	return 0;
}

static int files_read_manifest(struct ldb_files *files)
{
	struct ldb_files_fault of = {.kind = LDB_FILE_CURRENT, .name = "CURRENT"};
	struct wcs_fault why = {0};
	int rc = ldb_manifest_current(files->dir, files->current, &why);

	files->count++;
	if (rc)
		rc = files_add(files, &of, "%s", why.text);
	if (rc)
		return rc;
	of = (struct ldb_files_fault){.kind = LDB_FILE_MANIFEST, .name = "MANIFEST"};
	of.missing = !files->current[0];
	if (of.missing)
		return files_add(files, &of, "there is none");
	files->count++;
	rc = ldb_manifest_read(files->dir, files->current, &files->manifest, &why);
	files->whole = rc == 0;
	memcpy(of.name, files->current, sizeof(of.name));
	return rc == -EIO ? files_add(files, &of, "%s", why.text) : rc;
}

int ldb_files_open(const char *path, struct ldb_files *files, struct wcs_fault *fault)
{
	int rc;

	memset(files, 0, sizeof(*files));
	files->most = LDB_NUMBER_MAX;
	files->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (files->dir < 0)
		return wcs_fault_set(fault, -EIO, "%s: %s", directory_name(path), strerror(errno));
	rc = directory_each(files->dir, files_list, files);
	if (!rc)
		rc = files_read_manifest(files);
	if (!rc)
		return 0;
	ldb_files_close(files);
	return wcs_fault_set(fault, rc, "%s: %s", directory_name(path), strerror(-rc));
}

void ldb_files_close(struct ldb_files *files)
{
	if (files->dir >= 0)
		close(files->dir);
	files->dir = -1;
	ldb_manifest_free(&files->manifest);
	free(files->list);
	free(files->faults);
	files->list = NULL;
	files->faults = NULL;
}

bool ldb_files_is_used(const struct ldb_files *files, const struct ldb_files_name *file)
{
	const struct ldb_manifest *manifest = &files->manifest;

	if (file->kind == LDB_FILE_TABLE)
		return ldb_manifest_find(manifest, file->number) != NULL;
	return file->kind != LDB_FILE_LOG || file->number >= manifest->log_number ||
	       file->number == manifest->previous_log;
}

/* ---- Logs -------------------------------------------------------------------------------- */

/* A log as it is read. Sequence numbers rise by no more between two batches than there are bytes
 * lost between them: others behind damage are bytes of a value that look like a batch. */
struct files_log {
	struct ldb_logfile log;
	uint64_t next, end; /* behind the last batch: the next number, and its end */
	uint64_t batches;
	uint64_t damages; /* of the log, before the end of the last batch */
};

/* Gives the changes of a record, or notes why it is a fault. LevelDB aborts if a key has the same
 * sequence number twice. */
static int files_record(struct ldb_files *files, struct files_log *at, struct wcs_slice record)
{
	static const char number[] = "the record that ends here has a sequence number that is too "
				     "high, or was used before";
	struct ldb_damage *damage = &at->log.damage;
	uint64_t sequence, count;

	if (ldb_logfile_changes(record, NULL, NULL)) {
		ldb_damage_note(damage, at->log.end,
				"the record that ends here is no batch of changes");
		return 0;
	}
	sequence = get_le64(record.data);
	count = get_le32((const unsigned char *)record.data + 8);
	if (sequence < at->next || sequence > LDB_SEQUENCE_MAX - count ||
	    (damage->count > at->damages && at->batches > 0 &&
	     sequence - at->next > at->log.end - at->end)) {
		ldb_damage_note(damage, at->log.end, number);
		return 0;
	}
	at->next = sequence + count;
	at->end = at->log.end;
	at->batches++;
	if (at->next - 1 > files->most)
		ldb_damage_note(damage, at->end, number);
	at->damages = damage->count;
	return files->change ? ldb_logfile_changes(record, files->change, files->ctx) : 0;
}

static int files_log(struct ldb_files *files, uint64_t number)
{
	struct ldb_files_fault of = {.kind = LDB_FILE_LOG, .number = number};
	struct files_log at = {.next = 1};
	char what[160];
	struct wcs_slice record;
	uint64_t before = 0;
	int fd, rc = 0;

	files->count++;
	if (number == 0 || number > files->most)
		rc = files_add(files, &of, "LevelDB gives no log this number");
	if (rc || number == 0)
		return rc;
	ldb_file_name(of.name, LDB_FILE_LOG, number);
	fd = openat(files->dir, of.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return files_add(files, &of, "%s", strerror(errno));
	ldb_logfile_init(&at.log, fd);
	while (!rc && (rc = ldb_logfile_next(&at.log, &record)) == 1) {
		rc = files_progress(files, at.log.end - before);
		before = at.log.end;
		if (!rc)
			rc = files_record(files, &at, record);
	}
	free(at.log.record.data);
	close(fd);
	if (rc)
		return rc;
	of.entries = at.batches;
	of.damage = at.log.damage;
	ldb_damage_say(&of.damage, what, sizeof(what));
	if (of.damage.count > 0)
		return files_add(files, &of, "%s", what);
	return at.log.torn && files->torn ? files->torn(files, of.name, at.log.end, at.log.zeros_at)
					  : 0;
}

int ldb_files_logs(struct ldb_files *files)
{
	const struct ldb_manifest *manifest = &files->manifest;
	struct ldb_files_fault of = {
		.kind = LDB_FILE_LOG, .number = manifest->log_number, .missing = true};
	char name[LDB_FILE_NAME_MAX];
	int rc = 0;

	ldb_file_name(name, LDB_FILE_LOG, of.number);
	if (files->whole && of.number != 0 &&
	    faccessat(files->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		rc = files_add(files, &of, "it is missing, or the end of %s is", manifest->name);
	if (!rc && files->whole && manifest->torn && files->torn)
		rc = files->torn(files, manifest->name, manifest->end, manifest->zeros_at);
	for (size_t i = 0; !rc && i < files->list_count; i++)
		if (files->list[i].kind == LDB_FILE_LOG &&
		    (!files->whole || ldb_files_is_used(files, &files->list[i])))
			rc = files_log(files, files->list[i].number);
	return rc;
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Opens a table that exists. -1: errno. */
static int files_open_table(const struct ldb_files *files, uint64_t number, uint64_t *size)
{
	char name[LDB_FILE_NAME_MAX];
	struct stat st;
	int fd;

	ldb_file_name(name, LDB_FILE_TABLE, number);
	fd = openat(files->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EISDIR;
		return -1;
	}
	*size = fd < 0 ? 0 : (uint64_t)st.st_size;
	return fd;
}

/* Tells that entries between the last key and this one cannot be read. */
static int files_lose(struct ldb_files *files, struct ldb_files_fault *found,
		      const struct ldb_manifest_table *known, struct wcs_slice to)
{
	struct wcs_slice from = ldb_buffer_slice(&found->largest);

	if (from.len == 0 && known)
		from = known->smallest;
	return files->lost ? files->lost(files->ctx, found->number, from, to) : 0;
}

/* Reads an open table. known: as the MANIFEST describes it; NULL: nothing does for sure. */
static int files_read_table(struct ldb_files *files, struct ldb_tablefile *table,
			    struct ldb_files_fault *found, const struct ldb_manifest_table *known)
{
	const struct wcs_slice *key = &table->data.key, none = {NULL, 0};
	uint64_t damages = 0;
	int more = 0, rc = ldb_tablefile_open(table);
	bool lost;

	while (!rc && (more = ldb_tablefile_next(table)) == 1) {
		lost = found->entries == 0 && known
			       ? ldb_internal_compare(known->smallest, *key) != 0
			       : table->damage.count > damages;
		damages = table->damage.count;
		if (lost)
			rc = files_lose(files, found, known, *key);
		if (!rc && found->entries++ == 0)
			rc = ldb_buffer_set(&found->smallest, *key);
		if (!rc)
			rc = ldb_buffer_set(&found->largest, *key);
		if (!rc && files->change)
			rc = files->change(files->ctx, ldb_internal_tag(*key),
					   (struct wcs_slice){key->data, key->len - 8},
					   table->data.value);
		if (ldb_internal_tag(*key) >> 8 > found->sequence)
			found->sequence = ldb_internal_tag(*key) >> 8;
		if (!rc && table->bytes != found->bytes)
			rc = files_progress(files, table->bytes - found->bytes);
		found->bytes = table->bytes;
	}
	found->bytes = table->bytes;
	found->damage = table->damage;
	if (rc || more < 0)
		return rc ? rc : more;
	lost = known ? found->entries == 0 ||
			       wcs_slice_compare(known->largest,
						 ldb_buffer_slice(&found->largest)) != 0
		     : table->damage.count > 0;
	return lost ? files_lose(files, found, known, known ? known->largest : none) : 0;
}

static bool files_is(const struct ldb_files_fault *found, const struct ldb_manifest_table *known)
{
	return found->damage.count == 0 && found->size == known->size &&
	       wcs_slice_compare(ldb_buffer_slice(&found->smallest), known->smallest) == 0 &&
	       wcs_slice_compare(ldb_buffer_slice(&found->largest), known->largest) == 0;
}

/* Is it another than the MANIFEST describes: whole and not that one, or damaged with a key outside
 * of that one's range? */
static bool files_is_another(const struct ldb_files_fault *found,
			     const struct ldb_manifest_table *known)
{
	struct wcs_slice smallest = ldb_buffer_slice(&found->smallest);
	struct wcs_slice largest = ldb_buffer_slice(&found->largest);

	if (found->damage.count == 0)
		return !files_is(found, known);
	return smallest.len > 0 && (ldb_internal_compare(smallest, known->smallest) < 0 ||
				    ldb_internal_compare(largest, known->largest) > 0);
}

/* Notes the fault of a table that was read, if it has one. */
static int files_judge(struct ldb_files *files, struct ldb_files_fault *found,
		       const struct ldb_manifest_table *known)
{
	const char *another;
	char what[128];

	found->another = known && files_is_another(found, known);
	found->foreign = found->another;
	another = !found->another	    ? ""
		  : found->damage.count > 0 ? "it is another table, and damaged: "
					    : "it is another table: ";
	for (size_t i = 0; found->foreign && i < files->manifest.count; i++)
		found->foreign = !files_is(found, &files->manifest.tables[i]);
	files->whole &= !found->another;
	ldb_damage_say(&found->damage, what, sizeof(what));
	if (known && found->size != known->size && (found->another || found->damage.count > 0))
		return files_add(files, found,
				 "%sit has %" PRIu64 " bytes and should have %" PRIu64, another,
				 found->size, known->size);
	if (found->damage.count > 0)
		return files_add(files, found, "%s%s", another, what);
	if (found->another)
		return files_add(files, found, "%sit has other keys", another);
	return found->sequence > files->most
		       ? files_add(files, found,
				   "it has a sequence number that leaves no room for more")
		       : 0;
}

static int files_table(struct ldb_files *files, uint64_t number)
{
	const struct ldb_manifest_table *known = ldb_manifest_find(&files->manifest, number);
	struct ldb_files_fault found = {.kind = LDB_FILE_TABLE, .number = number};
	struct ldb_tablefile *table;
	int fd = files_open_table(files, number, &found.size), rc;

	files->count++;
	found.missing = fd < 0 && errno == ENOENT;
	if (fd < 0)
		return files_add(files, &found, "%s",
				 found.missing ? "it is missing" : strerror(errno));
	table = calloc(1, sizeof(*table));
	rc = table ? 0 : -ENOMEM;
	if (!rc) {
		*table = (struct ldb_tablefile){.fd = fd, .size = found.size};
		rc = files_read_table(files, table, &found, files->whole ? known : NULL);
		ldb_tablefile_close(table);
	}
	free(table);
	close(fd);
	if (!rc)
		rc = files_judge(files, &found, known);
	free(found.smallest.data);
	free(found.largest.data);
	return rc;
}

/* Has the table a wrong size, or may it have keys that start with one of these bytes? */
static bool files_concerns(const struct ldb_files *files, const struct ldb_manifest_table *table,
			   const char *spaces)
{
	const unsigned char *smallest = table->smallest.data, *largest = table->largest.data;
	uint64_t size = 0;
	int fd = files_open_table(files, table->number, &size);

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
	const struct ldb_manifest *manifest = &files->manifest;
	bool whole = files->whole;
	int rc = 0;

	for (size_t i = 0; !rc && whole && i < manifest->count; i++)
		if (!spaces || files_concerns(files, &manifest->tables[i], spaces))
			rc = files_table(files, manifest->tables[i].number);
	for (size_t i = 0; !rc && !whole && i < files->list_count; i++)
		if (files->list[i].kind == LDB_FILE_TABLE)
			rc = files_table(files, files->list[i].number);
	return rc;
}

/* ---- Entries ----------------------------------------------------------------------------- */

static int files_compare(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int files_compare_names(const void *a, const void *b)
{
	return files_compare(((const struct ldb_files_name *)a)->number,
			     ((const struct ldb_files_name *)b)->number);
}

/* Orders tables by the age of their entries, the oldest first: the deepest level first, and tables
 * of level 0 by number. */
static int files_compare_age(const void *a, const void *b)
{
	const struct ldb_manifest_table *one = *(const struct ldb_manifest_table *const *)a;
	const struct ldb_manifest_table *other = *(const struct ldb_manifest_table *const *)b;

	if (one->level != other->level)
		return one->level > other->level ? -1 : 1;
	return one->level == 0 ? files_compare(one->number, other->number)
			       : ldb_internal_compare(one->smallest, other->smallest);
}

static int files_by_age(struct ldb_files *files)
{
	size_t count = files->manifest.count;
	const struct ldb_manifest_table **tables = calloc(count + 1, sizeof(*tables));
	int rc = 0;

	if (!tables)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		tables[i] = &files->manifest.tables[i];
	qsort(tables, count, sizeof(*tables), files_compare_age);
	for (size_t i = 0; !rc && i < count; i++)
		rc = files_table(files, tables[i]->number);
	free(tables);
	return rc;
}

/* Another database's entries stay out. */
static bool files_is_foreign(const struct ldb_files *files, uint64_t number)
{
	for (size_t i = 0; i < files->fault_count; i++)
		if (files->faults[i].foreign && files->faults[i].number == number)
			return true;
	return false;
}

int ldb_files_entries(struct ldb_files *files)
{
	size_t faults = files->fault_count;
	int rc = files->whole ? files_by_age(files) : 0;

	if (files->list_count > 0)
		qsort(files->list, files->list_count, sizeof(*files->list), files_compare_names);
	for (size_t i = 0; !rc && i < files->list_count; i++) {
		const struct ldb_files_name *file = &files->list[i];

		if (file->kind == LDB_FILE_LOG && (!files->whole || ldb_files_is_used(files, file)))
			rc = files_log(files, file->number);
		else if (file->kind == LDB_FILE_TABLE && !files->whole &&
			 !files_is_foreign(files, file->number))
			rc = files_table(files, file->number);
	}
	files->fault_count = faults;
	return rc;
}

int ldb_files_unlisted(struct ldb_files *files)
{
	size_t faults = files->fault_count;
	int rc = 0;

	for (size_t i = 0; !rc && i < files->list_count; i++)
		if (!ldb_files_is_used(files, &files->list[i]) &&
		    files->list[i].kind == LDB_FILE_TABLE)
			rc = files_table(files, files->list[i].number);
	files->fault_count = faults;
	return rc;
}

/* ---- The end of the MANIFEST ------------------------------------------------------------- */

int ldb_files_end(struct ldb_files *files)
{
	struct ldb_files_fault of = {.kind = LDB_FILE_MANIFEST};
	uint64_t unlisted = 0;
	bool missing = false;
	int rc = 0;

	memcpy(of.name, files->manifest.name, sizeof(of.name));
	if (files->manifest.sequence > files->most || files->manifest.next_file > files->most)
		rc = files_add(files, &of, "its numbers leave no room for more");
	if (rc)
		return rc;
	for (size_t i = 0; i < files->fault_count; i++)
		missing |= files->faults[i].missing;
	if (!files->whole || !missing)
		return 0;
	for (size_t i = 0; !rc && i < files->list_count; i++) {
		const struct ldb_files_name *file = &files->list[i];

		if (ldb_files_is_used(files, file))
			continue;
		unlisted++;
		rc = file->kind == LDB_FILE_LOG ? files_log(files, file->number)
						: files_table(files, file->number);
	}
	if (rc || unlisted == 0)
		return rc;
	files->whole = false;
	return files_add(files, &of,
			 "its end is missing: it names files that are gone, and not all that there "
			 "are (%" PRIu64 ")",
			 unlisted);
}
