/* SPDX-License-Identifier: MIT */
/* Damage to files of the copy: see damage.h. */
#include "tests/unit/damage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/formats/logfile.h"

/* ---- Bytes ------------------------------------------------------------------------------- */

static int damage_data(char path[300])
{
	int dir;

	snprintf(path, 300, "%s/data", damage_copy);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	return dir;
}

off_t damage_file(const char *part, char path[512])
{
	char below[300];
	DIR *stream = fdopendir(damage_data(below));
	const struct dirent *entry;
	off_t most = -1;
	struct stat st;

	snprintf(path, 512, "%s/%s", damage_copy, part);
	if (strchr(part, '/') && stat(path, &st) == 0)
		most = st.st_size;
	while ((entry = readdir(stream)))
		if (strstr(entry->d_name, part) &&
		    fstatat(dirfd(stream), entry->d_name, &st, 0) == 0 && st.st_size > most) {
			most = st.st_size;
			snprintf(path, 512, "%s/%.100s", below, entry->d_name);
		}
	closedir(stream);
	ck_assert_msg(most >= 0, "%s: no file with %s", below, part);
	return most;
}

static int damage_open_file(const char *part, off_t *size)
{
	char path[512];
	int fd;

	*size = damage_file(part, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

unsigned char *damage_bytes(const char *part, size_t *len)
{
	off_t size;
	int fd = damage_open_file(part, &size);
	unsigned char *bytes = malloc((size_t)size + 1);

	ck_assert_int_eq(pread(fd, bytes, (size_t)size, 0), size);
	close(fd);
	*len = (size_t)size;
	return bytes;
}

void damage_put(const char *part, off_t at, const void *bytes, size_t len)
{
	void *zeros = calloc(1, len + 1);
	off_t size;
	int fd = damage_open_file(part, &size);

	ck_assert_int_eq(pwrite(fd, bytes ? bytes : zeros, len, at), (ssize_t)len);
	close(fd);
	free(zeros);
}

void damage_flip(const char *part, off_t at)
{
	size_t len;
	unsigned char *bytes = damage_bytes(part, &len);

	ck_assert_int_lt(at, (off_t)len);
	bytes[at] ^= (unsigned char)(1 << at % 8);
	damage_put(part, at, bytes + at, 1);
	free(bytes);
}

/* ---- The MANIFEST ------------------------------------------------------------------------ */

off_t damage_append_edit(void)
{
	static const unsigned char edit[] = {LDB_EDIT_NEXT_FILE, 0xE8, 0x07};
	off_t size;
	int fd = damage_open_file("MANIFEST-", &size);
	uint64_t end = (uint64_t)size;

	SUITE_OK(ldb_logfile_append(fd, &end, edit, sizeof(edit)));
	close(fd);
	return (off_t)end;
}

int damage_read_manifest(struct ldb_manifest *manifest)
{
	char name[LDB_FILE_NAME_MAX], path[300];
	int dir = damage_data(path);

	SUITE_OK(ldb_manifest_current(dir, name, NULL));
	SUITE_OK(ldb_manifest_read(dir, name, manifest, NULL));
	return dir;
}

size_t damage_put_key(unsigned char *to, struct wcs_slice key)
{
	size_t len = ldb_put_varint(to, key.len);

	memcpy(to + len, key.data, key.len);
	return len + key.len;
}

/* An edit by hand, of a table that becomes known by another number, on level 1. */
static void damage_add_table(int dir, struct ldb_manifest *manifest,
			     const struct ldb_manifest_table *table, uint64_t number)
{
	char from[LDB_FILE_NAME_MAX], to[LDB_FILE_NAME_MAX];
	unsigned char edit[400];
	int fd = openat(dir, manifest->name, O_RDWR | O_CLOEXEC);
	size_t len = ldb_put_varint(edit, LDB_EDIT_NEXT_FILE);

	ldb_file_name(from, LDB_FILE_TABLE, table->number);
	ldb_file_name(to, LDB_FILE_TABLE, number);
	SUITE_OK(linkat(dir, from, dir, to, 0));
	ck_assert_uint_lt(table->smallest.len + table->largest.len, 300);
	len += ldb_put_varint(edit + len, number + 1);
	len += ldb_put_varint(edit + len, LDB_EDIT_NEW);
	len += ldb_put_varint(edit + len, 1);
	len += ldb_put_varint(edit + len, number);
	len += ldb_put_varint(edit + len, table->size);
	len += damage_put_key(edit + len, table->smallest);
	len += damage_put_key(edit + len, table->largest);
	SUITE_OK(ldb_logfile_append(fd, &manifest->end, edit, len));
	close(fd);
}

void damage_overlap(void)
{
	struct ldb_manifest manifest;
	struct ldb_manifest_table table;
	int dir = damage_read_manifest(&manifest);
	char path[512];
	uint64_t number;

	damage_file(".ldb", path);
	ldb_file_parse(strrchr(path, '/') + 1, &number);
	table = *ldb_manifest_find(&manifest, number);
	damage_add_table(dir, &manifest, &table, 91);
	damage_add_table(dir, &manifest, &table, 92);
	ldb_manifest_free(&manifest);
	close(dir);
}
