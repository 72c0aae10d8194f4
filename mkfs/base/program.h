/* SPDX-License-Identifier: MIT */
/* Options, messages and confinement that all programs share. The main thread alone. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <getopt.h>
#include <stdbool.h>

#include "lib/system/sandbox.h"
#include "store/store.h"

enum program_exit { PROGRAM_OK = 0, PROGRAM_FAILED = 1, PROGRAM_MISUSED = 2 };

struct program {
	char *name;
	const char *help;  /* the text of --help */
	const char *store; /* the option before a store, "--store "; NULL: it is an argument */
	bool ordered;	   /* options precede all arguments, which may begin with - */
};

/* A long option. */
struct program_option {
	const char *name;  /* NULL: the end of the options */
	bool *flag;	   /* set to true; NULL: the option has an argument */
	const char **text; /* set to the argument */
};

enum { PROGRAM_OPTIONS_MAX = 16 };

/* The last entries of options: --help and --version, which every program has, and the end. */
#define PROGRAM_OPTIONS                                                                            \
	{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'},                     \
	{                                                                                          \
		0                                                                                  \
	}

/* The entry of --foreign, for programs that open a store: message_getopt sets the flag and returns
 * 0. */
#define PROGRAM_FOREIGN                                                                            \
	{                                                                                          \
		"foreign", no_argument, &program_foreign_allowed, 1                                \
	}
extern int program_foreign_allowed;

/* As program_begin; takes these options, --foreign, --help and --version. Arguments begin at optind
 * then. Returns the exit code, or -1: the program goes on. */
int program_options(const struct program *program, int argc, char **argv,
		    const struct program_option *options);

/* Opens missing standard descriptors and ignores SIGXFSZ. main calls it first. */
void program_begin(const struct program *program, int argc, char **argv);

/* Handles --help, --version, or an option that message_getopt refused. Returns the exit code. */
int program_option(const struct program *program, int option);

/* Prints "name: " and the words on stderr, with hostile characters (lib/utf8.h) as %XX. Returns
 * PROGRAM_FAILED. */
int program_fail(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* As program_fail, with a hint at --help. Returns PROGRAM_MISUSED. */
int program_misuse(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Starts the time of program_seconds, and of progress, which is printed if it is wanted and stderr
 * is a terminal. */
void program_progress_start(bool wanted);
/* Overwrites the last line on stderr, once a second, with these words and the seconds. The next
 * error, or program_progress_end, clears it. */
void program_progress(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void program_progress_end(void);

/* Reads a schema of JSON from a file, and completes it. The caller frees it. A failure sets
 * fault->text, and the line if it is known. */
int program_read_schema(const char *path, struct wcs_schema **schema, struct wcs_fault *fault);
/* Does so and prints the failure. Returns the exit code. */
int program_schema(const struct program *program, const char *path, struct wcs_schema **schema);

/* Gives open delimiters of a schema of JSON the default one, and key designs those of their tables.
 */
void program_complete_schema(struct wcs_schema *schema);

/* Is the process root, the directory another user's, and --foreign missing? Without Landlock the
 * process must not use such a directory; program_foreign is the message. */
bool program_is_foreign(int fd);
extern const char program_foreign[];

/* Ends a killed process that hangs in its mount of the store, and holds it. PROGRAM_FAILED: the
 * reason is printed. Precedes program_confine, which calls it. */
int program_release(const struct program *program, const char *store);

/*
 * Restricts this process to the files of the places and /proc, for good; fills places[0] with the
 * store at path. Files that root makes in another user's store belong to its owner. Must precede
 * opening the store: LevelDB follows links that its owner put there.
 * PROGRAM_FAILED: the reason is printed.
 */
int program_confine(const struct program *program, const char *path, struct sandbox_place *places,
		    size_t count);

/* Seconds since program_progress_start, by the monotonic clock. */
double program_seconds(void);

#endif
