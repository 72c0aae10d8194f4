/* SPDX-License-Identifier: MIT */
/* Findings as text for people, and as lines of JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"
#include "lib/system/message.h"
#include "lib/utf8.h"
#include "store/advice/advice_private.h"

#define PRINT_WIDTH 96u /* bytes of a line of an action */
#define VALUE_ROOM  32u /* bytes of a number with its unit */

static const char *const severities[] = {
	[ADVICE_NOTE] = "note", [ADVICE_WARNING] = "warning", [ADVICE_ERROR] = "error"};

void print_table(const struct wcs_advice *advice)
{
	const struct advice_stats *stats = &advice->stats;
	FILE *to = advice->options.to;

	if (advice->options.json)
		return;
	fprintf(to,
		"# table %s: %" PRIu64 " row%s, %" PRIu64 " cell%s, %" PRIu64 " byte%s of values; ",
		advice->schema->name, stats->rows, message_plural(stats->rows), stats->cells,
		message_plural(stats->cells), stats->bytes, message_plural(stats->bytes));
	if (!stats->sample)
		fputs("all rows were read", to);
	else if (stats->of > 0)
		fprintf(to, "a sample of %" PRIu64 " of about %" PRIu64 " rows", stats->rows,
			stats->of);
	else
		fputs("the first rows of a larger table", to);
	if (stats->sample)
		fputs("; empty-family, long-names, salt-uneven and small-tables need all rows "
		      "(rowfs-advise --whole)",
		      to);
	if (!advice_is_sorted(&stats->order))
		fputs("; the rows are not in the order of their keys, so writes-at-end, "
		      "number-first and salt-idle were not looked for",
		      to);
	fputc('\n', to);
}

/* Writes a value with its unit; of none: "". */
static void print_value(char text[VALUE_ROOM], enum advice_unit unit, double value)
{
	if (unit == ADVICE_UNIT_SHARE)
		snprintf(text, VALUE_ROOM, "%.4g %%", 100 * value);
	else if (unit == ADVICE_UNIT_BYTES)
		snprintf(text, VALUE_ROOM, "%.4g MiB", value / 1048576);
	else if (unit == ADVICE_UNIT_NONE)
		*text = '\0';
	else
		snprintf(text, VALUE_ROOM, "%.*g", value < 1000 ? 4 : 10, value);
}

/* ---- For people -------------------------------------------------------------------------- */

/* Prints text in lines of at most PRINT_WIDTH bytes. */
static void print_wrapped(FILE *to, const char *text)
{
	while (*text) {
		size_t len = strlen(text);

		if (len > PRINT_WIDTH) {
			len = PRINT_WIDTH;
			while (text[len] != ' ')
				len--;
		}
		fprintf(to, "    %.*s\n", (int)len, text);
		text += len;
		text += *text == ' ';
	}
}

static void print_text(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	const struct advice_rule *rule = finding->rule;
	FILE *to = advice->options.to;
	char *key = finding->key
			    ? utf8_safe(wcs_keys_text(advice->keys, advice_key_slice(finding->key)))
			    : NULL;
	char value[VALUE_ROOM], limit[VALUE_ROOM];

	print_value(value, rule->unit, finding->value);
	print_value(limit, rule->unit, rule->threshold);
	fprintf(to, *value ? "%s: %s %s: %s %s (limit %s)\n" : "%s: %s %s: %s%s\n", finding->table,
		severities[rule->severity], rule->name, value, rule->text, limit);
	if (finding->family)
		fprintf(to, "    family %s\n", finding->family);
	if (finding->segment > 0)
		fprintf(to, "    segment %zu\n", finding->segment);
	if (key)
		fprintf(to, "    key %s\n", key);
	print_wrapped(to, rule->action);
	fprintf(to, "    docs/row-keys.md#%s; %s\n", rule->section, rule->source);
	free(key);
}

/* ---- JSON: a number or a member for which there is no memory is left out ----------------- */

static json_t *print_number(double value)
{
	return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *print_evidence(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	const struct advice_stats *stats = &advice->stats;
	const struct advice_rule *rule = finding->rule;
	bool table = rule->scope != ADVICE_STORE;
	char *key = finding->key ? wcs_keys_text(advice->keys, advice_key_slice(finding->key))
				 : NULL,
	     value[VALUE_ROOM];
	json_t *evidence;

	print_value(value, rule->unit, finding->value);
	evidence = json_pack("{s:o, s:o, s:o, s:s*, s:o*, s:o, s:o*, s:o*, s:o*}", "text",
			     json_sprintf(*value ? "%s %s" : "%s%s", value, rule->text), "value",
			     print_number(finding->value), "threshold",
			     print_number(rule->threshold), "family", finding->family, "segment",
			     finding->segment > 0 ? print_number((double)finding->segment) : NULL,
			     "keys", key ? json_pack("[s]", key) : json_array(), "rows",
			     table ? json_integer((json_int_t)stats->rows) : NULL, "sample",
			     table ? json_boolean(stats->sample) : NULL, "sorted",
			     table ? json_boolean(advice_is_sorted(&stats->order)) : NULL);
	free(key);
	return evidence;
}

static void print_json(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	const struct advice_rule *rule = finding->rule;

	escape_json_put(advice->options.to,
			json_pack("{s:s, s:s, s:s, s:o, s:s, s:s+, s:s}", "table", finding->table,
				  "rule", rule->name, "severity", severities[rule->severity],
				  "evidence", print_evidence(advice, finding), "action",
				  rule->action, "section", "docs/row-keys.md#", rule->section,
				  "source", rule->source),
			JSON_REAL_PRECISION(10));
}

void print_finding(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	if (advice->options.json)
		print_json(advice, finding);
	else
		print_text(advice, finding);
}
