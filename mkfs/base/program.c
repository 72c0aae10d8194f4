/* SPDX-License-Identifier: MIT */
/*
 * Options, messages and confinement of the programs. An error is one line "program: what: why" on
 * stderr; a program ends with 0, 1 when it failed, 2 for wrong usage.
 */
#include "mkfs/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/system/connection.h"
#include "lib/system/descriptors.h"
#include "lib/system/message.h"
#include "lib/system/threads.h"
#include "store/keys/keys.h"

#ifndef ROWFS_VERSION
#error "ROWFS_VERSION must be defined"
#endif

/* A thousand tables of a hundred families each fit well. */
#define PROGRAM_SCHEMA_MAX (64u << 20)

int program_foreign_allowed;
static struct {
	bool wanted, shows; /* a line of progress stands on stderr */
	int64_t started, shown;
} program_progressing;

static int program_flush(const struct program *program)
{
	if (fflush(stdout) == 0)
		return PROGRAM_OK;
	return program_fail(program, "standard output: %s", strerror(errno));
}

void program_begin(const struct program *program, int argc, char **argv)
{
	descriptors_open_standard();
	threads_guard();
	signal(SIGPIPE, SIG_DFL); /* SIGPIPE ends the program, even if the parent ignored it */
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of a write, which is told */
	if (argc > 0)
		argv[0] = program->name; /* as message_getopt says it */
}

int program_option(const struct program *program, int option)
{
	switch (option) {
	case 'h':
		fputs(program->help, stdout);
		return program_flush(program);
	case 'V':
		printf("%s (rowfs) %s\n", program->name, ROWFS_VERSION);
		return program_flush(program);
	default:
		/* message_getopt has printed the reason. */
		fprintf(stderr, "Try '%s --help'.\n", program->name);
		return PROGRAM_MISUSED;
	}
}

int program_options(const struct program *program, int argc, char **argv,
		    const struct program_option *options)
{
	static const struct option shared[] = {PROGRAM_FOREIGN, PROGRAM_OPTIONS};
	enum { FIRST = 256 };
	struct option words[PROGRAM_OPTIONS_MAX + sizeof(shared) / sizeof(*shared)];
	int option, count = 0;

	program_begin(program, argc, argv);
	for (; options[count].name; count++)
		words[count] = (struct option){
			options[count].name, options[count].flag ? no_argument : required_argument,
			NULL, FIRST + count};
	memcpy(words + count, shared, sizeof(shared));
	while ((option = message_getopt(argc, argv, program->ordered ? "+hV" : "hV", words)) !=
	       -1) {
		const struct program_option *at = &options[option - FIRST];

		if (option > 0 && option < FIRST)
			return program_option(program, option);
		if (option > 0 && at->flag)
			*at->flag = true;
		else if (option > 0)
			*at->text = optarg;
	}
	return -1;
}

void program_progress_start(bool wanted)
{
	program_progressing.wanted = wanted && isatty(STDERR_FILENO) == 1;
	program_progressing.started = program_progressing.shown = clock_ns();
}

double program_seconds(void)
{
	return (double)(clock_ns() - program_progressing.started) / (double)CLOCK_SECOND;
}

void program_progress(const struct program *program, const char *format, ...)
{
	va_list args;

	if (!program_progressing.wanted || clock_ns() - program_progressing.shown < CLOCK_SECOND)
		return;
	program_progressing.shown = clock_ns();
	va_start(args, format);
	fprintf(stderr, "\r%s: ", program->name);
	vfprintf(stderr, format, args);
	fprintf(stderr, ", %.0f s ", program_seconds());
	va_end(args);
	program_progressing.shows = true;
}

void program_progress_end(void)
{
	if (program_progressing.shows)
		fputs("\r\033[K", stderr);
	program_progressing.shows = false;
}

int program_fail(const struct program *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	program_progress_end();
	message_va(program->name, format, args);
	va_end(args);
	return PROGRAM_FAILED;
}

int program_misuse(const struct program *program, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	program_progress_end();
	message_va(program->name, format, args);
	va_end(args);
	fprintf(stderr, "Try '%s --help'.\n", program->name);
	return PROGRAM_MISUSED;
}

/* Reads a whole file of at most max bytes (-EFBIG); the caller frees *text. */
static int program_read_file(const char *path, size_t max, char **text, size_t *len)
{
	char *bytes = malloc(max + 1);
	FILE *file = bytes ? fopen(path, "re") : NULL;
	int rc = file ? 0 : -errno;
	size_t used = 0;

	if (file) {
		used = fread(bytes, 1, max + 1, file);
		rc = ferror(file) ? -errno : used > max ? -EFBIG : 0;
		fclose(file);
	}
	if (rc) {
		free(bytes);
		return rc;
	}
	*text = bytes;
	*len = used;
	return 0;
}

void program_complete_schema(struct wcs_schema *schema)
{
	for (size_t i = 0; i < schema->table_count; i++) {
		struct wcs_table_schema *table = &schema->tables[i];

		if (table->delimiter == 0)
			table->delimiter = WCS_DELIMITER_DEFAULT;
		if (table->keys)
			table->keys->delimiter = table->delimiter;
	}
}

int program_read_schema(const char *path, struct wcs_schema **schema, struct wcs_fault *fault)
{
	char *text = NULL;
	size_t len = 0;
	int rc = program_read_file(path, PROGRAM_SCHEMA_MAX, &text, &len);

	*fault = (struct wcs_fault){.line = 0};
	if (!rc)
		rc = wcs_schema_parse(text, len, schema, fault);
	if (rc && fault->text[0] == '\0')
		snprintf(fault->text, sizeof(fault->text), "%s", strerror(-rc));
	free(text);
	if (!rc)
		program_complete_schema(*schema);
	return rc;
}

int program_schema(const struct program *program, const char *path, struct wcs_schema **schema)
{
	struct wcs_fault fault;

	if (!program_read_schema(path, schema, &fault))
		return PROGRAM_OK;
	wcs_fault_words(&fault);
	return fault.line > 0 ? program_fail(program, "%s:%d: %s", path, fault.line, fault.text)
			      : program_fail(program, "%s: %s", path, fault.text);
}

const char program_foreign[] =
	"it belongs to another user, whose links could lead out of it, and the "
	"kernel has no Landlock; --foreign uses it all the same";

bool program_is_foreign(int fd)
{
	struct stat top, data;

	if (program_foreign_allowed || geteuid() != 0)
		return false;
	return (fstat(fd, &top) == 0 && top.st_uid != 0) ||
	       (fstatat(fd, "data", &data, AT_SYMLINK_NOFOLLOW) == 0 && data.st_uid != 0);
}

int program_release(const struct program *program, const char *store)
{
	char why[CONNECTION_WHY];

	return connection_release(store, why) == 0 ? PROGRAM_OK : program_fail(program, "%s", why);
}

int program_confine(const struct program *program, const char *path, struct sandbox_place *places,
		    size_t count)
{
	struct sandbox_place store;
	const char *how;
	bool foreign;
	int rc = program_release(program, path);

	if (rc != PROGRAM_OK)
		return rc;
	store = sandbox_store(path);
	places[0] = store;
	rc = store.rights == SANDBOX_ALL ? sandbox_own(store.fd) : 0;
	if (rc == 0)
		rc = sandbox_enter(places, count, &how);
	foreign = rc == 0 && store.fd >= 0 && program_is_foreign(store.fd);
	if (store.fd >= 0)
		close(store.fd);
	if (rc < 0)
		return program_fail(program, "sandbox: %s", strerror(-rc));
	return foreign ? program_fail(program, "%s: %s", path, program_foreign) : PROGRAM_OK;
}
