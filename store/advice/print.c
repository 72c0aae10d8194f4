/* SPDX-License-Identifier: MIT */
/* Findings as text for people, and as lines of JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"
#include "lib/system/message.h"
#include "lib/utf8.h"
#include "store/advice/advice_private.h"

#define PRINT_WIDTH 96u /* bytes of a line of an action */

static const char *const severities[] = {
	[ADVICE_NOTE] = "note", [ADVICE_WARNING] = "warning", [ADVICE_ERROR] = "error"};

/* The largest error of a share in the sample. */
static double error_of(const struct wcs_advice *advice, const struct advice_spread *spread)
{
	return advice_error(advice, spread ? spread : &advice->stats->spread, 0.5);
}

/* Were rows of the input neither in the order of their keys nor in the opposite one? */
static bool is_unsorted(const struct advice_stats *stats)
{
	return stats->up > 0 && stats->down > 0;
}

/* A sample of one part is the start of a table that has no splits. */
static void print_sample(const struct wcs_advice *advice)
{
	const struct advice_stats *stats = advice->stats;
	FILE *to = advice->options.to;

	if (stats->parts == 0)
		fputs("all rows were read", to);
	else if (stats->parts == 1)
		fputs("the first rows of a larger table, which has no splits; rules about shares "
		      "need all rows (rowfs-advise --whole)",
		      to);
	else
		fprintf(to,
			"a sample in %" PRIu64 " parts of a larger table: shares are right within "
			"%.0f points of 100 (95 %% probable), maxima are those of the sample; "
			"empty-family, long-names, salt-uneven and small-tables need all rows "
			"(rowfs-advise --whole)",
			stats->parts, ceil(100 * error_of(advice, NULL)));
	if (is_unsorted(stats))
		fputs("; the rows are not in the order of their keys, so writes-at-end, "
		      "number-first, salt-missing and salt-idle were not looked for",
		      to);
	fputc('\n', to);
}

void print_table(const struct wcs_advice *advice)
{
	const struct advice_stats *stats = advice->stats;

	if (advice->options.json)
		return;
	fprintf(advice->options.to,
		"# table %s: %" PRIu64 " row%s, %" PRIu64 " cell%s, %" PRIu64 " byte%s of values; ",
		advice->schema->name, stats->rows, message_plural(stats->rows), stats->cells,
		message_plural(stats->cells), stats->bytes, message_plural(stats->bytes));
	print_sample(advice);
}

/* The shown form of a key, which the caller frees; NULL: no memory. */
static char *key_text(const struct wcs_advice *advice, const struct advice_key *key)
{
	return wcs_keys_text(advice->keys, advice_key_slice(key));
}

/* Prints a value with its unit. */
static void print_value(FILE *to, enum advice_unit unit, double value)
{
	if (unit == ADVICE_UNIT_SHARE)
		fprintf(to, "%.4g %%", 100 * value);
	else if (unit == ADVICE_UNIT_BYTES)
		fprintf(to, "%.4g MiB", value / 1048576);
	else
		fprintf(to, "%.*g", value < 1000 ? 4 : 10, value);
}

/* Prints the evidence as a sentence. */
static void print_sentence(FILE *to, const struct advice_finding *finding)
{
	if (finding->rule->unit != ADVICE_UNIT_NONE) {
		print_value(to, finding->rule->unit, finding->value);
		fputc(' ', to);
	}
	fputs(finding->rule->text, to);
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
	char *key = finding->key ? utf8_safe(key_text(advice, finding->key)) : NULL;

	fprintf(to, "%s: %s %s: ", finding->table, severities[rule->severity], rule->name);
	print_sentence(to, finding);
	if (rule->unit != ADVICE_UNIT_NONE) {
		fputs(" (limit ", to);
		print_value(to, rule->unit, rule->threshold);
		fputc(')', to);
	}
	fputc('\n', to);
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

/* ---- JSON -------------------------------------------------------------------------------- */

static void print_string(FILE *to, const char *text)
{
	char *escaped = escape_json_string(text);

	fputs(escaped ? escaped : "\"\"", to);
	free(escaped);
}

static void print_evidence(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	const struct advice_stats *stats = advice->stats;
	FILE *to = advice->options.to;
	char *key = finding->key ? key_text(advice, finding->key) : NULL;

	fputs("{\"text\":\"", to);
	print_sentence(to, finding);
	fprintf(to, "\",\"value\":%.10g,\"threshold\":%.10g", finding->value,
		finding->rule->threshold);
	if (finding->family)
		fprintf(to, ",\"family\":\"%s\"", finding->family);
	if (finding->segment > 0)
		fprintf(to, ",\"segment\":%zu", finding->segment);
	fputs(",\"keys\":[", to);
	if (key)
		print_string(to, key);
	fputs("]", to);
	if (finding->rule->scope != ADVICE_STORE)
		fprintf(to, ",\"rows\":%" PRIu64 ",\"sample\":%s,\"sorted\":%s", stats->rows,
			stats->parts > 0 ? "true" : "false", is_unsorted(stats) ? "false" : "true");
	if (finding->rule->scope != ADVICE_STORE && stats->parts > 1)
		fprintf(to, ",\"parts\":%" PRIu64 ",\"error\":%.3f", stats->parts,
			error_of(advice, finding->spread));
	fputs("}", to);
	free(key);
}

static void print_json(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	const struct advice_rule *rule = finding->rule;
	FILE *to = advice->options.to;

	fprintf(to, "{\"table\":\"%s\",\"rule\":\"%s\",\"severity\":\"%s\",\"evidence\":",
		finding->table, rule->name, severities[rule->severity]);
	print_evidence(advice, finding);
	fputs(",\"action\":", to);
	print_string(to, rule->action);
	fprintf(to, ",\"section\":\"docs/row-keys.md#%s\",\"source\":\"%s\"}\n", rule->section,
		rule->source);
}

void print_finding(const struct wcs_advice *advice, const struct advice_finding *finding)
{
	if (advice->options.json)
		print_json(advice, finding);
	else
		print_text(advice, finding);
}
