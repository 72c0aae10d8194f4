/* SPDX-License-Identifier: MIT */
/* Writes MANIFESTs, in the form that manifest.c reads: an edit with all numbers, and one for each
 * table. */
#include "store/leveldb/formats/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"

static int manifest_put(struct ldb_buffer *edit, const uint64_t *numbers, size_t count)
{
	unsigned char bytes[10];
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		rc = ldb_buffer_append(edit, bytes, ldb_put_varint(bytes, numbers[i]));
	return rc;
}

static int manifest_put_key(struct ldb_buffer *edit, struct wcs_slice key)
{
	int rc = manifest_put(edit, (const uint64_t[]){key.len}, 1);

	return rc ? rc : ldb_buffer_append(edit, key.data, key.len);
}

static int manifest_put_table(struct ldb_buffer *edit, const struct ldb_manifest_table *table)
{
	const uint64_t numbers[] = {LDB_EDIT_NEW, table->level, table->number, table->size};
	int rc;

	edit->len = 0;
	rc = manifest_put(edit, numbers, sizeof(numbers) / sizeof(numbers[0]));
	if (!rc)
		rc = manifest_put_key(edit, table->smallest);
	return rc ? rc : manifest_put_key(edit, table->largest);
}

int ldb_manifest_write(int dir, const struct ldb_manifest *manifest)
{
	static const struct wcs_slice comparator = {LDB_MANIFEST_COMPARATOR,
						    sizeof(LDB_MANIFEST_COMPARATOR) - 1};
	const uint64_t numbers[] = {LDB_EDIT_LOG,	   manifest->log_number,
				    LDB_EDIT_PREVIOUS_LOG, manifest->previous_log,
				    LDB_EDIT_NEXT_FILE,	   manifest->next_file,
				    LDB_EDIT_SEQUENCE,	   manifest->sequence};
	struct ldb_buffer edit = {0};
	uint64_t at = 0;
	int fd, rc = ldb_manifest_check(manifest, NULL);

	if (rc)
		return rc;
	fd = openat(dir, manifest->name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return ldb_file_errno();
	rc = manifest_put(&edit, (const uint64_t[]){LDB_EDIT_COMPARATOR}, 1);
	if (!rc)
		rc = manifest_put_key(&edit, comparator);
	if (!rc)
		rc = manifest_put(&edit, numbers, sizeof(numbers) / sizeof(numbers[0]));
	if (!rc)
		rc = ldb_logfile_append(fd, &at, edit.data, edit.len);
	for (size_t i = 0; !rc && i < manifest->count; i++) {
		rc = manifest_put_table(&edit, &manifest->tables[i]);
		if (!rc)
			rc = ldb_logfile_append(fd, &at, edit.data, edit.len);
	}
	if (!rc && (fsync(fd) || fsync(dir)))
		rc = -EIO;
	if (rc) /* a part of one could be taken for the newest */
		unlinkat(dir, manifest->name, 0);
	free(edit.data);
	close(fd);
	return rc;
}

int ldb_manifest_set_current(int dir, const char *name)
{
	char text[LDB_FILE_NAME_MAX + 1];

	snprintf(text, sizeof(text), "%s\n", name);
	return ldb_file_replace(dir, LDB_FILE_TEMPORARY, "CURRENT", text, strlen(text));
}

int ldb_manifest_replace(int dir, struct ldb_manifest *manifest, uint64_t number,
			 const struct ldb_manifest_table *by)
{
	unsigned int level = ldb_manifest_find(manifest, number)->level;
	char old[LDB_FILE_NAME_MAX];
	uint64_t old_number = 0;
	int rc = 0;

	ldb_manifest_delete(manifest, number, level);
	if (by) {
		struct ldb_manifest_table made = *by;

		made.level = level;
		if (manifest->next_file <= by->number)
			manifest->next_file = by->number + 1;
		rc = ldb_manifest_add(manifest, &made);
	}
	strcpy(old, manifest->name);
	ldb_file_parse(old, &old_number);
	if (manifest->next_file <= old_number)
		manifest->next_file = old_number + 1;
	ldb_file_name(manifest->name, LDB_FILE_MANIFEST, manifest->next_file++);
	if (!rc)
		rc = ldb_manifest_write(dir, manifest);
	if (!rc)
		rc = ldb_manifest_set_current(dir, manifest->name);
	if (!rc)
		unlinkat(dir, old, 0);
	return rc;
}
