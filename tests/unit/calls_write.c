/* SPDX-License-Identifier: MIT */
/* Calls of the store that write cells: see calls.h. */
#include "tests/unit/calls.h"

static int apply(struct calls *calls, const char *row, struct wcs_mutation *mutation, int rc)
{
	if (rc == 0)
		rc = wcs_row_mutate(calls->suite.table, suite_text(row), mutation, NULL);
	wcs_mutation_free(mutation);
	return rc;
}

static int run_delete_row(struct calls *calls)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int rc = mutation ? wcs_mutation_delete_row(mutation) : -ENOMEM;

	return apply(calls, "r#s", mutation, rc);
}

static char big_value[CALLS_BIG];

static int run_set_big(struct calls *calls)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice big = {big_value, CALLS_BIG};
	int rc = -ENOMEM;

	if (mutation)
		rc = wcs_mutation_set_newest(mutation, "f", suite_text("big"), 1, big);
	return apply(calls, "r#s", mutation, rc);
}

static int run_append_big(struct calls *calls)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int rc = -ENOMEM;

	if (mutation)
		rc = wcs_mutation_append(mutation, "f", suite_text("big"), suite_text("!"), 1);
	return apply(calls, "r#s", mutation, rc);
}

/* Rows of one batch: -ENOMEM leaves those that are applied. The first alone is taken back. */
static int run_batch(struct calls *calls)
{
	struct wcs_entry entries[2] = {{.row = suite_text("r")}, {.row = suite_text("t#1")}};
	size_t applied = 0;
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		entries[i].mutation = wcs_mutation_new();
		rc = -ENOMEM;
		if (entries[i].mutation)
			rc = wcs_mutation_set(entries[i].mutation, "a", suite_text("q"), 9,
					      suite_text("b"));
	}
	if (rc == 0)
		rc = wcs_rows_mutate(calls->suite.table, entries, 2, &applied);
	for (int i = 0; i < 2; i++)
		wcs_mutation_free(entries[i].mutation);
	if (rc == -ENOMEM && applied == 1) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		wcs_mutation_delete_cell(mutation, "a", suite_text("q"), 9);
		SUITE_OK(suite_mutate(calls->suite.table, "r", mutation, NULL));
	}
	return rc;
}

static int move(struct calls *calls, const char *row, struct wcs_move move)
{
	return wcs_cells_move(calls->suite.table, suite_text(row), &move, NULL);
}

static int run_move_column(struct calls *calls)
{
	return move(calls, "r",
		    (struct wcs_move){.kind = WCS_MOVE_COLUMN,
				      .family = "a",
				      .from = suite_text("q"),
				      .to = suite_text("p")});
}

static int run_move_big(struct calls *calls)
{
	return move(calls, "r#s",
		    (struct wcs_move){.kind = WCS_MOVE_COLUMN_NEW,
				      .family = "f",
				      .from = suite_text("big"),
				      .to = suite_text("large")});
}

static int run_stamp(struct calls *calls)
{
	return move(calls, "r",
		    (struct wcs_move){.kind = WCS_MOVE_STAMP,
				      .family = "a",
				      .from = suite_text("q"),
				      .to_ts = 77});
}

static int run_move_cell(struct calls *calls)
{
	return move(calls, "r",
		    (struct wcs_move){.kind = WCS_MOVE_CELL,
				      .family = "a",
				      .from = suite_text("q"),
				      .from_ts = 1,
				      .to = suite_text("p"),
				      .to_ts = 8});
}

static int run_drop(struct calls *calls)
{
	struct wcs_slice key = suite_text("t");

	return wcs_rows_drop(calls->suite.table, &key);
}

static int run_gc(struct calls *calls)
{
	return wcs_gc_run(calls->suite.store);
}

static int run_sync(struct calls *calls)
{
	return wcs_store_sync(calls->suite.store);
}

/* ---- All of them ------------------------------------------------------------------------- */

const struct call calls_write[] = {
	{.name = "delete_row",
	 .run = run_delete_row,
	 .content = CALLS_R "t#1/a/q@1=v t#2/a/q@1=v ",
	 .least = 1},
	{.name = "set_big",
	 .run = run_set_big,
	 .content = CALLS_R "r#s/a/q@3=v r#s/f/big@1=<100000:f1a1b645> t#1/a/q@1=v t#2/a/q@1=v ",
	 .least = 2},
	{.name = "append_big",
	 .run = run_append_big,
	 .content = CALLS_R "r#s/a/q@3=v r#s/f/big@1=<100001:ec552163> t#1/a/q@1=v t#2/a/q@1=v ",
	 .least = 2},
	{.name = "batch",
	 .run = run_batch,
	 .content = "r/a/q@9=b " CALLS_R "r#s/a/q@3=v r#s/f/big@1=<100000:8bbd82d0> "
		    "t#1/a/q@9=b t#1/a/q@1=v t#2/a/q@1=v ",
	 .least = 4},
	{.name = "move_column",
	 .run = run_move_column,
	 .content = "r/a/p@2=new r/a/p@1=old r/b/x@5=y "
		    "r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\05 " CALLS_REST},
	{.name = "move_big",
	 .run = run_move_big,
	 .content = CALLS_R "r#s/a/q@3=v r#s/f/large@1=<100000:8bbd82d0> t#1/a/q@1=v t#2/a/q@1=v "},
	{.name = "stamp",
	 .run = run_stamp,
	 .content = "r/a/q@77=new r/a/q@1=old r/b/x@5=y "
		    "r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\05 " CALLS_REST},
	{.name = "move_cell",
	 .run = run_move_cell,
	 .content = "r/a/p@8=old r/a/q@2=new r/b/x@5=y "
		    "r/s/n@1=\\00\\00\\00\\00\\00\\00\\00\\05 " CALLS_REST},
	{.name = "drop",
	 .run = run_drop,
	 .content = CALLS_R "r#s/a/q@3=v r#s/f/big@1=<100000:8bbd82d0> ",
	 .least = 1},
	{.name = "drop, threads",
	 .run = run_drop,
	 .content = CALLS_R "r#s/a/q@3=v r#s/f/big@1=<100000:8bbd82d0> ",
	 .others = true},
	{.name = "gc", .run = run_gc},
	{.name = "gc, threads", .run = run_gc, .others = true, .least = 1},
	{.name = "sync", .run = run_sync},
	{.name = NULL},
};
