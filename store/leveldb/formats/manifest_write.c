/* SPDX-License-Identifier: MIT */
/* MANIFESTs written: an edit more, durably, or a whole one (see manifest.c for the form). */
#include "store/leveldb/formats/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"

#define EDIT_MAX(keys) (96u + (keys)) /* bytes of an edit with a table at most */

static size_t manifest_put_key(unsigned char *to, struct wcs_slice key)
{
	size_t len = ldb_put_varint(to, key.len);

	memcpy(to + len, key.data, key.len);
	return len + key.len;
}

static size_t manifest_spell_table(unsigned char *to, unsigned int level,
				   const struct ldb_manifest_table *table)
{
	size_t len = ldb_put_varint(to, LDB_EDIT_NEW);

	len += ldb_put_varint(to + len, level);
	len += ldb_put_varint(to + len, table->number);
	len += ldb_put_varint(to + len, table->size);
	len += manifest_put_key(to + len, table->smallest);
	return len + manifest_put_key(to + len, table->largest);
}

static size_t manifest_spell(unsigned char *to, const struct ldb_manifest *manifest,
			     const struct ldb_manifest_table *old,
			     const struct ldb_manifest_table *by)
{
	size_t len = 0;

	len += ldb_put_varint(to + len, LDB_EDIT_NEXT_FILE);
	len += ldb_put_varint(to + len, manifest->next_file);
	len += ldb_put_varint(to + len, LDB_EDIT_DELETED);
	len += ldb_put_varint(to + len, old->level);
	len += ldb_put_varint(to + len, old->number);
	return by ? len + manifest_spell_table(to + len, old->level, by) : len;
}

/* What stands behind the last whole record was never acted on. */
static int manifest_append(int dir, struct ldb_manifest *manifest, const unsigned char *edit,
			   size_t len)
{
	int fd = openat(dir, manifest->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 || ftruncate(fd, (off_t)manifest->end) ? -EIO : 0;
	uint64_t end = manifest->end;

	if (!err)
		err = ldb_logfile_append(fd, &end, edit, len);
	if (!err && fsync(fd))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	if (!err)
		manifest->end = end;
	return err;
}

int ldb_manifest_replace(int dir, struct ldb_manifest *manifest, uint64_t number,
			 const struct ldb_manifest_table *by)
{
	const struct ldb_manifest_table *found = ldb_manifest_find(manifest, number);
	struct ldb_manifest_table made;
	unsigned int level = found->level;
	unsigned char *edit;
	int err;

	if (by && ldb_manifest_overlaps(manifest, level, number, by))
		return -EIO;
	edit = malloc(EDIT_MAX(by ? by->smallest.len + by->largest.len : 0));
	if (!edit)
		return -ENOMEM;
	if (by && manifest->next_file <= by->number)
		manifest->next_file = by->number + 1;
	err = manifest_append(dir, manifest, edit, manifest_spell(edit, manifest, found, by));
	free(edit);
	if (!err)
		err = ldb_manifest_delete(manifest, number, level);
	if (!err && by) {
		made = *by;
		made.level = level;
		err = ldb_manifest_add(manifest, &made);
	}
	return err;
}

static int manifest_write_edits(int fd, const struct ldb_manifest *manifest, unsigned char *edit)
{
	static const char comparator[] = LDB_MANIFEST_COMPARATOR;
	uint64_t at = 0;
	size_t len = ldb_put_varint(edit, LDB_EDIT_COMPARATOR);
	int err;

	len += manifest_put_key(edit + len, (struct wcs_slice){comparator, strlen(comparator)});
	len += ldb_put_varint(edit + len, LDB_EDIT_LOG);
	len += ldb_put_varint(edit + len, manifest->log_number);
	len += ldb_put_varint(edit + len, LDB_EDIT_NEXT_FILE);
	len += ldb_put_varint(edit + len, manifest->next_file);
	len += ldb_put_varint(edit + len, LDB_EDIT_SEQUENCE);
	len += ldb_put_varint(edit + len, manifest->sequence);
	err = ldb_logfile_append(fd, &at, edit, len);
	for (size_t i = 0; !err && i < manifest->count; i++) {
		const struct ldb_manifest_table *table = &manifest->tables[i];

		len = manifest_spell_table(edit, table->level, table);
		err = ldb_logfile_append(fd, &at, edit, len);
	}
	return !err && fsync(fd) ? -EIO : err;
}

int ldb_manifest_write(int dir, const struct ldb_manifest *manifest)
{
	unsigned char *edit;
	size_t keys = 0;
	int fd, err = ldb_manifest_check(manifest, NULL);

	if (err)
		return err;
	fd = openat(dir, manifest->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return ldb_file_errno();
	for (size_t i = 0; i < manifest->count; i++) {
		const struct ldb_manifest_table *table = &manifest->tables[i];

		if (keys < table->smallest.len + table->largest.len)
			keys = table->smallest.len + table->largest.len;
	}
	edit = malloc(EDIT_MAX(keys));
	err = edit ? manifest_write_edits(fd, manifest, edit) : -ENOMEM;
	free(edit);
	close(fd);
	return err;
}

int ldb_manifest_set_current(int dir, const char *name)
{
	int fd = openat(dir, LDB_FILE_TEMPORARY,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[LDB_FILE_NAME_MAX + 1];
	uint64_t at = 0;
	int err;

	if (fd < 0)
		return ldb_file_errno();
	snprintf(text, sizeof(text), "%s\n", name);
	err = ldb_file_write(fd, text, strlen(text), &at);
	if (!err && fsync(fd))
		err = -EIO;
	close(fd);
	if (!err && (renameat(dir, LDB_FILE_TEMPORARY, dir, "CURRENT") || fsync(dir)))
		err = -EIO;
	return err;
}
