/* SPDX-License-Identifier: MIT */
/*
 * Shared by the store's tests: a store on either engine, short calls that check their own success,
 * and the content of a table as text, so that a test states its expectation in one line.
 */
#ifndef SUITE_H
#define SUITE_H

#include "store/chain/chain.h"
#include "store/keys/keys.h"
#include "store/policy/view.h"
#include "store/rows.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first two can be compared step by step. The shared one is that in memory, with another client
 * that changes the row under the first try of each change that looks at cells. The salted ones are
 * LevelDB, with a table "t" that has a salt. */
enum suite_engine {
	SUITE_MEMORY,
	SUITE_LEVELDB,
	SUITE_ENGINES,
	SUITE_SHARED = SUITE_ENGINES,
	SUITE_SALTED_WHOLE, /* 2 buckets; by the whole key */
	SUITE_SALTED_ONE,   /* 16; by the first segment */
	SUITE_SALTED_TWO,   /* 256; by the first two */
	SUITE_ALL
};

/* A view that hides nothing, for calls of an engine. */
extern const struct wcs_view suite_everything;
/* For scans: all rows, and each of their cells. */
extern const struct wcs_range suite_all;
extern const struct wcs_filter suite_cells;

struct suite {
	enum suite_engine engine;
	char path[256]; /* of a LevelDB store */
	struct wcs_store *store;
	struct wcs_table *table; /* "t", with the families "a", "b" and "f" */
	_Atomic int64_t clock;	 /* returned by options.now; -1: the system's clock */
	int64_t gc_interval;	 /* of the options; 0 unless set before suite_reopen */
	int64_t gc_grace;
	bool heat, heat_in_memory; /* of the options */
	bool sync;		   /* of the options, from suite_reopen on */
	int warnings;		   /* lines logged as a warning */
	_Atomic int errors;	   /* lines logged as an error, and the first of them */
	char error[512];
	char log[512]; /* the last line logged */
};

/*
 * A test is registered where it is defined, with the seconds of processor time that it may take.
 * These hold where libcheck runs each test in a process of its own, so not under sanitizers.
 *
 * - SUITE_TEST runs once.
 * - SUITE_LOOP runs count times. Its argument is _i.
 * - SUITE_STORES runs once on each engine. Its argument is s, a store that suite_open made and that
 *   suite_close ends.
 * - SUITE_LEVELDB_STORE has the same argument, on LevelDB alone.
 */
#define SUITE_TEST(name, seconds) SUITE_LOOP(name, 1, seconds)
#define SUITE_LOOP(name, count, seconds)                                                           \
	SUITE_REGISTER(name, name, count, seconds)                                                 \
	static void name(int _i __attribute__((unused)))
#define SUITE_ON(name, first, count, seconds)                                                      \
	static void name(struct suite *s);                                                         \
	SUITE_REGISTER(name, name##_run, count, seconds)                                           \
	static void name##_run(int _i)                                                             \
	{                                                                                          \
		struct suite suite;                                                                \
		suite_open(&suite, (first) + _i);                                                  \
		name(&suite);                                                                      \
		suite_close(&suite);                                                               \
	}                                                                                          \
	static void name(struct suite *s)
#define SUITE_STORES(name, seconds) SUITE_ON(name, SUITE_MEMORY, SUITE_ALL, seconds)
/* A test of large values: on the engine in memory and on LevelDB; on all with ROWFS_FULL=1. */
#define SUITE_HEAVY_STORES(name, seconds)                                                          \
	SUITE_ON(name, SUITE_MEMORY, (int)suite_rounds(SUITE_ENGINES, SUITE_ALL), seconds)
#define SUITE_LEVELDB_STORE(name, seconds) SUITE_ON(name, SUITE_LEVELDB, 1, seconds)

/* The paragraph of the contract that the tests below it check: a failed one prints it. */
#define SUITE_CONTRACT(text)	      SUITE_CONTRACT_AT(text, __LINE__)
#define SUITE_CONTRACT_AT(text, line) SUITE_CONTRACT_ON(text, line)
#define SUITE_CONTRACT_ON(text, line)                                                              \
	__attribute__((constructor)) static void suite_contract_##line(void)                       \
	{                                                                                          \
		suite_contract(text);                                                              \
	}
void suite_contract(const char *paragraph);

/* For such macros alone. */
#define SUITE_REGISTER(name, run, count, seconds)                                                  \
	static void run(int _i);                                                                   \
	static void name##_limited(int _i)                                                         \
	{                                                                                          \
		suite_limit(seconds);                                                              \
		run(_i);                                                                           \
	}                                                                                          \
	__attribute__((constructor)) static void name##_register(void)                             \
	{                                                                                          \
		static const TTest test = {#name, name##_limited, __FILE__, __LINE__};             \
		suite_register(&test, count, seconds);                                             \
	}
void suite_limit(double seconds);
void suite_register(const TTest *test, int count, double seconds);
/* Runs the registered tests, and those that make adds unless it is NULL, in a directory of their
 * own that is removed afterwards, also when a test failed. Without a main of its own a program runs
 * its registered tests. */
int suite_main(const char *name, void (*make)(Suite *suite));
/* Runs the checks in a process of their own, which may give up what libcheck needs at a test's
 * end. Returns its status, as waitpid does. Not without libcheck's forks. */
int suite_apart(void (*checks)(void));
/* The directory for this program's files. */
const char *suite_directory(void);
/* Removes a directory with all that is in it. */
void suite_remove(const char *path);

/* A new store with the table "t". The clock stands at 1,000,000. */
void suite_open(struct suite *suite, int engine);
/* Gives the table, which has no rows, a salt. */
void suite_salt(struct suite *suite, unsigned int buckets, unsigned int salted);
/* The bytes of its longest row key. */
size_t suite_row_max(const struct suite *suite);
/* Closes the store and opens it again; the memory engine forgets everything. */
void suite_reopen(struct suite *suite);
void suite_close(struct suite *suite);
/* Closes the store and its table, and keeps the files. */
void suite_shut(struct suite *suite);
/* Opens both again: the store's error, whose text is in the log then. Without a table "t" that is
 * NULL. */
int suite_try_open(struct suite *suite);

/* libcheck sends the place of each check that passes through a pipe, with system calls that cost
 * more than most checks. A place is sent once. */
#define _mark_point(file, line) suite_mark(file, line)
void suite_mark(const char *file, int line);

/* The call returns 0. */
#define SUITE_OK(call) ck_assert_int_eq(call, 0)

struct wcs_slice suite_text(const char *text);
#define SUITE_BYTES(literal) ((struct wcs_slice){literal, sizeof(literal) - 1})

/* Each applies one thing to a row and checks that it went well. */
int64_t suite_set(struct wcs_table *table, const char *row, const char *family,
		  const char *qualifier, int64_t ts, const char *value);
/* The same with any bytes. */
int64_t suite_put(struct wcs_table *table, struct wcs_slice row, const char *family,
		  struct wcs_slice qualifier, int64_t ts, struct wcs_slice value);
/* Cells of the row's column "q" with the timestamps 1 to versions. */
void suite_set_versions(struct wcs_table *table, const char *row, const char *family,
			int64_t versions);
void suite_delete_row(struct wcs_table *table, const char *row);
void suite_delete_cell(struct wcs_table *table, const char *row, const char *family,
		       const char *qualifier, int64_t ts);
/* Sets a family's policy. */
void suite_policy(struct wcs_table *table, const char *family, const char *policy);
/* Applies the mutation, frees it and returns the store's error. */
int suite_mutate(struct wcs_table *table, const char *row, struct wcs_mutation *mutation,
		 int64_t *ts);

/* Rows from text, for that table alone; wcs_import_free frees it. */
struct wcs_import *suite_import(struct wcs_table *table);
int suite_import_text(struct wcs_import *import, const char *text, struct wcs_fault *fault);
/* Applies all rows of the text, up to the first error, which it returns. */
int suite_load(struct wcs_table *table, const char *text, struct wcs_fault *fault);

/* The cells of a scan as text: "row/family/qualifier@ts=value", each followed by a space; bytes
 * outside 21-7E as \XX; a long value as its size and a checksum. The caller frees it. */
char *suite_scan(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		 const struct wcs_filter *filter);
/* The same of the whole table. */
char *suite_content(struct wcs_table *table);
/* The schema as a line, and all cells of the table. The caller frees it. */
char *suite_state(const struct suite *suite);
char *suite_schema_line(struct wcs_store *store);
/* A scan of the cells that can be read; *error: 0 where these are all. */
char *suite_scan_some(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		      const struct wcs_filter *filter, int *error);
/* Checks the text and frees it. */
void suite_expect_text(char *text, const char *expected);
/* Checks that a scan of the whole table gives this. */
void suite_expect(struct wcs_table *table, const char *expected);
void suite_expect_scan(struct wcs_table *table, const struct wcs_range *range,
		       const struct wcs_filter *filter, const char *expected);
/* A chain that reverses the order of rows, or none; wcs_chain_free frees it. */
struct wcs_chain *suite_reverse(struct wcs_table *table, bool reverse);
/* The segments below prefix, each followed by a space. The caller frees it. */
char *suite_list(struct wcs_table *table, struct wcs_slice prefix,
		 const struct wcs_list_child *after, bool reverse);
/* A cell's value as text, "-" where there is none. The caller frees it. */
char *suite_value(struct wcs_table *table, const char *row, const char *family,
		  const char *qualifier, int64_t ts);

/* Appends to the newest cell of the row's f:q, with the server's timestamp. */
int suite_append(struct wcs_table *table, const char *row, const char *data, int64_t *ts);
/* Checks that the store has these tables: "name#(family:type:policy …) " of each. */
void suite_expect_schema(struct wcs_store *store, const char *expected);

/* The path, relative to the store, of the engine's file whose name has that part. */
void suite_store_file(const char *store, const char *part, char name[64]);
/* The same of the last of such files; none: "". Returns how many there are. */
int suite_store_files(const char *store, const char *part, char name[64]);
void suite_sleep(long ms);
/* No file of this process grows beyond that; UINT64_MAX: there is no limit. */
void suite_limit_files(uint64_t bytes);

/* len bytes that differ with seed and from place to place. The caller frees them. */
char *suite_pattern(size_t len, unsigned int seed);
/* A number of the environment. */
uint64_t suite_setting(const char *name, uint64_t otherwise);
/* The first, for `make test`; the second, for `make nightly`, where ROWFS_FULL is in the
 * environment. Each property is checked on each engine with both, but for SUITE_HEAVY_STORES. */
uint64_t suite_rounds(uint64_t usual, uint64_t full);
/* The next number of a sequence that starts with *state. */
uint32_t suite_random(uint64_t *state);

/* The hash of .sample: of 2^32 parts of 1 the first that shows the row (docs/queries.md). */
uint32_t suite_sample(const char *row);

#define suite_expect_value(table, row, family, qualifier, ts, expected)                            \
	do {                                                                                       \
		char *suite_value_ = suite_value(table, row, family, qualifier, ts);               \
		ck_assert_str_eq(suite_value_, expected);                                          \
		free(suite_value_);                                                                \
	} while (0)

#endif
