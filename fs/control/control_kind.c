/* SPDX-License-Identifier: MIT */
/* The table of all control files. */
#include "fs/control/control_kind.h"
#include "fs/control/control.h"

/* A new control file is a row here. */
static const struct control_kind kinds[] = {
	[CONTROL_SCHEMA] = {&control_text_reader, &control_lines_writer, &control_schema,
			    CONTROL_EXACT},
	[CONTROL_VERSION] = {&control_text_reader, NULL, &control_info, CONTROL_EXACT},
	[CONTROL_ERRORS] = {&control_text_reader, NULL, &control_info, CONTROL_EXACT},
	[CONTROL_METRICS] = {&control_text_reader, NULL, &control_info, CONTROL_EXACT},
	[CONTROL_ENGINE] = {&control_text_reader, NULL, &control_info, CONTROL_EXACT},
	[CONTROL_COLLECTOR] = {&control_text_reader, &control_lines_writer, &control_gc,
			       CONTROL_EXACT},
	[CONTROL_HELP] = {&control_text_reader, NULL, &control_info, CONTROL_EXACT},
	[CONTROL_ADVICE] = {&control_text_reader, NULL, &control_info, CONTROL_DRAWN},
	[CONTROL_FINDINGS] = {&control_text_reader, NULL, &control_info, CONTROL_DRAWN},
	[CONTROL_ROWS] = {&control_stream_reader, &control_rows_writer, NULL, CONTROL_STREAM},
	[CONTROL_ROW] = {&control_stream_reader, &control_rows_writer, &control_row, CONTROL_EXACT},
	[CONTROL_KEYS] = {&control_stream_reader, NULL, NULL, CONTROL_STREAM},
	[CONTROL_DROP] = {&control_text_reader, &control_lines_writer, &control_drop,
			  CONTROL_FIXED},
	[CONTROL_DELIMITER] = {&control_text_reader, &control_lines_writer, &control_delimiter,
			       CONTROL_EXACT},
	[CONTROL_DESIGN] = {&control_text_reader, &control_lines_writer, &control_design,
			    CONTROL_EXACT},
	[CONTROL_POLICY] = {&control_text_reader, &control_lines_writer, &control_policy,
			    CONTROL_EXACT},
	[CONTROL_TYPE] = {&control_text_reader, &control_lines_writer, &control_type,
			  CONTROL_EXACT},
	[CONTROL_COUNT] = {&control_text_reader, NULL, &control_drop, CONTROL_FIXED},
	[CONTROL_SPLITS] = {&control_text_reader, NULL, &control_splits, CONTROL_EXACT},
	[CONTROL_EXPLAIN] = {&control_text_reader, NULL, &control_explain, CONTROL_STREAM},
	[CONTROL_HEAT] = {&control_text_reader, NULL, &control_keyvis, CONTROL_DRAWN},
	[CONTROL_PROTECTED] = {&control_text_reader, &control_lines_writer, &control_protected,
			       CONTROL_EXACT},
	/* fs/live/ opens these. */
	[CONTROL_TRACE] = {NULL, NULL, NULL, CONTROL_STREAM},
	[CONTROL_CHANGES] = {NULL, NULL, NULL, CONTROL_STREAM},
};

const struct control_kind *control_kind(const struct node *node)
{
	return &kinds[node->ts];
}

bool control_moves(const struct node *node)
{
	return control_kind(node)->size == CONTROL_EXACT;
}

bool control_grows(const struct node *node)
{
	return node->kind == NODE_CONTROL && control_kind(node)->size == CONTROL_DRAWN;
}

mode_t control_mode(const struct node *node)
{
	if (node->ts == CONTROL_ERRORS || node->ts == CONTROL_TRACE || node->ts == CONTROL_CHANGES)
		return 0600;
	return control_kind(node)->writer ? 0666 : 0444;
}
