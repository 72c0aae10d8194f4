/* SPDX-License-Identifier: MIT */
/* Rows of aggregate families as JSON: an import and an export give the same rows, and again from
 * another store; merges, comparisons and refusals. */
#include "tests/unit/exported.h"

#include "store/policy/hll.h"

/* The states of no element, and of "a". */
#define STATE_NONE "AQA="
#define STATE_A	   "AQBBUVSB"

static void add_types(struct suite *s)
{
	static const enum wcs_type types[] = {WCS_INTSUM, WCS_INTHLL, WCS_INTMAX, WCS_INTMIN};
	static const char *const families[] = {"a", "b", "f", "min"};

	SUITE_OK(wcs_family_create(s->table, "min"));
	SUITE_OK(wcs_family_create(s->table, "text"));
	for (int i = 0; i < 4; i++)
		SUITE_OK(wcs_family_set_type(s->table, families[i], types[i]));
}

static void applied(struct suite *s, const char *line)
{
	struct wcs_fault fault = {.text = ""};

	ck_assert_msg(suite_load(s->table, line, &fault) == 0, "%s: %s", line, fault.text);
}

static char *rows(struct suite *s)
{
	size_t len;

	return exported_text(s->table, NULL, WCS_EXPORT_ROWS, 1 << 20, &len);
}

static void expect(struct suite *s, const char *expected)
{
	exported_expect(s->table, NULL, WCS_EXPORT_ROWS, expected);
}

#define ROW(families) "{\"key\":\"r\",\"families\":{" families "}}\n"

SUITE_STORES(test_numbers, 30)
{
	add_types(s);
	applied(s, ROW("\"a\":{\"q\":[{\"ts\":3,\"value\":\"-9223372036854775808\"},"
		       "{\"ts\":2,\"value\":7},{\"ts\":1,\"value\":\"9007199254740993\"}]},"
		       "\"f\":{\"q\":5,\"r\":[6,\"-7\"]}"));
	expect(s, ROW("\"a\":{\"q\":[{\"ts\":3,\"value\":\"-9223372036854775808\"},"
		      "{\"ts\":2,\"value\":7},{\"ts\":1,\"value\":\"9007199254740993\"}]},"
		      "\"f\":{\"q\":[{\"ts\":1000000,\"value\":5}],"
		      "\"r\":[{\"ts\":1000001,\"value\":-7},{\"ts\":1000000,\"value\":6}]}"));
}

SUITE_STORES(test_states, 30)
{
	add_types(s);
	applied(s, ROW("\"b\":{\"q\":[{\"ts\":2,\"value\":99,\"state\":\"" STATE_A "\"},"
		       "{\"ts\":1,\"state\":\"" STATE_NONE "\"}]}"));
	expect(s, ROW("\"b\":{\"q\":[{\"ts\":2,\"value\":1,\"state\":\"" STATE_A "\"},"
		      "{\"ts\":1,\"value\":0,\"state\":\"" STATE_NONE "\"}]}"));
	/* merged into the cell of that timestamp; without one a cell of its own */
	applied(s, ROW("\"b\":{\"q\":[{\"ts\":2,\"state\":\"" STATE_NONE "\"},"
		       "{\"ts\":1,\"state\":\"" STATE_A "\"},{\"state\":\"" STATE_NONE "\"}]}"));
	expect(s, ROW("\"b\":{\"q\":[{\"ts\":1000000,\"value\":0,\"state\":\"" STATE_NONE "\"},"
		      "{\"ts\":2,\"value\":1,\"state\":\"" STATE_A "\"},"
		      "{\"ts\":1,\"value\":1,\"state\":\"" STATE_A "\"}]}"));
}

static void merge_elements(struct suite *s, const char *qualifier, int count)
{
	static unsigned char states[2][WCS_AGGREGATE_VALUE_MAX];
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice state = {memcpy(states[0], "\1", 2), 2};

	for (int i = 0; i < count; i++) {
		unsigned char element[WCS_HLL_ELEMENT], *to = states[state.data == states[0]];

		wcs_hll_element((struct wcs_slice){&i, sizeof(i)}, element);
		state.len = wcs_hll_merge(state, (struct wcs_slice){element, sizeof(element)}, to);
		state.data = to;
	}
	SUITE_OK(wcs_mutation_merge(mutation, "b", suite_text(qualifier), 5, state));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
}

/* The rows of one store, given to another, are its rows; given to itself they change nothing. */
SUITE_LOOP(test_round_trip, SUITE_ENGINES, 60)
{
	static const int64_t numbers[] = {
		0,	   1,	      -1,	    1LL << 53,	     (1LL << 53) + 1,
		INT64_MAX, INT64_MIN, -(1LL << 53), -(1LL << 53) - 1};
	static const char *const families[] = {"a", "f", "min"};
	struct suite from, to;
	char *text;

	suite_open(&from, _i);
	add_types(&from);
	suite_open(&to, 1 - _i);
	add_types(&to);
	for (int i = 0; i < 9; i++) {
		for (int k = 0; k < 3; k++) {
			unsigned char value[8];

			for (int byte = 0; byte < 8; byte++)
				value[byte] =
					(unsigned char)((uint64_t)numbers[i] >> (56 - 8 * byte));
			suite_put(from.table, suite_text("r"), families[k], suite_text("q"), i,
				  (struct wcs_slice){value, 8});
		}
	}
	merge_elements(&from, "none", 0);
	merge_elements(&from, "few", 100);
	merge_elements(&from, "inline", 1023);
	merge_elements(&from, "chunked", 1024);
	merge_elements(&from, "dense", 20000);
	text = rows(&from);
	ck_assert_ptr_nonnull(strstr(text, "\"value\":\"9007199254740993\""));
	ck_assert_ptr_nonnull(strstr(text, "\"value\":100,\"state\":\"AQ"));
	applied(&to, text);
	expect(&to, text);
	suite_delete_row(from.table, "none");
	applied(&to, text);
	expect(&to, text);
	free(text);
	suite_close(&from);
	suite_close(&to);
}

SUITE_STORES(test_increment_and_if, 30)
{
	struct wcs_fault fault = {.text = ""};

	add_types(s);
	applied(s, "{\"key\":\"r\",\"increment\":{\"a\":{\"q\":5}}}");
	s->clock = 2000000;
	applied(s, "{\"key\":\"r\",\"increment\":{\"a\":{\"q\":-7}},\"if\":{\"a\":{\"q\":5}}}");
	applied(s, "{\"key\":\"r\",\"increment\":{\"a\":{\"q\":1}},\"if\":{\"a\":{\"q\":\"-2\"},"
		   "\"b\":{\"q\":null}}}");
	ck_assert_int_eq(suite_load(s->table,
				    "{\"key\":\"r\",\"delete\":true,\"if\":{\"a\":{\"q\":7}}}",
				    &fault),
			 -ECANCELED);
	expect(s, ROW("\"a\":{\"q\":[{\"ts\":1000000,\"value\":-1}]}"));
	applied(s, "{\"key\":\"r\",\"increment\":{\"a\":{\"q\":\"9007199254740993\"}}}");
	applied(s, "{\"key\":\"r\",\"increment\":{\"a\":{\"q\":\"-9007199254740000\"}}}");
	expect(s, ROW("\"a\":{\"q\":[{\"ts\":1000000,\"value\":992}]}"));
}

#define BEYOND "an integer beyond 64 bits"

static const struct {
	const char *line;
	const char *says;
} refused[] = {
	{ROW("\"a\":{\"q\":\"x\"}"), "families.a.q: must be a whole number"},
	{ROW("\"a\":{\"q\":\"\"}"), "families.a.q: must be a whole number"},
	{ROW("\"min\":{\"q\":[{\"base64\":\"AAAA\"}]}"), "families.min.q: the value is not an 8"},
	{ROW("\"f\":{\"q\":[{\"value\":1,\"state\":\"" STATE_A "\"}]}"),
	 "families.f.q: only an inthll has a state"},
	{ROW("\"text\":{\"q\":[{\"state\":\"" STATE_A "\"}]}"), "families.text.q: only an inthll"},
	{ROW("\"text\":{\"q\":7}"), "families.text.q: a number, but the family holds bytes"},
	{ROW("\"b\":{\"q\":7}"), "families.b.q: an inthll is given as its \"state\""},
	{ROW("\"b\":{\"q\":\"x\"}"), "families.b.q: an inthll is given as its \"state\""},
	{ROW("\"b\":{\"q\":[{\"state\":\"AQ==\"}]}"), "families.b.q: the value is no state"},
	{ROW("\"b\":{\"q\":[{\"ts\":1,\"state\":\"\"}]}"), "families.b.q: the value is no state"},
	{"{\"key\":\"r\",\"append\":{\"a\":{\"q\":\"1\"}}}", "append.a.q: an aggregate family"},
	{"{\"key\":\"r\",\"append\":{\"b\":{\"q\":\"1\"}}}", "append.b.q: an aggregate family"},
	{"{\"key\":\"r\",\"increment\":{\"f\":{\"q\":1}}}", "increment.f.q: of the aggregate"},
	{"{\"key\":\"r\",\"increment\":{\"b\":{\"q\":1}}}", "increment.b.q: of the aggregate"},
	{"{\"key\":\"r\",\"if\":{\"a\":{\"q\":\"x\"}}}", "if.a.q: must be a whole number"},
	{"{\"key\":\"r\",\"if\":{\"b\":{\"q\":1}}}", "if.b.q: of an inthll only null"},
	{"{\"key\":\"r\",\"if\":{\"text\":{\"q\":1}}}", "if.text.q: a number, but the family"},
	/* A number beyond the range of JSON's numbers is the same error in quotes. */
	{ROW("\"a\":{\"q\":9223372036854775808}"), "families.a.q: " BEYOND},
	{ROW("\"a\":{\"q\":\"9223372036854775808\"}"), "families.a.q: " BEYOND},
	{ROW("\"min\":{\"q\":[{\"value\":\"-9223372036854775809\"}]}"), "families.min.q: " BEYOND},
	{"{\"key\":\"r\",\"increment\":{\"a\":{\"q\":\"9223372036854775808\"}}}",
	 "increment.a.q: " BEYOND},
	{"{\"key\":\"r\",\"if\":{\"a\":{\"q\":\"9223372036854775808\"}}}", "if.a.q: " BEYOND},
};

SUITE_STORES(test_refused, 60)
{
	add_types(s);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct wcs_fault fault = {.text = ""};
		int error = strstr(refused[i].says, BEYOND) ? -EOVERFLOW : -EINVAL;
		int rc = suite_load(s->table, refused[i].line, &fault);

		ck_assert_msg(rc == error, "%s: %d", refused[i].line, rc);
		ck_assert_msg(strncmp(fault.text, refused[i].says, strlen(refused[i].says)) == 0,
			      "%s: %s", refused[i].line, fault.text);
	}
	expect(s, "");
}
