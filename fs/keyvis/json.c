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
#include "lib/escape.h"
#include "lib/times.h"

/* A LocalizedString. */
static json_t *json_message(const char *text)
{
	return json_pack("{s:s}", "message", text);
}

static json_t *json_time(int64_t at)
{
	char text[TIMES_MAX];

	return json_stringn(text, times_format(at, 0, text));
}

static json_t *json_end(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;

	return keyvis_string(keyvis_key(picture->table, picture->map->ranges[at].end));
}

static json_t *json_hot_key(const void *ctx, size_t at)
{
	return json_string(((const struct keyvis_picture *)ctx)->hot[at].name);
}

/* The table, and behind it the nodes below. */
static json_t *json_node(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;
	const struct keyvis_node table = {.last = picture->map->rows - 1},
				 *node = at > 0 ? &picture->nodes[at - 1] : &table;

	return json_pack("{s:s, s:I, s:I, s:I, s:b}", "word",
			 at > 0 ? node->word : picture->table->name, "startIndex",
			 (json_int_t)node->first, "endIndex", (json_int_t)node->last, "depth",
			 (json_int_t)node->depth + (at > 0), "dataSourceNode", at == 0);
}

/* The hot ranges with a value in each column; of several with one first range the first. */
static json_t *json_hot(const struct keyvis_picture *picture)
{
	json_t *columns = json_object();
	char name[24];
	int rc = 0;

	for (size_t c = 0; c < picture->columns; c++) {
		json_t *keys = json_object();

		for (size_t i = 0; i < picture->hot_count; i++) {
			size_t first = picture->hot[i].first;

			snprintf(name, sizeof(name), "%zu", first);
			if (keyvis_value(picture, first, c) > 0 && !json_object_get(keys, name))
				rc |= json_object_set_new(keys, name, json_integer((json_int_t)i));
		}
		snprintf(name, sizeof(name), "%zu", c);
		if (json_object_size(keys) > 0)
			rc |= json_object_set_new(columns, name,
						  json_pack("{s:O}", "sparseHotKeys", keys));
		json_decref(keys);
	}
	if (rc == 0)
		return columns;
	json_decref(columns);
	return NULL;
}

static json_t *json_value(const void *ctx, size_t at)
{
	return json_integer((json_int_t)((const uint64_t *)ctx)[at]);
}

/* The values are printed range by range: a tree of all would take ten times their text. */
static int json_metric(const struct keyvis_picture *picture, FILE *to)
{
	const struct wcs_heat_map *map = picture->map;
	int rc = escape_json_put(
		to,
		json_pack("{s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:I, s:o}", "category",
			  json_message(picture->words->name), "displayLabel",
			  json_message(picture->words->title), "unit", json_message(picture->unit),
			  "info", json_message(picture->words->what), "aggregation",
			  map->metric == WCS_HEAT_LATENCY ? "AGGREGATION_UNSPECIFIED" : "SUM",
			  "visible", true, "hasNonzeroData", map->largest > 0, "hotValue",
			  (json_int_t)picture->scale.high, "indexedHotKeys", json_hot(picture)),
		JSON_EMBED | ESCAPE_HTML);

	fputs(",\"matrix\":{\"rows\":[", to);
	for (size_t r = 0; rc == 0 && r < map->rows; r++) {
		fputs(r > 0 ? "," : "\n", to);
		rc = escape_json_put(
			to,
			json_pack("{s:o}", "cols",
				  keyvis_list(&map->values[r * map->columns + picture->first],
					      picture->columns, json_value)),
			0);
	}
	fputs("]}", to);
	return rc;
}

/* A finding, or behind them the history. */
static json_t *json_diagnosis(const void *ctx, size_t at)
{
	const struct keyvis_picture *picture = ctx;
	bool found = at < picture->finding_count;

	return json_pack(
		"{s:s, s:o, s:o, s:o, s:b}", "severity",
		found && picture->found[at].warning ? "WARNING" : "INFO", "shortMessage",
		json_message(found ? wcs_heat_pattern_name(picture->found[at].pattern) : "history"),
		"info", json_message(found ? picture->findings[at] : picture->history), "metric",
		json_message(picture->words->name), "metricSpecific", found);
}

int keyvis_put_document(const struct keyvis_picture *picture, FILE *to)
{
	const char delimiter[] = {(char)picture->table->delimiter, '\0'};
	int rc;

	fputc('{', to);
	rc = escape_json_put(
		to,
		json_pack("{s:s, s:o, s:o, s:I, s:s, s:s, s:o, s:o, s:o, s:o}", "table",
			  picture->table->name, "startTime", json_time(picture->start), "endTime",
			  json_time(picture->end), "stepSeconds",
			  (json_int_t)(picture->map->step / 1000000), "keyUnit", "KEY",
			  "keySeparator", delimiter, "endKeyStrings",
			  keyvis_list(picture, picture->map->rows, json_end), "indexedKeys",
			  keyvis_list(picture, picture->hot_count, json_hot_key), "prefixNodes",
			  keyvis_list(picture, picture->node_count + 1, json_node),
			  "diagnosticMessages",
			  keyvis_list(picture, picture->finding_count + (picture->history[0] != 0),
				      json_diagnosis)),
		JSON_EMBED | ESCAPE_HTML);
	fputs(",\n\"metrics\":[{", to);
	rc = rc == 0 ? json_metric(picture, to) : rc;
	fputs("}]}\n", to);
	return rc;
}
