/* SPDX-License-Identifier: MIT */
/* Shared by the tests of advice: see advice.h. */
#include "tests/unit/advice.h"

void checked_open(struct checked *checked, const char *table, bool json)
{
	struct wcs_advice_options options = {.json = json};
	struct wcs_fault fault;
	char schema[4096];

	checked->to = options.to = open_memstream(&checked->text, &checked->len);
	snprintf(schema, sizeof(schema), "{\"tables\":{\"t\":%s}}", table);
	SUITE_OK(wcs_schema_parse(schema, strlen(schema), &checked->schema, &fault));
	if (checked->schema->tables->keys)
		checked->schema->tables->keys->delimiter = '#';
	SUITE_OK(wcs_advice_new(&options, &checked->advice));
	SUITE_OK(wcs_advice_table(checked->advice, checked->schema->tables));
}

void checked_end(struct checked *checked)
{
	wcs_advice_end(checked->advice);
	SUITE_OK(fclose(checked->to));
}

void checked_close(struct checked *checked)
{
	wcs_advice_free(checked->advice);
	wcs_schema_free(checked->schema);
	free(checked->text);
}

void checked_expect(struct checked *checked, const char *rule, bool found)
{
	char member[80];

	checked_end(checked);
	snprintf(member, sizeof(member), "\"rule\":\"%s\"", rule);
	ck_assert_msg((strstr(checked->text, member) != NULL) == found, "%s: %s", rule,
		      checked->text);
	checked_close(checked);
}

void feed(struct checked *checked, const char *key, int64_t ts)
{
	const struct wcs_cell cell = {.differs = WCS_PART_ROW,
				      .row = suite_text(key),
				      .family = {"f", 1},
				      .qualifier = {"q", 1},
				      .info = {.ts = ts, .size = 3}};

	wcs_advice_cell(checked->advice, &cell);
}

void feed_cells(struct checked *checked, const char *family, const char *qualifier, uint64_t size,
		int count)
{
	const struct wcs_cell cell = {.differs = WCS_PART_TS,
				      .row = {"r", 1},
				      .family = suite_text(family),
				      .qualifier = suite_text(qualifier),
				      .info = {.ts = 1, .size = size}};

	while (count-- > 0)
		wcs_advice_cell(checked->advice, &cell);
}
