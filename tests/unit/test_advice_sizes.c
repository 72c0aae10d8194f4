/* SPDX-License-Identifier: MIT */
/* Rules of advice about sizes and families: a table that breaks each, and one that barely does not.
 */
#include "tests/unit/advice.h"

#define MIB (1u << 20)

/* ---- Sizes ------------------------------------------------------------------------------- */

static const struct size_case {
	const char *rule;
	uint64_t most;	    /* bytes of a row that does not break it */
	int cells;	    /* in which the bytes are */
	const char *silent; /* the rule that finds a row of `most`; NULL: none */
} size_cases[] = {
	{"row-10mib", 10 * MIB, 20, NULL},
	{"row-100mib", 100 * MIB, 100, "row-10mib"},
	{"row-256mib", 256 * MIB, 256, "row-100mib"},
	{"cell-1mib", MIB, 1, NULL},
	{"cell-10mib", 10 * MIB, 1, "cell-1mib"},
};

SUITE_LOOP(test_size_rules, sizeof(size_cases) / sizeof(*size_cases), 10)
{
	const struct size_case *c = &size_cases[_i];
	struct checked checked;

	for (int more = 0; more <= 1; more++) {
		checked_open(&checked, PLAIN, true);
		feed(&checked, "r", 1);
		feed_cells(&checked, "f", "q",
			   (c->most - (c->cells > 1 ? 3 : 0)) / (unsigned int)c->cells, c->cells);
		if (c->cells > 1) /* the first has 3 bytes, and the division left some */
			feed_cells(&checked, "f", "q", (c->most - 3) % (unsigned int)c->cells, 1);
		else if (more)
			feed_cells(&checked, "f", "q", c->most + 1, 1);
		if (more && c->cells > 1)
			feed_cells(&checked, "f", "q", 1, 1);
		checked_end(&checked);
		ck_assert_msg((strstr(checked.text, c->rule) != NULL) == more, "%s", checked.text);
		if (c->silent)
			ck_assert_msg((strstr(checked.text, c->silent) != NULL) == !more, "%s",
				      checked.text);
		checked_close(&checked);
	}
}

SUITE_TEST(test_many_columns, 10)
{
	for (int columns = 100000; columns <= 100001; columns++) {
		struct checked checked;
		char qualifier[16];

		checked_open(&checked, PLAIN, true);
		feed(&checked, "r", 1);
		for (int i = 1; i < columns; i++) {
			snprintf(qualifier, sizeof(qualifier), "%d", i);
			feed_cells(&checked, "f", qualifier, 1, 1);
		}
		checked_expect(&checked, "many-columns", columns == 100001);
	}
}

static const struct version_case {
	const char *table;
	int versions;
	bool found;
} version_cases[] = {
	{PLAIN, 1001, true},
	{PLAIN, 1000, false},
	{"{}", 1001, true},
	{"{\"families\":{\"f\":\"maxage=7d\"}}", 1001, false},
};

SUITE_LOOP(test_many_versions, sizeof(version_cases) / sizeof(*version_cases), 10)
{
	struct checked checked;

	checked_open(&checked, version_cases[_i].table, true);
	feed(&checked, "r", 1);
	feed_cells(&checked, "f", "q", 1, version_cases[_i].versions - 1);
	feed_cells(&checked, "f", "r", 1, 900);
	checked_expect(&checked, "many-versions", version_cases[_i].found);
}

/* A row and a column that go on in another line of text are the same. */
SUITE_TEST(test_a_row_in_two_lines, 10)
{
	struct checked checked;

	checked_open(&checked, PLAIN, true);
	for (int line = 0; line < 2; line++) {
		feed(&checked, "r", 1);
		feed_cells(&checked, "f", "q", 1, 500);
	}
	checked_end(&checked);
	ck_assert_ptr_nonnull(strstr(checked.text, "\"value\":1002,"));
	ck_assert_ptr_nonnull(strstr(checked.text, "\"rows\":1,"));
	checked_close(&checked);
}

/* ---- Families ---------------------------------------------------------------------------- */

SUITE_TEST(test_many_families, 10)
{
	for (int families = 100; families <= 101; families++) {
		struct checked checked;
		char name[16];

		checked_open(&checked, "{}", true);
		for (int i = 0; i < families; i++) {
			snprintf(name, sizeof(name), "f%d", i);
			feed_cells(&checked, name, "q", 1, 1);
		}
		checked_expect(&checked, "many-families", families == 101);
	}
}

SUITE_TEST(test_empty_families, 10)
{
	for (int filled = 0; filled <= 1; filled++) {
		struct checked checked;
		char key[16];

		checked_open(&checked, "{\"families\":{\"e\":\"never\",\"f\":\"never\"}}", true);
		for (int i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "r%d", i);
			feed(&checked, key, 1);
		}
		feed_cells(&checked, "e", "q", 0, filled);
		checked_expect(&checked, "empty-family", !filled);
	}
}

static const struct name_case {
	const char *family, *qualifier;
	uint64_t value;
	bool found;
} name_cases[] = {
	{"family", "a-qualifier", 16, true}, /* 17 bytes of names */
	{"family", "a-qualifier", 17, false},
	{"family", "qualifiers", 1, false},  /* 16: short for any value */
	{"family", "a-qualifier", 0, false}, /* a set */
};

SUITE_LOOP(test_long_names, sizeof(name_cases) / sizeof(*name_cases), 10)
{
	const struct name_case *c = &name_cases[_i];
	struct checked checked;

	checked_open(&checked, PLAIN, true);
	feed_cells(&checked, c->family, c->qualifier, c->value, 100);
	checked_expect(&checked, "long-names", c->found);
}

static const struct tables_case {
	int tables, rows;	 /* rows of each */
	unsigned char delimiter; /* of the first one; the others have "#" */
	bool found;
} tables_cases[] = {{11, 1, '#', true},
		    {10, 1, '#', false},
		    {11, 1, ':', false},
		    {11, 10000, '#', true},
		    {11, 10001, '#', false}};

SUITE_LOOP(test_small_tables, sizeof(tables_cases) / sizeof(*tables_cases), 20)
{
	const struct tables_case *c = &tables_cases[_i];
	struct wcs_table_schema table = {.name = "more", .delimiter = '#'};
	struct checked checked;
	char key[16];

	checked_open(&checked, c->delimiter == ':' ? "{\"delimiter\":\":\"}" : "{}", true);
	for (int i = 0; i < c->tables; i++) {
		if (i > 0) {
			wcs_advice_table_end(checked.advice);
			SUITE_OK(wcs_advice_table(checked.advice, &table));
		}
		for (int row = 0; row < c->rows; row++) {
			snprintf(key, sizeof(key), "r%d", row);
			feed(&checked, key, WCS_TS_SERVER);
		}
	}
	checked_expect(&checked, "small-tables", c->found);
}
