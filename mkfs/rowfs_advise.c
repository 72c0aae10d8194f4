/* SPDX-License-Identifier: MIT */
/*
 * rowfs-advise: faults in the design of tables, from an export, a store or a mount.
 *
 * It takes any line that rowfs-load takes. Memory is that of the longest line, and does not grow
 * with the rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mkfs/base/mounted.h"
#include "mkfs/text/csv_options.h"
#include "mkfs/text/lines.h"
#include "store/advice/advice.h"

#define ADVISE_TABLE "rows" /* the name of a table that the input does not name */

static const struct program program = {
	.name = (char[]){"rowfs-advise"},
	.help = "Usage: rowfs-advise [--json] [--schema FILE] [--table TABLE |\n"
		"                    --csv TABLE | --tsv TABLE] FILE|STORE|DIRECTORY\n"
		"\n"
		"Looks for faults in the design of keys, rows and families, with an action for\n"
		"each: in FILE (- is standard input), lines of JSON as of rowfs-dump or .rows, or\n"
		"CSV; in a store that is not mounted; or in the mount of DIRECTORY.\n"
		"\n"
		"  --json         prints a line of JSON for each finding\n"
		"  --whole        reads all rows of a STORE; else a sample of a large table\n"
		"  --schema FILE  has the families and key designs of the tables in FILE\n"
		"  --table TABLE  the table of rows that no line {\"table\": ...} precedes;\n"
		"                 of a STORE, only this table\n"
		"  --csv TABLE    FILE is CSV, as rowfs-load takes it; --tsv: with tabs\n"
		"  --delimiter C, --key COLUMN,..., --family F, --null TEXT, --escape backslash,\n"
		"  --timestamps   with --csv: as of rowfs-load\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this; -V, --version prints the version\n"
		"\n"
		"Ends with 0, also after findings; 1 when it failed, 2 for wrong usage.\n",
};

struct advise {
	const char *path;   /* as given */
	const char *source; /* the input, as messages name it */
	const char *table;  /* of CSV, or of rows without a line of a table; NULL: not given */
	struct wcs_advice_options options;
	struct wcs_advice *advice;
	struct csv_rows_options csv; /* separator 0: the input is JSON */
	struct csv_rows rows;
	struct lines lines;
	struct wcs_line *line;	    /* the last one that was parsed; NULL: none */
	uint64_t number;	    /* of the present line, from 1 */
	struct wcs_schema *schema;  /* of a file or a line; NULL: none */
	struct wcs_table_schema in; /* the present table; without a name: none yet */
};

/* ---- Messages ---------------------------------------------------------------------------- */

/* Prints why with its place. line 0: not known; column 0: the whole line. */
static int advise_fail(const struct advise *advise, uint64_t line, uint64_t column, const char *why)
{
	char at[64] = "";

	if (line > 0 && column > 0)
		snprintf(at, sizeof(at), ":%" PRIu64 ":%" PRIu64, line, column);
	else if (line > 0)
		snprintf(at, sizeof(at), ":%" PRIu64, line);
	return program_fail(&program, "%s%s: %s", advise->source, at, why);
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Begins a table: as the schema has it, or a plain one. */
static int advise_table(struct advise *advise, const char *name)
{
	struct wcs_table_schema table = {.delimiter = WCS_DELIMITER_DEFAULT};
	const struct wcs_table_schema *named =
		advise->schema ? wcs_schema_table(advise->schema, name) : NULL;

	if (named)
		table = *named;
	snprintf(table.name, sizeof(table.name), "%s", name);
	wcs_advice_table_end(advise->advice);
	advise->in = table;
	if (wcs_advice_table(advise->advice, &advise->in))
		return program_fail(&program, "no memory");
	return PROGRAM_OK;
}

/* Takes the schema of the line; the table before it ends. */
static int advise_schema(struct advise *advise)
{
	wcs_advice_table_end(advise->advice);
	advise->in = (struct wcs_table_schema){.keys = NULL};
	wcs_schema_free(advise->schema);
	advise->schema = advise->line->schema;
	advise->line->schema = NULL;
	program_complete_schema(advise->schema);
	return PROGRAM_OK;
}

/* Begins the table of rows that no line of a table precedes. */
static int advise_rows(struct advise *advise)
{
	if (advise->in.name[0])
		return PROGRAM_OK;
	return advise_table(advise, advise->table ? advise->table : ADVISE_TABLE);
}

/* ---- Lines of JSON ----------------------------------------------------------------------- */

/* Parses a line, whose key is as the present table has it. */
static int advise_parse(struct advise *advise, const char *text, size_t len)
{
	const struct wcs_line_form form = {.keys = advise->in.keys};
	struct wcs_fault fault = {0};

	if (wcs_line_parse(text, len, &form, &advise->line, &fault))
		return advise_fail(advise, advise->number, (uint64_t)fault.column, fault.text);
	return PROGRAM_OK;
}

/* Takes a line of text without its newline. */
static int advise_line(struct advise *advise, const char *text, size_t len)
{
	bool first = !advise->in.name[0];
	struct wcs_cell cell;
	int exit_code;

	if (strspn(text, " \t\r") >= len)
		return PROGRAM_OK;
	exit_code = advise_parse(advise, text, len);
	if (exit_code != PROGRAM_OK)
		return exit_code;
	switch (advise->line->kind) {
	case WCS_LINE_TABLE:
		return advise_table(advise, advise->line->table);
	case WCS_LINE_SCHEMA:
		return advise_schema(advise);
	default:
		if (!advise->line->key.data)
			return advise_fail(advise, advise->number, 0, "a row without a key");
		exit_code = advise_rows(advise);
		if (exit_code == PROGRAM_OK && first && advise->in.keys)
			exit_code = advise_parse(advise, text, len);
		for (size_t i = 0; exit_code == PROGRAM_OK && wcs_line_cell(advise->line, i, &cell);
		     i++)
			wcs_advice_cell(advise->advice, &cell);
		return exit_code;
	}
}

static int advise_lines(struct advise *advise, const char *text, size_t len)
{
	int exit_code = PROGRAM_OK;

	while (len > 0 && exit_code == PROGRAM_OK) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len;

		exit_code = advise_line(advise, text, line);
		advise->number++;
		line += newline != NULL;
		text += line;
		len -= line;
	}
	return exit_code;
}

/* ---- CSV --------------------------------------------------------------------------------- */

static int advise_has_family(void *ctx, const char *family)
{
	(void)ctx;
	(void)family;
	return 0;
}

static int advise_begin(void *ctx, const struct csv_row *header, const struct wcs_keys **keys,
			unsigned char *delimiter)
{
	struct advise *advise = ctx;

	(void)header;
	*keys = advise->in.keys;
	*delimiter = advise->in.delimiter;
	return 0;
}

static int advise_row(void *ctx, const struct csv_row *row)
{
	struct advise *advise = ctx;

	for (size_t i = 0; i < row->count; i++)
		wcs_advice_cell(advise->advice, &row->cells[i]);
	return 0;
}

static int advise_csv_fail(struct advise *advise)
{
	return advise_fail(advise, advise->rows.wrong.line, advise->rows.wrong.column,
			   advise->rows.why);
}

static int advise_csv(struct advise *advise, const char *text, size_t len)
{
	return csv_rows_read(&advise->rows, text, len) ? advise_csv_fail(advise) : PROGRAM_OK;
}

/* ---- Inputs ------------------------------------------------------------------------------ */

/* Takes the text of the input. */
static int advise_text(struct advise *advise)
{
	bool csv = advise->csv.separator != 0;
	int more = 0, exit_code = PROGRAM_OK;
	const char *text;
	size_t len;

	while (exit_code == PROGRAM_OK && (more = lines_next(&advise->lines, &text, &len)) > 0)
		exit_code = csv ? advise_csv(advise, text, len) : advise_lines(advise, text, len);
	if (exit_code == PROGRAM_OK && more < 0)
		return advise_fail(advise, csv ? advise->rows.csv.place.line : advise->number, 0,
				   lines_fault(&advise->lines, more));
	if (csv && exit_code == PROGRAM_OK && csv_rows_end(&advise->rows))
		exit_code = advise_csv_fail(advise);
	return exit_code;
}

/* Anybody may have made the export. From now on the program opens no file. */
static int advise_confine(void)
{
	const char *how;
	int rc = sandbox_enter(NULL, 0, &how);

	return rc < 0 ? program_fail(&program, "sandbox: %s", strerror(-rc)) : PROGRAM_OK;
}

static int advise_file(struct advise *advise)
{
	int exit_code = PROGRAM_OK;

	advise->lines = (struct lines){
		.fd = STDIN_FILENO,
		.pieces = advise->csv.separator != 0,
		.max = 1 + (advise->csv.separator ? WCS_IMPORT_LINE_MAX : WCS_IMPORT_LINE_MOST)};
	advise->source = "standard input";
	advise->number = 1;
	if (strcmp(advise->path, "-") != 0) {
		advise->source = advise->path;
		advise->lines.fd = open(advise->path, O_RDONLY | O_CLOEXEC);
	}
	if (advise->lines.fd < 0)
		return program_fail(&program, "%s: %s", advise->path, strerror(errno));
	exit_code = advise_confine();
	if (exit_code != PROGRAM_OK) {
		close(advise->lines.fd);
		return exit_code;
	}
	csv_rows_open(&advise->rows, &advise->csv);
	if (advise->csv.separator)
		exit_code = advise_rows(advise);
	if (exit_code == PROGRAM_OK)
		exit_code = advise_text(advise);
	if (exit_code == PROGRAM_OK)
		wcs_advice_end(advise->advice);
	csv_rows_close(&advise->rows);
	wcs_line_free(advise->line);
	free(advise->lines.buffer);
	close(advise->lines.fd);
	return exit_code;
}

static int advise_store(struct advise *advise)
{
	struct wcs_store *store;
	struct wcs_table *table;
	int rc, exit_code = mounted_open_store(&program, advise->path, NULL, true, &store);

	if (exit_code)
		return exit_code;
	if (advise->table && wcs_table_open(store, advise->table, &table) != 0) {
		wcs_store_close(store);
		return program_fail(&program, "%s: no table %s", advise->path, advise->table);
	}
	if (advise->table)
		wcs_table_close(table);
	rc = wcs_advice_store(advise->advice, store);
	wcs_store_close(store);
	return rc ? program_fail(&program, "%s: %s", advise->path, strerror(-rc)) : PROGRAM_OK;
}

/* Prints the control file of a mount. */
static int advise_mount(const struct advise *advise, const struct mounted *mounted)
{
	static char text[64 << 10];
	int rc = -ENOMEM;
	FILE *from;
	size_t got;
	char *path;

	if (asprintf(&path, "%s/.rowfs/advice%s", mounted->root,
		     advise->options.json ? ".json" : "") >= 0) {
		from = fopen(path, "re");
		rc = from ? 0 : -errno;
		free(path);
	}
	if (rc == 0) {
		while ((got = fread(text, 1, sizeof(text), from)) > 0)
			fwrite(text, 1, got, stdout);
		rc = ferror(from) ? -errno : 0;
		fclose(from);
	}
	if (rc)
		return program_fail(&program, "%s/.rowfs/advice: %s", mounted->root, strerror(-rc));
	return PROGRAM_OK;
}

/* schema: one was given. */
static int advise_run(struct advise *advise, bool schema)
{
	struct mounted mounted = {.root = NULL};
	bool is_store, is_mount = false, is_directory;
	struct stat st;
	int exit_code;

	is_directory = strcmp(advise->path, "-") != 0 && stat(advise->path, &st) == 0 &&
		       S_ISDIR(st.st_mode);
	if (is_directory && !mounted_is_store(advise->path))
		is_mount = mounted_find(advise->path, &mounted) == 0;
	is_store = is_directory && !is_mount;
	if (is_directory && (schema || advise->csv.separator))
		exit_code = program_misuse(&program, "--schema, --csv and --tsv go with a FILE");
	else if (!is_store && advise->options.whole)
		exit_code = program_misuse(&program, "--whole goes with a STORE");
	else if (is_mount && advise->table)
		exit_code = program_misuse(&program, "--table goes with a FILE or a STORE");
	else if (is_mount)
		exit_code = advise_mount(advise, &mounted);
	else
		exit_code = is_store ? advise_store(advise) : advise_file(advise);
	mounted_free(&mounted);
	if ((fflush(stdout) || ferror(stdout)) && exit_code == PROGRAM_OK)
		exit_code = program_fail(&program, "standard output: %s", strerror(errno));
	return exit_code;
}

/* ---- Main -------------------------------------------------------------------------------- */

/* Checks the arguments. */
static int advise_arguments(struct advise *advise, char **names, int count)
{
	int exit_code = csv_options_check(&program, &advise->csv);

	if (exit_code)
		return exit_code;
	if (count == 0)
		return program_misuse(&program, "FILE or STORE is missing");
	if (count > 1)
		return program_misuse(&program, "%s: one FILE or STORE only", names[1]);
	if (advise->table && !wcs_table_name_valid(advise->table))
		return program_fail(&program, "%s: not a table's name", advise->table);
	advise->path = names[0];
	return PROGRAM_OK;
}

int main(int argc, char **argv)
{
	static struct advise advise = {.csv = {.has_family = advise_has_family,
					       .begin = advise_begin,
					       .row = advise_row,
					       .ctx = &advise}};
	const char *schema = NULL, *csv = NULL, *tsv = NULL;
	const struct program_option options[] = {{"json", .flag = &advise.options.json},
						 {"whole", .flag = &advise.options.whole},
						 {"schema", .text = &schema},
						 {"table", .text = &advise.table},
						 {"csv", .text = &csv},
						 {"tsv", .text = &tsv},
						 CSV_OPTIONS(advise.csv),
						 {NULL}};
	int exit_code = program_options(&program, argc, argv, options);

	if (exit_code >= 0)
		return exit_code;
	if ((advise.table != NULL) + (csv != NULL) + (tsv != NULL) > 1)
		return program_misuse(&program, "only one --table, --csv or --tsv");
	advise.csv.separator = csv ? ',' : tsv ? '\t' : 0;
	advise.table = csv ? csv : tsv ? tsv : advise.table;
	exit_code = advise_arguments(&advise, argv + optind, argc - optind);
	if (exit_code == PROGRAM_OK && schema)
		exit_code = program_schema(&program, schema, &advise.schema);
	advise.options.to = stdout;
	advise.options.table = advise.table;
	if (exit_code == PROGRAM_OK && wcs_advice_new(&advise.options, &advise.advice))
		exit_code = program_fail(&program, "no memory");
	if (exit_code == PROGRAM_OK)
		exit_code = advise_run(&advise, schema != NULL);
	wcs_advice_free(advise.advice);
	wcs_schema_free(advise.schema);
	return exit_code;
}
