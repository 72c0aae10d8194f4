/* SPDX-License-Identifier: MIT */
/*
 * A map with the members of Spanner's key visualizer: VisualizationData of the Cloud Spanner API,
 * version 1, with startTime and endTime of its ScanData beside them. Its definition is in
 * https://googleapis.dev/ruby/google-apis-spanner_v1/v0.26.0/Google/Apis/SpannerV1/VisualizationData.html
 *
 *   endKeyStrings       the end of each range, not in it; the last one is "", behind all keys
 *   indexedKeys         the hottest ranges
 *   prefixNodes         the table, and the prefixes below it; endIndex is that of a last range
 *   metrics             one: matrix.rows are ranges, cols their values by time; indexedHotKeys
 *                       has by column, and in that by range, an index in indexedKeys
 *   diagnosticMessages  the diagnosis
 *
 * Members of rowfs's own: table, and stepSeconds, the time of a column.
 */
#include "fs/keyvis/picture.h"
#include "lib/times.h"

#include <errno.h>
#include <stdlib.h>

/* A LocalizedString. */
static void json_message(FILE *to, const char *member, const char *text, const char *after)
{
	fprintf(to, "\"%s\":{\"message\":", member);
	keyvis_put_json(to, "", text, "}");
	fputs(after, to);
}

static void json_time(FILE *to, const char *member, int64_t at)
{
	char text[TIMES_MAX];
	size_t len = times_format(at, 0, text);

	fprintf(to, "\"%s\":\"%.*s\",\n", member, (int)len, text);
}

static int json_ends(const struct keyvis_picture *picture, FILE *to)
{
	fputs("\"endKeyStrings\":[", to);
	for (size_t r = 0; r < picture->map->rows; r++) {
		char *end = keyvis_key(picture->table, picture->map->ranges[r].end);

		if (!end)
			return -ENOMEM;
		keyvis_put_json(to, r > 0 ? "," : "", end, "");
		free(end);
	}
	fputs("],\n\"indexedKeys\":[", to);
	for (size_t i = 0; i < picture->hot_count; i++)
		keyvis_put_json(to, i > 0 ? "," : "", picture->hot[i].name, "");
	fputs("],\n", to);
	return 0;
}

static void json_node(FILE *to, bool table, const struct keyvis_node *node)
{
	keyvis_put_json(to, "{\"word\":", node->word, ",");
	fprintf(to, "\"startIndex\":%zu,\"endIndex\":%zu,\"depth\":%zu,\"dataSourceNode\":%s}",
		node->first, node->last, node->depth, table ? "true" : "false");
}

static void json_nodes(const struct keyvis_picture *picture, FILE *to)
{
	struct keyvis_node node = {.last = picture->map->rows - 1,
				   .word = (char *)(uintptr_t)picture->table->name};

	fputs("\"prefixNodes\":[", to);
	json_node(to, true, &node);
	for (size_t i = 0; i < picture->node_count; i++) {
		node = picture->nodes[i];
		node.depth++;
		fputs(",\n", to);
		json_node(to, false, &node);
	}
	fputs("],\n", to);
}

/* Is the range of a hot one that of an earlier one, too? */
static bool json_repeats(const struct keyvis_picture *picture, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (picture->hot[i].first == picture->hot[index].first)
			return true;
	return false;
}

/* The hot ranges with a value in each column. */
static void json_hot(const struct keyvis_picture *picture, FILE *to)
{
	const char *between = "";

	fputs("\"indexedHotKeys\":{", to);
	for (size_t c = 0; c < picture->columns; c++) {
		bool any = false;

		for (size_t i = 0; i < picture->hot_count; i++) {
			if (keyvis_value(picture, picture->hot[i].first, c) == 0 ||
			    json_repeats(picture, i))
				continue;
			if (any)
				fputc(',', to);
			else
				fprintf(to, "%s\"%zu\":{\"sparseHotKeys\":{", between, c);
			any = true;
			between = ",\n";
			fprintf(to, "\"%zu\":%zu", picture->hot[i].first, i);
		}
		fputs(any ? "}}" : "", to);
	}
	fputs("},\n", to);
}

static void json_metric(const struct keyvis_picture *picture, FILE *to)
{
	bool mean = picture->map->metric == WCS_HEAT_LATENCY;

	fputs("\"metrics\":[{", to);
	json_message(to, "category", picture->words->name, ",");
	json_message(to, "displayLabel", picture->words->title, ",");
	json_message(to, "unit", picture->unit, ",");
	json_message(to, "info", picture->words->what, ",\n");
	fprintf(to,
		"\"aggregation\":\"%s\",\"visible\":true,\"hasNonzeroData\":%s,\"hotValue\":%llu,"
		"\n",
		mean ? "AGGREGATION_UNSPECIFIED" : "SUM",
		picture->map->largest > 0 ? "true" : "false",
		(unsigned long long)picture->scale.high);
	json_hot(picture, to);
	fputs("\"matrix\":{\"rows\":[", to);
	for (size_t r = 0; r < picture->map->rows; r++) {
		fprintf(to, "%s{\"cols\":[", r > 0 ? ",\n" : "");
		for (size_t c = 0; c < picture->columns; c++)
			fprintf(to, "%s%llu", c > 0 ? "," : "",
				(unsigned long long)keyvis_value(picture, r, c));
		fputs("]}", to);
	}
	fputs("]}}],\n", to);
}

static void json_messages(const struct keyvis_picture *picture, FILE *to)
{
	const struct wcs_heat_finding *found = picture->found;

	fputs("\"diagnosticMessages\":[", to);
	for (size_t i = 0; i < picture->finding_count; i++) {
		fprintf(to, "%s{\"severity\":\"%s\",", i > 0 ? ",\n" : "",
			found[i].warning ? "WARNING" : "INFO");
		json_message(to, "shortMessage", wcs_heat_pattern_name(found[i].pattern), ",");
		json_message(to, "info", picture->findings[i], ",");
		json_message(to, "metric", picture->words->name, ",\"metricSpecific\":true}");
	}
	if (picture->history[0]) {
		fputs(",\n{\"severity\":\"INFO\",", to);
		json_message(to, "shortMessage", "history", ",");
		json_message(to, "info", picture->history, ",");
		json_message(to, "metric", picture->words->name, ",\"metricSpecific\":false}");
	}
	fputs("]}\n", to);
}

int keyvis_put_document(const struct keyvis_picture *picture, enum keyvis_format format, FILE *to)
{
	const char delimiter[] = {(char)picture->table->delimiter, '\0'};
	int rc;

	(void)format;
	keyvis_put_json(to, "{\"table\":", picture->table->name, ",\n");
	json_time(to, "startTime", picture->start);
	json_time(to, "endTime", picture->end);
	fprintf(to, "\"stepSeconds\":%lld,\n\"keyUnit\":\"KEY\",\n",
		(long long)(picture->map->step / 1000000));
	keyvis_put_json(to, "\"keySeparator\":", delimiter, ",\n");
	rc = json_ends(picture, to);
	if (rc)
		return rc;
	json_nodes(picture, to);
	json_metric(picture, to);
	json_messages(picture, to);
	return 0;
}
