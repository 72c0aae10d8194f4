/* SPDX-License-Identifier: MIT */
/* The control files, one by one. */
#include "control_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "errors.h"
#include "report.h"
#include "spell.h"

static int text_format(char **text, size_t *len, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int text_format(char **text, size_t *len, const char *format, ...)
{
	va_list args;
	int count;

	va_start(args, format);
	count = vasprintf(text, format, args);
	va_end(args);
	if (count < 0)
		return -ENOMEM;
	*len = (size_t)count;
	return 0;
}

static int schema_text(struct fs *fs, char **text, size_t *len)
{
	struct wcs_schema *schema;
	int rc = wcs_schema_get(fs->store, &schema);

	if (rc != 0)
		return rc;
	*text = wcs_schema_format(schema);
	wcs_schema_free(schema);
	if (!*text)
		return -ENOMEM;
	*len = strlen(*text);
	return 0;
}

static int family_text(const struct node *node, char **text, size_t *len)
{
	struct wcs_family family;
	struct pos pos;
	int rc = pos_of(node, &pos);

	if (rc == 0)
		rc = wcs_family_get(pos.table, pos.family, &family);
	if (rc != 0)
		return rc;
	rc = text_format(text, len, "%s\n",
			 node->ts == CONTROL_GC ? family.gc : wcs_type_name(family.type));
	wcs_family_clear(&family);
	return rc;
}

static int delimiter_text(const struct node *node, char **text, size_t *len)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	return rc == 0 ? text_format(text, len, "%c\n", pos.delimiter) : rc;
}

int control_text(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	switch ((enum control)node->ts) {
	case CONTROL_SCHEMA:
		return schema_text(fs, text, len);
	case CONTROL_VERSION:
		return text_format(text, len, "rowfs %s\nengine %s\nlibfuse %s\n", ROWFS_VERSION,
				   wcs_store_engine(fs->store), fuse_pkgversion());
	case CONTROL_ERRORS:
		*text = errors_format(fs->errors, len);
		return *text ? 0 : -ENOMEM;
	case CONTROL_DELIMITER:
		return delimiter_text(node, text, len);
	case CONTROL_GC:
	case CONTROL_TYPE:
		return family_text(node, text, len);
	}
	return -EINVAL;
}

bool control_writable(const struct node *node)
{
	return node->ts != CONTROL_VERSION && node->ts != CONTROL_ERRORS;
}

bool control_is_document(const struct node *node)
{
	return node->ts == CONTROL_SCHEMA;
}

/* Directories in memory are kept as the delimiter cut them, so it stays while there are some.
 * 0, -ENOTEMPTY or -ENOMEM. */
static int delimiter_check(struct fs *fs, struct wcs_table *table, unsigned char delimiter)
{
	const char *name = wcs_table_name(table);
	struct memdir_path path = {0};
	int rc;

	if (delimiter == wcs_table_delimiter(table))
		return 0;
	rc = memdir_path_add(&path, MEMDIR_TABLE, (struct wcs_slice){name, strlen(name)});
	if (rc == 0 && memdirs_has_children(fs->memdirs, &path))
		rc = -ENOTEMPTY;
	memdir_path_clear(&path);
	return rc;
}

static int schema_check(struct fs *fs, const struct node *node, const struct wcs_schema *schema)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];
		struct wcs_table *table;

		if (wanted->delimiter == 0 || wcs_table_open(fs->store, wanted->name, &table) != 0)
			continue;
		rc = delimiter_check(fs, table, wanted->delimiter);
		wcs_table_close(table);
		if (rc != 0)
			report(fs, node, NULL, 0, rc,
			       "table %s: its delimiter cannot change while it has directories",
			       wanted->name);
	}
	return rc;
}

/* Families may have been made, and policies set. */
static void schema_expire(struct fs *fs, const struct wcs_schema *schema)
{
	for (size_t i = 0; i < schema->table_count; i++) {
		const struct wcs_table_schema *applied = &schema->tables[i];
		struct wcs_table *table;

		if (wcs_table_open(fs->store, applied->name, &table) != 0)
			continue;
		for (size_t f = 0; f < applied->family_count; f++)
			cache_expire_family(fs, table, applied->families[f].name);
		cache_expire_subtree(fs, table, NULL);
		wcs_table_close(table);
	}
}

static int schema_apply(struct fs *fs, const struct node *node, const char *text, size_t len,
			int line)
{
	struct wcs_fault fault = {0};
	struct wcs_schema *schema;
	int rc = wcs_schema_parse(text, len, &schema, &fault);

	if (rc != 0)
		return report(fs, node, NULL, fault.line > 0 ? line + fault.line - 1 : 0, rc, "%s",
			      fault.text);
	rc = schema_check(fs, node, schema);
	if (rc == 0) {
		rc = wcs_schema_apply(fs->store, schema, &fault);
		schema_expire(fs, schema);
		if (rc != 0)
			report(fs, node, NULL, 0, rc, "%s", fault.text);
	}
	wcs_schema_free(schema);
	return rc;
}

static int gc_apply(struct fs *fs, const struct node *node, const struct pos *pos, const char *text,
		    int line)
{
	struct wcs_fault fault = {0};
	int rc = wcs_family_set_gc(pos->table, pos->family, text, &fault);

	if (rc != 0)
		report(fs, node, NULL, line, rc, "column %d: %s", fault.column, fault.text);
	else
		cache_expire_family(fs, pos->table, pos->family);
	return rc;
}

static int type_apply(struct fs *fs, const struct node *node, const struct pos *pos,
		      const char *text, int line)
{
	enum wcs_type type;
	int rc = wcs_type_parse(text, &type);

	if (rc != 0)
		return report(fs, node, NULL, line, rc,
			      "no type of that name; bytes, intsum, intmin, intmax, inthll are");
	rc = wcs_family_set_type(pos->table, pos->family, type);
	if (rc == -ENOTEMPTY)
		report(fs, node, NULL, line, rc, "the family holds cells; its type stays");
	return rc;
}

static int delimiter_apply(struct fs *fs, const struct node *node, const struct pos *pos,
			   const char *text, size_t len, int line)
{
	unsigned char delimiter = (unsigned char)text[0];
	int rc = len == 1 ? delimiter_check(fs, pos->table, delimiter) : -EINVAL;

	if (rc == -ENOTEMPTY)
		return report(fs, node, NULL, line, rc,
			      "the table has directories; its delimiter stays until they are "
			      "removed");
	if (rc == 0)
		rc = wcs_table_set_delimiter(pos->table, delimiter);
	if (rc == 0)
		cache_expire_subtree(fs, pos->table, NULL);
	if (rc == -EINVAL)
		report(fs, node, NULL, line, rc, "a delimiter is one ASCII byte other than / %% .");
	else if (rc == -ENOTEMPTY)
		report(fs, node, NULL, line, rc, "the table has rows; its delimiter stays");
	return rc;
}

int control_apply(struct fs *fs, const struct node *node, const char *text, size_t len, int line)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	if (rc != 0)
		return rc;
	if (!control_is_document(node) && memchr(text, 0, len))
		return report(fs, node, NULL, line, -EINVAL, "the line holds a NUL byte");
	switch ((enum control)node->ts) {
	case CONTROL_SCHEMA:
		return schema_apply(fs, node, text, len, line);
	case CONTROL_GC:
		return gc_apply(fs, node, &pos, text, line);
	case CONTROL_TYPE:
		return type_apply(fs, node, &pos, text, line);
	case CONTROL_DELIMITER:
		return delimiter_apply(fs, node, &pos, text, len, line);
	default:
		return -EPERM;
	}
}
