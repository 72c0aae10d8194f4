/* SPDX-License-Identifier: MIT */
/* rowfs-path: row keys as paths and as stored keys, and paths as keys, without a mount. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/base/key_path.h"
#include "mkfs/text/rows.h"
#include "store/keys/keys.h"

static const struct program program = {
	.name = (char[]){"rowfs-path"},
	.store = "--store ",
	.ordered = true,
	.help = "Usage: rowfs-path [--schema FILE | --store STORE] [--stored] TABLE KEY...\n"
		"       rowfs-path [--schema FILE | --store STORE] [--stored] --key PATH...\n"
		"\n"
		"Prints, a line for each KEY, the path of that row below a mount's root; or for\n"
		"each such PATH the row's key.\n"
		"\n"
		"KEY is spelled as in the control file .keys and in row JSON: %XX, with\n"
		"upper-case digits, is a byte, so that '%' itself is %25. Times that the table's\n"
		"key design has may also be dates, 'now' or 7d, as in views.\n"
		"\n"
		"  --schema FILE  takes delimiter, families and key design of the table from a\n"
		"                 schema in JSON, as of mkfs.rowfs --schema\n"
		"  --store STORE  takes them from a store, or from a directory of a mount;\n"
		"                 without both the delimiter is '#', and there is no design and\n"
		"                 no family, whose name the tree spells as %XX in a segment\n"
		"  --key          reads paths\n"
		"  --stored       prints stored keys, with codecs and salt, their bytes as in KEY\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this; -V, --version prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed, 2 for wrong usage.\n",
};

struct path {
	const struct wcs_schema *schema; /* NULL: none is given */
	bool stored;			 /* prints stored keys */
	bool paths;			 /* reads paths */
};

/* Describes a table: as the schema does, or a plain one. */
static int path_table(const struct path *path, const char *name, struct wcs_table_schema *table)
{
	const struct wcs_table_schema *named;

	if (!wcs_table_name_valid(name))
		return program_fail(&program, "%s: not a table's name", name);
	*table = (struct wcs_table_schema){.delimiter = WCS_DELIMITER_DEFAULT};
	if (!path->schema)
		return PROGRAM_OK;
	named = wcs_schema_table(path->schema, name);
	if (!named)
		return program_fail(&program, "table %s: there is none of that name", name);
	*table = *named;
	return PROGRAM_OK;
}

/* The stored key as text; the caller frees it, NULL: no memory. */
static char *path_stored(const struct wcs_keys *keys, struct wcs_slice key)
{
	unsigned char stored[WCS_ROW_KEY_MAX];

	return wcs_text_encode(wcs_keys_stored(keys, key, stored));
}

/* Reads a key, or a path with its table, and prints it in the other form, if it should. */
static int path_one(const struct path *path, const char *name, const char *text, bool print)
{
	struct wcs_table_schema table;
	struct wcs_slice key = {0};
	char *out;
	int exit_code = path_table(path, name, &table);

	if (exit_code == PROGRAM_OK)
		exit_code = path->paths ? key_of_path(&program, text, &table, &key)
					: key_parse(&program, text, &table, print, &key);
	if (exit_code)
		return exit_code;
	out = path->stored  ? path_stored(table.keys, key)
	      : path->paths ? wcs_keys_text(table.keys, key)
			    : key_path(key, &table);
	if (!out)
		exit_code = program_fail(&program, "no memory");
	else if (print && (path->stored || path->paths))
		puts(out);
	else if (print)
		printf("%s/%s\n", name, out);
	free(out);
	free((void *)(uintptr_t)key.data);
	return exit_code;
}

/* Converts an argument; a path begins with its table. */
static int path_argument(const struct path *path, const char *table, const char *text, bool print)
{
	char name[WCS_TABLE_NAME_MAX + 2];
	size_t len = strcspn(text, "/");

	if (!path->paths)
		return path_one(path, table, text, print);
	if (text[len] == '\0')
		return program_fail(&program, "%s: not TABLE/PATH", text);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	return path_one(path, name, text, print);
}

static int path_all(const struct path *path, char **arguments)
{
	const char *table = path->paths ? NULL : *arguments++;
	int exit_code = PROGRAM_OK;

	/* All are checked before the first is printed. */
	for (char **at = arguments; *at && exit_code == PROGRAM_OK; at++)
		exit_code = path_argument(path, table, *at, false);
	for (char **at = arguments; *at && exit_code == PROGRAM_OK; at++)
		exit_code = path_argument(path, table, *at, true);
	if (exit_code == PROGRAM_OK && fflush(stdout))
		exit_code = program_fail(&program, "standard output: %s", strerror(errno));
	return exit_code;
}

/* Reads the schema of a file, or of a store, and converts the arguments. */
static int path_run(struct path *path, const char *file, const char *store, char **arguments)
{
	struct wcs_schema *schema = NULL;
	struct rows *rows = NULL;
	int exit_code = file ? program_schema(&program, file, &schema) : PROGRAM_OK;

	if (store)
		exit_code = rows_open(&program, store, &rows);
	path->schema = rows ? rows->schema : schema;
	if (exit_code == PROGRAM_OK)
		exit_code = path_all(path, arguments);
	rows_close(rows);
	wcs_schema_free(schema);
	return exit_code;
}

int main(int argc, char **argv)
{
	const char *file = NULL, *store = NULL;
	struct path path = {.stored = false};
	const struct program_option options[] = {{"schema", .text = &file},
						 {"store", .text = &store},
						 {"stored", .flag = &path.stored},
						 {"key", .flag = &path.paths},
						 {NULL}};
	int exit_code = program_options(&program, argc, argv, options);

	if (exit_code >= 0)
		return exit_code;
	if (file && store)
		return program_misuse(&program, "--schema or --store, not both");
	if (optind == argc)
		return program_misuse(&program, "%s is missing", path.paths ? "PATH" : "TABLE");
	if (optind + 1 == argc && !path.paths)
		return program_misuse(&program, "KEY is missing");
	return path_run(&path, file, store, argv + optind);
}
