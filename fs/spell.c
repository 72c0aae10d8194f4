/* SPDX-License-Identifier: MIT */
/* Names of children, by the kind of their directory. */
#include "spell.h"

#include <errno.h>
#include <string.h>

static const struct {
	enum node_kind dir;
	enum control control;
	const char *name;
} controls[] = {
	{NODE_ROWFS, CONTROL_ERRORS, "errors"},	  {NODE_ROWFS, CONTROL_SCHEMA, "schema.json"},
	{NODE_ROWFS, CONTROL_VERSION, "version"}, {NODE_POLICIES, CONTROL_GC, "gc"},
	{NODE_POLICIES, CONTROL_TYPE, "type"},
};

bool spell_control(enum node_kind dir, size_t i, enum control *control, const char **name)
{
	for (size_t c = 0; c < sizeof(controls) / sizeof(controls[0]); c++) {
		if (controls[c].dir != dir || i-- > 0)
			continue;
		*control = controls[c].control;
		*name = controls[c].name;
		return true;
	}
	return false;
}

static bool families_has(void *ctx, const void *name, size_t len)
{
	return wcs_family_exists(ctx, (struct wcs_slice){name, len});
}

static void take(struct spelled *child, enum node_kind kind, const char *bytes, size_t len)
{
	memmove(child->buf, bytes, len);
	child->buf[len] = 0;
	child->bytes = (struct wcs_slice){child->buf, len};
	child->kind = kind;
}

static int take_decoded(struct spelled *child, enum node_kind kind, enum names_kind names,
			const struct names_families *families, const char *name, size_t len)
{
	char bytes[NAMES_COMPONENT_MAX];
	size_t count;

	if (names_decode(names, families, name, len, bytes, &count) != 0)
		return -EINVAL;
	take(child, kind, bytes, count);
	return 0;
}

static int take_control(struct spelled *child, enum control control, const char *name)
{
	take(child, NODE_CONTROL, name, strlen(name));
	child->control = control;
	return 0;
}

/* The names of the mount's root, whatever its kind is, beyond those of that kind. */
static int parse_root(const char *name, struct spelled *child)
{
	if (strcmp(name, ".rowfs") == 0)
		take(child, NODE_ROWFS, name, strlen(name));
	else if (strcmp(name, ".versions") == 0)
		take(child, NODE_ROOT, name, strlen(name));
	else
		return -EINVAL;
	return 0;
}

static int parse_table(const char *name, struct spelled *child)
{
	if (!wcs_table_name_valid(name))
		return -EINVAL;
	take(child, NODE_TABLE, name, strlen(name));
	return 0;
}

/* In a directory of segments: a control name, a family, or a segment. */
static int parse_prefix(const struct pos *pos, const char *name, size_t len, struct spelled *child)
{
	struct names_families families = {families_has, pos->table};
	bool is_family;

	if (name[0] == '.') {
		if (pos->versions || pos->kind != NODE_TABLE)
			return -EINVAL;
		if (strcmp(name, ".delimiter") == 0)
			return take_control(child, CONTROL_DELIMITER, name);
		if (strcmp(name, ".families") != 0)
			return -EINVAL;
		take(child, NODE_FAMILIES, name, len);
		return 0;
	}
	is_family = take_decoded(child, NODE_FAMILY, NAMES_FAMILY, NULL, name, len) == 0 &&
		    wcs_family_exists(pos->table, child->bytes);
	if (is_family)
		return pos->depth > 0 ? 0 : -EINVAL;
	if (take_decoded(child, NODE_PREFIX, NAMES_SEGMENT, &families, name, len) != 0)
		return -EINVAL;
	/* A segment that holds the delimiter would be two. */
	return memchr(child->buf, pos->delimiter, child->bytes.len) ? -EINVAL : 0;
}

static int parse_family(const struct pos *pos, const char *name, size_t len, struct spelled *child)
{
	if (names_history(name, &len))
		return take_decoded(child, NODE_HISTORY, NAMES_QUALIFIER, NULL, name, len);
	if (pos->versions)
		return -EINVAL;
	return take_decoded(child, NODE_CELL, NAMES_QUALIFIER, NULL, name, len);
}

static int parse_history(const char *name, size_t len, struct spelled *child)
{
	int64_t ts;

	if (names_ts_parse(name, len, &ts) != 0)
		return -EINVAL;
	take(child, NODE_VERSION, name, len);
	return 0;
}

static int parse_control(enum node_kind dir, const char *name, struct spelled *child)
{
	const char *known;
	enum control control;

	for (size_t i = 0; spell_control(dir, i, &control, &known); i++)
		if (strcmp(name, known) == 0)
			return take_control(child, control, name);
	return -EINVAL;
}

int spell_parse(const struct node *dir, const struct pos *pos, const char *name,
		struct spelled *child)
{
	size_t len = strlen(name);

	if (len > NAMES_COMPONENT_MAX)
		return -ENAMETOOLONG;
	if (!dir->parent && parse_root(name, child) == 0)
		return 0;
	switch (dir->kind) {
	case NODE_ROOT:
		return parse_table(name, child);
	case NODE_TABLE:
	case NODE_PREFIX:
		return parse_prefix(pos, name, len, child);
	case NODE_FAMILY:
		return parse_family(pos, name, len, child);
	case NODE_HISTORY:
		return parse_history(name, len, child);
	case NODE_FAMILIES:
		return take_decoded(child, NODE_POLICIES, NAMES_FAMILY, NULL, name, len);
	default:
		return parse_control(dir->kind, name, child);
	}
}

size_t spell_child(struct wcs_table *table, enum node_kind kind, struct wcs_slice bytes, char *name)
{
	struct names_families families = {families_has, table};
	size_t len = 0;

	switch (kind) {
	case NODE_PREFIX:
		return names_encode(NAMES_SEGMENT, table ? &families : NULL, bytes.data, bytes.len,
				    name);
	case NODE_FAMILY:
	case NODE_POLICIES:
		return names_encode(NAMES_FAMILY, NULL, bytes.data, bytes.len, name);
	case NODE_CELL:
		return names_encode(NAMES_QUALIFIER, NULL, bytes.data, bytes.len, name);
	case NODE_HISTORY:
		len = names_encode(NAMES_QUALIFIER, NULL, bytes.data, bytes.len, name);
		name[len++] = '@';
		break;
	default:
		memcpy(name, bytes.data, bytes.len);
		len = bytes.len;
		break;
	}
	name[len] = 0;
	return len;
}

size_t spell_node(const struct node *node, char *name)
{
	const struct node *table = node;

	while (table && table->kind != NODE_TABLE)
		table = table->parent;
	return spell_child(table ? table->table : NULL, node->kind, node_name(node), name);
}
