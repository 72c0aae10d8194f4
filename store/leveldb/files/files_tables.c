/* SPDX-License-Identifier: MIT */
/* The tables among LevelDB's files: those that are missing, of a wrong size, or damaged. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/files/files_private.h"
#include "store/leveldb/formats/tablefile.h"

/* Of one visit. */
struct files_table {
	struct ldb_files *files;
	struct ldb_files_table found;
	uint64_t damages, first;
	const char *what;
	int err;
};

static void files_table_damaged(void *ctx, uint64_t offset, const char *what)
{
	struct files_table *table = ctx;

	if (table->damages++ > 0)
		return;
	table->first = offset;
	table->what = what;
}

static int files_table_entry(void *ctx, struct wcs_slice key, struct wcs_slice value)
{
	struct files_table *table = ctx;

	(void)value;
	if (table->found.smallest.len == 0)
		table->err = ldb_buffer_set(&table->found.smallest, key);
	if (!table->err)
		table->err = ldb_buffer_set(&table->found.largest, key);
	return table->err != 0;
}

static int files_table_progress(void *ctx, uint64_t bytes)
{
	struct files_table *table = ctx;

	table->err = ldb_files_progress(table->files, bytes);
	return table->err != 0;
}

int ldb_files_open_table(struct ldb_files *files, uint64_t number, uint64_t *size)
{
	char name[LDB_FILE_NAME_MAX];
	int fd = ldb_file_open_table(files->dir, number, name);
	struct stat st;

	if (fd < 0)
		return -1;
	st.st_mode = 0;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = S_ISDIR(st.st_mode) ? EISDIR : EIO;
		return -1;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

static void files_table_clear(struct ldb_files_table *table)
{
	free(table->smallest.data);
	free(table->largest.data);
}

static int files_visit(struct files_table *table, int fd)
{
	struct ldb_tablefile_visit visit = {.damaged = files_table_damaged,
					    .entry = files_table_entry,
					    .progress = files_table_progress,
					    .ctx = table};
	int err = ldb_tablefile_visit(fd, table->found.size, &visit);

	table->found.good = table->damages == 0;
	return err < 0 ? err : table->err;
}

/* Keeps it in mind, with its keys. */
static int files_add_astray(struct ldb_files *files, struct ldb_files_table *found)
{
	if (files->astray_count == files->astray_room) {
		struct ldb_files_table *more =
			ldb_buffer_more(files->astray, &files->astray_room, 16, sizeof(*more));

		if (!more)
			return -ENOMEM;
		files->astray = more;
	}
	files->astray[files->astray_count++] = *found;
	found->smallest = found->largest = (struct ldb_buffer){0};
	return 0;
}

static void files_table_words(const struct files_table *table, uint64_t expected, bool another,
			      char *what, size_t room)
{
	size_t len = 0;

	if (another)
		len = (size_t)snprintf(what, room, "it is another table%s: ",
				       table->found.good ? "" : ", and damaged");
	if (expected != 0 && table->found.size != expected)
		snprintf(what + len, room - len,
			 "it has %" PRIu64 " bytes and should have %" PRIu64, table->found.size,
			 expected);
	else if (table->damages > 0)
		snprintf(what + len, room - len, "at %" PRIu64 ": %s%s", table->first, table->what,
			 table->damages > 1 ? ", and more behind it" : "");
	else
		snprintf(what + len, room - len, "it has other keys");
}

/* Is it good, and the one that is meant? */
static int files_judge(struct files_table *table, const struct ldb_manifest_table *known)
{
	struct ldb_files *files = table->files;
	uint64_t expected = known ? known->size : 0;
	bool another = known && ldb_files_is_another(files, &table->found, known);
	char name[LDB_FILE_NAME_MAX], what[128];
	int err;

	if (table->found.good && !another)
		return 0;
	files_table_words(table, expected, another, what, sizeof(what));
	ldb_file_name(name, LDB_FILE_TABLE, table->found.number);
	err = ldb_files_add(files, LDB_FILE_TABLE, table->found.number, name, false, "%s", what);
	if (err || !another)
		return err;
	files->faults[files->fault_count - 1].another = true;
	return files_add_astray(files, &table->found);
}

int ldb_files_table(struct ldb_files *files, uint64_t number,
		    const struct ldb_manifest_table *known)
{
	struct files_table table = {.files = files, .found = {.number = number}};
	char name[LDB_FILE_NAME_MAX];
	int fd = ldb_files_open_table(files, number, &table.found.size), err;

	files->count++;
	ldb_file_name(name, LDB_FILE_TABLE, number);
	if (fd < 0)
		return ldb_files_add(files, LDB_FILE_TABLE, number, name, errno == ENOENT, "%s",
				     errno == ENOENT ? "it is missing" : strerror(errno));
	err = files_visit(&table, fd);
	close(fd);
	if (!err)
		err = files_judge(&table, known);
	files_table_clear(&table.found);
	return err;
}

int ldb_files_unnamed(struct ldb_files *files, uint64_t number)
{
	struct files_table table = {.files = files, .found = {.number = number}};
	int fd = ldb_files_open_table(files, number, &table.found.size), err;

	if (fd < 0)
		return 0;
	err = files_visit(&table, fd);
	close(fd);
	if (!err && table.found.good)
		err = files_add_astray(files, &table.found);
	files_table_clear(&table.found);
	return err;
}

void ldb_files_forget(struct ldb_files *files)
{
	for (size_t i = 0; i < files->astray_count; i++)
		files_table_clear(&files->astray[i]);
	free(files->astray);
	files->astray = NULL;
	files->astray_count = files->astray_room = 0;
}

/* Where no MANIFEST tells which are in use, all are. */
static int files_any_table(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	(void)name;
	return kind == LDB_FILE_TABLE ? ldb_files_table(files, number, NULL) : 0;
}

/* Can it have keys that start with that byte? */
static bool files_table_has(const struct ldb_manifest_table *table, unsigned char space)
{
	const unsigned char *smallest = table->smallest.data, *largest = table->largest.data;

	return table->smallest.len <= 8 || table->largest.len <= 8 ||
	       (smallest[0] <= space && largest[0] >= space);
}

static int files_tables(struct ldb_files *files, bool all, unsigned char space)
{
	int err = 0;

	if (!files->whole)
		return ldb_files_each(files, files_any_table, files);
	for (size_t i = 0; !err && i < files->manifest.count; i++) {
		const struct ldb_manifest_table *table = &files->manifest.tables[i];

		if (all || files_table_has(table, space))
			err = ldb_files_table(files, table->number, table);
	}
	return err;
}

static int files_size(struct ldb_files *files, const struct ldb_manifest_table *table)
{
	uint64_t size = 0;
	int fd = ldb_files_open_table(files, table->number, &size);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && size == table->size ? 0 : ldb_files_table(files, table->number, table);
}

int ldb_files_sizes(struct ldb_files *files)
{
	int err = 0;

	for (size_t i = 0; !err && files->whole && i < files->manifest.count; i++)
		err = files_size(files, &files->manifest.tables[i]);
	return err;
}

int ldb_files_tables(struct ldb_files *files)
{
	return files_tables(files, true, 0);
}

int ldb_files_tables_of(struct ldb_files *files, unsigned char space)
{
	return files_tables(files, false, space);
}
