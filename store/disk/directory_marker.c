/* SPDX-License-Identifier: MIT */
/*
 * The marker of a store's directory: text, an item a line, see docs/format.md. The last line of
 * every format is the checksum of the lines before it: a damaged number of the format must not
 * pass for a newer one.
 */
#include "store/disk/directory.h"

#include "store/backend.h"
#include "store/disk/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_MARKER_MAX 4096	   /* bytes */
#define DIRECTORY_TITLE	     "rowfs store" /* first line of the marker */

/* Reads the marker as text, or sets errno and returns -1. */
static int marker_load(int fd, char *text, size_t room)
{
	int file = openat(fd, DIRECTORY_MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t got;

	if (file < 0)
		return -1;
	got = read(file, text, room - 1);
	close(file);
	if (got < 0)
		return -1;
	text[got] = '\0';
	return 0;
}

bool directory_has_file(int fd)
{
	struct stat st;

	return fstatat(fd, DIRECTORY_MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* A file of that name alone is no marker: another program's directory may have one. */
int directory_find_marker(int fd)
{
	char text[sizeof(DIRECTORY_TITLE "\n")];

	if (!directory_has_file(fd))
		return 0;
	if (marker_load(fd, text, sizeof(text)) != 0)
		return directory_is_barred(errno) ? -errno : 0;
	return strcmp(text, DIRECTORY_TITLE "\n") == 0;
}

/* Splits the next line off the text: returns the rest of it after word, or NULL. */
static char *marker_line(char **text, const char *word)
{
	char *line = *text;
	char *end = strchr(line, '\n');
	size_t len = strlen(word);

	if (end == NULL || strncmp(line, word, len) != 0)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line + len;
}

/* The number of decimal digits alone on the next line, after word. -1: there is none. */
static int64_t marker_number(char **text, const char *word)
{
	char *line = marker_line(text, word), *end;
	intmax_t number;

	if (line == NULL || *line < '0' || *line > '9')
		return -1;
	errno = 0;
	number = strtoimax(line, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : number;
}

/* Changes text. -EINVAL: it is not of the form; the format is 0 until it is known. Markers of the
 * first programs have no checksum. */
static int marker_parse(char *text, struct directory_marker *marker)
{
	char *line = strstr(text, "\ncheck "), *end;
	int64_t number = -1;

	if (line != NULL &&
	    (strtoul(line + 7, &end, 16) != wcs_crc_extend(0, text, (size_t)(line + 1 - text)) ||
	     end != line + 15 || strcmp(end, "\n") != 0))
		return -EINVAL;
	line = marker_line(&text, DIRECTORY_TITLE);
	if (line != NULL && *line == '\0')
		number = marker_number(&text, "format ");
	if (number < 1)
		return -EINVAL;
	marker->format = number;
	line = marker_line(&text, "engine ");
	if (line == NULL || *line == '\0' || strlen(line) >= sizeof(marker->engine))
		return -EINVAL;
	strcpy(marker->engine, line);
	marker->created = marker_number(&text, "created ");
	if (marker->created < 0)
		return -EINVAL;
	return *text == '\0' || marker_line(&text, "check ") != NULL ? 0 : -EINVAL;
}

int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault)
{
	const char *name = directory_name(directory->path);
	struct directory_marker found = {.format = 0};
	char text[DIRECTORY_MARKER_MAX];
	int rc;

	if (marker_load(directory->fd, text, sizeof(text)) != 0)
		return directory_fail_at(fault, errno, directory, DIRECTORY_MARKER);
	rc = marker_parse(text, &found);
	if (found.format > DIRECTORY_FORMAT)
		return wcs_fault_set(fault, -EPROTO,
				     "%s: its format is %" PRId64 " and this program knows up to "
				     "%d; use a newer rowfs",
				     name, found.format, DIRECTORY_FORMAT);
	if (rc != 0)
		return wcs_fault_set(fault, -EIO,
				     "%s/" DIRECTORY_MARKER ": damaged; fsck.rowfs rebuilds it",
				     name);
	*marker = found;
	return 0;
}

/* Puts a marker in the place of the one there is, durably. */
static int marker_write(int fd, const struct directory_marker *marker)
{
	char text[256];
	int len = snprintf(text, sizeof(text),
			   DIRECTORY_TITLE "\nformat %" PRId64 "\nengine %s\ncreated %" PRId64 "\n",
			   marker->format, marker->engine, marker->created);

	len += snprintf(text + len, sizeof(text) - (size_t)len, "check %08" PRIx32 "\n",
			wcs_crc_extend(0, text, (size_t)len));
	return directory_replace(fd, DIRECTORY_NEW, DIRECTORY_MARKER, text, (size_t)len);
}

int directory_fill(int fd, const struct directory_marker *marker)
{
	int file = openat(fd, DIRECTORY_LOCK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (file < 0)
		return directory_error(errno);
	close(file);
	return marker_write(fd, marker);
}

int directory_need_format(const struct directory *directory, int format)
{
	struct directory_marker marker = {0};
	int rc = directory_read_marker(directory, &marker, NULL);

	if (rc != 0 || marker.format >= format)
		return rc;
	marker.format = format;
	return marker_write(directory->fd, &marker);
}

/* The format is the newest, since the lost one is not known. No program writes to the lock, which
 * is therefore as old as the store. */
int directory_mend_marker(const struct directory *directory, const char *engine,
			  struct wcs_fault *fault)
{
	struct directory_marker marker = {.format = DIRECTORY_FORMAT};
	struct stat st;
	int rc;

	snprintf(marker.engine, sizeof(marker.engine), "%s", engine);
	if (fstatat(directory->fd, DIRECTORY_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0)
		marker.created = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
	rc = marker_write(directory->fd, &marker);
	if (rc == 0)
		return 0;
	return wcs_fault_set(fault, rc, "%s/" DIRECTORY_MARKER ": cannot be made: %s",
			     directory_name(directory->path), strerror(-rc));
}
