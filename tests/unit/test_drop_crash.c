/* SPDX-License-Identifier: MIT */
/*
 * A process kills itself in the middle of a drop, while another of its threads writes rows behind
 * the drop. When the store is opened again the drop is complete, and the rows written behind it are
 * there.
 */
#include "tests/unit/suite.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 20000, ROUNDS = 6, ROUNDS_MAX = 40 }; /* ROWS: some batches of a drop */

enum {
	ACKNOWLEDGED = 3
}; /* a pipe: "w" for each row written behind the drop, "D" when it returned */

static const struct wcs_slice dropped = {"m", 1};

static void row_name(char *row, size_t size, unsigned int i)
{
	if (i == 0)
		snprintf(row, size, "m"); /* the row that the others are below */
	else
		snprintf(row, size, "m#%05u", i);
}

/* These two are called outside of a test, too, where no check of the suite can be. */
static bool has(struct wcs_table *table, unsigned int i, const char *qualifier)
{
	struct wcs_slice column = {qualifier, strlen(qualifier)};
	struct wcs_cell_info info;
	char row[16];
	int rc;

	row_name(row, sizeof(row), i);
	rc = wcs_cell_get(table, (struct wcs_slice){row, strlen(row)}, "f", column, WCS_TS_NEWEST,
			  &info);
	if (rc != 0 && rc != -ENOENT)
		abort();
	return rc == 0;
}

static void put(struct wcs_table *table, unsigned int i, const char *qualifier)
{
	struct wcs_slice column = {qualifier, strlen(qualifier)};
	struct wcs_mutation *mutation = wcs_mutation_new();
	char row[16];

	row_name(row, sizeof(row), i);
	if (mutation == NULL || wcs_mutation_set(mutation, "f", column, 1, column) != 0 ||
	    wcs_row_mutate(table, (struct wcs_slice){row, strlen(row)}, mutation, NULL) != 0)
		abort();
	wcs_mutation_free(mutation);
}

/* ---- The process that dies --------------------------------------------------------------- */

struct behind {
	struct wcs_table *table;
	unsigned int rows;
};

/* Writes rows once the drop has passed them, says so, and ends the process behind the last. */
static void *write_behind(void *arg)
{
	struct behind *behind = arg;

	for (unsigned int i = 0; i < behind->rows; i++) {
		while (has(behind->table, i, "old"))
			;
		put(behind->table, i, "new");
		if (write(ACKNOWLEDGED, "w", 1) != 1)
			abort();
	}
	kill(getpid(), SIGKILL);
	return NULL;
}

/* ---- The one that looks ------------------------------------------------------------------ */

/* Returns how many rows were written behind the drop; *done: the drop had returned. */
static unsigned int run_and_die(const char *path, unsigned int rows, bool *done)
{
	unsigned int written = 0;
	char number[16], byte;
	int fds[2], status;
	pid_t child;

	SUITE_OK(pipe(fds));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		snprintf(number, sizeof(number), "%u", rows);
		dup2(fds[1], ACKNOWLEDGED);
		execl("/proc/self/exe", "test_drop_crash", path, number, (char *)NULL);
		_exit(1);
	}
	close(fds[1]);
	for (*done = false; read(fds[0], &byte, 1) == 1;) {
		*done = *done || byte == 'D';
		written += byte == 'w';
	}
	close(fds[0]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return written;
}

/* The dropped rows are those written behind the drop, and their neighbours are there. */
static void expect_rows(struct wcs_table *table, unsigned int rows)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;
	unsigned int new = 0, old = 0;

	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &suite_cells, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		new += wcs_slice_compare(cell.qualifier, suite_text("new")) == 0;
		old += wcs_slice_compare(cell.qualifier, suite_text("old")) == 0;
	}
	wcs_scan_close(scan);
	ck_assert_msg(old == 2, "%u rows came back", old - 2);
	ck_assert_uint_eq(new, rows);
	for (unsigned int i = 0; i < rows; i++)
		ck_assert_msg(has(table, i, "new"), "row %u", i);
	suite_expect_value(table, "m!between", "f", "old", 1, "v");
	suite_expect_value(table, "m$behind", "f", "old", 1, "v");
}

static void killed_in_a_drop(struct suite *s)
{
	unsigned int round = 0, interrupted = 0;

	/* On a busy machine the drop may often be over before the other thread has its turn. */
	for (; round < suite_rounds(2, ROUNDS) || (interrupted == 0 && round < ROUNDS_MAX);
	     round++) {
		unsigned int written, rows = 1 + round * 20;
		bool done;

		for (unsigned int i = 0; i < ROWS; i++)
			put(s->table, i, "old");
		suite_set(s->table, "m!between", "f", "old", 1, "v");
		suite_set(s->table, "m$behind", "f", "old", 1, "v");
		suite_shut(s);
		written = run_and_die(s->path, rows, &done);
		ck_assert_uint_eq(written, rows);
		interrupted += !done;
		SUITE_OK(suite_try_open(s));
		expect_rows(s->table, rows);
		SUITE_OK(wcs_rows_drop(s->table, &dropped));
	}
	printf("%u of %u drops were interrupted\n", interrupted, round);
	ck_assert_uint_gt(interrupted, 0);
}

SUITE_LEVELDB_STORE(test_killed_in_a_drop, 600)
{
	killed_in_a_drop(s);
}

/* One of the range of each bucket. */
SUITE_LEVELDB_STORE(test_killed_in_a_drop_of_buckets, 600)
{
	suite_salt(s, 16, 0);
	killed_in_a_drop(s);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		struct behind behind = {.rows = (unsigned int)atoi(argv[2])};
		struct wcs_fault fault;
		struct wcs_store *store;
		pthread_t thread;

		/* A program of its own: LevelDB's background thread does not come along with a
		 * fork. */
		if (wcs_store_open(argv[1], NULL, &store, &fault) != 0 ||
		    wcs_table_open(store, "t", &behind.table) != 0)
			abort();
		pthread_create(&thread, NULL, write_behind, &behind);
		if (wcs_rows_drop(behind.table, &dropped) == 0 && write(ACKNOWLEDGED, "D", 1) != 1)
			abort();
		pthread_join(thread, NULL);
	}
	return suite_main("store: drops and crashes", NULL);
}
