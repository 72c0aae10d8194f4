/* SPDX-License-Identifier: MIT */
/*
 * The soak test's parts: writers, each with rows and a family of its own, and readers of all of
 * them.
 *
 * - A writer knows the exact visible content of its rows, and compares after each change. Most
 *   changes write a group of columns together in three families: one whose policy never changes,
 *   one whose policy another thread changes all the time, one whose policy the writer changes.
 * - Each mutation also writes a marker: its number, and which mutations' cells there are. Readers
 *   compare rows with their markers, and the markers with the mutations that the writers had begun
 *   and ended before and after the read.
 * - The clock stands while a writer makes a step.
 *
 * A difference ends the program, with a message on stderr.
 */
#ifndef TEST_SOAK_H
#define TEST_SOAK_H

#include "tests/unit/history.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SOAK_WRITERS = 3,
	SOAK_READERS = 2,
	SOAK_PREFIXES = 5, /* of a writer; the rows of the first one are never removed */
	SOAK_LEAVES = 4,
	SOAK_ROWS = SOAK_PREFIXES * SOAK_LEAVES,
	SOAK_FAMILIES = 3,
	SOAK_COLUMNS = 5,
	SOAK_GROUP = 3, /* the first of the columns are written together */
	SOAK_X = 3,	/* and these alone */
	SOAK_Y = 4,
	SOAK_FULL = 30, /* cells of a column, then its row is deleted */
	SOAK_BATCH = 6,
	SOAK_LARGE = 70000, /* bytes of a large value */
	SOAK_MARKER = 48,   /* room for one */
};

enum soak_family { SOAK_KEPT, SOAK_SHARED, SOAK_OWN };

extern const char *const soak_columns[SOAK_COLUMNS];

extern const struct history_policy soak_never;
/* Those of the shared family: the tightest first, the loosest last. */
#define SOAK_SHARED_POLICIES 3
extern const struct history_policy soak_shared[SOAK_SHARED_POLICIES];

struct soak_row {
	char key[16];
	struct history columns[SOAK_FAMILIES][SOAK_COLUMNS];
	bool there;
	uint32_t number;	  /* of its last mutation */
	uint32_t floor;		  /* of the first one since the row was made */
	char marker[SOAK_MARKER]; /* of the last one */

	/* For readers: the last mutation that began, the last that ended, whether the row is then
	 * there. */
	atomic_uint started, ended;
	atomic_bool shown;
};

struct soak_writer {
	struct soak *soak;
	int index;
	uint64_t state;			     /* of the random numbers */
	uint32_t number;		     /* of the last mutation */
	char prefix[8];			     /* of its rows */
	char past[8];			     /* behind them */
	char own[8];			     /* its family */
	int64_t now;			     /* during a step, which holds the clock */
	const struct history_policy *policy; /* of its family */
	struct soak_row rows[SOAK_ROWS];
	struct history_cell seen[SOAK_FAMILIES][SOAK_COLUMNS][HISTORY_MAX];
	size_t seen_count[SOAK_FAMILIES][SOAK_COLUMNS];
	char value[SOAK_LARGE], large[SOAK_LARGE * 2];
	uint64_t steps;
};

struct soak_reader {
	struct soak *soak;
	uint64_t state;
	uint32_t last[SOAK_WRITERS][SOAK_ROWS]; /* the latest mutation that it saw of each row */
	uint32_t ended[SOAK_ROWS];		/* before the read under way */
	bool shown[SOAK_ROWS];
	char large[SOAK_LARGE * 2];
	uint64_t reads;
};

struct soak {
	struct suite suite;
	struct wcs_table *table;
	atomic_bool stop;
	bool quiet;				  /* no thread is there */
	pthread_rwlock_t clock;			  /* held to move it, shared to stop it */
	const struct history_policy *shared;	  /* where quiet */
	atomic_uint counts_started, counts_ended; /* increments of z#count */
	uint64_t drops, changes;
	uint64_t collect_state, tick_state; /* of random numbers, as of writers and readers */
	uint64_t collected;		    /* by the stores before */
	struct soak_writer writers[SOAK_WRITERS];
	struct soak_reader readers[SOAK_READERS];
};

/* Ends the program. */
void soak_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The call gives 0. */
#define SOAK_OK(call)                                                                              \
	do {                                                                                       \
		int soak_rc_ = (call);                                                             \
		if (soak_rc_ != 0)                                                                 \
			soak_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call,                      \
				  strerror(-soak_rc_));                                            \
	} while (0)

/* ---- soak.c ---- */
void soak_sleep(long microseconds);
uint32_t soak_below(uint64_t *state, uint32_t limit);
bool soak_is(struct wcs_slice bytes, const char *text);
/* The value that a mutation writes: "NUMBER;" and letters that go on from the number. buf has
 * room for SOAK_LARGE bytes. */
struct wcs_slice soak_value(uint32_t number, char *buf);
/* Its number; all of it is right. */
uint32_t soak_value_number(const char *data, size_t len);
/* The value of a scan's cell, in buf, of 2 * SOAK_LARGE bytes, where it is large. */
struct wcs_slice soak_scan_value(struct wcs_scan *scan, const struct wcs_cell *cell, char *buf);
const char *soak_family(const struct soak_writer *writer, int family);
struct history_view soak_view(const struct soak_writer *writer, int family);
void soak_each_column(struct soak_writer *writer, struct soak_row *row,
		      void (*apply)(struct history *, const struct history_view *));

/* ---- soak_compare.c ---- */
/* Scans the writer's rows from the first up to the last of these, and compares them. */
void soak_compare_rows(struct soak_writer *writer, size_t first, size_t last);
/* Compares the listing of a prefix with its rows. */
void soak_compare_list(struct soak_writer *writer, size_t prefix);

/* ---- soak_change.c ---- each makes one change, of the row or of those of the prefix */
/* A new value in all columns of the group. */
void soak_change_write(struct soak_writer *writer, struct soak_row *row);
/* The same, under a condition that holds, behind a mutation whose condition does not. */
void soak_change_write_if(struct soak_writer *writer, struct soak_row *row);
/* The same for several rows at once. */
void soak_change_write_batch(struct soak_writer *writer);
/* The newest cell of each column of the group goes; all of them; the row, to be written anew or
 * not; all rows of a prefix. */
void soak_change_delete_newest(struct soak_writer *writer, struct soak_row *row);
void soak_change_delete_group(struct soak_writer *writer, struct soak_row *row);
void soak_change_delete_row(struct soak_writer *writer, struct soak_row *row, bool anew);
void soak_change_drop(struct soak_writer *writer, size_t prefix);
/* Sets or appends to column x, with the server's timestamp. */
void soak_change_set_single(struct soak_writer *writer, struct soak_row *row, int family);
/* One of the cells of a column goes, perhaps one that is hidden. */
void soak_change_delete_single(struct soak_writer *writer, struct soak_row *row, int family,
			       int column);

/* ---- soak_move.c ---- each makes one move */
void soak_move_stamp(struct soak_writer *writer, struct soak_row *row, int family);
void soak_move_column(struct soak_writer *writer, struct soak_row *row, int family);
void soak_move_cell(struct soak_writer *writer, struct soak_row *row, int family);

/* ---- soak_read.c ---- */
/* A thread's: reads until the soak is told to stop. */
void *soak_read_on(void *reader);
/* Looks at the two counters, which count as one. */
void soak_read_count(struct soak *soak);

#endif
