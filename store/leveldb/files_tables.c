/* SPDX-License-Identifier: MIT */
/* The tables among LevelDB's files: those that are missing, of a wrong size, or damaged. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files_private.h"
#include "tablefile.h"

/* Of one visit. */
struct files_table {
	struct ldb_files *files;
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

static int files_another_size(struct ldb_files *files, uint64_t number, const char *name,
			      uint64_t size, uint64_t expected, bool good)
{
	int err = ldb_files_add(files, LDB_FILE_TABLE, number, name, false,
				"%s %" PRIu64 " bytes and should have %" PRIu64,
				good ? "it is another table: it has" : "it has", size, expected);

	if (!err)
		files->faults[files->fault_count - 1].another = good;
	return err;
}

int ldb_files_table(struct ldb_files *files, uint64_t number, uint64_t expected)
{
	struct files_table table = {.files = files};
	struct ldb_tablefile_visit visit = {
		.damaged = files_table_damaged, .progress = files_table_progress, .ctx = &table};
	char name[LDB_FILE_NAME_MAX];
	uint64_t size = 0;
	int fd = ldb_files_open_table(files, number, &size), err;

	files->count++;
	ldb_file_name(name, LDB_FILE_TABLE, number);
	if (fd < 0)
		return ldb_files_add(files, LDB_FILE_TABLE, number, name, errno == ENOENT, "%s",
				     errno == ENOENT ? "it is missing" : strerror(errno));
	err = ldb_tablefile_visit(fd, size, &visit);
	close(fd);
	if (err < 0)
		return err;
	if (table.err)
		return table.err;
	if (expected != 0 && size != expected)
		return files_another_size(files, number, name, size, expected, table.damages == 0);
	if (table.damages == 0)
		return 0;
	return ldb_files_add(files, LDB_FILE_TABLE, number, name, false, "at %" PRIu64 ": %s%s",
			     table.first, table.what,
			     table.damages > 1 ? ", and more behind it" : "");
}

/* Where no MANIFEST tells which are in use, all are. */
static int files_any_table(void *ctx, const char *name, enum ldb_file_kind kind, uint64_t number)
{
	struct ldb_files *files = ctx;

	(void)name;
	return kind == LDB_FILE_TABLE ? ldb_files_table(files, number, 0) : 0;
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
			err = ldb_files_table(files, table->number, table->size);
	}
	return err;
}

static int files_size(struct ldb_files *files, const struct ldb_manifest_table *table)
{
	uint64_t size = 0;
	int fd = ldb_files_open_table(files, table->number, &size);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && size == table->size ? 0
					      : ldb_files_table(files, table->number, table->size);
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
