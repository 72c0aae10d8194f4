/* SPDX-License-Identifier: MIT */
/* The table of all control files. */
#include "fs/control/control_kind.h"
#include "fs/control/control.h"

#define KIND_FILE(kind, dirs, name, reader, writer, text, size, help)                              \
	[CONTROL_##kind] = {reader, writer, text, size},
#define KIND_DIRECTORY(...)

/* fs/live/ opens those without a reader. */
static const struct control_kind kinds[] = {
	/* clang-format off */
	CONTROL_NAMES(KIND_FILE, KIND_DIRECTORY)
		/* clang-format on */
		[CONTROL_EXPLAIN] = {&control_text_reader, NULL, &control_explain, CONTROL_STREAM},
	[CONTROL_HEAT] = {&control_text_reader, NULL, &control_keyvis, CONTROL_DRAWN},
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
