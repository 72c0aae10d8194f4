/* SPDX-License-Identifier: MIT */
/*
 * Moves of cells on both engines: each kind by examples in a table, each error, and the limits of
 * the names and timestamps.
 */
#include "tests/unit/move.h"

/* ---- By example -------------------------------------------------------------------------- */

#define LAST "9223372036854775807"

/* One move and its result. A step that fails must change nothing. */
struct step {
	enum wcs_move_kind kind;
	const char *from;
	const char *to;
	int64_t from_ts;
	int64_t to_ts;
	int64_t clock; /* the clock stands there from this step on; 0: where it was */
	int error;
	int64_t made;	   /* the timestamp that the move returns */
	bool same;	   /* the cell keeps its etag: it was not written */
	const char *cells; /* the content afterwards; NULL: not compared */
};

struct example {
	const char *cells; /* column@ts=value, each followed by a space */
	struct step steps[12];
};

#define COLUMN(from_, to_)     .kind = WCS_MOVE_COLUMN, .from = (from_), .to = (to_)
#define COLUMN_NEW(from_, to_) .kind = WCS_MOVE_COLUMN_NEW, .from = (from_), .to = (to_)
#define NEWEST(from_, ts_, to_)                                                                    \
	.kind = WCS_MOVE_CELL_NEWEST, .from = (from_), .from_ts = (ts_), .to = (to_)
#define CELL(from_, ts_, to_, to_ts_)                                                              \
	.kind = WCS_MOVE_CELL, .from = (from_), .from_ts = (ts_), .to = (to_), .to_ts = (to_ts_)
#define STAMP(column_, to_ts_) .kind = WCS_MOVE_STAMP, .from = (column_), .to_ts = (to_ts_)

/* The clock stands at 1,000,000. */
static const struct example examples[] = {
	/* a column with its history, to a name that is free */
	{"p@5=five p@3000000=late p@0= ",
	 {{COLUMN("p", "q"), .made = 3000000, .cells = "q@3000000=late q@5=five q@0= "},
	  {COLUMN_NEW("q", "o"), .made = 3000000, .cells = "o@3000000=late o@5=five o@0= "}}},
	/* onto an older one: its newest value, and the rest of its history goes */
	{"p@8=new p@6=gone p@1=gone q@7=seven q@6=six ",
	 {{COLUMN("p", "q"), .made = 8, .cells = "q@8=new q@7=seven q@6=six "}}},
	/* onto a newer one: the present */
	{"p@6=new p@5=gone q@7=seven ",
	 {{COLUMN("p", "q"), .made = 1000000, .cells = "q@1000000=new q@7=seven "}}},
	/* or just behind the newest, where that is not earlier, or the clock went back */
	{"p@1000000=equal q@1000000=q ",
	 {{COLUMN("p", "q"), .made = 1000001, .cells = "q@1000001=equal q@1000000=q "}}},
	{"p@8=back q@1000001=q ",
	 {{COLUMN("p", "q"), .clock = 500, .made = 1000002,
	   .cells = "q@1000002=back q@1000001=q "}}},
	{"p@1000002=on q@1000002=q ",
	 {{COLUMN("p", "q"), .clock = 2000000, .made = 2000000,
	   .cells = "q@2000000=on q@1000002=q "}}},
	/* a clock before 1970 counts as 1970 */
	{"p@0=p q@0=q ", {{COLUMN("p", "q"), .clock = -5, .made = 1, .cells = "q@1=p q@0=q "}}},
	/* onto itself */
	{"q@7=seven q@6=six ",
	 {{COLUMN("q", "q"), .made = 7, .same = true, .cells = "q@7=seven q@6=six "},
	  {COLUMN_NEW("q", "q"), .error = -EEXIST},
	  {COLUMN("p", "p"), .error = -ENOENT},
	  {COLUMN_NEW("p", "p"), .error = -ENOENT}}},
	/* to a new name only */
	{"p@9=p q@7=q ",
	 {{COLUMN_NEW("p", "q"), .error = -EEXIST},
	  {COLUMN_NEW("q", "p"), .error = -EEXIST},
	  {COLUMN_NEW("none", "q"), .error = -ENOENT},
	  {COLUMN_NEW("p", "pq"), .made = 9, .cells = "pq@9=p q@7=q "}}},
	/* one cell becomes the newest of another column, at last the only one of its own */
	{"p@9=nine p@5=five p@3=three p@1=one ",
	 {{NEWEST("p", 3, "q"), .made = 3, .cells = "p@9=nine p@5=five p@1=one q@3=three "},
	  {NEWEST("p", 5, "q"), .made = 5, .cells = "p@9=nine p@1=one q@5=five q@3=three "},
	  {NEWEST("p", 1, "q"), .made = 1000000,
	   .cells = "p@9=nine q@1000000=one q@5=five q@3=three "},
	  {NEWEST("p", 9, "q"), .made = 1000001,
	   .cells = "q@1000001=nine q@1000000=one q@5=five q@3=three "}}},
	{"p@1000001=equal q@1000001=nine ",
	 {{NEWEST("p", 1000001, "q"), .made = 1000002,
	   .cells = "q@1000002=equal q@1000001=nine "}}},
	/* one cell to a place of another column */
	{"p@9=nine p@5=five q@7=seven ",
	 {{CELL("p", 5, "q", 3), .made = 3, .cells = "p@9=nine q@7=seven q@3=five "},
	  {CELL("q", 7, "p", 9), .made = 9, .cells = "p@9=seven q@3=five "},
	  {CELL("q", 3, "new", INT64_MAX), .made = INT64_MAX,
	   .cells = "new@" LAST "=five p@9=seven "},
	  {CELL("p", 9, "new", 0), .made = 0, .cells = "new@" LAST "=five new@0=seven "}}},
	/* within its column */
	{"q@9=nine q@5=five q@3=three ",
	 {{CELL("q", 3, "q", 12), .made = 12, .cells = "q@12=three q@9=nine q@5=five "},
	  {CELL("q", 12, "q", 5), .made = 5, .cells = "q@9=nine q@5=three "},
	  {CELL("q", 5, "q", 5), .made = 5, .same = true, .cells = "q@9=nine q@5=three "},
	  {CELL("q", 6, "q", 6), .error = -ENOENT}}},
	/* stamps: later than the next older cell */
	{"q@9=nine q@5=five qq@7=other ",
	 {{STAMP("q", 5000000), .made = 5000000},
	  {STAMP("q", 6), .made = 6, .cells = "q@6=nine q@5=five qq@7=other "},
	  {STAMP("q", 5), .error = -EINVAL},
	  {STAMP("q", 4), .error = -EINVAL},
	  {STAMP("q", 6), .made = 6, .same = true},
	  {STAMP("q", INT64_MAX), .made = INT64_MAX},
	  {STAMP("qq", 0), .made = 0, .cells = "q@" LAST "=nine q@5=five qq@0=other "}}},
	/* the last timestamps of all */
	{"o@4=o p@4=p q@9223372036854775805=q ",
	 {{COLUMN("p", "q"), .made = INT64_MAX - 1}, {NEWEST("o", 4, "q"), .made = INT64_MAX}}},
	{"o@" LAST "=o p@4=p q@" LAST "=q ",
	 {{COLUMN("p", "q"), .error = -EOVERFLOW},
	  {NEWEST("p", 4, "q"), .error = -EOVERFLOW},
	  {COLUMN("o", "q"), .error = -EOVERFLOW},
	  {NEWEST("o", INT64_MAX, "q"), .error = -EOVERFLOW},
	  /* a missing cell is reported first, and the other kinds ask for no server's timestamp */
	  {COLUMN("none", "q"), .error = -ENOENT},
	  {NEWEST("p", 5, "q"), .error = -ENOENT},
	  {COLUMN_NEW("p", "q"), .error = -EEXIST},
	  {COLUMN("q", "q"), .made = INT64_MAX, .same = true},
	  {CELL("p", 4, "q", INT64_MAX), .made = INT64_MAX, .cells = "o@" LAST "=o q@" LAST "=p "},
	  {COLUMN("o", "p"), .made = INT64_MAX, .cells = "p@" LAST "=o q@" LAST "=p "}}},
	/* a column of the last timestamp needs no other */
	{"p@" LAST "=p q@9223372036854775806=q ",
	 {{COLUMN("p", "q"), .made = INT64_MAX, .cells = "q@" LAST "=p q@9223372036854775806=q "}}},
	/* missing cells: in a row that does not exist, and between columns that do */
	{"",
	 {{COLUMN("p", "q"), .error = -ENOENT},
	  {COLUMN_NEW("p", "z"), .error = -ENOENT},
	  {NEWEST("p", 5, "q"), .error = -ENOENT},
	  {CELL("p", 5, "q", 5), .error = -ENOENT},
	  {CELL("p", 5, "q", 6), .error = -ENOENT},
	  {STAMP("p", 5), .error = -ENOENT}}},
	{"o@5=o pp@5=pp q@5=q ",
	 {{COLUMN("p", "q"), .error = -ENOENT},
	  {COLUMN_NEW("p", "z"), .error = -ENOENT},
	  {NEWEST("p", 5, "q"), .error = -ENOENT},
	  {CELL("p", 5, "q", 5), .error = -ENOENT},
	  {CELL("p", 5, "q", 6), .error = -ENOENT},
	  {STAMP("p", 5), .error = -ENOENT},
	  {NEWEST("q", 4, "p"), .error = -ENOENT},
	  {NEWEST("q", 6, "p"), .error = -ENOENT},
	  {CELL("q", 4, "o", 5), .error = -ENOENT}}},
};

/* The cells of family f as an example writes them. The caller frees them. */
static char *cells_of(struct suite *s)
{
	static const char *const families[] = {"f"};
	static const char start[] = "r/f/";
	struct wcs_filter filter = {.each = WCS_EACH_CELL, .families = families, .family_count = 1};
	char *text = suite_scan(s->table, &suite_all, 1, &filter);
	char *at;

	while ((at = strstr(text, start)) != NULL)
		memmove(at, at + strlen(start), strlen(at + strlen(start)) + 1);
	return text;
}

static void set_cells(struct suite *s, const char *cells)
{
	char column[16], value[16];
	long long ts;
	int used;

	for (; *cells != '\0'; cells += used) {
		value[0] = '\0';
		ck_assert_int_ge(sscanf(cells, "%15[^@]@%lld=%n%15[^ ]", column, &ts, &used, value),
				 2);
		used += (int)strlen(value) + 1;
		move_set(s, column, ts, value);
	}
}

static void take_step(struct suite *s, const struct step *step, size_t example, size_t number)
{
	struct wcs_move move = {.kind = step->kind,
				.from = suite_text(step->from),
				.from_ts = step->from_ts,
				.to = suite_text(step->to != NULL ? step->to : ""),
				.to_ts = step->to_ts};
	char *before = cells_of(s), *after;
	uint32_t etag = step->same ? move_etag(s, step->from, step->made) : 0;
	int64_t made = 77;
	int error;

	if (step->clock != 0)
		s->clock = step->clock;
	error = move_try(s, &move, &made);
	after = cells_of(s);
	ck_assert_msg(error == step->error && made == (error == 0 ? step->made : 77),
		      "example %zu, step %zu: %d, %lld", example, number, error, (long long)made);
	if (error != 0)
		ck_assert_str_eq(after, before);
	if (step->cells != NULL)
		ck_assert_str_eq(after, step->cells);
	if (step->same)
		ck_assert_uint_eq(move_etag(s, step->from, step->made), etag);
	free(before);
	free(after);
}

SUITE_CONTRACT("store.h, Writing: enum wcs_move_kind")
SUITE_STORES(test_by_example, 60)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct step *steps = examples[i].steps;

		s->clock = 1000000;
		set_cells(s, examples[i].cells);
		suite_set(s->table, "r", "a", "p", 5, "another");
		for (size_t k = 0; k < 12 && steps[k].from != NULL; k++)
			take_step(s, &steps[k], i, k);
		suite_expect_value(s->table, "r", "a", "p", 5, "another");
		suite_delete_row(s->table, "r");
	}
}

SUITE_STORES(test_column_leaves_its_neighbours, 30)
{
	suite_set(s->table, "r", "a", "q", 5, "family");
	suite_set(s->table, "q", "f", "q", 5, "row");
	suite_set(s->table, "r#", "f", "q", 5, "row");
	move_set(s, "", 5, "before");
	move_set(s, "q", 5, "v");
	move_set(s, "q\x01", 5, "behind");
	move_set(s, "qq", 5, "behind");
	ck_assert_int_eq(move_do(s, move_column("q", "z")), 5);
	suite_expect(s->table, "q/f/q@5=row r/a/q@5=family r/f/@5=before r/f/q\\01@5=behind "
			       "r/f/qq@5=behind r/f/z@5=v r#/f/q@5=row ");
}

SUITE_STORES(test_stamp_does_not_look_at_to, 30)
{
	struct wcs_move move = move_stamp("q", 8);

	move_set(s, "q", 9, "nine");
	move_set(s, "p", 8, "eight");
	move.from_ts = -5;
	move.to = suite_text("p");
	ck_assert_int_eq(move_do(s, move), 8);
	move.to = (struct wcs_slice){NULL, WCS_QUALIFIER_MAX + 1};
	move.to_ts = 7;
	ck_assert_int_eq(move_do(s, move), 7);
	suite_expect(s->table, "r/f/p@8=eight r/f/q@7=nine ");
}

/* ---- Missing cells, and invalid arguments ------------------------------------------------ */

SUITE_CONTRACT("store.h, Writing: wcs_cells_move, its errors")
SUITE_STORES(test_missing_family, 30)
{
	struct wcs_move moves[] = {move_column("q", "p"),     move_column("q", "q"),
				   move_column_new("q", "p"), move_newest("q", 5, "p"),
				   move_cell("q", 5, "p", 5), move_stamp("q", 6)};

	move_set(s, "q", 5, "q");
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		moves[i].family = "none";
		move_fails(s, moves[i], -ENOENT);
		moves[i].family = "";
		move_fails(s, moves[i], -ENOENT);
	}
}

SUITE_STORES(test_arguments, 30)
{
	struct wcs_slice no_bytes = {NULL, 1};
	struct wcs_move move;

	move_set(s, "q", 5, "q");
	move = move_column("q", "p");
	move.kind = (enum wcs_move_kind)(WCS_MOVE_STAMP + 1);
	move_fails(s, move, -EINVAL);
	move.kind = (enum wcs_move_kind)(-1);
	move_fails(s, move, -EINVAL);
	move_fails(s, move_newest("q", 5, "q"), -EINVAL);
	move_fails(s, move_newest("none", 5, "none"), -EINVAL);
	move_fails(s, move_newest("q", -1, "p"), -EINVAL);
	move_fails(s, move_cell("q", -1, "p", 5), -EINVAL);
	move_fails(s, move_cell("q", 5, "p", -1), -EINVAL);
	move_fails(s, move_cell("q", 5, "q", INT64_MIN), -EINVAL);
	move_fails(s, move_stamp("q", -1), -EINVAL);
	move = move_column("q", "p");
	move.to = no_bytes;
	move_fails(s, move, -EINVAL);
	move.to = move.from;
	move.from = no_bytes;
	move_fails(s, move, -EINVAL);
}

SUITE_STORES(test_row_keys, 30)
{
	char *bytes = suite_pattern(WCS_ROW_KEY_MAX + 1, 1);
	struct wcs_slice rows[] = {{bytes, 0}, {bytes, WCS_ROW_KEY_MAX + 1}, {NULL, 1}};
	static const int errors[] = {-EINVAL, -ENAMETOOLONG, -EINVAL};
	struct wcs_move move = move_column("q", "p");

	move.family = "f";
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(wcs_cells_move(s->table, rows[i], &move, NULL), errors[i]);
	free(bytes);
}

/* The longest row key and qualifiers, all NUL bytes, which are the longest when stored. */
SUITE_STORES(test_longest_keys, 30)
{
	char *bytes = calloc(1, WCS_QUALIFIER_MAX + 1);
	struct wcs_slice row = {bytes, suite_row_max(s)};
	struct wcs_slice longest = {bytes, WCS_QUALIFIER_MAX};
	struct wcs_slice shorter = {bytes, WCS_QUALIFIER_MAX - 1};
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = shorter, .to = longest};
	struct wcs_cell_info info;
	int64_t ts;

	wcs_mutation_set(mutation, "f", shorter, 5, suite_text("v"));
	SUITE_OK(wcs_row_mutate(s->table, row, mutation, NULL));
	wcs_mutation_free(mutation);
	SUITE_OK(wcs_cells_move(s->table, row, &move, &ts));
	ck_assert_int_eq(ts, 5);
	ck_assert_int_eq(wcs_cell_get(s->table, row, "f", shorter, 5, &info), -ENOENT);
	SUITE_OK(wcs_cell_get(s->table, row, "f", longest, 5, &info));
	move.to.len++;
	ck_assert_int_eq(wcs_cells_move(s->table, row, &move, &ts), -ENAMETOOLONG);
	move.from = move.to;
	move.to = longest;
	ck_assert_int_eq(wcs_cells_move(s->table, row, &move, &ts), -ENAMETOOLONG);
	free(bytes);
}

/* Its memory is bounded: a longer history gets no new name, and nothing has changed then. */
SUITE_LEVELDB_STORE(test_too_long_history, 60)
{
	enum { LONG = 4000, PARTS = 7 };
	const int64_t most = WCS_MOVE_BYTES_MAX / (LONG + 1), part = most / PARTS;
	char *bytes = suite_pattern(LONG, 1);
	struct wcs_slice row = {bytes, LONG};
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = {"q", 1}, .to = {"p", 1}};
	struct wcs_cell_info info;
	int64_t ts = 0;

	for (int i = 0; i <= PARTS; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		for (int64_t end = ts + part; ts < end; ts++)
			wcs_mutation_set(mutation, "f", move.from, ts, (struct wcs_slice){NULL, 0});
		SUITE_OK(wcs_row_mutate(s->table, row, mutation, NULL));
		wcs_mutation_free(mutation);
	}
	ck_assert_int_eq(wcs_cells_move(s->table, row, &move, NULL), -EFBIG);
	SUITE_OK(wcs_cell_get(s->table, row, "f", move.from, 0, &info));
	ck_assert_int_eq(wcs_cell_get(s->table, row, "f", move.to, 0, &info), -ENOENT);
	while (ts > PARTS * part) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		wcs_mutation_delete_cell(mutation, "f", move.from, --ts);
		SUITE_OK(wcs_row_mutate(s->table, row, mutation, NULL));
		wcs_mutation_free(mutation);
	}
	SUITE_OK(wcs_cells_move(s->table, row, &move, &ts));
	ck_assert_int_eq(ts, PARTS * part - 1);
	SUITE_OK(wcs_cell_get(s->table, row, "f", move.to, 0, &info));
	ck_assert_int_eq(wcs_cell_get(s->table, row, "f", move.from, 0, &info), -ENOENT);
	free(bytes);
}

SUITE_STORES(test_any_qualifier, 30)
{
	static const struct wcs_slice names[] = {{NULL, 0}, {"\0", 1},	 {"\0\0", 2}, {"\0\1", 2},
						 {"\1", 1}, {"\xff", 1}, {"a\0b", 3}};
	static const char *const shown[] = {
		"r/f/@5=v ",	 "r/f/\\00@5=v ", "r/f/\\00\\00@5=v ", "r/f/\\00\\01@5=v ",
		"r/f/\\01@5=v ", "r/f/\\FF@5=v ", "r/f/a\\00b@5=v "};
	size_t count = sizeof(names) / sizeof(names[0]);

	move_set(s, "", 5, "v");
	for (size_t i = 0; i < count; i++) {
		struct wcs_move move = {.kind = WCS_MOVE_COLUMN_NEW, .from = names[i]};

		move.to = names[(i + 1) % count];
		suite_expect(s->table, shown[i]);
		ck_assert_int_eq(move_do(s, move), 5);
	}
	suite_expect(s->table, shown[0]);
}
