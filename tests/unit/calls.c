/* SPDX-License-Identifier: MIT */
/* The store that the calls use, and the collection of their output: see calls.h. */
#include "tests/unit/calls.h"

void calls_out(struct calls *calls, const void *bytes, size_t len)
{
	if (calls->out_len + len >= CALLS_OUT_MAX)
		abort();
	if (len > 0)
		memcpy(calls->out + calls->out_len, bytes, len);
	calls->out_len += len;
	calls->out[calls->out_len] = '\0';
}

void calls_out_text(struct calls *calls, const char *words)
{
	calls_out(calls, words, strlen(words));
	calls_out(calls, " ", 1);
}

void calls_open(struct calls *calls, enum suite_engine engine)
{
	struct wcs_table *table;
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *big = suite_pattern(CALLS_BIG, 7);

	suite_open(&calls->suite, (int)engine);
	table = calls->suite.table;
	SUITE_OK(wcs_family_create(table, "s"));
	SUITE_OK(wcs_family_set_type(table, "s", WCS_INTSUM));
	SUITE_OK(wcs_family_create(table, "h"));
	SUITE_OK(wcs_family_set_type(table, "h", WCS_INTHLL));
	suite_set(table, "r", "a", "q", 1, "old");
	suite_set(table, "r", "a", "q", 2, "new");
	suite_set(table, "r", "b", "x", 5, "y");
	suite_set(table, "r#s", "a", "q", 3, "v");
	suite_set(table, "t#1", "a", "q", 1, "v");
	suite_set(table, "t#2", "a", "q", 1, "v");
	wcs_mutation_set(mutation, "s", suite_text("n"), 1, SUITE_BYTES("\0\0\0\0\0\0\0\5"));
	SUITE_OK(suite_mutate(table, "r", mutation, NULL));
	mutation = wcs_mutation_new();
	wcs_mutation_set(mutation, "f", suite_text("big"), 1, (struct wcs_slice){big, CALLS_BIG});
	SUITE_OK(suite_mutate(table, "r#s", mutation, NULL));
	free(big);
	suite_expect(table, CALLS_R CALLS_REST);
}

const struct call *calls_at(int n)
{
	static const struct call *const groups[] = {calls_schema, calls_write, calls_read,
						    calls_text};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct call *call = groups[i]; call->name; call++)
			if (n-- == 0)
				return call;
	return NULL;
}

int calls_count(void)
{
	int count = 0;

	while (calls_at(count))
		count++;
	return count;
}
