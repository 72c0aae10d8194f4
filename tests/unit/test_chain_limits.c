/* SPDX-License-Identifier: MIT */
/* Chains at their limits: wrong views, crossed bounds, expressions, large values. */
#include "store/chain/chain.h"
#include "tests/unit/exported.h"
#include "tests/unit/suite.h"

/* Adds a view to *chain, which may be NULL. */
static int chain_add(struct suite *s, struct wcs_chain **chain, const struct wcs_step *step,
		     struct wcs_fault *fault)
{
	struct wcs_chain *longer = NULL;
	int rc = wcs_chain_add(s->table, *chain, step, &longer, fault);

	if (rc != 0)
		return rc;
	wcs_chain_free(*chain);
	*chain = longer;
	return 0;
}

static struct wcs_chain *chain_of(struct suite *s, const struct wcs_step *step)
{
	struct wcs_chain *chain = NULL;

	SUITE_OK(chain_add(s, &chain, step, NULL));
	return chain;
}

/* The keys that the chain of one view shows, each with a newline. */
static void expect_keys(struct suite *s, const struct wcs_step *step, const char *expected)
{
	struct wcs_chain *chain = chain_of(s, step);
	struct wcs_export *exported;
	char *text;
	size_t len;

	SUITE_OK(wcs_export_open(s->table, NULL, WCS_EXPORT_KEYS, chain, &exported));
	text = exported_drain(exported, 100, &len);
	ck_assert_str_eq(text, expected);
	free(text);
	wcs_chain_free(chain);
}

SUITE_STORES(test_bad_views, 10)
{
	const struct wcs_column none = {suite_text("none"), {NULL, 0}};
	struct wcs_step step = {.kind = WCS_STEP_HAS, .columns = &none, .column_count = 1};
	struct wcs_chain *chain = NULL;
	struct wcs_fault fault = {0};
	char key[WCS_ROW_KEY_MAX + 1];

	ck_assert_int_eq(chain_add(s, &chain, &step, &fault), -EINVAL);
	ck_assert_str_eq(fault.text, "there is no family none");
	step = (struct wcs_step){.kind = WCS_STEP_KEY, .bytes = suite_text("ab(c")};
	ck_assert_int_eq(chain_add(s, &chain, &step, &fault), -EINVAL);
	ck_assert_int_eq(fault.column, 5);
	ck_assert_str_eq(fault.text, "missing closing parenthesis");
	step.bytes = suite_text("(*UTF)a");
	ck_assert_int_eq(chain_add(s, &chain, &step, &fault), -EINVAL);
	step = (struct wcs_step){.kind = WCS_STEP_FROM, .bytes = {key, sizeof(key)}};
	ck_assert_int_eq(chain_add(s, &chain, &step, &fault), -ENAMETOOLONG);
	step = (struct wcs_step){.kind = WCS_STEP_REVERSE};
	for (int i = 0; i < 32; i++)
		SUITE_OK(chain_add(s, &chain, &step, NULL));
	ck_assert_int_eq(chain_add(s, &chain, &step, &fault), -ELOOP);
	wcs_chain_free(chain);
}

SUITE_STORES(test_chain_crossed, 10)
{
	struct wcs_step from = {.kind = WCS_STEP_FROM, .bytes = suite_text("b")};
	struct wcs_step to = {.kind = WCS_STEP_TO, .bytes = suite_text("b")};
	struct wcs_chain *chain = chain_of(s, &to);

	suite_set(s->table, "b", "f", "q", 1, "v");
	SUITE_OK(chain_add(s, &chain, &from, NULL));
	ck_assert(!wcs_chain_crossed(chain));
	from.bytes = suite_text("c");
	SUITE_OK(chain_add(s, &chain, &from, NULL));
	ck_assert(wcs_chain_crossed(chain));
	wcs_chain_free(chain);
	expect_keys(s, &(struct wcs_step){.kind = WCS_STEP_TO, .bytes = suite_text("")}, "");
	expect_keys(s, &(struct wcs_step){.kind = WCS_STEP_FROM, .bytes = suite_text("")}, "b\n");
}

/* A literal beginning bounds the rows only as far as every match has it. */
SUITE_STORES(test_literal_beginnings, 10)
{
	static const char *const optional[] = {"abc?",	  "abc*",	"abc{0}", "abc(?#x)*",
					       "abc\\E*", "abc\\Q\\E?", "abc|ab", "ab(c|)"};
	struct wcs_step step = {.kind = WCS_STEP_KEY};

	suite_set(s->table, "ab", "f", "q", 1, "v");
	suite_set(s->table, "abc", "f", "q", 1, "v");
	suite_set(s->table, "b", "f", "q", 1, "v");
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
		step.bytes = suite_text(optional[i]);
		if (strchr(optional[i], '0') != NULL)
			expect_keys(s, &step, "ab\n");
		else
			expect_keys(s, &step, "ab\nabc\n");
	}
	step.bytes = suite_text("abc+");
	expect_keys(s, &step, "abc\n");
	step.bytes = suite_text("\\x62");
	expect_keys(s, &step, "b\n");
	step = (struct wcs_step){.kind = WCS_STEP_AT, .ago = true, .time = 2000000};
	expect_keys(s, &step, "");
	step.time = 999999;
	expect_keys(s, &step, "ab\nabc\nb\n");
}

/* An expression that takes 2^n steps ends the scan; others are as before. */
SUITE_STORES(test_slow_expression, 60)
{
	const struct wcs_step slow = {.kind = WCS_STEP_VALUE, .bytes = suite_text("(a+)+$")};
	struct wcs_chain *chain = chain_of(s, &slow);
	struct wcs_filter filter = {.chain = chain};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	suite_set(s->table, "a", "f", "q", 1, "aaaa");
	suite_set(s->table, "b", "f", "q", 1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), -E2BIG);
	wcs_scan_close(scan);
	wcs_chain_free(chain);
}

/* Values beyond a record, and numbers of aggregates. */
SUITE_STORES(test_large_values_in_views, 60)
{
	const struct wcs_column q = {suite_text("f"), suite_text("q")};
	const struct wcs_column n = {suite_text("sum"), suite_text("n")};
	struct wcs_step step = {.kind = WCS_STEP_VALUE, .bytes = suite_text("x{300000}y")};
	const char *types = "{\"version\":1,\"tables\":{\"t\":{\"families\":"
			    "{\"sum\":{\"type\":\"intsum\"}}}}}";
	struct wcs_schema *schema;
	size_t len = 2000001;
	char *large = malloc(len + 1);

	ck_assert_ptr_nonnull(large);
	memset(large, 'x', len);
	large[len] = '\0';
	large[len - 1] = 'y';
	suite_set(s->table, "large", "f", "q", 1, large);
	suite_set(s->table, "small", "f", "q", 1, "x y\n");
	SUITE_OK(wcs_schema_parse(types, strlen(types), &schema, NULL));
	SUITE_OK(wcs_schema_apply(s->store, schema, NULL));
	wcs_schema_free(schema);
	SUITE_OK(suite_load(s->table,
			    "{\"key\":\"sum\",\"families\":{\"sum\":{\"n\":[{\"value\":-5}]}}}",
			    NULL));
	step.bytes = suite_text("(x{50000}){40}y");
	expect_keys(s, &step, "large\n");
	step.bytes = suite_text("x.y");
	expect_keys(s, &step, "small\n");
	step.bytes = suite_text(".*z");
	expect_keys(s, &step, "");
	step.bytes = suite_text("(x|y)*");
	expect_keys(s, &step, "large\n");
	step.bytes = suite_text("-\\d");
	expect_keys(s, &step, "sum\n");
	step = (struct wcs_step){.kind = WCS_STEP_WHERE, .columns = &n, .column_count = 1};
	step.bytes = suite_text("-5");
	expect_keys(s, &step, "sum\n");
	step.columns = &q;
	step.bytes = suite_text("x y");
	expect_keys(s, &step, "small\n");
	free(large);
}
