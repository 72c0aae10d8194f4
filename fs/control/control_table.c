/* SPDX-License-Identifier: MIT */
/* One file for each part of a table's schema: T/.delimiter, T/.protected, T/.families/F/gc and
 * type. */
#include <errno.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/serve/report.h"

static int delimiter_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	(void)fs;
	return rc == 0 ? control_text_print(text, len, "%c\n", pos.delimiter) : rc;
}

int control_delimiter_check(struct fs *fs, struct wcs_table *table, unsigned char delimiter)
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

static int delimiter_apply(struct fs *fs, const struct node *node, const struct pos *pos,
			   const char *text, size_t len, int line)
{
	unsigned char delimiter = (unsigned char)text[0];
	int rc = len == 1 ? control_delimiter_check(fs, pos->table, delimiter) : -EINVAL;

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

static int protected_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	(void)fs;
	return rc == 0 ? control_text_print(text, len, "%d\n", wcs_table_protected(pos.table)) : rc;
}

static int protected_apply(struct fs *fs, const struct node *node, const struct pos *pos,
			   const char *text, size_t len, int line)
{
	if (len != 1 || (*text != '0' && *text != '1'))
		return report(fs, node, NULL, line, -EINVAL,
			      "write 1 to protect the table, or 0 to end that");
	return wcs_table_set_protected(pos->table, *text == '1');
}

static int family_of(const struct node *node, struct wcs_family *family)
{
	struct pos pos;
	int rc = pos_of(node, &pos);

	return rc == 0 ? wcs_family_get(pos.table, pos.family, family) : rc;
}

static int policy_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct wcs_family family;
	int rc = family_of(node, &family);

	(void)fs;
	if (rc != 0)
		return rc;
	rc = control_text_print(text, len, "%s\n", family.gc);
	wcs_family_clear(&family);
	return rc;
}

/* Reports a wrong policy, with the position of the error if there is one. */
static int policy_refuse(struct fs *fs, const struct node *node, int line, int rc,
			 const struct wcs_fault *fault)
{
	if (fault->column > 0)
		return report(fs, node, NULL, line, rc, "%s, at character %d", fault->text,
			      fault->column);
	return report(fs, node, NULL, line, rc, "%s", fault->text);
}

static int policy_apply(struct fs *fs, const struct node *node, const struct pos *pos,
			const char *text, size_t len, int line)
{
	struct wcs_fault fault = {0};
	int rc = wcs_family_set_gc(pos->table, pos->family, text, &fault);

	(void)len;
	if (rc != 0)
		return policy_refuse(fs, node, line, rc, &fault);
	cache_expire_family(fs, pos->table, pos->family);
	return 0;
}

static int type_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct wcs_family family;
	int rc = family_of(node, &family);

	(void)fs;
	if (rc != 0)
		return rc;
	rc = control_text_print(text, len, "%s\n", wcs_type_name(family.type));
	wcs_family_clear(&family);
	return rc;
}

static int type_apply(struct fs *fs, const struct node *node, const struct pos *pos,
		      const char *text, size_t len, int line)
{
	enum wcs_type type;
	int rc = wcs_type_parse(text, &type);

	(void)len;
	if (rc != 0)
		return report(fs, node, NULL, line, rc,
			      "unknown type; the types are bytes, intsum, intmin, intmax, inthll");
	rc = wcs_family_set_type(pos->table, pos->family, type);
	if (rc == -ENOTEMPTY)
		report(fs, node, NULL, line, rc, "the family holds cells; its type stays");
	return rc;
}

const struct control_text control_delimiter = {delimiter_format, delimiter_apply, false};
const struct control_text control_protected = {protected_format, protected_apply, false};
const struct control_text control_policy = {policy_format, policy_apply, false};
const struct control_text control_type = {type_format, type_apply, false};
