/* SPDX-License-Identifier: MIT */
/* What the programs share: --help, --version, errors on stderr, exit codes. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/system/sandbox.h"
#include "store/store.h"

enum program_exit { PROGRAM_OK = 0, PROGRAM_FAILED = 1, PROGRAM_MISUSED = 2 };

struct program {
	char *name;
	const char *help; /* what --help prints */
};

/* Of getopt_long, for the two options that all have. */
#define PROGRAM_OPTIONS                                                                            \
	{"help", no_argument, NULL, 'h'},                                                          \
	{                                                                                          \
		"version", no_argument, NULL, 'V'                                                  \
	}

/* Of the programs that open a store; getopt_long sets it and returns 0. */
#define PROGRAM_FOREIGN                                                                            \
	{                                                                                          \
		"foreign", no_argument, &program_foreign_allowed, 1                                \
	}
extern int program_foreign_allowed;

/* The first that main does. */
void program_begin(const struct program *program, int argc, char **argv);

/* Does what getopt_long returned stand for one of those, or for none that it knows? Returns the
 * exit code. */
int program_option(const struct program *program, int option);

/* Prints "name: " and the words on stderr. Returns PROGRAM_FAILED. */
int program_fail(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for wrong usage, with a hint at --help. Returns PROGRAM_MISUSED. */
int program_misuse(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Shows a line on stderr in place of the last one, until the next error or program_progress_end. */
void program_progress(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void program_progress_end(void);

/* Reads a whole file of at most max bytes; the caller frees it. Prints why it fails, and returns
 * PROGRAM_FAILED then. */
int program_read_file(const struct program *program, const char *path, size_t max, char **text,
		      size_t *len);

/* May this process not use the directory without Landlock? Then it is root, another user owns the
 * directory, and --foreign was not given. program_foreign says why. */
bool program_is_foreign(int fd);
extern const char program_foreign[];

/*
 * From now on this process reaches no files but those of the places and /proc. It fills places[0]
 * with the store at path. Call it before the store is opened: its owner could put links into it,
 * which LevelDB follows. Prints why it fails.
 */
int program_confine(const struct program *program, const char *path, struct sandbox_place *places,
		    size_t count);

/* A log callback of a store: prints errors and warnings. ctx is the struct program. */
void program_log(void *ctx, enum wcs_log_level level, const char *text);

/* Seconds since some fixed moment. */
double program_seconds(void);

#endif
