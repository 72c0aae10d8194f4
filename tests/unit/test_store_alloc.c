/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of the store fails in turn. Every call then says -ENOMEM, or does its work all
 * the same; on -ENOMEM nothing of it is there, nothing leaks, no lock is held, and the same call
 * works when memory is back.
 */
#include "store/heat/heat.h"
#include "tests/unit/alloc.h"
#include "tests/unit/calls.h"

#include <dirent.h>
#include <jansson.h>

static struct calls calls;

/* The same thing done again and again, until it asks for less than n allocations. */
struct attempt {
	size_t n;    /* the allocation that fails */
	size_t live; /* how many there were */
	bool failed; /* did it fail? */
};

static void attempt_begin(struct attempt *attempt, bool others)
{
	attempt->n++;
	attempt->live = alloc_live();
	alloc_fail(attempt->n, others);
}

/* The call returned success or ENOMEM, with text in the fault if it failed. */
static void attempt_end(struct attempt *attempt, int rc, const struct wcs_fault *fault)
{
	attempt->failed = alloc_stop();
	ck_assert_msg(rc == 0 || (attempt->failed && rc == -ENOMEM), "allocation %zu: %d %s",
		      attempt->n, rc, fault ? fault->text : "");
	ck_assert_msg(!fault || (fault->text[0] != '\0') == (rc != 0), "allocation %zu: %d '%s'",
		      attempt->n, rc, fault ? fault->text : "");
}

static void attempt_expect_live(const struct attempt *attempt)
{
	ck_assert_msg(alloc_live() == attempt->live, "allocation %zu: %zu were there, now %zu",
		      attempt->n, attempt->live, alloc_live());
}

/* ---- Calls ------------------------------------------------------------------------------- */

static char *before; /* the store's content */

static void alloc_open(enum suite_engine engine)
{
	json_set_alloc_funcs(malloc, free); /* those that fail */
	calls_open(&calls, engine);
	before = suite_state(&calls.suite);
}

static void alloc_expect_unchanged(const struct call *call, const struct attempt *attempt)
{
	char *state;

	/* A thread of the store may be about to free something. After ten minutes it is a leak. */
	for (int i = 0; i < 60000 && alloc_live() != attempt->live; i++)
		suite_sleep(10);
	attempt_expect_live(attempt);
	state = suite_state(&calls.suite);
	ck_assert_msg(strcmp(state, before) == 0, "%s, allocation %zu: %s", call->name, attempt->n,
		      state);
	free(state);
}

static void alloc_expect_done(const struct call *call, size_t n)
{
	char *state = suite_state(&calls.suite), *cells = strchr(state, '\n') + 1;

	ck_assert_msg(strcmp(cells, call->content ? call->content : CALLS_R CALLS_REST) == 0,
		      "%s, allocation %zu: %s", call->name, n, cells);
	ck_assert_msg(strstr(state, call->schema ? call->schema : "{\"version\":1") != NULL,
		      "%s, allocation %zu: %s", call->name, n, state);
	if (call->out)
		ck_assert_msg(strcmp(calls.out, call->out) == 0, "%s, allocation %zu: %s",
			      call->name, n, calls.out);
	free(state);
}

static void alloc_told(void *ctx, const struct wcs_table *table, struct wcs_change *change)
{
	(void)ctx;
	(void)table;
	wcs_change_free(change);
}

static void alloc_open_told(enum suite_engine engine, bool told)
{
	static const struct wcs_watch watch = {alloc_told, NULL};

	alloc_open(engine);
	if (told)
		wcs_table_watch(calls.suite.table, &watch);
}

/* In a plain and in a salted table; and if the changes of a table are told. */
SUITE_LOOP(test_every_allocation_of_a_call, 3 * calls_count(), 300)
{
	bool told = _i >= 2 * calls_count();
	enum suite_engine engine = _i < calls_count() || told ? SUITE_LEVELDB : SUITE_SALTED_ONE;
	const struct call *call = calls_at(_i % calls_count());
	struct attempt attempt = {.n = 0};

	alloc_open_told(engine, told);
	do {
		int rc;
		struct wcs_store *store;
		struct wcs_table *table;
		struct wcs_slice none;
		struct wcs_mutation *mutation;

		calls.out_len = 0;
		calls.out[0] = '\0';
		attempt_begin(&attempt, call->others);
		rc = call->run(&calls);
		attempt_end(&attempt, rc, NULL);
		if (rc != 0)
			alloc_expect_unchanged(call, &attempt);
		else
			alloc_expect_done(call, attempt.n);
		/* Calls that need each lock that a failed call might have left held. */
		store = calls.suite.store;
		table = calls.suite.table;
		none = suite_text("none");
		mutation = wcs_mutation_new();
		suite_set(table, "r", "a", "usable", 1, "");
		wcs_mutation_delete_column(mutation, "a", suite_text("usable"));
		SUITE_OK(suite_mutate(table, "r", mutation, NULL));
		SUITE_OK(wcs_family_create(table, "usable"));
		SUITE_OK(wcs_family_remove(table, "usable"));
		SUITE_OK(wcs_table_create(store, "usable"));
		SUITE_OK(wcs_table_remove(store, "usable"));
		SUITE_OK(wcs_rows_drop(table, &none));
		SUITE_OK(wcs_gc_run(store));
		if (rc == 0) {
			suite_close(&calls.suite);
			free(before);
			if (attempt.failed)
				alloc_open_told(engine, told);
		}
	} while (attempt.failed);
	ck_assert_msg(attempt.n > call->least, "%s: only %zu allocations", call->name,
		      attempt.n - 1);
}

/* ---- Making and opening a store ---------------------------------------------------------- */

/* How many names there are in the directory. */
static size_t alloc_names(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

SUITE_TEST(test_every_allocation_of_create, 300)
{
	static const char json[] = "{\"version\":1,\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	struct attempt attempt = {.n = 0};
	char base[256], path[300];
	struct wcs_schema *schema;

	snprintf(base, sizeof(base), "%s/create.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/store", base);
	SUITE_OK(wcs_schema_parse(json, strlen(json), &schema, NULL));
	do {
		struct wcs_fault fault = {.text = ""};
		int rc;

		attempt_begin(&attempt, false);
		rc = wcs_store_create(path, schema, false, NULL, &fault);
		attempt_end(&attempt, rc, &fault);
		attempt_expect_live(&attempt);
		ck_assert_uint_eq(alloc_names(base), rc == 0);
		if (rc == 0)
			suite_remove(path);
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 20);
	wcs_schema_free(schema);
}

/* A store that is whole, but closed; the path of a quarantine for it. */
static void alloc_make(char quarantine[300])
{
	calls_open(&calls, SUITE_LEVELDB);
	suite_shut(&calls.suite);
	snprintf(quarantine, 300, "%s.taken", calls.suite.path);
}

/* It is still that. */
static void alloc_expect_whole(void)
{
	SUITE_OK(suite_try_open(&calls.suite));
	suite_expect(calls.suite.table, CALLS_R CALLS_REST);
	suite_close(&calls.suite);
}

SUITE_TEST(test_every_allocation_of_open, 300)
{
	struct wcs_options options = {.cache_bytes = 1 << 20};
	struct attempt attempt = {.n = 0};
	char quarantine[300];

	alloc_make(quarantine);
	do {
		struct wcs_fault fault = {.text = ""};
		struct wcs_store *store = NULL;
		int rc;

		attempt_begin(&attempt, false);
		rc = wcs_store_open(calls.suite.path, &options, &store, &fault);
		attempt_end(&attempt, rc, &fault);
		if (rc == 0)
			wcs_store_close(store);
		attempt_expect_live(&attempt);
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 20);
	alloc_expect_whole();
}

/* ---- The heat map ------------------------------------------------------------------------ */

static void alloc_open_heat(void)
{
	calls_open(&calls, SUITE_LEVELDB);
	calls.suite.heat = true;
	calls.suite.clock = INT64_C(1740000000000000);
	suite_reopen(&calls.suite);
}

static void alloc_count_gets(void)
{
	struct wcs_cell_info info;

	for (int i = 0; i < 10; i++)
		SUITE_OK(wcs_cell_get(calls.suite.table, suite_text("r"), "a", suite_text("q"),
				      WCS_TS_NEWEST, &info));
}

/* Makes a map; its operations if that succeeds. */
static int alloc_map(uint64_t *total)
{
	struct wcs_heat_map *map = NULL;
	int rc = wcs_heat_map(calls.suite.table, WCS_HEAT_6H, WCS_HEAT_READS, 20, 30, &map);

	if (rc == 0)
		*total = map->total;
	wcs_heat_map_free(map);
	return rc;
}

/* A fold that lost counts says so, and the next one has those of its own time. */
SUITE_TEST(test_every_allocation_of_a_fold, 300)
{
	struct attempt attempt = {.n = 0};
	uint64_t before_it = 0, total;

	alloc_open_heat();
	do {
		int rc;

		alloc_count_gets();
		calls.suite.clock += 1000000;
		attempt_begin(&attempt, false);
		rc = wcs_heat_fold(calls.suite.store);
		attempt_end(&attempt, rc, NULL);
		SUITE_OK(alloc_map(&total));
		ck_assert_msg(rc != 0 || total == before_it + 10, "allocation %zu: %zu behind %zu",
			      attempt.n, (size_t)total, (size_t)before_it);
		before_it = total;
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 10);
	suite_close(&calls.suite);
}

SUITE_TEST(test_every_allocation_of_a_map, 300)
{
	struct attempt attempt = {.n = 0};

	alloc_open_heat();
	alloc_count_gets();
	SUITE_OK(wcs_heat_fold(calls.suite.store));
	do {
		uint64_t total = 10;
		int rc;

		attempt_begin(&attempt, false);
		rc = alloc_map(&total);
		attempt_end(&attempt, rc, NULL);
		ck_assert_msg(total == 10, "allocation %zu: %zu", attempt.n, (size_t)total);
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 10);
	suite_close(&calls.suite);
}

/* ---- Checks ------------------------------------------------------------------------------ */

/* One whose next allocation fails. */
static int alloc_check(struct attempt *attempt, const struct wcs_check_options *options,
		       struct wcs_check_result *result)
{
	struct wcs_fault fault = {.text = ""};
	int rc;

	attempt_begin(attempt, false);
	rc = wcs_store_check(calls.suite.path, options, result, &fault);
	attempt_end(attempt, rc, &fault);
	attempt_expect_live(attempt);
	return rc;
}

/* Of a store in which nothing is wrong: no allocation that fails is taken for damage. */
SUITE_LOOP(test_every_allocation_of_a_check, 2, 300)
{
	struct wcs_check_options options = {.repair = _i == 1};
	struct attempt attempt = {.n = 0};
	char quarantine[300];

	alloc_make(quarantine);
	options.quarantine = quarantine;
	do {
		struct wcs_check_result result = {.cells = 0};

		if (alloc_check(&attempt, &options, &result) == 0)
			ck_assert_uint_eq(result.cells, 8);
		ck_assert_msg(result.found == 0 && !result.quarantined, "allocation %zu",
			      attempt.n);
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 20);
	alloc_expect_whole();
}

/* A store whose MANIFEST is damaged: a repair that memory ends leaves the rest to the next
 * repair. */
SUITE_TEST(test_every_allocation_of_a_repair, 300)
{
	struct wcs_check_options options = {.repair = true};
	struct attempt attempt = {.n = 0};
	char quarantine[300], command[1300];

	alloc_make(quarantine);
	options.quarantine = quarantine;
	snprintf(command, sizeof(command), "truncate -s 20 '%s'/data/MANIFEST-*", calls.suite.path);
	do {
		struct wcs_fault fault = {.text = ""};
		struct wcs_check_result result;
		int rc;

		SUITE_OK(system(command));
		suite_remove(quarantine);
		rc = alloc_check(&attempt, &options, &result);
		suite_remove(quarantine);
		if (rc != 0)
			rc = wcs_store_check(calls.suite.path, &options, &result, &fault);
		ck_assert_msg(rc == 0 && result.found == result.corrected && result.cells == 8,
			      "behind allocation %zu: %d %s", attempt.n, rc, fault.text);
	} while (attempt.failed);
	ck_assert_uint_gt(attempt.n, 40);
	suite_remove(quarantine);
	alloc_expect_whole();
}
