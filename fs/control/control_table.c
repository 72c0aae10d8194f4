/* SPDX-License-Identifier: MIT */
/* One file for each part of a table's schema: T/.delimiter, T/.protected, T/.families/F/gc and
 * type. */
#include <errno.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/serve/report.h"

static int delimiter_print(const struct control_place *at, FILE *to)
{
	fprintf(to, "%c\n", at->pos.delimiter);
	return 0;
}

int control_delimiter_check(struct fs *fs, struct wcs_table *table, unsigned char delimiter)
{
	return delimiter == wcs_table_delimiter(table) ? 0
						       : pos_table_check(fs, wcs_table_name(table));
}

static int delimiter_apply(const struct control_place *at, const char *text, size_t len)
{
	unsigned char delimiter = (unsigned char)text[0];
	int rc = len == 1 ? control_delimiter_check(at->fs, at->pos.table, delimiter) : -EINVAL;

	if (rc == 0)
		rc = wcs_table_set_delimiter(at->pos.table, delimiter);
	if (rc == 0)
		cache_expire_rows(at->fs, at->pos.table, NULL, true);
	if (rc == -EINVAL)
		report(at->fs, at->node, NULL, at->line, rc,
		       "a delimiter is one ASCII byte other than / %% .");
	else if (rc == -ENOTEMPTY)
		report(at->fs, at->node, NULL, at->line, rc,
		       "the table has rows or directories; its delimiter stays until they are "
		       "removed");
	return rc;
}

static int protected_print(const struct control_place *at, FILE *to)
{
	fprintf(to, "%d\n", wcs_table_protected(at->pos.table));
	return 0;
}

static int protected_apply(const struct control_place *at, const char *text, size_t len)
{
	if (len != 1 || (*text != '0' && *text != '1'))
		return report(at->fs, at->node, NULL, at->line, -EINVAL,
			      "write 1 to protect the table, or 0 to end that");
	return wcs_table_set_protected(at->pos.table, *text == '1');
}

static int family_print(const struct control_place *at, FILE *to)
{
	bool type = at->node->ts == CONTROL_TYPE;
	struct wcs_family family;
	int rc = wcs_family_get(at->pos.table, at->pos.family, &family);

	if (rc != 0)
		return rc;
	fprintf(to, "%s\n", type ? wcs_type_name(family.type) : family.gc);
	wcs_family_clear(&family);
	return 0;
}

static int policy_apply(const struct control_place *at, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	int rc = wcs_family_set_gc(at->pos.table, at->pos.family, text, &fault);

	(void)len;
	if (rc == 0)
		cache_expire_family(at->fs, at->pos.table, at->pos.family);
	else if (fault.column > 0)
		report(at->fs, at->node, NULL, at->line, rc, "%s, at character %d", fault.text,
		       fault.column);
	else
		report(at->fs, at->node, NULL, at->line, rc, "%s", fault.text);
	return rc;
}

static int type_apply(const struct control_place *at, const char *text, size_t len)
{
	enum wcs_type type;
	int rc = wcs_type_parse(text, &type);

	(void)len;
	if (rc != 0)
		return report(at->fs, at->node, NULL, at->line, rc,
			      "unknown type; the types are bytes, intsum, intmin, intmax, inthll");
	rc = wcs_family_set_type(at->pos.table, at->pos.family, type);
	if (rc == -ENOTEMPTY)
		report(at->fs, at->node, NULL, at->line, rc,
		       "the family holds cells; its type stays");
	return rc;
}

const struct control_text control_delimiter = {delimiter_print, delimiter_apply, NULL,
					       CONTROL_LINES};
const struct control_text control_protected = {protected_print, protected_apply, NULL,
					       CONTROL_LINES};
const struct control_text control_policy = {family_print, policy_apply, NULL, CONTROL_LINES};
const struct control_text control_type = {family_print, type_apply, NULL, CONTROL_LINES};
