/* SPDX-License-Identifier: MIT */
/*
 * The quarantine's files of text: rows.json, which rowfs-load takes, and raw.json. Copies of files
 * are in quarantine_copy.c.
 *
 * The cells of a row make one line; after a sync or another line between them the row goes on in a
 * second line, which loads just as well.
 */
#include "store/fsck/quarantine_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/utf8.h"
#include "store/backend.h"
#include "store/disk/directory.h"
#include "store/rows.h"

#define QUARANTINE_BUFFER (256u << 10)

struct wcs_quarantine *wcs_quarantine_new(const char *path,
					  bool (*go_on)(void *ctx, uint64_t done, uint64_t total),
					  void *ctx, struct wcs_fault *fault)
{
	struct wcs_quarantine *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->dir = -1;
	made->writer.line_max = WCS_EXPORT_LINE_MAX; /* as rowfs-load takes them */
	made->go_on = go_on;
	made->ctx = ctx;
	made->fault = fault;
	made->path = strdup(path);
	if (made->path)
		return made;
	free(made);
	return NULL;
}

void wcs_quarantine_free(struct wcs_quarantine *quarantine)
{
	if (!quarantine)
		return;
	if (quarantine->rows)
		fclose(quarantine->rows);
	if (quarantine->raw)
		fclose(quarantine->raw);
	if (quarantine->dir >= 0)
		close(quarantine->dir);
	free(quarantine->schema);
	free(quarantine->piece);
	free(quarantine->path);
	free(quarantine);
}

bool wcs_quarantine_used(const struct wcs_quarantine *quarantine)
{
	return quarantine->dir >= 0;
}

int quarantine_fail(struct wcs_quarantine *quarantine, const char *name, int error)
{
	error = error != 0 ? error : EIO;
	return wcs_fault_set(quarantine->fault, error == ENOMEM ? -ENOMEM : directory_error(error),
			     "%s%s%s: %s", directory_name(quarantine->path), *name ? "/" : "", name,
			     strerror(error));
}

int quarantine_make(struct wcs_quarantine *quarantine)
{
	if (quarantine->dir >= 0)
		return 0;
	if (mkdir(quarantine->path, 0700) == 0 || errno == EEXIST)
		quarantine->dir =
			open(quarantine->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return quarantine->dir >= 0 ? 0 : quarantine_fail(quarantine, "", errno);
}

int quarantine_sync_place(struct wcs_quarantine *quarantine)
{
	int parent = openat(quarantine->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (fsync(quarantine->dir) != 0 || (parent >= 0 && fsync(parent) != 0))
		rc = quarantine_fail(quarantine, "", errno);
	if (parent >= 0)
		close(parent);
	return rc;
}

static int quarantine_open(struct wcs_quarantine *quarantine, const char *name, FILE **file)
{
	int fd, rc = quarantine_make(quarantine);

	if (rc != 0)
		return rc;
	fd = openat(quarantine->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	*file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (*file == NULL) {
		rc = quarantine_fail(quarantine, name, errno);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	setvbuf(*file, NULL, _IOFBF, QUARANTINE_BUFFER);
	return 0;
}

/* Reports also earlier writes that failed, since a stream keeps its error. */
static int quarantine_flush(struct wcs_quarantine *quarantine, FILE *file, const char *name)
{
	if (file == NULL)
		return 0;
	errno = EIO;
	if (fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0)
		return quarantine_fail(quarantine, name, errno);
	return 0;
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* Writes the output of the row writer. */
static int quarantine_put(struct wcs_quarantine *quarantine)
{
	size_t len = (size_t)(quarantine->writer.to - quarantine->room);

	wcs_row_write_to(&quarantine->writer, quarantine->room);
	errno = 0;
	if (fwrite(quarantine->room, 1, len, quarantine->rows) != len)
		return quarantine_fail(quarantine, QUARANTINE_ROWS, errno);
	return 0;
}

static int quarantine_end_row(struct wcs_quarantine *quarantine)
{
	if (!quarantine->writer.in_row)
		return 0;
	wcs_row_write_to(&quarantine->writer, quarantine->room);
	wcs_row_write_finish(&quarantine->writer);
	return quarantine_put(quarantine);
}

static int quarantine_line(struct wcs_quarantine *quarantine, const char *line)
{
	size_t len = strlen(line);

	quarantine->table[0] = '\0'; /* named anew behind it */
	errno = 0;
	if (fputs(line, quarantine->rows) < 0 ||
	    (len > 0 && line[len - 1] != '\n' && fputc('\n', quarantine->rows) == EOF))
		return quarantine_fail(quarantine, QUARANTINE_ROWS, errno);
	return 0;
}

static int quarantine_open_rows(struct wcs_quarantine *quarantine)
{
	int rc;

	if (quarantine->rows)
		return 0;
	rc = quarantine_open(quarantine, QUARANTINE_ROWS, &quarantine->rows);
	if (rc == 0 && quarantine->schema)
		rc = quarantine_line(quarantine, quarantine->schema);
	return rc;
}

void wcs_quarantine_schema(struct wcs_quarantine *quarantine, char *line)
{
	free(quarantine->schema);
	quarantine->schema = line;
}

int wcs_quarantine_more_schema(struct wcs_quarantine *quarantine, const char *line)
{
	int rc = quarantine_open_rows(quarantine);

	if (rc == 0)
		rc = quarantine_end_row(quarantine);
	return rc == 0 ? quarantine_line(quarantine, line) : rc;
}

static int quarantine_set_table(struct wcs_quarantine *quarantine, const char *table)
{
	int rc;

	if (strcmp(quarantine->table, table) == 0)
		return 0;
	rc = quarantine_end_row(quarantine);
	if (rc != 0)
		return rc;
	errno = 0;
	if (fprintf(quarantine->rows, "{\"table\":\"%s\"}\n", table) < 0)
		return quarantine_fail(quarantine, QUARANTINE_ROWS, errno);
	snprintf(quarantine->table, sizeof(quarantine->table), "%s", table);
	return 0;
}

/* Reads a piece of a value to this place in quarantine->piece. 1: it cannot be read. */
static int quarantine_read(struct wcs_quarantine *quarantine,
			   const struct wcs_quarantine_value *value, size_t to, uint64_t at,
			   size_t *got)
{
	int rc = value->read(value->ctx, quarantine->piece + to, QUARANTINE_PIECE, at, got);

	return rc == -EIO || (rc == 0 && *got == 0) ? 1 : rc;
}

/* Reads all of a large value. *text: is it UTF-8? */
static int quarantine_look(struct wcs_quarantine *quarantine, uint64_t size,
			   const struct wcs_quarantine_value *value, bool *text)
{
	size_t kept = 0, got = 0;

	*text = true;
	for (uint64_t at = 0; at < size; at += got) {
		size_t len, good;
		int rc = quarantine_read(quarantine, value, kept, at, &got);

		if (rc != 0)
			return rc;
		if (!*text)
			continue;
		len = kept + got;
		good = utf8_prefix(quarantine->piece, len);
		kept = len - good;
		*text = kept <= 3;
		if (*text)
			memmove(quarantine->piece, quarantine->piece + good, kept);
		else
			kept = 0;
	}
	*text = *text && kept == 0;
	return 0;
}

/* The first part of the cell's address that differs from the last one written. */
static enum wcs_part quarantine_differs(const struct wcs_quarantine *quarantine,
					const struct wcs_cell *cell)
{
	const struct wcs_slice *last = quarantine->last;

	if (wcs_slice_compare(cell->row, last[WCS_PART_ROW]) != 0)
		return WCS_PART_ROW;
	if (wcs_slice_compare(cell->family, last[WCS_PART_FAMILY]) != 0)
		return WCS_PART_FAMILY;
	return wcs_slice_compare(cell->qualifier, last[WCS_PART_QUALIFIER]) != 0
		       ? WCS_PART_QUALIFIER
		       : WCS_PART_TS;
}

/* Remembers the address of the cell, which is written. */
static void quarantine_keep(struct wcs_quarantine *quarantine, const struct wcs_cell *cell)
{
	const struct wcs_slice parts[] = {cell->row, cell->family, cell->qualifier};
	unsigned char *to = quarantine->last_bytes;

	for (size_t i = 0; i < WCS_PART_TS; i++) {
		quarantine->last[i] = (struct wcs_slice){to, parts[i].len};
		if (parts[i].len > 0)
			to = mempcpy(to, parts[i].data, parts[i].len);
	}
}

static int quarantine_put_value(struct wcs_quarantine *quarantine, uint64_t size,
				const struct wcs_quarantine_value *value, bool text)
{
	struct wcs_row_writer *writer = &quarantine->writer;
	size_t got = 0;
	int rc = 0;

	wcs_row_write_begin(writer, text);
	for (uint64_t at = 0; rc == 0 && at < size; at += got) {
		rc = quarantine_read(quarantine, value, 0, at, &got);
		if (rc == 0)
			rc = quarantine_put(quarantine);
		if (rc == 0)
			wcs_row_write_piece(writer, (struct wcs_slice){quarantine->piece, got});
	}
	if (rc == 0)
		wcs_row_write_end(writer);
	return rc;
}

static int quarantine_large(struct wcs_quarantine *quarantine, const struct wcs_cell *cell,
			    const struct wcs_quarantine_value *value, bool text)
{
	struct wcs_row_writer before = quarantine->writer;
	off_t start = ftello(quarantine->rows);
	int rc;

	if (start < 0)
		return quarantine_fail(quarantine, QUARANTINE_ROWS, errno);
	wcs_row_write_to(&quarantine->writer, quarantine->room);
	wcs_row_write_cell(&quarantine->writer, cell, quarantine_differs(quarantine, cell));
	rc = quarantine_put_value(quarantine, cell->info.size, value, text);
	if (rc == 0)
		rc = quarantine_put(quarantine);
	if (rc != 0) { /* removes the begun cell whose value can no longer be read */
		quarantine->writer = before;
		errno = 0;
		if (fflush(quarantine->rows) != 0 ||
		    ftruncate(fileno(quarantine->rows), start) != 0 ||
		    fseeko(quarantine->rows, start, SEEK_SET) != 0)
			rc = quarantine_fail(quarantine, QUARANTINE_ROWS, errno);
	}
	return rc;
}

/* Reads the value of an aggregate family as a whole. 1: it cannot be read, or is not of the type:
 * row JSON cannot hold it. */
static int quarantine_aggregate(struct wcs_quarantine *quarantine, enum wcs_type type,
				const struct wcs_cell *cell,
				const struct wcs_quarantine_value *value, struct wcs_slice *whole,
				int64_t *number)
{
	size_t got = cell->value.len;
	int rc = 0;

	if (cell->info.size > WCS_AGGREGATE_VALUE_MAX)
		return 1;
	*whole = cell->value;
	if (cell->info.size > WCS_VALUE_INLINE) {
		rc = quarantine_read(quarantine, value, 0, 0, &got);
		*whole = (struct wcs_slice){quarantine->piece, got};
	}
	if (rc != 0)
		return rc;
	return got != cell->info.size || wcs_aggregate_number(type, *whole, number) != 0;
}

int wcs_quarantine_cell(struct wcs_quarantine *quarantine, const char *table,
			const struct wcs_keys *keys, enum wcs_type type,
			const struct wcs_cell *cell, const struct wcs_quarantine_value *value)
{
	bool large = cell->info.size > WCS_VALUE_INLINE && type == WCS_BYTES, text = false;
	struct wcs_slice whole = cell->value;
	int64_t number = 0;
	int rc = 0;

	if (quarantine->piece == NULL)
		quarantine->piece = malloc(QUARANTINE_PIECE + 4);
	if (quarantine->piece == NULL)
		return quarantine_fail(quarantine, "", ENOMEM);
	if (large)
		rc = quarantine_look(quarantine, cell->info.size, value, &text);
	else if (type != WCS_BYTES)
		rc = quarantine_aggregate(quarantine, type, cell, value, &whole, &number);
	if (rc == 0)
		rc = quarantine_open_rows(quarantine);
	if (rc == 0)
		rc = quarantine_set_table(quarantine, table);
	if (rc != 0)
		return rc;
	quarantine->writer.keys = keys;
	if (large) {
		rc = quarantine_large(quarantine, cell, value, text);
	} else {
		wcs_row_write_to(&quarantine->writer, quarantine->room);
		wcs_row_write_cell(&quarantine->writer, cell, quarantine_differs(quarantine, cell));
		if (type == WCS_INTHLL)
			wcs_row_write_state(&quarantine->writer, number, whole);
		else
			wcs_row_write_value(&quarantine->writer, whole, type);
		rc = quarantine_put(quarantine);
	}
	if (rc == 0)
		quarantine_keep(quarantine, cell);
	return rc;
}

/* ---- Raw records ------------------------------------------------------------------------- */

static void quarantine_base64(FILE *file, struct wcs_slice bytes)
{
	unsigned char last[3] = {0}, text[4096];
	const unsigned char *from = bytes.data;
	size_t left = bytes.len % 3;

	for (size_t groups = bytes.len / 3; groups > 0;) {
		size_t some = groups < sizeof(text) / 4 ? groups : sizeof(text) / 4;

		fwrite(text, 1, (size_t)(wcs_text_base64(text, from, some) - text), file);
		from += 3 * some;
		groups -= some;
	}
	if (left == 0)
		return;
	memcpy(last, from, left);
	wcs_text_base64(text, last, 1);
	memset(text + left + 1, '=', 3 - left);
	fwrite(text, 1, 4, file);
}

int wcs_quarantine_raw(struct wcs_quarantine *quarantine, const char *why, struct wcs_slice key,
		       struct wcs_slice value)
{
	int rc =
		quarantine->raw ? 0 : quarantine_open(quarantine, QUARANTINE_RAW, &quarantine->raw);

	if (rc != 0)
		return rc;
	errno = 0;
	fprintf(quarantine->raw, "{\"why\":\"%s\",\"key\":\"", why);
	quarantine_base64(quarantine->raw, key);
	fputs("\",\"value\":\"", quarantine->raw);
	quarantine_base64(quarantine->raw, value);
	fputs("\"}\n", quarantine->raw);
	if (ferror(quarantine->raw))
		return quarantine_fail(quarantine, QUARANTINE_RAW, errno);
	return 0;
}

int wcs_quarantine_sync(struct wcs_quarantine *quarantine)
{
	int rc = 0;

	if (quarantine->rows)
		rc = quarantine_end_row(quarantine);
	if (rc == 0)
		rc = quarantine_flush(quarantine, quarantine->rows, QUARANTINE_ROWS);
	if (rc == 0)
		rc = quarantine_flush(quarantine, quarantine->raw, QUARANTINE_RAW);
	if (rc == 0 && quarantine->dir >= 0 && !quarantine->durable) {
		rc = quarantine_sync_place(quarantine);
		quarantine->durable = rc == 0;
	}
	return rc;
}
