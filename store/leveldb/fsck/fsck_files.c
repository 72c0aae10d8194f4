/* SPDX-License-Identifier: MIT */
/*
 * Checks LevelDB's files, and finds those whose entries are read: the tables and logs in use, or
 * all that there are if the MANIFEST is not whole or a table has another's name. Changes of logs go
 * to the temporary database, which sorts them.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/system/message.h"
#include "store/disk/directory.h"
#include "store/leveldb/formats/block.h"

/* ---- Callbacks --------------------------------------------------------------------------- */

static int files_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct ldb_fsck *f = ctx;

	return wcs_fsck_progress(f->fsck, "files", done, total);
}

/* A torn end is not damage for sure. */
static int files_torn(struct ldb_files *files, const char *name, uint64_t end, uint64_t zeros_at)
{
	struct ldb_fsck *f = files->ctx;

	(void)zeros_at;
	if (f->mode == LDB_FSCK_LOOK)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "it ends in zeros: what was not synced when the "
			       "machine went down, or damage in its last record; a mount cuts it "
			       "there, and keeps what it cuts",
			       NULL, "data/%s, at %" PRIu64, name, end);
	return 0;
}

static int files_lost(void *ctx, uint64_t number, struct wcs_slice from, struct wcs_slice to)
{
	return ldb_fsck_lose(ctx, number, from, to);
}

/* A table was read. A foreign one is left out: it may be another store's. */
static int files_table(void *ctx, struct ldb_files_fault *found)
{
	struct ldb_fsck *f = ctx;
	struct ldb_fsck_source *source;

	f->live += found->bytes;
	while (found->foreign && f->lost_count > 0 &&
	       f->lost[f->lost_count - 1].number == found->number)
		ldb_fsck_lost_clear(f, f->lost_count - 1);
	if (found->foreign || found->entries == 0)
		return 0;
	if (grow(&f->sources, &f->source_room, f->source_count + 1, 64, sizeof(*f->sources)))
		return -ENOMEM;
	source = &f->sources[f->source_count++];
	*source = (struct ldb_fsck_source){.number = found->number,
					   .size = found->size,
					   .good = found->damage.count == 0,
					   .smallest = found->smallest,
					   .largest = found->largest};
	found->smallest.data = found->largest.data = NULL;
	return 0;
}

/* Ends the check at a file that this process may not read, which is no damage, and at a directory
 * in the place of a file, which somebody made. */
static int files_may_read(void *ctx, int dir, const char *name)
{
	struct ldb_fsck *f = ctx;
	uint64_t number;
	int fd;

	if (!ldb_file_owns(name))
		return 0;
	if (directory_is_place(dir, name))
		return wcs_fault_set(f->fsck->fault, -EIO,
				     "data/%s: it is a directory where a file belongs; move it "
				     "away by hand",
				     name);
	if (ldb_file_parse(name, &number) == LDB_FILE_OTHER)
		return 0;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return close(fd);
	return directory_is_barred(errno)
		       ? wcs_fault_set(f->fsck->fault, -EIO, "data/%s: %s", name, strerror(errno))
		       : 0;
}

/* ---- The files --------------------------------------------------------------------------- */

static int files_compare(const void *a, const void *b)
{
	return ldb_internal_compare(
		ldb_buffer_slice(&((const struct ldb_fsck_source *)a)->smallest),
		ldb_buffer_slice(&((const struct ldb_fsck_source *)b)->smallest));
}

static void files_clear(struct ldb_fsck *f)
{
	for (size_t i = 0; i < f->source_count; i++) {
		free(f->sources[i].smallest.data);
		free(f->sources[i].largest.data);
	}
	f->source_count = 0;
	f->live = 0;
	ldb_fsck_lost_clear(f, 0);
}

/* Reads all files, since nothing says which are in use. */
static int files_all(struct ldb_fsck *f)
{
	struct ldb_files *files = &f->files;

	files_clear(f);
	files->all += files->bytes;
	return ldb_files_all(files);
}

/* Notes the keys that are lost with whole files. */
static int files_lose(struct ldb_fsck *f)
{
	const struct ldb_manifest_table *known;
	int rc = 0;

	for (size_t i = 0; !rc && i < f->files.fault_count; i++) {
		const struct ldb_files_fault *fault = &f->files.faults[i];

		f->copy_wins |= fault->kind == LDB_FILE_LOG;
		known = ldb_manifest_find(&f->files.manifest, fault->number);
		if (fault->kind == LDB_FILE_TABLE && known &&
		    (fault->another || (fault->missing && f->files.whole)))
			rc = ldb_fsck_lose(f, fault->number, known->smallest, known->largest);
	}
	return rc;
}

int ldb_fsck_files(struct ldb_fsck *f)
{
	struct ldb_files *files = &f->files;
	int rc = ldb_files_open(f->data, files, f->fsck->fault);
	bool whole = files->whole; /* else all files are read at once */

	if (rc)
		return rc;
	files->progress = files_progress;
	files->torn = files_torn;
	files->change = ldb_fsck_scratch_change;
	files->lost = files_lost;
	files->table = files_table;
	files->ctx = f;
	f->fsck->fault->text[0] = '\0';
	rc = directory_each(files->dir, files_may_read, f);
	if (!rc)
		rc = ldb_files_logs(files);
	if (!rc)
		rc = ldb_files_tables(files, NULL);
	if (!rc)
		rc = ldb_files_end(files);
	if (!rc && whole && !files->whole && f->fsck->options->repair)
		rc = files_all(f);
	if (!rc)
		rc = files_lose(f);
	if (f->mode == LDB_FSCK_LOOK)
		f->fsck->result->files = files->count;
	if (rc && f->fsck->fault->text[0] == '\0')
		wcs_fault_set(f->fsck->fault, rc, "data: %s", strerror(-rc));
	if (f->source_count > 0)
		qsort(f->sources, f->source_count, sizeof(*f->sources), files_compare);
	return rc;
}

/* ---- Reports ----------------------------------------------------------------------------- */

/* How a fault is corrected by a copy of the entries that can be read. */
static void files_done(const struct ldb_fsck *f, const struct ldb_files_fault *fault, char *done,
		       size_t room)
{
	const char *of = fault->kind == LDB_FILE_TABLE ? "key" : "change";

	if (!f->files.whole)
		snprintf(done, room, LDB_FSCK_REBUILT);
	else if (fault->kind == LDB_FILE_CURRENT || fault->kind == LDB_FILE_MANIFEST)
		snprintf(done, room, "made anew");
	else if (fault->missing)
		snprintf(done, room,
			 fault->kind == LDB_FILE_TABLE ? "what was in it is lost"
						       : "the last changes are lost");
	else
		snprintf(done, room, "%" PRIu64 " %s%s could be read in it and stay%s",
			 fault->entries, of, message_plural(fault->entries),
			 fault->kind == LDB_FILE_TABLE && !fault->lost ? ", all that it had" : "");
}

/* Names the tables that LevelDB does not use, and removes when it opens the store. */
static void files_tell_unlisted(struct ldb_fsck *f)
{
	char what[900], names[800] = "", name[LDB_FILE_NAME_MAX];
	size_t count = 0, len = 0;

	for (size_t i = 0; i < f->files.list_count; i++) {
		const struct ldb_files_name *file = &f->files.list[i];

		if (file->kind != LDB_FILE_TABLE || ldb_files_is_used(&f->files, file))
			continue;
		ldb_file_name(name, file->kind, file->number);
		if (len + strlen(name) + 6 < sizeof(names))
			len += (size_t)sprintf(names + len, " %s", name);
		else
			strcpy(names + len, " ...");
		count++;
	}
	snprintf(what, sizeof(what),
		 "no MANIFEST lists %zu table%s, which the next mount removes:%s", count,
		 message_plural(count), names);
	if (count > 0)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, what, NULL, "data");
}

int ldb_fsck_files_tell(struct ldb_fsck *f)
{
	char place[LDB_FILE_NAME_MAX + 8], done[128];
	int rc = 0;

	for (size_t i = 0; !rc && i < f->files.fault_count; i++) {
		const struct ldb_files_fault *fault = &f->files.faults[i];

		snprintf(place, sizeof(place), "data/%s", fault->name);
		files_done(f, fault, done, sizeof(done));
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, fault->what, done, place);
	}
	if (!rc && f->mode == LDB_FSCK_LOOK && f->files.whole)
		files_tell_unlisted(f);
	return rc;
}

void ldb_fsck_files_free(struct ldb_fsck *f)
{
	files_clear(f);
	free(f->sources);
	f->sources = NULL;
	if (f->files.dir >= 0)
		ldb_files_close(&f->files);
}
