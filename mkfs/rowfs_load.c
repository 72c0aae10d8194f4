/* SPDX-License-Identifier: MIT */
/*
 * rowfs-load: writes lines of JSON, or CSV, into a store or a mount.
 *
 * Invariant: if it stops at a line, the lines before it are applied and safe on disk, that line and
 * the lines behind it are not applied.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"
#include "lib/system/message.h"
#include "lib/times.h"
#include "mkfs/base/mounted.h"
#include "mkfs/load/distinct.h"
#include "mkfs/load/sink.h"
#include "mkfs/load/skip.h"
#include "mkfs/text/csv_options.h"
#include "mkfs/text/lines.h"
#include "store/rows.h"

static volatile sig_atomic_t load_signal; /* the signal that interrupted the load; 0: none */

static const struct program program = {
	.name = (char[]){"rowfs-load"},
	.help = "Usage: rowfs-load [--csv TABLE | --tsv TABLE] STORE|DIRECTORY [FILE]\n"
		"Applies lines of JSON from FILE, or standard input, to a store that is not\n"
		"mounted or to a directory of a mount. A wrong line ends it: the lines before it\n"
		"are applied. Each line is one of\n"
		"  {\"table\": \"vehicles\"}  the lines that follow are rows of this table\n"
		"  {\"key\": \"STC#22\", \"families\": {\"loc\": {\"lat\": [{\"ts\": 17, "
		"\"value\": \"53.4\"}]}}}\n"
		"     one atomic change of a row; ts in microseconds; see rowfs(5)\n"
		"  {\"version\": 1, \"tables\": ...}  a schema: adds what is missing, sets "
		"policies\n"
		"  --no-schema    skips schemas: their tables and families must exist\n"
		"  --csv TABLE    FILE is CSV, as cbt import takes it: a row of families, each\n"
		"                 for the columns up to the next; a row of columns; then rows,\n"
		"                 each with its key first. Empty fields are no cells.\n"
		"  --tsv TABLE    the same with tabs between the fields; --delimiter C: with C\n"
		"  --key COLUMN,...   one row names all columns, as F:COLUMN; these make the key\n"
		"  --family F     all columns are of this family; nothing else names families\n"
		"  --null TEXT    fields TEXT (not in quotes) are no cells, empty ones are empty\n"
		"  --escape backslash   \\n, \\t, \\\" ... are escapes, also in quotes; \\N is no "
		"cell\n"
		"  --create       makes the table and the families that are missing\n"
		"  --timestamps   a field VALUE@TIMESTAMP has its cell's timestamp\n"
		"  --skip-bad FILE   puts bad records of CSV there, with the reason, and goes on\n"
		"  --quiet        prints neither progress nor counts, but warnings and errors\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this; -V, --version prints the version\n"
		"Ends with 0, 1 when it failed, 2 for wrong usage.\n",
};

struct load {
	char **argv; /* argc arguments: the options, and the store or directory */
	int argc;
	const char *path;   /* the store or directory, as given */
	const char *source; /* the input, as messages name it */
	int fd;
	struct sink *sink;
	const char *table;     /* of CSV; NULL: the input is JSON */
	bool no_schema;	       /* skips the lines of schemas */
	bool quiet;	       /* neither progress nor counts are printed */
	struct distinct keys;  /* of CSV */
	const char *skip_name; /* of --skip-bad; NULL: none */
	struct skip skip;
	uint64_t
		refused; /* line of the record that the sink refused and that is skipped; 0: none */
	struct csv_rows_options csv;
	uint64_t bytes, size; /* read; of the file, 0: not known */
	bool file;	      /* the input is a named file */
	int exit_code;	      /* of an error that is printed */
};

/* ---- Messages ---------------------------------------------------------------------------- */

static void load_progress(struct load *load)
{
	char of[48] = "";

	if (load->size > 0)
		snprintf(of, sizeof(of), " of %" PRIu64, load->size >> 20);
	program_progress(&program, "%" PRIu64 " row%s, %" PRIu64 "%s MiB", load->sink->rows,
			 message_plural(load->sink->rows), load->bytes >> 20, of);
}

/* Prints why with its place and the number of applied lines. line 0: no place; column 0: the whole
 * line. */
static int load_fail_at(const struct load *load, uint64_t line, uint64_t column, const char *why)
{
	char at[48] = "";
	int n = line > 0 ? snprintf(at, sizeof(at), ":%" PRIu64, line) : 0;

	if (column > 0)
		snprintf(at + n, sizeof(at) - (size_t)n, ":%" PRIu64, column);
	return program_fail(&program, "%s%s: %s (%s%" PRIu64 " line%s applied before it)",
			    load->source, at, why, load->sink->least ? "at least " : "",
			    load->sink->rows, message_plural(load->sink->rows));
}

/* Prints the sink's reason. line 0: not known. */
static int load_fail_sink(const struct load *load, uint64_t line)
{
	return load_fail_at(load, line, 0, load->sink->why);
}

/* ---- Interrupts -------------------------------------------------------------------------- */

static void load_on_signal(int number)
{
	load_signal = number;
}

/* A signal interrupts a read; a write goes on until its lines are applied. */
static void load_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = load_on_signal};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* Prints a space and the word, which it frees. Returns false if word is NULL. */
static bool load_put_word(FILE *out, char *word)
{
	fprintf(out, " %s", word ? word : "");
	free(word);
	return word != NULL;
}

/* Prints a command that loads the rest; false: no memory. header: the number of header lines. */
static bool load_put_rest(const struct load *load, uint64_t line, uint64_t header, FILE *out)
{
	bool named = load->file && strncmp(load->source, "/dev/", 5) != 0, memory = true;
	const char *name = named ? load->source : "FILE", *table = load->sink->table;

	fputs("interrupted; go on with (", out);
	if (header > 0) {
		fprintf(out, "head -n %" PRIu64, header);
		memory = load_put_word(out, escape_path(name));
		fputs("; ", out);
	} else if (table[0]) {
		fprintf(out, "echo '{\"table\":\"%s\"}'; ", table);
	}
	fprintf(out, "tail -n +%" PRIu64, line);
	memory = load_put_word(out, escape_path(name)) && memory;
	fputs(") | rowfs-load", out);
	for (int i = 1; i + 1 < load->argc; i++)
		memory = load_put_word(out, escape_word(load->argv[i])) && memory;
	return load_put_word(out, escape_path(load->path)) && memory;
}

/* Prints how to load the rest. line: the first that is not applied; header: the number of header
 * lines, 0: none. */
static int load_interrupted(const struct load *load, uint64_t line, uint64_t header)
{
	char *why = NULL;
	size_t len;
	FILE *out = open_memstream(&why, &len);
	bool memory = out && load_put_rest(load, line, header, out);
	int exit_code;

	memory = out && fclose(out) == 0 && memory;
	exit_code = load_fail_at(load, line, 0, memory ? why : "interrupted");
	free(why);
	return exit_code;
}

/* ---- Lines and rows that wait ------------------------------------------------------------ */

/* Is there more to read at once? */
static bool load_ready(const struct load *load)
{
	struct pollfd input = {.fd = load->fd, .events = POLLIN};

	return poll(&input, 1, 0) > 0;
}

/* Takes note of the record that the sink refused, if it can be skipped. Else prints the reason. */
static void load_refused(struct load *load, int rc)
{
	bool record = rc == -EINVAL || rc == -ENAMETOOLONG || rc == -EOVERFLOW;

	load->keys.failed = true; /* the refused record's key may be among them */
	if (load->skip.file && record && load->sink->failed > 0)
		load->refused = load->sink->failed;
	else
		load->exit_code = load_fail_sink(load, load->sink->failed);
}

/* Applies all that waits. After a failure load_refused was called. */
static int load_finish(struct load *load)
{
	int rc = load->sink->kind->finish(load->sink);

	if (rc)
		load_refused(load, rc);
	return rc ? rc : load->exit_code;
}

/* ---- Lines of JSON ----------------------------------------------------------------------- */

static int load_lines(struct load *load)
{
	struct lines lines = {.fd = load->fd, .max = load->sink->line_max + 1};
	const char *text;
	char why[160];
	size_t len;
	int more;

	while ((more = lines_next(&lines, &text, &len)) > 0) {
		if (load->sink->kind->write(load->sink, text, len)) {
			load->exit_code = load_fail_sink(load, load->sink->failed);
			break;
		}
		for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + len - at)));
		     at++)
			load->sink->lines++;
		load->bytes += len;
		load_progress(load);
		if (load_signal || (!load_ready(load) && load_finish(load)))
			break;
	}
	free(lines.buffer);
	if (load->exit_code || load_finish(load))
		return load->exit_code;
	if (load_signal)
		return load_interrupted(load, load->sink->lines + 1, 0);
	if (more >= 0)
		return PROGRAM_OK;
	snprintf(why, sizeof(why), "%s", lines_fault(&lines, more));
	if (more == -EFBIG && lines.max < WCS_IMPORT_LINE_MOST)
		snprintf(why + strlen(why), sizeof(why) - strlen(why),
			 "; a store that is not mounted takes up to %zu MiB",
			 WCS_IMPORT_LINE_MOST >> 20);
	return load_fail_at(load, load->sink->lines + 1, 0, why);
}

/* ---- CSV --------------------------------------------------------------------------------- */

static int load_has_family(void *ctx, const char *family)
{
	struct load *load = ctx;

	return sink_family(load->sink, load->table, family);
}

/* Prints the table's line; for --create before it that of a schema of it and the families of the
 * header, or that of --family if there are no columns. */
static void load_put_table(const struct load *load, const struct csv_row *header, FILE *out)
{
	if (load->csv.create) {
		json_t *families = json_object();

		for (size_t i = 0; i < header->count; i++)
			if (header->cells[i].differs != WCS_PART_QUALIFIER)
				json_object_set_new(families, header->cells[i].family.data,
						    json_object());
		if (header->count == 0 && load->csv.family)
			json_object_set_new(families, load->csv.family, json_object());
		escape_json_put(out,
				json_pack("{s:i, s:{s:{s:o}}}", "version", 1, "tables", load->table,
					  "families", families),
				0);
	}
	fprintf(out, "{\"table\":\"%s\"}\n", load->table);
}

static int load_begin(void *ctx, const struct csv_row *header, const struct wcs_keys **keys,
		      unsigned char *delimiter)
{
	struct load *load = ctx;
	struct sink *sink = load->sink;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (out)
		load_put_table(load, header, out);
	rc = out && fclose(out) == 0 ? sink->kind->write(sink, text, len)
				     : sink_fail(sink, -ENOMEM, "no memory");
	sink->lines += 1 + load->csv.create;
	if (!rc)
		rc = sink_design(sink, load->table);
	*keys = sink->keys;
	*delimiter = sink->delimiter;
	if (rc)
		load->exit_code = load_fail_sink(load, sink->failed > 0 ? header->line : 0);
	free(text);
	return rc;
}

static int load_row(void *ctx, const struct csv_row *row)
{
	struct load *load = ctx;
	int rc = load->sink->kind->row(load->sink, row);

	distinct_add(&load->keys, row->key);
	if (rc)
		load_refused(load, rc);
	return rc;
}

/* Prints the error of a record, which comes behind those of the rows that wait. */
static int load_csv_fail(struct load *load, const struct csv_rows *rows)
{
	if (load_finish(load))
		return PROGRAM_FAILED;
	return load_fail_at(load, rows->wrong.line, rows->wrong.column,
			    rows->why[0] ? rows->why : load->sink->why);
}

/* Puts the record of an error into the file of --skip-bad, and goes on behind it; false: the error
 * ends the load. rc: of csv_rows_read. */
static bool load_skip(struct load *load, struct csv_rows *rows, int rc)
{
	struct sink *sink = load->sink;
	bool own = rows->why[0] != '\0'; /* not the sink's */
	uint64_t line = rows->csv.count > 0 ? rows->csv.fields[0].place.line : 0;
	struct csv_place wrong = rows->wrong;
	char why[512];

	if (load->exit_code || !rows->body || rc == -ENOMEM || (rc == -EFBIG && rows->csv.why) ||
	    (!own && !load->refused))
		return false;
	if (own)
		load_finish(load);
	if (load->exit_code) /* of a record before it */
		return false;
	if (load->refused)
		wrong = (struct csv_place){line = load->refused, 0};
	rc = skip_record(&load->skip, &rows->csv, line, wrong,
			 load->refused ? sink->why : rows->why);
	if (rc) {
		snprintf(why, sizeof(why), "%s: %s", load->skip_name, strerror(-rc));
		load->exit_code = load_fail_at(load, line, 0, why);
	}
	load->refused = 0;
	sink->failed = 0;
	rows->why[0] = sink->why[0] = '\0';
	return load->exit_code == PROGRAM_OK;
}

/* As csv_rows_read and csv_rows_end with --skip-bad, text NULL: the end. */
static int load_skipping(struct load *load, struct csv_rows *rows, const char *text, size_t len)
{
	struct skip *skip = &load->skip;
	int rc = skip_add(skip, text ? text : "", len);
	size_t end;

	if (rc)
		return load->exit_code = load_fail_at(load, rows->csv.place.line, 0, strerror(-rc));
	end = skip_whole(skip, len);
	do {
		rc = csv_rows_read(rows, skip->bytes + skip->read, end - skip->read);
		if (!rc && !text)
			rc = csv_rows_end(rows);
		if (!rc)
			rc = load_finish(load);
	} while (rc && load_skip(load, rows, rc));
	if (!rc) {
		skip->read = end;
		skip_applied(skip, &rows->csv);
	}
	return rc;
}

static int load_csv(struct load *load)
{
	struct lines lines = {.fd = load->fd, .max = WCS_IMPORT_LINE_MAX, .pieces = true};
	struct csv_rows rows;
	const char *text;
	int rc = 0, more = 0;
	size_t len;

	csv_rows_open(&rows, &load->csv);
	while (!rc && !load_signal && (more = lines_next(&lines, &text, &len)) > 0) {
		rc = load->skip.file ? load_skipping(load, &rows, text, len)
				     : csv_rows_read(&rows, text, len);
		load->bytes += len;
		if (!rc && !load_ready(load))
			rc = load_finish(load);
		load_progress(load);
	}
	if (!rc && !load_signal && more == 0)
		rc = load->skip.file ? load_skipping(load, &rows, NULL, 0) : csv_rows_end(&rows);
	if (rc && !load->exit_code)
		load->exit_code = load_csv_fail(load, &rows);
	else if (!rc && !load_finish(load)) {
		if (load_signal)
			load->exit_code =
				load_interrupted(load, rows.body ? csv_next(&rows.csv).line : 1,
						 rows.body ? rows.body - 1 : 0);
		else if (more < 0)
			load->exit_code = load_fail_at(load, rows.csv.place.line, 0,
						       lines_fault(&lines, more));
	}
	free(lines.buffer);
	csv_rows_close(&rows);
	return load->exit_code;
}

/* Prints the counts at the end, also to a script if lines had the same key. */
static void load_put_counts(const struct load *load, uint64_t cells)
{
	uint64_t rows = load->sink->rows;
	char keys[32] = "";
	bool fewer = distinct_text(&load->keys, rows, keys);

	if (!fewer && (load->quiet || (!load->file && isatty(STDERR_FILENO) != 1)))
		return;
	fprintf(stderr, "%s: %" PRIu64 " ", program.name, rows);
	if (fewer)
		fprintf(stderr, "lines made %s row%s", keys, strcmp(keys, "1") == 0 ? "" : "s");
	else
		fprintf(stderr, "row%s", message_plural(rows));
	fprintf(stderr, ", %" PRIu64 " cell%s, %.1f s\n", cells, message_plural(cells),
		program_seconds());
}

/* ---- Main -------------------------------------------------------------------------------- */

static int load_run(struct load *load)
{
	int exit_code, rc = -ENOENT;
	struct mounted mounted = {.root = NULL};
	struct stat st;
	uint64_t cells, old;

	if (!mounted_is_store(load->path))
		rc = mounted_find(load->path, &mounted);
	if (rc == -EINVAL)
		return program_fail(
			&program,
			"%s: holds no rows: name the mount, a table, or a directory of it",
			load->path);
	/* For a path that is neither, the error of opening it as a store names the reason. */
	exit_code = rc == 0 ? sink_mount_open(&program, &mounted, &load->sink)
			    : sink_store_open(&program, load->path, &load->sink);
	if (exit_code != PROGRAM_OK)
		goto out;
	load->sink->no_schema = load->no_schema;
	if (fstat(load->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		load->size = (uint64_t)st.st_size;
	program_progress_start(!load->quiet);
	exit_code = load->table ? load_csv(load) : load_lines(load);
	/* Lines that were applied before a wrong one must survive a power cut, too. */
	if (load->sink->kind->sync(load->sink))
		exit_code = program_fail(&program, "%s: not safe on disk: %s", load->path,
					 load->sink->why);
	cells = load->sink->kind->cells(load->sink, &old);
	program_progress_end();
	if (old > 0)
		program_fail(&program, old == 1 ? TIMES_OLD_ONE : TIMES_OLD, old);
	if (exit_code == PROGRAM_OK)
		load_put_counts(load, cells);
	if (load->skip.count > 0)
		exit_code = program_fail(&program, "%s: bad records that were skipped: %" PRIu64,
					 load->skip_name, load->skip.count);
	free(load->keys.hashes);
	free(load->skip.bytes);
	load->sink->kind->close(load->sink);

out:
	mounted_free(&mounted);
	return exit_code;
}

/* Checks the arguments, opens the input and loads it. */
static int load_all(struct load *load, char **names, int count)
{
	struct csv_rows_options *csv = &load->csv;
	int rc, exit_code = csv_options_check(&program, csv);

	if (exit_code)
		return exit_code;
	if (!load->table && csv->create)
		return program_misuse(&program, "--create goes with --csv or --tsv");
	if (!load->table && load->skip_name)
		return program_misuse(&program, "--skip-bad goes with --csv or --tsv");
	if (load->table && load->no_schema)
		return program_misuse(&program, "--no-schema goes with lines of JSON");
	if (count == 0)
		return program_misuse(&program, "STORE is missing");
	if (count > 2)
		return program_misuse(&program, "%s: one STORE and one FILE only", names[2]);
	if (load->table && !wcs_table_name_valid(load->table))
		return program_fail(&program,
				    "table %s: a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or "
				    ". first",
				    load->table);
	if (csv->family && !wcs_family_name_valid(csv->family))
		return program_fail(&program,
				    "family %s: a family's name is 1 to 64 of -_.a-zA-Z0-9",
				    csv->family);
	load->path = names[0];
	if (count == 2 && strcmp(names[1], "-") != 0) {
		load->source = names[1];
		load->file = true;
		load->fd = open(load->source, O_RDONLY | O_CLOEXEC);
	}
	if (load->fd < 0)
		return program_fail(&program, "%s: %s", load->source, strerror(errno));
	load->skip.source = load->source;
	rc = load->skip_name ? skip_open(&load->skip, load->skip_name, load->fd) : 0;
	exit_code = rc ? program_fail(&program, "--skip-bad %s: %s", load->skip_name,
				      rc == -EINVAL ? "it is the input" : strerror(-rc))
		       : load_run(load);
	if (load->skip.file)
		fclose(load->skip.file);
	close(load->fd);
	return exit_code;
}

int main(int argc, char **argv)
{
	struct load load = {.fd = STDIN_FILENO,
			    .source = "standard input",
			    .csv = {.has_family = load_has_family,
				    .begin = load_begin,
				    .row = load_row,
				    .ctx = &load}};
	const char *tsv = NULL;
	const struct program_option options[] = {{"csv", .text = &load.table},
						 {"tsv", .text = &tsv},
						 CSV_OPTIONS(load.csv),
						 {"create", .flag = &load.csv.create},
						 {"no-schema", .flag = &load.no_schema},
						 {"skip-bad", .text = &load.skip_name},
						 {"quiet", .flag = &load.quiet},
						 {NULL}};
	int exit_code = program_options(&program, argc, argv, options);

	if (exit_code >= 0)
		return exit_code;
	load_catch_signals();
	if (load.table && tsv)
		return program_misuse(&program, "only one --csv or --tsv");
	load.csv.separator = load.table ? ',' : tsv ? '\t' : 0;
	load.table = tsv ? tsv : load.table;
	load.argv = argv;
	load.argc = optind + 1;
	exit_code = load_all(&load, argv + optind, argc - optind);
	if (load_signal && exit_code) { /* a shell expects a program that a signal ended */
		signal(load_signal, SIG_DFL);
		raise(load_signal);
	}
	return exit_code;
}
