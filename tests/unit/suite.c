/* SPDX-License-Identifier: MIT */
/* Shared by the store's tests: see suite.h. */
#include "tests/unit/suite.h"

#include "tests/unit/memory_engine.h"

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

const struct wcs_view suite_everything = {.policies = NULL};
const struct wcs_range suite_all = {.start = {NULL, 0}};
const struct wcs_filter suite_cells = {.each = WCS_EACH_CELL};

static int suite_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void suite_remove(const char *path)
{
	nftw(path, suite_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- A store ----------------------------------------------------------------------------- */

static int64_t suite_now(void *ctx)
{
	return ((struct suite *)ctx)->clock;
}

static void suite_log(void *ctx, enum wcs_log_level level, const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads of the store log, too */
	struct suite *suite = ctx;

	pthread_mutex_lock(&lock);
	suite->warnings += level == WCS_LOG_WARNING;
	if (level == WCS_LOG_ERROR && suite->errors++ == 0)
		snprintf(suite->error, sizeof(suite->error), "%s", text);
	snprintf(suite->log, sizeof(suite->log), "%s", text);
	pthread_mutex_unlock(&lock);
}

/* Of the thread's change: 1: it looked at a cell, which another client then changes; 2: it looks
 * again. */
static _Thread_local int suite_looks;

static int suite_shared_find(struct wcs_rows *rows, const struct wcs_address *at,
			     struct wcs_stored *cell)
{
	suite_looks |= 1;
	return wcs_backend_memory.rows_find(rows, at, cell);
}

static int suite_shared_apply(struct wcs_rows *rows, const struct wcs_edit *edits, size_t count,
			      size_t *applied)
{
	bool conflict = suite_looks == 1;

	suite_looks = conflict ? 2 : 0;
	*applied = 0;
	return conflict ? -EAGAIN : wcs_backend_memory.rows_apply(rows, edits, count, applied);
}

int suite_try_open(struct suite *suite)
{
	static struct wcs_backend shared;
	struct wcs_options options = {.log = suite_log,
				      .log_ctx = suite,
				      .gc_interval = suite->gc_interval,
				      .gc_grace = suite->gc_grace,
				      .heat = suite->heat,
				      .heat_in_memory = suite->heat_in_memory,
				      .sync = suite->sync};
	struct wcs_fault fault = {.text = ""};
	int rc;

	if (suite->clock >= 0) {
		options.now = suite_now;
		options.now_ctx = suite;
	}
	suite->store = NULL;
	suite->table = NULL;
	shared = wcs_backend_memory;
	shared.can.shared = true;
	shared.rows_find = suite_shared_find;
	shared.rows_apply = suite_shared_apply;
	if (suite->engine == SUITE_LEVELDB)
		rc = wcs_store_open(suite->path, &options, &suite->store, &fault);
	else
		rc = wcs_store_open_backend(suite->engine == SUITE_MEMORY ? &wcs_backend_memory
									  : &shared,
					    "", &options, &suite->store, &fault);
	if (rc != 0) {
		ck_assert_str_ne(fault.text, "");
		snprintf(suite->log, sizeof(suite->log), "%s", fault.text);
	} else if (wcs_table_open(suite->store, "t", &suite->table) != 0) {
		suite->table = NULL;
	}
	return rc;
}

void suite_salt(struct suite *suite, unsigned int buckets, unsigned int salted)
{
	const struct wcs_keys keys = {.buckets = buckets, .salt_segments = salted};
	struct wcs_fault fault;

	SUITE_OK(wcs_table_set_keys(suite->table, &keys, &fault));
}

size_t suite_row_max(const struct suite *suite)
{
	const struct wcs_keys *keys = wcs_table_keys(suite->table);

	return keys != NULL && keys->buckets > 0 ? WCS_ROW_KEY_MAX - WCS_KEYS_SALT
						 : WCS_ROW_KEY_MAX;
}

void suite_open(struct suite *suite, int engine)
{
	struct wcs_fault fault = {.text = ""};
	static const char *const families[] = {"f", "a", "b"};
	int rc;

	memset(suite, 0, sizeof(*suite));
	suite->engine = engine > SUITE_SHARED ? SUITE_LEVELDB : (enum suite_engine)engine;
	suite->clock = 1000000;
	if (suite->engine == SUITE_LEVELDB) {
		snprintf(suite->path, sizeof(suite->path), "%s/store.XXXXXX", suite_directory());
		ck_assert_ptr_nonnull(mkdtemp(suite->path));
		rc = wcs_store_create(suite->path, NULL, false, NULL, &fault);
		ck_assert_msg(rc == 0, "create: %d %s", rc, fault.text);
	}
	ck_assert_msg(suite_try_open(suite) == 0, "open: %s", suite->log);
	SUITE_OK(wcs_table_create(suite->store, "t"));
	SUITE_OK(wcs_table_open(suite->store, "t", &suite->table));
	for (size_t i = 0; i < 3; i++)
		SUITE_OK(wcs_family_create(suite->table, families[i]));
	if (engine == SUITE_SALTED_WHOLE)
		suite_salt(suite, 2, 0);
	else if (engine > SUITE_SHARED)
		suite_salt(suite, engine == SUITE_SALTED_ONE ? 16 : 256,
			   engine == SUITE_SALTED_ONE ? 1 : 2);
}

void suite_shut(struct suite *suite)
{
	wcs_table_close(suite->table);
	wcs_store_close(suite->store);
}

void suite_reopen(struct suite *suite)
{
	suite_shut(suite);
	ck_assert_msg(suite_try_open(suite) == 0, "open: %s", suite->log);
}

void suite_close(struct suite *suite)
{
	suite_shut(suite);
	if (suite->engine == SUITE_LEVELDB)
		suite_remove(suite->path);
}

/* ---- Short calls ------------------------------------------------------------------------- */

struct wcs_slice suite_text(const char *text)
{
	return (struct wcs_slice){text, strlen(text)};
}

int suite_mutate(struct wcs_table *table, const char *row, struct wcs_mutation *mutation,
		 int64_t *ts)
{
	int rc = wcs_row_mutate(table, suite_text(row), mutation, ts);

	wcs_mutation_free(mutation);
	return rc;
}

int64_t suite_put(struct wcs_table *table, struct wcs_slice row, const char *family,
		  struct wcs_slice qualifier, int64_t ts, struct wcs_slice value)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t made = -1;

	SUITE_OK(wcs_mutation_set(mutation, family, qualifier, ts, value));
	SUITE_OK(wcs_row_mutate(table, row, mutation, &made));
	wcs_mutation_free(mutation);
	return made;
}

int64_t suite_set(struct wcs_table *table, const char *row, const char *family,
		  const char *qualifier, int64_t ts, const char *value)
{
	return suite_put(table, suite_text(row), family, suite_text(qualifier), ts,
			 suite_text(value));
}

void suite_set_versions(struct wcs_table *table, const char *row, const char *family,
			int64_t versions)
{
	for (int64_t ts = 1; ts <= versions; ts++)
		suite_set(table, row, family, "q", ts, "v");
}

void suite_delete_row(struct wcs_table *table, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_delete_row(mutation));
	SUITE_OK(suite_mutate(table, row, mutation, NULL));
}

void suite_delete_cell(struct wcs_table *table, const char *row, const char *family,
		       const char *qualifier, int64_t ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_delete_cell(mutation, family, suite_text(qualifier), ts));
	SUITE_OK(suite_mutate(table, row, mutation, NULL));
}

void suite_policy(struct wcs_table *table, const char *family, const char *policy)
{
	SUITE_OK(wcs_family_set_gc(table, family, policy, NULL));
}

struct wcs_import *suite_import(struct wcs_table *table)
{
	struct wcs_import *import = NULL;

	SUITE_OK(wcs_import_new(table, NULL, &import));
	return import;
}

int suite_import_text(struct wcs_import *import, const char *text, struct wcs_fault *fault)
{
	return wcs_import_write(import, text, strlen(text), fault);
}

int suite_load(struct wcs_table *table, const char *text, struct wcs_fault *fault)
{
	struct wcs_import *import = suite_import(table);
	int rc = suite_import_text(import, text, fault);

	if (rc == 0)
		rc = wcs_import_finish(import, fault);
	wcs_import_free(import);
	return rc;
}

/* ---- Content as text --------------------------------------------------------------------- */

static void suite_print_bytes(FILE *out, struct wcs_slice bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char *at = bytes.data;

	for (size_t i = 0; i < bytes.len; i++)
		if (at[i] >= 0x21 && at[i] <= 0x7e && at[i] != '\\') {
			putc_unlocked(at[i], out);
		} else {
			putc_unlocked('\\', out);
			putc_unlocked(digits[at[i] >> 4], out);
			putc_unlocked(digits[at[i] & 15], out);
		}
}

static void suite_print_value(FILE *out, struct wcs_slice value)
{
	const unsigned char *at = value.data;
	uint32_t sum = 2166136261u;

	if (value.len <= 64) {
		suite_print_bytes(out, value);
		return;
	}
	for (size_t i = 0; i < value.len; i++)
		sum = (sum ^ at[i]) * 16777619u;
	fprintf(out, "<%zu:%08x>", value.len, sum);
}

/* Nothing where the value, too large to come with the cell, cannot be read. */
static int suite_print_cell(FILE *out, struct wcs_scan *scan, const struct wcs_cell *cell)
{
	struct wcs_slice value = cell->value;
	char *large = NULL;
	int rc = 0;

	if (cell->info.size > WCS_VALUE_INLINE) {
		large = malloc(cell->info.size);
		ck_assert_ptr_nonnull(large);
		value.data = large;
		rc = wcs_scan_read(scan, large, cell->info.size, 0, &value.len);
	}
	if (rc == 0) {
		ck_assert_uint_eq(value.len, cell->info.size);
		suite_print_bytes(out, cell->row);
		fputc('/', out);
		suite_print_bytes(out, cell->family);
		fputc('/', out);
		suite_print_bytes(out, cell->qualifier);
		fprintf(out, "@%lld=", (long long)cell->info.ts);
		suite_print_value(out, value);
		fputc(' ', out);
	}
	free(large);
	return rc;
}

/* Checks the first part that differs from the last cell, whose row, family and qualifier are in
 * `last`. */
static void suite_check_differs(const struct wcs_cell *cell, struct wcs_slice *last)
{
	const struct wcs_slice parts[] = {cell->row, cell->family, cell->qualifier};
	size_t same = 0;

	while (same < WCS_PART_TS && last[same].data &&
	       wcs_slice_compare(parts[same], last[same]) == 0)
		same++;
	ck_assert_uint_eq(cell->differs, same);
	for (; same < WCS_PART_TS; same++) {
		free((void *)(uintptr_t)last[same].data);
		last[same].data = malloc(parts[same].len + 1);
		if (parts[same].len > 0)
			memcpy((void *)(uintptr_t)last[same].data, parts[same].data,
			       parts[same].len);
		last[same].len = parts[same].len;
	}
}

char *suite_scan_some(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		      const struct wcs_filter *filter, int *error)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char *text = NULL;
	size_t len;
	struct wcs_slice last[WCS_PART_TS] = {{NULL, 0}};
	FILE *out = open_memstream(&text, &len);
	int rc = wcs_scan_open(table, ranges, range_count, filter, &scan), unread;

	ck_assert_int_eq(rc, 0);
	*error = 0;
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		suite_check_differs(&cell, last);
		if ((unread = suite_print_cell(out, scan, &cell)) != 0)
			*error = unread;
	}
	ck_assert_int_eq(wcs_scan_next(scan, &cell), rc);
	for (size_t i = 0; i < WCS_PART_TS; i++)
		free((void *)(uintptr_t)last[i].data);
	if (rc != 0)
		*error = rc;
	wcs_scan_close(scan);
	fclose(out);
	return text;
}

char *suite_scan(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		 const struct wcs_filter *filter)
{
	int error;
	char *text = suite_scan_some(table, ranges, range_count, filter, &error);

	ck_assert_int_eq(error, 0);
	return text;
}

char *suite_content(struct wcs_table *table)
{
	return suite_scan(table, &suite_all, 1, &suite_cells);
}

char *suite_state(const struct suite *suite)
{
	char *line = suite_schema_line(suite->store), *cells, *state;

	ck_assert_ptr_nonnull(suite->table);
	cells = suite_content(suite->table);
	ck_assert_int_gt(asprintf(&state, "%s%s", line, cells), 0);
	free(line);
	free(cells);
	return state;
}

void suite_expect_text(char *text, const char *expected)
{
	ck_assert_str_eq(text, expected);
	free(text);
}

void suite_expect_scan(struct wcs_table *table, const struct wcs_range *range,
		       const struct wcs_filter *filter, const char *expected)
{
	suite_expect_text(suite_scan(table, range, 1, filter), expected);
}

void suite_expect(struct wcs_table *table, const char *expected)
{
	suite_expect_text(suite_content(table), expected);
}

struct wcs_chain *suite_reverse(struct wcs_table *table, bool reverse)
{
	const struct wcs_step step = {.kind = WCS_STEP_REVERSE};
	struct wcs_chain *chain = NULL;

	if (reverse)
		SUITE_OK(wcs_chain_add(table, NULL, &step, &chain, NULL));
	return chain;
}

char *suite_list(struct wcs_table *table, struct wcs_slice prefix,
		 const struct wcs_list_child *after, bool reverse)
{
	struct wcs_list *list;
	struct wcs_slice segment;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct wcs_chain *chain = suite_reverse(table, reverse);
	int rc = wcs_list_open(table, prefix, after, chain, &list);

	ck_assert_int_eq(rc, 0);
	while ((rc = wcs_list_next(list, &segment)) == 1) {
		suite_print_bytes(out, segment);
		fputc(' ', out);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(wcs_list_next(list, &segment), 0);
	wcs_list_close(list);
	wcs_chain_free(chain);
	fclose(out);
	return text;
}

char *suite_value(struct wcs_table *table, const char *row, const char *family,
		  const char *qualifier, int64_t ts)
{
	struct wcs_value *value;
	char *text = NULL;
	char *bytes;
	size_t len;
	size_t got;
	FILE *out = open_memstream(&text, &len);
	int rc = wcs_value_open(table, suite_text(row), family, suite_text(qualifier), ts, &value);

	if (rc == -ENOENT) {
		fputc('-', out);
	} else {
		ck_assert_int_eq(rc, 0);
		bytes = malloc(wcs_value_info(value)->size + 1);
		SUITE_OK(wcs_value_read(value, bytes, wcs_value_info(value)->size + 1, 0, &got));
		ck_assert_uint_eq(got, wcs_value_info(value)->size);
		suite_print_value(out, (struct wcs_slice){bytes, got});
		free(bytes);
		wcs_value_close(value);
	}
	fclose(out);
	return text;
}

int suite_append(struct wcs_table *table, const char *row, const char *data, int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(
		wcs_mutation_append(mutation, "f", suite_text("q"), suite_text(data), WCS_TS_NONE));
	return suite_mutate(table, row, mutation, ts);
}

char *suite_schema_line(struct wcs_store *store)
{
	struct wcs_schema *schema;
	char *line;

	SUITE_OK(wcs_schema_get(store, &schema));
	line = wcs_schema_line(schema);
	wcs_schema_free(schema);
	return line;
}

void suite_expect_schema(struct wcs_store *store, const char *expected)
{
	struct wcs_schema *schema;
	char text[1024];
	size_t len = 0;

	SUITE_OK(wcs_schema_get(store, &schema));
	for (size_t i = 0; i < schema->table_count; i++) {
		const struct wcs_table_schema *table = &schema->tables[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%c(", table->name,
					table->delimiter);
		for (size_t j = 0; j < table->family_count; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s:%s:%s ",
						table->families[j].name,
						wcs_type_name(table->families[j].type),
						table->families[j].gc);
		len += (size_t)snprintf(text + len, sizeof(text) - len, ") ");
	}
	text[len] = '\0';
	ck_assert_str_eq(text, expected);
	wcs_schema_free(schema);
}

/* ---- Bytes and numbers ------------------------------------------------------------------- */

uint32_t suite_sample(const char *row)
{
	uint64_t hash = 14695981039346656037u;

	for (; *row != '\0'; row++)
		hash = (hash ^ (unsigned char)*row) * 1099511628211u;
	hash = (hash ^ (hash >> 33)) * 18397679294719823053u;
	hash = (hash ^ (hash >> 33)) * 14181476777654086739u;
	return (uint32_t)((hash ^ (hash >> 33)) >> 32);
}

uint32_t suite_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

int suite_store_files(const char *store, const char *part, char name[64])
{
	const struct dirent *entry;
	char path[400];
	int count = 0;
	DIR *stream;

	name[0] = '\0';
	snprintf(path, sizeof(path), "%s/data", store);
	stream = opendir(path);
	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream)) != NULL) {
		if (strstr(entry->d_name, part) == NULL)
			continue;
		count++;
		if (strcmp(entry->d_name, name + (*name != '\0' ? 5 : 0)) > 0)
			snprintf(name, 64, "data/%.50s", entry->d_name);
	}
	closedir(stream);
	return count;
}

void suite_store_file(const char *store, const char *part, char name[64])
{
	ck_assert_msg(suite_store_files(store, part, name) > 0, "%s: no file with %s", store, part);
}

void suite_sleep(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

void suite_limit_files(uint64_t bytes)
{
	SUITE_OK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, RLIM_INFINITY}));
}

char *suite_pattern(size_t len, unsigned int seed)
{
	char *bytes = malloc(len + 1);
	uint64_t state = seed + 1u;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i % 61 == 0 ? suite_random(&state) : i * 7 + seed);
	bytes[len] = '\0';
	return bytes;
}

uint64_t suite_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

uint64_t suite_rounds(uint64_t usual, uint64_t full)
{
	return suite_setting("ROWFS_FULL", 0) != 0 ? full : usual;
}
