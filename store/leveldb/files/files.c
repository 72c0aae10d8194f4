/* SPDX-License-Identifier: MIT */
/*
 * Reads CURRENT, the MANIFEST and the logs before LevelDB does, and finds their faults.
 *
 * LevelDB's own checks leave gaps, even paranoid ones:
 *
 * - It takes a record of a log or MANIFEST whose damaged length reaches beyond the end of the file
 *   for one that was being written, and ignores it and all behind it (logfile_damage.c).
 * - It does not notice a MANIFEST that was cut between two edits, nor a missing log. But a log is
 *   created, and its name synced, before a MANIFEST names it, and removed only after a later edit
 *   names another; so if the log that the MANIFEST names is missing, something is lost. (After
 *   LevelDB's own repair it names none.)
 * - Its errors do not name the file.
 * - It takes zeros that a power cut left at the end of a file (logfile.c) for damage.
 *
 * A log that was cut cannot be told from one whose end never reached the medium.
 */
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
#include "store/leveldb/files/files_private.h"
#include "store/leveldb/formats/logfile.h"

int ldb_files_add(struct ldb_files *files, enum ldb_file_kind kind, uint64_t number,
		  const char *name, bool missing, const char *format, ...)
{
	struct ldb_files_fault *fault;
	va_list args;

	if (grow(&files->faults, &files->fault_room, files->fault_count + 1, 16, sizeof(*fault)))
		return -ENOMEM;
	fault = &files->faults[files->fault_count++];
	*fault = (struct ldb_files_fault){.kind = kind, .number = number, .missing = missing};
	snprintf(fault->name, sizeof(fault->name), "%s", name);
	va_start(args, format);
	vsnprintf(fault->what, sizeof(fault->what), format, args);
	va_end(args);
	return 0;
}

int ldb_files_progress(struct ldb_files *files, uint64_t bytes)
{
	files->bytes += bytes;
	return files->progress ? files->progress(files->ctx, files->bytes, files->all) : 0;
}

/* ---- The files in use --------------------------------------------------------------------- */

struct files_each {
	int (*each)(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number);
	void *ctx;
};

static int files_name(void *ctx, int dir, const char *name)
{
	const struct files_each *each = ctx;
	uint64_t number = 0;
	enum ldb_file_kind kind = ldb_file_parse(name, &number);

	(void)dir;
	return kind == LDB_FILE_OTHER ? 0 : each->each(each->ctx, name, kind, number);
}

int ldb_files_each(const struct ldb_files *files,
		   int (*each)(void *ctx, const char *name, enum ldb_file_kind kind,
			       uint64_t number),
		   void *ctx)
{
	struct files_each all = {.each = each, .ctx = ctx};

	return directory_each(files->dir, files_name, &all);
}

/* Also sets current to the newest MANIFEST, for a store whose CURRENT names none. */
static int files_measure(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;
	uint64_t newest = 0;
	struct stat st;

	if (number > files->largest && ldb_file_is_number(number))
		files->largest = number;
	if (fstatat(files->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		files->all += (uint64_t)st.st_size;
	if (files->current[0])
		ldb_file_parse(files->current, &newest);
	if (kind == LDB_FILE_MANIFEST && (!files->current[0] || number > newest))
		snprintf(files->current, sizeof(files->current), "%s", name);
	return 0;
}

static int files_read_manifest(struct ldb_files *files)
{
	struct wcs_fault why = {0};
	int rc = ldb_manifest_current(files->dir, files->current, &why);

	files->count++;
	if (rc)
		rc = ldb_files_add(files, LDB_FILE_CURRENT, 0, "CURRENT", false, "%s", why.text);
	if (rc)
		return rc;
	if (!files->current[0])
		return ldb_files_add(files, LDB_FILE_MANIFEST, 0, "MANIFEST", true,
				     "there is none");
	files->count++;
	rc = ldb_manifest_read(files->dir, files->current, &files->manifest, &why);
	files->whole = rc == 0;
	if (rc != -EIO)
		return rc;
	return ldb_files_add(files, LDB_FILE_MANIFEST, 0, files->current, false, "%s", why.text);
}

int ldb_files_open(const char *path, struct ldb_files *files, struct wcs_fault *fault)
{
	int rc;

	memset(files, 0, sizeof(*files));
	files->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (files->dir < 0)
		return wcs_fault_set(fault, -EIO, "%s: %s", directory_name(path), strerror(errno));
	rc = ldb_files_each(files, files_measure, files);
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
	free(files->faults);
	files->faults = NULL;
}

/* ---- Logs -------------------------------------------------------------------------------- */

static int files_torn(struct ldb_files *files, const char *name, uint64_t end)
{
	return files->torn ? files->torn(files, name, end) : 0;
}

/* A log as it is read. Sequence numbers rise by no more between two batches than there are bytes
 * lost between them: others behind damage are bytes of a value that look like a batch. */
struct files_log {
	struct ldb_logfile log;
	uint64_t next, end; /* behind the last batch: the next number, and its end */
	uint64_t batches;
	bool damaged; /* since the last batch */
};

/* Gives the changes of a record. *wrong: why it is a fault; NULL: it is none. */
static int files_record(struct ldb_files *files, struct files_log *at, struct wcs_slice record,
			const char **wrong)
{
	uint64_t next = at->next;

	*wrong = "a record before it is no change";
	if (!ldb_logfile_is_batch(record))
		return 0;
	*wrong = "a record before it has a sequence number that is too high, or was used";
	if (!ldb_logfile_in_sequence(record, &next) ||
	    (at->damaged && at->batches > 0 &&
	     get_le64(record.data) - at->next > at->log.end - at->end))
		return 0;
	at->damaged = false;
	at->next = next;
	at->end = at->log.end;
	at->batches++;
	if (next - 1 <= LDB_NUMBER_MAX)
		*wrong = NULL;
	return files->change ? ldb_logfile_changes(record, files->change, files->ctx) : 0;
}

static int files_read_log(struct ldb_files *files, struct files_log *at, const char *name,
			  uint64_t number)
{
	struct ldb_logfile *log = &at->log;
	uint64_t before = 0, damages = 0, first = 0;
	const char *what = NULL, *wrong;
	struct wcs_slice record;
	int event, rc;

	while ((event = ldb_logfile_next(log, &record)) != LDB_LOGFILE_END) {
		rc = ldb_files_progress(files, log->base + log->at - before);
		before = log->base + log->at;
		if (rc)
			return rc;
		if (event < 0 && event != -EIO)
			return event;
		wrong = event == LDB_LOGFILE_DAMAGE ? log->damage : "what cannot be read";
		if (event == LDB_LOGFILE_RECORD)
			rc = files_record(files, at, record, &wrong);
		if (rc)
			return rc;
		if (!wrong)
			continue;
		at->damaged |= event == LDB_LOGFILE_DAMAGE;
		if (damages++ == 0) {
			first = event == LDB_LOGFILE_DAMAGE ? log->damaged_at : log->end;
			what = wrong;
		}
		if (event == -EIO)
			break;
	}
	if (damages == 0)
		return log->torn ? files_torn(files, name, log->end) : 0;
	rc = ldb_files_add(files, LDB_FILE_LOG, number, name, false, "at %" PRIu64 ": %s%s", first,
			   what, damages > 1 ? ", and more behind it" : "");
	if (!rc)
		files->faults[files->fault_count - 1].entries = at->batches;
	return rc;
}

int ldb_files_log(struct ldb_files *files, const char *name, uint64_t number)
{
	struct files_log at = {.next = 1};
	int fd, rc = 0;

	files->count++;
	if (!ldb_file_is_number(number))
		rc = ldb_files_add(files, LDB_FILE_LOG, number, name, false,
				   "LevelDB gives no log this number");
	if (rc || number == 0)
		return rc;
	fd = openat(files->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ldb_files_add(files, LDB_FILE_LOG, number, name, false, "%s",
				     strerror(errno));
	ldb_logfile_init(&at.log, fd);
	rc = files_read_log(files, &at, name, number);
	free(at.log.record.data);
	close(fd);
	return rc;
}

static int files_used_log(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	if (kind != LDB_FILE_LOG ||
	    (files->whole && !ldb_manifest_log_used(&files->manifest, number)))
		return 0;
	return ldb_files_log(files, name, number);
}

int ldb_files_logs(struct ldb_files *files)
{
	char name[LDB_FILE_NAME_MAX];
	int rc = 0;

	ldb_file_name(name, LDB_FILE_LOG, files->manifest.log_number);
	if (files->whole && files->manifest.log_number != 0 &&
	    faccessat(files->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		rc = ldb_files_add(files, LDB_FILE_LOG, files->manifest.log_number, name, true,
				   "it is missing, or the end of %s is", files->manifest.name);
	if (!rc && files->whole && files->manifest.torn)
		rc = files_torn(files, files->manifest.name, files->manifest.end);
	return rc ? rc : ldb_files_each(files, files_used_log, files);
}
