/* SPDX-License-Identifier: MIT */
/* Which functions each control file has. */
#include "control_kind.h"

static const struct control_kind kinds[] = {
	[CONTROL_SCHEMA] = {&control_text_reader, &control_lines_writer, &control_schema},
	[CONTROL_VERSION] = {&control_text_reader, NULL, &control_version},
	[CONTROL_ERRORS] = {&control_text_reader, NULL, &control_errors},
	[CONTROL_DELIMITER] = {&control_text_reader, &control_lines_writer, &control_delimiter},
	[CONTROL_POLICY] = {&control_text_reader, &control_lines_writer, &control_policy},
	[CONTROL_TYPE] = {&control_text_reader, &control_lines_writer, &control_type},
};

const struct control_kind *control_kind(const struct node *node)
{
	return &kinds[node->ts];
}
