/* SPDX-License-Identifier: MIT */
/* Copies the readable part of a damaged table or log to a new one. */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"

/* Notes that the keys between the last entry and `to` are lost. */
static int salvage_lose(struct ldb_fsck_salvage *salvage, struct wcs_slice to)
{
	struct wcs_slice from = ldb_buffer_slice(&salvage->last);
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
		salvage->rc = ldb_buffer_set(&salvage->last, key);
	if (!salvage->rc)
		salvage->rc = ldb_tablefile_add(salvage->writer, key, value);
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

/* Notes the bytes lost after the last entry. */
static int salvage_end(struct ldb_fsck_salvage *salvage)
{
	static const struct wcs_slice end = {"", 0};
	const struct ldb_manifest_table *known = salvage->known;
	struct wcs_slice last = ldb_buffer_slice(&salvage->last);

	if (!known)
		return salvage->damages > 0 ? salvage_lose(salvage, end) : 0;
	if (last.len > 0 && ldb_internal_compare(last, known->largest) == 0)
		return 0;
	return salvage_lose(salvage, known->largest);
}

static int salvage_write(int from, uint64_t size, struct ldb_fsck_salvage *salvage)
{
	struct ldb_tablefile_visit visit = {
		.damaged = salvage_damaged, .entry = salvage_entry, .ctx = salvage};
	struct ldb_manifest_table *by = salvage->by;
	int rc = ldb_tablefile_visit(from, size, &visit);

	if (rc > 0)
		rc = salvage->rc;
	if (!rc)
		rc = salvage_end(salvage);
	return rc ? rc
		  : ldb_tablefile_finish(salvage->writer, &by->size, &by->smallest, &by->largest);
}

int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size)
{
	int to, rc = 0;

	salvage->by->size = 0;
	to = openat(salvage->dir, salvage->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return ldb_file_errno();
	salvage->writer = ldb_tablefile_writer_new(to);
	if (!salvage->writer)
		rc = -ENOMEM;
	if (!rc)
		rc = salvage_write(from, size, salvage);
	if (rc || salvage->by->size == 0)
		unlinkat(salvage->dir, salvage->name, 0);
	close(to);
	return rc;
}

/* A place in the salvaged log. */
struct salvage_place {
	uint64_t at, records; /* of the new log */
	uint64_t end,
		next; /* of its last batch: its end in the old log; the next sequence number */
};

/* Selects the batches that stay. Bytes in a value of a damaged batch can look like a batch, which
 * must not stay: LevelDB aborts if a key has a sequence number twice. Sequence numbers only rise,
 * and by no more between two batches than there are bytes lost between them. */
struct salvage_log {
	int to;
	uint64_t sequence;		   /* the last one in tables */
	struct salvage_place here, damage; /* now; at the last damage that batches followed */
	bool damaged, passed;		   /* right behind damage; behind any */
};

static bool salvage_follows(const struct salvage_place *last, uint64_t sequence, uint64_t end)
{
	return last->records == 0 || sequence - last->next <= end - last->end;
}

/* Does the batch stay? One that contradicts those since the damage replaces them. */
static bool salvage_belongs(struct salvage_log *salvage, uint64_t sequence, uint64_t end)
{
	if (salvage->damaged) {
		if (!salvage_follows(&salvage->here, sequence, end))
			return false;
		salvage->damage = salvage->here;
		salvage->passed = true;
	} else if (salvage->passed && sequence < salvage->here.next) {
		if (!salvage_follows(&salvage->damage, sequence, end))
			return false;
		salvage->here = salvage->damage;
	}
	salvage->damaged = false;
	return true;
}

/* Are its sequence numbers right there? *next: behind them. */
static bool salvage_in_sequence(const struct salvage_place *here, const unsigned char *batch,
				uint64_t *next)
{
	*next = here->records > 0 ? here->next : 1;
	return ldb_logfile_in_sequence((struct wcs_slice){batch, 12}, next);
}

/* Gives a batch the next sequence numbers where its own are wrong, or so high that those behind it
 * might get none. Behind damage they tell whether it is one. */
static void salvage_number(const struct salvage_log *salvage, unsigned char *batch)
{
	const struct salvage_place *here = &salvage->here;
	uint64_t next;

	if (salvage->damaged || salvage->passed ||
	    (salvage_in_sequence(here, batch, &next) && next <= LDB_NUMBER_MAX / 2))
		return;
	ldb_put64le(batch, here->records > 0 ? here->next : salvage->sequence + 1);
}

static int salvage_record(struct salvage_log *salvage, struct ldb_logfile *log,
			  struct wcs_slice record)
{
	struct salvage_place *here = &salvage->here;
	uint64_t next;

	if (!ldb_logfile_is_batch(record))
		return 0;
	salvage_number(salvage, log->record);
	if (!salvage_belongs(salvage, ldb_get64le(log->record), log->end) ||
	    !salvage_in_sequence(here, log->record, &next))
		return 0;
	here->end = log->end;
	here->next = next;
	here->records++;
	return ldb_logfile_append(salvage->to, &here->at, record.data, record.len);
}

static int salvage_records(struct salvage_log *salvage, struct ldb_logfile *log)
{
	struct wcs_slice record;
	int event, rc = 0;

	while (!rc && (event = ldb_logfile_next(log, &record)) != LDB_LOGFILE_END) {
		if (event == LDB_LOGFILE_RECORD)
			rc = salvage_record(salvage, log, record);
		else if (event == LDB_LOGFILE_DAMAGE)
			salvage->damaged = true;
		else if (event == -EIO)
			break; /* the disk fails; the rest cannot be read */
		else
			rc = event;
	}
	return rc;
}

int ldb_fsck_salvage_log(int from, int to, uint64_t sequence, uint64_t *records)
{
	struct ldb_logfile *log = malloc(sizeof(*log));
	struct salvage_log salvage = {.to = to, .sequence = sequence};
	int rc;

	if (!log)
		return -ENOMEM;
	ldb_logfile_init(log, from);
	rc = salvage_records(&salvage, log);
	*records += salvage.here.records;
	ldb_logfile_free(log);
	free(log);
	if (!rc && (ftruncate(to, (off_t)salvage.here.at) || fsync(to)))
		rc = -EIO;
	return rc;
}
