/* SPDX-License-Identifier: MIT */
/*
 * rowfs-dump: a store, or a directory in a mount, as lines of JSON that rowfs-load takes; or a
 * table as CSV. The same rows give the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/base/key_path.h"
#include "mkfs/text/csv_write.h"
#include "store/chain/views.h"
#include "store/rows.h"

static const struct program program = {
	.name = (char[]){"rowfs-dump"},
	.help = "Usage: rowfs-dump [--view CHAIN] [--csv [--family F] [--timestamps] [--header]]\n"
		"                  STORE|DIRECTORY [TABLE [PREFIX]]\n"
		"Prints a store that is not mounted, or what is in a directory of a mount, as\n"
		"lines of JSON that rowfs-load takes: the schema, and for each table a line with\n"
		"its name and one for each row, with all versions.\n"
		"\n"
		"  TABLE          prints this table only; DIRECTORY is then the mount's root\n"
		"  PREFIX         prints the row of this key and those below it, as the directory\n"
		"                 of that row has them; spelled as in .keys, where %XX is a byte\n"
		"  --view CHAIN   prints only what this path in TABLE shows: .newest/1/A/.first/1\n"
		"  --csv          prints one table as the CSV that cbt import and rowfs-load\n"
		"                 take: a row of families, each named at its first column; one of\n"
		"                 columns; then rows with the newest values; an empty field is no\n"
		"                 cell. What CSV cannot have is an error (see rowfs-dump(1)).\n"
		"  --family F     with --csv: prints this family only\n"
		"  --timestamps   with --csv: prints values as value@timestamp, in microseconds,\n"
		"                 for cbt import with timestamp=value-encoded\n"
		"  --header       with --csv: one line names all columns, as F:COLUMN, and key\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this\n"
		"  -V, --version  prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed (what it has printed then is not all), 2 for wrong\n"
		"usage.\n",
};

struct dump {
	struct rows *rows;
	const char *views;	 /* NULL: none */
	const char *table;	 /* NULL: all */
	const char *prefix_text; /* NULL: all rows */
	struct wcs_slice key;
	const struct wcs_slice *prefix; /* the key; NULL: all rows */
	bool csv;
	struct csv_options options;
	struct output out;
};

/* ---- JSON -------------------------------------------------------------------------------- */

/* Prints the table whose rows are started. */
static int dump_table(struct dump *dump, const struct wcs_table_schema *table)
{
	char line[WCS_TABLE_NAME_MAX + 32], buf[64u << 10];
	size_t got = 0;
	int exit_code;

	snprintf(line, sizeof(line), "{\"table\":\"%s\"}\n", table->name);
	exit_code = output_text(&dump->out, line);
	while (exit_code == PROGRAM_OK) {
		exit_code = rows_read(dump->rows, buf, sizeof(buf), &got);
		if (exit_code || got == 0)
			break;
		exit_code = output_write(&dump->out, buf, got);
	}
	return exit_code;
}

static int dump_start(struct dump *dump, const struct wcs_table_schema *table)
{
	return rows_start(dump->rows, table, dump->prefix, WCS_EXPORT_ROWS);
}

/* The schema of the tables that are printed, in a line; then their rows. Nothing is printed if the
 * first table's rows cannot be read. */
static int dump_json(struct dump *dump, struct wcs_table_schema *tables, size_t count)
{
	const struct wcs_schema schema = {.table_count = count, .tables = tables};
	char *text = wcs_schema_line(&schema);
	int exit_code = count > 0 ? dump_start(dump, &tables[0]) : PROGRAM_OK;

	if (!text)
		return program_fail(&program, "no memory");
	if (exit_code == PROGRAM_OK)
		exit_code = output_text(&dump->out, text);
	free(text);
	for (size_t i = 0; i < count && exit_code == PROGRAM_OK; i++) {
		if (i > 0)
			exit_code = dump_start(dump, &tables[i]);
		if (exit_code == PROGRAM_OK)
			exit_code = dump_table(dump, &tables[i]);
	}
	return exit_code;
}

/* ---- Options ----------------------------------------------------------------------------- */

/* Are the rows in the view .raw, which shows stored keys? */
static bool dump_is_raw(const struct dump *dump)
{
	const char *views = dump->views ? dump->views : "";

	return dump->rows->mounted.raw ||
	       (strncmp(views, ".raw", 4) == 0 && (views[4] == '/' || !views[4]));
}

/* Picks the table that is named, or that the directory is in; or all. */
static int dump_rows(struct dump *dump)
{
	struct wcs_table_schema *tables = dump->rows->schema->tables;
	const struct mounted *mounted = &dump->rows->mounted;
	const char *in = mounted->table, *family = dump->options.family;
	size_t count = dump->rows->schema->table_count;
	struct wcs_table_schema raw;

	if (in[0] && dump->table && (mounted->below || strcmp(in, dump->table) != 0))
		return program_misuse(
			&program, "%s: DIRECTORY is in table %s: name a table at the mount's root",
			dump->table, in);
	if (in[0])
		dump->table = in;
	if (dump->csv && !dump->table)
		return program_misuse(&program, "--csv: name the TABLE that is to be printed");
	if (dump->views && !dump->table)
		return program_misuse(&program, "--view: name the TABLE that is to be printed");
	if (dump->views && dump->views[0] != '.')
		return program_misuse(&program,
				      "--view %s: a chain begins with a view, as .first/10",
				      dump->views);
	if (dump->prefix_text && dump->views && wcs_view_descends(dump->views))
		return program_misuse(&program, "%s: --view %s has a directory already",
				      dump->prefix_text, dump->views);
	dump->rows->views = dump->views;
	if (dump->table) {
		tables = wcs_schema_table(dump->rows->schema, dump->table);
		if (!tables)
			return program_fail(&program, "table %s: there is none of that name",
					    dump->table);
		count = 1;
	}
	if (dump_is_raw(dump)) {
		raw = *tables;
		raw.keys = NULL;
		tables = &raw;
	}
	if (dump->prefix_text) {
		dump->prefix = &dump->key;
		if (key_parse(&program, dump->prefix_text, tables, true, &dump->key))
			return PROGRAM_FAILED;
	}
	if (!dump->csv)
		return dump_json(dump, tables, count);
	if (family && !wcs_schema_family(tables, family, strlen(family)))
		return program_fail(&program, "table %s: there is no family %s", tables->name,
				    family);
	return csv_write(dump->rows, tables, dump->prefix, &dump->options, &dump->out);
}

/* ---- Main -------------------------------------------------------------------------------- */

static int dump_arguments(struct dump *dump, int argc, char **argv)
{
	if (!dump->csv &&
	    (dump->options.family || dump->options.timestamps || dump->options.header))
		return program_misuse(&program,
				      "--family, --timestamps and --header go with --csv");
	if (argc == 0)
		return program_misuse(&program, "STORE or DIRECTORY is missing");
	if (argc > 3)
		return program_misuse(&program, "%s: one TABLE and one PREFIX only", argv[3]);
	if (argc > 1)
		dump->table = argv[1];
	if (argc > 2)
		dump->prefix_text = argv[2];
	return PROGRAM_OK;
}

int main(int argc, char **argv)
{
	static struct dump dump;
	static const struct program_option options[] = {
		{"view", .text = &dump.views},
		{"csv", .flag = &dump.csv},
		{"family", .text = &dump.options.family},
		{"timestamps", .flag = &dump.options.timestamps},
		{"header", .flag = &dump.options.header},
		{NULL}};
	int ended, exit_code = program_options(&program, argc, argv, options);

	if (exit_code >= 0)
		return exit_code;
	exit_code = dump_arguments(&dump, argc - optind, argv + optind);
	if (exit_code == PROGRAM_OK)
		exit_code = rows_open(&program, argv[optind], &dump.rows);
	if (exit_code == PROGRAM_OK) {
		output_start(&dump.out, &program);
		exit_code = dump_rows(&dump);
		ended = output_end(&dump.out);
		exit_code = exit_code ? exit_code : ended;
	}
	rows_close(dump.rows);
	free((void *)(uintptr_t)dump.key.data);
	return exit_code;
}
