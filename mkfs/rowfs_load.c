/* SPDX-License-Identifier: MIT */
/*
 * rowfs-load: applies lines of JSON to a store, one by one. Invariant: when it stops at a line, all
 * lines before it are applied and safe on disk, that line and those behind it are not.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "program.h"

/* A value at its limit, in base64 or as text with some escapes, and more cells beside it. */
#define LOAD_LINE_MAX ((size_t)256 << 20)

static const struct program program = {
	.name = (char[]){"rowfs-load"},
	.help = "Usage: rowfs-load STORE [FILE]\n"
		"\n"
		"Applies lines of JSON from FILE, or from standard input, to the store STORE, "
		"which\n"
		"must not be mounted. Each line is one of\n"
		"\n"
		"  {\"table\": \"vehicles\"}     the lines that follow are rows of this table\n"
		"  {\"key\": \"STC#22\", \"families\": {\"loc\": {\"lat\": [{\"ts\": 17, "
		"\"value\": \"53.4\"}]}}}\n"
		"                            one atomic change of a row: \"text\" alone is a cell "
		"with\n"
		"                            the present as its timestamp, in microseconds since\n"
		"                            1970; \"base64\" instead of \"value\" takes any "
		"bytes; %XX\n"
		"                            in keys and columns is a byte; \"delete\", "
		"\"append\",\n"
		"                            \"increment\" and \"if\" stand beside \"families\"\n"
		"  {\"version\": 1, \"tables\": …}  a schema: adds what the store lacks, sets "
		"policies\n"
		"\n"
		"A wrong line ends it: the lines before it are applied, it and those behind are "
		"not.\n"
		"\n"
		"  --help     prints this\n"
		"  --version  prints the version\n"
		"\n"
		"Ends with 0, 1 when it failed, 2 for wrong usage.\n",
};

struct load {
	const char *source; /* as errors name it */
	struct wcs_store *store;
	struct wcs_table *table; /* NULL: no table line came yet */
	uint64_t line;		 /* number of the one at hand, from 1 */
	uint64_t rows;
	uint64_t bytes;
	bool terminal; /* stderr is one */
	double started, shown;
};

/* ---- What is printed --------------------------------------------------------------------- */

static void load_progress(struct load *load)
{
	double now;

	if (!load->terminal)
		return;
	now = program_seconds();
	if (now - load->shown < 1)
		return;
	load->shown = now;
	fprintf(stderr, "\r%s: %" PRIu64 " rows, %" PRIu64 " MiB, %.0f s ", program.name,
		load->rows, load->bytes >> 20, now - load->started);
}

static void load_progress_clear(const struct load *load)
{
	if (load->shown > load->started)
		fputs("\r\033[K", stderr);
}

static int load_fail(const struct load *load, const char *why)
{
	load_progress_clear(load);
	return program_fail(&program, "%s:%" PRIu64 ": %s (%" PRIu64 " row%s before it applied)",
			    load->source, load->line, why, load->rows, load->rows == 1 ? "" : "s");
}

/* The words for what wcs_row_mutate returned. */
static int load_fail_row(const struct load *load, int error)
{
	char why[512], name[WCS_FAMILY_NAME_MAX + 1];
	const char *after = NULL;
	size_t n;

	if (error == -ECANCELED)
		return load_fail(load, "the row is not as \"if\" says");
	if (error == -EINVAL)
		return load_fail(load, "\"increment\" of a value that is not an 8-byte integer");
	if (error == -EOVERFLOW)
		return load_fail(load, "an integer or a timestamp would leave its range");
	if (error == -EFBIG)
		return load_fail(load, "\"append\" makes a value larger than 100 MiB");
	if (error != -ENOENT)
		return load_fail(load, strerror(-error));
	n = (size_t)snprintf(why, sizeof(why), "a family that table %s does not have; it has",
			     wcs_table_name(load->table));
	while (n < sizeof(why) && wcs_family_next(load->table, after, name) == 0) {
		n += (size_t)snprintf(why + n, sizeof(why) - n, " %s", name);
		after = name;
	}
	if (!after)
		snprintf(why + n, sizeof(why) - n, " none");
	return load_fail(load, why);
}

/* ---- Lines ------------------------------------------------------------------------------- */

static int load_table(struct load *load, const char *name)
{
	struct wcs_table *table;
	char why[128];
	int error = wcs_table_open(load->store, name, &table);

	if (error) {
		snprintf(why, sizeof(why), "table %s: %s", name,
			 error == -ENOENT ? "the store has none of that name" : strerror(-error));
		return load_fail(load, why);
	}
	wcs_table_close(load->table);
	load->table = table;
	return PROGRAM_OK;
}

static int load_schema(struct load *load, const struct wcs_schema *schema)
{
	struct wcs_fault fault = {0};

	if (wcs_schema_apply(load->store, schema, &fault))
		return load_fail(load, fault.text);
	return PROGRAM_OK;
}

static int load_row(struct load *load, const struct wcs_line *line)
{
	struct wcs_slice key = wcs_line_key(line);
	int error;

	if (!load->table)
		return load_fail(load, "a row, but no line {\"table\": NAME} came before it");
	if (!key.data)
		return load_fail(load, "the row has no \"key\"");
	error = wcs_row_mutate(load->table, key, wcs_line_mutation(line), NULL);
	if (error)
		return load_fail_row(load, error);
	load->rows++;
	return PROGRAM_OK;
}

static int load_line(struct load *load, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_line *line;
	char why[sizeof(fault.text) + 32];
	int exit_code = PROGRAM_FAILED;

	if (wcs_line_parse(text, len, &line, &fault)) {
		if (fault.column == 0)
			return load_fail(load, fault.text);
		snprintf(why, sizeof(why), "%s, at character %d", fault.text, fault.column);
		return load_fail(load, why);
	}
	switch (wcs_line_kind(line)) {
	case WCS_LINE_TABLE:
		exit_code = load_table(load, wcs_line_table(line));
		break;
	case WCS_LINE_SCHEMA:
		exit_code = load_schema(load, wcs_line_schema(line));
		break;
	case WCS_LINE_ROW:
		exit_code = load_row(load, line);
		break;
	}
	wcs_line_free(line);
	return exit_code;
}

static bool load_is_blank(const char *text, size_t len)
{
	while (len > 0 && strchr(" \t\r", text[len - 1]) && text[len - 1])
		len--;
	return len == 0;
}

static int load_lines(struct load *load, int fd)
{
	int exit_code = PROGRAM_OK, more = 0;
	struct lines lines;
	const char *text;
	size_t len;

	lines_open(&lines, fd, LOAD_LINE_MAX);
	while (exit_code == PROGRAM_OK) {
		load->line++;
		more = lines_next(&lines, &text, &len);
		if (more <= 0)
			break;
		load->bytes += len + 1;
		if (!load_is_blank(text, len))
			exit_code = load_line(load, text, len);
		load_progress(load);
	}
	lines_close(&lines);
	if (more == -EFBIG)
		return load_fail(load, "longer than 256 MiB");
	if (more < 0)
		return load_fail(load, strerror(-more));
	return exit_code;
}

/* ---- Main -------------------------------------------------------------------------------- */

static int load_store(const char *path, const char *source, int fd)
{
	const struct wcs_options options = {.log = program_log,
					    .log_ctx = (void *)(uintptr_t)&program};
	struct load load = {.source = source, .terminal = isatty(STDERR_FILENO) == 1};
	struct wcs_fault fault = {0};
	int exit_code, error;

	if (wcs_store_open(path, &options, &load.store, &fault))
		return program_fail(&program, "%s", fault.text);
	load.started = load.shown = program_seconds();
	exit_code = load_lines(&load, fd);
	/* What was applied before a wrong line is to last as well. */
	error = wcs_store_sync(load.store);
	if (exit_code == PROGRAM_OK)
		load_progress_clear(&load);
	if (error)
		exit_code =
			program_fail(&program, "%s: not safe on disk: %s", path, strerror(-error));
	wcs_table_close(load.table);
	wcs_store_close(load.store);
	return exit_code;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {PROGRAM_OPTIONS, {NULL, 0, NULL, 0}};
	int option, exit_code, fd = STDIN_FILENO;
	const char *source = "standard input";

	if (argc > 0)
		argv[0] = program.name;
	while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1)
		return program_option(&program, option);
	if (optind == argc)
		return program_misuse(&program, "STORE is missing");
	if (optind + 2 < argc)
		return program_misuse(&program, "%s: one STORE and one FILE only",
				      argv[optind + 2]);
	if (optind + 1 < argc && strcmp(argv[optind + 1], "-") != 0) {
		source = argv[optind + 1];
		fd = open(source, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return program_fail(&program, "%s: %s", source, strerror(errno));
	}
	exit_code = load_store(argv[optind], source, fd);
	close(fd);
	return exit_code;
}
