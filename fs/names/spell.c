/* SPDX-License-Identifier: MIT */
/* The spelling of names, by the kind of their directory. */
#include "fs/names/spell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/times.h"
#include "store/chain/views.h"
#include "store/keys/keys.h"

enum {
	TABLE = 1 << NODE_TABLE,
	PREFIX = 1 << NODE_PREFIX,
	VIEWED = 1 << NODE_VIEWED,
	ROWFS = 1 << NODE_ROWFS,
	POLICIES = 1 << NODE_POLICIES,
	EXPLAIN = 1 << NODE_EXPLAIN,
	KEYVIS = 1 << NODE_KEYVIS,
	HEAT = 1 << NODE_HEAT,
	WINDOW = 1 << NODE_WINDOW,
};

/* The files of a metric. */
#define PICTURE(name)                                                                              \
	{                                                                                          \
		HEAT | WINDOW, NODE_CONTROL, CONTROL_HEAT, name, NULL, NULL                        \
	}
#define PICTURES(metric)                                                                           \
	PICTURE(metric ".ansi"), PICTURE(metric ".ansi24"), PICTURE(metric ".html"),               \
		PICTURE(metric ".json"), PICTURE(metric ".svg"), PICTURE(metric ".tsv"),           \
		PICTURE(metric ".txt")

#define FIXED_FILE(kind, dirs, name, reader, writer, text, size, help)                             \
	{dirs, NODE_CONTROL, CONTROL_##kind, name, name, help},
#define FIXED_DIRECTORY(kind, dirs, name, shown, help) {dirs, NODE_##kind, 0, name, shown, help},

static const struct spell_name fixed[] = {
	/* clang-format off */
	CONTROL_NAMES(FIXED_FILE, FIXED_DIRECTORY)
	/* clang-format on */
	{HEAT, NODE_WINDOW, 0, "28d", NULL, NULL},
	{HEAT, NODE_WINDOW, 0, "4d", NULL, NULL},
	{HEAT, NODE_WINDOW, 0, "6h", NULL, NULL},
	PICTURES("bytes"),
	PICTURES("latency"),
	PICTURES("ops"),
	PICTURES("reads"),
	PICTURES("writes"),
};
#define FIXED (sizeof(fixed) / sizeof(fixed[0]))

const struct spell_name *spell_name(size_t i)
{
	return i < FIXED ? &fixed[i] : NULL;
}

bool spell_fixed(enum node_kind dir, size_t i, enum node_kind *kind, const char **name)
{
	for (const struct spell_name *at = fixed; at < fixed + FIXED; at++) {
		bool hidden = at->name[0] == '.' || at->kind == NODE_EXPLAIN ||
			      (at->kind == NODE_CONTROL && at->control == CONTROL_TRACE);

		if (!(at->dirs & 1u << dir) || hidden || i-- > 0)
			continue;
		*kind = at->kind;
		*name = at->name;
		return true;
	}
	return false;
}

#define IN_TABLES "in a table, outside of views"

/* The places of a name with a dot, in words. */
static const char *where_of(const struct spell_name *name)
{
	if (!(name->dirs & PREFIX))
		return IN_TABLES;
	if (!(name->dirs & TABLE))
		return "in directories of segments and in views of them";
	return name->dirs & VIEWED ? "in a table, in directories of segments and in views"
				   : "in a table and in directories of segments, outside of views";
}

const char *spell_dotted(size_t i, const char **where)
{
	static const struct {
		const char *name, *where;
	} directories[] = {
		{".families", IN_TABLES}, {".rowfs", SPELL_AT_ROOT}, {".versions", SPELL_AT_ROOT}};
	const size_t count = sizeof(directories) / sizeof(directories[0]);

	if (i < count) {
		*where = directories[i].where;
		return directories[i].name;
	}
	i -= count;
	for (const struct spell_name *at = fixed; at < fixed + FIXED; at++) {
		if (at->name[0] != '.' || i-- > 0)
			continue;
		*where = where_of(at);
		return at->name;
	}
	return NULL;
}

static void take(struct spelled *child, enum node_kind kind, const char *bytes, size_t len)
{
	memmove(child->buf, bytes, len);
	child->buf[len] = 0;
	child->bytes = (struct wcs_slice){child->buf, len};
	child->kind = kind;
}

/* Joins a component with the chunks above it: another chunk, or a whole name, which is decoded. */
static int take_joined(struct spelled *child, const struct node *dir, enum node_kind kind,
		       enum names_kind names, const struct names_families *families,
		       const char *name, size_t len)
{
	size_t max = names == NAMES_QUALIFIER ? WCS_QUALIFIER_MAX : WCS_ROW_KEY_MAX;
	struct wcs_slice above = {0};
	char joined[SPELL_MAX + NAMES_COMPONENT_MAX];
	size_t count, decoded;
	bool more;

	if (dir->kind == NODE_CHUNK)
		above = node_name(dir);
	if (above.len + len >= SPELL_MAX)
		return -ENAMETOOLONG;
	if (names_join(names, above.data, above.len, name, len, joined, &count, &more) != 0)
		return -EINVAL;
	if (more) {
		decoded = count;
		for (size_t i = 0; i < count; i++)
			decoded -= joined[i] == '%' ? 2 : 0;
		if (decoded >= max) /* nothing could follow */
			return -ENAMETOOLONG;
		take(child, NODE_CHUNK, joined, count);
		return 0;
	}
	/* The kernel keeps one dentry for a directory: two names would move it back and forth. */
	if (len > NAMES_CHUNK_MAX && kind != NODE_CELL && kind != NODE_DRAFT)
		return -EINVAL;
	if (names == NAMES_TEXT) {
		take(child, kind, joined, count);
		return 0;
	}
	if (names_decode(names, families, joined, count, child->buf, &count) != 0)
		return -EINVAL;
	if (count > WCS_QUALIFIER_MAX)
		return -ENAMETOOLONG;
	take(child, kind, child->buf, count);
	return 0;
}

static int parse_fixed(enum node_kind dir, bool viewed, const char *name, struct spelled *child)
{
	for (const struct spell_name *at = fixed; at < fixed + FIXED; at++) {
		if (!(at->dirs & 1u << dir) || strcmp(name, at->name) != 0 ||
		    (viewed && !(at->dirs & VIEWED)))
			continue;
		take(child, at->kind, name, strlen(name));
		child->control = at->control;
		return 0;
	}
	return -EINVAL;
}

/* In a directory of segments: a control file, or a view. */
static int parse_dotted(const struct node *dir, const struct pos *pos, const char *name, size_t len,
			struct spelled *child)
{
	const struct wcs_view_name *view = wcs_view_find(name + 1, len - 1);
	bool viewed = dir->flags & NODE_F_VIEW;

	if (pos->versions ||
	    (view && view->kind == WCS_STEP_RAW && (viewed || pos->kind != NODE_TABLE)))
		return -EINVAL;
	if (view)
		take(child, view->argument ? NODE_VIEW : NODE_VIEWED, name, len);
	else if (pos->kind == NODE_TABLE && !viewed && strcmp(name, ".families") == 0)
		take(child, NODE_FAMILIES, name, len);
	else
		return parse_fixed(pos->kind, viewed, name, child);
	return 0;
}

/* An argument, which may be wrong, or a chunk of a KEY. */
static int parse_argument(const struct node *dir, const char *name, size_t len,
			  struct spelled *child)
{
	const struct node *base = dir->kind == NODE_CHUNK ? dir->parent : dir;
	const struct wcs_view_name *view = wcs_view_find(base->name + 1, base->name_len - 1);
	int rc = -EINVAL;

	if (view->form == WCS_VIEW_KEY)
		rc = take_joined(child, dir, NODE_VIEWED, NAMES_TEXT, NULL, name, len);
	if (rc != -EINVAL ||
	    (view->form == WCS_VIEW_KEY && (dir->kind == NODE_CHUNK || len > NAMES_CHUNK_MAX)))
		return rc;
	take(child, NODE_VIEWED, name, len);
	return 0;
}

/* A segment that has a codec. Only names with "%=" are split into chunks, none within a character.
 */
static int parse_coded(const struct node *dir, const struct pos *pos, const char *name, size_t len,
		       struct spelled *child)
{
	const struct names_families families = {wcs_families_has, pos->table};
	unsigned char bytes[WCS_ROW_KEY_MAX + WCS_KEYS_SHOWN_MAX];
	size_t count;
	int rc;

	if (dir->kind == NODE_CHUNK && ((unsigned char)name[0] & 0xC0) == 0x80)
		return -EINVAL;
	rc = take_joined(child, dir, NODE_PREFIX, NAMES_TEXT, NULL, name, len);
	if (rc == 0 && child->kind == NODE_CHUNK)
		return strncmp(child->buf, "%=", 2) == 0 ? 0 : -EINVAL;
	if (rc == 0)
		rc = wcs_keys_name_parse(pos->keys, pos->depth, &families, child->bytes, bytes,
					 &count, &child->fault);
	if (rc == 0)
		take(child, NODE_PREFIX, (const char *)bytes, count);
	return rc;
}

/* In a directory of segments: a control file, a view, a family, or a segment. In a chunk directory:
 * the rest of a segment. */
static int parse_prefix(const struct node *dir, const struct pos *pos, const char *name, size_t len,
			struct spelled *child)
{
	struct names_families families = {wcs_families_has, pos->table};
	int rc;

	if (dir->kind != NODE_CHUNK && name[0] == '.')
		return parse_dotted(dir, pos, name, len, child);
	if (dir->kind != NODE_CHUNK &&
	    take_joined(child, dir, NODE_FAMILY, NAMES_FAMILY, NULL, name, len) == 0 &&
	    child->kind == NODE_FAMILY && wcs_family_exists(pos->table, child->bytes))
		return pos->key_len > 0 ? 0 : -EINVAL;
	if (wcs_keys_coded(pos->keys, pos->depth))
		rc = parse_coded(dir, pos, name, len, child);
	else
		rc = take_joined(child, dir, NODE_PREFIX, NAMES_SEGMENT, &families, name, len);
	if (rc != 0)
		return rc;
	/* A segment that holds the delimiter would be two. */
	return memchr(child->buf, pos->delimiter, child->bytes.len) ? -EINVAL : 0;
}

static bool is_random(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'A' && text[i] <= 'Z') ||
		      (text[i] >= 'a' && text[i] <= 'z')))
			return false;
	return true;
}

/*
 * The temporary name that rsync gives to a column, ".NAME.XXXXXX", if the spelling of columns does
 * not allow it. In a chunk directory its bytes begin with the chunk and a '/'. No name has a '/',
 * so they differ from the bytes of all others.
 */
static int parse_temporary(const struct node *dir, const char *name, size_t len,
			   struct spelled *child)
{
	const size_t random = 6, around = 1 + 1 + random; /* a dot before and behind */
	struct wcs_slice above = {0};

	if (len <= around || name[0] != '.' || name[len - random - 1] != '.' ||
	    !is_random(name + len - random, random))
		return -EINVAL;
	if (take_joined(child, dir, NODE_DRAFT, NAMES_QUALIFIER, NULL, name + 1, len - around) !=
		    0 ||
	    child->kind == NODE_CHUNK)
		return -EINVAL;
	if (dir->kind == NODE_CHUNK)
		above = node_name(dir);
	take(child, NODE_DRAFT, name, len);
	if (above.len > 0) {
		memmove(child->buf + above.len + 1, child->buf, len + 1);
		memcpy(child->buf, above.data, above.len);
		child->buf[above.len] = '/';
		child->bytes.len += above.len + 1;
	}
	return 0;
}

int spell_temporary(const struct node *dir, const char *name, struct spelled *child)
{
	if (dir->kind != NODE_FAMILY || (dir->flags & NODE_F_VERSIONS))
		return -EINVAL;
	return parse_temporary(dir, name, strlen(name), child);
}

bool spell_drafts(const struct node *dir, const char *name, struct spelled *child)
{
	bool beside = dir->kind == NODE_FAMILY ? !(dir->flags & NODE_F_VERSIONS)
					       : dir->kind == NODE_HISTORY;

	if (!beside || strcmp(name, ".~tmp~") != 0)
		return false;
	take(child, NODE_DRAFTS, name, strlen(name));
	return true;
}

static int parse_family(const struct node *dir, const struct pos *pos, const char *name, size_t len,
			struct spelled *child)
{
	size_t column = len;
	bool history = names_history(name, &column);
	enum node_kind kind = history ? NODE_HISTORY : NODE_CELL;
	int rc = take_joined(child, dir, kind, NAMES_QUALIFIER, NULL, name, column);

	if (rc == -EINVAL && !history && !pos->versions)
		return parse_temporary(dir, name, len, child);
	if (rc == 0 && (child->kind == NODE_CHUNK ? history : !history && pos->versions))
		return -EINVAL;
	return rc;
}

/* A version by its timestamp or its time; or a draft with the name that rsync, editors or sed give.
 */
static int parse_history(const char *name, size_t len, struct spelled *child)
{
	const size_t sed = 3, random = 6;
	char digits[NAMES_TS_MAX + 1];
	int64_t ts;

	if (names_ts_parse(name, len, &ts) == 0 || times_parse(name, len, &ts) == 0)
		take(child, NODE_VERSION, digits, names_ts_format(ts, digits));
	else if (name[0] == '.' || (len == sed + random && memcmp(name, "sed", sed) == 0 &&
				    is_random(name + sed, random)))
		take(child, NODE_DRAFT, name, len);
	else
		return -EINVAL;
	return 0;
}

bool spell_is_fixed(const struct node *dir)
{
	return (ROWFS | POLICIES | EXPLAIN | KEYVIS | HEAT | WINDOW) & 1u << dir->kind;
}

int spell_parse(const struct node *dir, const struct pos *pos, const char *name,
		struct spelled *child)
{
	size_t len = strlen(name);

	child->fault.text[0] = '\0';
	if (len > NAMES_COMPONENT_MAX)
		return -ENAMETOOLONG;
	if (!dir->parent && (strcmp(name, ".rowfs") == 0 || strcmp(name, ".versions") == 0)) {
		take(child, name[1] == 'r' ? NODE_ROWFS : NODE_ROOT, name, len);
		return 0;
	}
	switch (dir->kind == NODE_CHUNK ? dir->parent->kind : dir->kind) {
	case NODE_ROOT:
	case NODE_KEYVIS:
		take(child, dir->kind == NODE_ROOT ? NODE_TABLE : NODE_HEAT, name, len);
		return wcs_table_name_valid(name) ? 0 : -EINVAL;
	case NODE_TABLE:
	case NODE_PREFIX:
	case NODE_VIEWED:
		return parse_prefix(dir, pos, name, len, child);
	case NODE_VIEW:
		return parse_argument(dir, name, len, child);
	case NODE_FAMILY:
		return parse_family(dir, pos, name, len, child);
	case NODE_HISTORY:
		return parse_history(name, len, child);
	case NODE_DRAFTS:
		take(child, NODE_DRAFT, name, len);
		return 0;
	case NODE_FAMILIES:
		return take_joined(child, dir, NODE_POLICIES, NAMES_FAMILY, NULL, name, len);
	case NODE_EXPLAIN: /* whether it is a policy is found out when it is looked up */
		take(child, NODE_CONTROL, name, len);
		child->control = CONTROL_EXPLAIN;
		return 0;
	default:
		return parse_fixed(dir->kind, false, name, child);
	}
}

size_t spell_child(const struct pos *dir, enum node_kind kind, struct wcs_slice bytes, char *name)
{
	struct names_families families = {wcs_families_has, dir ? dir->table : NULL};
	size_t len = 0;

	switch (kind) {
	case NODE_PREFIX:
		return wcs_keys_name(dir->keys, dir->depth, &families, bytes, name);
	case NODE_FAMILY:
	case NODE_POLICIES:
		return names_encode(NAMES_FAMILY, NULL, bytes.data, bytes.len, name);
	case NODE_CELL:
	case NODE_HISTORY:
		len = names_encode(NAMES_QUALIFIER, NULL, bytes.data, bytes.len, name);
		if (kind == NODE_HISTORY)
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
	struct pos dir;

	if (node->kind != NODE_PREFIX) /* only a segment depends on its directory */
		return spell_child(NULL, node->kind, node_name(node), name);
	if (pos_of(node_base(node->parent), &dir) != 0) { /* of an earlier design */
		dir.keys = NULL;
		dir.table = node_up(node, NODE_TABLE)->table;
	}
	return spell_child(&dir, node->kind, node_name(node), name);
}

void spell_path(const struct node *node, const char *name, char *path, size_t size)
{
	char buf[3800], component[SPELL_MAX], *at = buf + sizeof(buf);

	for (; node->parent && at - buf > 2; node = node->parent) {
		size_t len = spell_node(node, component);

		if ((size_t)(at - buf) < len + 1)
			len = (size_t)(at - buf) - 1;
		at -= len;
		memcpy(at, component, len);
		*--at = '/';
	}
	snprintf(path, size, "%.*s%s%s", (int)(buf + sizeof(buf) - at), at, name ? "/" : "",
		 name ? name : "");
}
