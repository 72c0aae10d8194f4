/* SPDX-License-Identifier: MIT */
/*
 * Random chains of up to five views, on every engine, against the simplest model: the list of all
 * visible cells, to which each view is applied in order.
 */
#include <stdint.h>

#include "store/chain/chain.h"
#include "store/engine/engine.h"
#include "store/table/table.h"
#include "tests/unit/suite.h"

enum { CELLS_MAX = 400, VIEWS_MAX = 5, TEXT_MAX = 8 };

struct listed {
	char row[16], family[4], qualifier[4], value[8];
	int64_t ts;
};

struct listing {
	size_t count;
	struct listed cells[CELLS_MAX];
};

/* ---- The model --------------------------------------------------------------------------- */

/* Expressions, each with a predicate of its own. */
static bool like_a(const char *text)
{
	return text[0] == 'a';
}

static bool like_b_end(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && text[len - 1] == 'b';
}

static bool like_two(const char *text)
{
	return strlen(text) == 2;
}

static bool like_ab(const char *text)
{
	return text[0] != '\0' && strspn(text, "ab") == strlen(text);
}

static bool like_deep(const char *text)
{
	return strncmp(text, "a#", 2) == 0 || strncmp(text, "b#", 2) == 0;
}

static const struct like {
	const char *text;
	bool (*is)(const char *text);
} likes[] = {
	{"a.*", like_a},    {".*b", like_b_end},     {"..", like_two},
	{"[ab]+", like_ab}, {"(a|b)#.*", like_deep},
};
#define LIKES (sizeof(likes) / sizeof(likes[0]))

struct modelled {
	struct wcs_step step;
	struct wcs_column columns[2];
	const struct like *like;
	char bytes[TEXT_MAX];
};

static const char *const model_families[] = {"a", "b", "f"};
static const char *const model_qualifiers[] = {"", "a", "b", "ab"};
static const char *const model_values[] = {"", "a", "b", "ab", "a\n"};
#define PICK(state, of) ((of)[suite_random(state) % (sizeof(of) / sizeof((of)[0]))])

/* The text without one final newline. */
static const char *chopped(const char *value, char *to)
{
	size_t len = strlen(strcpy(to, value));

	if (len > 0 && to[len - 1] == '\n')
		to[len - 1] = '\0';
	return to;
}

static bool model_is_in(const char *row, const char *within)
{
	size_t len = within != NULL ? strlen(within) : 0;

	return within == NULL ||
	       (strncmp(row, within, len) == 0 && (row[len] == '\0' || row[len] == '#'));
}

static bool model_has_column(const struct wcs_column *column, const struct listed *cell)
{
	return wcs_slice_compare(column->family, suite_text(cell->family)) == 0 &&
	       (column->qualifier.data == NULL ||
		wcs_slice_compare(column->qualifier, suite_text(cell->qualifier)) == 0);
}

/* Does the row of a cell pass HAS or WHERE? */
static bool model_row_has(const struct listing *list, const struct listed *of,
			  const struct modelled *view)
{
	char text[8];

	for (size_t i = 0; i < list->count; i++) {
		const struct listed *cell = &list->cells[i];

		if (strcmp(cell->row, of->row) == 0 && model_has_column(view->columns, cell))
			return view->step.kind == WCS_STEP_HAS ||
			       strcmp(chopped(cell->value, text), view->bytes) == 0;
	}
	return false;
}

/* How many rows of the subtree come before the row of a cell (or behind it). */
static uint64_t model_rank(const struct listing *list, size_t of, const char *within, bool behind)
{
	uint64_t rows = 0;
	const char *last = list->cells[of].row;
	size_t i = of;

	while (behind ? ++i < list->count : i-- > 0) {
		const char *row = list->cells[i].row;

		rows += strcmp(row, last) != 0 && model_is_in(row, within);
		last = row;
	}
	return rows;
}

/* The cells of the column before this one. */
static uint64_t model_newer(const struct listing *list, size_t of)
{
	const struct listed *cell = &list->cells[of];
	uint64_t count = 0;

	for (size_t i = 0; i < of; i++)
		count += strcmp(list->cells[i].row, cell->row) == 0 &&
			 strcmp(list->cells[i].family, cell->family) == 0 &&
			 strcmp(list->cells[i].qualifier, cell->qualifier) == 0;
	return count;
}

static bool model_passes(const struct listing *list, size_t at, const struct modelled *view,
			 const char *within)
{
	const struct listed *cell = &list->cells[at];
	const struct wcs_step *step = &view->step;
	char text[8];

	switch (step->kind) {
	case WCS_STEP_FROM:
		return strcmp(cell->row, view->bytes) >= 0;
	case WCS_STEP_TO:
		return strcmp(cell->row, view->bytes) < 0;
	case WCS_STEP_PREFIX:
		return strncmp(cell->row, view->bytes, strlen(view->bytes)) == 0;
	case WCS_STEP_FIRST:
		return model_rank(list, at, within, false) < step->number;
	case WCS_STEP_LAST:
		return model_rank(list, at, within, true) < step->number;
	case WCS_STEP_SAMPLE:
		return (double)suite_sample(cell->row) / 4294967296.0 < (double)step->number / 1e9;
	case WCS_STEP_KEY:
		return view->like->is(cell->row);
	case WCS_STEP_HAS:
	case WCS_STEP_WHERE:
		return model_row_has(list, cell, view);
	case WCS_STEP_COLUMNS:
		for (size_t i = 0; i < step->column_count; i++)
			if (model_has_column(&view->columns[i], cell))
				return true;
		return false;
	case WCS_STEP_COLUMN:
		return view->like->is(cell->qualifier);
	case WCS_STEP_VALUE:
		return view->like->is(chopped(cell->value, text));
	case WCS_STEP_NEWEST:
		return model_newer(list, at) < step->number;
	case WCS_STEP_AT:
		return cell->ts <= step->time;
	case WCS_STEP_SINCE:
		return cell->ts >= step->time;
	case WCS_STEP_UNTIL:
		return cell->ts < step->time;
	default:
		return true;
	}
}

/* Puts the rows into the opposite order; the cells of a row stay as they are. */
static void model_reverse(struct listing *list)
{
	static struct listing from;
	size_t end;

	from = *list;
	list->count = 0;
	for (size_t i = from.count; i > 0; i = end) {
		end = i - 1;
		while (end > 0 && strcmp(from.cells[end - 1].row, from.cells[i - 1].row) == 0)
			end--;
		for (size_t j = end; j < i; j++)
			list->cells[list->count++] = from.cells[j];
	}
}

static void model_apply(struct listing *list, const struct modelled *view, const char *within)
{
	static struct listing from;

	if (view->step.kind == WCS_STEP_REVERSE) {
		model_reverse(list);
		return;
	}
	from = *list;
	list->count = 0;
	for (size_t i = 0; i < from.count; i++)
		if (model_passes(&from, i, view, within))
			list->cells[list->count++] = from.cells[i];
}

/* ---- Random stores and chains ------------------------------------------------------------ */

static void random_key(uint64_t *state, char *key, size_t most)
{
	static const char alphabet[] = "ab#!";
	size_t len = suite_random(state) % most + 1;

	for (size_t i = 0; i < len; i++)
		key[i] = alphabet[suite_random(state) % 4];
	key[len] = '\0';
}

static void random_fill(struct suite *s, uint64_t *state)
{
	char key[16];

	for (int i = 0; i < 120; i++) {
		random_key(state, key, 4);
		suite_set(s->table, key, PICK(state, model_families), PICK(state, model_qualifiers),
			  suite_random(state) % 6, PICK(state, model_values));
	}
}

static struct wcs_chain *raw_chain(struct wcs_table *table)
{
	const struct wcs_step step = {.kind = WCS_STEP_RAW};
	struct wcs_chain *chain;

	SUITE_OK(wcs_chain_add(table, NULL, &step, &chain, NULL));
	return chain;
}

static void copy_text(char *to, struct wcs_slice from)
{
	if (from.len > 0)
		memcpy(to, from.data, from.len);
	to[from.len] = '\0';
}

static void list_all(struct wcs_table *table, bool raw, struct listing *list)
{
	struct wcs_filter filter = {.chain = raw ? raw_chain(table) : NULL};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	list->count = 0;
	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &filter, &scan));
	wcs_chain_free(filter.chain);
	while (wcs_scan_next(scan, &cell) == 1) {
		struct listed *listed = &list->cells[list->count++];

		ck_assert_uint_le(list->count, CELLS_MAX);
		copy_text(listed->row, cell.row);
		copy_text(listed->family, cell.family);
		copy_text(listed->qualifier, cell.qualifier);
		copy_text(listed->value, cell.value);
		listed->ts = cell.info.ts;
	}
	wcs_scan_close(scan);
}

static void random_column(uint64_t *state, struct wcs_column *column)
{
	column->family = suite_text(PICK(state, model_families));
	column->qualifier = (struct wcs_slice){NULL, 0};
	if (suite_random(state) % 2)
		column->qualifier = suite_text(PICK(state, model_qualifiers));
}

static void random_view(uint64_t *state, struct modelled *view)
{
	enum wcs_step_kind kind = WCS_STEP_FROM + suite_random(state) % WCS_STEP_UNTIL;
	bool regex = kind == WCS_STEP_KEY || kind == WCS_STEP_COLUMN || kind == WCS_STEP_VALUE;

	*view = (struct modelled){.step = {.kind = kind, .columns = view->columns}};
	view->like = &likes[suite_random(state) % LIKES];
	random_column(state, &view->columns[0]);
	random_column(state, &view->columns[1]);
	if (kind == WCS_STEP_WHERE && view->columns[0].qualifier.data == NULL)
		view->columns[0].qualifier = suite_text("a");
	view->step.column_count = kind == WCS_STEP_COLUMNS ? suite_random(state) % 2 + 1
				  : kind == WCS_STEP_HAS || kind == WCS_STEP_WHERE ? 1
										   : 0;
	random_key(state, view->bytes, 3);
	if (kind == WCS_STEP_WHERE)
		strcpy(view->bytes, PICK(state, model_values));
	view->step.bytes = suite_text(regex ? view->like->text : view->bytes);
	view->step.number = kind == WCS_STEP_SAMPLE   ? suite_random(state) % 1000000000u
			    : kind == WCS_STEP_NEWEST ? suite_random(state) % 4
						      : suite_random(state) % 12;
	view->step.time = suite_random(state) % 7;
}

/* ---- The results of a chain ------------------------------------------------------------------ */

static void print_cell(FILE *to, const struct listed *cell)
{
	fprintf(to, "%s/%s/%s@%d=%s ", cell->row, cell->family, cell->qualifier, (int)cell->ts,
		cell->value);
}

/* The cells of the model that a scan gives, of the rows below a key. */
static char *model_text(const struct listing *list, const char *within,
			const struct wcs_filter *filter)
{
	const struct listed *last = NULL;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	for (size_t i = 0; i < list->count; i++) {
		const struct listed *cell = &list->cells[i];
		bool same = last != NULL && filter->each != WCS_EACH_CELL &&
			    strcmp(last->row, cell->row) == 0;

		if (!model_is_in(cell->row, within) ||
		    (filter->family_count > 0 && strcmp(cell->family, filter->families[0]) != 0) ||
		    cell->ts < filter->ts_from)
			continue;
		if (same && filter->each != WCS_EACH_ROW)
			same = strcmp(last->family, cell->family) == 0 &&
			       (filter->each == WCS_EACH_FAMILY ||
				strcmp(last->qualifier, cell->qualifier) == 0);
		if (!same)
			print_cell(to, cell);
		last = cell;
	}
	fclose(to);
	return text;
}

static char *store_text(struct wcs_table *table, const char *within,
			const struct wcs_filter *filter)
{
	struct wcs_slice key = suite_text(within != NULL ? within : "");
	struct wcs_subtree subtree;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	struct listed listed = {.row = ""};

	SUITE_OK(wcs_subtree_init(&subtree, within != NULL ? &key : NULL, '#'));
	SUITE_OK(wcs_scan_open(table, subtree.ranges, subtree.count, filter, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		enum wcs_part differs = WCS_PART_TS;
		char row[16], family[4], qualifier[4];

		copy_text(row, cell.row);
		copy_text(family, cell.family);
		copy_text(qualifier, cell.qualifier);
		if (strcmp(qualifier, listed.qualifier) != 0)
			differs = WCS_PART_QUALIFIER;
		if (strcmp(family, listed.family) != 0)
			differs = WCS_PART_FAMILY;
		if (strcmp(row, listed.row) != 0)
			differs = WCS_PART_ROW;
		ck_assert_int_eq(cell.differs, differs);
		strcpy(listed.row, row);
		strcpy(listed.family, family);
		strcpy(listed.qualifier, qualifier);
		copy_text(listed.value, cell.value);
		listed.ts = cell.info.ts;
		print_cell(to, &listed);
	}
	wcs_scan_close(scan);
	fclose(to);
	return text;
}

static void check_text(char *expected, char *actual, const char *what)
{
	if (strcmp(expected, actual) != 0)
		ck_abort_msg("%s\nexpected %s\n     got %s", what, expected, actual);
	free(expected);
	free(actual);
}

/* The children of a prefix (NULL: of the table) in the model: each at its first row in the order.
 */
static char *model_children(const struct listing *list, const char *within)
{
	char names[CELLS_MAX][16];
	size_t count = 0, len, skip = within != NULL ? strlen(within) + 1 : 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &len);

	for (size_t i = 0; i < list->count; i++) {
		const char *row = list->cells[i].row;
		char name[16];
		size_t at = 0;

		if (!model_is_in(row, within) || strlen(row) < skip)
			continue;
		strcpy(name, row + skip);
		name[strcspn(name, "#")] = '\0';
		while (at < count && strcmp(names[at], name) != 0)
			at++;
		if (at < count)
			continue;
		strcpy(names[count++], name);
	}
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s ", names[i]);
	fclose(to);
	return text;
}

static char *store_children(struct wcs_table *table, const char *within, struct wcs_chain *chain)
{
	struct wcs_list *list = NULL;
	struct wcs_list_child last = {.below = false};
	struct wcs_slice segment;
	char prefix[16] = "", after[16], before[64], *text = NULL;
	bool started = false;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (within != NULL)
		snprintf(prefix, sizeof(prefix), "%s#", within);
	for (int given = 0;; given++) {
		if (list == NULL) {
			SUITE_OK(wcs_list_open(table, suite_text(prefix), started ? &last : NULL,
					       chain, &list));
		}
		if (wcs_list_next(list, &segment) != 1)
			break;
		copy_text(after, segment);
		last = (struct wcs_list_child){suite_text(after), wcs_list_is_below(list),
					       wcs_list_given(list, segment)};
		ck_assert_uint_le(last.given.len, sizeof(before));
		last.given.data = memcpy(before, last.given.data, last.given.len);
		started = true;
		fprintf(to, "%s ", after);
		if (given % 3 == 2) { /* now and then another resumes */
			wcs_list_close(list);
			list = NULL;
		}
	}
	wcs_list_close(list);
	fclose(to);
	return text;
}

/* raw: behind RAW, whose keys are those of all. */
static void check_chain(struct suite *s, uint64_t *state, bool raw, const struct listing *all)
{
	static const char *const places[] = {NULL, "a", "b", "", "a#b"};
	static const char *const buckets[] = {NULL, "00", "01", "00#a", "01#b"};
	static struct listing list;
	struct modelled views[VIEWS_MAX];
	size_t count = suite_random(state) % VIEWS_MAX + 1;
	struct wcs_chain *chain = raw ? raw_chain(s->table) : NULL, *longer, *resolved;
	const char *within = raw ? PICK(state, buckets) : PICK(state, places);
	const char *family = PICK(state, model_families);
	struct wcs_slice key = suite_text(within != NULL ? within : "");
	struct wcs_filter filter = {.each = suite_random(state) % (WCS_EACH_ROW + 1)};
	struct wcs_count counted;
	char what[400] = "";
	bool reversed = false;
	size_t cells = 0;

	list = *all;
	for (size_t i = 0; i < count; i++) {
		struct wcs_step *step = &views[i].step;

		random_view(state, &views[i]);
		step->within = within != NULL ? &key : NULL;
		model_apply(&list, &views[i], within);
		SUITE_OK(wcs_chain_add(s->table, chain, step, &longer, NULL));
		wcs_chain_free(chain);
		chain = longer;
		reversed ^= step->kind == WCS_STEP_REVERSE;
		snprintf(what + strlen(what), sizeof(what) - strlen(what),
			 "%d(%.*s,%u,%d,%.*s:%.*s%s) ", step->kind, (int)step->bytes.len,
			 (const char *)step->bytes.data, (unsigned)step->number, (int)step->time,
			 (int)views[i].columns[0].family.len,
			 (const char *)views[i].columns[0].family.data,
			 (int)views[i].columns[0].qualifier.len,
			 views[i].columns[0].qualifier.len > 0
				 ? (const char *)views[i].columns[0].qualifier.data
				 : "",
			 step->column_count > 1 ? ",…" : "");
	}
	snprintf(what + strlen(what), sizeof(what) - strlen(what), "in %s, each %d",
		 within != NULL ? within : "T", filter.each);
	SUITE_OK(wcs_chain_resolve(s->table, chain, &resolved));
	ck_assert(!wcs_chain_moves(resolved));
	wcs_chain_free(chain);
	chain = resolved;
	filter.chain = chain;
	if (suite_random(state) % 3 == 0) {
		filter.families = &family;
		filter.family_count = 1;
	}
	if (suite_random(state) % 3 == 0)
		filter.ts_from = suite_random(state) % 4;
	check_text(model_text(&list, within, &filter), store_text(s->table, within, &filter), what);
	check_text(model_children(&list, within), store_children(s->table, within, chain), what);
	SUITE_OK(wcs_rows_count(s->table, within != NULL ? &key : NULL, chain, &counted));
	for (size_t i = 0; i < list.count; i++)
		cells += model_is_in(list.cells[i].row, within);
	if (counted.cells != cells)
		ck_abort_msg("%s: %zu cells, counted %zu", what, cells, (size_t)counted.cells);
	wcs_chain_free(chain);
}

SUITE_CONTRACT("contract-2, 9: a chain is read from left to right")
SUITE_STORES(test_random_chains, 300)
{
	uint64_t seed = suite_setting("SEED", 1),
		 chains = suite_setting("CHAINS", suite_rounds(1200, 3400));
	static struct listing all, stored;
	uint64_t state = seed;

	for (uint64_t i = 0; i < chains; i++) {
		bool raw = i % 4 == 3;

		if (i % 200 == 0) {
			SUITE_OK(wcs_rows_drop(s->table, NULL));
			suite_policy(s->table, "a", i % 400 == 0 ? "never" : "maxversions=2");
			random_fill(s, &state);
			list_all(s->table, false, &all);
			list_all(s->table, true, &stored);
		}
		check_chain(s, &state, raw, raw ? &stored : &all);
	}
}

/* ---- Samples ----------------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 5000, SAMPLE_BINS = 20 };
/* The chi-square distribution with 19 degrees of freedom exceeds it once in 1,000 times. */
#define SAMPLE_CHI_SQUARE 43.82

static void key_user(unsigned int i, char *key)
{
	sprintf(key, "user%03u", i);
}

static void key_padded(unsigned int i, char *key)
{
	sprintf(key, "%010u", i);
}

static void key_second(unsigned int i, char *key)
{
	sprintf(key, "STC#2026-11-28T%02u:%02u:%02uZ", i / 3600, i / 60 % 60, i % 60);
}

static void key_microseconds(unsigned int i, char *key)
{
	sprintf(key, "d#%llu", 1795381200000000ull + 250000ull * i);
}

static void key_reverse_time(unsigned int i, char *key)
{
	sprintf(key, "%llu", 9223372036854775807ull - 1795381200000ull - i);
}

static void key_words(unsigned int i, char *key)
{
	static const char *const words[] = {
		"north",  "south", "east",   "west",  "bus", "tram", "ferry", "harbour", "market",
		"church", "mill",  "bridge", "green", "old", "new",  "long",  "stone"};
	enum { WORDS = sizeof(words) / sizeof(words[0]) };

	sprintf(key, "%s-%s-%s", words[i / WORDS / WORDS % WORDS], words[i / WORDS % WORDS],
		words[i % WORDS]);
}

static void key_reverse_domain(unsigned int i, char *key)
{
	sprintf(key, "com.example.host%u#%u", i / 10, i % 10);
}

static const struct sampled {
	void (*key)(unsigned int i, char *key);
	unsigned int rows;
} sampled[] = {
	{key_user, 1000},
	{key_padded, SAMPLE_ROWS},
	{key_second, SAMPLE_ROWS},
	{key_microseconds, SAMPLE_ROWS},
	{key_reverse_time, SAMPLE_ROWS},
	{key_words, 17 * 17 * 17},
	{key_reverse_domain, SAMPLE_ROWS},
};

static uint64_t sample_rows(struct wcs_table *table, unsigned int bin)
{
	const struct wcs_step step = {.kind = WCS_STEP_SAMPLE,
				      .number = (uint64_t)WCS_SAMPLE_WHOLE / SAMPLE_BINS * bin};
	struct wcs_chain *chain = NULL;
	struct wcs_count count;

	SUITE_OK(wcs_chain_add(table, NULL, &step, &chain, NULL));
	SUITE_OK(wcs_rows_count(table, NULL, chain, &count));
	wcs_chain_free(chain);
	return count.rows;
}

enum { SAMPLED = sizeof(sampled) / sizeof(sampled[0]) };

SUITE_CONTRACT("contract-2, 9: .sample uses a hash whose bits all depend on all bytes of the key")
/* Samples are parts of larger ones, so their differences are bins, which have equal shares. */
SUITE_LOOP(test_samples_are_even, SAMPLED, 60)
{
	const struct sampled *keys = &sampled[_i];
	double expected = (double)keys->rows / SAMPLE_BINS, chi_square = 0;
	uint64_t before = 0;
	char key[64];
	struct suite suite, *s = &suite;

	suite_open(s, SUITE_MEMORY);
	for (unsigned int i = 0; i < keys->rows; i++) {
		keys->key(i, key);
		suite_set(s->table, key, "f", "q", 1, "1");
	}
	for (unsigned int bin = 1; bin <= SAMPLE_BINS; bin++) {
		uint64_t rows = sample_rows(s->table, bin);
		double more = (double)(rows - before) - expected;

		ck_assert_uint_ge(rows, before);
		chi_square += more * more / expected;
		before = rows;
	}
	ck_assert_uint_eq(before, keys->rows);
	if (chi_square > SAMPLE_CHI_SQUARE)
		ck_abort_msg("%s: chi-square %.1f", key, chi_square);
	suite_close(s);
}
