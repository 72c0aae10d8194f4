/* SPDX-License-Identifier: MIT */
/* How stores to damage are made: see damage.h. */
#include "tests/unit/damage.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/formats/logfile.h"

enum { BIG = 150000, LONG_CELLS = 24, LONG_CELL = 3000, MANY = 12, MUCH = 5 << 20 };

const struct damage_shape damage_usual = {
	.sessions = 3, .rows = 40, .size = 300, .big = true, .changes = 2, .limit = 0};
const struct damage_shape damage_small = {
	.sessions = 1, .rows = 40, .size = 300, .big = true, .changes = 22, .limit = 0};

char damage_place[200], damage_base[256], damage_copy[256], damage_quarantine[300];
char *damage_states[DAMAGE_CHANGES_MAX + 1], *damage_all, *damage_ever;
struct damage_piece damage_pieces[DAMAGE_PIECES_MAX];
int damage_piece_count;

static struct damage_shape damage_shape;
static uint64_t damage_random; /* of the values so far */

/* ---- The base ---------------------------------------------------------------------------- */

/* The bytes that a mutation points to until it is applied. */
static char damage_pool[MUCH + 64];
static size_t damage_pool_used;

static void damage_set(struct wcs_mutation *mutation, const char *qualifier, size_t size)
{
	char *name = damage_pool + damage_pool_used, *value = name + strlen(qualifier);

	damage_pool_used += strlen(qualifier) + size;
	ck_assert_uint_le(damage_pool_used, sizeof(damage_pool));
	memcpy(name, qualifier, strlen(qualifier));
	for (size_t i = 0; i < size; i++)
		value[i] = (char)(suite_random(&damage_random) >> 13);
	SUITE_OK(wcs_mutation_set(mutation, "f", (struct wcs_slice){name, strlen(qualifier)}, 1,
				  (struct wcs_slice){value, size}));
}

/* One record of the log: that column and so many others; "": these alone. */
static void damage_set_row(struct wcs_table *table, int row, const char *column, size_t size,
			   int others)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char name[16], qualifier[16];

	if (*column)
		damage_set(mutation, column, size);
	for (int i = 0; i < others; i++) {
		snprintf(qualifier, sizeof(qualifier), "other%04d", i);
		damage_set(mutation, qualifier, damage_shape.longs ? LONG_CELL : size);
	}
	snprintf(name, sizeof(name), "r%03d", row);
	SUITE_OK(suite_mutate(table, name, mutation, NULL));
	damage_pool_used = 0;
}

static struct wcs_schema *damage_parse(const char *text)
{
	struct wcs_schema *schema;

	SUITE_OK(wcs_schema_parse(text, strlen(text), &schema, NULL));
	return schema;
}

static struct wcs_table *damage_open(struct wcs_store **store)
{
	struct wcs_fault fault = {.text = ""};
	struct wcs_schema *schema;
	struct wcs_table *table;
	int rc = wcs_store_open(damage_base, NULL, store, &fault);

	ck_assert_msg(rc == 0, "%s", fault.text);
	if (damage_shape.schema) {
		schema = damage_parse(damage_shape.schema);
		SUITE_OK(wcs_schema_apply(*store, schema, NULL));
		wcs_schema_free(schema);
	}
	SUITE_OK(wcs_table_open(*store, "t", &table));
	return table;
}

static void damage_close(struct wcs_store *store, struct wcs_table *table)
{
	wcs_table_close(table);
	wcs_store_close(store);
}

/* The cells of now are some that the base had. */
static char *damage_remember(struct wcs_table *table)
{
	char *cells = suite_content(table);
	size_t len = damage_ever ? strlen(damage_ever) : 0;

	damage_ever = realloc(damage_ever, len + strlen(cells) + 1);
	damage_ever[len] = '\0';
	for (char *cell = cells, *end; (end = strchr(cell, ' ')); cell = end + 1) {
		char *one = strndup(cell, (size_t)(end + 1 - cell));

		if (!strstr(damage_ever, one))
			strcat(damage_ever, one);
		free(one);
	}
	return cells;
}

static void damage_session(int session)
{
	bool last = session == damage_shape.sessions - 1;
	struct wcs_store *store;
	struct wcs_table *table = damage_open(&store);

	for (int row = session * 10; row < damage_shape.rows; row++)
		damage_set_row(table, row, "q", damage_shape.size, 0);
	if (damage_shape.big && session == 0)
		damage_set_row(table, 3, "big1", BIG, 0);
	if (damage_shape.big && last)
		damage_set_row(table, 3, "big2", BIG, 0);
	for (int row = 0; row < 5 && last && session > 0; row++)
		damage_set_row(table, row, "q", damage_shape.size, 0);
	free(damage_remember(table));
	damage_close(store, table);
}

static void damage_log(void)
{
	struct wcs_store *store;
	struct wcs_table *table = damage_open(&store);

	damage_states[0] = damage_remember(table);
	for (int i = 0; i < damage_shape.changes; i++) {
		int row;
		size_t size = damage_shape.limit ? (size_t)(37 * i + 11) % damage_shape.limit + 1
						 : damage_shape.size;

		row = i == 1 ? 0 : damage_shape.rows + i;
		if (i == 2)
			suite_delete_row(table, "r005");
		else if (i == 7 && damage_shape.inner.len > 0)
			suite_put(table, suite_text("r047"), "f", suite_text("q"), 1,
				  damage_shape.inner);
		else
			damage_set_row(table, row, "q", size,
				       damage_shape.longs && i % 7 == 3 ? LONG_CELLS : 0);
		damage_states[i + 1] = damage_remember(table);
	}
	damage_all = damage_states[damage_shape.changes];
	damage_close(store, table);
}

static void damage_deepen(void)
{
	struct wcs_store *store;
	struct wcs_table *table = damage_open(&store);

	for (int row = 0; row < damage_shape.rows; row++)
		damage_set_row(table, row, "", damage_shape.size, damage_shape.deep);
	free(damage_all);
	damage_all = damage_states[damage_shape.changes] = damage_remember(table);
	damage_close(store, table);
	table = damage_open(&store); /* which makes a table of the log */
	damage_close(store, table);
}

void damage_name(const char *place)
{
	snprintf(damage_place, sizeof(damage_place), "%s", place);
	snprintf(damage_base, sizeof(damage_base), "%s/base", damage_place);
	snprintf(damage_copy, sizeof(damage_copy), "%s/copy", damage_place);
	snprintf(damage_quarantine, sizeof(damage_quarantine), "%s/quarantine", damage_place);
}

static int damage_tables(void)
{
	char pattern[300];
	glob_t found;
	int count;

	snprintf(pattern, sizeof(pattern), "%s/data/*.ldb", damage_base);
	count = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
	globfree(&found);
	return count;
}

static void damage_make_base(const struct damage_shape *shape)
{
	struct wcs_schema *schema;
	char place[200];

	damage_shape = *shape;
	damage_random = 1;
	snprintf(place, sizeof(place), "%s/stores", suite_directory());
	setenv("TMPDIR", suite_directory(), 1); /* a check that is killed leaves its own there */
	suite_remove(place);			/* of a test that failed */
	damage_name(place);
	mkdir(place, 0700);
	schema = damage_parse("{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}");
	SUITE_OK(wcs_store_create(damage_base, shape->schema ? NULL : schema, false, NULL, NULL));
	wcs_schema_free(schema);
	for (int session = 0; session < shape->sessions; session++)
		damage_session(session);
	damage_log();
}

/* On a slow machine a session may last until the store is compacted as a whole. Its tables are made
 * again then. */
void damage_make(const struct damage_shape *shape)
{
	int tries = 0;
	unsigned char *bytes;
	size_t len;
	off_t at = 0;

	do {
		ck_assert_int_lt(tries, 10);
		if (tries++ > 0)
			damage_remove();
		damage_make_base(shape);
	} while (shape->sessions > 2 && damage_tables() < 2);
	if (shape->deep > 0)
		damage_deepen();
	damage_fresh();
	bytes = damage_bytes(".log", &len);
	damage_piece_count = 0;
	while (at + (off_t)LDB_LOGFILE_HEAD <= (off_t)len) {
		struct damage_piece *piece = &damage_pieces[damage_piece_count];
		off_t left = LDB_LOGFILE_BLOCK - at % LDB_LOGFILE_BLOCK;

		if (left < (off_t)LDB_LOGFILE_HEAD) {
			at += left;
			continue;
		}
		ck_assert_int_lt(damage_piece_count++, DAMAGE_PIECES_MAX);
		piece->at = at;
		piece->ends = bytes[at + 6] == 1 || bytes[at + 6] == 4;
		at += (off_t)LDB_LOGFILE_HEAD + (bytes[at + 4] | bytes[at + 5] << 8);
		piece->end = at;
	}
	ck_assert_int_eq(at, (off_t)len);
	free(bytes);
}

/* The shape has no log. */
void damage_make_many(void)
{
	struct wcs_store *store;
	struct wcs_table *table = damage_open(&store);

	for (int i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof(name), "many%04d", i);
		damage_set_row(table, 39, name, MUCH, 0);
		damage_set_row(table, i, "q", damage_shape.size, 0);
	}
	free(damage_all);
	damage_states[0] = damage_all = damage_remember(table);
	damage_close(store, table);
}

void damage_remove(void)
{
	suite_remove(damage_place);
	for (int i = 0; i <= damage_shape.changes; i++)
		free(damage_states[i]);
	free(damage_ever);
	damage_ever = NULL;
}

/* ---- A copy ------------------------------------------------------------------------------ */

static void damage_copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t got;

	while ((got = read(in, bytes, sizeof(bytes))) > 0)
		ck_assert_int_eq(write(out, bytes, (size_t)got), got);
	close(in);
	close(out);
}

static void damage_copy_directory(const char *from, const char *to)
{
	DIR *stream = opendir(from);
	const struct dirent *entry;

	ck_assert_ptr_nonnull(stream);
	SUITE_OK(mkdir(to, 0700));
	while ((entry = readdir(stream))) {
		char source[512], target[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(source, sizeof(source), "%s/%.100s", from, entry->d_name);
		snprintf(target, sizeof(target), "%s/%.100s", to, entry->d_name);
		if (entry->d_type == DT_DIR)
			damage_copy_directory(source, target);
		else
			damage_copy_file(source, target);
	}
	closedir(stream);
}

void damage_fresh(void)
{
	suite_remove(damage_copy);
	suite_remove(damage_quarantine);
	damage_copy_directory(damage_base, damage_copy);
}
