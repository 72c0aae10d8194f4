/* SPDX-License-Identifier: MIT */
/* What can be read of a damaged table or log, as another. */
#include "fsck_keys.h"

#include <fcntl.h>
#include <unistd.h>

#include "logfile.h"
#include "tablefile.h"

static int salvage_entry(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct ldb_fsck_salvage *salvage = ctx;

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
	return err ? err
		   : ldb_tablefile_finish(salvage->writer, &by->size, &by->smallest, &by->largest);
}

int ldb_fsck_salvage_table(struct ldb_fsck_salvage *salvage, int from, uint64_t size)
{
	char name[LDB_FILE_NAME_MAX];
	int to, err = 0;

	ldb_file_name(name, LDB_FILE_TABLE, salvage->by->number);
	salvage->by->size = 0;
	to = openat(salvage->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return ldb_file_errno();
	salvage->writer = ldb_tablefile_writer_new(to);
	if (!salvage->writer)
		err = -ENOMEM;
	if (!err)
		err = salvage_write(from, size, salvage);
	if (err || salvage->by->size == 0)
		unlinkat(salvage->dir, name, 0);
	close(to);
	return err;
}

int ldb_fsck_salvage_log(int from, int to, uint64_t *records)
{
	struct ldb_logfile *log = malloc(sizeof(*log));
	struct wcs_slice record;
	uint64_t at = 0;
	int event, err = 0;

	if (!log)
		return -ENOMEM;
	ldb_logfile_init(log, from);
	while (!err && (event = ldb_logfile_next(log, &record)) != LDB_LOGFILE_END) {
		if (event == LDB_LOGFILE_RECORD) {
			if (!ldb_logfile_is_batch(record))
				continue;
			err = ldb_logfile_append(to, &at, record.data, record.len);
			(*records)++;
		} else if (event == -EIO) {
			break; /* of a failing disk; what is behind it cannot be had */
		} else if (event < 0) {
			err = event;
		}
	}
	ldb_logfile_free(log);
	free(log);
	return !err && fsync(to) ? -EIO : err;
}
