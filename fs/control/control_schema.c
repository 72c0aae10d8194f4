/* SPDX-License-Identifier: MIT */
/* /.rowfs/schema.json: the whole schema; a write adds missing parts and removes nothing. */
#include <errno.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/serve/report.h"

static int schema_format(struct fs *fs, const struct node *node, char **text, size_t *len)
{
	struct wcs_schema *schema;
	int rc = wcs_schema_get(fs->store, &schema);

	(void)node;
	if (rc != 0)
		return rc;
	*text = wcs_schema_format(schema);
	wcs_schema_free(schema);
	if (!*text)
		return -ENOMEM;
	*len = strlen(*text);
	return 0;
}

static int check_delimiters(struct fs *fs, const struct node *node, const struct wcs_schema *schema)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];
		struct wcs_table *table;

		if (wanted->delimiter == 0 || wcs_table_open(fs->store, wanted->name, &table) != 0)
			continue;
		rc = control_delimiter_check(fs, table, wanted->delimiter);
		wcs_table_close(table);
		if (rc != 0)
			report(fs, node, NULL, 0, rc,
			       "table %s: its delimiter cannot change while it has directories",
			       wanted->name);
	}
	return rc;
}

/* Invalidates dentries below tables whose families or policies may have changed. */
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

static int schema_apply(struct fs *fs, const struct node *node, const struct pos *pos,
			const char *text, size_t len, int line)
{
	struct wcs_fault fault = {0};
	struct wcs_schema *schema;
	int rc = wcs_schema_parse(text, len, &schema, &fault);

	(void)pos;
	if (rc != 0)
		return report(fs, node, NULL, fault.line > 0 ? line + fault.line - 1 : 0, rc, "%s",
			      fault.text);
	rc = check_delimiters(fs, node, schema);
	if (rc == 0) {
		rc = wcs_schema_apply(fs->store, schema, &fault);
		schema_expire(fs, schema);
		if (rc == -EMFILE) /* users know this error of descriptors */
			rc = -ENOSPC;
		if (rc != 0)
			report(fs, node, NULL, 0, rc, "%s", fault.text);
	}
	wcs_schema_free(schema);
	return rc;
}

const struct control_text control_schema = {schema_format, schema_apply, .document = true};
