/* SPDX-License-Identifier: MIT */
/* Damage to files of the copy: see damage.h. */
#include "tests/unit/damage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/formats/logfile.h"
#include "store/leveldb/formats/manifest.h"

off_t damage_file(const char *part, char path[512])
{
	char below[300];
	DIR *stream;
	const struct dirent *entry;
	off_t most = -1;
	struct stat st;

	snprintf(below, sizeof(below), "%s/data", damage_copy);
	stream = opendir(below);
	ck_assert_ptr_nonnull(stream);
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
