/* SPDX-License-Identifier: MIT */
/* The text of records that wait, places in it, and the file of bad records. */
#include "mkfs/load/skip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/grow.h"
#include "lib/utf8.h"
#include "store/rows.h"

/* Does the file end in the middle of a line? */
static bool skip_is_torn(const char *name, const struct stat *st)
{
	int fd = S_ISREG(st->st_mode) && st->st_size > 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	char last = '\n';

	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, st->st_size - 1) < 1)
		last = '\n';
	close(fd);
	return last != '\n';
}

int skip_open(struct skip *skip, const char *name, int input)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), rc = 0;
	struct stat a = {0}, b;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &a) == 0 && fstat(input, &b) == 0 && S_ISREG(a.st_mode) &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		rc = -EINVAL;
	else if (!(skip->file = fdopen(fd, "a")))
		rc = -errno;
	if (rc)
		close(fd);
	else if (skip_is_torn(name, &a))
		putc('\n', skip->file);
	skip->start.line = 1;
	return rc;
}

int skip_add(struct skip *skip, const char *text, size_t len)
{
	int rc = grow(&skip->bytes, &skip->room, skip->len + len + 1, 1u << 20, 1);

	if (rc)
		return rc;
	memcpy(skip->bytes + skip->len, text, len);
	skip->len += len;
	return 0;
}

size_t skip_whole(const struct skip *skip, size_t added)
{
	size_t end = skip->len, first = end - added;

	if (added == 0 || end - skip->read > WCS_IMPORT_LINE_MAX)
		return end;
	while (end > first && skip->bytes[end - 1] != '\n' && skip->bytes[end - 1] != '\r')
		end--;
	return end > first ? end : skip->read;
}

/* Goes on to the byte `to`, or to the beginning of the line if that comes first. */
static void skip_walk(const struct skip *skip, struct skip_place *place, size_t to, uint64_t line)
{
	while (place->at < to && place->line < line) {
		char byte = skip->bytes[place->at++];

		place->line += byte == '\r' || (byte == '\n' && !place->cr);
		place->cr = byte == '\r';
	}
	if (place->cr && place->at < skip->len && skip->bytes[place->at] == '\n') {
		place->at++;
		place->cr = false;
	}
}

/* Goes from the start of a record to its end. */
static void skip_over(const struct skip *skip, const struct csv *csv, struct skip_place *place)
{
	struct csv one = {.max = csv->max,
			  .separator = csv->separator,
			  .escape = csv->escape,
			  .literal = csv->literal,
			  .place = {place->line, 1}};
	size_t from = place->at, used;
	int more = csv_read(&one, skip->bytes + from, skip->len - from, &used);

	if (more < 0)
		skip_walk(skip, place, skip->len, one.wrong.line + 1);
	else
		skip_walk(skip, place, more > 0 ? from + used : skip->len, UINT64_MAX);
	free(one.bytes);
	free(one.fields);
}

int skip_record(struct skip *skip, struct csv *csv, uint64_t line, struct csv_place wrong,
		const char *why)
{
	struct skip_place place = skip->start;
	size_t from;

	skip_walk(skip, &place, skip->len, line);
	from = place.at;
	skip_over(skip, csv, &place);
	utf8_print(skip->file, skip->source);
	fprintf(skip->file, ":%" PRIu64, wrong.line);
	if (wrong.column > 0)
		fprintf(skip->file, ":%" PRIu64, wrong.column);
	fputs(": ", skip->file);
	utf8_print(skip->file, why);
	putc('\n', skip->file);
	fwrite(skip->bytes + from, 1, place.at - from, skip->file);
	if (place.at == from || skip->bytes[place.at - 1] != '\n')
		putc('\n', skip->file);
	skip->count++;
	skip->start = place;
	skip->read = place.at;
	csv_restart(csv, place.line, place.cr);
	return fflush(skip->file) == 0 ? 0 : -errno;
}

void skip_applied(struct skip *skip, const struct csv *csv)
{
	struct skip_place *start = &skip->start;

	skip_walk(skip, start, skip->read, csv_next(csv).line);
	skip->len -= start->at;
	skip->read -= start->at;
	memmove(skip->bytes, skip->bytes + start->at, skip->len);
	start->at = 0;
}
