/* SPDX-License-Identifier: MIT */
/* How stores to damage are made: see damage.h. */
#include "tests/unit/damage.h"

#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/leveldb/formats/logfile.h"

enum { BIG = 150000, LONG_CELLS = 24, LONG_CELL = 3000, MUCH = 5 << 20 };

char damage_place[200], damage_copy[256], damage_quarantine[300], damage_what[512];
char *damage_states[DAMAGE_CHANGES_MAX + 1], *damage_all, *damage_ever;
struct damage_piece damage_pieces[DAMAGE_PIECES_MAX];
int damage_piece_count;

static char damage_base[256];
static struct damage_shape damage_shape;
static uint64_t damage_random; /* of the values so far */

/* ---- The base ---------------------------------------------------------------------------- */

/* One record of the log: the column, of random bytes, and so many others. */
static void damage_set(struct wcs_table *table, int row, const char *column, size_t size,
		       int others)
{
	static char bytes[MUCH], qualifiers[LONG_CELLS][16];
	struct wcs_mutation *mutation = wcs_mutation_new();
	char name[16];

	for (size_t i = 0; i < size + (size_t)others * LONG_CELL; i++)
		bytes[i] = (char)(suite_random(&damage_random) >> 13);
	SUITE_OK(wcs_mutation_set(mutation, "f", suite_text(column), 1,
				  (struct wcs_slice){bytes, size}));
	for (int i = 0; i < others; i++) {
		snprintf(qualifiers[i], sizeof(qualifiers[i]), "other%04d", i);
		SUITE_OK(wcs_mutation_set(
			mutation, "f", suite_text(qualifiers[i]), 1,
			(struct wcs_slice){bytes + size + i * LONG_CELL, LONG_CELL}));
	}
	snprintf(name, sizeof(name), "r%03d", row);
	SUITE_OK(suite_mutate(table, name, mutation, NULL));
}

/* The cells of now are some that the base had. */
static char *damage_remember(struct wcs_table *table)
{
	char *cells = suite_content(table);
	size_t len = damage_ever ? strlen(damage_ever) : 0;

	damage_ever = realloc(damage_ever, len + strlen(cells) + 1);
	damage_ever[len] = '\0';
	for (char *cell = cells, *end; (end = strchr(cell, ' ')); cell = end + 1) {
		size_t one = (size_t)(end + 1 - cell);

		if (!memmem(damage_ever, len, cell, one)) {
			memcpy(damage_ever + len, cell, one);
			damage_ever[len += one] = '\0';
		}
	}
	return cells;
}

static void damage_session(struct wcs_table *table, int session)
{
	bool last = session == damage_shape.sessions - 1;

	for (int row = session * 10; row < damage_shape.rows; row++)
		damage_set(table, row, "q", damage_shape.size, 0);
	if (damage_shape.big && session == 0)
		damage_set(table, 3, "big1", BIG, 0);
	if (damage_shape.big && last)
		damage_set(table, 3, "big2", BIG, 0);
	for (int row = 0; row < 5 && last && session > 0; row++)
		damage_set(table, row, "q", damage_shape.size, 0);
	free(damage_remember(table));
}

static void damage_change(struct wcs_table *table, int i)
{
	size_t size = damage_shape.limit ? (size_t)(37 * i + 11) % damage_shape.limit + 1
					 : damage_shape.size;

	if (i == 2)
		suite_delete_row(table, "r005");
	else if (i == 7 && damage_shape.inner.len > 0)
		suite_put(table, suite_text("r047"), "f", suite_text("q"), 1, damage_shape.inner);
	else
		damage_set(table, i == 1 ? 0 : damage_shape.rows + i, "q", size,
			   damage_shape.longs && i % 7 == 3 ? LONG_CELLS : 0);
}

static void damage_log(struct wcs_table *table)
{
	char name[16];

	for (int i = 0; i < damage_shape.many; i++) {
		snprintf(name, sizeof(name), "many%04d", i);
		damage_set(table, 39, name, MUCH, 0);
		damage_set(table, i, "q", damage_shape.size, 0);
	}
	damage_states[0] = damage_remember(table);
	for (int i = 0; i < damage_shape.changes; i++) {
		damage_change(table, i);
		damage_states[i + 1] = damage_remember(table);
	}
	damage_all = damage_states[damage_shape.changes];
}

void damage_name(const char *place)
{
	snprintf(damage_place, sizeof(damage_place), "%s", place);
	snprintf(damage_base, sizeof(damage_base), "%s/base", damage_place);
	snprintf(damage_copy, sizeof(damage_copy), "%s/copy", damage_place);
	snprintf(damage_quarantine, sizeof(damage_quarantine), "%s/quarantine", damage_place);
}

/* Returns how many tables it has. A schema is written in the first session. */
static size_t damage_make_base(void)
{
	static const char usual[] = "{\"tables\":{\"t\":{\"families\":{\"f\":{}}}}}";
	const char *text = damage_shape.schema ? damage_shape.schema : usual;
	struct wcs_schema *schema;
	struct wcs_store *store;
	struct wcs_table *table;
	char name[64];

	damage_random = 1;
	mkdir(damage_place, 0700);
	SUITE_OK(wcs_schema_parse(text, strlen(text), &schema, NULL));
	SUITE_OK(wcs_store_create(damage_base, text == usual ? schema : NULL, false, NULL, NULL));
	for (int session = 0; session <= damage_shape.sessions; session++) {
		SUITE_OK(wcs_store_open(damage_base, NULL, &store, NULL));
		if (session == 0)
			SUITE_OK(wcs_schema_apply(store, schema, NULL));
		SUITE_OK(wcs_table_open(store, "t", &table));
		if (session < damage_shape.sessions)
			damage_session(table, session);
		else
			damage_log(table);
		wcs_table_close(table);
		wcs_store_close(store);
	}
	wcs_schema_free(schema);
	return (size_t)suite_store_files(damage_base, ".ldb", name);
}

static void damage_read_log(void)
{
	size_t len;
	unsigned char *bytes = damage_bytes(".log", &len);
	off_t at = 0;

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

/* On a slow machine a session may last until the store is compacted as a whole. Its tables are made
 * again then. */
void damage_make(const struct damage_shape *shape)
{
	char place[200];
	int tries = 0;

	damage_shape = *shape;
	snprintf(place, sizeof(place), "%s/stores", suite_directory());
	setenv("TMPDIR", suite_directory(), 1); /* a check that is killed leaves its own there */
	suite_remove(place);			/* of a test that failed */
	damage_name(place);
	while (damage_make_base() < 2 && shape->sessions > 2) {
		ck_assert_int_lt(++tries, 10);
		damage_remove();
	}
	damage(" ");
	if (shape->many == 0)
		damage_read_log();
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

static void damage_copy_files(const char *below)
{
	static char bytes[1 << 20];
	char path[600];
	glob_t found;
	ssize_t got;

	snprintf(path, sizeof(path), "%s%s", damage_copy, below);
	SUITE_OK(mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s%s/[A-Z0-9]*", damage_base, below);
	SUITE_OK(glob(path, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int in = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC), out;

		snprintf(path, sizeof(path), "%s%s", damage_copy,
			 found.gl_pathv[i] + strlen(damage_base));
		out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		while ((got = read(in, bytes, sizeof(bytes))) > 0)
			ck_assert_int_eq(write(out, bytes, (size_t)got), got);
		close(in);
		close(out);
	}
	globfree(&found);
}

void damage_need(bool good, const char *why, ...)
{
	char text[512];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	ck_assert_msg(good, "%s: %s", damage_what, text);
}

void damage(const char *commands, ...)
{
	va_list args;

	va_start(args, commands);
	vsnprintf(damage_what, sizeof(damage_what), commands, args);
	va_end(args);
	suite_remove(damage_copy);
	suite_remove(damage_quarantine);
	damage_copy_files("");
	damage_copy_files("/data");
	forge(damage_copy, damage_what);
}

unsigned char *damage_bytes(const char *file, size_t *len)
{
	char path[512];
	off_t size = forge_file(damage_copy, file, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes = malloc((size_t)size + 1);

	ck_assert_int_eq(read(fd, bytes, (size_t)size), size);
	close(fd);
	*len = (size_t)size;
	return bytes;
}
