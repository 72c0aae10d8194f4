/* SPDX-License-Identifier: MIT */
/*
 * The delay that the collector in the background causes to users of a mount: the times of reading a
 * random cell (open, read and close, as cat does), of listing a random directory, as ls does, and
 * of writing a cell, as echo does. The collector runs and is paused by turns, with much to collect
 * all the time. Two turns that follow each other are a pair, either of them first; they are
 * compared, and the median of the pairs counts, since other work on the machine changes from second
 * to second.
 *
 *   BENCH_CELLS=N    cells to collect (default 2,000,000)
 *   BENCH_TURNS=N    pairs of turns (default 10)
 *   BENCH_SECONDS=N  for each turn (default 3)
 */
#include "tests/bench/gc_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES_MAX = 1000000, TURNS_MAX = 200 };
enum { CATS = 20, SETTLE_MS = 300 }; /* for each listing and each write; after a switch */

enum { CAT, LS, ECHO, KINDS };
static const char *const kinds[] = {"cat", "ls", "echo >"};
enum { PAUSED, RUNNING, CONDITIONS };

struct times {
	double us[TIMES_MAX];
	size_t count;
};

struct bench {
	struct gc_shape shape;
	struct gc_store store;
	char mount[200];
	uint64_t random;
	pid_t rowfs;
	struct times turn[KINDS], all[CONDITIONS][KINDS];
	double p50[CONDITIONS][KINDS][TURNS_MAX], p99[CONDITIONS][KINDS][TURNS_MAX];
};
static struct bench bench_of_mount; /* most of its pages are never touched */

static void times_add(struct times *times, double us)
{
	if (times->count < TIMES_MAX)
		times->us[times->count++] = us;
}

/* ---- The mount --------------------------------------------------------------------------- */

static void tell(const struct bench *bench, const char *word)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/.rowfs/gc", bench->mount);
	fd = open(path, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, word, strlen(word)), (ssize_t)strlen(word));
	close(fd);
}

/* Cells that the collector has deleted. */
static uint64_t collected(const struct bench *bench)
{
	char path[256], text[1024];
	const char *total;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/.rowfs/gc", bench->mount);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	ck_assert_int_gt(len, 0);
	text[len] = '\0';
	total = strstr(text, "\"total\":");
	ck_assert_ptr_nonnull(total);
	total = strstr(total, "\"cells\":");
	ck_assert_ptr_nonnull(total);
	return strtoull(total + strlen("\"cells\":"), NULL, 10);
}

static void mount(struct bench *bench)
{
	dev_t below;
	char program[256];

	ck_assert_int_eq(mkdir(bench->mount, 0700), 0);
	below = measure_device(bench->mount);
	measure_program("../rowfs", program, sizeof(program));
	bench->rowfs = fork();
	if (bench->rowfs == 0) {
		execl(program, program, "-f", "-o", "gcinterval=1,gcgrace=0", bench->store.path,
		      bench->mount, (char *)NULL);
		perror(program);
		_exit(127);
	}
	for (int i = 0; i < 600 && measure_device(bench->mount) == below; i++) {
		ck_assert_int_eq(waitpid(bench->rowfs, NULL, WNOHANG), 0);
		measure_pause(50);
	}
	ck_assert(measure_device(bench->mount) != below);
}

static void unmount(struct bench *bench)
{
	char line[300];
	int status = -1;

	snprintf(line, sizeof(line), "fusermount3 -u '%s'", bench->mount);
	for (int i = 0; i < 100 && system(line) != 0; i++)
		measure_pause(100);
	ck_assert_int_eq(waitpid(bench->rowfs, &status, 0), bench->rowfs);
	ck_assert_int_eq(status, 0);
}

/* ---- Measurements ------------------------------------------------------------------------ */

/* The path of a random row. */
static void row_path(struct bench *bench, char *path, size_t size)
{
	char row[32];

	gc_row(&bench->shape, row, sizeof(row), suite_random(&bench->random) % bench->shape.rows);
	for (char *at = strchr(row, '#'); at != NULL; at = strchr(at, '#'))
		*at = '/';
	snprintf(path, size, "%s/t/%s", bench->mount, row);
}

static void cell_path(struct bench *bench, char *path, size_t size)
{
	row_path(bench, path, size);
	strcat(path, "/f/lat");
}

static void cat(struct bench *bench)
{
	char path[300], text[64];
	double start;
	ssize_t len;
	int fd;

	cell_path(bench, path, sizeof(path));
	start = measure_now();
	fd = open(path, O_RDONLY);
	len = read(fd, text, sizeof(text));
	close(fd);
	times_add(&bench->turn[CAT], 1e6 * (measure_now() - start));
	ck_assert_int_gt(len, 0);
}

static void ls(struct bench *bench)
{
	const struct dirent *entry;
	int count = 0;
	char path[300];
	double start;
	DIR *dir;

	row_path(bench, path, sizeof(path));
	*strrchr(path, '/') = '\0';
	start = measure_now();
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(dir);
	times_add(&bench->turn[LS], 1e6 * (measure_now() - start));
	ck_assert_int_ge(count, 1);
}

static void echo(struct bench *bench)
{
	char path[300];
	double start;
	int fd;

	cell_path(bench, path, sizeof(path));
	start = measure_now();
	fd = open(path, O_WRONLY | O_TRUNC);
	ck_assert_int_eq(write(fd, "53.41741\n", 9), 9);
	ck_assert_int_eq(close(fd), 0);
	times_add(&bench->turn[ECHO], 1e6 * (measure_now() - start));
}

static void turn(struct bench *bench, int condition, size_t number, double seconds)
{
	double until;

	tell(bench, condition == RUNNING ? "resume\n" : "pause\n");
	measure_pause(SETTLE_MS);
	until = measure_now() + seconds;
	for (int kind = 0; kind < KINDS; kind++)
		bench->turn[kind].count = 0;
	while (measure_now() < until) {
		for (int i = 0; i < CATS; i++)
			cat(bench);
		ls(bench);
		echo(bench);
	}
	for (int kind = 0; kind < KINDS; kind++) {
		struct times *times = &bench->turn[kind];

		for (size_t i = 0; i < times->count; i++)
			times_add(&bench->all[condition][kind], times->us[i]);
		measure_sort(times->us, times->count);
		bench->p50[condition][kind][number] =
			measure_quantile(times->us, times->count, 0.5);
		bench->p99[condition][kind][number] =
			measure_quantile(times->us, times->count, 0.99);
	}
}

/* ---- Results ----------------------------------------------------------------------------- */

static void say_ratio(const char *name, double values[CONDITIONS][KINDS][TURNS_MAX], int kind,
		      size_t turns)
{
	double ratios[TURNS_MAX];

	for (size_t i = 0; i < turns; i++)
		ratios[i] = values[RUNNING][kind][i] / values[PAUSED][kind][i];
	measure_sort(ratios, turns);
	printf("    %s, running to paused, of a pair: median %.2f (%.2f to %.2f)\n", name,
	       measure_quantile(ratios, turns, 0.5), ratios[0], ratios[turns - 1]);
}

static void say(struct bench *bench, int kind, size_t turns)
{
	printf("  %s\n", kinds[kind]);
	for (int condition = 0; condition < CONDITIONS; condition++) {
		struct times *all = &bench->all[condition][kind];

		measure_sort(all->us, all->count);
		printf("    %-8s %7zu times, p50 %8.1f us, p99 %8.1f us, longest %6.1f ms\n",
		       condition == RUNNING ? "running" : "paused", all->count,
		       measure_quantile(all->us, all->count, 0.5),
		       measure_quantile(all->us, all->count, 0.99), all->us[all->count - 1] / 1000);
	}
	say_ratio("p50", bench->p50, kind, turns);
	say_ratio("p99", bench->p99, kind, turns);
}

static void measure(struct bench *bench)
{
	size_t turns = measure_setting("BENCH_TURNS", 10), idle = 0;
	double seconds = measure_setting("BENCH_SECONDS", 3);
	uint64_t cells = 0;

	if (turns > TURNS_MAX)
		turns = TURNS_MAX;
	for (size_t i = 0; i < turns; i++) {
		uint64_t before = collected(bench);

		turn(bench, i % 2 ? RUNNING : PAUSED, i, seconds);
		turn(bench, i % 2 ? PAUSED : RUNNING, i, seconds);
		cells += collected(bench) - before;
		idle += collected(bench) == before;
	}
	printf("  %.0f cells a second were collected in the turns in which it ran\n",
	       (double)cells / ((double)turns * (seconds + SETTLE_MS / 1000.0)));
	if (idle > 0)
		printf("  in %zu pairs there was nothing to collect: BENCH_CELLS is too small\n",
		       idle);
	for (int kind = 0; kind < KINDS; kind++)
		say(bench, kind, turns);
	fflush(stdout);
}

SUITE_TEST(bench_gc_mount, 3600)
{
	struct bench *bench = &bench_of_mount;

	snprintf(bench->mount, sizeof(bench->mount), "%s/mount", suite_directory());
	bench->shape = gc_shape(GC_ROWS, measure_setting("BENCH_CELLS", 2000000));
	bench->random = 1;
	printf("gc, in a mount: %u rows, %llu cells to collect\n", bench->shape.rows,
	       (unsigned long long)gc_shape_cells(&bench->shape));
	fflush(stdout);
	gc_store_make(&bench->store, "store", &bench->shape, true);
	mount(bench);
	tell(bench, "pause\n");
	measure(bench);
	unmount(bench);
}
