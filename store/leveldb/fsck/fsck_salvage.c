/* SPDX-License-Identifier: MIT */
/* Copies the readable part of a damaged table or log to a new one. */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/logfile.h"

/* Notes that the keys between the last entry and `to` are lost. */
static int salvage_lose(struct ldb_fsck_salvage *salvage, struct wcs_slice to)
{
	struct wcs_slice from = ldb_buffer_slice(&salvage->writer.largest);
	char name[LDB_FILE_NAME_MAX];

	salvage->damaged = false;
	salvage->lost = true;
	if (from.len == 0 && salvage->known)
		from = salvage->known->smallest;
	ldb_file_name(name, LDB_FILE_TABLE,
		      salvage->known ? salvage->known->number : salvage->by->number);
	return ldb_fsck_lose(salvage->f, name, from, to);
}

static int salvage_entry(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck_salvage *salvage = ctx;
	const struct ldb_manifest_table *known = salvage->known;

	if (salvage->entries == 0 && known)
		salvage->damaged = ldb_internal_compare(known->smallest, key) != 0;
	if (salvage->damaged)
		salvage->rc = salvage_lose(salvage, key);
	if (!salvage->rc)
		salvage->rc = ldb_tablefile_add(&salvage->writer, key, value);
	salvage->entries++;
	return salvage->rc != 0;
}

static void salvage_damaged(void *ctx, uint64_t offset, const char *what)
{
	struct ldb_fsck_salvage *salvage = ctx;

	(void)offset;
	(void)what;
	salvage->damages++;
	salvage->damaged = true;
}

/* Copies the entries, and notes the keys lost after the last one. */
static int salvage_write(int from, uint64_t size, struct ldb_fsck_salvage *salvage)
{
	struct ldb_tablefile_visit visit = {
		.damaged = salvage_damaged, .entry = salvage_entry, .ctx = salvage};
	const struct ldb_manifest_table *known = salvage->known;
	struct ldb_manifest_table *by = salvage->by;
	struct wcs_slice last, end = known ? known->largest : (struct wcs_slice){"", 0};
	int rc = ldb_tablefile_visit(from, size, &visit);

	if (rc > 0)
		rc = salvage->rc;
	last = ldb_buffer_slice(&salvage->writer.largest);
	if (!rc &&
	    (known ? last.len == 0 || ldb_internal_compare(last, end) != 0 : salvage->damages > 0))
		rc = salvage_lose(salvage, end);
	return rc ? rc
		  : ldb_tablefile_finish(&salvage->writer, &by->size, &by->smallest, &by->largest);
}

int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size)
{
	int to, rc;

	salvage->by->size = 0;
	to = openat(salvage->dir, salvage->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return ldb_file_errno();
	salvage->writer.fd = to;
	rc = salvage_write(from, size, salvage);
	if (rc || salvage->by->size == 0)
		unlinkat(salvage->dir, salvage->name, 0);
	close(to);
	return rc;
}

/* The new log. Sequence numbers rise by no more between two batches than there are bytes lost
 * between them: others behind damage are bytes of a value that look like a batch. */
struct salvage_log {
	int to;
	uint64_t at, records;
	uint64_t end, next; /* of the last batch: its end in the old log; the next number */
	bool damaged;	    /* since the last batch */
};

static int salvage_record(struct salvage_log *salvage, const struct ldb_logfile *log,
			  struct wcs_slice record)
{
	uint64_t next = salvage->next;

	if (!ldb_logfile_is_batch(record) || !ldb_logfile_in_sequence(record, &next) ||
	    next > LDB_NUMBER_MAX / 2 ||
	    (salvage->damaged && salvage->records > 0 &&
	     get_le64(record.data) - salvage->next > log->end - salvage->end))
		return 0;
	salvage->damaged = false;
	salvage->end = log->end;
	salvage->next = next;
	salvage->records++;
	return ldb_logfile_append(salvage->to, &salvage->at, record.data, record.len);
}

int ldb_fsck_salvage_log(int from, int to, uint64_t *records)
{
	struct salvage_log salvage = {.to = to, .next = 1};
	struct ldb_logfile log;
	struct wcs_slice record;
	int event, rc = 0;

	ldb_logfile_init(&log, from);
	while (!rc && (event = ldb_logfile_next(&log, &record)) != LDB_LOGFILE_END) {
		if (event == LDB_LOGFILE_RECORD)
			rc = salvage_record(&salvage, &log, record);
		else if (event == LDB_LOGFILE_DAMAGE)
			salvage.damaged = true;
		else if (event == -EIO)
			break; /* the disk fails; the rest cannot be read */
		else
			rc = event;
	}
	*records += salvage.records;
	free(log.record.data);
	if (!rc && (ftruncate(to, (off_t)salvage.at) || fsync(to)))
		rc = -EIO;
	return rc;
}
