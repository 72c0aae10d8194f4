/* SPDX-License-Identifier: MIT */
/* Tables and families on both engines, also while others write. tests/e2e/test_directories.sh and
 * test_control.sh have names that are none, and delimiters. */
#include "tests/unit/suite.h"

#include <pthread.h>
#include <unistd.h>

static const struct wcs_slice q = {"q", 1};

/* ---- Tables ------------------------------------------------------------------------------ */

SUITE_CONTRACT("store.h, Tables: names, order and limits of tables")
SUITE_STORES(test_tables_in_order, 10)
{
	static const char *const names[] = {"t", "b", "B", "_", "a-", "a.", "aa", "a", "9"};
	static const char *const sorted[] = {"9", "B", "_", "a", "a-", "a.", "aa", "b", "t"};
	char name[WCS_TABLE_NAME_MAX + 1];

	for (size_t i = 1; i < 9; i++)
		SUITE_OK(wcs_table_create(s->store, names[i]));
	ck_assert_int_eq(wcs_table_create(s->store, "aa"), -EEXIST);
	for (size_t i = 0; i < 9; i++) {
		ck_assert_int_eq(wcs_table_next(s->store, i == 0 ? NULL : name, name), 0);
		ck_assert_str_eq(name, sorted[i]);
	}
	ck_assert_int_eq(wcs_table_next(s->store, name, name), -ENOENT);
	ck_assert_str_eq(name, "t");
	ck_assert_int_eq(wcs_table_next(s->store, "a+", name), 0);
	ck_assert_str_eq(name, "a-");
}

SUITE_STORES(test_table_limit, 60)
{
	char name[WCS_TABLE_NAME_MAX + 1];

	for (unsigned int i = 1; i < WCS_TABLES_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		SUITE_OK(wcs_table_create(s->store, name));
	}
	ck_assert_int_eq(wcs_table_create(s->store, "more"), -EMFILE);
	ck_assert_int_eq(wcs_table_create(s->store, "n7"), -EEXIST);
	SUITE_OK(wcs_table_remove(s->store, "n7"));
	SUITE_OK(wcs_table_create(s->store, "more"));
}

/* Every call with a handle whose table is gone. */
static void tables_expect_gone(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_entry entry = {.row = q, .mutation = mutation};
	struct wcs_move move = {.kind = WCS_MOVE_COLUMN, .family = "f", .from = q, .to = q};
	char name[WCS_FAMILY_NAME_MAX + 1];
	size_t applied = 99;
	struct wcs_cell_info info;
	struct wcs_family family;
	struct wcs_key_info key;
	struct wcs_value *value;
	struct wcs_fault fault;
	struct wcs_scan *scan;
	struct wcs_list *list;

	ck_assert_int_eq(wcs_cell_get(table, q, "f", q, 0, &info), -ENOENT);
	ck_assert_int_eq(wcs_value_open(table, q, "f", q, 0, &value), -ENOENT);
	ck_assert_int_eq(wcs_key_get(table, q, &key), -ENOENT);
	ck_assert_int_eq(wcs_scan_open(table, &suite_all, 1, &suite_cells, &scan), -ENOENT);
	ck_assert_int_eq(wcs_list_open(table, q, NULL, NULL, &list), -ENOENT);
	ck_assert_int_eq(wcs_row_mutate(table, q, mutation, NULL), -ENOENT);
	ck_assert_int_eq(wcs_rows_mutate(table, &entry, 1, &applied), -ENOENT);
	ck_assert_uint_eq(applied, 0);
	ck_assert_int_eq(wcs_cells_move(table, q, &move, NULL), -ENOENT);
	ck_assert_int_eq(wcs_rows_drop(table, NULL), -ENOENT);
	ck_assert_int_eq(wcs_table_set_delimiter(table, '!', NULL), -ENOENT);
	ck_assert_int_eq(wcs_family_create(table, "f"), -ENOENT);
	ck_assert_int_eq(wcs_family_remove(table, "f"), -ENOENT);
	ck_assert_int_eq(wcs_family_get(table, "f", &family), -ENOENT);
	ck_assert_int_eq(wcs_family_next(table, NULL, name), -ENOENT);
	ck_assert_int_eq(wcs_family_set_gc(table, "f", "never", &fault), -ENOENT);
	ck_assert_int_eq(wcs_family_set_type(table, "f", WCS_INTSUM), -ENOENT);
	ck_assert(!wcs_family_exists(table, suite_text("f")));
	ck_assert_str_eq(wcs_table_name(table), "u");
	wcs_mutation_free(mutation);
}

SUITE_CONTRACT("store.h, Tables: wcs_table_remove")
SUITE_STORES(test_table_remove, 10)
{
	struct wcs_table *first;
	struct wcs_table *second;
	struct wcs_table *again;

	ck_assert_int_eq(wcs_table_remove(s->store, "u"), -ENOENT);
	ck_assert_int_eq(wcs_table_open(s->store, "u", &first), -ENOENT);
	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_open(s->store, "u", &first));
	SUITE_OK(wcs_table_open(s->store, "u", &second));
	SUITE_OK(wcs_family_create(first, "f"));
	suite_set(first, "r", "f", "q", 1, "v");
	ck_assert_int_eq(wcs_table_remove(s->store, "u"), -ENOTEMPTY);
	suite_delete_row(first, "r");
	ck_assert_int_eq(wcs_table_remove(s->store, "u"), -ENOTEMPTY);
	SUITE_OK(wcs_family_remove(first, "f"));
	SUITE_OK(wcs_table_remove(s->store, "u"));
	ck_assert_int_eq(wcs_table_remove(s->store, "u"), -ENOENT);
	tables_expect_gone(first);
	/* a new table of that name is another */
	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_open(s->store, "u", &again));
	SUITE_OK(wcs_family_create(again, "f"));
	suite_set(again, "r", "f", "q", 2, "new");
	wcs_table_close(first);
	tables_expect_gone(second);
	wcs_table_close(second);
	suite_expect(again, "r/f/q@2=new ");
	wcs_table_close(again);
}

/* ---- Families ---------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Tables: families, their policies and types")
SUITE_STORES(test_families, 10)
{
	static const char *const sorted[] = {"-", "a", "b", "b.", "f"};
	struct wcs_fault fault = {.text = ""};
	char name[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_family family;

	ck_assert(!wcs_table_name_valid(NULL) && !wcs_family_name_valid(NULL));
	SUITE_OK(wcs_family_create(s->table, "b."));
	SUITE_OK(wcs_family_create(s->table, "-"));
	ck_assert_int_eq(wcs_family_create(s->table, "b"), -EEXIST);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_int_eq(wcs_family_next(s->table, i == 0 ? NULL : name, name), 0);
		ck_assert_str_eq(name, sorted[i]);
		ck_assert(wcs_family_exists(s->table, suite_text(name)));
	}
	ck_assert_int_eq(wcs_family_next(s->table, name, name), -ENOENT);
	ck_assert(!wcs_family_exists(s->table, suite_text("")));
	ck_assert(!wcs_family_exists(s->table, suite_text("b.c")));
	ck_assert(!wcs_family_exists(s->table, SUITE_BYTES("b\0")));
	ck_assert(wcs_family_exists(s->table, (struct wcs_slice){"b.c", 2}));
	SUITE_OK(wcs_family_get(s->table, "b", &family));
	ck_assert_str_eq(family.name, "b");
	ck_assert_int_eq(family.type, WCS_BYTES);
	ck_assert_str_eq(family.gc, "never");
	wcs_family_clear(&family);
	ck_assert_int_eq(wcs_family_get(s->table, "none", &family), -ENOENT);
	ck_assert_int_eq(wcs_family_remove(s->table, "none"), -ENOENT);
	ck_assert_int_eq(wcs_family_set_type(s->table, "none", WCS_INTSUM), -ENOENT);
	ck_assert_int_eq(wcs_family_set_type(s->table, "b", (enum wcs_type)99), -EINVAL);
	ck_assert_int_eq(wcs_family_set_gc(s->table, "none", "never", NULL), -ENOENT);
	ck_assert_int_eq(wcs_family_set_gc(s->table, "none", "never", &fault), -ENOENT);
	ck_assert_ptr_nonnull(strstr(fault.text, "none"));
	ck_assert_int_eq(wcs_family_set_gc(s->table, "b", "maxversions=", &fault), -EINVAL);
	ck_assert_int_gt(fault.column, 0);
	suite_set(s->table, "r", "b", "q", 1, "v");
	ck_assert_int_eq(wcs_family_remove(s->table, "b"), -ENOTEMPTY);
	SUITE_OK(wcs_family_remove(s->table, "b."));
	ck_assert(!wcs_family_exists(s->table, suite_text("b.")));
	suite_delete_row(s->table, "r");
	SUITE_OK(wcs_family_remove(s->table, "b"));
	ck_assert_int_eq(wcs_family_remove(s->table, "b"), -ENOENT);
	SUITE_OK(wcs_family_create(s->table, "b"));
	suite_expect(s->table, "");
}

SUITE_STORES(test_many_families, 20)
{
	char name[WCS_FAMILY_NAME_MAX + 1];

	for (unsigned int i = 3; i < WCS_FAMILIES_WARN; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		SUITE_OK(wcs_family_create(s->table, name));
	}
	ck_assert_int_eq(s->warnings, 0);
	SUITE_OK(wcs_family_create(s->table, "more"));
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_ptr_nonnull(strstr(s->log, "101"));
}

/* ---- While others write ------------------------------------------------------------------ */

struct tables_writer {
	struct wcs_table *table;
	bool stop;    /* atomic */
	long written; /* atomic */
};

/* Sets and deletes one cell of "b" again and again, with a rest now and then while it is empty. */
static void *tables_write(void *arg)
{
	struct tables_writer *writer = arg;

	for (int i = 0; !__atomic_load_n(&writer->stop, __ATOMIC_RELAXED); i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		int rc;

		if (i % 2 == 0)
			wcs_mutation_set(mutation, "b", q, 1, suite_text("v"));
		else
			wcs_mutation_delete_column(mutation, "b", q);
		rc = suite_mutate(writer->table, "row", mutation, NULL);
		if (rc == 0)
			__atomic_add_fetch(&writer->written, 1, __ATOMIC_RELAXED);
		else if (rc != -ENOENT)
			abort();
		if (i % 8 == 7)
			usleep(20);
	}
	return NULL;
}

SUITE_CONTRACT("store.h, Tables: a handle on a removed table gives -ENOENT; -EBUSY")
/* The family goes only while it is empty: no cell of it is left when it is gone. */
SUITE_STORES(test_remove_while_writing, 60)
{
	struct tables_writer writer = {.stop = false};
	pthread_t thread;
	int removed = 0;

	writer.table = s->table;
	SUITE_OK(pthread_create(&thread, NULL, tables_write, &writer));
	while (__atomic_load_n(&writer.written, __ATOMIC_RELAXED) == 0)
		usleep(100);
	while (removed < (int)suite_rounds(10, 100)) {
		int rc = wcs_family_remove(s->table, "b");

		ck_assert(rc == 0 || rc == -ENOTEMPTY || rc == -EBUSY);
		if (rc != 0)
			continue;
		removed++;
		suite_expect(s->table, "");
		SUITE_OK(wcs_family_create(s->table, "b"));
	}
	__atomic_store_n(&writer.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	suite_delete_row(s->table, "row");
	SUITE_OK(wcs_family_remove(s->table, "b"));
}

/* No cell that is written meanwhile keeps the table, or is left of it. */
SUITE_STORES(test_drop_while_writing, 30)
{
	struct tables_writer writer = {.stop = false};
	pthread_t thread;

	writer.table = s->table;
	SUITE_OK(pthread_create(&thread, NULL, tables_write, &writer));
	while (__atomic_load_n(&writer.written, __ATOMIC_RELAXED) == 0)
		usleep(100);
	SUITE_OK(wcs_table_drop(s->table));
	__atomic_store_n(&writer.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	suite_expect_schema(s->store, "");
}

struct tables_churn {
	struct wcs_store *store;
	const char *name;
};

static void *tables_make_and_remove(void *arg)
{
	struct tables_churn *churn = arg;

	for (int i = 0; i < 60; i++) {
		struct wcs_table *table;

		if (wcs_table_create(churn->store, churn->name) != 0 ||
		    wcs_table_open(churn->store, churn->name, &table) != 0 ||
		    wcs_family_create(table, "f") != 0)
			abort();
		suite_set(table, "r", "f", "q", i, "v");
		if (wcs_table_remove(churn->store, churn->name) != -ENOTEMPTY)
			abort();
		suite_delete_row(table, "r");
		if (wcs_family_remove(table, "f") != 0 ||
		    wcs_table_remove(churn->store, churn->name) != 0)
			abort();
		wcs_table_close(table);
	}
	return NULL;
}

SUITE_STORES(test_tables_come_and_go, 60)
{
	struct tables_churn churns[3] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		churns[i].store = s->store;
		pthread_create(&threads[i], NULL, tables_make_and_remove, &churns[i]);
	}
	for (int i = 0; i < 300; i++) {
		char name[WCS_TABLE_NAME_MAX + 1];
		struct wcs_schema *schema;

		ck_assert_int_eq(wcs_table_next(s->store, NULL, name), 0);
		while (wcs_table_next(s->store, name, name) == 0)
			;
		SUITE_OK(wcs_schema_get(s->store, &schema));
		ck_assert(schema->table_count >= 1 && schema->table_count <= 4);
		wcs_schema_free(schema);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	suite_expect_schema(s->store, "t#(a:bytes:never b:bytes:never f:bytes:never ) ");
}
