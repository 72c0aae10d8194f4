/* SPDX-License-Identifier: MIT */
/* /.rowfs/schema.json: the whole schema; a write adds missing parts and removes nothing. */
#include <errno.h>
#include <stdlib.h>

#include "fs/cache/cache.h"
#include "fs/control/control_kind.h"
#include "fs/report/report.h"

static int schema_print(const struct control_place *at, FILE *to)
{
	struct wcs_schema *schema;
	char *text;
	int rc = wcs_schema_get(at->fs->store, &schema);

	if (rc != 0)
		return rc;
	text = wcs_schema_format(schema);
	wcs_schema_free(schema);
	if (!text)
		return -ENOMEM;
	fputs(text, to);
	free(text);
	return 0;
}

static int check_layouts(const struct control_place *at, const struct wcs_schema *schema)
{
	struct fs *fs = at->fs;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < schema->table_count; i++) {
		const struct wcs_table_schema *wanted = &schema->tables[i];
		struct wcs_table *table;

		if (wcs_table_open(fs->store, wanted->name, &table) != 0)
			continue;
		rc = control_layout_check(fs, table, wanted->delimiter, wanted->keys);
		wcs_table_close(table);
		if (rc != 0)
			report(fs, at->node, NULL, 0, rc,
			       "table %s: its delimiter and keys cannot change while it has "
			       "directories",
			       wanted->name);
	}
	return rc;
}

static int schema_apply(const struct control_place *at, const char *text, size_t len)
{
	struct wcs_fault fault = {0};
	struct wcs_schema *schema;
	int rc = wcs_schema_parse(text, len, &schema, &fault);

	if (rc != 0)
		return report(at->fs, at->node, NULL,
			      fault.line > 0 ? at->line + fault.line - 1 : 0, rc, "%s",
			      wcs_fault_words(&fault));
	rc = check_layouts(at, schema);
	if (rc == 0) {
		rc = wcs_schema_apply(at->fs->store, schema, &fault);
		/* Families and policies of the tables may have changed. */
		for (size_t i = 0; i < schema->table_count; i++) {
			const struct wcs_table_schema *applied = &schema->tables[i];
			struct wcs_table *table;

			if (wcs_table_open(at->fs->store, applied->name, &table) != 0)
				continue;
			for (size_t f = 0; f < applied->family_count; f++)
				cache_expire_family(at->fs, table, applied->families[f].name);
			cache_expire_rows(at->fs, table, NULL, true);
			wcs_table_close(table);
		}
		if (rc == -EMFILE) /* users know this error of descriptors */
			rc = -ENOSPC;
		if (rc != 0)
			report(at->fs, at->node, NULL, 0, rc, "%s", fault.text);
	}
	wcs_schema_free(schema);
	return rc;
}

const struct control_text control_schema = {schema_print, schema_apply, NULL, CONTROL_DOCUMENT};
