/* SPDX-License-Identifier: MIT */
/* The functions of each control file. A new control file is a row here. */
#include "fs/control/control_kind.h"

static const struct control_kind kinds[] = {
	[CONTROL_SCHEMA] = {&control_text_reader, &control_lines_writer, &control_schema},
	[CONTROL_VERSION] = {&control_text_reader, NULL, &control_version},
	[CONTROL_ERRORS] = {&control_text_reader, NULL, &control_errors},
	[CONTROL_METRICS] = {&control_text_reader, NULL, &control_metrics},
	[CONTROL_ENGINE] = {&control_text_reader, NULL, &control_engine},
	[CONTROL_COLLECTOR] = {&control_text_reader, &control_lines_writer, &control_gc},
	[CONTROL_HELP] = {&control_text_reader, NULL, &control_help},
	[CONTROL_ROWS] = {&control_stream_reader, &control_rows_writer, NULL},
	[CONTROL_ROW] = {&control_stream_reader, &control_rows_writer, NULL},
	[CONTROL_KEYS] = {&control_stream_reader, NULL, NULL},
	[CONTROL_DROP] = {&control_text_reader, &control_drop_writer, &control_drop},
	[CONTROL_DELIMITER] = {&control_text_reader, &control_lines_writer, &control_delimiter},
	[CONTROL_POLICY] = {&control_text_reader, &control_lines_writer, &control_policy},
	[CONTROL_TYPE] = {&control_text_reader, &control_lines_writer, &control_type},
	[CONTROL_COUNT] = {&control_text_reader, NULL, &control_drop},
	[CONTROL_PROTECTED] = {&control_text_reader, &control_lines_writer, &control_protected},
};

const struct control_kind *control_kind(const struct node *node)
{
	return &kinds[node->ts];
}
