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

#define MARKER_MAX	4096	      /* bytes */
#define DIRECTORY_TITLE "rowfs store" /* first line of the marker */

/* A file of that name alone is no marker: another program's directory may have one. */
int directory_find_marker(int fd)
{
	char *text;
	size_t len;
	int rc = directory_load(fd, DIRECTORY_MARKER, MARKER_MAX, &text, &len);

	if (rc != 0)
		return directory_is_barred(-rc) ? rc : 0;
	rc = strncmp(text, DIRECTORY_TITLE "\n", strlen(DIRECTORY_TITLE "\n")) == 0;
	free(text);
	return rc;
}

/* Writes a marker as text; returns where its last line, the checksum, starts. */
static size_t marker_print(char text[MARKER_MAX], const struct directory_marker *marker)
{
	int len = snprintf(text, MARKER_MAX,
			   DIRECTORY_TITLE "\nformat %" PRId64 "\nengine %s\ncreated %" PRId64 "\n",
			   marker->format, marker->engine, marker->created);

	snprintf(text + len, MARKER_MAX - (size_t)len, "check %08" PRIx32 "\n",
		 wcs_crc_extend(0, text, (size_t)len));
	return (size_t)len;
}

/* -EINVAL: it is not of the form in which it would be written; the format is 0 until it is known.
 * A newer format is known if the checksum is right. Markers of the first programs have none. */
static int marker_parse(const char *text, struct directory_marker *marker)
{
	const char *check = strstr(text, "\ncheck ");
	char made[MARKER_MAX];
	int items;
	size_t len;

	if (check != NULL &&
	    strtoul(check + 7, NULL, 16) != wcs_crc_extend(0, text, (size_t)(check + 1 - text)))
		return -EINVAL;
	items = sscanf(text,
		       DIRECTORY_TITLE "\nformat %" SCNd64 "\nengine %31[^\n]\ncreated %" SCNd64,
		       &marker->format, marker->engine, &marker->created);
	if (items != 3 || marker->format < 1 || marker->created < 0)
		return -EINVAL;
	len = marker_print(made, marker);
	return strncmp(text, made, len) == 0 &&
			       (text[len] == '\0' || strcmp(text + len, made + len) == 0)
		       ? 0
		       : -EINVAL;
}

int directory_read_marker(const struct directory *directory, struct directory_marker *marker,
			  struct wcs_fault *fault)
{
	const char *name = directory_name(directory->path);
	struct directory_marker found = {.format = 0};
	char *text;
	size_t len;
	int rc = directory_load(directory->fd, DIRECTORY_MARKER, MARKER_MAX, &text, &len);

	if (rc != 0 && rc != -EIO)
		return directory_fail_at(fault, -rc, directory, DIRECTORY_MARKER);
	if (rc == 0) {
		rc = marker_parse(text, &found);
		free(text);
	}
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

int directory_mark(int fd, const char *engine, int64_t created)
{
	struct directory_marker marker = {.format = DIRECTORY_FORMAT, .created = created};
	char text[MARKER_MAX];

	snprintf(marker.engine, sizeof(marker.engine), "%s", engine);
	marker_print(text, &marker);
	return directory_replace(fd, DIRECTORY_NEW, DIRECTORY_MARKER, text, strlen(text));
}

/* No program writes to the lock, which is therefore as old as the store. */
int directory_mend_marker(const struct directory *directory, const char *engine,
			  struct wcs_fault *fault)
{
	struct stat st = {.st_size = 0};
	int rc;

	fstatat(directory->fd, DIRECTORY_LOCK, &st, AT_SYMLINK_NOFOLLOW);
	rc = directory_mark(directory->fd, engine,
			    (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000);
	return rc == 0 ? 0
		       : wcs_fault_set(fault, rc, "%s/" DIRECTORY_MARKER ": cannot be made: %s",
				       directory_name(directory->path), strerror(-rc));
}
