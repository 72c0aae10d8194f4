/* SPDX-License-Identifier: MIT */
/* What can be read of a damaged table or log, as another. */
#include "store/leveldb/fsck/fsck_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/leveldb/formats/block.h"
#include "store/leveldb/formats/file.h"
#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/tablefile.h"

/* The keys between the last entry and that one are lost. */
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
		salvage->err = salvage_lose(salvage, key);
	if (!salvage->err)
		salvage->err = ldb_buffer_set(&salvage->last, key);
	if (!salvage->err)
		salvage->err = ldb_tablefile_add(salvage->writer, key, value);
	salvage->entries++;
	return salvage->err != 0;
}

static void salvage_damaged(void *ctx, uint64_t offset, const char *what)
{
	struct ldb_fsck_salvage *salvage = ctx;

	(void)offset;
	(void)what;
	salvage->damages++;
	salvage->damaged = true;
}

/* Is anything lost behind the last entry? */
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

/* Writes what can be read of a table to another. by->size is 0 where that is nothing. */
static int salvage_write(int from, uint64_t size, struct ldb_fsck_salvage *salvage)
{
	struct ldb_tablefile_visit visit = {
		.damaged = salvage_damaged, .entry = salvage_entry, .ctx = salvage};
	struct ldb_manifest_table *by = salvage->by;
	int err = ldb_tablefile_visit(from, size, &visit);

	if (err > 0)
		err = salvage->err;
	if (!err)
		err = salvage_end(salvage);
	return err ? err
		   : ldb_tablefile_finish(salvage->writer, &by->size, &by->smallest, &by->largest);
}

int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size)
{
	int to, err = 0;

	salvage->by->size = 0;
	to = openat(salvage->dir, salvage->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return ldb_file_errno();
	salvage->writer = ldb_tablefile_writer_new(to);
	if (!salvage->writer)
		err = -ENOMEM;
	if (!err)
		err = salvage_write(from, size, salvage);
	if (err || salvage->by->size == 0)
		unlinkat(salvage->dir, salvage->name, 0);
	close(to);
	return err;
}

/* How far a log is salvaged. */
struct salvage_place {
	uint64_t at, records; /* of what is made */
	uint64_t end, next;   /* of its last batch: where it ended, the sequence number behind it */
};

/* The batches of a log that stay. What is in a damaged one's value and looks like a batch must not
 * come in, not least since LevelDB aborts where a key has a sequence number twice. These numbers
 * grow; and of what is lost between two batches each change had a byte at least. */
struct salvage_log {
	int to;
	uint64_t sequence;		   /* the last one in tables */
	struct salvage_place here, damage; /* now; when the last damage was met that is passed */
	bool damaged, passed;		   /* just behind one; behind any */
};

static bool salvage_follows(const struct salvage_place *last, uint64_t sequence, uint64_t end)
{
	return last->records == 0 || sequence - last->next <= end - last->end;
}

/* Does it belong there? What came since the damage does not where a good one contradicts it. */
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
	int event, err = 0;

	while (!err && (event = ldb_logfile_next(log, &record)) != LDB_LOGFILE_END) {
		if (event == LDB_LOGFILE_RECORD)
			err = salvage_record(salvage, log, record);
		else if (event == LDB_LOGFILE_DAMAGE)
			salvage->damaged = true;
		else if (event == -EIO)
			break; /* of a failing disk; what is behind it cannot be had */
		else
			err = event;
	}
	return err;
}

int ldb_fsck_salvage_log(int from, int to, uint64_t sequence, uint64_t *records)
{
	struct ldb_logfile *log = malloc(sizeof(*log));
	struct salvage_log salvage = {.to = to, .sequence = sequence};
	int err;

	if (!log)
		return -ENOMEM;
	ldb_logfile_init(log, from);
	err = salvage_records(&salvage, log);
	*records += salvage.here.records;
	ldb_logfile_free(log);
	free(log);
	if (!err && (ftruncate(to, (off_t)salvage.here.at) || fsync(to)))
		err = -EIO;
	return err;
}
