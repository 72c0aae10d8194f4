/* SPDX-License-Identifier: MIT */
/*
 * rowfs-load: lines of JSON, or CSV, into a store or a mount. Invariant: when it stops at a line,
 * all lines before it are applied and safe on disk, that line and those behind it are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv_rows.h"
#include "lines.h"
#include "sink.h"

enum load_option { LOAD_CSV = 256, LOAD_FAMILY, LOAD_TIMESTAMPS };

static const struct program program = {
	.name = (char[]){"rowfs-load"},
	.help = "Usage: rowfs-load [--csv TABLE] STORE|DIRECTORY [FILE]\n"
		"\n"
		"Applies lines of JSON from FILE, or standard input, to a store that is not\n"
		"mounted or to a directory of a mount. A wrong line ends it: those before it are\n"
		"applied, it and those behind are not. Each line is one of\n"
		"  {\"table\": \"vehicles\"}  the lines that follow are rows of this table\n"
		"  {\"key\": \"STC#22\", \"families\": {\"loc\": {\"lat\": [{\"ts\": 17, "
		"\"value\": \"53.4\"}]}}}\n"
		"     one atomic change of a row. A cell that is just \"53.4\" gets the present "
		"as\n"
		"     timestamp, in microseconds; \"base64\" instead of \"value\" takes any "
		"bytes;\n"
		"     %XX in keys and columns is a byte; \"delete\", \"append\", \"increment\" and "
		"\"if\"\n"
		"     stand beside \"families\": see rowfs(5)\n"
		"  {\"version\": 1, \"tables\": ...}  a schema: adds what is missing, sets "
		"policies\n"
		"\n"
		"  --csv TABLE    FILE is CSV, as cbt import takes it: a row of families, each\n"
		"                 for the columns up to the next; a row of columns; then rows,\n"
		"                 each with its key first. Empty fields are no cells.\n"
		"  --family F     with --csv: of all columns; there is no row of families then\n"
		"  --timestamps   with --csv: a field VALUE@TIMESTAMP has its cell's timestamp\n"
		"  -h, --help     prints this\n"
		"  -V, --version  prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed, 2 for wrong usage.\n",
};

struct load {
	const char *path;   /* where it goes, as given */
	const char *source; /* as errors name it */
	const char *table;  /* that of --csv */
	int fd;
	struct sink *sink;
	uint64_t bytes, size; /* read; of the file, 0: not known */
	bool terminal;	      /* stderr is one */
	double started, shown;
};

/* ---- What is printed --------------------------------------------------------------------- */

static void load_progress(struct load *load)
{
	char of[48] = "";
	double now;

	if (!load->terminal)
		return;
	now = program_seconds();
	if (now - load->shown < 1)
		return;
	load->shown = now;
	if (load->size > 0)
		snprintf(of, sizeof(of), " of %" PRIu64, load->size >> 20);
	fprintf(stderr, "\r%s: %" PRIu64 " rows, %" PRIu64 "%s MiB, %.0f s ", program.name,
		load->sink->rows, load->bytes >> 20, of, now - load->started);
}

static void load_progress_clear(const struct load *load)
{
	if (load->shown > load->started)
		fputs("\r\033[K", stderr);
}

/* With the number of what is applied, which why does not have. */
static int load_fail_at(const struct load *load, uint64_t line, uint64_t column, const char *why)
{
	char at[32] = "";
	uint64_t rows = load->sink->rows;

	load_progress_clear(load);
	if (column > 0)
		snprintf(at, sizeof(at), ":%" PRIu64, column);
	return program_fail(&program, "%s:%" PRIu64 "%s: %s (%" PRIu64 " line%s applied before it)",
			    load->source, line, at, why, rows, rows == 1 ? "" : "s");
}

/* The sink's words, which say what is applied. line 0: of no line in particular. */
static int load_fail_sink(const struct load *load, uint64_t line)
{
	load_progress_clear(load);
	if (line == 0)
		return program_fail(&program, "%s: %s", load->source, load->sink->why);
	return program_fail(&program, "%s:%" PRIu64 ": %s", load->source, line, load->sink->why);
}

/* ---- Lines of JSON ----------------------------------------------------------------------- */

/* The byte order mark that some editors put before the first line. */
static void load_skip_bom(struct load *load, const char **text, size_t *len)
{
	static const char bom[3] = "\xef\xbb\xbf";

	if (*len < sizeof(bom) || memcmp(*text, bom, sizeof(bom)) != 0)
		return;
	*text += sizeof(bom);
	*len -= sizeof(bom);
	load->bytes += sizeof(bom);
}

static uint64_t load_count(const char *text, size_t len)
{
	uint64_t count = 0;

	for (const char *end = text + len, *at = text; at < end; at++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			break;
		count++;
	}
	return count;
}

static int load_too_long(const struct load *load)
{
	size_t max = load->sink->line_max;
	char why[160];
	int n = snprintf(why, sizeof(why), "the line is longer than %zu MiB", max >> 20);

	if (max < WCS_IMPORT_LINE_MOST)
		snprintf(why + n, sizeof(why) - (size_t)n,
			 "; a store that is not mounted takes up to %zu MiB",
			 WCS_IMPORT_LINE_MOST >> 20);
	return load_fail_at(load, load->sink->lines + 1, 0, why);
}

static int load_lines(struct load *load)
{
	struct lines lines;
	const char *text;
	size_t len;
	int more, exit_code = PROGRAM_OK;

	lines_open(&lines, load->fd, load->sink->line_max + 1);
	while ((more = lines_next(&lines, &text, &len)) > 0) {
		if (load->bytes == 0)
			load_skip_bom(load, &text, &len);
		if (len > 0 && load->sink->kind->write(load->sink, text, len)) {
			exit_code = load_fail_sink(load, load->sink->failed);
			break;
		}
		load->sink->lines += load_count(text, len);
		load->bytes += len;
		load_progress(load);
	}
	lines_close(&lines);
	if (more == -EFBIG)
		return load_too_long(load);
	if (more < 0)
		return load_fail_at(load, load->sink->lines + 1, 0, strerror(-more));
	return exit_code;
}

/* ---- CSV --------------------------------------------------------------------------------- */

static int load_has_family(void *ctx, const char *family)
{
	struct load *load = ctx;

	return load->sink->kind->family(load->sink, load->table, family);
}

/* The lines that were made of the CSV go to the sink, then what was wrong with it is said. */
static int load_csv_lines(struct load *load, struct csv_rows *rows, int error)
{
	struct sink *sink = load->sink;

	if (rows->lines > 0 && sink->kind->write(sink, rows->out.bytes, rows->out.len)) {
		uint64_t at = sink->failed - sink->lines;

		return load_fail_sink(load,
				      at >= 1 && at <= rows->lines ? rows->origins[at - 1] : 0);
	}
	sink->lines += rows->lines;
	if (!error)
		return PROGRAM_OK;
	return load_fail_at(load, rows->wrong.line, rows->wrong.column,
			    rows->why[0] ? rows->why : sink->why);
}

static ssize_t load_read(int fd, char *buffer, size_t len)
{
	ssize_t got;

	do
		got = read(fd, buffer, len);
	while (got < 0 && errno == EINTR);
	return got;
}

static int load_csv(struct load *load, const struct csv_rows_options *options)
{
	enum { LOAD_PIECE = 256 << 10 };
	char *buffer = malloc(LOAD_PIECE);
	int exit_code = PROGRAM_OK;
	struct csv_rows rows;
	ssize_t got = 0;

	if (!buffer)
		return program_fail(&program, "no memory");
	csv_rows_open(&rows, options);
	while (exit_code == PROGRAM_OK && (got = load_read(load->fd, buffer, LOAD_PIECE)) > 0) {
		int error = csv_rows_read(&rows, buffer, (size_t)got);

		exit_code = load_csv_lines(load, &rows, error);
		load->bytes += (uint64_t)got;
		load_progress(load);
	}
	if (exit_code == PROGRAM_OK && got < 0)
		exit_code = load_fail_at(load, rows.csv.place.line, 0, strerror(errno));
	else if (exit_code == PROGRAM_OK)
		exit_code = load_csv_lines(load, &rows, csv_rows_end(&rows));
	csv_rows_close(&rows);
	free(buffer);
	return exit_code;
}

/* ---- Main -------------------------------------------------------------------------------- */

static int load_run(struct load *load, const struct csv_rows_options *csv)
{
	int exit_code = sink_open(&program, load->path, &load->sink);
	struct stat st;

	if (exit_code)
		return exit_code;
	load->terminal = isatty(STDERR_FILENO) == 1;
	if (fstat(load->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		load->size = (uint64_t)st.st_size;
	load->started = load->shown = program_seconds();
	if (csv->table)
		exit_code = load_csv(load, csv);
	else
		exit_code = load_lines(load);
	if (exit_code == PROGRAM_OK)
		load_progress_clear(load);
	/* What was applied before a wrong line is to last as well. */
	if (load->sink->kind->sync(load->sink))
		exit_code = program_fail(&program, "%s: not safe on disk: %s", load->path,
					 load->sink->why);
	load->sink->kind->close(load->sink);
	return exit_code;
}

static int load_open(struct load *load, char **names, int count)
{
	if (count == 0)
		return program_misuse(&program, "STORE is missing");
	if (count > 2)
		return program_misuse(&program, "%s: one STORE and one FILE only", names[2]);
	load->path = names[0];
	load->fd = STDIN_FILENO;
	load->source = "standard input";
	if (count == 1 || strcmp(names[1], "-") == 0)
		return PROGRAM_OK;
	load->source = names[1];
	load->fd = open(load->source, O_RDONLY | O_CLOEXEC);
	if (load->fd < 0)
		return program_fail(&program, "%s: %s", load->source, strerror(errno));
	return PROGRAM_OK;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"csv", required_argument, NULL, LOAD_CSV},
						{"family", required_argument, NULL, LOAD_FAMILY},
						{"timestamps", no_argument, NULL, LOAD_TIMESTAMPS},
						PROGRAM_OPTIONS,
						{NULL, 0, NULL, 0}};
	struct load load = {.fd = -1};
	struct csv_rows_options csv = {.has_family = load_has_family, .ctx = &load};
	int option, exit_code;

	program_begin(&program, argc, argv);
	while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		if (option == LOAD_CSV)
			csv.table = optarg;
		else if (option == LOAD_FAMILY)
			csv.family = optarg;
		else if (option == LOAD_TIMESTAMPS)
			csv.timestamps = true;
		else
			return program_option(&program, option);
	}
	if (!csv.table && (csv.family || csv.timestamps))
		return program_misuse(&program, "--family and --timestamps go with --csv");
	load.table = csv.table;
	exit_code = load_open(&load, argv + optind, argc - optind);
	if (exit_code == PROGRAM_OK)
		exit_code = load_run(&load, &csv);
	if (load.fd >= 0)
		close(load.fd);
	return exit_code;
}
