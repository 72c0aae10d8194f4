/* SPDX-License-Identifier: MIT */
/* fsck.rowfs: checks a store and repairs it. Its exit codes are those of fsck(8). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/escape.h"
#include "lib/system/message.h"
#include "lib/system/mounts.h"
#include "lib/utf8.h"
#include "mkfs/base/program.h"

enum fsck_exit {
	FSCK_CLEAN = 0,
	FSCK_CORRECTED = 1,
	FSCK_LEFT = 4,
	FSCK_FAILED = 8,
	FSCK_MISUSED = 16,
	FSCK_STOPPED = 32,
};

static const struct program program = {
	.name = (char[]){"fsck.rowfs"},
	.help = "Usage: fsck.rowfs [-n|-y] STORE\n"
		"\n"
		"Checks STORE, which nobody may have mounted: the checksums of all files, every\n"
		"key and record, each value with its parts, the schema against the data, and what\n"
		"a crash left. Prints a line for each thing that is wrong, and what a repair does\n"
		"about it.\n"
		"\n"
		"  -n             corrects nothing and changes nothing in STORE\n"
		"  -y             corrects all there is, in a copy that then replaces STORE. The\n"
		"                 store as it was is kept in a new directory beside it,\n"
		"                 STORE.quarantine-TIME/store\n"
		"  --foreign      as root, uses another user's store without Landlock, too\n"
		"  -h, --help     prints this\n"
		"  -V, --version  prints the version\n"
		"\n"
		"Without -n and -y it asks, at a terminal, and is as with -n elsewhere. $TMPDIR\n"
		"(else /var/tmp) takes what does not fit into memory.\n"
		"\n"
		"Ends with 0: nothing is wrong; 1: all that was is corrected; 4: some is left; 8:\n"
		"it could not be checked or corrected, for the reason printed; 16: wrong usage;\n"
		"32: stopped.\n",
};

struct fsck {
	const char *path;
	bool yes, ask;
	bool unasked;	 /* neither, for want of a terminal */
	char *temporary; /* a directory, $TMPDIR of the check */
	int failed;	 /* errno of a finding that could not be printed; 0: none */
};

static volatile sig_atomic_t fsck_stopped;

static void fsck_stop(int number)
{
	(void)number;
	fsck_stopped = 1;
}

/* ---- Callbacks of the check -------------------------------------------------------------- */

/* Prints the store's path, a colon and the text. */
static void fsck_say(const struct fsck *fsck, const char *text)
{
	utf8_print(stdout, fsck->path);
	fputs(": ", stdout);
	utf8_print(stdout, text);
}

static void fsck_found(void *ctx, const struct wcs_finding *finding)
{
	struct fsck *fsck = ctx;

	program_progress_end();
	fsck_say(fsck, finding->where);
	fputs(": ", stdout);
	utf8_print(stdout, finding->what);
	fputs(finding->done ? "; repair: " : "", stdout);
	utf8_print(stdout, finding->done ? finding->done : "");
	if ((putchar('\n') < 0 || ferror(stdout)) && fsck->failed == 0)
		fsck->failed = errno;
}

static bool fsck_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	(void)ctx;
	if (total > 0)
		program_progress(&program, "%s: %" PRIu64 " of %" PRIu64 " MiB", what, done >> 20,
				 total >> 20);
	else
		program_progress(&program, "%s: %" PRIu64, what, done);
	return !fsck_stopped;
}

static bool fsck_agree(void *ctx, const char *what)
{
	const struct fsck *fsck = ctx;
	char answer[16];

	if (fsck->yes)
		return true;
	program_progress_end();
	for (;;) {
		utf8_print(stdout, what);
		fputs(" [y/n] ", stdout);
		fflush(stdout);
		if (!fgets(answer, sizeof(answer), stdin) || fsck_stopped)
			return false;
		if (strcasecmp(answer, "y\n") == 0 || strcasecmp(answer, "yes\n") == 0)
			return true;
		if (strcasecmp(answer, "n\n") == 0 || strcasecmp(answer, "no\n") == 0)
			return false;
	}
}

/* ---- The result -------------------------------------------------------------------------- */

/* Most reasons begin with where the store is. */
static int fsck_fail(const struct fsck *fsck, const char *why)
{
	size_t len = strlen(fsck->path);

	if (*why == '/' || (strncmp(why, fsck->path, len) == 0 && why[len] == ':'))
		program_fail(&program, "%s", why);
	else
		program_fail(&program, "%s: %s", fsck->path, why);
	return FSCK_FAILED;
}

/* A new directory's name beside the store's own directory: a path may end in it or lead through it,
 * as `.` does, and a copy of the store must not be in the store. */
static char *fsck_quarantine(const char *path)
{
	char *whole = realpath(path, NULL);
	time_t now = time(NULL);
	char when[32], *name = NULL;
	struct tm tm;

	if (!whole)
		whole = strdup(path); /* which the check says more of */
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	for (int i = 1; whole && i < 1000; i++) {
		char more[8] = "";

		if (i > 1)
			snprintf(more, sizeof(more), "-%d", i);
		if (asprintf(&name, "%s.quarantine-%s%s", whole, when, more) < 0)
			name = NULL;
		if (!name || access(name, F_OK) != 0)
			break;
		free(name);
		name = NULL;
	}
	free(whole);
	return name;
}

static void fsck_count(const char *before, uint64_t count, const char *what)
{
	printf("%s%" PRIu64 " %s%s", before, count, what, message_plural(count));
}

/* Prints the quarantine, as a shell takes it: rowfs-load and mv are the next commands. */
static void fsck_quarantined(const struct fsck *fsck, const char *quarantine)
{
	char *word = escape_path(quarantine);

	fsck_say(fsck, "quarantine: ");
	puts(word ? word : "beside it");
	free(word);
}

static int fsck_sum(struct fsck *fsck, const struct wcs_check_result *result,
		    const char *quarantine)
{
	uint64_t left = result->found - result->corrected;
	int exit_code = left > 0 ? FSCK_LEFT : result->found > 0 ? FSCK_CORRECTED : FSCK_CLEAN;

	if (result->quarantined)
		fsck_quarantined(fsck, quarantine);
	fsck_say(fsck, result->found == 0 ? "clean" : "");
	if (result->found > 0)
		printf("%" PRIu64 " found, %" PRIu64 " corrected, %" PRIu64 " left", result->found,
		       result->corrected, left);
	fsck_count("; ", result->files, "file");
	if (result->counted) {
		fsck_count(", ", result->tables, "table");
		fsck_count(", ", result->rows, "row");
		fsck_count(", ", result->cells, "cell");
		fsck_count(", ", result->values, "large value");
	} else {
		printf("; tables, rows and cells were not counted");
	}
	printf("\n");
	if (fflush(stdout) != 0 && fsck->failed == 0)
		fsck->failed = errno;
	if (fsck->failed != 0) {
		program_fail(&program, "standard output: %s", strerror(fsck->failed));
		return exit_code | FSCK_FAILED;
	}
	return exit_code;
}

/* Where open fails, the check fails later and says why. */
static struct sandbox_place fsck_place(const char *path, int flags, enum sandbox_rights rights)
{
	return (struct sandbox_place){open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | flags), rights};
}

/*
 * Leaves the store, its quarantine and a directory for temporary files in reach. The last two are
 * made now, since nothing can be made around them later; they belong to the store's owner.
 */
static int fsck_confine(struct fsck *fsck, const char *quarantine)
{
	const char *below = getenv("TMPDIR");
	struct sandbox_place places[5] = {sandbox_store(fsck->path)};
	int rc = places[0].rights == SANDBOX_ALL ? sandbox_own(places[0].fd) : 0;
	char *around = NULL;
	int exit_code;

	if (places[0].fd >= 0)
		close(places[0].fd);
	if (rc != 0)
		return program_fail(&program, "%s: its owner's rights: %s", fsck->path,
				    strerror(-rc));
	if (!below || *below != '/')
		below = "/var/tmp";
	if (asprintf(&around, "%s/..", fsck->path) < 0 ||
	    asprintf(&fsck->temporary, "%s/fsck.rowfs.XXXXXX", below) < 0)
		return program_fail(&program, "no memory");
	if (mkdtemp(fsck->temporary))
		setenv("TMPDIR", fsck->temporary, 1);
	if ((fsck->yes || fsck->ask) && access(fsck->path, F_OK) == 0)
		mkdir(quarantine, 0700);
	places[1] = fsck_place(below, 0, SANDBOX_ENTRIES);
	places[2] = fsck_place(fsck->temporary, O_NOFOLLOW, SANDBOX_ALL);
	places[3] = fsck_place(around, 0, SANDBOX_ENTRIES);
	places[4] = fsck_place(quarantine, O_NOFOLLOW, SANDBOX_ALL);
	exit_code = program_confine(&program, fsck->path, places, 5);
	for (size_t i = 1; i < 5; i++)
		if (places[i].fd >= 0)
			close(places[i].fd);
	free(around);
	return exit_code;
}

static int fsck_check(struct fsck *fsck, const char *quarantine)
{
	struct wcs_check_options options = {.repair = fsck->yes || fsck->ask,
					    .quarantine = quarantine,
					    .found = fsck_found,
					    .agree = fsck_agree,
					    .progress = fsck_progress,
					    .ctx = fsck};
	struct wcs_check_result result;
	struct wcs_fault fault = {0};
	int error, exit_code;

	program_progress_start(true);
	error = wcs_store_check(fsck->path, &options, &result, &fault);
	program_progress_end();
	if (error) {
		fflush(stdout);
		if (result.quarantined)
			fsck_quarantined(fsck, quarantine);
		exit_code = fsck_fail(fsck, fault.text);
		return error == -ECANCELED ? FSCK_STOPPED : exit_code;
	}
	if (fsck->unasked)
		program_fail(&program,
			     "%s: no terminal to ask at: nothing is changed; -y corrects what is "
			     "wrong",
			     fsck->path);
	return fsck_sum(fsck, &result, quarantine);
}

/* Refuses a mount, or a directory in one. */
static int fsck_mounted(const struct fsck *fsck)
{
	char *resolved = realpath(fsck->path, NULL);
	struct mounts_around around;
	bool mounted = resolved && mounts_around(resolved, &around);

	free(resolved);
	return mounted ? program_fail(&program, "%s: not a store: %s is mounted at %s", fsck->path,
				      around.store, around.place)
		       : PROGRAM_OK;
}

static int fsck_run(struct fsck *fsck)
{
	const struct sigaction action = {.sa_handler = fsck_stop};
	char *quarantine = fsck_quarantine(fsck->path);
	int exit_code = FSCK_FAILED;

	if (!quarantine)
		return fsck_fail(fsck, "no name for a quarantine beside it");
	signal(SIGPIPE, SIG_IGN); /* a repair finishes even if nobody reads its output */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (fsck_confine(fsck, quarantine) == PROGRAM_OK)
		exit_code = fsck_check(fsck, quarantine);
	rmdir(quarantine); /* if it is empty */
	rmdir(fsck->temporary);
	free(fsck->temporary);
	free(quarantine);
	return exit_code;
}

/* The codes that the other programs share, as those of fsck(8). */
static int fsck_usage(int exit_code)
{
	if (exit_code == PROGRAM_OK)
		return FSCK_CLEAN;
	return exit_code == PROGRAM_MISUSED ? FSCK_MISUSED : FSCK_FAILED;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {PROGRAM_FOREIGN, PROGRAM_OPTIONS};
	struct fsck fsck = {.path = NULL};
	bool no = false;
	int option;

	program_begin(&program, argc, argv);
	while ((option = message_getopt(argc, argv, "nyhV", options)) != -1) {
		if (option == 'n')
			no = true;
		else if (option == 'y')
			fsck.yes = true;
		else if (option)
			return fsck_usage(program_option(&program, option));
	}
	if (no && fsck.yes)
		return fsck_usage(program_misuse(&program, "-n and -y: only one of them"));
	if (optind == argc)
		return fsck_usage(program_misuse(&program, "STORE is missing"));
	if (optind + 1 < argc)
		return fsck_usage(program_misuse(&program, "%s: one STORE only", argv[optind + 1]));
	fsck.path = argv[optind];
	fsck.ask = !no && !fsck.yes && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
	fsck.unasked = !no && !fsck.yes && !fsck.ask;
	return fsck_mounted(&fsck) ? FSCK_FAILED : fsck_run(&fsck);
}
